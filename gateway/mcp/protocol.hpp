// Versions and eras (design section 8). Legacy is negotiated with `initialize`; modern (2026-07-28) has no sessions and
// gets its own codec beside the legacy one.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace sallyport::gateway::mcp {

enum class Era : unsigned char { legacy, modern };

// Newest first. `initialize` never yields a modern version.
inline constexpr std::array<std::string_view, 4> kLegacyVersions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                 "2024-11-05"};
inline constexpr std::string_view kModernVersion = "2026-07-28";

// What an `initialize` that asks for `requested` is answered with: that version, or the newest legacy one.
[[nodiscard]] constexpr std::string_view negotiate(std::string_view requested) {
  for (const auto version : kLegacyVersions) {
    if (version == requested) return version;
  }
  return kLegacyVersions.front();
}
[[nodiscard]] constexpr bool is_legacy(std::string_view version) {
  for (const auto known : kLegacyVersions) {
    if (known == version) return true;
  }
  return false;
}
[[nodiscard]] constexpr bool has_batches(std::string_view version) { return version == "2025-03-26"; }

// `_meta` keys of ours (design section 9).
inline constexpr std::string_view kCallMeta = "dev.sallyport/call";
inline constexpr std::string_view kEffectMeta = "dev.sallyport/effect";
inline constexpr std::string_view kKeyMeta = "dev.sallyport/idempotencyKey";
inline constexpr std::string_view kOwnPrefix = "dev.sallyport/";

}  // namespace sallyport::gateway::mcp
