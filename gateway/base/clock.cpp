#include "gateway/base/clock.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "schemas/core/encoding.hpp"
#include "schemas/core/ids.hpp"

namespace sallyport::gateway {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] UnixMillis now() const override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  }
};

class SystemEntropy final : public Entropy {
 public:
  void fill(std::span<std::uint8_t> out) override {
    while (!out.empty()) {
      const ssize_t got = ::getrandom(out.data(), out.size(), 0);
      if (got < 0) {
        if (errno == EINTR) continue;
        // Without randomness every id and token would be guessable: there is nothing safe left to do.
        std::fputs("sallyport: the operating system gives no randomness\n", stderr);
        std::abort();
      }
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }
};

}  // namespace

std::string Entropy::id(std::string_view prefix, UnixMillis now) {
  Random80 random{};
  fill(random);
  return make_id(prefix, static_cast<std::uint64_t>(std::max<UnixMillis>(now, 0)), random);
}

std::string Entropy::token(std::size_t bytes) {
  std::vector<std::uint8_t> random(bytes);
  fill(random);
  return to_base64url(std::string(random.begin(), random.end()));
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Entropy& system_entropy() {
  static SystemEntropy entropy;
  return entropy;
}

}  // namespace sallyport::gateway
