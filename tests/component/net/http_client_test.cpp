#include "gateway/net/http_client.hpp"

#include <boost/asio/post.hpp>
#include <list>

#include "gateway/base/signal.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/net/memory_stream.hpp"
#include "gateway/net/sse.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;
using testing::Loop;
using testing::read_until;
using testing::soon;

using StreamResult = Result<std::unique_ptr<ByteStream>>;

HttpClientRequest request_to(std::string target, std::string body = "{}") {
  HttpClientRequest request;
  request.url = *parse_url("http://server.example:8080");
  request.url.target = std::move(target);
  request.body = std::move(body);
  return request;
}

// Every connection the client makes ends in memory; the far sides are collected here.
class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() {
    options_.connect = [this](Url, Deadline) { return connect(); };
  }
  asio::awaitable<StreamResult> connect() {
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), memory_);
    far_.push_back(std::move(pair.second));
    StreamResult stream = std::move(pair.first);
    co_return stream;
  }
  // Sends one request and reads its whole answer; the server side writes `answer` in two pieces and ends if asked to.
  std::string exchange(std::string answer, std::size_t cut, bool end, std::size_t max = 10000) {
    std::string seen;
    loop_.run(exchange_task(std::move(answer), cut, end, max, seen));
    return seen;
  }
  asio::awaitable<void> exchange_task(std::string answer, std::size_t cut, bool end, std::size_t max,
                                      std::string& seen) {
    HttpClient client(loop_.executor(), options_);
    far_.clear();
    TaskGroup tasks(loop_.executor());
    tasks.spawn("server", serve(answer, cut, end));
    Result<HttpClientResponse> response = co_await client.send(request_to("/x"), soon());
    if (!response) {
      seen = "send: " + std::string(to_string(response.error().code));
      EXPECT_EQ(response.error().retry, RetryClass::never);
      EXPECT_EQ(response.error().source, ErrorSource::server);
    } else {
      const Result<std::string> body = co_await response->read_all(max, soon());
      seen = std::to_string(response->status()) + " ";
      seen += body ? *body : "body: " + std::string(to_string(body.error().code));
      if (body) EXPECT_TRUE(response->complete());
    }
    tasks.cancel();
  }
  asio::awaitable<void> serve(std::string answer, std::size_t cut, bool end) {
    while (far_.empty()) co_await asio::post(loop_.executor(), asio::use_awaitable);
    ByteStream& stream = *far_.front();
    const std::string request = co_await read_until(stream, "{}");
    EXPECT_EQ(
        request,
        "POST /x HTTP/1.1\r\nHost: server.example:8080\r\nAccept-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}");
    cut = std::min(cut, answer.size());
    Status written = co_await stream.write_all(answer.substr(0, cut), soon());
    for (int i = 0; i < 5; ++i) co_await asio::post(loop_.executor(), asio::use_awaitable);
    if (written) written = co_await stream.write_all(answer.substr(cut), soon());
    if (end) written = co_await stream.shutdown_write(soon());
  }

  Loop loop_;
  HttpClientOptions options_;
  MemoryStreamOptions memory_;
  std::list<std::unique_ptr<ByteStream>> far_;
};

TEST_F(HttpClientTest, ReadsAnswersHoweverTheirBytesAreCut) {
  const std::string length = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n";
  const std::string until_end = "HTTP/1.1 200 OK\r\n\r\nhello";
  for (std::size_t cut = 0; cut <= chunked.size(); ++cut) {
    EXPECT_EQ(exchange(length, cut, false), "200 hello") << cut;
    EXPECT_EQ(exchange(chunked, cut, false), "200 hello") << cut;
    EXPECT_EQ(exchange(until_end, cut, true), "200 hello") << cut;
  }
  EXPECT_EQ(exchange("HTTP/1.1 204 No Content\r\n\r\n", 3, false), "204 ");
  EXPECT_EQ(exchange("HTTP/1.1 307 Go\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", 3, false), "307 ");
}

