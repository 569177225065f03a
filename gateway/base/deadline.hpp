// An absolute point on the steady clock; default: never. Made once at the entry of a request and passed by value.
#pragma once

#include <algorithm>
#include <chrono>

namespace sallyport::gateway {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  Deadline() = default;  // never
  static Deadline never() { return {}; }
  static Deadline at(Clock::time_point when) { return Deadline(when); }
  static Deadline after(Clock::duration wait) {
    const auto now = Clock::now();
    return wait > Clock::time_point::max() - now ? Deadline() : Deadline(now + wait);
  }
  [[nodiscard]] bool is_never() const { return when_ == Clock::time_point::max(); }
  [[nodiscard]] bool passed() const { return !is_never() && Clock::now() >= when_; }
  [[nodiscard]] Clock::time_point when() const { return when_; }
  [[nodiscard]] Clock::duration left() const {
    return is_never() ? Clock::duration::max() : std::max(Clock::duration::zero(), when_ - Clock::now());
  }
  friend Deadline earlier(Deadline a, Deadline b) { return a.when_ < b.when_ ? a : b; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_ = Clock::time_point::max();
};

}  // namespace sallyport::gateway
