#include "gateway/mcp/modern.hpp"

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"

namespace sallyport::gateway::mcp {
namespace {

constexpr std::string_view kEncodedBegin = "=?base64?";
constexpr std::string_view kEncodedEnd = "?=";
constexpr std::array<std::string_view, 3> kEraMembers{"resultType", "ttlMs", "cacheScope"};

std::unexpected<RpcError> bad_envelope(std::string_view key, std::string_view problem) {
  RpcError error{code::kInvalidParams, "Invalid _meta: " + std::string(key) + " " + std::string(problem), {}};
  if (problem == "is missing") error.message = "Missing required _meta: " + std::string(key);
  error.data = json::Writer().begin_object().member("key", key).member("problem", problem).end_object().take();
  return std::unexpected(std::move(error));
}

bool is_field_character(char c) { return c == '\t' || (c >= ' ' && c <= '~'); }
bool is_space(char c) { return c == ' ' || c == '\t'; }

}  // namespace

bool claims_modern(json::Value params) { return static_cast<bool>(params.find("_meta").find(meta::kProtocolVersion)); }

std::expected<Envelope, RpcError> read_envelope(json::Value params) {
  const json::Value own = params.find("_meta");
  if (own && !own.is_object()) return bad_envelope("_meta", "must be an object");
  if (const auto mark = own ? own.ambiguity() : std::nullopt; mark && mark->what != json::Ambiguity::unsafe_number) {
    return bad_envelope(visible(mark->pointer), "can be read in two ways");
  }
  const json::Value version = own.find(meta::kProtocolVersion);
  const json::Value capabilities = own.find(meta::kClientCapabilities);
  const json::Value info = own.find(meta::kClientInfo);
  const json::Value level = own.find(meta::kLogLevel);
  if (!version) return bad_envelope(meta::kProtocolVersion, "is missing");
  if (!version.is_string()) return bad_envelope(meta::kProtocolVersion, "must be a string");
  if (!capabilities) return bad_envelope(meta::kClientCapabilities, "is missing");
  if (!capabilities.is_object()) return bad_envelope(meta::kClientCapabilities, "must be an object");
  if (info && !info.is_object()) return bad_envelope(meta::kClientInfo, "must be an object");
  const auto is_level = [&](std::string_view name) { return level.equals(name); };
  if (level && std::ranges::none_of(kLogLevels, is_level)) {
    return bad_envelope(meta::kLogLevel, "must be debug, info, notice, warning, error, critical, alert or emergency");
  }
  return Envelope{version.string(), capabilities, info, level};
}

std::string supported_versions() {
  json::Writer out;
  out.begin_array();
  for (const std::string_view version : kModernVersions) out.value(version);
  for (const std::string_view version : kLegacyVersions) out.value(version);
  return out.end_array().take();
}

RpcError unsupported_version(std::string_view requested) {
  json::Writer data;
  data.begin_object().key("supported").raw(supported_versions()).member("requested", requested).end_object();
  return {code::kUnsupportedVersion, "Unsupported protocol version", data.take()};
}

std::string_view name_member(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") return "taskId";
  return {};
}

std::optional<std::string> name_of(std::string_view method, json::Value params) {
  const std::string_view member = name_member(method);
  const json::Value name = member.empty() ? json::Value() : params.find(member);
  if (!name.is_string()) return std::nullopt;
  return name.string();
}

std::string encode_header(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, is_field_character) && !is_space(text.front()) &&
                     !is_space(text.back()) && !(text.starts_with(kEncodedBegin) && text.ends_with(kEncodedEnd));
  if (plain) return std::string(text);
  return std::string(kEncodedBegin) + to_base64(text) + std::string(kEncodedEnd);
}

std::optional<std::string> decode_header(std::string_view value) {
  if (!value.starts_with(kEncodedBegin) || !value.ends_with(kEncodedEnd)) return std::string(value);
  if (value.size() < kEncodedBegin.size() + kEncodedEnd.size()) return std::nullopt;
  value.remove_prefix(kEncodedBegin.size());
  value.remove_suffix(kEncodedEnd.size());
  auto text = from_base64(value);
  if (!text || !valid_utf8(*text)) return std::nullopt;
  return text;
}

std::optional<std::string> result_type_of(json::Value result) {
  const json::Value type = result.find("resultType");
  if (!type) return std::string(result_type::kComplete);
  if (!type.is_string()) return std::nullopt;
  return type.string();
}

std::string with_first(std::string result, std::string_view members_raw) {
  const std::size_t inside = result.find_first_not_of(" \t\r\n", 1);
  const bool empty = inside == std::string::npos || result[inside] == '}';
  std::string first(members_raw);
  if (!empty) first += ',';
  return result.insert(1, first);
}

std::string without_era_members(json::Value result) { return without_members(result, kEraMembers); }

}  // namespace sallyport::gateway::mcp
