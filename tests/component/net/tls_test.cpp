#include "gateway/net/tls.hpp"

#include <boost/asio/post.hpp>
#include <fstream>

#include "gateway/net/connect.hpp"
#include "gateway/net/http_client.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/net/listener.hpp"
#include "gateway/net/memory_stream.hpp"
#include "tests/component/net/certificates.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;
using testing::Authority;
using testing::Loop;
using testing::make_certificate;
using testing::read_to_end;
using testing::soon;

using StreamResult = Result<std::unique_ptr<ByteStream>>;

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    testing::write_pem(ca_, folder_.file("ca.pem"), "");
    use(make_certificate("example.test", "DNS:example.test,DNS:*.wild.test,IP:127.0.0.1", &ca_));
    server_ = *TlsServerContext::load(folder_.file("server.pem"), folder_.file("server.key"));
    client_ = *TlsClientContext::load(folder_.file("ca.pem"));
  }
  void use(const Authority& certificate) {
    testing::write_pem(certificate, folder_.file("server.pem"), folder_.file("server.key"));
  }
  // Handshakes over memory, both sides at once.
  struct Shaken {
    StreamResult client = fail(ErrorCode::internal, "not run");
    StreamResult server = fail(ErrorCode::internal, "not run");
    ByteStream* under_server = nullptr;  // its transport
  };
  Shaken shake(std::string name, MemoryStreamOptions options = {}) {
    Shaken out;
    loop_.run(shake_task(std::move(name), std::move(options), out));
    return out;
  }
  asio::awaitable<void> shake_task(std::string name, MemoryStreamOptions options, Shaken& out) {
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), std::move(options));
    out.under_server = pair.second.get();
    TaskGroup tasks(loop_.executor());
    tasks.spawn("accept", accept_task(std::move(pair.second), out));
    out.client = co_await tls_connect(std::move(pair.first), client_, std::move(name), soon());
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended);
  }
  asio::awaitable<void> accept_task(std::unique_ptr<ByteStream> stream, Shaken& out) {
    out.server = co_await tls_accept(std::move(stream), server_, soon());
  }

  Loop loop_;
  testing::TempFolder folder_;
  Authority ca_ = make_certificate("Test CA", "", nullptr);
  std::shared_ptr<TlsServerContext> server_;
  std::shared_ptr<TlsClientContext> client_;
};

asio::awaitable<void> send_and_end(ByteStream& stream, std::string text) {
  Status status = co_await stream.write_all(text, soon());
  if (status) status = co_await stream.shutdown_write(soon());
  EXPECT_TRUE(status);
}

