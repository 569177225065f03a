#include "gateway/clients/http_head.hpp"

#include <algorithm>
#include <set>

#include "gateway/mcp/protocol.hpp"
#include "gateway/net/url.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kOnce[] = {"Mcp-Session-Id", "MCP-Protocol-Version", "Idempotency-Key",
                                      "Last-Event-ID",  "Mcp-Method",           "Mcp-Name"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = from_hex(lower(text.substr(i + 1, 2)));
    if (!byte || byte->size() != 1) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

// The value of `charset`, without quotes, lower case; nullopt: no such parameter.
std::optional<std::string> charset_of(std::string_view content_type) {
  const std::string text = lower(content_type);
  std::size_t at = text.find(';');
  while (at != std::string::npos) {
    const std::size_t end = text.find(';', at + 1);
    std::string parameter = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    std::erase_if(parameter, [](char c) { return c == ' ' || c == '\t' || c == '"'; });
    if (parameter.starts_with("charset=")) return parameter.substr(8);
    at = end;
  }
  return std::nullopt;
}

// The `Mcp-Param-*` headers that a browser asks to be let send: there is no naming them all.
std::string asked_params(const HttpRequest& request) {
  std::string out;
  std::string_view left = request.headers.get("Access-Control-Request-Headers").value_or("");
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(','), left.size());
    std::string name = lower(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    std::erase(name, ' ');
    if (name.starts_with("mcp-param-") && is_token(name)) out += ", " + name;
  }
  return out;
}

}  // namespace

std::optional<Mount> parse_mount(std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/mcp") return Mount{};
  constexpr std::string_view kPrefix = "/servers/";
  constexpr std::string_view kSuffix = "/mcp";
  if (!path.starts_with(kPrefix) || !path.ends_with(kSuffix) || path.size() <= kPrefix.size() + kSuffix.size()) {
    return std::nullopt;
  }
  const std::string_view segment = path.substr(kPrefix.size(), path.size() - kPrefix.size() - kSuffix.size());
  if (segment.contains('/')) return std::nullopt;
  auto id = percent_decode(segment);
  if (!id || id->empty()) return std::nullopt;
  return Mount{std::move(*id)};
}

HttpResponse refusal(int status, int code, std::string_view message, std::string_view id) {
  return refusal(status, mcp::RpcError{code, std::string(message), {}}, id);
}

HttpResponse refusal(int status, const mcp::RpcError& error, std::string_view id) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = mcp::error_response(id, error);
  return response;
}

Accepts accepted_by(const HttpHeaders& headers) {
  return {accepts(headers, "application/json"), accepts(headers, "text/event-stream")};
}

std::optional<HttpResponse> check_post_head(const HttpHeaders& headers) {
  using mcp::code::kInvalidRequest;
  const auto type = headers.get("Content-Type");
  if (headers.count("Content-Type") != 1 || media_type(*type) != "application/json") {
    return refusal(415, kInvalidRequest, "Content-Type must be application/json");
  }
  const auto charset = charset_of(*type);
  if (charset && *charset != "utf-8" && *charset != "utf8") {
    return refusal(415, kInvalidRequest, "the only charset of JSON is utf-8");
  }
  for (const std::string_view encoding : headers.all("Content-Encoding")) {
    if (encoding.empty() || lower(encoding) == "identity") continue;
    HttpResponse response =
        refusal(415, kInvalidRequest, "encoded bodies are not taken: send it without Content-Encoding");
    response.headers.add("Accept-Encoding", "identity");
    return response;
  }
  for (const std::string_view name : kOnce) {
    if (headers.count(name) > 1) return refusal(400, kInvalidRequest, std::string(name) + " occurs twice");
  }
  std::set<std::string> params;
  for (const auto& [name, value] : headers.fields()) {
    std::string key = lower(name);
    if (key.starts_with("mcp-param-") && !params.insert(std::move(key)).second) {
      return refusal(400, kInvalidRequest, name + " occurs twice");
    }
  }
  const Accepts accepts = accepted_by(headers);
  if (!accepts.json && !accepts.events) {
    return refusal(406, kInvalidRequest, "Accept must take application/json or text/event-stream");
  }
  return std::nullopt;
}

std::optional<HttpResponse> check_version(const HttpHeaders& headers, std::string_view id) {
  const auto version = headers.get("MCP-Protocol-Version");
  if (!version || mcp::is_legacy(*version)) return std::nullopt;
  std::string known;
  for (const std::string_view one : mcp::kLegacyVersions) known.append(known.empty() ? "" : ", ").append(one);
  return refusal(400, mcp::code::kInvalidRequest,
                 "the MCP-Protocol-Version " + quote(visible(*version)) + " is not supported; supported are " + known,
                 id);
}

OriginRules origin_rules(const ListenSettings& settings) {
  OriginRules rules;
  const bool any = settings.address == "0.0.0.0" || settings.address == "::";
  rules.loopback_names = any || is_loopback(settings.address);
  if (!any)
    rules.hosts.push_back(settings.address.contains(':') ? "[" + lower(settings.address) + "]"
                                                         : lower(settings.address));
  for (const std::string& host : settings.allowed_hosts) rules.hosts.push_back(lower(host));
  rules.origins = settings.allowed_origins;
  return rules;
}

void add_cors(const HttpHeaders& request, HttpHeaders& response) {
  const auto origin = request.get("Origin");
  if (!origin || !is_header_value(*origin)) return;
  response.set("Access-Control-Allow-Origin", std::string(*origin));
  response.set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
  response.set("Vary", "Origin");
}

bool is_preflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && request.headers.has("Origin") &&
         request.headers.has("Access-Control-Request-Method");
}

HttpResponse preflight_answer(const HttpRequest& request) {
  HttpResponse response;
  response.status = 204;
  response.headers.add("Access-Control-Allow-Methods", "POST, GET, DELETE");
  response.headers.add("Access-Control-Allow-Headers",
                       "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID, "
                       "Idempotency-Key, Mcp-Method, Mcp-Name" +
                           asked_params(request));
  response.headers.add("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace sallyport::gateway
