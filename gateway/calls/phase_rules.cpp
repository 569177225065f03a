// Step 7: the rules, in two halves; what they want in between (evidence, hooks) is fetched by Calls.
#include "gateway/calls/phases.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "policy/rules/policy.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {

CallFacts facts_of(const Call& call) {
  const Judgement& judged = call.judged;
  CallFacts facts;
  facts.principal = &call.request.client->principal;
  facts.method = judged.tool->method;
  facts.uri = call.request.uri;
  facts.server = judged.tool->ref.server;
  facts.tool = judged.tool->ref.tool;
  facts.effect = judged.effect.effective;
  facts.pinned = judged.tool->state == ToolState::pinned;
  facts.arguments = judged_arguments(call);
  if (judged.tool->contract) facts.paths = judged.tool->contract->paths;
  if (judged.tool->input) facts.input_schema = judged.tool->input->document().root();
  return facts;
}

namespace {

void add_denials(Judgement& judged) {
  Refusal refusal;
  refusal.reasons = judged.weighed.reasons;
  if (refusal.reasons.empty())
    refusal.reasons.push_back({ReasonCode::policy_denied, "A rule denies this call.", {}, {}, false});
  refusal.code = refusal.reasons.front().code;
  refusal.sentence = refusal.reasons.front().message;
  judged.refusals.push_back(std::move(refusal));
}

}  // namespace

void weigh_rules(Call& call, const Context&) {
  Judgement& judged = call.judged;
  if (!judged.tool || (!judged.tool->input && judged.tool->method == Method::tools_call)) return;
  if (call.request.arguments && call.request.arguments.ambiguity())
    return;  // no rule may read what can be read in two ways
  judged.weighed = policy::weigh(*judged.snapshot->policy, facts_of(call));
  if (judged.weighed.denied) add_denials(judged);
}

void conclude_rules(Call& call, const Context&) {
  Judgement& judged = call.judged;
  if (judged.refused() || !judged.tool) {
    judged.decision.verdict = Verdict::deny;
    judged.decision.rules = judged.weighed.rules;
    return;
  }
  if (judged.decision.verdict == Verdict::deny) {
    Refusal refusal;
    refusal.reasons = judged.decision.reasons;
    if (refusal.reasons.empty())
      refusal.reasons.push_back({ReasonCode::policy_denied, "No rule permits this call.", {}, {}, false});
    refusal.code = refusal.reasons.front().code;
    refusal.sentence = refusal.reasons.front().message;
    judged.refusals.push_back(std::move(refusal));
    return;
  }
  // Never allowed without asking, whatever the rules say: a definition that nobody accepted as it is now.
  if (judged.tool->state == ToolState::drifted && judged.decision.verdict == Verdict::allow) {
    judged.decision.verdict = Verdict::ask;
    judged.decision.asks = {judged.snapshot->policy->approval};
  }
}

}  // namespace sallyport::gateway::calls
