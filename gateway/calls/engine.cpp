// The driver: takes one operation through the phases to its end. Whatever happens in between, finish() runs once.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/net/http_client.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kPasses = 8;  // decisions of one drive; more would mean that the configuration never rests
constexpr auto kDefaultDeadline = std::chrono::minutes(5);

}  // namespace

Calls::Calls(asio::any_io_executor loop, CallsOptions options, Store& store, Servers& servers,
             const Snapshots& snapshots, Definitions& definitions, Clock& clock, Entropy& entropy, Metrics& metrics)
    : options_(std::move(options)),
      store_(store),
      servers_(servers),
      snapshots_(snapshots),
      definitions_(definitions),
      clock_(clock),
      entropy_(entropy),
      metrics_(metrics),
      loop_(loop),
      none_in_hand_(loop),
      tasks_(loop) {}

Calls::~Calls() = default;

void Calls::start(const FlightPtr& flight, asio::awaitable<void> way) {
  flight->dormant = false;
  flights_[flight->call.row.id] = flight;
  ++per_principal_[flight->call.row.principal];
  tasks_.spawn("call " + flight->call.row.id, drive(flight, std::move(way)));
}

asio::awaitable<void> Calls::drive(FlightPtr flight, asio::awaitable<void> way) {
  try {
    co_await std::move(way);
  } catch (const std::exception& e) {
    // A fault of ours. What may have been sent is unknown, here and now, not only after the next start.
    log::error("call.broken", {{"operation", flight->call.row.id}, {"what", e.what()}});
    flight->dormant = false;
    give_up(flight);
  }
  finish(flight);
}

void Calls::finish(const FlightPtr& flight) {
  const OperationRow& row = flight->call.row;
  flights_.erase(row.id);
  if (const auto it = per_principal_.find(row.principal); it != per_principal_.end() && --it->second == 0)
    per_principal_.erase(it);
  if (!flight->call.approval.empty()) by_approval_.erase(flight->call.approval);
  if (!flight->dormant) flight->stage = Stage::done;
  if (row.state == OperationState::refused) forget_fingerprint(row);
  flight->changed.notify();
}

void Calls::configuration_changed() {
  if (!grants_.empty() && !closing_) tasks_.spawn("void grants", void_grants());
  for (const auto& [id, flight] : flights_) flight->nudge.notify();
}

bool Calls::is_current(const Judgement& judged) const {
  return judged.concluded && judged.snapshot == snapshots_.current() && judged.epoch == epoch_;
}

asio::awaitable<void> Calls::work(FlightPtr flight) {
  Call& call = flight->call;
  if (call.resend) {
    co_await resend(flight);
    co_return;
  }
  if (!call.approval.empty()) {  // taken up again: what ended meanwhile stays ended
    auto approval = co_await load_approval(call.approval);
    if (!approval || refuse_ended(call, *approval, time_for(call.approval))) {
      if (!call.judged.refused())
        refuse(call.judged, ReasonCode::recording_unavailable, "The approval could not be read.");
      else
        forget_waiting(call.approval);
      co_await conclude_refused(flight);
      co_return;
    }
  }
  for (call.passes = 0; call.passes < kPasses; ++call.passes) {
    if (!is_current(call.judged)) co_await decide(flight);
    if (call.judged.refused()) {
      co_await conclude_refused(flight);
      co_return;
    }
    if (call.judged.decision.verdict == Verdict::ask) {
      const Ask asked = co_await ask(flight);
      if (asked == Ask::dormant) co_return;
      if (asked == Ask::again) continue;
      if (asked == Ask::refused) {
        co_await conclude_refused(flight);
        co_return;
      }
    }
    flight->stage = Stage::running;
    flight->changed.notify();
    flight->deadline = deadline_for(call);  // one for linking, verifying and all attempts
    const auto link = co_await connect(flight);
    if (call.judged.refused()) {
      co_await conclude_refused(flight);
      co_return;
    }
    // What was decided before a wait is decided again after it (promise 1).
    if (!link || !is_current(call.judged)) continue;
    co_await note_state(flight);
    const bool unmoved = co_await revision_holds(flight);
    if (call.judged.refused()) {
      co_await conclude_refused(flight);
      co_return;
    }
    if (!unmoved || !is_current(call.judged)) continue;
    if (flight->cancel.reason()) {
      refuse(call.judged, ReasonCode::cancelled, "The call was cancelled before it was sent.");
      co_await conclude_refused(flight);
      co_return;
    }
    auto permit = co_await record(flight);
    if (!permit) {
      if (!call.judged.refused()) continue;  // what it rested on changed meanwhile
      co_await conclude_refused(flight);
      co_return;
    }
    co_await run_legs(flight, link, std::move(*permit));
    co_return;
  }
  refuse(call.judged, ReasonCode::limit_reached,
         "The configuration changed again and again while this call was decided.");
  co_await conclude_refused(flight);
}

// After a fault of ours: what is known of the operation, without the store.
void Calls::give_up(const FlightPtr& flight) {
  OperationRow& row = flight->call.row;
  const bool recorded = row.state == OperationState::intent || row.state == OperationState::sent ||
                        row.state == OperationState::awaiting_input || is_unknown(row.state);
  if (!recorded || row.is_read) {
    flight->error = mcp::RpcError{mcp::code::kInternalError, "the gateway failed; its log says why", {}};
    return;
  }
  if (!is_unknown(row.state)) static_cast<void>(step(row, Event::lose));
  row.unknown = Unknown::lost;
  row.basis = "fault";
  remember(row);
  CallMeta meta;
  meta.code = ReasonCode::outcome_unknown;
  meta.outcome = Outcome::unknown;
  meta.operation = row.id;
  meta.retry = retry_for(ReasonCode::outcome_unknown);
  meta.unrecorded = true;
  flight->result = refusal_result(meta, "The gateway failed while this call was under way.");
}

bool Calls::can_record() const { return !recording_lost_ && store_.healthy(); }

Deadline Calls::deadline_for(const Call& call) const {
  return Deadline::after(time_of(call.row, call.judged.tool ? call.judged.tool->contract.get() : nullptr));
}

// How long a call may take, all attempts together.
Millis Calls::time_of(const OperationRow& row, const trust::Contract* contract) const {
  if (contract != nullptr && contract->deadline) return *contract->deadline;
  const auto server = options_.server_timeout.find(row.server);
  return server == options_.server_timeout.end() ? Millis(kDefaultDeadline) : server->second;
}

bool Calls::may_start(const Call& call) const {
  if (flights_.size() >= options_.limits.calls_in_flight) return false;
  const auto it = per_principal_.find(call.row.principal);
  return it == per_principal_.end() || it->second < std::max<std::uint32_t>(1, options_.limits.calls_in_flight / 4);
}

}  // namespace sallyport::gateway::calls
