// changes: what it would mean to put one load of the files in the place of another (design section 4, "A reload that
// may loosen"), in words for the operator who must agree: rules and budgets (policy::compare), what is believed of
// servers, accepted definitions, clients and people. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/check.hpp"

namespace sallyport::gateway {

struct Changes {
  std::vector<std::string> looser;    // one sentence each; may be empty where nothing may loosen
  std::vector<std::string> stricter;  // what only tightens, and what does neither
  bool lock = false;                  // the lock differs
  bool others = false;                // something besides the lock differs
  bool lock_loosens = false, others_loosen = false;

  [[nodiscard]] bool any() const { return lock || others; }
  [[nodiscard]] bool may_loosen() const { return lock_loosens || others_loosen; }
};

// What is in force, or would be: the rule book, and of the settings what a reload can change.
struct InForce {
  Settings settings;
  RuleBook book;
};
[[nodiscard]] Changes changes(const InForce& before, const InForce& after);

// Names one load: two of the same digest mean the same.
[[nodiscard]] std::string load_digest(const InForce& loaded);

// The members of the config that take effect at the next start only, as one text: it is another exactly if one of them
// is. Empty: the text is no config.
[[nodiscard]] std::string fixed_part(const std::string& config_text);

}  // namespace sallyport::gateway
