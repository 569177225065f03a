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
constexpr std::size_t kMostDenials = 10'000;
constexpr UnixMillis kFoldFor = 60'000;  // equal refusals within this time share a receipt
constexpr UnixMillis kKeepUndelivered = 24LL * 3600 * 1000;

bool under_way(OperationState state) {
  using enum OperationState;
  return state == intent || state == sent || state == awaiting_input || state == running || state == reconciling;
}

// The server's own result that came after all, as a repeat gets it; empty: there is none to give.
std::string settled_result(const OperationRow& row, json::Value result) {
  if (!result || row.outcome != Outcome::applied || result.ambiguity()) return {};
  CallMeta meta;
  meta.verdict = Verdict::allow;
  meta.outcome = row.outcome;
  meta.operation = row.id;
  meta.approval = row.approval;
  meta.receipt = row.receipt;
  return "R" + marked_result(result, meta);
}

}  // namespace

// What was under way when the process ended: from `intent` on its outcome is unknown (promise 4); a read changes
// nothing.
asio::awaitable<Status> Calls::recover() {
  std::vector<OperationRow> found;
  const UnixMillis now = clock_.now();
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::outcome);
  const trust::ReceiptBody receipt_of_refusal = receipt(trust::ReceiptKind::refusal);
  auto recovered = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    found.clear();
    OperationFilter filter;
    filter.limit = kMost;
    filter.states = {OperationState::intent, OperationState::sent, OperationState::awaiting_input,
                     OperationState::running, OperationState::reconciling};
    for (OperationRow row : tx.operations(filter)) {
      if (!under_way(row.state)) continue;
      const bool looked = row.state == OperationState::reconciling;  // a look changes nothing of how it was lost
      const auto stepped = step(row, row.is_read ? Event::fail : Event::restart);
      if (!stepped) return fail(stepped.error());
      if (!looked) row.unknown = row.is_read ? Unknown::no : Unknown::lost;
      row.basis = row.is_read ? "read" : "crash";
      row.reason = "the gateway ended while it was under way";
      row.updated = now;
      trust::ReceiptBody body = receipt_about(blank, row);
      body.kind = receipt_of(*stepped, row);
      body.attempt = static_cast<std::uint32_t>(row.attempts);
      auto appended = tx.append(std::move(body));
      if (!appended) return fail(appended.error());
      row.receipt = appended->id;
      if (auto put = tx.put(row); !put) return put;
    }
    return recover_folds(tx, receipt_of_refusal);
  });
  if (!recovered) co_return recovered;
  auto loaded = co_await load_open();
  co_return loaded;
}

// What earlier lives of this process left open. Once, before anybody calls: later it is kept as it changes.
asio::awaitable<Status> Calls::load_open() {
  std::vector<OperationRow> repeatable;
  const UnixMillis oldest = clock_.now() - kKeepUndelivered;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    OperationFilter filter;
    filter.limit = kMost;
    filter.states = {OperationState::unknown, OperationState::reconciling};
    unknowns_ = tx.operations(filter);
    filter.states = {OperationState::waiting};
    repeatable = tx.operations(filter);
    filter.states = {OperationState::applied, OperationState::failed, OperationState::resolved_applied};
    std::ranges::move(tx.operations(filter), std::back_inserter(repeatable));
    stops_ = tx.stops(true);
    if (const auto until = tx.setting(kKeysDoubtfulUntil)) keys_doubtful_until_ = std::stoll(*until);
    waiting_.clear();
    for (const char* state : {"pending", "approved"}) {
      for (const ApprovalRow& row : tx.approvals(state, kMost)) {
        const Millis left(std::max<UnixMillis>(0, row.expires - clock_.now()));
        waiting_[row.id] = {row.principal, row.expires, Deadline::after(left)};
      }
    }
    denied_.clear();
    for (const char* state : {"denied", "revoked"}) {
      for (const ApprovalRow& row : tx.approvals(state, kMostDenials)) {
        if (row.updated < oldest) continue;
        auto approval = approval_from(row);
        if (!approval) return fail(approval.error());
        Call call;
        if (refuse_ended(call, *approval, row.updated))
          denied_.try_emplace(row.run + row.fingerprint, call.judged.refusals.front());
      }
    }
    return load_grants(tx);
  });
  if (!read) co_return read;
  std::erase_if(unknowns_, [](const OperationRow& row) { return row.is_read; });
  ++epoch_;
  for (const OperationRow& row : repeatable) {
    if (row.delivered || row.fingerprint.empty() || !is_kept(row)) continue;
    if (row.state != OperationState::waiting && row.updated < oldest) continue;
    by_fingerprint_.try_emplace(row.fingerprint, Known{row.id, row.updated});
  }
  metrics_.unknown_operations(static_cast<std::int64_t>(unknowns_.size()));
  co_return Status{};
}

