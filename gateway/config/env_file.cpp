#include "gateway/config/env_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace sallyport::gateway {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool only_comment(std::string_view rest) {
  rest = trimmed(rest);
  return rest.empty() || rest.front() == '#';
}

// nullopt: the quotes do not close on this line, or something follows them.
std::optional<std::string> quoted_value(std::string_view text) {
  const char quote = text.front();
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == quote) return only_comment(text.substr(i + 1)) ? std::optional(value) : std::nullopt;
    if (c != '\\' || quote == '\'' || i + 1 == text.size()) {
      value += c;
      continue;
    }
    const char next = text[++i];
    switch (next) {
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      case '"':
      case '\\':
      case '$':
        value += next;
        break;
      default:
        value += '\\', value += next;
    }
  }
  return std::nullopt;
}

std::string plain_value(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '#' && (text[i - 1] == ' ' || text[i - 1] == '\t')) return std::string(trimmed(text.substr(0, i)));
  }
  return std::string(text);
}

}  // namespace

Result<std::map<std::string, std::string>> parse_env_file(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::map<std::string, std::string> values;
  for (int line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    std::string_view one = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.find('\0') != std::string_view::npos)
      return fail(ErrorCode::invalid, fmt::format("line {} holds a NUL", line));
    if (one.empty() || one.front() == '#') continue;
    if (one.starts_with("export ")) one = trimmed(one.substr(7));
    const auto equals = one.find('=');
    const std::string_view name = trimmed(one.substr(0, equals));
    if (equals == std::string_view::npos || !is_name(name)) {
      return fail(ErrorCode::invalid, fmt::format("line {} is not of the form NAME=VALUE", line));
    }
    const std::string_view value = trimmed(one.substr(equals + 1));
    if (!value.empty() && (value.front() == '"' || value.front() == '\'')) {
      const auto inner = quoted_value(value);
      if (!inner) return fail(ErrorCode::invalid, fmt::format("the quotes in line {} do not close at its end", line));
      values[std::string(name)] = *inner;
    } else {
      values[std::string(name)] = value.empty() || value.front() == '#' ? std::string() : plain_value(value);
    }
  }
  return values;
}

}  // namespace sallyport::gateway
