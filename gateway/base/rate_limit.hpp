// RateLimit: a token bucket that counts what it left out, for what others may cause at will: log lines, notes. Pure:
// time comes as an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace sallyport::gateway {

class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // At most `burst` at once, and `per_second` in the long run.
  RateLimit(double burst, double per_second, Time now)
      : burst_(burst), per_second_(per_second), tokens_(burst), refilled_(now) {}

  // nullopt: left out. Else how many were left out since the last one that was let in.
  [[nodiscard]] std::optional<std::uint64_t> admit(Time now) {
    tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - refilled_).count() * per_second_);
    refilled_ = now;
    if (tokens_ < 1) {
      ++left_out_;
      return std::nullopt;
    }
    tokens_ -= 1;
    return std::exchange(left_out_, 0);
  }
  // It is as new: nothing was left out that was not told, and it is full again.
  [[nodiscard]] bool is_idle(Time now) const {
    const double now_there = tokens_ + std::chrono::duration<double>(now - refilled_).count() * per_second_;
    return left_out_ == 0 && now_there >= burst_;
  }

 private:
  double burst_, per_second_, tokens_;
  Time refilled_;
  std::uint64_t left_out_ = 0;
};

}  // namespace sallyport::gateway
