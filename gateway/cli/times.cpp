#include "gateway/cli/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr std::array<std::string_view, 7> kDays{"sunday",   "monday", "tuesday", "wednesday",
                                                "thursday", "friday", "saturday"};

std::tm local(UnixMillis time) {
  const auto seconds = static_cast<std::time_t>(time >= 0 ? time / 1000 : (time - 999) / 1000);
  std::tm out{};
  ::localtime_r(&seconds, &out);
  return out;
}

UnixMillis from_local(std::tm parts) {
  parts.tm_isdst = -1;
  return static_cast<UnixMillis>(::mktime(&parts)) * 1000;
}

std::tm midnight(UnixMillis now, int days_before) {
  std::tm parts = local(now);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday -= days_before;
  return parts;
}

// The next number of exactly so many digits; takes it off.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  int out = 0;
  if (text.size() < count) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, out);
  if (error != std::errc() || end != text.data() + count || text[0] == '-') return std::nullopt;
  text.remove_prefix(count);
  return out;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// `09:30`, `09:30:15`, `09:30:15.250`
bool clock_time(std::string_view& text, std::tm& parts, int& millis) {
  const auto hour = digits(text, 2);
  if (!hour || !take(text, ':')) return false;
  const auto minute = digits(text, 2);
  if (!minute) return false;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = 0;
  if (take(text, ':')) {
    const auto second = digits(text, 2);
    if (!second) return false;
    parts.tm_sec = *second;
    if (take(text, '.')) {
      const auto fraction = digits(text, 3);
      if (!fraction) return false;
      millis = *fraction;
    }
  }
  return parts.tm_hour < 24 && parts.tm_min < 60 && parts.tm_sec < 60;
}

// The offset in minutes of `Z` or `+01:00` at the end.
std::optional<int> offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const int sign = text.starts_with('+') ? 1 : text.starts_with('-') ? -1 : 0;
  if (sign == 0) return std::nullopt;
  text.remove_prefix(1);
  const auto hours = digits(text, 2);
  take(text, ':');
  const auto minutes = digits(text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 14 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

std::optional<UnixMillis> date_and_time(std::string_view text) {
  std::tm parts{};
  int millis = 0;
  const auto year = digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = digits(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return std::nullopt;
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  if ((take(text, 'T') || take(text, ' ')) && !clock_time(text, parts, millis)) return std::nullopt;
  const std::tm asked = parts;
  if (text.empty()) {
    const UnixMillis time = from_local(parts);
    return local(time).tm_mday == asked.tm_mday ? std::optional(time + millis) : std::nullopt;
  }
  const auto minutes = offset(text);
  if (!minutes) return std::nullopt;
  const auto seconds = static_cast<UnixMillis>(::timegm(&parts));
  if (parts.tm_mday != asked.tm_mday) return std::nullopt;  // there is no such day in that month
  return (seconds - *minutes * 60) * 1000 + millis;
}

}  // namespace

Result<UnixMillis> parse_moment(std::string_view text, UnixMillis now) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "now") return now;
  if (lower == "today") return from_local(midnight(now, 0));
  if (lower == "yesterday") return from_local(midnight(now, 1));
  for (int day = 0; day < 7; ++day) {
    if (lower.size() < 3 || !kDays[static_cast<std::size_t>(day)].starts_with(lower)) continue;
    const int before = (local(now).tm_wday - day + 7) % 7;
    return from_local(midnight(now, before));
  }
  if (const auto ago = parse_duration(lower)) return now - ago->count();
  if (const auto moment = date_and_time(text)) return *moment;
  std::string_view rest = text;
  std::tm parts = midnight(now, 0);
  int millis = 0;
  if (clock_time(rest, parts, millis) && rest.empty()) {
    const UnixMillis time = from_local(parts) + millis;
    if (time <= now) return time;
    parts.tm_mday -= 1;
    return from_local(parts) + millis;
  }
  return fail(ErrorCode::invalid, fmt::format("`{}` is no time: write 2h, today, tuesday, 09:30, 2026-11-30, "
                                              "\"2026-11-30 09:30\" or 2026-11-30T09:30Z",
                                              visible(text)));
}

Result<UnixMillis> parse_coming(std::string_view text, UnixMillis now) {
  if (const auto after = parse_duration(text); after && after->count() > 0) return now + after->count();
  auto moment = parse_moment(text, now);
  std::string_view rest = text;
  std::tm parts = midnight(now, 0);
  int millis = 0;
  if (moment && *moment <= now && clock_time(rest, parts, millis) && rest.empty()) {
    moment = from_local(parts) + millis;
    parts.tm_mday += 1;
    if (*moment <= now) moment = from_local(parts) + millis;
  }
  if (moment && *moment <= now)
    return fail(ErrorCode::invalid,
                fmt::format("`{}` is not to come: write 2h, 17:30 or 2026-11-30T17:30Z", visible(text)));
  return moment;
}

std::string local_and_utc(UnixMillis time) {
  const std::tm here = local(time);
  const long minutes = here.tm_gmtoff / 60;
  const UnixMillis millis = (time % 1000 + 1000) % 1000;
  const std::string utc = to_utc(time);
  if (minutes == 0) return utc;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} {}{:02}:{:02} ({})", here.tm_year + 1900,
                     here.tm_mon + 1, here.tm_mday, here.tm_hour, here.tm_min, here.tm_sec, millis,
                     minutes < 0 ? '-' : '+', std::abs(minutes) / 60, std::abs(minutes) % 60, utc.substr(11));
}

}  // namespace sallyport::gateway::cli
