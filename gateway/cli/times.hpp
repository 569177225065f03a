// Times as people write and read them. The local zone is that of the process (TZ).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::cli {

// `2h` (before now), `today`, `yesterday`, `tuesday` (the last one, its midnight), `09:30` (the last one),
// `2026-11-30`, `2026-11-30 09:30[:15]`: local time, unless `Z` or `+01:00` follows. Error: invalid, with these forms.
[[nodiscard]] Result<UnixMillis> parse_moment(std::string_view text, UnixMillis now);

// The same forms of a time that is to come: `2h` from now on, `09:30` the next one. Error: also one that has passed.
[[nodiscard]] Result<UnixMillis> parse_coming(std::string_view text, UnixMillis now);

// `2026-11-30 10:14:02.118 +01:00 (09:14:02.118Z)`: local time and, where it differs, UTC.
[[nodiscard]] std::string local_and_utc(UnixMillis time);

}  // namespace sallyport::gateway::cli
