// Paths and URLs, read so strictly that every reader must agree; whatever one could read otherwise is unreadable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::policy {

// An absolute path as its components, lexically (`.` and empty ones dropped; no symlink is seen). nullopt: relative, or
// with `..`, NUL, backslash, `~`, `%`, a scheme, or a character whose compatibility form is one of these.
[[nodiscard]] std::optional<std::vector<std::string>> path_components(std::string_view path);
[[nodiscard]] bool is_within(const std::vector<std::string>& path, const std::vector<std::string>& folder);

struct HostPort {
  std::string host;                   // lower case; IPv6 in its canonical text, in brackets
  std::optional<std::uint16_t> port;  // of a URL: always there (the scheme's, where unsaid)
  bool default_port = false;          // of a URL: its scheme's
};
// Of an http, https, ws or wss URL that RFC 3986 and WHATWG read alike: ASCII, `//`, no user, no odd host.
[[nodiscard]] std::optional<HostPort> url_host(std::string_view url);
// An operand of `hostIn`: `api.example.com`, `10.0.0.1:8080`, `[::1]:80`.
[[nodiscard]] std::optional<HostPort> host_operand(std::string_view text);

}  // namespace sallyport::policy
