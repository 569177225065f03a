#include "gateway/servers/stderr_drain.hpp"

#include <array>

#include "gateway/base/known_secrets.hpp"
#include "gateway/base/log.hpp"
#include "gateway/net/lines.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/receipts/redaction.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxLine = 2000;
constexpr std::size_t kTailLines = 5;
constexpr std::size_t kTailLine = 300;
constexpr double kBurst = 100;  // lines
constexpr double kLinesPerSecond = 20;

}  // namespace

StderrDrain::StderrDrain(std::string server)
    : server_(std::move(server)), rate_(kBurst, kLinesPerSecond, Deadline::Clock::now()) {}

asio::awaitable<void> StderrDrain::run(ByteStream& stream) {
  std::array<char, 16384> chunk;  // NOLINT: filled by the read
  LineSplitter lines(kMaxLine);
  for (;;) {
    const Result<std::size_t> got = co_await stream.read_some(chunk, Deadline::never());
    if (!got || *got == 0) break;
    lines.feed(std::string_view(chunk.data(), *got));
    while (auto next = lines.next()) line(std::move(next->text));
  }
  if (auto rest = lines.finish()) line(std::move(rest->text));
}

void StderrDrain::line(std::string text) {
  if (text.empty()) return;
  if (trust::looks_secret(text)) text = "*** (this line looks like it holds a secret)";
  known_secrets().hide(text);
  if (const auto left_out = rate_.admit(Deadline::Clock::now())) {
    if (*left_out > 0) log::warning("server.stderr_dropped", {{"server", server_}, {"lines", *left_out}});
    log::info("server.stderr", {{"server", server_}, {"text", text}});
  }
  if (text.size() > kTailLine) text.resize(kTailLine);
  last_.push_back(std::move(text));
  if (last_.size() > kTailLines) last_.pop_front();
}

std::string StderrDrain::tail() const {
  std::string out;
  for (const std::string& text : last_) {
    if (!out.empty()) out += " | ";
    out += visible(text);
  }
  return out;
}

}  // namespace sallyport::gateway::servers
