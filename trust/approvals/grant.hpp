// A grant: one person's standing answer to one rule's asks, for one tool, for a while (design section 5). Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/time.hpp"
#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::trust {

struct Grant {
  std::string id;    // gr_…
  std::string rule;  // the only rule whose asks it answers
  ToolRef tool;
  std::string identity;    // of the server; another one voids it
  std::string definition;  // digest; another definition voids it
  std::string contract;    // digest, or empty; another contract voids it
  std::string principal;
  std::string run;         // empty: until `expires` in any run
  std::string conditions;  // JSON text in the conditions language: what every member of the arguments must fulfil
  // Names in the client's `_meta` that were shown beside the arguments: with any value, and no others.
  std::vector<std::string> meta;
  std::string by;        // person id
  std::string approval;  // ap_…: the ask that was answered with it
  std::string shown;     // digest of what that person saw
  UnixMillis created = 0;
  UnixMillis expires = 0;
  std::uint64_t most = 0;  // uses; 0: no bound but the time
  std::uint64_t used = 0;  // spent in the transaction that records the call
  UnixMillis revoked = 0;  // 0: not
  std::string revoked_by;  // person; empty: void, because what it was given for has changed
  std::string reason;      // of the end
  friend bool operator==(const Grant&, const Grant&) = default;
};

// A call as far as a grant looks at it; the arguments are judged by the caller against `conditions`.
struct GrantUse {
  std::string_view rule;
  ToolRef tool;
  std::string_view identity, definition, contract;
  std::string_view principal;
  std::string_view run;
  std::vector<std::string> meta;  // names that the client sends on beside the arguments
};
[[nodiscard]] bool in_force(const Grant& grant, UnixMillis now);
[[nodiscard]] bool covers(const Grant& grant, const GrantUse& use, UnixMillis now);
// `granted`, `revoked`, `void`, `spent` (no use left) or `expired`.
[[nodiscard]] std::string_view state_of(const Grant& grant, UnixMillis now);

}  // namespace sallyport::trust