void Calls::stop_changed(const StopRow& stop) {
  std::erase_if(stops_, [&](const StopRow& known) { return known.id == stop.id; });
  if (stop.lifted == 0) stops_.push_back(stop);
  ++epoch_;
  configuration_changed();
}

// Whoever holds the call sees it; an operation that nobody holds is closed here if its ask has ended.
void Calls::approval_changed(const std::string& id) {
  if (options_.on_ask) options_.on_ask(id);
  const auto operation = by_approval_.find(id);
  const auto flight = operation == by_approval_.end() ? flights_.end() : flights_.find(operation->second);
  if (flight != flights_.end()) {
    flight->second->nudge.notify();
  } else {
    tasks_.spawn("close " + id, close_dormant(id));
  }
}

// The ask of an operation that nobody holds has ended: so has the operation, with its receipt.
asio::awaitable<void> Calls::close_dormant(std::string id) {
  OperationRow row;
  Refusal refusal;
  bool closed = false, ended = false;
  const UnixMillis now = time_for(id);
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::refusal);
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    closed = ended = false;
    const auto asked = tx.approval(id);
    if (!asked) return {};
    auto approval = approval_from(*asked);
    if (!approval) return fail(approval.error());
    Call call;
    if (!refuse_ended(call, *approval, now)) return {};
    ended = true;
    auto found = tx.operation(asked->operation);
    if (!found || found->state != OperationState::waiting) return {};
    row = std::move(*found);
    refusal = call.judged.refusals.front();
    if (auto stepped = step(row, Event::refuse); !stepped) return fail(stepped.error());
    row.reason = std::string(to_string(refusal.code)) + ": " + refusal.sentence;
    row.updated = now;
    trust::ReceiptBody body = receipt_about(blank, row);
    body.approval = record_of(*approval);
    body.outcome = trust::OutcomeRecord{Outcome::none, "not-sent"};
    auto appended = tx.append(std::move(body));
    if (!appended) return fail(appended.error());
    row.receipt = appended->id;
    if (auto dropped = drop_arguments(tx, row.id); !dropped) return dropped;
    closed = true;
    return tx.put(row);
  });
  if (!stored) {
    log::warning("ask.not_closed", {{"approval", id}, {"reason", stored.error().message}});
    co_return;
  }
  if (ended) forget_waiting(id);
  if (!closed) co_return;
  forget_fingerprint(row);
  remember_denial(row, refusal);
}

void Calls::remember_denial(const OperationRow& row, const Refusal& refusal) {
  if (refusal.code != ReasonCode::approval_denied) return;
  if (denied_.size() >= kMostDenials) denied_.clear();  // forgetting only asks again
  denied_.insert_or_assign(row.run + row.fingerprint, refusal);
}

