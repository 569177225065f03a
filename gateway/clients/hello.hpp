// The first line each way on `client.sock` (design section 12): a bridge says who it is and which server it wants, the
// owner says yes or no; after that the connection is MCP over stdio. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::gateway {

inline constexpr std::size_t kMaxHelloBytes = 16U << 10;

struct Hello {
  std::optional<Secret> token;  // of a client; without one the peer's user counts
  std::string server;           // empty: all
};

// {"sallyport":1,"token"?:…,"server"?:…}
[[nodiscard]] std::string hello_line(const Hello& hello);
[[nodiscard]] Result<Hello> parse_hello(std::string line);
// {"ok":true} or {"error":"…"}
[[nodiscard]] std::string hello_answer(const Status& status);
[[nodiscard]] Status parse_hello_answer(std::string line);

}  // namespace sallyport::gateway
