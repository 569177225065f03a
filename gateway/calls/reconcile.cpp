// What ends an unknown operation without a person (design section 7): a lookup that the contract names, or the client's
// own repeat with the same key. Never by recency, never by a timer: what proves nothing leaves it unknown.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kAutomaticLooks = 3;
constexpr std::size_t kLooksAtOnce = 16;
constexpr Millis kDefaultRetention = std::chrono::hours(24 * 7);

}  // namespace

const trust::Contract* Calls::contract_of(const OperationRow& row) const {
  const auto snapshot = snapshots_.current();
  const auto server = snapshot->servers.find(row.server);
  if (server == snapshot->servers.end()) return nullptr;
  const auto tool = server->second.tools.find(row.tool);
  return tool == server->second.tools.end() ? nullptr : tool->second->contract.get();
}

// The answer of the lookup that the contract names.
asio::awaitable<Result<Calls::OwnAnswer>> Calls::look_up(OperationRow row, trust::OwnCall lookup) {
  const auto snapshot = snapshots_.current();  // keeps the contract
  const trust::Contract* contract = contract_of(row);
  if (contract == nullptr) co_return fail(ErrorCode::not_found, "its contract is gone");
  Result<std::string> params = fail(ErrorCode::not_found, "its arguments are gone");
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    params = tx.sealed(row.id, "params");
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!params) co_return fail(params.error());
  const auto document = parsed(std::move(*params));
  if (!document) co_return fail(ErrorCode::corrupt, "its arguments cannot be read");
  // By what the server was given when it was sent, whatever the contract says by now.
  const std::string marker = row.sent_key == row.id ? row.id : std::string();
  auto arguments = trust::own_arguments(lookup, document->root().find("arguments"), row.sent_key, marker);
  if (!arguments) co_return fail(arguments.error());
  auto answer = co_await read_for(std::move(row), lookup.tool, std::move(*arguments));
  co_return answer;
}

asio::awaitable<void> Calls::reconcile(std::string operation) {
  const auto known = std::ranges::find(unknowns_, operation, &OperationRow::id);
  if (known == unknowns_.end() || known->state != OperationState::unknown) co_return;
  OperationRow row = *known;
  const trust::Contract* contract = contract_of(row);
  Looks& looks = looks_[operation];
  if (contract == nullptr || !contract->lookup || looks.looking) co_return;
  const auto now = Deadline::Clock::now();
  if (const auto rest = health_of(row.server, row.principal).rest(now); rest > rest.zero()) {
    looks.next = Deadline::at(now + rest);  // nothing goes to it: this look is not made, and does not count
    co_return;
  }
  const trust::Lookup lookup = *contract->lookup;
  looks.looking = true;
  // A server that has not answered may be at work for as long as a call may take: until then it proves nothing that
  // something is not there.
  if (++looks.tried == 1) looks.at_work = Deadline::after(std::max(options_.between_looks, time_of(row, contract)));
  const bool absence = looks.at_work.passed() || row.basis == "answered-error";
  auto begun = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto found = tx.operation(operation);
    if (!found) return fail(ErrorCode::not_found, "the operation is gone");
    row = std::move(*found);
    if (auto stepped = step(row, Event::look); !stepped) return fail(stepped.error());
    return tx.put(row);
  });
  if (begun) {
    remember(row);
    const auto answer = co_await look_up(row, lookup.call);
    Settlement settlement;
    settlement.operation = operation;
    settlement.basis = "lookup";
    settlement.event = Event::look_failed;
    if (!answer) {
      settlement.reason = answer.error().message;
    } else {
      settlement.evidence.push_back(answer->receipt);
      const auto there = judge_condition(lookup.applied, answer->structured);
      if (there == true) {
        settlement.event = Event::prove_applied;
      } else if (there == false && lookup.not_found == Outcome::none && absence) {
        settlement.event = Event::prove_none;
      } else {
        settlement.reason = there == false ? "it is not there, which proves nothing" : "its result cannot be judged";
      }
    }
    co_await settle(std::move(settlement), nullptr);
  }
  const auto after = looks_.find(operation);
  if (after == looks_.end()) co_return;
  after->second.looking = false;
  const Deadline soon = Deadline::after(options_.between_looks);
  after->second.next =
      after->second.tried + 1 < kAutomaticLooks || after->second.at_work.passed() ? soon : after->second.at_work;
}

// By the timer: unknown operations whose contract names a lookup, a few times each in this life of the process.
void Calls::look_at_unknowns() {
  if (closing_) return;
  std::erase_if(looks_, [&](const auto& entry) {
    return !entry.second.looking && std::ranges::find(unknowns_, entry.first, &OperationRow::id) == unknowns_.end();
  });
  std::size_t under_way = 0;
  for (const auto& [id, looks] : looks_) under_way += looks.looking ? 1 : 0;
  for (const OperationRow& row : unknowns_) {
    if (under_way >= kLooksAtOnce) return;
    if (row.state != OperationState::unknown || flights_.contains(row.id)) continue;
    const auto tried = looks_.find(row.id);
    const bool first = tried == looks_.end();
    if (!first && (tried->second.looking || tried->second.tried >= kAutomaticLooks || !tried->second.next.passed()))
      continue;
    const trust::Contract* contract = contract_of(row);
    if (contract == nullptr || !contract->lookup) continue;
    ++under_way;
    tasks_.spawn("look at " + row.id, reconcile(row.id));
  }
}

