// The server's own revision of what a call touches, where its contract says how to read it (design section 2): what an
// approval and an evidence are bound to beside our counter.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

std::string digest_of(const std::string& revision) {
  return trust::digest_text("sallyport/server-revision/v1\n" + revision);
}

}  // namespace

asio::awaitable<Result<std::string>> Calls::read_server_revision(OperationRow cause, trust::Revision revision,
                                                                 std::string arguments) {
  auto answer = co_await read_for(std::move(cause), revision.call.tool, std::move(arguments));
  if (!answer) co_return fail(answer.error());
  const json::Value value = answer->structured.at(revision.at);
  if (!value || value.is_object() || value.is_array() || value.is_null())
    co_return fail(ErrorCode::invalid, fmt::format("there is no value at `{}` of its result", visible(revision.at)));
  co_return value.is_string() ? value.string() : std::string(value.raw());
}

asio::awaitable<Result<std::string>> Calls::server_revision(Call& call) {
  const trust::Revision revision = *call.judged.tool->contract->revision;
  auto arguments = trust::own_arguments(revision.call, call.request.arguments, call.judged.key, call.row.id);
  if (!arguments) co_return fail(arguments.error());
  auto value = co_await read_server_revision(call.row, revision, std::move(*arguments));
  co_return value;
}

// Step 10: read once more, so that what was approved, and what the evidence speaks of, is what is there. False:
// refused, or decide again.
asio::awaitable<bool> Calls::revision_holds(FlightPtr flight) {
  Call& call = flight->call;
  if (call.judged.server_revision) {
    auto found = co_await server_revision(call);
    if (!found) {
      refuse(call.judged, ReasonCode::server_unavailable,
             fmt::format("The revision that the approval is bound to cannot be read: {}.", found.error().message));
      co_return false;
    }
    if (*found != *call.judged.server_revision) call.judged.epoch = kStale;
    if (call.judged.epoch == kStale) co_return false;
  }
  const std::vector<EvidenceBasis> evidence = call.judged.evidence;
  for (const EvidenceBasis& basis : evidence) {
    OperationRow cause = call.row;
    cause.server = basis.server;
    cause.tool = basis.state.tool;
    const trust::Contract* contract = contract_of(cause);
    const auto moved = co_await state_moved(cause, contract, basis.state);
    if (!moved) continue;
    call.judged.epoch = kStale;
    co_return false;
  }
  co_return true;
}

// Before an evidence tool is called: the state that its result will speak of. One that cannot be read makes the result
// no evidence.
asio::awaitable<void> Calls::note_state(FlightPtr flight) {
  Call& call = flight->call;
  call.evidence_state = {};
  const auto& contract = call.judged.tool->contract;
  if (!contract || !contract->revision || evidence_rules(call).empty()) co_return;
  const trust::Revision revision = *contract->revision;
  auto arguments = trust::own_arguments(revision.call, call.request.arguments, call.judged.key, call.row.id);
  Result<std::string> value = fail(ErrorCode::invalid, arguments ? std::string() : arguments.error().message);
  if (arguments) value = co_await read_server_revision(call.row, revision, *arguments);
  if (value) {
    call.evidence_state = {call.row.tool, digest_of(*value), std::move(*arguments)};
  } else {
    log::warning("evidence.state_not_read", {{"operation", call.row.id}, {"reason", value.error().message}});
  }
}

// Why an evidence is not of the present state of the server; nullopt: it is, or its contract reads none.
asio::awaitable<std::optional<std::string>> Calls::state_moved(OperationRow cause, const trust::Contract* contract,
                                                               StateSeen state) {
  if (contract == nullptr || !contract->revision) co_return std::nullopt;
  if (state.value.empty()) co_return "the server's own revision was not read with it";
  const trust::Revision revision = *contract->revision;
  auto value = co_await read_server_revision(std::move(cause), revision, std::move(state.arguments));
  if (!value) co_return fmt::format("the server's own revision cannot be read: {}", value.error().message);
  if (digest_of(*value) == state.value) co_return std::nullopt;
  co_return "the server's own revision has moved since";
}

}  // namespace sallyport::gateway::calls
