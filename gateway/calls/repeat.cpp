// What is the same operation (design section 7): by idempotency key, or by the same bytes while it waits, is in flight,
// or concluded without its answer having been handed over. A repeat joins it or is told what became of it; it never
// runs a second time.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

// The recorded answer with `replayed` set in its call object.
std::string mark_replayed(const std::string& result) {
  const auto document = parsed(result);
  if (!document) return result;
  const json::Value meta = document->root().find("_meta");
  const json::Value call = meta ? meta.find(mcp::kCallMeta) : json::Value();
  if (!call) return result;
  return mcp::splice_call_meta(document->root(), mcp::splice_member(call, "replayed", "true"));
}

mcp::RpcError parse_kept_error(const std::string& text) {
  mcp::RpcError error;
  const auto document = parsed(text);
  if (!document) return error;
  const json::Value code = document->root().find("code");
  error.code = code && code.is_number() ? code.integer().value_or(error.code) : error.code;
  const json::Value message = document->root().find("message");
  if (message && message.is_string()) error.message = message.string();
  if (const json::Value data = document->root().find("data")) error.data = data.raw();
  return error;
}

// Whether two rows are one operation by their key.
bool same_key(const OperationRow& a, const OperationRow& b) {
  return a.principal == b.principal && a.server == b.server && a.tool == b.tool && a.key == b.key;
}

constexpr Millis kKeepKeys = std::chrono::hours(24 * 7);

// Whether the time of its key is over: a week, or as long as the server remembers it, and never while it is open.
bool is_forgotten(const Call& call, const OperationRow& same) {
  if (is_open(same.state) || same.key.empty()) return false;
  const auto& contract = call.judged.tool->contract;
  const Millis keep = std::max(kKeepKeys, contract ? contract->retention.value_or(kKeepKeys) : kKeepKeys);
  return call.row.created - same.updated > keep.count();
}

// What an operation may be in whose key is in use: not one that was refused, or that provably did nothing.
const std::vector<OperationState> kUsesItsKey{
    OperationState::received, OperationState::waiting,        OperationState::ready,           OperationState::intent,
    OperationState::sent,     OperationState::awaiting_input, OperationState::running,         OperationState::applied,
    OperationState::unknown,  OperationState::reconciling,    OperationState::resolved_applied};

}  // namespace

// The operation that this call repeats, if there is one. Refuses the call where that cannot be told: an identical write
// must not run again because of a store that did not answer.
asio::awaitable<std::optional<OperationRow>> Calls::find_same(Call& call) {
  for (const auto& [id, other] : flights_) {  // also one that is still on its way to the store
    if (!call.judged.key.empty() && same_key(other->call.row, call.row)) co_return other->call.row;
  }
  std::string known;
  if (call.judged.key.empty()) {
    const auto it = by_fingerprint_.find(call.row.fingerprint);
    if (it == by_fingerprint_.end()) co_return std::nullopt;
    known = it->second.operation;
    if (const auto flying = flights_.find(known); flying != flights_.end()) co_return flying->second->call.row;
  }
  OperationFilter filter;
  filter.principal = call.row.principal;
  filter.server = call.row.server;
  filter.tool = call.row.tool;
  filter.key = call.judged.key;
  filter.states = kUsesItsKey;
  filter.limit = 1;
  std::optional<OperationRow> same;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    if (!known.empty()) {
      same = tx.operation(known);
    } else if (auto rows = tx.operations(filter); !rows.empty()) {
      same = std::move(rows.front());
    }
    return {};
  });
  if (!read) refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot read its records.");
  if (same) co_return same;
  for (const auto& [id, other] : flights_) {  // begun while the store was read
    if (!call.judged.key.empty() && same_key(other->call.row, call.row)) co_return other->call.row;
  }
  co_return std::nullopt;
}

asio::awaitable<Calls::Repeat> Calls::find_repeat(FlightPtr flight) {
  Call& call = flight->call;
  Repeat repeat;
  std::optional<OperationRow> same = co_await find_same(call);
  if (call.judged.refused()) co_return repeat;
  if (same && call.judged.key.empty() && !same->key.empty()) same.reset();  // a key means that operation only
  if (same && is_forgotten(call, *same)) same.reset();
  const bool unknown = same && is_unknown(same->state);
  if (!same || (unknown && call.judged.key.empty())) {
    // An unknown one meets its block or ask; repeats of this call join this call.
    if (call.judged.key.empty() && !call.row.is_read)
      by_fingerprint_.insert_or_assign(call.row.fingerprint, Known{call.row.id, clock_.now()});
    co_return repeat;
  }
  if (same->fingerprint != call.row.fingerprint) {
    refuse(call.judged, ReasonCode::idempotency_conflict,
           fmt::format("The idempotency key belongs to operation {}, whose arguments are not byte for byte the same.",
                       same->id));
    co_return repeat;
  }
  co_await deny_repeat(flight);
  if (call.judged.refused()) co_return repeat;
  if (const auto flying = flights_.find(same->id); flying != flights_.end()) {
    const FlightPtr other = flying->second;
    const bool under_way = other->stage == Stage::running || other->stage == Stage::deciding;
    if (!call.judged.key.empty() && under_way) {
      record_repeat(call, *same);
      repeat.answer = key_in_flight(*same);
      co_return repeat;
    }
    if (!other->cancel.reason()) {
      record_repeat(call, *same);
      repeat.flight = other;
      co_return repeat;
    }
    // It is being given up: what becomes of it decides what this call is.
    while (other->stage != Stage::done && !other->dormant) co_await other->changed.wait(Deadline::never());
    repeat = co_await find_repeat(flight);
    co_return repeat;
  }
  record_repeat(call, *same);
  if (unknown && may_resend(call, *same)) {
    call.resend = true;
    call.over_budget.reset();  // what it holds already is not counted twice: record_resend() asks for one more attempt
    call.approval = same->approval;
    call.row = std::move(*same);
    co_return repeat;
  }
  repeat = co_await resume(*same, call.request.client);
  if (!repeat.flight && !repeat.answer) {
    refuse(call.judged, ReasonCode::approval_invalidated, "What was to be approved is no longer stored.");
  }
  co_return repeat;
}

