// Step 10: spend and record. The only place that makes a PermittedCall, and only from the commit that recorded it.
#include <algorithm>

#include <fmt/format.h>

#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/grants.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway {

class Permit {
 public:
  static PermittedCall make(const calls::Call& call, bool wants_progress) {
    PermittedCall permit;
    permit.method_ = call.request.method;
    permit.tool_ = {call.row.server, call.row.tool};
    permit.operation_ = call.row.id;
    permit.attempt_ = call.row.attempts;
    permit.params_members_ = calls::forwarded_params(call.request, call.row.tool) + input_members(call.input);
    permit.meta_members_ = calls::forwarded_meta(call.request, key_in_meta(call));
    permit.wants_progress_ = wants_progress;
    add_key(permit, call);
    return permit;
  }

 private:
  static std::string input_members(const calls::InputLeg& input) {
    std::string out;
    if (input.answers) out.append(R"(,"inputResponses":)").append(input.answers.raw());
    if (!input.state.empty()) out.append(R"(,"requestState":)").append(input.state);
    return out;
  }
  static std::string key_in_meta(const calls::Call& call) {
    const auto& contract = call.judged.tool->contract;
    const bool meta =
        contract && contract->idempotency_key && contract->idempotency_key->kind == trust::KeyPlace::Kind::meta;
    return meta ? contract->idempotency_key->name : std::string();
  }

  // Where the contract has the key beside the arguments, the server gets the client's key, else the operation's id.
  static void add_key(PermittedCall& permit, const calls::Call& call) {
    const auto& contract = call.judged.tool->contract;
    if (!contract || !contract->idempotency_key) return;
    const std::string& key = call.judged.sent_key;
    if (contract->idempotency_key->kind == trust::KeyPlace::Kind::header) permit.idempotency_header_ = key;
    if (contract->idempotency_key->kind == trust::KeyPlace::Kind::meta) {
      permit.meta_members_ += fmt::format("{}{}:{}", permit.meta_members_.empty() ? "" : ",",
                                          quote(contract->idempotency_key->name), quote(key));
    }
  }
};

}  // namespace sallyport::gateway

