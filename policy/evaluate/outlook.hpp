// outlook: what a policy would say of a recorded call (`policy replay`), of which less is known than of a call on its
// way: its arguments may be gone, what evidence and hooks said is known only of the rules that were there. A verdict is
// given only if everything that is not known could not change it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/evaluate/evaluate.hpp"

namespace sallyport::policy {

struct Outlook {
  std::optional<Verdict> verdict;  // nullopt: cannot tell
  std::vector<std::string> rules;  // of a verdict: those that give it (empty: the default); else: those that are open
};

// `facts.arguments` counts only where `arguments_known`. `recorded`: what each require and hook of that time said
// (`allow`: satisfied, or none).
[[nodiscard]] Outlook outlook(const Policy& policy, const CallFacts& facts, bool arguments_known,
                              const std::map<std::string, Verdict>& recorded = {});

}  // namespace sallyport::policy
