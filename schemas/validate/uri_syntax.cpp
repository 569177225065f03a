#include "schemas/validate/uri_syntax.hpp"

#include <algorithm>

#include "schemas/validate/formats.hpp"

namespace sallyport::schema {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool hex(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Only unreserved characters, sub-delims, percent escapes and what `extra` names.
bool made_of(std::string_view text, std::string_view extra, bool international) {
  constexpr std::string_view kPlain = "-._~!$&'()*+,;=";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || !hex(text[i + 1]) || !hex(text[i + 2])) return false;
      i += 2;
    } else if (!digit(c) && !letter(c) && kPlain.find(c) == kPlain.npos && extra.find(c) == extra.npos &&
               !(international && static_cast<unsigned char>(c) >= 0x80)) {
      return false;
    }
  }
  return true;
}

bool authority(std::string_view text, bool international) {
  if (const auto at = text.rfind('@'); at != text.npos) {
    if (!made_of(text.substr(0, at), ":", international)) return false;
    text.remove_prefix(at + 1);
  }
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return false;
    const bool future =
        (host.starts_with('v') || host.starts_with('V')) && host.find('.') != host.npos && made_of(host, ":", false);
    if (!future && !has_format(Format::ipv6, host)) return false;
    host = {};
  } else if (const auto colon = text.find(':'); colon != text.npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty()) port.remove_prefix(1);
  return made_of(host, "", international) && std::ranges::all_of(port, digit);
}

bool scheme(std::string_view text) {
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return letter(c) || digit(c) || c == '+' || c == '-' || c == '.'; });
}

// One expression of a template, without its braces.
bool expression(std::string_view text) {
  constexpr std::string_view kOperators = "+#./;?&=,!@|";
  if (!text.empty() && kOperators.find(text.front()) != kOperators.npos) text.remove_prefix(1);
  if (text.empty()) return false;
  while (true) {
    const auto comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    if (name.ends_with('*')) {
      name.remove_suffix(1);
    } else if (const auto colon = name.find(':'); colon != name.npos) {
      const auto count = name.substr(colon + 1);
      if (count.empty() || count.size() > 4 || count.front() == '0' || !std::ranges::all_of(count, digit)) return false;
      name = name.substr(0, colon);
    }
    const bool ok =
        std::ranges::all_of(name, [](char c) { return letter(c) || digit(c) || c == '_' || c == '.' || c == '%'; });
    if (name.empty() || !ok || name.front() == '.' || name.back() == '.' || name.find("..") != name.npos) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

bool is_uri(std::string_view text, bool international, bool absolute) {
  if (const auto hash = text.find('#'); hash != text.npos) {
    if (!made_of(text.substr(hash + 1), ":@/?", international)) return false;
    text = text.substr(0, hash);
  }
  if (const auto mark = text.find('?'); mark != text.npos) {
    if (!made_of(text.substr(mark + 1), ":@/?", international)) return false;
    text = text.substr(0, mark);
  }
  const auto colon = text.find(':');
  const bool has_scheme = colon != text.npos && colon < text.find('/') && scheme(text.substr(0, colon));
  if (absolute && !has_scheme) return false;
  if (has_scheme) text.remove_prefix(colon + 1);
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const auto slash = std::min(text.find('/'), text.size());
    if (!authority(text.substr(0, slash), international)) return false;
    text.remove_prefix(slash);
  } else if (!has_scheme && colon != text.npos && colon < text.find('/')) {
    return false;  // a first segment with a colon is no relative path
  }
  return made_of(text, ":@/", international);
}

bool is_uri_template(std::string_view text) {
  while (!text.empty()) {
    const auto open = text.find('{');
    const auto literal = text.substr(0, open);
    constexpr std::string_view kNever = "\"<>\\^`| }";
    for (std::size_t i = 0; i < literal.size(); ++i) {
      const auto c = static_cast<unsigned char>(literal[i]);
      if (c < 0x20 || c == 0x7F || kNever.find(literal[i]) != kNever.npos) return false;
      if (literal[i] == '%' && (i + 2 >= literal.size() || !hex(literal[i + 1]) || !hex(literal[i + 2]))) return false;
    }
    if (open == text.npos) return true;
    const auto close = text.find('}', open);
    if (close == text.npos || !expression(text.substr(open + 1, close - open - 1))) return false;
    text.remove_prefix(close + 1);
  }
  return true;
}

}  // namespace sallyport::schema
