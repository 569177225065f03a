#include "gateway/net/listener.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <fstream>
#include <list>

#include "gateway/base/signal.hpp"
#include "gateway/net/connect.hpp"
#include "tests/component/net/certificates.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;
using testing::Loop;
using testing::read_to_end;
using testing::soon;

using StreamResult = Result<std::unique_ptr<ByteStream>>;

class ListenerTest : public ::testing::Test {
 protected:
  void start(Listener& listener) {
    listener.start([this](std::unique_ptr<ByteStream> stream) {
      accepted_.push_back(std::move(stream));
      arrived_.notify();
    });
  }
  asio::awaitable<void> wait_for(std::size_t count) {
    while (accepted_.size() < count) {
      const bool notified = co_await arrived_.wait(soon());
      EXPECT_TRUE(notified);
      if (!notified) co_return;
    }
  }
  StreamResult connect_tcp_now(std::string host, std::uint16_t port) {
    StreamResult out = fail(ErrorCode::internal, "");
    loop_.run([](asio::any_io_executor loop, std::string h, std::uint16_t p, StreamResult& o) -> asio::awaitable<void> {
      o = co_await connect_tcp(loop, h, p, soon());
    }(loop_.executor(), std::move(host), port, out));
    return out;
  }
  StreamResult connect_unix_now(std::string path) {
    StreamResult out = fail(ErrorCode::internal, "");
    loop_.run([](asio::any_io_executor loop, std::string p, StreamResult& o) -> asio::awaitable<void> {
      o = co_await connect_unix(loop, p, soon());
    }(loop_.executor(), std::move(path), out));
    return out;
  }

  Loop loop_;
  testing::TempFolder folder_;
  Signal arrived_{loop_.executor()};
  std::list<std::unique_ptr<ByteStream>> accepted_;
};

TEST_F(ListenerTest, AcceptsTcpOnAPortOfItsOwnChoice) {
  auto listener = Listener::tcp(loop_.executor(), "127.0.0.1", 0);
  ASSERT_TRUE(listener);
  EXPECT_NE((*listener)->bound_port(), 0);
  EXPECT_EQ((*listener)->address(), "127.0.0.1:" + std::to_string((*listener)->bound_port()));
  start(**listener);
  StreamResult client = connect_tcp_now("localhost", (*listener)->bound_port());
  ASSERT_TRUE(client) << client.error().message;
  loop_.run(wait_for(1));
  EXPECT_TRUE(accepted_.front()->peer().starts_with("127.0.0.1:"));
  EXPECT_FALSE(accepted_.front()->peer_uid());
  loop_.run([](ByteStream& here, ByteStream& there) -> asio::awaitable<void> {
    Status status = co_await here.write_all("hello", soon());
    if (status) status = co_await here.shutdown_write(soon());
    EXPECT_TRUE(status);
    const std::string got = co_await read_to_end(there);
    EXPECT_EQ(got, "hello");
  }(**client, *accepted_.front()));
  EXPECT_EQ((*listener)->connections(), 1);
  accepted_.clear();
  EXPECT_EQ((*listener)->connections(), 0);
}

TEST_F(ListenerTest, NamesAddressAndPortWhenThePortIsInUse) {
  auto first = Listener::tcp(loop_.executor(), "127.0.0.1", 0);
  ASSERT_TRUE(first);
  const auto second = Listener::tcp(loop_.executor(), "127.0.0.1", (*first)->bound_port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_EQ(second.error().message, "cannot listen on " + (*first)->address() + ": already in use by another process");
  const auto name = Listener::tcp(loop_.executor(), "localhost", 0);
  EXPECT_TRUE(!name && name.error().code == ErrorCode::invalid);
  const auto foreign = Listener::tcp(loop_.executor(), "192.0.2.1", 0);
  EXPECT_TRUE(!foreign && foreign.error().code == ErrorCode::invalid);
}

TEST_F(ListenerTest, RefusesConnectionsOnceClosed) {
  auto listener = Listener::tcp(loop_.executor(), "127.0.0.1", 0);
  ASSERT_TRUE(listener);
  start(**listener);
  const std::uint16_t port = (*listener)->bound_port();
  loop_.settle();
  (*listener)->close();
  const StreamResult client = connect_tcp_now("127.0.0.1", port);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::unavailable);
  EXPECT_EQ(client.error().retry, RetryClass::not_sent);
  EXPECT_NE(client.error().message.find("127.0.0.1:" + std::to_string(port)), std::string::npos);
}