namespace sallyport::gateway::calls {
namespace {

// Whether the write is one that the approval was for, decided in the transaction that spends it.
Result<trust::Approval> spend(Tx& tx, const std::string& id, const std::string& binding, UnixMillis now) {
  auto row = tx.approval(id);
  if (!row) return fail(ErrorCode::conflict, "the approval is gone");
  auto approval = approval_from(*row);
  if (!approval) return approval;
  auto spent = trust::apply(*approval, trust::event::Consumed{binding}, now);
  if (!spent) return fail(ErrorCode::conflict, spent.error().message);
  update(*row, *spent, now);
  if (auto put = tx.put(*row); !put) return fail(put.error());
  return spent;
}

// Evidence must still be current in the transaction that rests on it.
Status still_holds(Tx& tx, const std::vector<EvidenceBasis>& evidence) {
  for (const EvidenceBasis& basis : evidence) {
    if (tx.revision(basis.server, basis.scope) != basis.revision)
      return fail(ErrorCode::conflict, "the evidence is stale now");
  }
  return {};
}

// A run's deadline ends its calls too: what was sent is waited for no longer than that.
void end_with_run(Flight& flight, const Reserved& reserved, UnixMillis now) {
  if (!reserved.run_ends) return;
  const Millis left(std::max<UnixMillis>(0, *reserved.run_ends - now));
  flight.deadline = earlier(flight.deadline, Deadline::after(left));
}

}  // namespace

asio::awaitable<Result<PermittedCall>> Calls::record(FlightPtr flight) {
  Call& call = flight->call;
  if (!can_record()) {
    refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot record what it does.");
    co_return fail(ErrorCode::io, "the store is not healthy");
  }
  OperationRow row = call.row;
  for (const Event event : {Event::allow, Event::record}) {
    if (auto stepped = step(row, event); !stepped) co_return fail(stepped.error());
  }
  const UnixMillis now = clock_.now();
  call.decided = now;  // this is the decision that counts: whatever was waited for before is over
  row.updated = now;
  row.basis = "intent";
  row.sent_key = call.judged.sent_key;
  row.attempts += 1;
  const bool wants_progress =
      std::ranges::any_of(flight->waiters, [](const Waiter* w) { return !w->progress_token.empty(); });
  const bool evidence_tool = !evidence_rules(call).empty();
  if (evidence_tool && row.is_read) {
    auto revision = co_await revision_before(call);
    if (!revision) co_return fail(revision.error());
    call.evidence_revision = *revision;
  }
  if (row.is_read && call.judged.decision.verdict == Verdict::allow) {
    auto recorded = co_await record_read(flight, row, now);
    if (!recorded) co_return fail(recorded.error());
    call.row = std::move(row);
    co_return Permit::make(call, wants_progress);
  }
  trust::ReceiptBody body = body_of(call, trust::ReceiptKind::intent);
  body.attempt = static_cast<std::uint32_t>(row.attempts);
  body.outcome = trust::OutcomeRecord{Outcome::unknown, "intent"};
  const bool asked = call.judged.decision.verdict == Verdict::ask;
  std::vector<trust::Grant> grants = asked ? call.judged.grants : std::vector<trust::Grant>{};
  const UnixMillis asked_at = asked ? time_for(call.approval) : now;
  const std::string binding = asked ? trust::digest(binding_of(call)) : std::string();
  const std::string params = stored_params(call.request);
  // For auditors, of writes: what the receipt commits to, without what it redacts.
  const std::string vault = row.is_read || !body.arguments ? std::string()
                            : call.request.arguments ? json::canonical(call.request.arguments, body.arguments->redacted)
                                                     : std::string("{}");
  std::string receipt;
  std::uint64_t revision = 0;
  Reserved reserved;
  auto committed = co_await store_.commit(row.is_read ? Durability::crash : Durability::power, [&](Tx& tx) -> Status {
    trust::ReceiptBody intent = body;
    if (auto held = still_holds(tx, call.judged.evidence); !held) return held;
    if (call.judged.revision && tx.revision(row.server, row.scope) != *call.judged.revision) {
      return fail(ErrorCode::conflict, "the scope has moved since it was asked for");
    }
    if (auto room = reserve(tx, call.judged.budgets, row.id, now, reserved); !room) return room;
    if (asked && !grants.empty()) {
      auto spent = spend_grants(tx, grants, now);
      if (!spent) return fail(spent.error());
      intent.approval = *spent;
    } else if (asked) {
      auto spent = spend(tx, call.approval, binding, asked_at);
      if (!spent) return fail(spent.error());
      intent.approval = record_of(*spent);
    }
    if (!row.is_read) {
      if (auto bumped = tx.bump_revision(row.server, row.scope); !bumped) return bumped;
      revision = tx.revision(row.server, row.scope);
      intent.scope_revision = revision;
    }
    auto appended = tx.append(std::move(intent));
    if (!appended) return fail(appended.error());
    receipt = appended->id;
    OperationRow stored = row;
    stored.receipt = receipt;
    if (auto put = tx.put(stored); !put) return put;
    if (!vault.empty()) {
      if (auto put = tx.put_sealed(row.id, "vault", vault); !put) return put;
    }
    return tx.put_sealed(row.id, "params", params);
  });
  if (!committed) {
    note_unrecorded(call, committed.error(), reserved);
    co_return fail(committed.error());
  }
  end_with_run(*flight, reserved, now);
  for (const trust::Grant& used : grants) grant_changed(used);
  if (asked && grants.empty()) {
    forget_waiting(call.approval);
    if (options_.on_ask) options_.on_ask(call.approval);
  }
  if (evidence_tool && !row.is_read) call.evidence_revision = revision;
  row.receipt = receipt;
  call.row = std::move(row);
  co_return Permit::make(call, wants_progress);
}

// One more request for the same operation: the row counts it, and its receipt knows nothing of it yet.
trust::ReceiptBody Calls::intend_again(const Call& call, OperationRow& row, UnixMillis now) const {
  row.attempts += 1;
  row.updated = now;
  row.basis = "intent";
  trust::ReceiptBody intent = body_of(call, trust::ReceiptKind::intent);
  intent.attempt = static_cast<std::uint32_t>(row.attempts);
  intent.outcome = trust::OutcomeRecord{Outcome::unknown, "intent"};
  return intent;
}

// The next attempt of the same operation: what became of the last one and the new intent, in one commit. Nothing is
// spent again but an attempt. An error: it is not made, and the last attempt's answer stands.
asio::awaitable<Result<PermittedCall>> Calls::record_attempt(FlightPtr flight, ServerAnswer answer, Finding finding) {
  Call& call = flight->call;
  if (!can_record()) co_return fail(ErrorCode::io, "the store is not healthy");
  OperationRow row = call.row;
  if (finding.proof != Proof::not_sent) {
    if (auto stepped = step(row, Event::dispatch); !stepped) co_return fail(stepped.error());
  }
  trust::ReceiptBody over = receipt_of_attempt(call, row, answer, finding);
  const bool maybe_done = finding.proof == Proof::lost && !row.is_read;
  over.outcome = trust::OutcomeRecord{maybe_done ? Outcome::unknown : Outcome::none, finding.basis};
  if (auto stepped = step(row, Event::retry); !stepped) co_return fail(stepped.error());
  const UnixMillis now = clock_.now();
  const bool one_receipt = row.is_read && row.receipt.empty();
  const trust::ReceiptBody intent = intend_again(call, row, now);
  std::string receipt = row.receipt;
  auto committed = co_await store_.commit(row.is_read ? Durability::crash : Durability::power, [&](Tx& tx) -> Status {
    if (auto reserved = reserve_attempt(tx, call.judged.budgets, row.id, now); !reserved) return reserved;
    auto appended = tx.append(over);
    if (!appended) return fail(appended.error());
    OperationRow stored = row;
    if (!one_receipt) {
      appended = tx.append(intent);
      if (!appended) return fail(appended.error());
      stored.receipt = receipt = appended->id;
    }
    return tx.put(stored);
  });
  if (!committed) co_return fail(committed.error());
  row.receipt = receipt;
  call.row = std::move(row);
  co_return Permit::make(call, true);
}

// The next leg of a call whose server wanted to know something first: the answers are recorded like arguments, before
// they are sent.
asio::awaitable<Result<PermittedCall>> Calls::record_leg(FlightPtr flight) {
  Call& call = flight->call;
  if (!can_record()) co_return fail(ErrorCode::io, "the store is not healthy");
  OperationRow row = call.row;
  if (auto stepped = step(row, Event::record); !stepped) co_return fail(stepped.error());
  const UnixMillis now = clock_.now();
  const bool one_receipt = row.is_read && row.receipt.empty();
  trust::ReceiptBody intent = intend_again(call, row, now);
  intent.supersedes = row.receipt;
  std::string receipt = row.receipt;
  auto committed = co_await store_.commit(row.is_read ? Durability::crash : Durability::power, [&](Tx& tx) -> Status {
    if (auto reserved = reserve_attempt(tx, call.judged.budgets, row.id, now); !reserved) return reserved;
    trust::ReceiptBody next = intent;
    if (!row.is_read) {  // what was checked while the client was asked is of the state before this
      if (auto bumped = tx.bump_revision(row.server, row.scope); !bumped) return bumped;
      next.scope_revision = tx.revision(row.server, row.scope);
    }
    OperationRow stored = row;
    if (!one_receipt) {
      auto appended = tx.append(std::move(next));
      if (!appended) return fail(appended.error());
      stored.receipt = receipt = appended->id;
    }
    return tx.put(stored);
  });
  if (!committed) co_return fail(committed.error());
  row.receipt = receipt;
  call.row = std::move(row);
  const bool wants_progress =
      std::ranges::any_of(flight->waiters, [](const Waiter* w) { return !w->progress_token.empty(); });
  co_return Permit::make(call, wants_progress);
}

// The client's repeat of an unknown operation by the key that the server knows it by: one more attempt of the same
// operation, on the approval that it has spent already. As every write it moves its scope, and what a lookup finds
// absent is at work again. ErrorCode::limit: a budget has no room for it.
asio::awaitable<Result<PermittedCall>> Calls::record_resend(FlightPtr flight) {
  Call& call = flight->call;
  if (!can_record()) co_return fail(ErrorCode::io, "the store is not healthy");
  const UnixMillis now = clock_.now();
  trust::ReceiptBody body = body_of(call, trust::ReceiptKind::intent);
  OperationRow row;
  auto committed = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    auto found = tx.operation(call.row.id);
    if (!found) return fail(ErrorCode::not_found, "the operation is gone");
    row = std::move(*found);
    if (auto stepped = step(row, Event::resend); !stepped) return fail(stepped.error());
    row.unknown = Unknown::lost;  // whatever the first attempt was answered: of this one nothing is known yet
    row.basis = "same-key";
    row.attempts += 1;
    row.updated = now;
    if (auto held = still_holds(tx, call.judged.evidence); !held) return held;
    if (auto reserved = reserve_attempt(tx, call.judged.budgets, row.id, now); !reserved) return reserved;
    trust::ReceiptBody intent = body;
    if (call.judged.decision.verdict == Verdict::ask && !call.approval.empty()) {
      const auto spent = tx.approval(call.approval);
      const auto approval = spent ? approval_from(*spent) : fail(ErrorCode::not_found, "the approval is gone");
      if (!approval) return fail(approval.error());
      intent.approval = record_of(*approval);
    }
    if (auto bumped = tx.bump_revision(row.server, row.scope); !bumped) return bumped;
    intent.scope_revision = tx.revision(row.server, row.scope);
    intent.attempt = static_cast<std::uint32_t>(row.attempts);
    intent.supersedes = row.receipt;
    intent.outcome = trust::OutcomeRecord{Outcome::unknown, "same-key"};
    auto appended = tx.append(std::move(intent));
    if (!appended) return fail(appended.error());
    row.receipt = appended->id;
    return tx.put(row);
  });
  if (!committed) co_return fail(committed.error());
  call.row = row;
  looks_.erase(row.id);
  remember(row);
  co_return Permit::make(call, true);
}