// The answer of an attempt that was given up on is evidence (design section 7), if it is a good one.
void Calls::on_late_answer(LateAnswer late) {
  if (late.answer.kind != ServerAnswer::Kind::result || !is_tool_result(late.answer.result) ||
      is_error_result(late.answer))
    return;
  const auto flying = flights_.find(late.operation);
  if (flying != flights_.end() && !is_unknown(flying->second->call.row.state)) {
    flying->second->late = std::move(late.answer);  // another attempt is under way: it need not be made, or not lost
    flying->second->nudge.notify();
    return;
  }
  if (std::ranges::find(unknowns_, late.operation, &OperationRow::id) == unknowns_.end()) {
    log::warning("late_answer.unused", {{"operation", late.operation}, {"effect", "its outcome stands as recorded"}});
    return;
  }
  tasks_.spawn("late answer of " + late.operation,
               settle(of_late_answer(late.operation, late.answer), late.answer.document));
}

Settlement Calls::of_late_answer(const std::string& operation, const ServerAnswer& answer) {
  Settlement settlement;
  settlement.operation = operation;
  settlement.basis = "late-answer";
  settlement.result = answer.result;
  return settlement;
}

asio::awaitable<void> Calls::settle(Settlement settlement, std::shared_ptr<const json::Document> keep_alive) {
  const std::string operation = settlement.operation;
  auto settled = co_await resolve(std::move(settlement));
  if (!settled) log::warning("operation.not_settled", {{"operation", operation}, {"reason", settled.error().message}});
  keep_alive.reset();
}

Result<Calls::Settling> Calls::prepare(Settlement settlement) const {
  if (!settlement.by.empty() && flights_.contains(settlement.operation)) {
    return fail(ErrorCode::conflict,
                fmt::format("operation `{}` is just being looked at or sent again; wait for what comes of it",
                            settlement.operation));
  }
  Settling settling{std::move(settlement), receipt(trust::ReceiptKind::reconciliation), {}, clock_.now()};
  settling.body.id = entropy_.id("rc", settling.now);
  return settling;
}

// Ends an unknown operation by evidence or by a person, or says that a look at it proved nothing; with its receipt.
Status Calls::settle_in(Tx& tx, Settling& settling) {
  const Settlement& settlement = settling.settlement;
  OperationRow& row = settling.row;
  auto found = tx.operation(settlement.operation);
  if (!found) return fail(ErrorCode::not_found, "there is no operation `" + settlement.operation + "`");
  row = std::move(*found);
  if (row.principal == settlement.by) return fail(ErrorCode::forbidden, "nobody resolves a call of their own");
  if (!is_unknown(row.state)) {
    return fail(ErrorCode::conflict,
                fmt::format("operation `{}` is {}; only an unknown one can be resolved", row.id, to_string(row.state)));
  }
  const auto stepped = step(row, settlement.event);
  if (!stepped) return fail(stepped.error());
  const bool ended = !is_open(row.state);
  if (ended) {
    row.unknown = Unknown::no;
    row.basis = settlement.basis;
    row.reason = settlement.reason;
  }
  row.updated = settling.now;
  trust::ReceiptBody finding = receipt_about(settling.body, row);
  finding.supersedes = row.receipt;
  finding.evidence = settlement.evidence;
  finding.outcome = trust::OutcomeRecord{row.outcome, settlement.basis};
  finding.event =
      trust::EventRecord{ended ? "resolved" : "looked", settlement.by, settlement.reason, row.id, {}, {}, {}};
  row.receipt = settling.body.id;
  if (auto appended = tx.append(std::move(finding)); !appended) return fail(appended.error());
  if (auto settled = settle_budgets(tx, stepped->deed, row.id); !settled) return settled;
  if (ended) {
    if (auto dropped = drop_arguments(tx, row.id); !dropped) return dropped;
    // What was told of it until now is no longer true.
    if (auto dropped = tx.drop_sealed(row.id, "result"); !dropped) return dropped;
    const std::string result = settled_result(row, settlement.result);
    if (!result.empty()) {
      if (auto kept = tx.put_sealed(row.id, "result", result); !kept) return kept;
    }
  }
  return tx.put(row);
}

