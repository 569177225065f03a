// One rule against one call; private to policy/evaluate.
#pragma once

#include <optional>
#include <string>

#include "policy/rules/policy.hpp"

namespace sallyport::policy {

struct Judged {
  bool matched = false;
  Verdict verdict = Verdict::allow;  // of a matched deny, ask or allow; of a require or hook it is not known yet
  bool sure = true;                  // of a matched one: beyond doubt, not only because it could not be judged
  std::string words;                 // if asked for: why it matched or did not
  std::string pointer;
};

// One call for many rules.
struct Judging {
  explicit Judging(const CallFacts& call)
      : facts(call), schema(call.input_schema ? SchemaView(call.input_schema) : SchemaView()) {}
  const CallFacts& facts;
  SchemaView schema;
  Work work;
};

// `explain`: fill the words. The caller looks at `judging.work` for the bound.
[[nodiscard]] Judged judge_rule(const Rule& rule, Judging& judging, bool explain);

}  // namespace sallyport::policy
