#include "gateway/base/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <list>

#include "gateway/base/log.hpp"
#include "gateway/base/signal.hpp"

namespace sallyport::gateway {
namespace {

struct Task {
  std::string name;
  asio::cancellation_signal signal;
};

// Cancellation unwinds a task by this exception; it is no failure.
bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace

struct TaskGroup::State {
  explicit State(asio::any_io_executor executor) : loop(std::move(executor)), ended(loop) {}
  void cancel_all() {
    cancelled = true;
    const std::list<std::shared_ptr<Task>> running = tasks;  // emitting may end tasks
    for (const auto& task : running) emit(task);
  }
  // On the loop: asio passes the signal on through a pointer into it, so outside of the loop's turns (when its owner is
  // destroyed after the loop has stopped, say) the task must be kept alive until it has arrived.
  void emit(std::shared_ptr<Task> task) {
    asio::dispatch(loop, [task = std::move(task)] { task->signal.emit(asio::cancellation_type::terminal); });
  }
  void end(const std::shared_ptr<Task>& task, const std::exception_ptr& error) {
    if (error && !(cancelled && is_cancellation(error))) {
      log::error("task.failed", {{"task", task->name}, {"reason", what_of(error)}});
    }
    tasks.remove(task);
    if (tasks.empty()) ended.notify();
  }
  asio::any_io_executor loop;
  std::list<std::shared_ptr<Task>> tasks;
  Signal ended;
  bool cancelled = false;
};

namespace {

// Starts in a later turn of the loop, so that spawn() never runs a part of the task itself.
asio::awaitable<void> start_later(asio::awaitable<void> task) {
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  co_await asio::post(loop, asio::use_awaitable);
  co_await std::move(task);
}

}  // namespace

TaskGroup::TaskGroup(asio::any_io_executor loop) : state_(std::make_shared<State>(std::move(loop))) {}
TaskGroup::~TaskGroup() { state_->cancel_all(); }

void TaskGroup::spawn(std::string name, asio::awaitable<void> task) {
  auto entry = std::make_shared<Task>();
  entry->name = std::move(name);
  state_->tasks.push_back(entry);
  auto on_end = [state = state_, entry](const std::exception_ptr& error) { state->end(entry, error); };
  asio::co_spawn(state_->loop, start_later(std::move(task)),
                 asio::bind_cancellation_slot(entry->signal.slot(), std::move(on_end)));
  if (state_->cancelled) state_->emit(entry);
}

void TaskGroup::cancel() { state_->cancel_all(); }

asio::awaitable<bool> TaskGroup::wait_empty(Deadline deadline) {
  const std::shared_ptr<State> state = state_;
  while (!state->tasks.empty()) {
    const bool notified = co_await state->ended.wait(deadline);
    if (!notified) break;
  }
  const bool all_ended = state->tasks.empty();
  co_return all_ended;
}

std::size_t TaskGroup::count() const { return state_->tasks.size(); }

std::vector<std::string> TaskGroup::names() const {
  std::vector<std::string> names;
  for (const auto& task : state_->tasks) names.push_back(task->name);
  return names;
}

asio::any_io_executor TaskGroup::loop() const { return state_->loop; }

asio::awaitable<bool> sleep_until(Deadline deadline) {
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  asio::steady_timer timer(loop);
  timer.expires_at(deadline.when());
  boost::system::error_code error;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

}  // namespace sallyport::gateway
