// Ids: a prefix and a ULID (`op_01KB9Z3W9Q8V5M0F7T2N6R4XHC`): sortable by time, 80 random bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport {

using Random80 = std::array<std::uint8_t, 10>;

// `unix_ms` below 2^48. Prefixes in use: op, ap, rc, run, gr, st (stop), se (session).
[[nodiscard]] std::string make_id(std::string_view prefix, std::uint64_t unix_ms, const Random80& random);
[[nodiscard]] bool is_id(std::string_view text, std::string_view prefix);

}  // namespace sallyport
