// Start, late answers, expiry and shutdown: what happens to operations when nobody calls.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr std::uint32_t kMost = 100'000;
constexpr UnixMillis kKeepUndelivered = 24LL * 3600 * 1000;

bool under_way(OperationState state) {
  using enum OperationState;
  return state == intent || state == sent || state == awaiting_input || state == running || state == reconciling;
}

}  // namespace

// What was under way when the process ended: from `intent` on its outcome is unknown (promise 4); a read changes
// nothing.
asio::awaitable<Status> Calls::recover() {
  std::vector<OperationRow> found;
  const UnixMillis now = clock_.now();
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::outcome);
  auto recovered = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    found.clear();
    OperationFilter filter;
    filter.limit = kMost;
    filter.states = {OperationState::intent, OperationState::sent, OperationState::awaiting_input,
                     OperationState::running, OperationState::reconciling};
    for (OperationRow row : tx.operations(filter)) {
      if (!under_way(row.state)) continue;
      if (auto stepped = step(row, Event::restart); !stepped) return stepped;
      if (row.is_read) {
        row.state = OperationState::failed;
        row.outcome = Outcome::none;
      }
      row.unknown = row.is_read ? Unknown::no : Unknown::lost;
      row.basis = row.is_read ? "read" : "crash";
      row.reason = "the gateway ended while it was under way";
      row.updated = now;
      trust::ReceiptBody body = blank;
      body.kind = row.is_read && row.receipt.empty() ? trust::ReceiptKind::call : trust::ReceiptKind::outcome;
      body.operation = row.id;
      body.attempt = static_cast<std::uint32_t>(row.attempts);
      body.run = row.run;
      body.principal = row.principal;
      body.server_id = row.server;
      body.tool = row.tool;
      body.definition = row.definition;
      body.outcome = trust::OutcomeRecord{row.outcome, row.basis};
      auto appended = tx.append(std::move(body));
      if (!appended) return fail(appended.error());
      row.receipt = appended->id;
      if (auto put = tx.put(row); !put) return put;
    }
    return {};
  });
  if (!recovered) co_return recovered;
  auto loaded = co_await reload_state();
  co_return loaded;
}

asio::awaitable<Status> Calls::reload_state() {
  std::vector<OperationRow> unknowns, repeatable;
  std::vector<StopRow> stops;
  const UnixMillis oldest = clock_.now() - kKeepUndelivered;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    OperationFilter filter;
    filter.limit = kMost;
    filter.states = {OperationState::unknown, OperationState::reconciling};
    unknowns = tx.operations(filter);
    filter.states = {OperationState::waiting, OperationState::applied, OperationState::failed};
    repeatable = tx.operations(filter);
    stops = tx.stops(true);
    return {};
  });
  if (!read) co_return read;
  std::erase_if(unknowns, [](const OperationRow& row) { return row.is_read; });
  unknowns_ = std::move(unknowns);
  stops_ = std::move(stops);
  ++epoch_;
  for (const OperationRow& row : repeatable) {
    if (row.is_read || row.delivered || row.fingerprint.empty() || row.created < oldest) continue;
    by_fingerprint_.try_emplace(row.fingerprint, row.id);
  }
  for (const OperationRow& row : unknowns_) by_fingerprint_.insert_or_assign(row.fingerprint, row.id);
  metrics_.unknown_operations(static_cast<std::int64_t>(unknowns_.size()));
  configuration_changed();
  co_return Status{};
}

void Calls::approval_changed(const std::string& id) {
  if (options_.on_ask) options_.on_ask(id);
  const auto operation = by_approval_.find(id);
  if (operation == by_approval_.end()) return;
  if (const auto flight = flights_.find(operation->second); flight != flights_.end()) flight->second->nudge.notify();
}

// The answer of an attempt that was given up on is evidence (design section 7), if it is a good one.
void Calls::on_late_answer(LateAnswer late) {
  const auto known = std::ranges::find(unknowns_, late.operation, &OperationRow::id);
  if (known == unknowns_.end() || late.answer.kind != ServerAnswer::Kind::result) return;
  const json::Value flag = late.answer.result.find("isError");
  if (flag && flag.is_bool() && flag.boolean()) return;
  tasks_.spawn("late answer of " + late.operation, settle(late.operation, Event::prove_applied, "late-answer", {}, {}));
}