TEST_F(HttpClientTest, TellsWhatIsWrongWithAnAnswer) {
  const std::string protocol = "send: " + std::string(to_string(ErrorCode::protocol));
  EXPECT_EQ(exchange("", 0, true), protocol);
  EXPECT_EQ(exchange("HTTP/1.1 200", 0, true), protocol);
  EXPECT_EQ(exchange("SSH-2.0-x\r\n\r\n", 0, false), protocol);
  EXPECT_EQ(exchange("HTTP/1.1 101 Switching Protocols\r\n\r\n", 0, false), protocol);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 0, false), protocol);
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ(exchange(interim, 0, false), protocol);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'), 0, false),
            "send: " + std::string(to_string(ErrorCode::limit)));
  const std::string cut = "200 body: " + std::string(to_string(ErrorCode::protocol));
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 0, true), cut);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", 0, true), cut);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhe\r\n", 0, false), cut);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n" + std::string(50, 'x'), 0, false, 49),
            "200 body: " + std::string(to_string(ErrorCode::limit)));
}

// ---- against our own server ----

asio::awaitable<void> count_and_echo(HttpRequest request, HttpExchange& exchange) {
  HttpResponse response;
  response.headers.add("X-Method", request.method);
  response.body = request.target + " " + request.body;
  const Status sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent);
}

class WithServer : public HttpClientTest {
 protected:
  WithServer() {
    options_.connect = [this](Url, Deadline) { return connect_to_server(); };
  }
  asio::awaitable<StreamResult> connect_to_server() {
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), memory_);
    server_.accept(std::move(pair.second));
    ++connections_;
    StreamResult stream = std::move(pair.first);
    co_return stream;
  }
  HttpServer::Handler handler_ = count_and_echo;
  HttpServer server_{loop_.executor(), "test", HttpLimits(), [this](HttpRequest request, HttpExchange& exchange) {
                       return handler_(std::move(request), exchange);
                     }};
  int connections_ = 0;
};

asio::awaitable<void> several(HttpClient& client, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string body = std::to_string(i);
    Result<HttpClientResponse> response = co_await client.send(request_to("/n", body), soon());
    EXPECT_TRUE(response) << response.error().message;
    if (!response) co_return;
    const Result<std::string> answer = co_await response->read_all(1000, soon());
    EXPECT_TRUE(answer && *answer == "/n " + body);
  }
}

TEST_F(WithServer, UsesOneConnectionForRequestsInARow) {
  HttpClient client(loop_.executor(), options_);
  loop_.run(several(client, 20));
  EXPECT_EQ(connections_, 1);
}

TEST_F(WithServer, MovesLargeBodiesBothWays) {
  handler_ = [](HttpRequest request, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpResponse response;
    response.body = std::move(request.body);
    const Status sent = co_await exchange.respond(std::move(response));
    EXPECT_TRUE(sent);
  };
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c) -> asio::awaitable<void> {
    const std::string big(3'000'000, 'x');
    Result<HttpClientResponse> response = co_await c.send(request_to("/", big), soon());
    EXPECT_TRUE(response);
    const Result<std::string> answer = co_await response->read_all(4'000'000, soon());
    EXPECT_TRUE(answer && *answer == big);
  }(client));
}

