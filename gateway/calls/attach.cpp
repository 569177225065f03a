// The client's side of a flight: attach, hold, be told.
#include <algorithm>

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

std::string progress_token(const Inbound& inbound) {
  const json::Value token = inbound.params ? inbound.params.at("/_meta/progressToken") : json::Value();
  return token && (token.is_string() || token.is_number()) ? std::string(token.raw()) : std::string();
}

}  // namespace

asio::awaitable<Answer> Calls::tools_call(Inbound inbound) {
  Answer fault;
  auto request = read_request(inbound, fault);
  if (!request) co_return fault;
  if (request->name.starts_with("sallyport_")) {
    Answer own = co_await own_call(std::move(inbound), std::move(*request));
    co_return own;
  }
  FlightPtr flight = new_flight(std::move(*request), inbound.received);
  Call& call = flight->call;
  auto key = client_key(inbound);
  if (key) call.request.key = std::move(*key);
  co_await decide(flight);
  if (!key && key.error().code == ErrorCode::invalid)
    refuse(call.judged, ReasonCode::idempotency_key_invalid, key.error().message);
  if (closing_) refuse(call.judged, ReasonCode::server_unavailable, "The gateway is shutting down.");
  if (!store_.healthy())
    refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot record what it does.");
  auto counted = co_await count_budgets(flight);
  if (!counted) refuse(call.judged, ReasonCode::recording_unavailable, "The request could not be counted.");
  if (!may_start(call)) refuse(call.judged, ReasonCode::limit_reached, "Too many calls are under way.");
  const bool asks = call.judged.decision.verdict == Verdict::ask;
  if (const auto denied = denied_.find(call.row.run + call.row.fingerprint);
      asks && !call.judged.refused() && denied != denied_.end()) {
    call.judged.refusals.push_back(denied->second);  // the same question would only be asked again
  }
  if (call.judged.refused()) {
    co_await conclude_refused(flight);
    co_return answer_of(flight);
  }
  if (!call.row.is_read || asks || !call.judged.key.empty()) {
    Repeat repeat = co_await find_repeat(flight);
    if (repeat.answer) co_return std::move(*repeat.answer);
    if (repeat.flight) flight = repeat.flight;
  }
  if (flights_.find(flight->call.row.id) == flights_.end()) {
    if (!call.over_budget.empty()) {
      refuse(call.judged, ReasonCode::budget_exhausted, call.over_budget);
      forget_fingerprint(call.row);
      co_await conclude_refused(flight);
      co_return answer_of(flight);
    }
    start(flight);
  }
  Answer answer = co_await attend(flight, std::move(inbound));
  co_return answer;
}

// Counts the request in every budget that it concerns. One that has no room left refuses it, unless it turns out to
// repeat an operation: a repeat takes nothing from a budget but the request.
asio::awaitable<Status> Calls::count_budgets(FlightPtr flight) {
  Call& call = flight->call;
  if (call.judged.budgets.empty()) co_return Status{};
  const UnixMillis now = clock_.now();
  std::optional<std::string> refused;
  auto counted = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto checked = count_request(tx, call.judged.budgets, now);
    if (!checked) return fail(checked.error());
    refused = *checked;
    return {};
  });
  if (!counted) co_return counted;
  if (refused) call.over_budget = *refused;
  co_return Status{};
}

// The key that the client sent, by `_meta` or header. not_found: none.
Result<std::string> Calls::client_key(const Inbound& inbound) {
  const json::Value meta = inbound.params.find("_meta");
  const json::Value in_meta = meta ? meta.find(mcp::kKeyMeta) : json::Value();
  if (in_meta && !in_meta.is_string()) return fail(ErrorCode::invalid, "The idempotency key must be a string.");
  if (!in_meta && !inbound.has_idempotency_header) return fail(ErrorCode::not_found, "no key");
  if (in_meta && inbound.has_idempotency_header && in_meta.string() != inbound.idempotency_header) {
    return fail(ErrorCode::invalid, "Two different idempotency keys were sent, in `_meta` and in the header.");
  }
  std::string key = in_meta ? in_meta.string() : inbound.idempotency_header;
  if (key.empty()) return fail(ErrorCode::invalid, "The idempotency key is empty.");
  return key;
}

