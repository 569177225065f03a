// Tasks of a modern server (the extension io.modelcontextprotocol/tasks, mcp.md 1.3): a call that it answers with a
// task has its answer when the task has one. The link asks for it until then.
#include <fmt/format.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/mcp/modern.hpp"
#include "gateway/servers/link.hpp"
#include "gateway/servers/params.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr Millis kDefaultPoll{1'000};
constexpr Millis kShortestPoll{50};
constexpr Millis kLongestPoll{30'000};
constexpr std::chrono::seconds kOnePoll{30};
constexpr std::chrono::seconds kCancelWait{5};
constexpr int kMostFailures = 5;  // polls in a row that bring no answer

Millis poll_of(json::Value task, Millis before) {
  const json::Value interval = task.find("pollIntervalMs");
  if (!interval.is_number()) return before;
  const double value = std::clamp(interval.real(), static_cast<double>(kShortestPoll.count()),
                                  static_cast<double>(kLongestPoll.count()));
  return Millis(static_cast<std::int64_t>(value));
}

bool is_working(json::Value task) { return task.find("status").equals("working"); }

// An error of the server itself, not of what stands in between.
bool is_final(const ServerAnswer& told) { return told.kind == ServerAnswer::Kind::error && !told.bare_http; }

// What the task came to, as the answer of the call.
ServerAnswer ending_of(ServerAnswer answer) {
  const json::Value task = answer.result;
  const json::Value status = task.find("status");
  if (status.equals("completed") && task.find("result").is_object()) {
    answer.result = task.find("result");
    return answer;
  }
  if (status.equals("failed") && task.find("error").is_object()) {
    answer.kind = ServerAnswer::Kind::error;
    answer.error = task.find("error");
    answer.result = {};
    return answer;
  }
  ServerAnswer lost = lost_answer(
      status.equals("input_required")
          ? std::string("the server's task asks for input, which the gateway cannot pass on")
          : fmt::format("the server's task ended as {}, without a result", visible(status.raw().substr(0, 64))));
  lost.modern = true;
  return lost;
}

}  // namespace

bool Link::is_task(const ServerAnswer& answer, const std::string& capabilities) {
  if (answer.kind != ServerAnswer::Kind::result || answer.result.ambiguity()) return false;
  if (!answer.result.find("resultType").equals(mcp::result_type::kTask) || !answer.result.find("taskId").is_string())
    return false;
  const auto declared = json::Document::parse(capabilities);
  return declared && declared->root().find("extensions").find(mcp::extension::kTasks).is_object();
}

asio::awaitable<ServerAnswer> Link::follow_task(ServerAnswer made, CallControl control) {
  const std::shared_ptr<Link> self = shared_from_this();  // the pool may drop us while we wait
  const std::string params = fmt::format(R"({{"taskId":{}}})", made.result.find("taskId").raw());
  if (control.task_made) control.task_made();
  ServerAnswer answer = std::move(made);
  Millis poll = poll_of(answer.result, kDefaultPoll);
  int failures = 0;
  ++holds_;  // it is at work for us, though no request is open
  const auto cancelled = std::make_shared<Signal>(context_->loop);
  do {
    if (control.cancel != nullptr) control.cancel->on_cancel([cancelled](CancelReason) { cancelled->notify(); });
    if (control.cancel == nullptr || !control.cancel->reason())
      co_await cancelled->wait(earlier(control.deadline, Deadline::after(poll)));
    if (control.cancel != nullptr) control.cancel->on_cancel({});
    CallControl one{.deadline = earlier(control.deadline, Deadline::after(kOnePoll)), .cancel = control.cancel};
    one.capabilities = control.capabilities;
    ServerAnswer told = co_await relay_modern("tasks/get", params, std::move(one));
    const bool given_up = control.deadline.passed() || (control.cancel != nullptr && control.cancel->reason());
    if (told.kind == ServerAnswer::Kind::result) {
      failures = 0;
      poll = poll_of(told.result, poll);
      answer = std::move(told);
    } else if (given_up || is_final(told) || ++failures >= kMostFailures || !alive()) {
      ServerAnswer lost = lost_answer("the server's task was not followed to its end: " + describe_failure(told));
      lost.modern = true;
      lost.timed_out = control.deadline.passed();
      if (control.cancel != nullptr) lost.cancelled = control.cancel->reason();
      answer = std::move(lost);
    }
  } while (answer.kind == ServerAnswer::Kind::result && is_working(answer.result));
  --holds_;
  if (answer.kind != ServerAnswer::Kind::result) {
    context_->tasks.spawn("cancel task " + id(), cancel_task(self, params, control.capabilities));
    co_return answer;
  }
  const bool asks = answer.result.find("status").equals("input_required");
  if (asks) context_->tasks.spawn("cancel task " + id(), cancel_task(self, params, control.capabilities));
  co_return ending_of(std::move(answer));
}

// Nobody waits for it any more; that it then did nothing is not known.
asio::awaitable<void> Link::cancel_task(std::shared_ptr<Link> self, std::string params, std::string capabilities) {
  if (!self->alive()) co_return;
  CallControl control;
  control.deadline = Deadline::after(kCancelWait);
  control.capabilities = std::move(capabilities);
  const ServerAnswer told = co_await self->relay_modern("tasks/cancel", std::move(params), std::move(control));
  if (told.kind != ServerAnswer::Kind::result)
    log::info("server.task_not_cancelled", {{"server", self->id()}, {"reason", describe_failure(told)}});
}

}  // namespace sallyport::gateway::servers
