#include "policy/evaluate/evaluate.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "policy/evaluate/judge.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxHookMessage = 300;

Reason reason(ReasonCode code, std::string message, std::string rule) {
  return Reason{
      .code = code, .message = std::move(message), .rule = std::move(rule), .pointer = {}, .has_pointer = false};
}

// `sure`: the rule speaks of this call beyond doubt. Else its words alone would say what nobody knows.
std::string denial(const Rule& rule, bool sure) {
  std::string out = rule.message.empty() ? "The rules of this gateway deny this call." : rule.message;
  if (!sure) out += " (Something in the call could not be judged, so it counts as what the rule is about.)";
  return out;
}

void add_matched(Weighed& out, const Rule& rule, const Judged& judged) {
  MatchedRule matched{
      .id = rule.id, .kind = rule.kind, .verdict = judged.verdict, .message = rule.message, .approval = std::nullopt};
  switch (rule.kind) {
    case RuleKind::deny:
      out.denied = true;
      out.reasons.push_back(reason(ReasonCode::policy_denied, denial(rule, judged.sure), rule.id));
      break;
    case RuleKind::ask:
      matched.approval = rule.approval;
      if (!judged.sure) out.unsure.push_back(rule.id);
      break;
    case RuleKind::require:
      out.evidence.push_back({rule.id, rule.evidence->server, rule.evidence->tool, rule.message});
      break;
    case RuleKind::hook:
      out.hooks.push_back({rule.id, rule.hook->url, rule.hook->timeout});
      matched.approval = rule.approval;
      break;
    case RuleKind::allow:
      break;
  }
  out.rules.push_back(std::move(matched));
}

// A rule that cannot be weighed denies: no setting turns that round (promise 8).
void add_failed(Weighed& out, const Rule& rule) {
  out.denied = true;
  out.rules.push_back(
      {.id = rule.id, .kind = rule.kind, .verdict = Verdict::deny, .message = {}, .approval = std::nullopt});
  out.reasons.push_back(reason(ReasonCode::rule_failed,
                               "A rule of this gateway could not be weighed for this call, so it is refused.",
                               rule.id));
}

// What stands in a list, by its rule; the first of several.
template <class T>
using ByRule = std::unordered_map<std::string_view, const T*>;

template <class List>
auto by_rule(const List& list) {
  ByRule<std::ranges::range_value_t<List>> out;
  for (const auto& entry : list) out.emplace(entry.rule, &entry);
  return out;
}

template <class T>
const T* find(const ByRule<T>& entries, std::string_view rule) {
  const auto found = entries.find(rule);
  return found == entries.end() ? nullptr : found->second;
}

void conclude_evidence(MatchedRule& rule, const EvidenceWanted* wanted, const EvidenceFound* have, Decision& out) {
  if (have != nullptr && have->found) return;
  rule.verdict = Verdict::deny;
  std::string message = rule.message;
  if (message.empty() && wanted != nullptr) {
    message = "First run `" + visible(wanted->tool) + "` of `" + visible(wanted->server) +
              "` with the result this call needs.";
  }
  if (have != nullptr && !have->words.empty()) message += " (" + have->words + ")";
  out.reasons.push_back(reason(ReasonCode::evidence_required, std::move(message), rule.id));
}

void conclude_hook(MatchedRule& rule, const HookAnswer* answer, Decision& out) {
  const auto decision = answer == nullptr ? HookAnswer::Decision::failed : answer->decision;
  if (decision == HookAnswer::Decision::none) return;
  rule.verdict = decision == HookAnswer::Decision::ask ? Verdict::ask : Verdict::deny;
  if (decision == HookAnswer::Decision::deny) {
    std::string message = rule.message;
    if (message.empty()) message = visible(answer->message.substr(0, kMaxHookMessage));
    if (message.empty()) message = "The rules of this gateway deny this call.";
    out.reasons.push_back(reason(ReasonCode::policy_denied, std::move(message), rule.id));
  }
  if (decision == HookAnswer::Decision::failed) {
    out.reasons.push_back(reason(ReasonCode::hook_failed,
                                 "A check that this gateway must make gave no usable answer, so the call is refused.",
                                 rule.id));
  }
}

// Whether a rule of its own speaks of the call, so that the default does not. What only might (an ask that could not be
// judged) and what may only tighten (a hook) does not count: it would turn a default denial into a question.
bool speaks(const MatchedRule& rule, const std::unordered_set<std::string_view>& unsure) {
  if (rule.kind == RuleKind::allow) return true;
  return rule.kind == RuleKind::ask && !unsure.contains(rule.id);
}