asio::awaitable<void> both_ways(ByteStream& client, ByteStream& server) {
  TaskGroup tasks(client.loop());
  const std::string question(300'000, 'q');
  const std::string answer(700'000, 'a');
  // Both write and read at once: neither waits for the other.
  tasks.spawn("client writes", send_and_end(client, question));
  tasks.spawn("server writes", send_and_end(server, answer));
  std::string got_answer;
  tasks.spawn("client reads", [](ByteStream& s, std::string& out) -> asio::awaitable<void> {
    out = co_await read_to_end(s);
  }(client, got_answer));
  const std::string got_question = co_await read_to_end(server);
  const bool ended = co_await tasks.wait_empty(soon());
  EXPECT_TRUE(ended);
  EXPECT_TRUE(got_question == question);
  EXPECT_TRUE(got_answer == answer);
}

TEST_F(TlsTest, CarriesBytesBothWaysInPiecesOfAnySize) {
  for (const std::size_t chunk : {7UL, 1000UL, 100'000UL}) {
    MemoryStreamOptions options;
    options.read_chunk = chunk;
    options.capacity = 5000;
    Shaken shaken = shake("example.test", options);
    ASSERT_TRUE(shaken.client && shaken.server) << shaken.client.error().message;
    loop_.run(both_ways(**shaken.client, **shaken.server));
  }
}

TEST_F(TlsTest, TellsWhoThePeerIs) {
  const Shaken shaken = shake("example.test");
  ASSERT_TRUE(shaken.client);
  const TlsPeer* peer = (*shaken.client)->tls_peer();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->subject, "CN=example.test");
  EXPECT_EQ(peer->issuer, "CN=Test CA");
  EXPECT_EQ(peer->dns_names, (std::vector<std::string>{"example.test", "*.wild.test"}));
  EXPECT_EQ(peer->spki_sha256.size(), 64);
  EXPECT_EQ(peer->protocol, "TLSv1.3");
  EXPECT_TRUE((*shaken.server)->is_tls());
  EXPECT_EQ((*shaken.server)->tls_peer(), nullptr);
  EXPECT_TRUE((*shaken.client)->quiet());
}

TEST_F(TlsTest, VerifiesTheName) {
  EXPECT_TRUE(shake("a.wild.test").client);
  EXPECT_TRUE(shake("127.0.0.1").client);
  for (const char* name : {"other.test", "wild.test", "a.b.wild.test", "127.0.0.2", "example.test.evil.test"}) {
    const Shaken shaken = shake(name);
    ASSERT_FALSE(shaken.client) << name;
    EXPECT_EQ(shaken.client.error().code, ErrorCode::unavailable);
    EXPECT_EQ(shaken.client.error().retry, RetryClass::not_sent);
    EXPECT_NE(shaken.client.error().message.find("mismatch"), std::string::npos) << shaken.client.error().message;
    EXPECT_FALSE(shaken.server);
  }
}

TEST_F(TlsTest, VerifiesTheChainAndTheDates) {
  use(make_certificate("example.test", "DNS:example.test", nullptr));
  ASSERT_TRUE(server_->reload());
  EXPECT_FALSE(shake("example.test").client);
  use(make_certificate("example.test", "DNS:example.test", &ca_, -1));
  ASSERT_TRUE(server_->reload());
  const Shaken expired = shake("example.test");
  ASSERT_FALSE(expired.client);
  EXPECT_NE(expired.client.error().message.find("expired"), std::string::npos) << expired.client.error().message;
}

TEST_F(TlsTest, KeepsTheOldCertificateWhenTheNewOneIsBad) {
  std::ofstream(folder_.file("server.pem")) << "rubbish";
  const Status reloaded = server_->reload();
  ASSERT_FALSE(reloaded);
  EXPECT_NE(reloaded.error().message.find("server.pem"), std::string::npos) << reloaded.error().message;
  EXPECT_TRUE(shake("example.test").client);
}

TEST_F(TlsTest, NamesTheFileThatCannotBeLoaded) {
  EXPECT_NE(TlsServerContext::load(folder_.file("none.pem"), "x").error().message.find("none.pem"), std::string::npos);
  const Authority other = make_certificate("other", "", &ca_);
  testing::write_pem(other, folder_.file("other.pem"), folder_.file("other.key"));
  const auto mixed = TlsServerContext::load(folder_.file("server.pem"), folder_.file("other.key"));
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("other.key"), std::string::npos) << mixed.error().message;
  EXPECT_NE(TlsClientContext::load(folder_.file("none.pem")).error().message.find("none.pem"), std::string::npos);
}

TEST_F(TlsTest, TellsACutFromAnEnd) {
  Shaken shaken = shake("example.test");
  ASSERT_TRUE(shaken.client && shaken.server);
  loop_.run([](Shaken& both) -> asio::awaitable<void> {
    const Status written = co_await (*both.server)->write_all("half an ans", soon());
    EXPECT_TRUE(written);
    const Status cut = co_await both.under_server->shutdown_write(soon());  // no close_notify
    EXPECT_TRUE(cut);
    const std::string got = co_await read_to_end(**both.client);
    EXPECT_EQ(got, "half an ans<" + std::string(to_string(ErrorCode::io)) + ">");
  }(shaken));
}

// What a client makes of an answer after which the server's TCP ends without close_notify.
TEST_F(TlsTest, C136_ACutCountsOnlyWhereTheAnswerWasNotWhole) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const auto get = [&](std::string answer) {
    std::string got;
    Shaken shaken = shake("example.test");
    EXPECT_TRUE(shaken.client && shaken.server);
    loop_.run([](asio::any_io_executor loop, Shaken& both, std::string text,
                 std::string& out) -> asio::awaitable<void> {
      const Status written = co_await (*both.server)->write_all(text, soon());
      const Status cut = co_await both.under_server->shutdown_write(soon());
      EXPECT_TRUE(written && cut);
      HttpClientOptions options;
      options.connect = [&both](Url, Deadline) -> asio::awaitable<StreamResult> { co_return std::move(both.client); };
      HttpClient client(loop, std::move(options));
      HttpClientRequest request;
      request.url = *parse_url("https://example.test/x");
      Result<HttpClientResponse> response = co_await client.send(std::move(request), soon());
      if (!response) {
        out = "no head";
        co_return;
      }
      const Result<std::string> body = co_await response->read_all(100, soon());
      out = body ? *body : "cut";
    }(loop_.executor(), shaken, std::move(answer), got));
    return got;
  };
  EXPECT_EQ(get(ok + "Content-Length: 5\r\n\r\nhello"), "hello");
  EXPECT_EQ(get(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "hello");
  EXPECT_EQ(get(ok + "Content-Length: 50\r\n\r\nhello"), "cut");
  EXPECT_EQ(get(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "cut");
  EXPECT_EQ(get(ok + "\r\nhello"), "cut") << "only the end of the connection would tell";
}

TEST_F(TlsTest, C136_AnEndWaitsForNoCloseNotifyOfThePeer) {
  Shaken shaken = shake("example.test");
  ASSERT_TRUE(shaken.client && shaken.server);
  loop_.run([](Shaken& both) -> asio::awaitable<void> {
    const Deadline deadline = Deadline::after(std::chrono::seconds(5));
    const Status told = co_await (*both.client)->shutdown_write(deadline);  // the peer never reads, nor answers
    EXPECT_TRUE(told);
    EXPECT_FALSE(deadline.passed());
  }(shaken));
}

TEST_F(TlsTest, BoundsAHandshakeInTime) {
  loop_.run([](asio::any_io_executor loop, std::shared_ptr<TlsServerContext> server) -> asio::awaitable<void> {
    MemoryStreamPair pair = make_memory_streams(loop);
    const StreamResult silent = co_await tls_accept(std::move(pair.second), server, Deadline::after(milliseconds(2)));
    EXPECT_TRUE(!silent && silent.error().code == ErrorCode::timeout);
    MemoryStreamPair plain = make_memory_streams(loop);
    const Status http = co_await plain.first->write_all("GET / HTTP/1.1\r\n\r\n", soon());
    EXPECT_TRUE(http);
    const StreamResult refused = co_await tls_accept(std::move(plain.second), server, soon());
    EXPECT_FALSE(refused);
  }(loop_.executor(), server_));
}

// ---- the whole way: listener, server, client, over TCP and TLS ----

asio::awaitable<void> hello(HttpRequest request, HttpExchange& exchange) {
  EXPECT_TRUE(exchange.is_tls());
  HttpResponse response;
  response.body = "hello " + request.body;
  const Status sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent);
}

TEST_F(TlsTest, ServesHttpsAndLetsTheClientJudgeTheKey) {
  HttpServer server(loop_.executor(), "tls", HttpLimits(), hello);
  ListenOptions listen;
  listen.tls = server_;
  Result<std::unique_ptr<Listener>> listener = Listener::tcp(loop_.executor(), "127.0.0.1", 0, listen);
  ASSERT_TRUE(listener);
  (*listener)->start([&](std::unique_ptr<ByteStream> stream) { server.accept(std::move(stream)); });
  HttpClientOptions options;
  options.tls = client_;
  std::string pinned;
  options.verify_peer = [&](const TlsPeer& peer) -> Status {
    if (!pinned.empty() && pinned != peer.spki_sha256) return fail(ErrorCode::forbidden, "another key");
    pinned = peer.spki_sha256;
    return {};
  };
  HttpClient client(loop_.executor(), options);
  const auto ask = [&](ErrorCode* error) {
    loop_.run([](HttpClient& c, std::uint16_t port, ErrorCode* out) -> asio::awaitable<void> {
      HttpClientRequest request;
      request.url = *parse_url("https://127.0.0.1:" + std::to_string(port) + "/x");
      request.body = "you";
      Result<HttpClientResponse> response = co_await c.send(std::move(request), soon());
      EXPECT_EQ(response.has_value(), out == nullptr);
      if (!response) {
        EXPECT_EQ(response.error().retry, RetryClass::not_sent);
        *out = response.error().code;
        co_return;
      }
      const Result<std::string> body = co_await response->read_all(100, soon());
      EXPECT_TRUE(body && *body == "hello you");
      EXPECT_NE(response->tls_peer(), nullptr);
    }(client, (*listener)->bound_port(), error));
  };
  ask(nullptr);
  ask(nullptr);
  EXPECT_EQ((*listener)->connections(), 1);
  client.close_idle();
  pinned = std::string(64, '0');
  ErrorCode error = ErrorCode::internal;
  ask(&error);
  EXPECT_EQ(error, ErrorCode::forbidden);
}

}  // namespace
}  // namespace sallyport::gateway
