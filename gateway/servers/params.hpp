// Parameters of requests to servers, put together from raw slices, and what servers answer to `initialize`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/ports/permitted_call.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway::servers {

inline constexpr std::size_t kMaxInstructions = 64U << 10;
inline constexpr std::size_t kMaxServerName = 200;
// A string member, cut to a length; empty if there is none.
[[nodiscard]] std::string bounded_text(json::Value object, std::string_view name, std::size_t limit);

// Of a permitted call: the permitted bytes, with `_meta` of the forwarded members and our own progress token.
[[nodiscard]] std::string call_params(const PermittedCall& permit, std::string_view token);

// Of any other request: the same text, except that a progress token of the client's is replaced by ours, and that there
// is one if `wants_progress`. Invalid: `params_raw` is no JSON object.
[[nodiscard]] Result<std::string> relay_params(std::string_view params_raw, std::string_view token,
                                               bool wants_progress);

[[nodiscard]] std::string initialize_params(std::string_view protocol_version, std::string_view own_version,
                                            std::string_view capabilities_raw);
// Errors name what is wrong with the server's answer.
[[nodiscard]] Result<ServerInfo> read_initialize(const ServerAnswer& answer);

[[nodiscard]] std::string cancelled_params(std::string_view id, std::string_view reason);

// One sentence on an answer that is no result, for errors and logs.
[[nodiscard]] std::string describe_failure(const ServerAnswer& answer);

}  // namespace sallyport::gateway::servers
