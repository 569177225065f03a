// The phases one after the other, for calls and for rehearsals.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {

void weigh(Call& call, std::shared_ptr<const Snapshot> snapshot, const Context& context) {
  call.judged = Judgement{};
  call.judged.snapshot = std::move(snapshot);
  for (const Phase& phase : kWeighing) phase.run(call, context);
}

void conclude(Call& call, std::span<const policy::EvidenceFound> evidence, std::span<const policy::HookAnswer> hooks,
              const Context& context) {
  Judgement& judged = call.judged;
  if (judged.tool && !judged.refused()) {
    judged.decision = policy::conclude(*judged.snapshot->policy, judged.weighed, evidence, hooks);
  }
  for (const Phase& phase : kConcluding) phase.run(call, context);
}

Call rehearse(std::shared_ptr<const ClientContext> client, std::shared_ptr<const json::Document> params,
              std::shared_ptr<const Snapshot> snapshot, const Context& context) {
  Inbound inbound;
  inbound.client = client;
  inbound.document = params;
  inbound.params = params->root();
  Answer fault;
  Call call;
  call.row.principal = client->principal.id;
  auto request = read_request(inbound, fault);
  if (!request) {
    refuse(call.judged, ReasonCode::arguments_invalid, fault.error->message);
    return call;
  }
  call.request = std::move(*request);
  weigh(call, std::move(snapshot), context);
  conclude(call, {}, {}, context);
  return call;
}

Result<std::shared_ptr<const json::Document>> call_params(const std::string& tool, const std::string& arguments_raw) {
  const std::string arguments = arguments_raw.empty() ? "{}" : arguments_raw;
  auto document = json::Document::parse(fmt::format(R"({{"name":{},"arguments":{}}})", quote(tool), arguments));
  if (!document) return fail_in("the arguments", document.error());
  return std::make_shared<const json::Document>(std::move(*document));
}

}  // namespace sallyport::gateway::calls
