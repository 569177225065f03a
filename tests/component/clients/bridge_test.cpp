// The bridge between a client's standard streams and a real Unix socket.
#include "gateway/clients/bridge.hpp"

#include "gateway/net/listener.hpp"
#include "tests/component/clients/fixture.hpp"
#include "tests/support/temp_dir.hpp"

namespace sallyport::gateway::testing {
namespace {

class BridgeTest : public ClientsTest {
 protected:
  // An owner's socket at client.sock that hands connections to the front.
  void listen() {
    start();
    Result<std::unique_ptr<Listener>> listener = Listener::unix_socket(loop_.executor(), socket());
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
    listener_->start([this](std::unique_ptr<ByteStream> stream) { stdio_->accept(std::move(stream)); });
  }
  [[nodiscard]] std::string socket() const { return folder_.file("client.sock"); }
  LinePeer start_bridge(BridgeOptions options) {
    MemoryStreamPair pair = make_memory_streams(loop_.executor());
    tasks_.spawn("bridge", bridge(std::move(pair.second), std::move(options)));
    return LinePeer(std::move(pair.first));
  }
  asio::awaitable<void> bridge(std::unique_ptr<ByteStream> local, BridgeOptions options) {
    const Status status = co_await run_bridge(std::move(local), std::move(options));
    outcome_ = status ? "" : std::string(to_string(status.error().code)) + ": " + status.error().message;
    ended_ = true;
  }
  asio::awaitable<void> until_ended() {
    const bool empty = co_await tasks_.wait_empty(soon());
    EXPECT_TRUE(empty && ended_);
  }
  BridgeOptions options(std::string token = "secret-a") {
    BridgeOptions options{.socket_path = socket()};
    if (!token.empty()) options.hello.token = Secret(std::move(token));
    return options;
  }

  test::TempDir folder_;
  std::unique_ptr<Listener> listener_;
  TaskGroup tasks_{loop_.executor()};
  std::string outcome_ = "running";
  bool ended_ = false;
};

TEST_F(BridgeTest, CarriesLinesBothWaysAndDrainsAtTheEnd) {
  listen();
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options());
    const std::string first = co_await peer.ask(std::string(kInitialize));
    EXPECT_TRUE(first.contains("protocolVersion")) << first;
    const std::string echo = co_await peer.ask(call("1", "echo"));
    EXPECT_TRUE(echo.contains(R"("principal":"agent:a")")) << echo;
    co_await peer.send(call("2", "wait", R"({"tag":"w"})"));
    const Status ended = co_await peer.stream().shutdown_write(soon());
    EXPECT_TRUE(ended);
    co_await front_.until_held("w");
    front_.release("w");
    const std::string last = co_await peer.receive();
    EXPECT_TRUE(last.contains(R"("tag":"w")")) << last;
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");
    co_await until_ended();
    EXPECT_EQ(outcome_, "");
  });
}

TEST_F(BridgeTest, WithoutATokenItIsTheUserOfTheSocket) {
  start();
  authenticator_ = std::make_shared<const Authenticator>(settings_);
  stdio_ = std::make_unique<StdioFront>(loop_.executor(), *sessions_, authenticator_, stdio_options_);
  auto listener = Listener::unix_socket(loop_.executor(), socket());
  ASSERT_TRUE(listener) << listener.error().message;
  (*listener)->start([this](std::unique_ptr<ByteStream> stream) { stdio_->accept(std::move(stream)); });
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options(""));
    co_await peer.send(std::string(kInitialize));
    co_await peer.receive();
    const std::string echo = co_await peer.ask(call("1", "echo"));
    EXPECT_TRUE(echo.contains("\"principal\":\"local:" + std::to_string(Authenticator::process_uid()) + "\"")) << echo;
    peer.stream().close();
    co_await until_ended();
  });
}

TEST_F(BridgeTest, CarriesLargeMessages) {
  listen();
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options());
    const std::string first = co_await peer.ask(std::string(kInitialize));
    EXPECT_TRUE(first.contains("protocolVersion"));
    const std::string text(3'000'000, 'y');
    const std::string answer = co_await peer.ask(call("1", "echo", "{\"t\":\"" + text + "\"}"));
    EXPECT_TRUE(answer.contains(text));
    peer.stream().close();
    co_await until_ended();
  });
}

TEST_F(BridgeTest, SaysWhyItWasRefused) {
  listen();
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options("wrong"));
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");  // nothing but protocol on standard output
    co_await until_ended();
    EXPECT_EQ(outcome_, "forbidden: the gateway refused: the token is not one of a known client");
  });
}

TEST_F(BridgeTest, SaysThatThereIsNoOwner) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options());
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");
    co_await until_ended();
    EXPECT_TRUE(outcome_.starts_with("unavailable: ")) << outcome_;
  });
}

TEST_F(BridgeTest, EndsWhenTheOwnerGoesAway) {
  listen();
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = start_bridge(options());
    const std::string first = co_await peer.ask(std::string(kInitialize));
    EXPECT_TRUE(first.contains("protocolVersion"));
    const bool clean = co_await stdio_->shutdown(soon());
    EXPECT_TRUE(clean);
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");
    co_await until_ended();
    EXPECT_EQ(outcome_, "unavailable: the gateway went away");
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
