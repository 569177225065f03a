// compare: whether putting `after` in the place of `before` may loosen (design section 4, "A reload that may loosen"):
// anything but added or widened deny, ask and require, what becomes a deny, removed or narrowed allow, added or tighter
// budgets, added redactions.
#pragma once

#include <string>
#include <vector>

#include "policy/rules/policy.hpp"

namespace sallyport::policy {

struct Loosening {
  bool may_loosen = false;
  bool changed = false;
  std::vector<std::string> looser;  // one sentence each, for the operator who must agree
  std::vector<std::string> stricter;
};

[[nodiscard]] Loosening compare(const Policy& before, const Policy& after);

}  // namespace sallyport::policy
