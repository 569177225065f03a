// URLs of servers and listeners: http, https and unix. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"

namespace sallyport::gateway {

struct Url {
  enum class Scheme : std::uint8_t { http, https, unix_socket };
  Scheme scheme = Scheme::http;
  std::string host;  // lower case, no brackets, no trailing dot; empty for unix
  std::uint16_t port = 0;
  std::string socket_path;   // of unix
  std::string target = "/";  // path and query as written, never empty

  [[nodiscard]] std::string origin() const;  // "https://host:8443" (port left out if it is the default), "unix:/path"
  [[nodiscard]] std::string host_header() const;  // "host:8443"; "localhost" for unix
  [[nodiscard]] std::string text() const;         // origin and target (unix: "unix:/path")
};

// `http://…`, `https://…`, `unix:/path/of.sock`. Refused: user info, fragment, port 0, other schemes, an empty host.
Result<Url> parse_url(std::string_view text);

// 127.0.0.0/8, ::1, `localhost`, names under `.localhost`. `host` without brackets.
[[nodiscard]] bool is_loopback(std::string_view host);
[[nodiscard]] bool is_ip_address(std::string_view host);  // numeric, IPv4 or IPv6, without brackets

}  // namespace sallyport::gateway
