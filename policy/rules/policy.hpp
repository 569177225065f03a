// Policy: the typed rules of one or several policy files. Immutable once loaded (policy/evaluate/load.hpp makes it),
// holds no view of the files or the vocabulary, and may be shared between threads as shared_ptr<const Policy>.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/budgets/budget.hpp"
#include "policy/rules/match.hpp"
#include "schemas/model/decision.hpp"

namespace sallyport::policy {

struct Evidence {
  std::string server;
  std::string tool;
  ArgumentConditions result;  // of the structured result; loosening, open
  std::string text;           // of `result`, canonical, variables replaced
};

struct Hook {
  std::string url;  // absolute http or https URL
  Millis timeout = std::chrono::milliseconds(300);
};

struct Rule {
  std::string id;
  RuleKind kind = RuleKind::deny;
  Match match;
  std::vector<Match> unless;    // what the rule does not speak of; in an allow these tighten, elsewhere they loosen
  std::vector<Match> allow_if;  // of an ask
  std::string message;
  bool hide = false;                 // of a deny without conditions
  ApprovalTerms approval;            // of an ask or a hook: its own, else the policy's
  std::optional<Evidence> evidence;  // of a require
  std::optional<Hook> hook;
  std::string file;
  json::Position position;
  std::string text;  // canonical, variables replaced: two rules of equal text mean the same
};

// A budget and the calls it counts.
struct BudgetRule {
  Budget budget;
  std::optional<Match> match;  // tightening; none: every call
  std::string text;
  json::Position position;
};

// One of the policy's own tests: a made-up call and what must come of it.
struct PolicyTest {
  std::string name;  // its own, or `tests[3]`
  std::string file;
  json::Position position;
  std::string pointer;
  std::string principal;
  std::optional<std::vector<std::string>> groups;  // else those of the config
  Method method = Method::tools_call;
  std::string server, tool, uri;
  std::shared_ptr<const json::Document> arguments;  // an object
  std::vector<std::string> evidence;                // rules whose evidence is taken as found
  Verdict verdict = Verdict::deny;
  std::optional<std::vector<std::string>> rules;  // exactly those that gave the verdict
};

// Candidate rules of a call, by server and tool: what 10,000 rules cost a call that three of them concern.
class RuleIndex {
 public:
  RuleIndex() = default;
  explicit RuleIndex(const std::vector<Rule>& rules);
  // Indexes into the rules, ascending: all that could match by server and tool, few others.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::string_view server, std::string_view tool) const;

 private:
  struct Bucket {
    std::vector<std::uint32_t> any_tool;
    std::unordered_map<std::string, std::vector<std::uint32_t>> exact;
    std::unordered_map<std::string, std::vector<std::uint32_t>> prefix;
    std::vector<std::size_t> prefix_lengths;  // that occur
  };
  static void add(Bucket& bucket, const Match& match, std::uint32_t rule);
  static void collect(const Bucket& bucket, std::string_view tool, std::vector<std::uint32_t>& out);
  Bucket any_server_;
  std::unordered_map<std::string, Bucket> servers_;
};

struct Policy {
  Verdict default_verdict = Verdict::ask;  // ask or deny
  ApprovalTerms approval;                  // of a defaulted ask, and of asks that say nothing else
  std::vector<Rule> rules;                 // in order of the files
  std::vector<BudgetRule> budgets;
  std::vector<std::string> redact;  // pointers
  std::vector<PolicyTest> tests;
  RuleIndex index;
  bool tested_allows = false;  // `testedAllows`: an allow that no test reaches is an error
  std::string digest;          // of the files; from the caller

  [[nodiscard]] const Rule* rule(std::string_view id) const;
  [[nodiscard]] const BudgetRule* budget(std::string_view id) const;
};

}  // namespace sallyport::policy
