// Wall-clock times as they stand in receipts, and durations as they stand in our files. Pure: nobody here reads a
// clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport {

using UnixMillis = std::int64_t;  // milliseconds since 1970-01-01T00:00:00Z
using Millis = std::chrono::milliseconds;

[[nodiscard]] std::string to_utc(UnixMillis time);                          // 2026-11-30T09:14:02.118Z
[[nodiscard]] std::optional<UnixMillis> from_utc(std::string_view text);    // that form, milliseconds optional
[[nodiscard]] std::optional<Millis> parse_duration(std::string_view text);  // "300ms" "45s" "10m" "24h" "7d"; positive
[[nodiscard]] std::string to_text(Millis duration);                         // the shortest such form

}  // namespace sallyport
