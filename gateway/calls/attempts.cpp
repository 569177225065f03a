// Step 11: attempts under one deadline. A further one only after what provably did not run, or where the contract says
// that repeating is safe; after a pause, by a token, and recorded before its first byte like the first.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr unsigned kAttemptsIfSafe = 3;

unsigned attempts_allowed(const Call& call) {
  const auto& contract = call.judged.tool->contract;
  if (contract && contract->attempts) return *contract->attempts;
  return call.judged.effect.effective.repeat == Repeat::safe ? kAttemptsIfSafe : 1;
}

LinkKey link_key(const Call& call) {
  const ClientContext& client = *call.request.client;
  return {call.row.server, call.row.principal, client.session, client.era != mcp::Era::modern};
}

}  // namespace

// That another server than the accepted one is there is no fault of the accepted one.
void Calls::refuse_server(Call& call, const Error& error, std::string_view what) {
  const bool foreign = error.code == ErrorCode::forbidden;
  if (!foreign) health_of(call).failed(Deadline::Clock::now());
  refuse(call.judged, foreign ? ReasonCode::tool_quarantined : ReasonCode::server_unavailable,
         fmt::format("The server `{}` {}: {}.", call.row.server, foreign ? "is not used" : what,
                     foreign ? visible(error.message) : error.message));
}

// The link to the server, verified. Null: refused (then it says so), or the definition is another now.
asio::awaitable<std::shared_ptr<ServerLink>> Calls::connect(FlightPtr flight) {
  Call& call = flight->call;
  const auto now = Deadline::Clock::now();
  ServerHealth& health = health_of(call);
  const ServerHealth::Gate gate = health.admit(call.row.is_read, now);
  if (gate == ServerHealth::Gate::shut) {
    const auto rest = std::chrono::ceil<std::chrono::seconds>(health.rest(now));
    refuse(call.judged, ReasonCode::server_unavailable,
           fmt::format("The server `{}` failed {} times in a row; it is tried again in {} s, by a read.",
                       call.row.server, health.failures(), std::max<std::int64_t>(1, rest.count())));
    co_return nullptr;
  }
  LinkKey key = link_key(call);
  auto link = co_await servers_.link(std::move(key), flight->deadline);
  if (!link) {
    refuse_server(call, link.error(), "is not available");
    co_return nullptr;
  }
  if (gate == ServerHealth::Gate::needs_probe) {
    const bool alive = co_await probe(flight, *link);
    if (!alive) co_return nullptr;
  }
  auto same = co_await definitions_.verify(*link, call.judged.tool, flight->deadline);
  if (!same) {
    refuse_server(call, same.error(), "did not answer");
    co_return nullptr;
  }
  co_return *same ? *link : nullptr;
}

// Whether a server that failed again and again answers a read of ours: a write is not what to find that out with.
asio::awaitable<bool> Calls::probe(FlightPtr flight, std::shared_ptr<ServerLink> link) {
  const std::string& server = flight->call.row.server;
  auto listed = co_await link->list_tools(flight->deadline);
  ServerHealth& health = health_of(flight->call);
  if (listed) {
    health.succeeded();
    co_return true;
  }
  health.failed(Deadline::Clock::now());
  refuse(flight->call.judged, ReasonCode::server_unavailable,
         fmt::format("The server `{}` failed several times in a row and still does not answer: {}.", server,
                     listed.error().message));
  co_return false;
}

asio::awaitable<ServerAnswer> Calls::send(FlightPtr flight, std::shared_ptr<ServerLink> link, PermittedCall permit) {
  Call& call = flight->call;
  for (;;) {
    ServerAnswer answer = co_await dispatch(flight, link, std::move(permit));
    if (wants_input(call, answer)) {
      health_of(call).succeeded();
      co_return answer;
    }
    const Finding finding = judge_answer(call, answer);
    note_health(call, answer, finding.proof);
    if (!goes_again(*flight, finding.proof)) co_return answer;
    const Millis asked = answer.retry_after.value_or(Millis(0));
    const bool rested = co_await pause(flight, asked);
    if (flight->late) co_return std::move(*flight->late);
    if (!rested) co_return answer;
    LinkKey key = link_key(call);
    auto again = co_await servers_.link(std::move(key), flight->deadline);
    if (!again) co_return answer;
    auto same = co_await definitions_.verify(*again, call.judged.tool, flight->deadline);
    if (!same || !*same || flight->cancel.reason() || !still_permitted(call)) co_return answer;
    auto recorded = co_await record_attempt(flight, answer, finding);
    if (!recorded) {
      log::info("retry.not_made", {{"operation", call.row.id}, {"reason", recorded.error().message}});
      co_return answer;
    }
    call.doubtful = call.doubtful || finding.proof == Proof::lost;
    link = std::move(*again);
    permit = std::move(*recorded);
  }
}

bool Calls::goes_again(const Flight& flight, Proof proof) {
  const Call& call = flight.call;
  if (!may_send_again(proof, call.judged.effect.effective.repeat, is_keyed(call))) return false;
  if (static_cast<unsigned>(call.row.attempts) >= attempts_allowed(call)) return false;
  if (closing_ || flight.cancel.reason() || flight.deadline.passed() || flight.late) return false;
  return health_of(call).take_retry();
}

// The pause before the next attempt, not shorter than the server asked for. False: cancelled, or the deadline would
// pass first.
asio::awaitable<bool> Calls::pause(FlightPtr flight, Millis asked) {
  std::array<std::uint8_t, 4> bytes{};
  entropy_.fill(bytes);
  const unsigned random = bytes[0] | (bytes[1] << 8U) | (bytes[2] << 16U) | (static_cast<unsigned>(bytes[3]) << 24U);
  const Deadline end = Deadline::after(std::max(asked, retry_pause(flight->call.row.attempts + 1, random)));
  if (!flight->deadline.is_never() && flight->deadline.when() <= end.when()) co_return false;
  flight->cancel.on_cancel([weak = std::weak_ptr<Flight>(flight)](CancelReason) {
    if (const auto alive = weak.lock()) alive->nudge.notify();
  });
  while (!end.passed() && !flight->cancel.reason() && !flight->late) co_await flight->nudge.wait(end);
  flight->cancel.on_cancel({});
  co_return !flight->cancel.reason() && !closing_;
}

// Denials and stops hold from the moment they come, also between two attempts. The gateway's own reads know no rules.
bool Calls::still_permitted(const Call& call) const {
  if (!call.cause.empty()) return true;
  Call now = call;
  weigh(now);
  return !now.judged.refused() && now.judged.tool == call.judged.tool;
}

// One principal's failures, be they of its own making, keep no other from the server.
ServerHealth& Calls::health_of(const std::string& server, const std::string& principal) {
  return health_[{server, principal.starts_with("anonymous") ? "anonymous" : principal}];
}

ServerHealth& Calls::health_of(const Call& call) {
  return health_of(call.row.server, call.whose.empty() ? call.row.principal : call.whose);
}

void Calls::note_health(const Call& call, const ServerAnswer& answer, Proof proof) {
  if (answer.cancelled || answer.over_limit) return;  // says nothing about the server
  ServerHealth& health = health_of(call);
  if (proof == Proof::lost || proof == Proof::not_sent || proof == Proof::transient) {
    health.failed(Deadline::Clock::now());
    if (health.failures() == ServerHealth::kFailuresToOpen)
      log::warning("server.rests", {{"server", call.row.server}, {"failures", health.failures()}});
  } else {
    health.succeeded();
  }
}

}  // namespace sallyport::gateway::calls
