#include "gateway/base/signal.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sallyport::gateway {
namespace {

// A waiter lives in the frame of its wait() and is linked into the signal's list for that long.
struct Waiter {
  explicit Waiter(const asio::any_io_executor& loop) : timer(loop) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  asio::steady_timer timer;
  bool notified = false;
  Waiter* previous = nullptr;
  Waiter* next = nullptr;
};

}  // namespace

struct Signal::State {
  explicit State(asio::any_io_executor executor) : loop(std::move(executor)), head(loop) {
    head.next = head.previous = &head;
  }
  void notify_all() {
    ++count;
    for (Waiter* waiter = head.next; waiter != &head; waiter = waiter->next) {
      waiter->notified = true;
      waiter->timer.cancel();
    }
  }
  asio::any_io_executor loop;
  Waiter head;  // of a ring
  std::uint64_t count = 0;
};

namespace {

class Linked {
 public:
  Linked(Waiter& head, Waiter& waiter) : waiter_(waiter) {
    waiter.previous = head.previous;
    waiter.next = &head;
    head.previous->next = &waiter;
    head.previous = &waiter;
  }
  Linked(const Linked&) = delete;
  Linked& operator=(const Linked&) = delete;
  ~Linked() {
    waiter_.previous->next = waiter_.next;
    waiter_.next->previous = waiter_.previous;
  }

 private:
  Waiter& waiter_;
};

}  // namespace

Signal::Signal(asio::any_io_executor loop) : state_(std::make_shared<State>(std::move(loop))) {}
Signal::Signal(Signal&&) noexcept = default;
Signal& Signal::operator=(Signal&& other) noexcept {
  if (this != &other) {
    if (state_) state_->notify_all();
    state_ = std::move(other.state_);
  }
  return *this;
}
Signal::~Signal() {
  if (state_) state_->notify_all();
}

void Signal::notify() { state_->notify_all(); }

std::uint64_t Signal::count() const { return state_->count; }

asio::awaitable<bool> Signal::wait_since(std::uint64_t seen, Deadline deadline) {
  if (state_->count != seen) co_return true;
  const bool notified = co_await wait(deadline);
  co_return notified;
}

asio::awaitable<bool> Signal::wait(Deadline deadline) {
  const std::shared_ptr<State> state = state_;  // outlives the Signal if need be
  Waiter waiter(state->loop);
  const Linked linked(state->head, waiter);
  waiter.timer.expires_at(deadline.when());
  boost::system::error_code ignored;
  co_await waiter.timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return waiter.notified;
}

}  // namespace sallyport::gateway
