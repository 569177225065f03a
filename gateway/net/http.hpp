// HTTP/1.1 values, independent of any library. Names of headers compare without case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

class HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}
  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;  // the first
  [[nodiscard]] std::vector<std::string_view> all(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return count(name) > 0; }
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  void set(std::string name, std::string value);  // replaces all of that name
  void erase(std::string_view name);
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method;  // as sent; case matters
  std::string target;  // origin form, as sent
  std::string path;    // of the target, as sent (not decoded)
  std::string query;   // after `?`, as sent
  bool http_1_0 = false;
  HttpHeaders headers;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;  // Content-Length, Date and Connection are added
  std::string body;
};

// Bounds of a server's connection.
struct HttpLimits {
  std::size_t header_bytes = 32U << 10;  // request line and headers: 431
  std::size_t header_fields = 100;       // 431
  std::size_t target_bytes = 8U << 10;   // 414
  std::size_t body_bytes = 4U << 20;     // 413
  std::size_t read_ahead = 64U << 10;    // bytes taken in while a handler runs
  std::size_t connections = 512;         // more are answered 503 and closed
  Millis header_wait{10'000};            // from the first byte of a request: 408
  Millis body_wait{30'000};              // for the whole body: 408
  Millis idle_wait{75'000};              // between requests: closed
  Millis write_wait{30'000};             // for each 64 KiB that the peer has to take
};

// `type/subtype` of a Content-Type or of one media range, lower case, without parameters.
[[nodiscard]] std::string media_type(std::string_view value);
// Whether an Accept header (absent: everything) takes `type/subtype` (lower case); q=0 excludes.
[[nodiscard]] bool accepts(const HttpHeaders& headers, std::string_view type);
[[nodiscard]] std::string_view reason_phrase(int status);
[[nodiscard]] bool is_token(std::string_view text);         // RFC 9110 token: header names, methods
[[nodiscard]] bool is_header_value(std::string_view text);  // visible ASCII, space and tab; no CR, LF, NUL
// The token after `Bearer `; nullopt: no such header, several of them, another scheme.
[[nodiscard]] std::optional<std::string_view> bearer_token(const HttpHeaders& headers);

// Who may talk to a listener from a browser, and under which names it answers (against DNS rebinding).
struct OriginRules {
  std::vector<std::string> hosts;    // allowed Host values, "name" (any port) or "name:port", lower case
  std::vector<std::string> origins;  // allowed Origin values, exact, besides the same origin as an allowed Host
  bool loopback_names = false;       // localhost, 127.0.0.1 and [::1] with any port are hosts too
};
// Absent Origin: allowed. `null`, another origin, a Host that is not listed, several of either: forbidden (403).
Status check_origin(const HttpHeaders& headers, const OriginRules& rules);

}  // namespace sallyport::gateway
