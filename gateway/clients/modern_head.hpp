// What a POST is: of which era, and what is wrong with it by the rules of the modern one (mcp.md 1.3), in their order:
// era, envelope, method, headers, capabilities. The body decides; headers are only compared with it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gateway/mcp/modern.hpp"
#include "gateway/net/http.hpp"

namespace sallyport::gateway {

struct LegacyEntry {};
struct ModernEntry {
  mcp::Envelope envelope;  // views into the message; empty for a notification
};
struct RefusedEntry {
  int status = 400;
  mcp::RpcError error;
};
using Entry = std::variant<LegacyEntry, ModernEntry, RefusedEntry>;

// Of one message (no batch). Headers absent: the transport has none (lines), and nothing is compared.
[[nodiscard]] Entry read_entry(const mcp::Message& message, const HttpHeaders* headers);

// Whether the modern era has this method from clients.
[[nodiscard]] bool is_modern_method(std::string_view method);

}  // namespace sallyport::gateway
