// Outgoing connections. All errors are RetryClass::not_sent and ErrorCode::unavailable or timeout, and name the target.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/tls.hpp"
#include "gateway/net/url.hpp"

namespace sallyport::gateway {

// Resolves the name and tries its addresses in order, each with a fair share of the time that is left. TCP_NODELAY and
// TCP keep-alive are set.
asio::awaitable<Result<std::unique_ptr<ByteStream>>> connect_tcp(asio::any_io_executor loop, std::string host,
                                                                 std::uint16_t port, Deadline deadline);
// The peer's uid is known afterwards (peer_uid()).
asio::awaitable<Result<std::unique_ptr<ByteStream>>> connect_unix(asio::any_io_executor loop, std::string path,
                                                                  Deadline deadline);
// By the URL's scheme: http, https (`tls` needed; verified against the URL's host) or unix.
asio::awaitable<Result<std::unique_ptr<ByteStream>>> connect_url(asio::any_io_executor loop, Url url,
                                                                 std::shared_ptr<TlsClientContext> tls,
                                                                 Deadline deadline);

}  // namespace sallyport::gateway
