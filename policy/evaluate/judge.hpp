// One rule against one call; private to policy/evaluate.
#pragma once

#include <optional>
#include <string>

#include "policy/rules/policy.hpp"

namespace sallyport::policy {

struct Judged {
  bool matched = false;
  Verdict verdict = Verdict::allow;  // of a matched deny, ask or allow; of a require or hook it is not known yet
  std::string words;                 // if asked for: why it matched or did not
  std::string pointer;
};

// `explain`: fill the words. The caller looks at `work` for the bound.
[[nodiscard]] Judged judge_rule(const Rule& rule, const CallFacts& facts, Work& work, bool explain);

}  // namespace sallyport::policy
