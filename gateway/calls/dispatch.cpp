// Step 11: the stored bytes that were judged go to the server. What was recorded is in the permit; nothing is decided
// here.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"

namespace sallyport::gateway::calls {
namespace {

// The server's progress under the client's token, increasing (mcp.md 2.1).
std::string progress_params(const std::string& token, json::Value params) {
  std::string out = "{\"progressToken\":" + token;
  for (const json::Member member : params.members()) {
    if (member.key.equals("progressToken")) continue;
    out += ',';
    out += member.key.raw();
    out += ':';
    out += member.value.raw();
  }
  return out + "}";
}

void pass_progress(Flight& flight, std::string_view params_raw) {
  auto document = json::Document::parse(std::string(params_raw));
  if (!document) return;
  const json::Value progress = document->root().find("progress");
  if (!progress || !progress.is_number()) return;
  for (Waiter* waiter : flight.waiters) {
    if (waiter->progress_token.empty() || progress.real() <= waiter->last_progress || !waiter->channel->open())
      continue;
    waiter->last_progress = progress.real();
    waiter->channel->notify("notifications/progress", progress_params(waiter->progress_token, document->root()));
  }
}

}  // namespace

asio::awaitable<ServerAnswer> Calls::dispatch(FlightPtr flight, std::shared_ptr<ServerLink> link,
                                              PermittedCall permit) {
  Call& call = flight->call;
  // A stop refuses from the next dispatch on, also what was recorded a moment ago: nothing was sent yet.
  Judgement now;
  std::swap(now, call.judged);
  call.judged.tool = now.tool;
  check_stops(call, *this);
  const bool stopped = call.judged.refused();
  std::swap(now, call.judged);
  if (stopped) {
    ServerAnswer answer;
    answer.detail = "an operator stopped it before it was sent";
    answer.cancelled = CancelReason::stop;
    co_return answer;
  }
  call.sent = clock_.now();
  flight->changed.notify();
  CallControl control;
  control.deadline = flight->deadline;
  control.cancel = &flight->cancel;
  if (permit.wants_progress()) {
    control.progress = [raw = flight.get()](std::string_view params_raw) { pass_progress(*raw, params_raw); };
  }
  control.session = call.request.client->session;
  control.capabilities = call.request.client->capabilities;
  control.task_made = [this, flight] { take_task(flight); };
  control.log_level = call.request.client->log_level;
  control.log = [raw = flight.get()](std::string_view params_raw) {
    for (const Waiter* waiter : raw->waiters) waiter->channel->notify("notifications/message", params_raw);
  };
  control.ask = [this, flight](ServerQuestion question) { return pass_question(flight, std::move(question)); };
  ServerAnswer answer = co_await link->call(std::move(permit), std::move(control));
  call.answered = clock_.now();
  flight->cancel.on_cancel({});
  co_return answer;
}

}  // namespace sallyport::gateway::calls