// Right after the outcome was lost, while the client is still there: it is told what the lookup found.
asio::awaitable<void> Calls::tell_reconciled(FlightPtr flight) {
  Call& call = flight->call;
  const auto& contract = call.judged.tool->contract;
  if (call.row.state != OperationState::unknown) co_return;
  if (flight->late) {  // it came while the loss was recorded
    co_await settle(of_late_answer(call.row.id, *flight->late), flight->late->document);
  } else if (contract && contract->lookup && !closing_) {
    co_await reconcile(call.row.id);
  } else {
    co_return;
  }
  std::optional<OperationRow> now;
  Result<std::string> result = fail(ErrorCode::not_found, "none");
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    now = tx.operation(call.row.id);
    result = tx.sealed(call.row.id, "result");
    return {};
  });
  if (!read || !now) co_return;
  call.row = *now;
  if (is_unknown(now->state)) co_return;
  flight->error.reset();
  const bool came = result && result->starts_with('R');  // a late answer brought the tool's own
  flight->result = came ? result->substr(1) : resolved_result(*now);
}

// Whether an unknown operation may be sent again because the client sent its key again: the server knows it by that
// key.
bool Calls::may_resend(const Call& call, const OperationRow& same) const {
  if (same.state != OperationState::unknown || !call.judged.tool) return false;
  const sallyport::Repeat repeat = call.judged.effect.effective.repeat;
  if (repeat == sallyport::Repeat::safe) return true;
  // Only by the very key that it was sent with: a contract that names one since then proves nothing of that attempt.
  if (repeat != sallyport::Repeat::keyed || !is_keyed(call) || same.sent_key != call.judged.sent_key) return false;
  const Millis retention = call.judged.tool->contract->retention.value_or(kDefaultRetention);
  return clock_.now() - same.created < retention.count();
}

// Why an unknown operation is not sent again, though its key came again; empty: it may be. What is sent is what was
// sent before, with all that stood beside its arguments, and it passes all that a call of its own has to pass, but for
// an approval that was spent on exactly this.
asio::awaitable<std::string> Calls::bar_to_resend(FlightPtr flight) {
  Call& call = flight->call;
  Result<std::string> params = fail(ErrorCode::not_found, "no arguments");
  std::optional<ApprovalRow> spent;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    params = tx.sealed(call.row.id, "params");
    if (!call.approval.empty()) spent = tx.approval(call.approval);
    return {};
  });
  auto request = read && params ? request_again(std::move(*params), call.row, *call.request.client) : std::nullopt;
  if (!request) co_return "What was sent is no longer stored.";
  call.request = std::move(*request);
  weigh(call);
  co_await decide(flight);
  if (call.judged.refused()) co_return call.judged.refusals.front().sentence;
  if (!is_current(call.judged)) co_return "The configuration changed meanwhile; send the key again.";
  if (call.judged.decision.verdict != Verdict::ask) co_return "";
  if (call.approval.empty()) {
    if (!find_grants(call).empty()) co_return "";
    co_return "By the rules of now it needs an approval that it never had.";
  }
  if (!spent) co_return "Its approval cannot be read.";
  call.binding = spent->binding;
  call.shown_unknowns = trust::shown_unknowns(spent->binding);
  std::string changed;
  for (const auto& name : trust::differences(call.binding, binding_of(call)))
    changed += (changed.empty() ? "" : ", ") + name;
  if (changed.empty()) co_return "";
  co_return fmt::format("It is no longer what approval {} was for: {} changed.", call.approval, changed);
}

asio::awaitable<void> Calls::resend(FlightPtr flight) {
  Call& call = flight->call;
  flight->stage = Stage::running;
  flight->changed.notify();
  flight->deadline = deadline_for(call);
  const OperationRow before = call.row;
  const auto stays = [&](std::string_view why) { flight->result = still_unknown(before, why).result; };
  stays({});
  const auto link = co_await connect(flight);
  if (call.judged.refused()) stays(call.judged.refusals.front().sentence);
  if (!link || call.judged.refused() || flight->cancel.reason()) co_return;
  if (const std::string bar = co_await bar_to_resend(flight); !bar.empty()) {
    stays(bar);
    co_return;
  }
  auto permit = co_await record_resend(flight);
  if (!permit) {  // it may have been settled while this was on its way
    if (permit.error().code == ErrorCode::limit) stays(permit.error().message);
    const auto now = co_await find_operation(before.id);
    if (!now || is_unknown(now->state)) co_return;
    call.row = *now;
    const auto told = co_await replay(*now);
    if (told && !told->error) flight->result = told->result;
    co_return;
  }
  ServerAnswer answer = co_await dispatch(flight, link, std::move(*permit));
  const Finding finding = judge_answer(call, answer);
  note_health(call, answer, finding.proof);
  Settlement settlement;
  settlement.operation = call.row.id;
  settlement.basis = "same-key";
  settlement.event = finding.proof == Proof::applied ? Event::prove_applied : Event::look_failed;
  settlement.reason = answer.detail;
  if (finding.proof == Proof::applied) settlement.result = answer.result;
  const std::string settlement_reason = settlement.reason;
  auto settled = co_await resolve(std::move(settlement));
  if (!settled) {
    log::warning("operation.not_settled", {{"operation", before.id}, {"reason", settled.error().message}});
    co_return;
  }
  call.row = *settled;
  if (is_unknown(call.row.state)) {
    flight->result = still_unknown(call.row, settlement_reason).result;
    co_return;
  }
  auto replayed = co_await replay(call.row);
  if (replayed && !replayed->error) flight->result = replayed->result;
}

}  // namespace sallyport::gateway::calls
