#include "gateway/net/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "gateway/base/log.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/address.hpp"
#include "gateway/net/descriptor.hpp"

namespace sallyport::gateway {
namespace {

constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kPause{100};  // when descriptors or memory have run out

// How many connections are open; their streams hold a slot each, and the state with it.
struct Slots {
  explicit Slots(asio::any_io_executor loop) : freed(std::move(loop)) {}
  std::size_t open = 0;
  Signal freed;
};

std::shared_ptr<void> take_slot(const std::shared_ptr<Slots>& slots) {
  ++slots->open;
  return {slots.get(), [slots](void*) {
            --slots->open;
            slots->freed.notify();
          }};
}

struct State {
  State(const asio::any_io_executor& executor, int fd, ListenOptions wanted)
      : loop(executor),
        descriptor(executor, fd),
        options(std::move(wanted)),
        slots(std::make_shared<Slots>(executor)) {}
  asio::any_io_executor loop;
  Descriptor descriptor;
  ListenOptions options;
  std::shared_ptr<Slots> slots;
  Listener::OnAccept on_accept;
  bool closed = false;
};

std::string peer_text(const SocketAddress& address) { return address.family() == AF_UNIX ? "unix" : to_text(address); }

asio::awaitable<void> secure(std::shared_ptr<State> state, std::unique_ptr<ByteStream> plain) {
  const std::string peer = plain->peer();
  const Deadline deadline = Deadline::after(state->options.handshake_wait);
  Result<std::unique_ptr<ByteStream>> secured = co_await tls_accept(std::move(plain), state->options.tls, deadline);
  if (!secured) {
    log::debug("net.handshake_failed",
               {{"listener", state->options.name}, {"peer", peer}, {"reason", secured.error().message}});
    co_return;
  }
  if (!state->closed) state->on_accept(std::move(*secured));
}

bool exhausted(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

asio::awaitable<void> accept_all(std::shared_ptr<State> state, std::shared_ptr<TaskGroup> tasks) {
  bool complained = false;
  while (!state->closed) {
    if (state->slots->open >= state->options.max_connections) {
      log::warning("net.connections_full", {{"listener", state->options.name}, {"open", state->slots->open}});
      while (!state->closed && state->slots->open >= state->options.max_connections) {
        co_await state->slots->freed.wait(Deadline::never());
      }
      continue;
    }
    SocketAddress address;
    address.length = sizeof address.storage;
    const int fd = ::accept4(state->descriptor.fd(), address.get(), &address.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int error = errno;
    if (fd >= 0) {
      complained = false;
      if (address.family() != AF_UNIX) tune_tcp(fd);
      std::unique_ptr<ByteStream> stream = adopt_socket(state->loop, fd, peer_text(address), take_slot(state->slots));
      if (state->options.tls) {
        tasks->spawn(state->options.name + ".handshake", secure(state, std::move(stream)));
      } else {
        state->on_accept(std::move(stream));
      }
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      const Status ready = co_await state->descriptor.wait(Descriptor::Ready::read, Deadline::never());
      if (!ready) break;
    } else if (exhausted(error)) {
      if (!std::exchange(complained, true)) {
        log::error("net.accept_paused", {{"listener", state->options.name}, {"reason", system_error_text(error)}});
      }
      co_await sleep_until(Deadline::after(kPause));
    } else if (error == EBADF || error == EINVAL) {
      break;
    }
    // Anything else concerns the one connection that was not accepted.
  }
}

class SocketListener final : public Listener {
 public:
  SocketListener(const asio::any_io_executor& loop, int fd, std::string address, std::uint16_t port,
                 ListenOptions options)
      : state_(std::make_shared<State>(loop, fd, std::move(options))),
        tasks_(std::make_shared<TaskGroup>(loop)),
        address_(std::move(address)),
        port_(port) {}
  ~SocketListener() override { close(); }

  void start(OnAccept on_accept) override {
    state_->on_accept = std::move(on_accept);
    tasks_->spawn(state_->options.name + ".accept", accept_all(state_, tasks_));
  }

  void close() noexcept override {
    if (state_->closed) return;
    state_->closed = true;
    state_->descriptor.close();
    state_->slots->freed.notify();
    tasks_->cancel();
    if (!unlink_path_.empty()) unlink_ours();
  }
  [[nodiscard]] std::uint16_t bound_port() const override { return port_; }
  [[nodiscard]] std::string address() const override { return address_; }
  [[nodiscard]] std::size_t connections() const override { return state_->slots->open; }

  void unlink_at_close(std::string path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return;
    device_ = info.st_dev;
    inode_ = info.st_ino;
    unlink_path_ = std::move(path);
  }

 private:
  void unlink_ours() const noexcept {
    struct stat info{};
    if (::lstat(unlink_path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
      ::unlink(unlink_path_.c_str());
    }
  }
  std::shared_ptr<State> state_;
  std::shared_ptr<TaskGroup> tasks_;
  std::string address_;
  std::uint16_t port_;
  std::string unlink_path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

std::unexpected<Error> no_listener(std::string_view where, int error) {
  ErrorCode code = ErrorCode::io;
  if (error == EADDRINUSE) code = ErrorCode::conflict;
  if (error == EACCES || error == EPERM) code = ErrorCode::forbidden;
  if (error == EADDRNOTAVAIL) code = ErrorCode::invalid;
  const std::string why = error == EADDRINUSE ? "already in use by another process" : system_error_text(error);
  return fail(code, fmt::format("cannot listen on {}: {}", where, why));
}

// Somebody accepts connections at the path (or could: its backlog is full).
bool answers(const SocketAddress& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const bool refused = ::connect(fd, address.get(), address.length) != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  ::close(fd);
  return !refused;
}

bool is_socket_file(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

int bind_unix(int fd, const SocketAddress& address, const std::string& path) {
  // The mode of the socket's own inode becomes that of the file: there is no moment in which others may connect.
  if (::fchmod(fd, S_IRUSR | S_IWUSR) != 0) return errno;
  if (::bind(fd, address.get(), address.length) == 0) return 0;
  if (errno != EADDRINUSE) return errno;
  if (!is_socket_file(path)) return EEXIST;
  if (answers(address)) return EADDRINUSE;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno;
  return ::bind(fd, address.get(), address.length) == 0 ? 0 : errno;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::tcp(asio::any_io_executor loop, std::string address, std::uint16_t port,
                                                ListenOptions options) {
  const std::optional<SocketAddress> wanted = numeric_address(address, port);
  if (!wanted) {
    return fail(ErrorCode::invalid,
                fmt::format("cannot listen on `{}`: write a numeric address, such as 127.0.0.1", address));
  }
  const std::string where = to_text(*wanted);
  const int fd = ::socket(wanted->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return no_listener(where, errno);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // a port in TIME_WAIT may be taken, a live one may not
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (::bind(fd, wanted->get(), wanted->length) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, bound.get(), &bound.length) != 0) {
    const int error = errno;
    ::close(fd);
    return no_listener(where, error);
  }
  return std::make_unique<SocketListener>(std::move(loop), fd, to_text(bound), port_of(bound), std::move(options));
}

Result<std::unique_ptr<Listener>> Listener::unix_socket(asio::any_io_executor loop, std::string path,
                                                        ListenOptions options) {
  const std::string where = "unix:" + path;
  const Result<SocketAddress> address = unix_address(path);
  if (!address) return fail(address.error());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return no_listener(where, errno);
  int error = bind_unix(fd, *address, path);
  if (error == 0 && ::listen(fd, kBacklog) != 0) error = errno;
  if (error != 0) {
    ::close(fd);
    if (error == EEXIST) {
      return fail(ErrorCode::conflict, fmt::format("cannot listen on {}: there is a file that is no socket", where));
    }
    return no_listener(where, error);
  }
  auto listener = std::make_unique<SocketListener>(std::move(loop), fd, where, 0, std::move(options));
  listener->unlink_at_close(std::move(path));
  return listener;
}

}  // namespace sallyport::gateway
