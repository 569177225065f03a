// The policy's own tests: made-up calls against the accepted definitions.
#include <algorithm>

#include "policy/evaluate/load.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "`" : ", `") + visible(item) + "`";
  return out.empty() ? "the default" : out;
}

Principal principal_of(const PolicyTest& test, const Vocabulary& vocabulary) {
  Principal out{.id = test.principal, .groups = {}, .owner = {}, .anonymous = test.principal.starts_with("anonymous:")};
  const auto found = std::ranges::find(vocabulary.principals, test.principal, &Principal::id);
  if (found != vocabulary.principals.end()) out = *found;
  if (test.groups) out.groups = *test.groups;
  return out;
}

// The rules that gave the verdict, sorted: those of a test's `rules`.
std::vector<std::string> determining(const Decision& decision) {
  std::vector<std::string> out;
  if (decision.by_default) return out;
  for (const MatchedRule& rule : decision.rules) {
    if (rule.verdict != decision.verdict) continue;
    const bool silent =
        decision.verdict == Verdict::allow && (rule.kind == RuleKind::require || rule.kind == RuleKind::hook);
    if (!silent) out.push_back(rule.id);
  }
  std::ranges::sort(out);
  return out;
}

// Facts of the test's call, or why it cannot be made.
struct Prepared {
  CallFacts facts;
  std::optional<TestResult> instead;
};

Prepared prepare(const PolicyTest& test, const Vocabulary& vocabulary, const Principal& principal) {
  Prepared out;
  TestResult instead{
      .name = test.name, .outcome = TestResult::Outcome::skipped, .words = {}, .touched = {}, .error = false};
  const VocabularyServer* server = vocabulary.server(test.server);
  if (server == nullptr || !server->accepted) {
    instead.words = "not run: server `" + visible(test.server) + "` has no accepted definitions yet";
    out.instead = std::move(instead);
    return out;
  }
  CallFacts& facts = out.facts;
  facts.principal = &principal;
  facts.method = test.method;
  facts.server = test.server;
  facts.tool = test.tool;
  facts.uri = test.uri;
  facts.pinned = true;
  facts.arguments = test.arguments->root();
  facts.effect = Effect{.category = EffectCategory::read, .destructive = false, .repeat = Repeat::safe, .labels = {}};
  if (test.method != Method::tools_call) return out;
  const VocabularyTool* tool = server->tool(test.tool);
  instead.error = true;
  if (tool == nullptr) {
    instead.words = "server `" + visible(test.server) + "` has no accepted tool `" + visible(test.tool) + "`";
    out.instead = std::move(instead);
    return out;
  }
  if (tool->schema != nullptr) {
    const schema::Verdict verdict = tool->schema->validate(facts.arguments);
    if (!verdict.valid) {
      instead.outcome = TestResult::Outcome::failed;
      instead.words = "the arguments do not fit the pinned schema, so such a call never reaches the rules";
      if (!verdict.faults.empty())
        instead.words += ": `" + visible(verdict.faults[0].instance) + "` " + verdict.faults[0].message;
      out.instead = std::move(instead);
      return out;
    }
  }
  facts.effect = tool->effect_for ? tool->effect_for(facts.arguments) : tool->effect;
  facts.paths = tool->paths;
  facts.input_schema = tool->input_schema;
  return out;
}

TestResult run(const Policy& policy, const PolicyTest& test, const Vocabulary& vocabulary) {
  const Principal principal = principal_of(test, vocabulary);
  Prepared prepared = prepare(test, vocabulary, principal);
  if (prepared.instead) return std::move(*prepared.instead);
  const Weighed weighed = weigh(policy, prepared.facts);
  std::vector<EvidenceFound> evidence;
  for (const std::string& rule : test.evidence)
    evidence.push_back({.rule = rule, .found = true, .receipt = {}, .words = {}});
  std::vector<HookAnswer> answers;
  for (const HookWanted& hook : weighed.hooks) {
    answers.push_back({.rule = hook.rule, .decision = HookAnswer::Decision::none, .message = {}});
  }
  const Decision decision = conclude(policy, weighed, evidence, answers);
  TestResult out{.name = test.name, .outcome = TestResult::Outcome::passed, .words = {}, .touched = {}, .error = false};
  for (const MatchedRule& rule : decision.rules) out.touched.push_back(rule.id);
  const std::vector<std::string> by = determining(decision);
  if (decision.verdict != test.verdict || (test.rules && *test.rules != by)) {
    out.outcome = TestResult::Outcome::failed;
    out.error = true;
    out.words = "expected " + std::string(to_string(test.verdict)) + (test.rules ? " by " + joined(*test.rules) : "") +
                ", got " + std::string(to_string(decision.verdict)) + " by " + joined(by);
  }
  return out;
}

}  // namespace

std::vector<TestResult> run_tests(const Policy& policy, const Vocabulary& vocabulary) {
  std::vector<TestResult> out;
  out.reserve(policy.tests.size());
  for (const PolicyTest& test : policy.tests) out.push_back(run(policy, test, vocabulary));
  return out;
}

}  // namespace sallyport::policy