TEST_F(ListenerTest, HoldsBackConnectionsAboveItsBound) {
  ListenOptions options;
  options.max_connections = 2;
  auto listener = Listener::tcp(loop_.executor(), "127.0.0.1", 0, options);
  ASSERT_TRUE(listener);
  start(**listener);
  std::vector<StreamResult> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connect_tcp_now("127.0.0.1", (*listener)->bound_port()));
  loop_.run(wait_for(2));
  loop_.settle();
  EXPECT_EQ(accepted_.size(), 2);
  accepted_.pop_front();
  loop_.run(wait_for(2));
  EXPECT_EQ((*listener)->connections(), 2);
}

TEST_F(ListenerTest, GoesOnAfterDescriptorsHaveRunOut) {
  auto listener = Listener::tcp(loop_.executor(), "127.0.0.1", 0);
  ASSERT_TRUE(listener);
  start(**listener);
  StreamResult client = connect_tcp_now("127.0.0.1", (*listener)->bound_port());
  ASSERT_TRUE(client);
  loop_.run(wait_for(1));
  StreamResult next = connect_tcp_now("127.0.0.1", (*listener)->bound_port());
  loop_.run(wait_for(2));
  // No new descriptor can be made for a while; the connection waits in the backlog.
  const int probe = ::dup(0);
  ::close(probe);
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const int raw = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit none = old;
  none.rlim_cur = static_cast<rlim_t>(raw) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons((*listener)->bound_port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(raw, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (int i = 0; i < 10; ++i) loop_.settle();
  EXPECT_EQ(accepted_.size(), 2);
  ::setrlimit(RLIMIT_NOFILE, &old);
  loop_.run(wait_for(3));
  ::close(raw);
}

TEST_F(ListenerTest, MakesAPrivateUnixSocketAndKnowsThePeer) {
  const std::string path = folder_.file("a.sock");
  auto listener = Listener::unix_socket(loop_.executor(), path);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat info{};
  ASSERT_EQ(::lstat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  start(**listener);
  StreamResult client = connect_unix_now(path);
  ASSERT_TRUE(client);
  loop_.run(wait_for(1));
  EXPECT_EQ(accepted_.front()->peer_uid(), ::getuid());
  EXPECT_EQ((*client)->peer_uid(), ::getuid());
  listener->reset();
  EXPECT_NE(::lstat(path.c_str(), &info), 0);  // unlinked
}

TEST_F(ListenerTest, ReplacesAStaleUnixSocketOnly) {
  const std::string path = folder_.file("a.sock");
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(fd);  // as after kill -9: the file is there, nobody listens
  }
  auto listener = Listener::unix_socket(loop_.executor(), path);
  ASSERT_TRUE(listener) << listener.error().message;
  const auto second = Listener::unix_socket(loop_.executor(), path);
  EXPECT_TRUE(!second && second.error().code == ErrorCode::conflict);
  const std::string file = folder_.file("precious");
  std::ofstream(file) << "data";
  const auto third = Listener::unix_socket(loop_.executor(), file);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::conflict);
  EXPECT_TRUE(std::filesystem::exists(file));
  const auto long_path = Listener::unix_socket(loop_.executor(), folder_.file(std::string(200, 'x')));
  EXPECT_TRUE(!long_path && long_path.error().code == ErrorCode::invalid);
}

TEST_F(ListenerTest, LeavesASocketAloneThatIsNoLongerItsOwn) {
  const std::string path = folder_.file("a.sock");
  auto first = Listener::unix_socket(loop_.executor(), path);
  ASSERT_TRUE(first);
  ::unlink(path.c_str());
  auto second = Listener::unix_socket(loop_.executor(), path);
  ASSERT_TRUE(second);
  first->reset();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, ConnectingToNothingFailsWithTheTarget) {
  const StreamResult socket = connect_unix_now(folder_.file("none.sock"));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().retry, RetryClass::not_sent);
  EXPECT_NE(socket.error().message.find("none.sock"), std::string::npos);
  const StreamResult name = connect_tcp_now("no-such-host.invalid", 80);
  ASSERT_FALSE(name);
  EXPECT_NE(name.error().message.find("no-such-host.invalid:80"), std::string::npos) << name.error().message;
}

}  // namespace
}  // namespace sallyport::gateway