TEST_F(WithServer, DoesNotUseAConnectionThatTheServerEndedOrThatIsTooOld) {
  options_.idle_keep = milliseconds(100'000);
  HttpClient client(loop_.executor(), options_);
  loop_.run(several(client, 1));
  EXPECT_TRUE(server_.connections() == 1);
  loop_.run([](HttpServer& server) -> asio::awaitable<void> {
    const bool clean = co_await server.stop(soon());  // closes the idle connection
    EXPECT_TRUE(clean);
  }(server_));
  loop_.settle();
  loop_.run([](HttpClient& c, int& connections) -> asio::awaitable<void> {
    // The stopped server closes the new connection unanswered: an honest error, and no second try.
    const Result<HttpClientResponse> response = co_await c.send(request_to("/n"), soon());
    EXPECT_FALSE(response);
    EXPECT_EQ(connections, 2);
  }(client, connections_));
}

TEST_F(WithServer, ClosesConnectionsThatStayIdle) {
  options_.idle_keep = milliseconds(1);
  HttpClient client(loop_.executor(), options_);
  loop_.run(several(client, 1));
  loop_.run([](HttpServer& server) -> asio::awaitable<void> {
    while (server.connections() > 0) co_await asio::post(asio::use_awaitable);
  }(server_));
}

TEST_F(WithServer, GivesUpBeforeAByteWasSentWhenAsked) {
  HttpClient client(loop_.executor(), options_);
  bool served = false;
  handler_ = [&](HttpRequest, HttpExchange&) -> asio::awaitable<void> {
    served = true;
    co_return;
  };
  loop_.run([](HttpClient& c) -> asio::awaitable<void> {
    HttpClientRequest request = request_to("/n");
    request.may_write = [] { return false; };
    const Result<HttpClientResponse> response = co_await c.send(std::move(request), soon());
    EXPECT_TRUE(!response && response.error().retry == RetryClass::not_sent);
  }(client));
  EXPECT_FALSE(served);
}

TEST_F(WithServer, ReadsEventsAsTheyCome) {
  OneShot<bool> first_seen(loop_.executor());
  handler_ = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpHeaders headers{{"Content-Type", "text/event-stream"}};
    Status status = co_await exchange.start_stream(200, std::move(headers));
    if (status) status = co_await exchange.write_chunk(sse_data("one"));
    const auto seen = co_await first_seen.wait(soon());
    EXPECT_TRUE(seen.has_value());
    if (status) status = co_await exchange.write_chunk(sse_data("two"));
    if (status) status = co_await exchange.end();
    EXPECT_TRUE(status);
  };
  HttpClient client(loop_.executor(), options_);
  std::vector<SseEvent> events;
  loop_.run([](HttpClient& c, OneShot<bool>& seen, std::vector<SseEvent>& out) -> asio::awaitable<void> {
    Result<HttpClientResponse> response = co_await c.send(request_to("/"), soon());
    EXPECT_TRUE(response);
    SseReader reader(1000);
    for (;;) {
      const Result<std::string> piece = co_await response->read_some(soon());
      EXPECT_TRUE(piece);
      if (!piece || piece->empty()) break;
      EXPECT_TRUE(reader.feed(*piece, out));
      if (out.size() == 1) seen.set(true);
    }
    EXPECT_TRUE(response->complete());
  }(client, first_seen, events));
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[1].data, "two");
}

TEST_F(WithServer, ClosesTheConnectionOfAnAnswerThatIsGivenUp) {
  OneShot<bool> left(loop_.executor());
  handler_ = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    exchange.on_disconnect([&] { left.set(true); });
    HttpHeaders none;
    const Status status = co_await exchange.start_stream(200, std::move(none));
    EXPECT_TRUE(status);
    const auto gone = co_await left.wait(soon());
    EXPECT_TRUE(gone.has_value());
  };
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c, OneShot<bool>& gone) -> asio::awaitable<void> {
    {
      const Result<HttpClientResponse> response = co_await c.send(request_to("/"), soon());
      EXPECT_TRUE(response);
    }
    while (!gone.ready()) co_await asio::post(asio::use_awaitable);
  }(client, left));
}

TEST_F(WithServer, C137_TimesOutWithoutLosingTheStream) {
  OneShot<bool> go(loop_.executor());
  handler_ = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpHeaders none;
    Status status = co_await exchange.start_stream(200, std::move(none));
    const auto went = co_await go.wait(soon());
    EXPECT_TRUE(went.has_value());
    if (status) status = co_await exchange.write_chunk("x");
    if (status) status = co_await exchange.end();
  };
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c, OneShot<bool>& g) -> asio::awaitable<void> {
    Result<HttpClientResponse> response = co_await c.send(request_to("/"), soon());
    EXPECT_TRUE(response);
    const Result<std::string> nothing = co_await response->read_some(Deadline::after(milliseconds(1)));
    EXPECT_TRUE(!nothing && nothing.error().code == ErrorCode::timeout);
    g.set(true);
    const Result<std::string> all = co_await response->read_all(10, soon());
    EXPECT_TRUE(all && *all == "x");
  }(client, go));
}

TEST_F(WithServer, HearsAnAnswerThatComesBeforeTheRequestIsWhole) {
  HttpLimits limits;
  limits.body_bytes = 1000;
  HttpServer strict(loop_.executor(), "strict", limits, count_and_echo);
  options_.connect = [&](Url, Deadline) -> asio::awaitable<StreamResult> {
    MemoryStreamPair pair = make_memory_streams(loop_.executor());
    strict.accept(std::move(pair.second));
    StreamResult stream = std::move(pair.first);
    co_return stream;
  };
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c) -> asio::awaitable<void> {
    const Result<HttpClientResponse> response = co_await c.send(request_to("/", std::string(5'000'000, 'x')), soon());
    EXPECT_TRUE(response) << response.error().message;
    if (response) EXPECT_EQ(response->status(), 413);
  }(client));
}

