#include "gateway/net/connect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "gateway/net/address.hpp"
#include "gateway/net/descriptor.hpp"

namespace sallyport::gateway {
namespace {

using Stream = std::unique_ptr<ByteStream>;
using asio::ip::tcp;

std::unexpected<Error> no_connection(ErrorCode code, std::string_view target, std::string_view why) {
  return fail(code, fmt::format("cannot connect to {}: {}", target, why), ErrorSource::server, RetryClass::not_sent);
}

// getaddrinfo has no deadline: at ours the answer is given up, the system's look-up ends when it ends.
asio::awaitable<Result<std::vector<SocketAddress>>> resolve(asio::any_io_executor loop, std::string host,
                                                            std::uint16_t port, Deadline deadline) {
  std::vector<SocketAddress> out;
  if (std::optional<SocketAddress> address = numeric_address(host, port)) {
    out.push_back(*address);
    co_return out;
  }
  auto resolver = std::make_shared<tcp::resolver>(loop);
  asio::steady_timer timer(loop);
  timer.expires_at(deadline.when());
  auto timed_out = std::make_shared<bool>(false);
  timer.async_wait([resolver, timed_out](const boost::system::error_code& error) {
    if (error) return;
    *timed_out = true;
    resolver->cancel();
  });
  boost::system::error_code error;
  const tcp::resolver::results_type results = co_await resolver->async_resolve(
      host, std::to_string(port), tcp::resolver::numeric_service, asio::redirect_error(asio::use_awaitable, error));
  timer.cancel();
  const std::string target = fmt::format("{}:{}", host, port);
  if (*timed_out) co_return no_connection(ErrorCode::timeout, target, "the name was not resolved in time");
  if (error) co_return no_connection(ErrorCode::unavailable, target, error.message());
  for (const auto& result : results) {
    SocketAddress address;
    const tcp::endpoint endpoint = result.endpoint();
    std::memcpy(&address.storage, endpoint.data(), endpoint.size());
    address.length = static_cast<socklen_t>(endpoint.size());
    out.push_back(address);
  }
  co_return out;
}

// One connected, non-blocking socket; the error is errno's, or ETIMEDOUT at the deadline.
asio::awaitable<std::expected<int, int>> connect_one(asio::any_io_executor loop, SocketAddress address,
                                                     Deadline deadline) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return std::unexpected(errno);
  Descriptor descriptor(loop, fd);  // closes on every way out
  if (::connect(fd, address.get(), address.length) != 0) {
    if (errno != EINPROGRESS) co_return std::unexpected(errno);
    const Status ready = co_await descriptor.wait(Descriptor::Ready::write, deadline);
    if (!ready) co_return std::unexpected(ETIMEDOUT);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) co_return std::unexpected(error);
  }
  const int connected = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (connected < 0) co_return std::unexpected(errno);
  co_return connected;
}

}  // namespace

asio::awaitable<Result<Stream>> connect_tcp(asio::any_io_executor loop, std::string host, std::uint16_t port,
                                            Deadline deadline) {
  const Result<std::vector<SocketAddress>> addresses = co_await resolve(loop, host, port, deadline);
  if (!addresses) co_return fail(addresses.error());
  const std::string target = fmt::format("{}:{}", host, port);
  int last_error = EADDRNOTAVAIL;
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const SocketAddress& address = (*addresses)[i];
    const auto share = deadline.is_never() ? Deadline::Clock::duration(std::chrono::seconds(30))
                                           : deadline.left() / static_cast<int>(addresses->size() - i);
    const std::expected<int, int> connected =
        co_await connect_one(loop, address, earlier(deadline, Deadline::after(share)));
    if (connected) {
      tune_tcp(*connected);
      co_return adopt_socket(loop, *connected, to_text(address));
    }
    last_error = connected.error();
    if (deadline.passed()) break;
  }
  const ErrorCode code = last_error == ETIMEDOUT ? ErrorCode::timeout : ErrorCode::unavailable;
  co_return no_connection(code, target, system_error_text(last_error));
}

asio::awaitable<Result<Stream>> connect_unix(asio::any_io_executor loop, std::string path, Deadline deadline) {
  const Result<SocketAddress> address = unix_address(path);
  if (!address) co_return no_connection(ErrorCode::unavailable, "unix:" + path, address.error().message);
  const std::expected<int, int> connected = co_await connect_one(loop, *address, deadline);
  if (!connected) co_return no_connection(ErrorCode::unavailable, "unix:" + path, system_error_text(connected.error()));
  co_return adopt_socket(loop, *connected, "unix:" + path);
}

asio::awaitable<Result<Stream>> connect_url(asio::any_io_executor loop, Url url, std::shared_ptr<TlsClientContext> tls,
                                            Deadline deadline) {
  if (url.scheme == Url::Scheme::unix_socket) {
    Result<Stream> stream = co_await connect_unix(loop, url.socket_path, deadline);
    co_return stream;
  }
  Result<Stream> stream = co_await connect_tcp(loop, url.host, url.port, deadline);
  if (!stream || url.scheme == Url::Scheme::http) co_return stream;
  if (!tls) co_return no_connection(ErrorCode::internal, url.origin(), "there is no TLS context");
  Result<Stream> secured = co_await tls_connect(std::move(*stream), std::move(tls), url.host, deadline);
  if (!secured) secured.error().source = ErrorSource::server;
  co_return secured;
}

}  // namespace sallyport::gateway
