// explain: every rule, matched or why not, in words that can be pasted into a ticket; values are never shown.
#pragma once

#include <string>
#include <vector>

#include "policy/evaluate/evaluate.hpp"

namespace sallyport::policy {

struct RuleLine {
  std::string id;
  RuleKind kind;
  std::string at;  // where it stands: `policy.jsonc:13`; empty: not known
  bool matched = false;
  Verdict verdict = Verdict::allow;  // of a matched one
  std::string words;                 // matched: by what; else: the first thing that did not match
  std::string pointer;               // into the arguments, if it was there
  bool has_pointer = false;
};

struct Explanation {
  Decision decision;            // with no evidence found and no hook asked, where rules want them
  std::vector<RuleLine> rules;  // all of them, in order of the files
  std::vector<std::string> notes;
};

[[nodiscard]] Explanation explain(const Policy& policy, const CallFacts& facts);
// The verdict, the rules that matched and by what, then those that did not and why, then what else the reader must
// know.
[[nodiscard]] std::string to_text(const Explanation& explanation);

}  // namespace sallyport::policy
