// What ends an unknown operation without a person (design section 7): a lookup that the contract names, or the client's
// own repeat with the same key. Never by recency, never by a timer: what proves nothing leaves it unknown.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kAutomaticLooks = 2;
constexpr auto kBetweenLooks = std::chrono::seconds(5);
constexpr std::size_t kLooksAtOnce = 16;
constexpr Millis kDefaultRetention = std::chrono::hours(24 * 7);

// The key that the server knows the operation by; empty: none.
std::string key_of(const OperationRow& row, const trust::Contract& contract) {
  if (!row.key.empty()) return row.key;
  const bool beside = contract.idempotency_key && contract.idempotency_key->kind != trust::KeyPlace::Kind::argument;
  return beside ? row.id : std::string();
}

// A server that has not answered may still be at work: that something is not there yet proves nothing then.
bool absence_counts(const OperationRow& row, int looks) { return looks > 1 || row.basis == "answered-error"; }

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
  auto document = json::Document::parse(*params, json::Limits{.bytes = params->size(), .depth = 10'000});
  if (!document) co_return fail(document.error());
  auto arguments = trust::own_arguments(lookup, document->root().find("arguments"), key_of(row, *contract), row.id);
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
  const trust::Lookup lookup = *contract->lookup;
  looks.looking = true;
  ++looks.tried;
  const Millis patience = std::max<Millis>(kBetweenLooks, contract->deadline.value_or(Millis{0}));
  const bool absence = absence_counts(row, looks.tried);
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
  after->second.next = Deadline::after(patience);
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
  if (call.row.state != OperationState::unknown || !contract || !contract->lookup || closing_) co_return;
  co_await reconcile(call.row.id);
  std::optional<OperationRow> now;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    now = tx.operation(call.row.id);
    return {};
  });
  if (!read || !now) co_return;
  call.row = *now;
  if (is_unknown(now->state)) co_return;
  flight->error.reset();
  flight->result = resolved_result(*now);
}

// Whether an unknown operation may be sent again because the client sent its key again: the server knows it by that
// key.
bool Calls::may_resend(const Call& call, const OperationRow& same) const {
  if (same.state != OperationState::unknown || !call.judged.tool) return false;
  const sallyport::Repeat repeat = call.judged.effect.effective.repeat;
  if (repeat == sallyport::Repeat::safe) return true;
  if (repeat != sallyport::Repeat::keyed || !is_keyed(call)) return false;
  const Millis retention = call.judged.tool->contract->retention.value_or(kDefaultRetention);
  return clock_.now() - same.created < retention.count();
}

asio::awaitable<void> Calls::resend(FlightPtr flight) {
  Call& call = flight->call;
  flight->stage = Stage::running;
  flight->changed.notify();
  flight->deadline = deadline_for(call);
  const OperationRow before = call.row;
  const auto stays = [&] { flight->result = still_unknown(before).result; };
  stays();
  const auto link = co_await connect(flight);
  if (!link || call.judged.refused() || flight->cancel.reason() || !still_permitted(call)) co_return;
  auto permit = co_await record_resend(flight);
  if (!permit) co_return;
  ServerAnswer answer = co_await dispatch(flight, link, std::move(*permit));
  const Finding finding = judge_answer(call, answer);
  note_health(call, answer, finding.proof);
  Settlement settlement;
  settlement.operation = call.row.id;
  settlement.basis = "same-key";
  settlement.event = finding.proof == Proof::applied ? Event::prove_applied : Event::look_failed;
  settlement.reason = answer.detail;
  if (finding.proof == Proof::applied) settlement.result = answer.result;
  auto settled = co_await resolve(std::move(settlement));
  if (!settled) {
    log::warning("operation.not_settled", {{"operation", before.id}, {"reason", settled.error().message}});
    co_return;
  }
  call.row = *settled;
  if (is_unknown(call.row.state)) {
    flight->result = still_unknown(call.row).result;
    co_return;
  }
  auto replayed = co_await replay(call.row);
  if (replayed && !replayed->error) flight->result = replayed->result;
}

}  // namespace sallyport::gateway::calls
