#include "gateway/servers/params.hpp"

#include <fmt/format.h>

#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/servers/envelope.hpp"
#include "gateway/servers/exchange.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxParams = 64U << 20;

// Of `_meta`, what only modern clients say speaks of their leg (`passed_meta`).
bool speaks_of_a_leg(std::string_view members) { return members.contains(mcp::meta::kReservedPrefix); }

}  // namespace

std::string bounded_text(json::Value object, std::string_view name, std::size_t limit) {
  const json::Value value = object ? object.find(name) : json::Value();
  if (!value || !value.is_string()) return {};
  std::string text = value.string();
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  text.resize(end);
  return text;
}

std::string call_params(const PermittedCall& permit, std::string_view token) {
  std::string out = "{";
  out.reserve(permit.params_members().size() + permit.meta_members().size() + 64);
  out += permit.params_members();
  std::string passed = permit.meta_members();
  if (speaks_of_a_leg(passed)) passed = passed_meta(passed);
  if (permit.wants_progress() || !passed.empty()) {
    out += R"(,"_meta":{)";
    out += passed;
    if (permit.wants_progress()) {
      if (!passed.empty()) out += ',';
      out.append(R"("progressToken":)").append(token);
    }
    out += '}';
  }
  return out += '}';
}

Result<std::string> relay_params(std::string_view params_raw, std::string_view token, bool wants_progress) {
  const std::string own = fmt::format(R"({{"progressToken":{}}})", token);
  if (params_raw.empty()) return wants_progress ? fmt::format(R"({{"_meta":{}}})", own) : std::string();
  auto document = json::Document::parse(std::string(params_raw), {.bytes = kMaxParams, .depth = 1000});
  if (!document) return fail_in("params", std::move(document.error()));
  const json::Value params = document->root();
  if (!params.is_object()) return fail(ErrorCode::invalid, "params must be an object");
  const json::Value meta = params.find("_meta");
  if (meta && !meta.is_object()) return fail(ErrorCode::invalid, "`_meta` must be an object");
  const bool has_token = meta && meta.find("progressToken");
  if (!wants_progress && !has_token) return std::string(params_raw);
  return mcp::splice_member(params, "_meta", meta ? mcp::splice_member(meta, "progressToken", token) : own);
}

std::string initialize_params(std::string_view protocol_version, std::string_view own_version,
                              std::string_view capabilities_raw) {
  return fmt::format(R"({{"protocolVersion":{},"capabilities":{},"clientInfo":{{"name":"sallyport","version":{}}}}})",
                     quote(protocol_version), capabilities_raw, quote(own_version));
}

Result<ServerInfo> read_initialize(const ServerAnswer& answer) {
  if (answer.kind != ServerAnswer::Kind::result) {
    return fail(answer.timed_out ? ErrorCode::timeout : ErrorCode::unavailable,
                "no answer to `initialize`: " + describe_failure(answer), ErrorSource::server, RetryClass::not_sent);
  }
  const json::Value version = answer.result.find("protocolVersion");
  const json::Value capabilities = answer.result.find("capabilities");
  if (!version || !version.is_string()) {
    return fail(ErrorCode::protocol, "its answer to `initialize` has no `protocolVersion`", ErrorSource::server,
                RetryClass::not_sent);
  }
  ServerInfo info;
  info.protocol_version = bounded_text(answer.result, "protocolVersion", kMaxServerName);
  if (!mcp::is_legacy(info.protocol_version)) {
    return fail(ErrorCode::unsupported,
                fmt::format("it speaks protocol version {}, which is not supported", quote(info.protocol_version)),
                ErrorSource::server, RetryClass::not_sent);
  }
  const json::Value server = answer.result.find("serverInfo");
  info.name = bounded_text(server, "name", kMaxServerName);
  info.version = bounded_text(server, "version", kMaxServerName);
  info.instructions = bounded_text(answer.result, "instructions", kMaxInstructions);
  info.capabilities_raw = capabilities && capabilities.is_object() ? std::string(capabilities.raw()) : "{}";
  return info;
}

namespace {

ServerAnswer made_answer(std::string text, bool good) {
  ServerAnswer answer = lost_answer("no answer could be made");
  auto document = json::Document::parse(std::move(text));
  if (!document) return answer;
  answer.kind = good ? ServerAnswer::Kind::result : ServerAnswer::Kind::error;
  answer.document = std::make_shared<const json::Document>(std::move(*document));
  (good ? answer.result : answer.error) = answer.document->root();
  answer.detail.clear();
  return answer;
}

}  // namespace

ServerAnswer local_result(std::string_view result_raw) { return made_answer(std::string(result_raw), true); }

ServerAnswer local_error(int code, std::string_view message) {
  return made_answer(fmt::format(R"({{"code":{},"message":{}}})", code, quote(message)), false);
}

std::string cancelled_params(std::string_view id, std::string_view reason) {
  return fmt::format(R"({{"requestId":{},"reason":{}}})", id, quote(reason));
}

std::string describe_failure(const ServerAnswer& answer) {
  if (answer.kind == ServerAnswer::Kind::error && answer.error) {
    const std::string number(answer.error.find("code") ? answer.error.find("code").raw() : "?");
    return fmt::format("error {}: {}", number, visible(bounded_text(answer.error, "message", 500)));
  }
  return answer.detail.empty() ? "no reason is known" : answer.detail;
}

}  // namespace sallyport::gateway::servers
