// Versions and eras (design section 8), and the names that their messages and heads use. Legacy is negotiated with
// `initialize`; modern (2026-07-28) has neither that nor sessions: each request says all of itself (modern.hpp).
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace sallyport::gateway::mcp {

enum class Era : unsigned char { legacy, modern };

// Newest first. `initialize` never yields a modern version.
inline constexpr std::array<std::string_view, 4> kLegacyVersions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                 "2024-11-05"};
inline constexpr std::array<std::string_view, 1> kModernVersions{"2026-07-28"};
inline constexpr std::string_view kModernVersion = kModernVersions.front();

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
[[nodiscard]] constexpr bool is_modern(std::string_view version) {
  for (const auto known : kModernVersions) {
    if (known == version) return true;
  }
  return false;
}
[[nodiscard]] constexpr bool has_batches(std::string_view version) { return version == "2025-03-26"; }

inline constexpr std::array<std::string_view, 8> kLogLevels{"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};

// Reserved `_meta` keys of the modern era.
namespace meta {
inline constexpr std::string_view kProtocolVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kReservedPrefix = "io.modelcontextprotocol/";
inline constexpr std::string_view kProgressToken = "progressToken";
// W3C trace context, carried on as it came (both eras).
inline constexpr std::array<std::string_view, 3> kTrace{"traceparent", "tracestate", "baggage"};
}  // namespace meta

namespace header {
inline constexpr std::string_view kVersion = "MCP-Protocol-Version";
inline constexpr std::string_view kMethod = "Mcp-Method";
inline constexpr std::string_view kName = "Mcp-Name";
inline constexpr std::string_view kParamPrefix = "Mcp-Param-";
}  // namespace header

// `resultType` of modern results; a result of a legacy server has none and is complete.
namespace result_type {
inline constexpr std::string_view kComplete = "complete";
inline constexpr std::string_view kInputRequired = "input_required";
inline constexpr std::string_view kTask = "task";
}  // namespace result_type

namespace extension {
inline constexpr std::string_view kTasks = "io.modelcontextprotocol/tasks";
inline constexpr std::string_view kApps = "io.modelcontextprotocol/ui";
}  // namespace extension

// `_meta` keys of ours (design section 9).
inline constexpr std::string_view kCallMeta = "dev.sallyport/call";
inline constexpr std::string_view kEffectMeta = "dev.sallyport/effect";
inline constexpr std::string_view kKeyMeta = "dev.sallyport/idempotencyKey";
inline constexpr std::string_view kOwnPrefix = "dev.sallyport/";

}  // namespace sallyport::gateway::mcp
