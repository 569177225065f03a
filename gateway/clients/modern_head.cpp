#include "gateway/clients/modern_head.hpp"

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"

namespace sallyport::gateway {
namespace {

using mcp::code::kHeaderMismatch;
using mcp::code::kInvalidParams;
using mcp::code::kMethodNotFound;
using mcp::code::kMissingClientCapability;

constexpr std::array<std::string_view, 13> kMethods{
    "server/discover",     "tools/list",     "tools/call",     "prompts/list",
    "prompts/get",         "resources/list", "resources/read", "completion/complete",
    "tasks/get",           "tasks/update",   "tasks/cancel",   "resources/templates/list",
    "subscriptions/listen"};
// What clients sent until 2025-11-25 as the first thing: they do not know what they are told of the modern era.
constexpr std::string_view kInitialize = "initialize";

std::string_view trimmed(std::string_view value) {
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return value;
}

std::optional<std::string_view> header(const HttpHeaders* headers, std::string_view name) {
  const auto value = headers == nullptr ? std::nullopt : headers->get(name);
  return value ? std::optional(trimmed(*value)) : std::nullopt;
}

RefusedEntry mismatch(std::string words) {
  return {400, {kHeaderMismatch, "Header mismatch: " + std::move(words), {}}};
}

// The version and the method, as far as headers name them at all.
std::optional<RefusedEntry> disagreement(const mcp::Message& message, const HttpHeaders* headers,
                                         std::string_view version) {
  const auto named = header(headers, mcp::header::kVersion);
  if (named && !version.empty() && *named != version) {
    return mismatch("MCP-Protocol-Version " + quote(visible(*named)) + " does not match the body's " +
                    quote(visible(version)));
  }
  const auto method = header(headers, mcp::header::kMethod);
  if (method && *method != message.method) {
    return mismatch("Mcp-Method " + quote(visible(*method)) + " does not match the body's " +
                    quote(visible(message.method)));
  }
  return std::nullopt;
}

// That what must be there is there, and that `Mcp-Name` says what the body says.
std::optional<RefusedEntry> check_headers(const mcp::Message& message, const HttpHeaders* headers) {
  if (headers == nullptr) return std::nullopt;
  for (const std::string_view name : {mcp::header::kVersion, mcp::header::kMethod}) {
    if (!headers->has(name)) return mismatch("the header " + std::string(name) + " is missing");
  }
  const auto name = mcp::name_of(message.method, message.params);
  if (!name) return std::nullopt;  // a body without it is the method's to refuse
  const auto sent = header(headers, mcp::header::kName);
  if (!sent) return mismatch("the header Mcp-Name is missing");
  const auto decoded = mcp::decode_header(*sent);
  if (!decoded) return mismatch("Mcp-Name is not in the base64 form that it claims");
  if (*decoded != *name) {
    return mismatch("Mcp-Name " + quote(visible(*decoded)) + " does not match the body's " + quote(visible(*name)));
  }
  return std::nullopt;
}

std::optional<RefusedEntry> check_capabilities(std::string_view method, json::Value capabilities) {
  if (!method.starts_with("tasks/") || capabilities.find("extensions").find(mcp::extension::kTasks).is_object()) {
    return std::nullopt;
  }
  json::Writer data;
  data.begin_object().key("requiredCapabilities").begin_object().key("extensions").begin_object();
  data.key(mcp::extension::kTasks).raw("{}").end_object().end_object().end_object();
  return RefusedEntry{400,
                      {kMissingClientCapability,
                       "Tasks need the client capability " + std::string(mcp::extension::kTasks), data.take()}};
}

Entry read_request(const mcp::Message& message, const HttpHeaders* headers) {
  const auto envelope = mcp::read_envelope(message.params);
  if (!envelope) return RefusedEntry{400, envelope.error()};
  if (auto wrong = disagreement(message, headers, envelope->version)) return std::move(*wrong);
  if (!mcp::is_modern(envelope->version)) return RefusedEntry{400, mcp::unsupported_version(envelope->version)};
  if (!is_modern_method(message.method)) {
    return RefusedEntry{404, {kMethodNotFound, "Method not found: " + visible(message.method.substr(0, 100)), {}}};
  }
  if (auto wrong = check_headers(message, headers)) return std::move(*wrong);
  if (auto wrong = check_capabilities(message.method, envelope->capabilities)) return std::move(*wrong);
  return ModernEntry{*envelope};
}

}  // namespace

bool is_modern_method(std::string_view method) { return std::ranges::find(kMethods, method) != kMethods.end(); }

Entry read_entry(const mcp::Message& message, const HttpHeaders* headers) {
  using Kind = mcp::Message::Kind;
  const auto named = header(headers, mcp::header::kVersion);
  const bool modern_header = named && mcp::is_modern(*named);
  const bool claims = mcp::claims_modern(message.params);
  if (message.kind == Kind::notification) {
    if (!claims && !modern_header) return LegacyEntry{};
    const json::Value version = message.params.find("_meta").find(mcp::meta::kProtocolVersion);
    if (claims && !version.is_string()) {
      return RefusedEntry{400, {kInvalidParams, "Invalid _meta: the protocol version must be a string", {}}};
    }
    if (auto wrong = disagreement(message, headers, claims ? version.string() : std::string()))
      return std::move(*wrong);
    return ModernEntry{};
  }
  if (message.kind != Kind::request) return LegacyEntry{};
  if (message.method == kInitialize) {
    // A handshake, unless all of it says that it is none: then the modern era has no such method.
    const auto envelope = mcp::read_envelope(message.params);
    const bool handshake = !claims || !envelope || !mcp::is_modern(envelope->version);
    if (handshake && modern_header)
      return mismatch("`initialize` is not part of the protocol version that the header names");
    if (handshake) return LegacyEntry{};
  }
  if (claims || modern_header) return read_request(message, headers);
  return LegacyEntry{};
}

}  // namespace sallyport::gateway