void Calls::settled(const Settling& settling) {
  const OperationRow& row = settling.row;
  remember(row);
  if (is_open(row.state)) return;
  forget_fingerprint(row);
  // Done, and nobody was told yet: the same bytes are still this operation.
  if (row.outcome == Outcome::applied && !row.delivered && row.key.empty() && !row.fingerprint.empty())
    by_fingerprint_.try_emplace(row.fingerprint, Known{row.id, settling.now});
  configuration_changed();
}

asio::awaitable<Result<OperationRow>> Calls::resolve(Settlement settlement) {
  auto settling = prepare(std::move(settlement));
  if (!settling) co_return fail(settling.error());
  auto stored = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status { return settle_in(tx, *settling); });
  if (!stored) co_return fail(stored.error());
  settled(*settling);
  co_return settling->row;
}

// Asks that nobody holds expire here; those that are held see it themselves. What nobody came for in a day is
// forgotten.
asio::awaitable<void> Calls::sweep() {
  const UnixMillis now = clock_.now();
  std::erase_if(by_fingerprint_, [&](const auto& entry) {
    return entry.second.at < now - kKeepUndelivered && !flights_.contains(entry.second.operation);
  });
  std::vector<std::string> due;
  co_await void_grants();
  for (const auto& [id, ask] : waiting_) {
    if (ask.expires > now && !ask.until.passed()) continue;
    const auto held = by_approval_.find(id);
    const auto flight = held == by_approval_.end() ? flights_.end() : flights_.find(held->second);
    if (flight == flights_.end()) {
      due.push_back(id);
    } else {
      flight->second->nudge.notify();
    }
  }
  for (const std::string& id : due) co_await expire(id, time_for(id));
  co_await close_folds(now - kFoldFor);
  close_parked(false);
  look_at_unknowns();
  end_quiet_runs(now);
}

asio::awaitable<void> Calls::sweep_budgets() {
  const UnixMillis now = clock_.now();
  std::string after;
  do {
    auto swept = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
      auto next = sweep_counters(tx, after, now);
      if (!next) return fail(next.error());
      after = std::move(*next);
      return {};
    });
    if (swept) continue;
    log::warning("budgets.not_swept", {{"reason", swept.error().message}});
    co_return;
  } while (!after.empty() && !closing_);
}

asio::awaitable<void> Calls::expire(std::string id, UnixMillis now) {
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::approval);
  auto expired = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto row = tx.approval(id);
    if (!row) return {};
    auto approval = approval_from(*row);
    if (!approval) return fail(approval.error());
    auto ended = trust::apply(*approval, trust::event::Expired{}, now);
    if (!ended) return {};
    update(*row, *ended, now);
    if (auto put = tx.put(*row); !put) return put;
    auto appended = tx.append(receipt_about(blank, *row, *ended));
    if (!appended) return fail(appended.error());
    return {};
  });
  if (expired) {
    forget_waiting(id);
    if (options_.on_ask) options_.on_ask(id);
    co_await close_dormant(id);
  } else {
    log::warning("ask.not_expired", {{"approval", id}, {"reason", expired.error().message}});
  }
}

asio::awaitable<void> Calls::shutdown(Deadline deadline) {
  closing_ = true;
  close_parked(true);
  configuration_changed();
  co_await close_folds(clock_.now());
  bool ended = co_await tasks_.wait_empty(deadline);
  if (!ended) {
    for (const auto& [id, flight] : flights_) flight->cancel.cancel(CancelReason::shutdown);
    const auto own_reads = own_reads_;
    for (Flight* own : own_reads) own->cancel.cancel(CancelReason::shutdown);
  }
  const Deadline soon = Deadline::after(std::chrono::seconds(3));
  if (!ended) ended = co_await tasks_.wait_empty(soon);
  while (in_hand_ > 0 && !soon.passed()) co_await none_in_hand_.wait(soon);
  if (!ended) log::warning("shutdown.calls_left", {{"count", flights_.size()}});
}

}  // namespace sallyport::gateway::calls