// Ends an unknown operation by evidence or by a person, with its receipt.
asio::awaitable<void> Calls::settle(std::string operation, Event event, std::string basis, std::string by,
                                    std::string reason) {
  auto settled = co_await resolve(std::move(operation), event, std::move(basis), std::move(by), std::move(reason));
  if (!settled) log::warning("operation.not_settled", {{"reason", settled.error().message}});
}

asio::awaitable<Result<OperationRow>> Calls::resolve(std::string operation, Event event, std::string basis,
                                                     std::string by, std::string reason) {
  OperationRow row;
  const UnixMillis now = clock_.now();
  trust::ReceiptBody body = receipt(trust::ReceiptKind::reconciliation);
  auto stored = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    auto found = tx.operation(operation);
    if (!found) return fail(ErrorCode::not_found, "there is no operation `" + operation + "`");
    row = std::move(*found);
    if (row.state != OperationState::unknown && row.state != OperationState::reconciling) {
      return fail(ErrorCode::conflict, fmt::format("operation `{}` is {}; only an unknown one can be resolved", row.id,
                                                   to_string(row.state)));
    }
    if (auto stepped = step(row, event); !stepped) return stepped;
    row.unknown = Unknown::no;
    row.basis = basis;
    row.reason = reason;
    row.updated = now;
    trust::ReceiptBody found_body = body;
    found_body.operation = row.id;
    found_body.principal = row.principal;
    found_body.server_id = row.server;
    found_body.tool = row.tool;
    found_body.definition = row.definition;
    found_body.supersedes = row.receipt;
    found_body.outcome = trust::OutcomeRecord{row.outcome, basis};
    found_body.event = trust::EventRecord{"resolved", by, reason, row.id, {}, {}, {}};
    auto appended = tx.append(std::move(found_body));
    if (!appended) return fail(appended.error());
    row.receipt = appended->id;
    if (auto dropped = tx.drop_sealed(row.id, "params"); !dropped) return dropped;
    if (auto settled = row.outcome == Outcome::applied ? keep(tx, row.id) : release(tx, row.id); !settled)
      return settled;
    return tx.put(row);
  });
  if (!stored) co_return fail(stored.error());
  remember(row);
  forget_fingerprint(row);
  configuration_changed();
  co_return row;
}

// Asks that nobody holds expire here; those that are held see it themselves.
asio::awaitable<void> Calls::sweep() {
  const UnixMillis now = clock_.now();
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::approval);
  auto swept = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    for (const char* state : {"pending", "approved"}) {
      for (ApprovalRow& row : tx.approvals(state, kMost)) {
        if (row.expires > now) continue;
        auto approval = approval_from(row);
        if (!approval) continue;
        auto expired = trust::apply(*approval, trust::event::Expired{}, now);
        if (!expired) continue;
        update(row, *expired, now);
        if (auto put = tx.put(row); !put) return put;
        trust::ReceiptBody body = blank;
        body.operation = row.operation;
        body.principal = row.principal;
        body.server_id = row.server;
        body.tool = row.tool;
        body.approval = record_of(*expired);
        auto appended = tx.append(std::move(body));
        if (!appended) return fail(appended.error());
      }
    }
    return {};
  });
  if (!swept) log::warning("sweep.failed", {{"reason", swept.error().message}});
}

asio::awaitable<void> Calls::shutdown(Deadline deadline) {
  closing_ = true;
  configuration_changed();
  const bool ended = co_await tasks_.wait_empty(deadline);
  if (ended) co_return;
  for (const auto& [id, flight] : flights_) flight->cancel.cancel(CancelReason::shutdown);
  const bool concluded = co_await tasks_.wait_empty(Deadline::after(std::chrono::seconds(3)));
  if (!concluded) log::warning("shutdown.calls_left", {{"count", flights_.size()}});
}

}  // namespace sallyport::gateway::calls
