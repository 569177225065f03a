// Many clients at once, over real sockets.
#include <random>

#include "gateway/net/connect.hpp"
#include "gateway/net/listener.hpp"
#include "tests/component/clients/fixture.hpp"
#include "tests/support/temp_dir.hpp"

namespace sallyport::gateway::testing {
namespace {

class ManyClientsTest : public ClientsTest {
 protected:
  void listen() {
    settings_.clients.clear();
    for (int i = 0; i < kClients; ++i) {
      settings_.clients.push_back(client("agent:" + std::to_string(i), "secret-" + std::to_string(i)));
    }
    start();
    auto tcp = Listener::tcp(loop_.executor(), "127.0.0.1", 0);
    ASSERT_TRUE(tcp) << tcp.error().message;
    tcp_ = std::move(*tcp);
    tcp_->start([this](std::unique_ptr<ByteStream> stream) { http_->accept(std::move(stream)); });
    auto local = Listener::unix_socket(loop_.executor(), folder_.file("client.sock"));
    ASSERT_TRUE(local) << local.error().message;
    local_ = std::move(*local);
    local_->start([this](std::unique_ptr<ByteStream> stream) { stdio_->accept(std::move(stream)); });
  }
  // Every client uses the same ids for other contents, and every answer must be its own.
  asio::awaitable<void> over_http(int number) {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_tcp(loop_.executor(), "127.0.0.1", tcp_->bound_port(), soon());
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    HttpPeer peer(std::move(*stream));
    Form form{.token = "secret-" + std::to_string(number)};
    form.session = co_await open_session(peer, form);
    for (int i = 0; i < kCalls; ++i) {
      const std::string content = std::to_string(number) + "/" + std::to_string(i);
      const bool notes = (number + i) % 3 == 0;
      const std::string params = R"({"tag":")" + content + R"(","notes":)" + (notes ? "3" : "0") + "}";
      const TestResponse answer =
          co_await peer.ask(post(form, call(std::to_string(i), i % 2 == 0 ? "echo" : "notes", params)));
      EXPECT_EQ(answer.status, 200);
      EXPECT_TRUE(answer.body.contains("\"id\":" + std::to_string(i) + ",\"result\"")) << answer.body;
      EXPECT_TRUE(answer.body.contains("\"" + content + "\"")) << answer.body;
      if (i % 2 == 0) EXPECT_TRUE(answer.body.contains("\"agent:" + std::to_string(number) + "\"")) << answer.body;
    }
    ++done_;
  }
  asio::awaitable<void> over_lines(int number) {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_unix(loop_.executor(), folder_.file("client.sock"), soon());
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    LinePeer peer(std::move(*stream));
    co_await peer.begin(R"({"sallyport":1,"token":"secret-)" + std::to_string(number) + "\"}");
    for (int i = 0; i < kCalls; ++i) {
      co_await peer.send(
          call(std::to_string(i), "echo", R"({"tag":")" + std::to_string(number) + "/" + std::to_string(i) + "\"}"));
    }
    std::set<std::int64_t> seen;
    for (int i = 0; i < kCalls; ++i) {
      const auto answer = boost::json::parse(co_await peer.receive());
      const std::int64_t id = answer.at("id").as_int64();
      seen.insert(id);
      const auto& result = answer.at("result");
      EXPECT_EQ(result.at("principal").as_string(), "agent:" + std::to_string(number));
      EXPECT_EQ(result.at("params").at("tag").as_string(), std::to_string(number) + "/" + std::to_string(id));
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kCalls));
    ++done_;
  }

  static constexpr int kClients = 200;
  static constexpr int kCalls = 10;
  test::TempDir folder_;
  std::unique_ptr<Listener> tcp_, local_;
  int done_ = 0;
};

TEST_F(ManyClientsTest, NobodyGetsAnothersAnswer) {
  listen();
  run([&]() -> asio::awaitable<void> {
    TaskGroup tasks(loop_.executor());
    for (int i = 0; i < kClients; ++i) tasks.spawn("client", i % 4 == 0 ? over_lines(i) : over_http(i));
    const bool ended = co_await tasks.wait_empty(Deadline::after(std::chrono::seconds(19)));
    EXPECT_TRUE(ended);
    EXPECT_EQ(done_, kClients);
    for (const auto& [tag, taken] : front_.delivered) EXPECT_EQ(taken, std::vector<bool>{true}) << tag;
    EXPECT_EQ(front_.delivered.size(), static_cast<std::size_t>(kClients * kCalls));
    tcp_->close();
    local_->close();
    const bool http = co_await http_->shutdown(soon());
    const bool stdio = co_await stdio_->shutdown(soon());
    EXPECT_TRUE(http && stdio);
  });
}

TEST_F(ManyClientsTest, ARealDisconnectIsNoCancelAndNoDelivery) {
  listen();
  run([&]() -> asio::awaitable<void> {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await connect_tcp(loop_.executor(), "127.0.0.1", tcp_->bound_port(), soon());
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    HttpPeer peer(std::move(*stream));
    Form form{.token = "secret-1"};
    form.session = co_await open_session(peer, form);
    co_await peer.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    peer.stream().close();
    co_await sleep_until(Deadline::after(std::chrono::milliseconds(20)));  // the kernel's turn
    EXPECT_TRUE(front_.delivered["w"].empty());
    front_.release("w");
    co_await front_.until_delivered("w");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
