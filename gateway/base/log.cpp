#include "gateway/base/log.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <memory>
#include <mutex>

#include "gateway/base/known_secrets.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::log {
namespace {

constexpr std::size_t kMaxValue = 2000;  // bytes of one string value

// Without the secrets of this process; looked for before cutting, which could leave half of one.
std::string cut(std::string_view value) {
  std::string text(value.substr(0, 2 * kMaxValue));
  known_secrets().hide(text);
  if (value.size() <= kMaxValue) return text;
  if (text.size() <= kMaxValue) return fmt::format("{}… ({} bytes)", text, value.size());
  std::size_t end = kMaxValue;
  while (end > kMaxValue - 4 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;  // not inside a character
  return fmt::format("{}… ({} bytes)", text.substr(0, end), value.size());
}

// A reader of our stderr that stopped reading must not stop the gateway: what does not fit now is dropped and counted.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (dropped_ > 0) {
      const std::string note = fmt::format("log: {} lines were dropped because nobody read them\n", dropped_);
      if (!write(note)) {
        ++dropped_;
        return;
      }
      dropped_ = 0;
    }
    if (!write(std::string_view(line.data(), line.size()))) ++dropped_;
  }
  void flush_() override {}

 private:
  // False: nothing of it was written. A line that was begun is finished, within a moment.
  static bool write(std::string_view text) {
    bool begun = false;
    while (!text.empty()) {
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, begun ? 50 : 0) <= 0) return begun;
      // A pipe that poll calls writable takes PIPE_BUF bytes without blocking.
      const ssize_t wrote = ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), 4096));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return begun;
      begun = true;
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }
  std::uint64_t dropped_ = 0;
};

struct Output {
  Output() : logger("sallyport", std::make_shared<StderrSink>()) { set(Level::info, Format::text); }
  void set(Level level, Format wanted) {
    format = wanted;
    const char* pattern =
        wanted == Format::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v)" : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v";
    logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n"));
    logger.set_level(to_spdlog(level));
  }
  static spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
      case Level::debug:
        return spdlog::level::debug;
      case Level::info:
        return spdlog::level::info;
      case Level::warning:
        return spdlog::level::warn;
      case Level::error:
        return spdlog::level::err;
      case Level::off:
        return spdlog::level::off;
    }
    return spdlog::level::info;
  }
  spdlog::logger logger;
  Format format = Format::text;
};

Output& output() {
  static Output instance;
  return instance;
}

std::string text_value(std::string_view value) {
  std::string shown = visible(cut(value));
  if (!shown.empty() && shown.find_first_of(" \"=") == std::string::npos) return shown;
  return quote(shown);
}

std::string to_text(std::string_view event, Fields fields) {
  std::string line(event);
  for (const Field& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    if (const auto* text = std::get_if<std::string_view>(&field.value)) line += text_value(*text);
    if (const auto* number = std::get_if<std::int64_t>(&field.value)) line += fmt::format("{}", *number);
    if (const auto* number = std::get_if<double>(&field.value)) line += fmt::format("{}", *number);
    if (const auto* flag = std::get_if<bool>(&field.value)) line += *flag ? "true" : "false";
  }
  return line;
}

std::string to_json(std::string_view event, Fields fields) {
  std::string line = "\"event\":" + quote(event);
  for (const Field& field : fields) {
    line += ',';
    line += quote(field.name);
    line += ':';
    if (const auto* text = std::get_if<std::string_view>(&field.value)) line += quote(cut(*text));
    if (const auto* number = std::get_if<std::int64_t>(&field.value)) line += fmt::format("{}", *number);
    if (const auto* number = std::get_if<double>(&field.value)) {
      line += std::isfinite(*number) ? fmt::format("{}", *number) : "null";
    }
    if (const auto* flag = std::get_if<bool>(&field.value)) line += *flag ? "true" : "false";
  }
  return line + "}";
}

void write(spdlog::level::level_enum level, std::string_view event, Fields fields) {
  Output& out = output();
  if (!out.logger.should_log(level)) return;
  const std::string line = out.format == Format::json ? to_json(event, fields) : to_text(event, fields);
  out.logger.log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void configure(Level level, Format format) { output().set(level, format); }
void debug(std::string_view event, Fields fields) { write(spdlog::level::debug, event, fields); }
void info(std::string_view event, Fields fields) { write(spdlog::level::info, event, fields); }
void warning(std::string_view event, Fields fields) { write(spdlog::level::warn, event, fields); }
void error(std::string_view event, Fields fields) { write(spdlog::level::err, event, fields); }

}  // namespace sallyport::gateway::log