Calls::FlightPtr Calls::new_flight(Request request, UnixMillis received) {
  auto flight = std::make_shared<Flight>(loop_);
  Call& call = flight->call;
  call.request = std::move(request);
  OperationRow& row = call.row;
  row.id = entropy_.id("op", received);
  row.principal = call.request.client->principal.id;
  row.session = call.request.client->session;
  row.run = call.request.client->run;
  row.created = row.updated = received;
  return flight;
}

// Waits until the flight is done, the hold of an ask ends, or the client gives up.
asio::awaitable<Answer> Calls::attend(FlightPtr flight, Inbound inbound) {
  Waiter waiter{inbound.channel, progress_token(inbound)};
  flight->waiters.push_back(&waiter);
  flight->nudge.notify();
  if (inbound.cancel) {
    inbound.cancel->on_cancel([weak = std::weak_ptr<Flight>(flight)](CancelReason) {
      if (const auto alive = weak.lock()) alive->changed.notify();
    });
  }
  const Deadline hold = Deadline::after(inbound.client->hold);
  const auto given_up = [&] { return inbound.cancel && inbound.cancel->reason(); };
  while (flight->stage != Stage::done && !given_up()) {
    const bool asking = flight->stage == Stage::asking;
    if (asking && hold.passed()) break;
    co_await flight->changed.wait(asking ? hold : Deadline::never());
  }
  if (inbound.cancel) inbound.cancel->on_cancel({});
  std::erase(flight->waiters, &waiter);
  if (flight->stage == Stage::done) co_return answer_of(flight);
  if (given_up()) {
    if (flight->waiters.empty()) flight->cancel.cancel(*inbound.cancel->reason());
    flight->nudge.notify();
    CallMeta meta;
    meta.code = ReasonCode::cancelled;
    meta.operation = flight->call.row.id;
    meta.retry = retry_for(ReasonCode::cancelled);
    meta.outcome = flight->stage == Stage::running ? Outcome::unknown : Outcome::none;
    co_return Answer::of(refusal_result(meta, "The call was cancelled by the client."));
  }
  flight->nudge.notify();  // the last one to leave lets the operation wait in the store
  CallMeta meta;
  meta.code = ReasonCode::approval_pending;
  meta.verdict = Verdict::ask;
  meta.retry = Retry::after_approval;
  meta.operation = flight->call.row.id;
  meta.approval = flight->call.approval;
  meta.reasons = flight->pending.reasons;
  co_return Answer::of(refusal_result(meta, flight->pending.sentence));
}

Answer Calls::answer_of(const FlightPtr& flight) {
  Answer answer;
  if (flight->error) {
    answer.error = flight->error;
  } else if (flight->result) {
    answer.result = *flight->result;
  } else {
    answer.error = mcp::RpcError{mcp::code::kInternalError, "the call ended without an answer", {}};
  }
  const OperationRow& row = flight->call.row;
  if (!row.is_read && row.state != OperationState::refused) {
    answer.delivered = [this, id = row.id](bool in_full) { delivered(id, in_full); };
  }
  return answer;
}

// The transport took the last byte: from now on the same call is a new one. Its result is kept only as long as its key.
void Calls::delivered(std::string operation, bool in_full) {
  if (!in_full) return;
  std::erase_if(by_fingerprint_,
                [&](const auto& entry) { return entry.second == operation && !is_unknown(operation); });
  store_.post([operation = std::move(operation)](Tx& tx) -> Status {
    auto row = tx.operation(operation);
    if (!row || row->delivered) return {};
    row->delivered = true;
    if (row->key.empty()) {
      if (auto dropped = tx.drop_sealed(operation, "result"); !dropped) return dropped;
    }
    return tx.put(*row);
  });
}

bool Calls::is_unknown(std::string_view operation) const {
  return std::ranges::any_of(unknowns_, [&](const OperationRow& row) { return row.id == operation; });
}

}  // namespace sallyport::gateway::calls