// The gateway's own read, which prepare_own_read() has judged.
Result<PermittedCall> Calls::record_own_read(Call& call) {
  if (!can_record()) return fail(ErrorCode::io, "the gateway cannot record what it does");
  if (call.cause.empty() || !call.row.is_read || call.judged.refused() || !call.judged.concluded)
    return fail(ErrorCode::internal, "this is no read of the gateway's own");
  OperationRow row = call.row;
  for (const Event event : {Event::allow, Event::record}) {
    if (auto stepped = step(row, event); !stepped) return fail(stepped.error());
  }
  call.decided = row.updated = clock_.now();
  row.basis = "intent";
  row.attempts = 1;
  store_.post([row](Tx& tx) { return tx.put(row); });
  call.row = std::move(row);
  return Permit::make(call, false);
}

// A read that rests on nothing that could change meanwhile is not waited for: it has one receipt, at the end or at the
// next start.
asio::awaitable<Status> Calls::record_read(FlightPtr flight, const OperationRow& row, UnixMillis now) {
  Call& call = flight->call;
  if (call.judged.budgets.empty() && call.judged.evidence.empty()) {
    store_.post([row](Tx& tx) { return tx.put(row); });
    co_return Status{};
  }
  Reserved reserved;
  auto committed = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    if (auto held = still_holds(tx, call.judged.evidence); !held) return held;
    if (auto room = reserve(tx, call.judged.budgets, row.id, now, reserved); !room) return room;
    return tx.put(row);
  });
  if (committed) {
    end_with_run(*flight, reserved, now);
  } else {
    note_unrecorded(call, committed.error(), reserved);
  }
  co_return committed;
}

// What a failed commit means for the call: another is now what it rested on (decide again), no room, or nothing can be
// recorded.
void Calls::note_unrecorded(Call& call, const Error& error, const Reserved& reserved) {
  if (error.code == ErrorCode::conflict) {
    call.judged.epoch = kStale;
  } else if (error.code == ErrorCode::limit && reserved.no_room) {
    refuse(call.judged, *reserved.no_room);
  } else {
    refuse(call.judged, ReasonCode::recording_unavailable, "The decision could not be recorded.");
  }
}

// The revision that a result can be evidence for; nullopt while a write that touches the scope is open.
asio::awaitable<Result<std::optional<std::uint64_t>>> Calls::revision_before(Call& call) {
  if (write_open(call.judged.scope, call.row.id)) co_return std::optional<std::uint64_t>();
  std::uint64_t revision = 0;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    revision = tx.revision(call.row.server, call.row.scope);
    return {};
  });
  if (!read) {
    refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot read its records.");
    co_return fail(read.error());
  }
  co_return std::optional<std::uint64_t>(revision);
}

}  // namespace sallyport::gateway::calls
