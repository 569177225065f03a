// HttpFront: streamable HTTP for clients at `/mcp` and `/servers/<id>/mcp` (design section 8): POST, the GET stream and
// DELETE of the legacy versions. Takes connections from whoever accepts them. On the loop.
//
// - Order of checks: Host and Origin (403), credential (401), path (404), method (405), type and Accept (415, 406),
// body
//   (413, 400), then by era. Legacy: session (400, 404), version (400). Modern: modern_head.hpp's ladder, then
//   `Mcp-Param-*` (400). Refusals carry a JSON-RPC error.
// - An answer is one JSON object if nothing came before it; it becomes an event stream with the first note of its
//   request, or after `stream_after`, so that the client sees that its held call is alive.
// - A legacy client that goes away does not cancel its request: the request ends by itself, and its answer counts as
//   undelivered. A modern client that goes away does.
#pragma once

#include <functional>
#include <memory>

#include "gateway/clients/authenticate.hpp"
#include "gateway/clients/sessions.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

struct HttpFrontOptions {
  ListenSettings listen;  // address, allowed hosts and origins
  LimitSettings limits;
  std::function<bool(std::string_view)> knows_server;  // whether `/servers/<id>/mcp` exists
  Millis stream_after{5'000};
  Millis keep_alive{15'000};  // a comment on a stream that was silent so long
  std::size_t connections = 8192;
  HttpLimits http;  // of a connection; body_bytes and connections are set from the above
};

class HttpFront {
 public:
  // `sessions` outlives this.
  HttpFront(asio::any_io_executor loop, Sessions& sessions, std::shared_ptr<const Authenticator> authenticator,
            HttpFrontOptions options);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  void accept(std::unique_ptr<ByteStream> stream);                             // serves it in the background
  void set_authenticator(std::shared_ptr<const Authenticator> authenticator);  // for whoever comes from now on
  // Refuses new requests (503), ends the streams, finishes or cancels what is open (Sessions::drain), closes the
  // connections. True: nothing was cut. Whoever accepts connections stops doing so before.
  asio::awaitable<bool> shutdown(Deadline deadline);
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sallyport::gateway
