// Accepts connections on a TCP address or a Unix socket and hands each to a callback as a ByteStream (after the TLS
// handshake, where there is a certificate). Lives on the loop.
//
// Bounds: at `max_connections` open ones it stops accepting until one is gone (the kernel's backlog holds the rest);
// when descriptors run out it pauses for a moment and goes on. A handshake has `handshake_wait`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/tls.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

struct ListenOptions {
  std::string name = "listener";  // for logs
  std::size_t max_connections = 1024;
  Millis handshake_wait{10'000};
  std::shared_ptr<TlsServerContext> tls;  // null: plain
};

class Listener {
 public:
  using OnAccept = std::function<void(std::unique_ptr<ByteStream>)>;

  // `address` is a numeric IPv4 or IPv6 address; port 0: any free one. Errors name address and port: conflict (in use),
  // forbidden (not allowed), invalid (no such address).
  static Result<std::unique_ptr<Listener>> tcp(asio::any_io_executor loop, std::string address, std::uint16_t port,
                                               ListenOptions options = {});
  // Mode 0600. A stale socket (nobody answers) is replaced; a live one is a conflict; another file is never removed.
  // The path is unlinked at close, if it is still ours.
  static Result<std::unique_ptr<Listener>> unix_socket(asio::any_io_executor loop, std::string path,
                                                       ListenOptions options = {});
  virtual ~Listener() = default;  // closes
  virtual void start(OnAccept on_accept) = 0;
  virtual void close() noexcept = 0;                           // accepts no more; accepted connections live on
  [[nodiscard]] virtual std::uint16_t bound_port() const = 0;  // 0 for Unix sockets
  [[nodiscard]] virtual std::string address() const = 0;       // "127.0.0.1:8720", "[::1]:8720", "unix:/path"
  [[nodiscard]] virtual std::size_t connections() const = 0;   // open now
};

}  // namespace sallyport::gateway
