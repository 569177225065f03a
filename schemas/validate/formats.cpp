#include "schemas/validate/formats.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/pattern.hpp"
#include "schemas/validate/uri_syntax.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kMaxRegex = 4'096;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool hex(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// A number of exactly `count` digits at the front, taken off.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool date_at(std::string_view& text) {
  const auto year = digits(text, 4);
  if (!year || !take(text, '-')) return false;
  const auto month = digits(text, 2);
  if (!month || !take(text, '-')) return false;
  const auto day = digits(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1) return false;
  constexpr std::array kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (*year % 4 == 0 && *year % 100 != 0) || *year % 400 == 0;
  return *day <= kDays[static_cast<std::size_t>(*month - 1)] + (leap && *month == 2 ? 1 : 0);
}

bool time_at(std::string_view& text) {
  const auto hour = digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return false;
  const auto minute = digits(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return false;
  const auto second = digits(text, 2);
  if (!second || *second > 60) return false;
  if (take(text, '.')) {
    if (text.empty() || !digit(text.front())) return false;
    while (!text.empty() && digit(text.front())) text.remove_prefix(1);
  }
  int offset = 0;
  if (!take(text, 'Z') && !take(text, 'z')) {
    if (text.empty() || (text.front() != '+' && text.front() != '-')) return false;
    const int sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    const auto hours = digits(text, 2);
    if (!hours || *hours > 23 || !take(text, ':')) return false;
    const auto minutes = digits(text, 2);
    if (!minutes || *minutes > 59) return false;
    offset = sign * (*hours * 60 + *minutes);
  }
  // A leap second is the last of a day in UTC.
  constexpr int kDay = 24 * 60;
  return *second < 60 || ((*hour * 60 + *minute - offset) % kDay + kDay) % kDay == kDay - 1;
}

bool date_time(std::string_view text) {
  return date_at(text) && (take(text, 'T') || take(text, 't')) && time_at(text) && text.empty();
}

// RFC 3339, appendix A: units in order, none left out between the first and the last of its group.
bool duration_units(std::string_view& text, std::string_view units) {
  std::size_t last = units.npos;
  while (!text.empty() && digit(text.front())) {
    while (!text.empty() && digit(text.front())) text.remove_prefix(1);
    const auto unit = text.empty() ? units.npos : units.find(text.front());
    if (unit == units.npos || (last != units.npos && unit != last + 1)) return false;
    last = unit;
    text.remove_prefix(1);
  }
  return last != units.npos;
}

bool duration(std::string_view text) {
  if (!take(text, 'P') || text.empty()) return false;
  if (text.back() == 'W') return duration_units(text, "W") && text.empty();
  if (text.front() != 'T' && !duration_units(text, "YMD")) return false;
  if (text.empty()) return true;
  return take(text, 'T') && duration_units(text, "HMS") && text.empty();
}

bool ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    if (part != 0 && !take(text, '.')) return false;
    std::size_t size = 0;
    int value = 0;
    while (size < text.size() && size < 4 && digit(text[size])) value = value * 10 + (text[size++] - '0');
    if (size == 0 || size > 3 || value > 255 || (size > 1 && text[0] == '0')) return false;
    text.remove_prefix(size);
  }
  return text.empty();
}

bool ipv6(std::string_view text) {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
    if (text.empty()) return true;
  }
  for (;;) {
    const auto end = std::min(text.find(':'), text.size());
    const auto group = text.substr(0, end);
    if (end == text.size() && group.find('.') != group.npos) {
      groups += 2;
      if (!ipv4(group)) return false;
    } else {
      ++groups;
      if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, hex)) return false;
    }
    text.remove_prefix(end);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.starts_with(':')) {
      if (std::exchange(gap, true)) return false;
      text.remove_prefix(1);
      if (text.empty()) break;
    } else if (text.empty()) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

bool label(std::string_view text, bool international) {
  if (text.empty() || text.size() > (international ? 252 : 63) || text.front() == '-' || text.back() == '-')
    return false;
  if (text.size() >= 4 && text.substr(2, 2) == "--" && !text.starts_with("xn") && !text.starts_with("XN")) return false;
  return std::ranges::all_of(text, [&](char c) {
    return digit(c) || letter(c) || c == '-' || (international && static_cast<unsigned char>(c) >= 0x80);
  });
}

