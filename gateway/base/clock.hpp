// Wall clock and randomness as arguments, so that tests can set both. Implementations are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/time.hpp"

namespace sallyport::gateway {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual UnixMillis now() const = 0;
};

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;       // from the operating system; never fails (aborts instead)
  std::string id(std::string_view prefix, UnixMillis now);  // a prefix and a ULID
  std::string token(std::size_t bytes);                     // base64url of that many random bytes
};

Clock& system_clock();
Entropy& system_entropy();

}  // namespace sallyport::gateway
