// ByteStream over descriptors: sockets, pipes, our own stdin and stdout.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <climits>
#include <csignal>
#include <mutex>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/descriptor.hpp"

namespace sallyport::gateway {
namespace {

// A peer that is always ready would otherwise keep the loop to itself.
constexpr int kTurnsBeforeYield = 32;

bool is_socket(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

std::optional<std::uint32_t> unix_peer_uid(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.ss_family != AF_UNIX) return {};
  ucred credentials{};
  length = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  if (credentials.pid == 0) return {};  // a socket pair without a peer
  return credentials.uid;
}

// SIGPIPE would end the process when a child closes its stdin; errors are values here. (Children get the default back.)
void ignore_sigpipe() {
  static std::once_flag once;
  std::call_once(once, [] { std::signal(SIGPIPE, SIG_IGN); });
}

class FdStream final : public ByteStream {
 public:
  enum class Mode : unsigned char { ours, shared };  // shared: O_NONBLOCK is not set on the open file

  FdStream(asio::any_io_executor loop, int read_fd, int write_fd, std::string peer, Mode mode,
           std::shared_ptr<void> slot)
      : loop_(std::move(loop)),
        peer_(std::move(peer)),
        mode_(mode),
        read_is_socket_(is_socket(read_fd)),
        write_is_socket_(is_socket(write_fd)),
        uid_(read_is_socket_ ? unix_peer_uid(read_fd) : std::nullopt),
        reader_(std::make_shared<Descriptor>(loop_, read_fd)),
        writer_(read_fd == write_fd ? reader_ : std::make_shared<Descriptor>(loop_, write_fd)),
        slot_(std::move(slot)) {}
  ~FdStream() override { close(); }

  asio::awaitable<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override {
    const std::shared_ptr<Descriptor> descriptor = reader_;
    if (++read_turns_ >= kTurnsBeforeYield) {
      read_turns_ = 0;
      co_await asio::post(loop_, asio::use_awaitable);
    }
    bool wait_first = mode_ == Mode::shared;
    for (;;) {
      if (wait_first) {
        read_turns_ = 0;
        Status ready = co_await descriptor->wait(Descriptor::Ready::read, deadline);
        if (!ready) co_return failed("reading from", std::move(ready.error()));
      }
      if (descriptor->fd() < 0) co_return failed("reading from", closed_error());
      const ssize_t got = read_is_socket_ ? ::recv(descriptor->fd(), into.data(), into.size(), MSG_DONTWAIT)
                                          : ::read(descriptor->fd(), into.data(), into.size());
      if (got >= 0) co_return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return failed("reading from", io_error(errno));
      wait_first = true;
    }
  }

  asio::awaitable<Status> write_all(std::string_view bytes, Deadline deadline) override {
    const std::shared_ptr<Descriptor> descriptor = writer_;
    if (++write_turns_ >= kTurnsBeforeYield) {
      write_turns_ = 0;
      co_await asio::post(loop_, asio::use_awaitable);
    }
    bool wait_first = mode_ == Mode::shared;
    while (!bytes.empty()) {
      if (wait_first) {
        Status ready = co_await descriptor->wait(Descriptor::Ready::write, deadline);
        if (!ready) co_return failed("writing to", std::move(ready.error()));
      }
      if (descriptor->fd() < 0) co_return failed("writing to", closed_error());
      const ssize_t took = write_once(descriptor->fd(), bytes);
      if (took >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(took));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return failed("writing to", io_error(errno));
      wait_first = true;
    }
    co_return Status{};
  }

  asio::awaitable<Status> shutdown_write(Deadline /*deadline*/) override {
    if (writer_->fd() < 0) co_return failed("ending", closed_error());
    if (!write_is_socket_) {
      writer_->close();
    } else if (::shutdown(writer_->fd(), SHUT_WR) != 0 && errno != ENOTCONN) {
      co_return failed("ending", io_error(errno));
    }
    co_return Status{};
  }

  void close() noexcept override {
    reader_->close();
    writer_->close();
    slot_.reset();
  }
  [[nodiscard]] bool is_open() const override { return reader_->fd() >= 0; }

  [[nodiscard]] bool quiet() override {
    if (!is_open()) return false;
    if (!read_is_socket_) {
      pollfd ready{reader_->fd(), POLLIN, 0};
      return ::poll(&ready, 1, 0) == 0;
    }
    char byte = 0;
    return ::recv(reader_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  [[nodiscard]] asio::any_io_executor loop() const override { return loop_; }
  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const override { return uid_; }

 private:
  ssize_t write_once(int fd, std::string_view bytes) const {
    if (write_is_socket_) return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    // A blocking pipe that is writable takes PIPE_BUF bytes at once, but might block on more.
    const std::size_t size = mode_ == Mode::shared ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    return ::write(fd, bytes.data(), size);
  }
  static Error io_error(int error) { return {ErrorCode::io, system_error_text(error)}; }
  static Error closed_error() { return {ErrorCode::cancelled, "the connection was closed"}; }
  [[nodiscard]] std::unexpected<Error> failed(std::string_view doing, Error error) const {
    error.message = fmt::format("{} {}: {}", doing, peer_, error.message);
    return fail(std::move(error));
  }

  asio::any_io_executor loop_;
  std::string peer_;
  Mode mode_;
  bool read_is_socket_;
  bool write_is_socket_;
  std::optional<std::uint32_t> uid_;
  std::shared_ptr<Descriptor> reader_;
  std::shared_ptr<Descriptor> writer_;
  std::shared_ptr<void> slot_;
  int read_turns_ = 0;
  int write_turns_ = 0;
};

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

std::unique_ptr<ByteStream> adopt_fds(asio::any_io_executor loop, int read_fd, int write_fd, std::string peer) {
  ignore_sigpipe();
  set_nonblocking(read_fd);
  if (write_fd != read_fd) set_nonblocking(write_fd);
  return std::make_unique<FdStream>(std::move(loop), read_fd, write_fd, std::move(peer), FdStream::Mode::ours, nullptr);
}

std::unique_ptr<ByteStream> adopt_socket(asio::any_io_executor loop, int fd, std::string peer,
                                         std::shared_ptr<void> slot) {
  return std::make_unique<FdStream>(std::move(loop), fd, fd, std::move(peer), FdStream::Mode::ours, std::move(slot));
}

Result<std::unique_ptr<ByteStream>> adopt_stdio(asio::any_io_executor loop) {
  ignore_sigpipe();
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in < 0) return fail(ErrorCode::io, "stdin: " + system_error_text(errno));
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0) {
    const int error = errno;
    ::close(in);
    return fail(ErrorCode::io, "stdout: " + system_error_text(error));
  }
  return std::make_unique<FdStream>(std::move(loop), in, out, "stdio", FdStream::Mode::shared, nullptr);
}

void tune_tcp(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 120'000);
}

}  // namespace sallyport::gateway
