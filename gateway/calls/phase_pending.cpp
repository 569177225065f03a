// Step 8: writes whose outcome is unknown (design section 7). A lost one blocks overlapping writes where the contract
// names scopes, and makes the server's next writes ask where it does not; an answered error makes an identical repeat
// ask. After a rollback of the log a key that nobody knows asks too.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

void ask(Judgement& judged) {
  if (judged.decision.verdict != Verdict::allow) return;
  judged.decision.verdict = Verdict::ask;
  judged.decision.asks = {judged.snapshot->policy->approval};
}

void ask(Judgement& judged, const OperationRow& unknown) {
  judged.unknowns.push_back(unknown.id);
  ask(judged);
}

void block(Judgement& judged, const OperationRow& unknown, const std::string& principal) {
  judged.unknowns.push_back(unknown.id);
  // The summary holds values of the call: they are for whoever made it.
  const std::string& what = unknown.principal == principal ? unknown.summary : unknown.tool;
  refuse(
      judged, ReasonCode::blocked_by_unknown,
      fmt::format(
          "It is not known whether the earlier operation {} ({}) took effect, and this call touches the same thing. An "
          "operator can settle it with `sallyport operations resolve {}`.",
          unknown.id, visible(what), unknown.id));
  judged.decision.verdict = Verdict::deny;
}

}  // namespace

void check_pending(Call& call, const Context& context) {
  Judgement& judged = call.judged;
  if (judged.refused() || !judged.tool || call.row.is_read) return;
  // A known key would have been a repeat: whether this one is, only the lost part of the log could tell.
  if (!judged.key.empty() && call.request.received < context.keys_doubtful_until()) ask(judged);
  for (const OperationRow& unknown : context.unknowns()) {
    if (unknown.server != call.row.server || unknown.id == call.row.id) continue;
    if (unknown.unknown == Unknown::answered) {
      if (unknown.fingerprint == judged.fingerprint) ask(judged, unknown);
      continue;
    }
    const auto scope = trust::Scope::from_key(unknown.scope);
    if (scope && !trust::overlap(*scope, judged.scope)) continue;
    if (unknown.contract_scope) {
      block(judged, unknown, call.row.principal);
      return;
    }
    ask(judged, unknown);
  }
}

}  // namespace sallyport::gateway::calls