void conclude_verdict(const Policy& policy, const Weighed& weighed, Decision& out) {
  const auto any = [&](auto test) { return std::ranges::any_of(out.rules, test); };
  if (any([](const MatchedRule& rule) { return rule.verdict == Verdict::deny; })) return;
  std::set<ApprovalTerms> asked;
  const auto ask = [&](const ApprovalTerms& terms) {
    if (asked.insert(terms).second) out.asks.push_back(terms);
  };
  for (const MatchedRule& rule : out.rules) {
    if (rule.verdict == Verdict::ask) ask(rule.approval.value_or(policy.approval));
  }
  const std::unordered_set<std::string_view> unsure(weighed.unsure.begin(), weighed.unsure.end());
  const bool spoken = any([&](const MatchedRule& rule) { return speaks(rule, unsure); });
  if (!spoken && policy.default_verdict == Verdict::deny) {
    out.by_default = true;
    out.asks.clear();
    out.reasons.push_back(reason(ReasonCode::policy_denied, "No rule of this gateway allows this call.", {}));
    return;
  }
  if (!spoken) {
    out.by_default = out.asks.empty();
    ask(policy.approval);
  }
  out.verdict = out.asks.empty() ? Verdict::allow : Verdict::ask;
}

}  // namespace

Weighed weigh(const Policy& policy, const CallFacts& facts) {
  Weighed out;
  Judging judging(facts);
  for (const std::uint32_t index : policy.index.candidates(facts.server, facts.tool)) {
    const Rule& rule = policy.rules[index];
    ++out.candidates;
    try {
      const Judged judged = judge_rule(rule, judging, false);
      if (judging.work.exhausted()) {
        add_failed(out, rule);
        break;
      }
      if (judged.matched) add_matched(out, rule, judged);
    } catch (const std::exception&) {
      add_failed(out, rule);
    }
  }
  out.conditions = judging.work.conditions();
  return out;
}

Decision conclude(const Policy& policy, const Weighed& weighed, std::span<const EvidenceFound> evidence,
                  std::span<const HookAnswer> hooks) {
  Decision out;
  out.rules = weighed.rules;
  out.reasons = weighed.reasons;
  if (weighed.denied) return out;  // a Decision denies unless something else is said
  const auto wanted = by_rule(weighed.evidence);
  const auto found = by_rule(evidence);
  const auto answers = by_rule(hooks);
  for (MatchedRule& rule : out.rules) {
    if (rule.kind == RuleKind::require) conclude_evidence(rule, find(wanted, rule.id), find(found, rule.id), out);
    if (rule.kind == RuleKind::hook) conclude_hook(rule, find(answers, rule.id), out);
  }
  conclude_verdict(policy, weighed, out);
  return out;
}

Decision evaluate(const Policy& policy, const CallFacts& facts, std::span<const EvidenceFound> evidence,
                  std::span<const HookAnswer> hooks) {
  return conclude(policy, weigh(policy, facts), evidence, hooks);
}

bool hidden(const Policy& policy, const CallFacts& facts) {
  for (const std::uint32_t index : policy.index.candidates(facts.server, facts.tool)) {
    const Rule& rule = policy.rules[index];
    if (!rule.hide || rule.kind != RuleKind::deny || !match_names(rule.match, facts)) continue;
    const bool excepted =
        std::ranges::any_of(rule.unless, [&](const Match& exception) { return match_names(exception, facts); });
    if (!excepted) return true;
  }
  return false;
}

std::vector<const BudgetRule*> budgets_for(const Policy& policy, const CallFacts& facts, bool arguments_readable) {
  std::vector<const BudgetRule*> out;
  Work work;
  for (const BudgetRule& rule : policy.budgets) {
    const bool counts =
        !rule.match || (arguments_readable ? matches(*rule.match, facts, work) : match_names(*rule.match, facts));
    if (counts) out.push_back(&rule);
  }
  return out;
}

bool evidence_fulfils(const Policy& policy, std::string_view rule, json::Value result, json::Value output_schema) {
  const Rule* found = policy.rule(rule);
  if (found == nullptr || !found->evidence || !result) return false;
  return found->evidence->result.judge(result, output_schema) == Truth::yes;
}

}  // namespace sallyport::policy