bool hostname(std::string_view text, bool international) {
  if (text.empty() || text.size() > 253) return false;
  for (;;) {
    const auto dot = text.find('.');
    if (!label(text.substr(0, dot), international)) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool local_part(std::string_view text, bool international) {
  const auto wide = [&](char c) { return international && static_cast<unsigned char>(c) >= 0x80; };
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) {
        ++i;
      } else if (text[i] == '"' || text[i] == '\\' || (!wide(text[i]) && (text[i] < 0x20 || text[i] > 0x7E))) {
        return false;
      }
    }
    return true;
  }
  constexpr std::string_view kSpecial = "!#$%&'*+-/=?^_`{|}~.";
  if (text.empty() || text.front() == '.' || text.back() == '.' || text.find("..") != text.npos) return false;
  return std::ranges::all_of(
      text, [&](char c) { return digit(c) || letter(c) || wide(c) || kSpecial.find(c) != kSpecial.npos; });
}

bool email(std::string_view text, bool international) {
  const auto at = text.rfind('@');
  if (at == text.npos || !local_part(text.substr(0, at), international)) return false;
  std::string_view domain = text.substr(at + 1);
  if (domain.size() > 2 && domain.front() == '[' && domain.back() == ']') {
    domain = domain.substr(1, domain.size() - 2);
    return domain.starts_with("IPv6:") ? ipv6(domain.substr(5)) : ipv4(domain);
  }
  return hostname(domain, international);
}

bool uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !hex(text[i])) return false;
  }
  return true;
}

bool relative_pointer(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && digit(text[size])) ++size;
  if (size == 0 || (size > 1 && text[0] == '0')) return false;
  text.remove_prefix(size);
  return text == "#" || pointer_steps(text).has_value();
}

constexpr auto kNames = std::to_array<std::pair<std::string_view, Format>>({
    {"date-time", Format::date_time},
    {"date", Format::date},
    {"time", Format::time},
    {"duration", Format::duration},
    {"email", Format::email},
    {"idn-email", Format::idn_email},
    {"hostname", Format::hostname},
    {"idn-hostname", Format::idn_hostname},
    {"ipv4", Format::ipv4},
    {"ipv6", Format::ipv6},
    {"uri", Format::uri},
    {"uri-reference", Format::uri_reference},
    {"iri", Format::iri},
    {"iri-reference", Format::iri_reference},
    {"uri-template", Format::uri_template},
    {"uuid", Format::uuid},
    {"json-pointer", Format::json_pointer},
    {"relative-json-pointer", Format::relative_json_pointer},
    {"regex", Format::regex},
});

}  // namespace

Format format_of(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &std::pair<std::string_view, Format>::first);
  return found == kNames.end() ? Format::none : found->second;
}

bool has_format(Format format, std::string_view text) {
  switch (format) {
    case Format::none:
      return true;
    case Format::date_time:
      return date_time(text);
    case Format::date:
      return date_at(text) && text.empty();
    case Format::time:
      return time_at(text) && text.empty();
    case Format::duration:
      return duration(text);
    case Format::email:
      return email(text, false);
    case Format::idn_email:
      return email(text, true);
    case Format::hostname:
      return hostname(text, false);
    case Format::idn_hostname:
      return hostname(text, true);
    case Format::ipv4:
      return ipv4(text);
    case Format::ipv6:
      return ipv6(text);
    case Format::uri:
      return is_uri(text, false, true);
    case Format::uri_reference:
      return is_uri(text, false, false);
    case Format::iri:
      return is_uri(text, true, true);
    case Format::iri_reference:
      return is_uri(text, true, false);
    case Format::uri_template:
      return is_uri_template(text);
    case Format::uuid:
      return uuid(text);
    case Format::json_pointer:
      return pointer_steps(text).has_value();
    case Format::relative_json_pointer:
      return relative_pointer(text);
    case Format::regex:
      return text.size() <= kMaxRegex && ecma_to_pcre2(text).has_value();
  }
  return true;
}

}  // namespace sallyport::schema
