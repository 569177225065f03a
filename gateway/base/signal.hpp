// Waiting on the loop: Signal wakes all who wait; OneShot<T> hands one value to one waiter; Cancel tells a call to end.
//
// Thread rule: everything here lives on the loop (one thread runs it, see gateway/README.md) and is not thread-safe.
// Lifetime: whoever waits keeps the object alive until the wait returned; destroying it wakes the waiters first.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateway/base/deadline.hpp"

namespace sallyport::gateway {

namespace asio = boost::asio;

class Signal {
 public:
  explicit Signal(asio::any_io_executor loop);
  ~Signal();
  Signal(Signal&&) noexcept;
  Signal& operator=(Signal&&) noexcept;
  void notify();                                  // wakes all present waiters
  asio::awaitable<bool> wait(Deadline deadline);  // true: notified; false: the deadline passed
  // For who looks at something and then waits for it to change: `seen` is the count before the look, and a notice
  // since then is not lost.
  [[nodiscard]] std::uint64_t count() const;
  asio::awaitable<bool> wait_since(std::uint64_t seen, Deadline deadline);

 private:
  struct State;
  std::shared_ptr<State> state_;  // waiters hold it too, so that notify and destruction may come in any order
};

// At most one value, at most one waiter at a time; a value set before the wait is not lost; later sets are ignored.
template <class T>
class OneShot {
 public:
  explicit OneShot(asio::any_io_executor loop) : signal_(std::move(loop)) {}
  bool set(T value) {
    if (value_) return false;
    value_ = std::move(value);
    signal_.notify();
    return true;
  }
  [[nodiscard]] bool ready() const { return value_.has_value(); }
  asio::awaitable<std::optional<T>> wait(Deadline deadline) {  // nullopt: the deadline passed
    while (!value_) {
      const bool notified = co_await signal_.wait(deadline);
      if (!notified) break;
    }
    std::optional<T> out = std::move(value_);
    co_return out;
  }

 private:
  Signal signal_;
  std::optional<T> value_;
};

// Why a call ends early. Set once; the first reason stays.
enum class CancelReason : unsigned char { client, disconnect, stop, shutdown };

class Cancel {
 public:
  Cancel() = default;
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;
  void cancel(CancelReason reason) {
    if (reason_) return;
    reason_ = reason;
    if (callback_) callback_(reason);
  }
  [[nodiscard]] std::optional<CancelReason> reason() const { return reason_; }
  // One listener at a time: what to do when cancelled (called at once if it was already). Empty: no listener.
  void on_cancel(std::function<void(CancelReason)> callback) {
    callback_ = std::move(callback);
    if (reason_ && callback_) callback_(*reason_);
  }

 private:
  std::optional<CancelReason> reason_;
  std::function<void(CancelReason)> callback_;
};

}  // namespace sallyport::gateway