// ---- bounds of the pool ----

TEST_F(HttpClientTest, WaitsForAFreeConnectionAndSaysThatNothingWasSent) {
  options_.connections = 1;
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c, HttpClientTest& test, std::list<std::unique_ptr<ByteStream>>& far,
               asio::any_io_executor loop) -> asio::awaitable<void> {
    (void)test;
    TaskGroup tasks(loop);
    std::optional<Result<HttpClientResponse>> held;
    tasks.spawn("first", [](HttpClient& cl, std::optional<Result<HttpClientResponse>>& out) -> asio::awaitable<void> {
      out = co_await cl.send(request_to("/1"), soon());
    }(c, held));
    while (far.empty()) co_await asio::post(loop, asio::use_awaitable);
    const Result<HttpClientResponse> second = co_await c.send(request_to("/2"), Deadline::after(milliseconds(5)));
    EXPECT_FALSE(second);
    if (!second) {
      EXPECT_EQ(second.error().code, ErrorCode::limit);
      EXPECT_EQ(second.error().retry, RetryClass::not_sent);
    }
    const std::string request = co_await read_until(*far.front(), "{}");
    EXPECT_TRUE(request.starts_with("POST /1 "));
    // The third waits until the first has its answer, and gets the same connection.
    std::optional<Result<HttpClientResponse>> third;
    tasks.spawn("third", [](HttpClient& cl, std::optional<Result<HttpClientResponse>>& out) -> asio::awaitable<void> {
      out = co_await cl.send(request_to("/3"), soon());
    }(c, third));
    const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    Status answered = co_await far.front()->write_all(ok, soon());
    EXPECT_TRUE(answered);
    const std::string next = co_await read_until(*far.front(), "{}");
    EXPECT_TRUE(next.starts_with("POST /3 ")) << next;
    answered = co_await far.front()->write_all(ok, soon());
    EXPECT_TRUE(answered);
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended && held && *held && third && *third);
    EXPECT_EQ(far.size(), 1);
  }(client, *this, far_, loop_.executor()));
}

TEST_F(HttpClientTest, DoesNotReuseAConnectionThatSaidMoreThanItsAnswer) {
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c, std::list<std::unique_ptr<ByteStream>>& far,
               asio::any_io_executor loop) -> asio::awaitable<void> {
    for (int i = 1; i <= 2; ++i) {
      TaskGroup tasks(loop);
      std::optional<Result<HttpClientResponse>> out;
      tasks.spawn("send", [](HttpClient& cl, std::optional<Result<HttpClientResponse>>& o) -> asio::awaitable<void> {
        o = co_await cl.send(request_to("/"), soon());
      }(c, out));
      while (far.size() < static_cast<std::size_t>(i)) co_await asio::post(loop, asio::use_awaitable);
      const std::string request = co_await read_until(*far.back(), "{}");
      EXPECT_TRUE(request.starts_with("POST "));
      // An answer to a question nobody asked follows the real one.
      const Status answered = co_await far.back()->write_all(
          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", soon());
      EXPECT_TRUE(answered);
      const bool ended = co_await tasks.wait_empty(soon());
      EXPECT_TRUE(ended && out && *out);
    }
  }(client, far_, loop_.executor()));
}

TEST_F(HttpClientTest, RefusesRequestsThatCannotBeSent) {
  HttpClient client(loop_.executor(), options_);
  loop_.run([](HttpClient& c) -> asio::awaitable<void> {
    HttpClientRequest split = request_to("/x");
    split.headers.add("X", "a\r\nY: b");
    const Result<HttpClientResponse> response = co_await c.send(std::move(split), soon());
    EXPECT_TRUE(!response && response.error().code == ErrorCode::invalid);
    EXPECT_TRUE(!response && response.error().retry == RetryClass::not_sent);
  }(client));
  EXPECT_TRUE(far_.empty());
}

}  // namespace
}  // namespace sallyport::gateway
