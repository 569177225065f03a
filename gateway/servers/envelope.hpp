// What requests to modern servers (2026-07-28) say of themselves, and what their answers tell of the era (mcp.md 1.3,
// 2.2). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/mcp/param_headers.hpp"
#include "gateway/ports/permitted_call.hpp"
#include "gateway/ports/server_link.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::servers {

// Members of `_meta` that say who asks; raw.
struct Envelope {
  std::string version;       // of this program
  std::string capabilities;  // raw object: what the client that this is for can be asked
  std::string log_level;     // empty: no log messages
};
[[nodiscard]] std::string envelope_members(const Envelope& envelope);

// What both the trust file lets the server ask (`passes`, raw) and the client can be asked (raw, may be empty).
[[nodiscard]] std::string common_capabilities(const std::string& passes, const std::string& client);

// Forwarded members of `_meta`, without those that describe the client's own leg. Raw, no braces.
[[nodiscard]] std::string passed_meta(std::string_view members);

// Params of a request: `params_raw` (an object, or empty), its `_meta` with the envelope first.
[[nodiscard]] Result<std::string> modern_params(std::string_view params_raw, const Envelope& envelope,
                                                std::string_view token, bool wants_progress);
// Of a permitted call: the permitted bytes.
[[nodiscard]] std::string modern_call_params(const PermittedCall& permit, const Envelope& envelope,
                                             std::string_view token);

using HeaderList = std::vector<std::pair<std::string, std::string>>;
// The headers that mirror the body of a request of this method. `params`: what is sent; `declared`: of the called tool.
[[nodiscard]] HeaderList standard_headers(std::string_view method, json::Value params,
                                          const std::vector<mcp::ParamHeader>& declared);

// What the answer to the first, modern request shows of the server.
enum class EraProof : std::uint8_t {
  modern,   // it speaks a modern version that we speak
  foreign,  // it speaks only versions that we do not
  legacy,   // it answered, and not as a modern server does
  nothing,  // no answer, or one that any server could give (401, 403, 5xx)
};
[[nodiscard]] EraProof judge_discover(const ServerAnswer& answer);
[[nodiscard]] Result<ServerInfo> read_discover(const ServerAnswer& answer);

// How long an answer stays fresh; nullopt: it does not say.
[[nodiscard]] std::optional<Millis> ttl_of(json::Value result);

}  // namespace sallyport::gateway::servers
