// What receipts say of a call (design section 6).
#include "gateway/calls/calls.hpp"
#include "policy/rules/policy.hpp"
#include "trust/receipts/commitment.hpp"
#include "trust/receipts/redaction.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

trust::DecisionRecord decision_of(const Judgement& judged) {
  trust::DecisionRecord record =
      trust::record_of(judged.decision, judged.snapshot->policy_digest, judged.snapshot->trust_digest);
  if (!judged.refused()) return record;
  record.verdict = Verdict::deny;
  record.reasons.clear();
  for (const Refusal& refusal : judged.refusals) {
    if (refusal.reasons.empty()) record.reasons.push_back({refusal.code, {}, std::nullopt});
    for (const Reason& reason : refusal.reasons) {
      record.reasons.push_back(
          {reason.code, reason.rule, reason.has_pointer ? std::optional(reason.pointer) : std::nullopt});
    }
  }
  return record;
}

}  // namespace

std::vector<std::string> hidden_arguments(const Call& call) {
  if (!call.secrets) call.secrets = trust::secret_pointers(judged_arguments(call));
  std::vector<std::string> hidden = *call.secrets;
  const Judgement& judged = call.judged;
  if (judged.snapshot)
    hidden.insert(hidden.end(), judged.snapshot->policy->redact.begin(), judged.snapshot->policy->redact.end());
  if (judged.tool) hidden.insert(hidden.end(), judged.tool->write_only.begin(), judged.tool->write_only.end());
  return hidden;
}

std::vector<std::string> hidden_places(const Call& call) {
  std::vector<std::string> hidden = hidden_arguments(call);
  // The patterns stay: a name that only resembles one of them is hidden too.
  for (std::string& place : trust::matching_pointers(call.request.arguments, hidden))
    hidden.push_back(std::move(place));
  return hidden;
}

trust::ReceiptBody Calls::receipt(trust::ReceiptKind kind) const {
  trust::ReceiptBody body;
  body.kind = kind;
  body.gateway = {options_.identity.version, options_.identity.boot, options_.identity.boundary, {}};
  body.times.at = clock_.now();
  return body;
}

trust::ReceiptBody Calls::body_of(const Call& call, trust::ReceiptKind kind) const {
  trust::ReceiptBody body = receipt(kind);
  const ClientContext& client = *call.request.client;
  const Judgement& judged = call.judged;
  body.operation = call.row.id;
  body.run = call.row.run;
  body.principal = call.row.principal;
  body.client_name = client.claimed_name;
  body.client_version = client.claimed_version;
  body.server_id = call.row.server;
  body.tool = call.row.tool.empty() ? call.request.name : call.row.tool;
  body.uri = call.request.uri;
  if (call.request.method != Method::tools_call) body.method = to_string(call.request.method);
  body.protocol = client.protocol_version;
  body.transport = client.transport;
  body.times.received = call.request.received;
  body.times.decided = call.decided;
  body.times.at = 0;
  body.idempotency_key = judged.key;
  body.cause = call.cause;
  if (judged.server_revision) body.server_revision = *judged.server_revision;
  if (judged.server != nullptr) body.server_identity = judged.server->identity_digest;
  if (judged.tool) {
    body.definition = judged.tool->digest;
    body.effect = judged.effect;
    body.scope_name = judged.scope.name();
  }
  if (judged.snapshot) body.decision = decision_of(judged);
  for (const EvidenceBasis& basis : judged.evidence) body.evidence.push_back(basis.receipt);
  // Values that cannot be told apart are not hashed: there is no canonical form of them. Nor what could not be read.
  if (call.request.params && !(call.request.arguments && call.request.arguments.ambiguity())) {
    trust::RecordRules rules;
    if (judged.tool && judged.tool->contract) rules.record = judged.tool->contract->record_arguments;
    const std::vector<std::string> hidden = hidden_arguments(call);
    rules.redact = hidden;
    body.arguments = trust::record_arguments(judged_arguments(call), rules, store_.operation_key(call.row.id),
                                             [this](std::string_view text) { return store_.fingerprint(text); });
  }
  return body;
}

}  // namespace sallyport::gateway::calls
