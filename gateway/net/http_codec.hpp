// Heads and bodies of HTTP/1.1 messages: our own checks first, then Beast's parser. Internal to net; no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/net/http.hpp"

namespace sallyport::gateway {

// Why a message is refused: the status for requests, the sentence for both.
struct HttpFault {
  HttpFault(int code, std::string text) : status(code), message(std::move(text)) {}
  int status;
  std::string message;
};

// Of a request line, besides its target: method, version, spaces.
constexpr std::size_t kRequestLineExtra = 64;

// Where the head ends (after the empty line), or npos. `from`: how far an earlier search came.
[[nodiscard]] std::size_t find_head_end(std::string_view bytes, std::size_t& from);

// The whole text of a head, its empty line included. Everything that parsers read differently is refused: line ends
// other than CRLF, folded lines, space before a colon, control bytes, two Hosts, odd or double lengths and encodings.
[[nodiscard]] std::optional<HttpFault> check_request_head(std::string_view head, const HttpLimits& limits);
[[nodiscard]] std::optional<HttpFault> check_response_head(std::string_view head);

// Reads one message by Beast's parser, which is given bytes that passed the checks above.
class HttpMessageReader {
 public:
  enum class Kind : unsigned char { request, response, response_to_head };
  HttpMessageReader(Kind kind, std::size_t header_limit, std::uint64_t body_limit);
  HttpMessageReader(HttpMessageReader&&) noexcept;
  HttpMessageReader& operator=(HttpMessageReader&&) noexcept;
  ~HttpMessageReader();

  // Takes what it can from the front of `bytes` and erases it there; the body's bytes are appended to body().
  std::optional<HttpFault> put(std::string& bytes);
  std::optional<HttpFault> put_end();  // the peer ended its direction

  [[nodiscard]] bool head_done() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool expects_body() const;  // after the head: more bytes belong to the message
  [[nodiscard]] bool keep_alive() const;    // as the head says
  std::string& body();
  // Parts of the head; moved out.
  HttpRequest take_request();
  [[nodiscard]] int status() const;
  HttpHeaders take_headers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Framing that a message writer adds.
enum class HttpFraming : unsigned char { length, chunked, until_close, none };

// Status line and headers. Fails (internal) on a name or value that cannot be sent.
Result<std::string> response_head(int status, const HttpHeaders& headers, HttpFraming framing, std::size_t length,
                                  bool keep_alive);
Result<std::string> request_head(std::string_view method, std::string_view target, std::string_view host,
                                 const HttpHeaders& headers, std::size_t length, bool has_body);
[[nodiscard]] std::string chunk(std::string_view data);  // empty: ""
constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace sallyport::gateway