// An operation taken up where it stands: in a flight, waiting in the store, or as what it came to. Neither flight nor
// answer: it cannot be taken up.
asio::awaitable<Calls::Repeat> Calls::resume(OperationRow row, std::shared_ptr<const ClientContext> client) {
  Repeat repeat;
  if (const auto flying = flights_.find(row.id); flying != flights_.end()) {
    repeat.flight = flying->second;
    co_return repeat;
  }
  if (const auto parked = parked_.find(row.id); parked != parked_.end()) {
    repeat.answer = answer_of(parked->second.flight);  // the same questions
    co_return repeat;
  }
  Result<std::string> params = fail(ErrorCode::not_found, "no arguments");
  std::optional<ApprovalRow> approval;
  std::optional<OperationRow> now;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    now = tx.operation(row.id);  // it may have moved since it was found
    params = tx.sealed(row.id, "params");
    approval = tx.approval_of(row.id);
    return {};
  });
  if (const auto flying = flights_.find(row.id); flying != flights_.end()) {  // somebody else was faster
    repeat.flight = flying->second;
    co_return repeat;
  }
  if (!read || !now) co_return repeat;
  if (now->state == OperationState::refused) {
    repeat.answer = refused_before(*now);
    co_return repeat;
  }
  if (is_unknown(now->state)) {
    repeat.answer = still_unknown(*now);
    co_return repeat;
  }
  if (now->state != OperationState::waiting) {
    repeat.answer = co_await replay(*now);
    co_return repeat;
  }
  if (!params || !approval) co_return repeat;
  auto request = request_again(std::move(*params), *now, *client);
  if (!request) co_return repeat;
  auto flight = std::make_shared<Flight>(loop_);
  flight->call.request = std::move(*request);
  flight->call.row = std::move(*now);
  flight->call.approval = approval->id;
  flight->call.binding = approval->binding;
  flight->call.shown_unknowns = trust::shown_unknowns(approval->binding);
  repeat.flight = flight;
  start(flight, work(flight));
  co_return repeat;
}

// Kept answers begin with what they are: `R` a result, `E` a JSON-RPC error.
asio::awaitable<std::optional<Answer>> Calls::replay(OperationRow row) {
  Result<std::string> stored = fail(ErrorCode::not_found, "none");
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    stored = tx.sealed(row.id, "result");
    return {};
  });
  Answer answer;
  if (read && stored && stored->starts_with('R')) {
    answer = Answer::of(mark_replayed(stored->substr(1)));
  } else if (read && stored && stored->starts_with('E')) {
    answer.error = parse_kept_error(stored->substr(1));
  } else if (row.state == OperationState::resolved_applied || row.state == OperationState::resolved_none) {
    answer = Answer::of(mark_replayed(resolved_result(row)));
  } else {
    CallMeta meta;
    meta.operation = row.id;
    meta.receipt = row.receipt;
    meta.outcome = row.outcome;
    meta.replayed = true;
    meta.code = row.outcome == Outcome::unknown ? ReasonCode::outcome_unknown : ReasonCode::result_withheld;
    meta.retry = Retry::never;
    answer = Answer::of(refusal_result(
        meta, fmt::format("Operation {} is {}; its result is no longer kept.", row.id, to_string(row.state))));
  }
  answer.delivered = [this, id = row.id](bool in_full) { delivered(id, in_full); };
  co_return answer;
}

void Calls::forget_fingerprint(const OperationRow& row) {
  const auto it = by_fingerprint_.find(row.fingerprint);
  if (it != by_fingerprint_.end() && it->second.operation == row.id) by_fingerprint_.erase(it);
}

void Calls::record_repeat(const Call& call, const OperationRow& same) {
  trust::ReceiptBody body = body_of(call, trust::ReceiptKind::repeat);
  body.operation = same.id;
  body.cause = call.row.id;
  body.decision.reset();  // nothing was decided: what became of the operation is told
  store_.post([body = std::move(body)](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    return {};
  });
}

}  // namespace sallyport::gateway::calls
