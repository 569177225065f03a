// What is the same operation (design section 7): by idempotency key, or by the same bytes while it waits, is in flight,
// or concluded without its answer having been handed over. A repeat joins it or is told what became of it; it never
// runs a second time.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

Answer refused(const Call& call, ReasonCode code, std::string sentence, Outcome outcome, std::string receipt) {
  CallMeta meta;
  meta.code = code;
  meta.operation = call.row.id;
  meta.retry = retry_for(code);
  meta.outcome = outcome;
  meta.receipt = std::move(receipt);
  meta.reasons.push_back(Reason{code, sentence, {}, {}, false});
  return Answer::of(refusal_result(meta, sentence));
}

// The recorded answer with `replayed` set in its call object.
std::string mark_replayed(const std::string& result) {
  auto document = json::Document::parse(result, json::Limits{.bytes = result.size(), .depth = 10'000});
  if (!document) return result;
  const json::Value meta = document->root().find("_meta");
  const json::Value call = meta ? meta.find(mcp::kCallMeta) : json::Value();
  if (!call) return result;
  return mcp::splice_call_meta(document->root(), mcp::splice_member(call, "replayed", "true"));
}

}  // namespace

asio::awaitable<Calls::Repeat> Calls::find_repeat(FlightPtr flight) {
  const Call& call = flight->call;
  Repeat repeat;
  std::optional<OperationRow> same;
  if (!call.judged.key.empty()) {
    OperationFilter filter;
    filter.principal = call.row.principal;
    filter.server = call.row.server;
    filter.tool = call.row.tool;
    filter.key = call.judged.key;
    filter.limit = 8;
    std::vector<OperationRow> rows;
    auto read = co_await store_.read([&](Tx& tx) -> Status {
      rows = tx.operations(filter);
      return {};
    });
    if (!read) {
      repeat.answer =
          refused(call, ReasonCode::recording_unavailable, "The gateway cannot read its records.", Outcome::none, {});
      co_return repeat;
    }
    for (const OperationRow& row : rows) {
      if (row.state != OperationState::refused && row.state != OperationState::failed &&
          row.state != OperationState::resolved_none) {
        same = row;
        break;
      }
    }
    // One that is still on its way to the store counts as well.
    for (const auto& [id, other] : flights_) {
      const OperationRow& row = other->call.row;
      if (row.principal == call.row.principal && row.server == call.row.server && row.tool == call.row.tool &&
          row.key == call.judged.key) {
        same = row;
      }
    }
  } else if (const auto it = by_fingerprint_.find(call.judged.fingerprint); it != by_fingerprint_.end()) {
    if (const auto flying = flights_.find(it->second); flying != flights_.end()) {
      same = flying->second->call.row;
    } else {
      const std::string id = it->second;
      auto read = co_await store_.read([&](Tx& tx) -> Status {
        same = tx.operation(id);
        return {};
      });
      if (!read) same.reset();
    }
    if (same && !same->key.empty()) same.reset();  // whoever sends a key means that operation only
  }
  if (!same) {
    if (!call.judged.fingerprint.empty() && call.judged.key.empty())
      by_fingerprint_.insert_or_assign(call.judged.fingerprint, call.row.id);
    co_return repeat;
  }
  if (same->fingerprint != call.judged.fingerprint) {
    repeat.answer = refused(call, ReasonCode::idempotency_conflict,
                            fmt::format("The idempotency key belongs to operation {} with other arguments.", same->id),
                            Outcome::none, same->receipt);
    co_return repeat;
  }
  if (same->state == OperationState::unknown || same->state == OperationState::reconciling)
    co_return repeat;  // meets its block or ask
  record_repeat(call, *same);
  if (const auto flying = flights_.find(same->id); flying != flights_.end()) {
    repeat.flight = flying->second;
    co_return repeat;
  }
  repeat = co_await resume(*same, call.request.client);
  co_return repeat;
}

// An operation that is in nobody's hands: waiting in the store, or concluded.
asio::awaitable<Calls::Repeat> Calls::resume(OperationRow row, std::shared_ptr<const ClientContext> client) {
  Repeat repeat;
  if (row.state != OperationState::waiting) {
    repeat.answer = co_await replay(row);
    co_return repeat;
  }
  Result<std::string> params = fail(ErrorCode::not_found, "no arguments");
  std::optional<ApprovalRow> approval;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    params = tx.sealed(row.id, "params");
    approval = tx.approval_of(row.id);
    return {};
  });
  if (!read || !params || !approval) {
    Call lost;
    lost.row = row;
    repeat.answer = refused(lost, ReasonCode::approval_invalidated, "What was to be approved is no longer stored.",
                            Outcome::none, row.receipt);
    co_return repeat;
  }
  if (const auto flying = flights_.find(row.id); flying != flights_.end()) {  // somebody else was faster
    repeat.flight = flying->second;
    co_return repeat;
  }
  auto document = json::Document::parse(*params, json::Limits{.bytes = params->size(), .depth = 10'000});
  if (!document) co_return repeat;
  Inbound stored;
  stored.client = client;
  stored.document = std::make_shared<const json::Document>(std::move(*document));
  stored.params = stored.document->root();
  stored.received = row.created;
  Answer fault;
  auto request = read_request(stored, fault);
  if (!request) co_return repeat;
  request->key = row.key;
  auto flight = std::make_shared<Flight>(loop_);
  flight->call.request = std::move(*request);
  flight->call.row = row;
  flight->call.approval = approval->id;
  flight->call.binding = approval->binding;
  repeat.flight = flight;
  start(flight);
  co_return repeat;
}

asio::awaitable<std::optional<Answer>> Calls::replay(OperationRow row) {
  Result<std::string> stored = fail(ErrorCode::not_found, "none");
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    stored = tx.sealed(row.id, "result");
    return {};
  });
  Answer answer;
  if (read && stored) {
    answer = Answer::of(mark_replayed(*stored));
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
  if (it != by_fingerprint_.end() && it->second == row.id) by_fingerprint_.erase(it);
}

void Calls::record_repeat(const Call& call, const OperationRow& same) {
  trust::ReceiptBody body = body_of(call, trust::ReceiptKind::repeat);
  body.operation = same.id;
  body.cause = call.row.id;
  store_.post([body = std::move(body)](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    return {};
  });
}

}  // namespace sallyport::gateway::calls
