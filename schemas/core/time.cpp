#include "schemas/core/time.hpp"

#include <fmt/format.h>

#include <array>

namespace sallyport {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<Unit, 5> kUnits{{{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::int64_t kMaxDuration = 36'525 * kUnits[0].millis;  // a century: no clock overflows by adding it

// `size` digits at `at`; -1 if they are not.
int digits(std::string_view text, std::size_t at, std::size_t size) {
  int value = 0;
  for (const char c : text.substr(at, size)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::string to_utc(UnixMillis time) {
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds(time)};
  const auto day = floor<days>(point);
  const year_month_day date(day);
  const hh_mm_ss clock(point - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<UnixMillis> from_utc(std::string_view text) {
  using namespace std::chrono;
  const bool fraction = text.size() == 24;
  if (!fraction && text.size() != 20) return std::nullopt;
  const bool form = text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':' &&
                    text.back() == 'Z' && (!fraction || text[19] == '.');
  if (!form) return std::nullopt;
  const int y = digits(text, 0, 4);
  const int m = digits(text, 5, 2);
  const int d = digits(text, 8, 2);
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  const int milli = fraction ? digits(text, 20, 3) : 0;
  if (y < 0 || m < 0 || d < 0 || milli < 0) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  const year_month_day date(year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d)));
  if (!date.ok()) return std::nullopt;
  const auto point = sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + milliseconds(milli);
  return point.time_since_epoch().count();
}

std::optional<Millis> parse_duration(std::string_view text) {
  const auto size = std::min(text.find_first_not_of("0123456789"), text.size());
  if (size == 0 || size > 15 || text[0] == '0') return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text.substr(0, size)) value = value * 10 + (c - '0');
  for (const auto& unit : kUnits) {
    if (text.substr(size) != unit.name) continue;
    if (value > kMaxDuration / unit.millis) return std::nullopt;
    return Millis(value * unit.millis);
  }
  return std::nullopt;
}

std::string to_text(Millis duration) {
  for (const auto& unit : kUnits) {
    if (duration.count() != 0 && duration.count() % unit.millis == 0) {
      return fmt::format("{}{}", duration.count() / unit.millis, unit.name);
    }
  }
  return "0ms";
}

}  // namespace sallyport
