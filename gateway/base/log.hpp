// Log: an event name and typed fields, to stderr, as text or JSON lines. Control characters are escaped; values of type
// Secret cannot be passed, and what known_secrets() holds is written as `***`. Thread-safe. Text of servers (stderr of
// children) is cut at 2,000 bytes a line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace sallyport::gateway::log {

enum class Level : std::uint8_t { debug, info, warning, error, off };
enum class Format : std::uint8_t { text, json };

struct Field {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double, bool> value;
  Field(std::string_view n, std::string_view v) : name(n), value(v) {}
  Field(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
  Field(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
  Field(std::string_view n, bool v) : name(n), value(v) {}
  Field(std::string_view n, double v) : name(n), value(v) {}
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Field(std::string_view n, T v) : name(n), value(static_cast<std::int64_t>(v)) {}
};
using Fields = std::initializer_list<Field>;

void configure(Level level, Format format);  // once at start, before any other thread
void debug(std::string_view event, Fields fields = {});
void info(std::string_view event, Fields fields = {});
void warning(std::string_view event, Fields fields = {});
void error(std::string_view event, Fields fields = {});

}  // namespace sallyport::gateway::log
