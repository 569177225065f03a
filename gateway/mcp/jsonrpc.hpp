// JSON-RPC 2.0 as MCP uses it (mcp.md 1.3): messages are read as views into their Document and written from raw slices,
// so that ids keep their exact token and arguments and results their bytes (promise 10).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::gateway::mcp {

// Standard numbers; own numbers lie outside -32768..-32000.
namespace code {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;         // legacy era only
inline constexpr int kUrlElicitationRequired = -32042;   // legacy era only
inline constexpr int kHeaderMismatch = -32020;           // modern era only: headers and body disagree
inline constexpr int kMissingClientCapability = -32021;  // modern era only: data.requiredCapabilities
inline constexpr int kUnsupportedVersion = -32022;       // modern era only: data.supported
inline constexpr int kRefused = 8720;  // a refusal of a read, prompt or completion; data = dev.sallyport/call
}  // namespace code

struct RpcError {
  std::int64_t code = code::kInternalError;  // a peer's may be any integer
  std::string message;
  std::string data;  // raw JSON, or empty
};

// A message that came. `id` is the raw token (`7`, `"a"`, `12345678901234567890`, `null`), empty for notifications.
struct Message {
  enum class Kind : unsigned char { request, notification, response, error_response };
  Kind kind = Kind::notification;
  std::shared_ptr<const json::Document> document;  // shared: the call that came of it keeps the bytes alive
  std::string_view id;
  std::string method;
  json::Value params;  // absent if there were none; else an object (an array is refused)
  json::Value result;  // of a response
  json::Value error;   // of an error response: {code, message, data?}
};

// One text of a peer: one message, or (2025-03-26) a batch. A fault names the error to answer with and the id, if one
// was readable. In a batch each element stands for itself: those that are no messages, and requests that share an id
// (their answers could not be told apart), are faults beside the messages.
struct IncomingFault {
  RpcError error;
  std::string id = "null";  // raw token
};
struct Incoming {
  std::vector<Message> messages;
  std::vector<IncomingFault> faults;  // of a batch
  bool batch = false;
};
using IncomingResult = std::expected<Incoming, IncomingFault>;

// What an id means: two tokens for the same string or integer (`"a"` and `"\u0061"`) have one key, 1 and "1" two.
[[nodiscard]] std::string id_key(std::string_view token);

[[nodiscard]] IncomingResult parse_incoming(std::string text, const json::Limits& limits, bool allow_batch);

// Writers. Every `raw` argument is JSON text; `id` a raw token.
[[nodiscard]] std::string request(std::string_view id, std::string_view method, std::string_view params_raw);
[[nodiscard]] std::string notification(std::string_view method,
                                       std::string_view params_raw);  // params_raw may be empty
[[nodiscard]] std::string response(std::string_view id, std::string_view result_raw);
[[nodiscard]] std::string error_response(std::string_view id, const RpcError& error);

// Copies an object's bytes and puts a member first (replacing one of that name, if there is one).
[[nodiscard]] std::string splice_member(json::Value object, std::string_view name, std::string_view value_raw);

// The object's bytes with another value of its (first) member of that name; without one, it is put first.
[[nodiscard]] std::string replace_value(json::Value object, std::string_view name, std::string_view value_raw);
// The object's bytes without its members of these names.
[[nodiscard]] std::string without_members(json::Value object, std::span<const std::string_view> names);
// A `_meta` object (or none) with `own` first under `key`, and without what else in it claims to be ours.
// Of an item of a list: as the server sent it, without the `dev.sallyport/` keys of its `_meta`.
[[nodiscard]] std::string without_own_meta(json::Value object);
[[nodiscard]] std::string with_own_meta(json::Value meta, std::string_view key, std::string_view own);

// A result's bytes without what only its era has at its top, and with `own` as first member of its `_meta` (made if
// missing) under `dev.sallyport/call`; every other `dev.sallyport/` key of the server is removed (design section 9).
// `own` empty: only removes.
[[nodiscard]] std::string splice_call_meta(json::Value result, std::string_view own);

}  // namespace sallyport::gateway::mcp
