// ByteStream: a reliable stream of bytes in two directions, over whatever carries it (TCP, TLS, Unix socket, a pair of
// pipes, memory). HTTP, SSE and framing are written once, on this interface.
//
// Thread rule: lives on the loop. One read and one write may be under way at the same time, not two of a kind.
// Lifetime: the caller keeps the stream and the buffer alive until the awaited operation returned; close() makes both
// return soon, with ErrorCode::cancelled. The destructor closes.
// Errors: timeout (the deadline passed; a read may be tried again, a write may not: part of it may be out), cancelled
// (close() was called), io (the peer or the operating system ended it). Messages name the peer.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/deadline.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

namespace asio = boost::asio;

// What a TLS peer proved to be, after its certificate was verified.
struct TlsPeer {
  std::string subject;  // RFC 2253 form
  std::string issuer;
  std::vector<std::string> dns_names;  // subjectAltName, as they stand
  std::string spki_sha256;             // lower-case hex, SHA-256 of the DER SubjectPublicKeyInfo
  std::string protocol;                // "TLSv1.3"
};

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // At least one byte, or 0: the peer ended its direction in good order. `into` must not be empty.
  virtual asio::awaitable<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) = 0;
  // Success: the transport took every byte (which is not: the peer read them).
  virtual asio::awaitable<Status> write_all(std::string_view bytes, Deadline deadline) = 0;
  // Ends our direction; reading goes on. On TLS it sends close_notify.
  virtual asio::awaitable<Status> shutdown_write(Deadline deadline) = 0;
  virtual void close() noexcept = 0;
  [[nodiscard]] virtual bool is_open() const = 0;

  // True if nothing was received that has not been read, and the peer has not ended: an idle connection that looks
  // alive. Never waits. Must not be called while a read is under way.
  [[nodiscard]] virtual bool quiet() = 0;

  [[nodiscard]] virtual asio::any_io_executor loop() const = 0;
  [[nodiscard]] virtual const std::string& peer() const = 0;  // for logs: "127.0.0.1:5123", "unix:uid 1000", "pipe"
  [[nodiscard]] virtual std::optional<std::uint32_t> peer_uid() const { return std::nullopt; }  // Unix sockets
  [[nodiscard]] virtual const TlsPeer* tls_peer() const { return nullptr; }                     // client side of TLS
  [[nodiscard]] virtual bool is_tls() const { return false; }
};

// Owns both descriptors (they may be equal: a socket). Sets O_NONBLOCK and CLOEXEC. For pipes to children.
std::unique_ptr<ByteStream> adopt_fds(asio::any_io_executor loop, int read_fd, int write_fd, std::string peer);

// Our own stdin and stdout (duplicated): their open file is shared with whoever started us, so O_NONBLOCK is not set;
// writes go out in pieces that a ready pipe takes whole.
Result<std::unique_ptr<ByteStream>> adopt_stdio(asio::any_io_executor loop);

}  // namespace sallyport::gateway
