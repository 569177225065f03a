// A grant: one person's standing answer to one rule's asks, for one tool, for a while (design section 5). Pure values.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/time.hpp"
#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::trust {

struct Grant {
  std::string id;    // gr_…
  std::string rule;  // the only rule whose asks it answers
  ToolRef tool;
  std::string definition;  // digest; another definition voids it
  std::string principal;
  std::string run;  // empty: until `expires` in any run
  std::string
      conditions;  // JSON text in the conditions language, on the arguments; `{}` never occurs: named members only
  std::string by;  // person id
  UnixMillis created = 0;
  UnixMillis expires = 0;
  UnixMillis revoked = 0;  // 0: not
  friend bool operator==(const Grant&, const Grant&) = default;
};

// A call as far as a grant looks at it; the arguments are judged by the caller against `conditions`.
struct GrantUse {
  std::string_view rule;
  ToolRef tool;
  std::string_view definition;
  std::string_view principal;
  std::string_view run;
};
[[nodiscard]] bool in_force(const Grant& grant, UnixMillis now);
[[nodiscard]] bool covers(const Grant& grant, const GrantUse& use, UnixMillis now);

}  // namespace sallyport::trust
