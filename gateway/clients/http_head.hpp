// What the head of an HTTP request to the client listener says, and the answers to what is wrong with it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/net/http.hpp"
#include "gateway/ports/inbound.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

// As clients know it, for "this session is not known"; no number of ours, but those who recover look for it.
inline constexpr int kSessionNotFound = -32001;

// `/mcp`, `/servers/<id>/mcp` (percent-encoded), each with or without a slash at the end; nullopt: no such path.
[[nodiscard]] std::optional<Mount> parse_mount(std::string_view path);

// Every refusal carries a JSON-RPC error: clients that recover by themselves look for one.
[[nodiscard]] HttpResponse refusal(int status, int code, std::string_view message, std::string_view id = "null");

[[nodiscard]] HttpResponse refusal(int status, const mcp::RpcError& error, std::string_view id);

struct Accepts {
  bool json = false;
  bool events = false;
};
[[nodiscard]] Accepts accepted_by(const HttpHeaders& headers);

// Of a POST: Content-Type (415), Content-Encoding (415), Accept (406), headers that must not occur twice (400).
[[nodiscard]] std::optional<HttpResponse> check_post_head(const HttpHeaders& headers);
// `MCP-Protocol-Version`, if it is there, names a legacy version (400).
[[nodiscard]] std::optional<HttpResponse> check_version(const HttpHeaders& headers, std::string_view id);

// Under which names this listener answers: its address, the loopback names where it listens there, allowed_hosts.
[[nodiscard]] OriginRules origin_rules(const ListenSettings& settings);

// For browsers on an allowed Origin; nothing without one. Call after check_origin.
void add_cors(const HttpHeaders& request, HttpHeaders& response);
[[nodiscard]] bool is_preflight(const HttpRequest& request);
[[nodiscard]] HttpResponse preflight_answer(const HttpRequest& request);

}  // namespace sallyport::gateway
