// What a modern request (2026-07-28) says of itself: the envelope in `params._meta`, and the standard headers of its
// POST, which mirror the body (mcp.md 1.3). Used on both legs: read from clients, written to servers. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/mcp/protocol.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway::mcp {

// Views into the message. Absent what was not said.
struct Envelope {
  std::string version;
  json::Value capabilities;  // an object
  json::Value client_info;   // an object
  json::Value log_level;     // one of kLogLevels, as a string
};

// Whether params say a protocol version of their own: only the modern era does, whatever the version's name.
[[nodiscard]] bool claims_modern(json::Value params);
// What is missing or of the wrong kind: -32602, naming the key.
[[nodiscard]] std::expected<Envelope, RpcError> read_envelope(json::Value params);

// `["2026-07-28","2025-11-25",…]`: what this gateway speaks, newest first.
[[nodiscard]] std::string supported_versions();
// -32022 with data.supported and data.requested.
[[nodiscard]] RpcError unsupported_version(std::string_view requested);

// The member of params that `Mcp-Name` mirrors for this method; empty: it has none.
[[nodiscard]] std::string_view name_member(std::string_view method);
// Its value, if it is a string.
[[nodiscard]] std::optional<std::string> name_of(std::string_view method, json::Value params);

// A text as the value of a header: itself, or `=?base64?…?=` of its UTF-8 where a header could not carry it unharmed.
[[nodiscard]] std::string encode_header(std::string_view text);
// nullopt: it claims to be in base64 form and is not (canonical, UTF-8).
[[nodiscard]] std::optional<std::string> decode_header(std::string_view value);

// The type of a result: its `resultType`, or `complete` without one; nullopt: it is no string.
[[nodiscard]] std::optional<std::string> result_type_of(json::Value result);
// A result's bytes with this member in front, which it does not have (see without_era_members).
[[nodiscard]] std::string with_first(std::string result, std::string_view members_raw);
// A result's bytes without what only the modern era has at its top: resultType, ttlMs, cacheScope.
[[nodiscard]] std::string without_era_members(json::Value result);

}  // namespace sallyport::gateway::mcp
