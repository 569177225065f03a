// HTTP/1.1 client with a pool of kept-alive connections per origin. It follows no redirect, uses no proxy, asks for no
// compression, stores no cookie and repeats nothing. Lives on the loop.
//
// What may have happened: an error is RetryClass::not_sent only if no byte of the request was given to a connection.
// Before a pooled connection is used it is checked to be quiet (still open, nothing received); what fails after the
// first byte was written is reported as `never`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/http.hpp"
#include "gateway/net/tls.hpp"
#include "gateway/net/url.hpp"

namespace sallyport::gateway {

struct HttpClientOptions {
  std::size_t connections = 32;      // open at the same time per origin, streams included; callers wait for a free one
  std::size_t idle_connections = 8;  // kept per origin
  std::size_t origins = 64;
  Millis idle_keep{4'000};                // a connection idle for longer is not used again
  Millis connect_wait{10'000};            // resolve, connect and handshake, within the caller's deadline
  std::size_t header_bytes = 64U << 10;   // of an answer
  std::shared_ptr<TlsClientContext> tls;  // null: the system's store, loaded at the first https request
  // After the handshake, before anything is sent: an error refuses the peer (identity by key or name).
  std::function<Status(const TlsPeer&)> verify_peer;
  // Instead of connect_url; for tests and special transports.
  std::function<asio::awaitable<Result<std::unique_ptr<ByteStream>>>(Url, Deadline)> connect;
};

struct HttpClientRequest {
  std::string method = "POST";
  Url url;
  HttpHeaders headers;  // Host, Content-Length, Connection and Accept-Encoding are set by the client
  std::string body;
  // Asked once, on the loop, right before the first byte is handed to a connection; false: the request is given up
  // (cancelled, not_sent). Empty: yes.
  std::function<bool()> may_write;
  // Told, right after may_write, how to give up waiting for the head: that closes the connection, and send() fails.
  // Does nothing once send() has returned. Empty: nobody needs it.
  std::function<void(std::function<void()> abort)> take_abort;
  // Asked when the deadline has passed before the head of the answer, and again every second: true waits on. Empty: no.
  std::function<bool()> go_on;
};

// The head of an answer and its body as it comes. Destroyed before the end of the body, the connection is closed.
class HttpClientResponse {
 public:
  struct State;
  explicit HttpClientResponse(std::unique_ptr<State> state);
  HttpClientResponse(HttpClientResponse&&) noexcept;
  HttpClientResponse& operator=(HttpClientResponse&&) noexcept;
  ~HttpClientResponse();

  [[nodiscard]] int status() const;
  [[nodiscard]] const HttpHeaders& headers() const;
  [[nodiscard]] const TlsPeer* tls_peer() const;
  [[nodiscard]] bool complete() const;  // the whole body was read
  // The next bytes of the body; empty: its end. An end of the connection inside a body is a protocol error; timeout may
  // be tried again.
  asio::awaitable<Result<std::string>> read_some(Deadline deadline);
  // All that is left; limit if it is more than `max_bytes` (the connection is then closed).
  asio::awaitable<Result<std::string>> read_all(std::size_t max_bytes, Deadline deadline);
  void close();  // gives up the rest

 private:
  std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  explicit HttpClient(asio::any_io_executor loop, HttpClientOptions options = {});
  ~HttpClient();  // closes idle connections; responses in hand live on
  // Completes when the head of the (final) answer is here. `deadline` covers waiting for a connection, connecting,
  // writing and the head; the body has its own. Errors: source server; invalid (bad header or URL; not_sent).
  asio::awaitable<Result<HttpClientResponse>> send(HttpClientRequest request, Deadline deadline);
  void close_idle();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sallyport::gateway
