#include "gateway/net/http_server.hpp"

#include <boost/asio/post.hpp>

#include "gateway/base/signal.hpp"
#include "gateway/net/memory_stream.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;
using testing::Loop;
using testing::read_to_end;
using testing::read_until;
using testing::soon;

// Answers with what it saw.
asio::awaitable<void> echo(HttpRequest request, HttpExchange& exchange) {
  HttpResponse response;
  response.headers.add("Content-Type", "text/plain");
  response.body = request.method + " " + request.path + " [" + request.query + "] " + request.body;
  const Status sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent);
}

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    limits_.body_bytes = 1000;
    limits_.header_bytes = 2000;
    limits_.target_bytes = 500;
    limits_.header_wait = limits_.body_wait = milliseconds(20'000);
  }
  // Everything the server says to these bytes, written in two pieces; then our side ends.
  std::string talk(std::string first, std::string second = {}) {
    std::string answer;
    loop_.run(conversation(std::move(first), std::move(second), answer));
    return answer;
  }
  asio::awaitable<void> conversation(std::string first, std::string second, std::string& answer) {
    server_ = std::make_unique<HttpServer>(loop_.executor(), "test", limits_, handler_, precheck_);
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), options_);
    server_->accept(std::move(pair.second));
    Status written = co_await pair.first->write_all(first, soon());
    // Several turns of the loop, so that the server sees the first piece on its own.
    for (int i = 0; i < 10; ++i) co_await asio::post(loop_.executor(), asio::use_awaitable);
    if (written) written = co_await pair.first->write_all(second, soon());
    if (written && end_) written = co_await pair.first->shutdown_write(soon());
    answer = co_await read_to_end(*pair.first);
    pair.first->close();
    const bool clean = co_await server_->stop(soon());
    EXPECT_TRUE(clean);
  }
  static std::string without_dates(std::string text) {
    for (std::size_t at = text.find("Date: "); at != std::string::npos; at = text.find("Date: ")) {
      text.erase(at, text.find("\r\n", at) + 2 - at);
    }
    return text;
  }

  Loop loop_;
  HttpLimits limits_;
  MemoryStreamOptions options_;
  HttpServer::Handler handler_ = echo;
  HttpServer::Precheck precheck_;
  std::unique_ptr<HttpServer> server_;
  bool end_ = true;
};

TEST_F(HttpServerTest, AnswersPipelinedRequestsHoweverTheirBytesAreCut) {
  const std::string text =
      "\r\nPOST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"
      "GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string expected =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n\r\nPOST /a [b=c] abc"
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nPOST /d [] def"
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\nConnection: close\r\n\r\nGET /e [] ";
  std::string fixed = expected;
  fixed.replace(fixed.find("16"), 2, "17");
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ASSERT_EQ(without_dates(talk(text.substr(0, cut), text.substr(cut))), fixed) << cut;
  }
  options_.read_chunk = 1;
  EXPECT_EQ(without_dates(talk(text)), fixed);
}

TEST_F(HttpServerTest, RefusesAndClosesSoThatNothingIsSmuggled) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string head :
       {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 40\r\n\r\nabc",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 40\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\nGET\r\n\r\n"}) {
    const std::string answer = talk(head + hidden);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 501")) << head << answer;
    EXPECT_EQ(answer.find("HTTP/1.1 ", 1), std::string::npos) << head << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
  }
}

TEST_F(HttpServerTest, NamesTheBoundThatWasPassed) {
  EXPECT_TRUE(talk("GET /" + std::string(3000, 'x')).starts_with("HTTP/1.1 414 "));
  EXPECT_TRUE(talk("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(3000, 'x')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(talk("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(talk("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'))
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(talk("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(
      talk("POST / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nContent-Length: 5\r\n\r\n").starts_with("HTTP/1.1 417 "));
  EXPECT_TRUE(talk("\x16\x03\x01 this is TLS\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(talk(""), "");
}

TEST_F(HttpServerTest, EndsSlowRequestsWith408) {
  end_ = false;
  limits_.header_wait = limits_.body_wait = milliseconds(5);
  EXPECT_TRUE(talk("GET / HTTP/1.1\r\nHost:").starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(talk("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc").starts_with("HTTP/1.1 408 "));
}

TEST_F(HttpServerTest, ClosesIdleConnectionsWithoutAWord) {
  end_ = false;
  limits_.idle_wait = milliseconds(5);
  EXPECT_EQ(talk(""), "");
  const std::string answer = talk("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_EQ(answer.find("<"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, SpeaksHttp10) {
  const std::string answer = talk("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n");
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  const std::string answer = talk("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 11\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

asio::awaitable<void> expect_continue(HttpServer& server, asio::any_io_executor loop, std::string& seen) {
  MemoryStreamPair pair = make_memory_streams(loop);
  server.accept(std::move(pair.second));
  const Status head = co_await pair.first->write_all(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", soon());
  EXPECT_TRUE(head);
  seen = co_await read_until(*pair.first, "\r\n\r\n");
  const Status body = co_await pair.first->write_all("abc", soon());
  EXPECT_TRUE(body);
  seen += co_await read_until(*pair.first, "abc");
}

TEST_F(HttpServerTest, AsksForTheBodyOfWhoWaits) {
  HttpServer server(loop_.executor(), "test", limits_, handler_);
  std::string seen;
  loop_.run(expect_continue(server, loop_.executor(), seen));
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")) << seen;
}

TEST_F(HttpServerTest, ChecksTheHeadBeforeTheBodyIsRead) {
  precheck_ = [](const HttpRequest& head, const ByteStream&) -> std::optional<HttpResponse> {
    EXPECT_TRUE(head.body.empty());
    if (head.headers.has("Authorization")) return std::nullopt;
    HttpResponse refusal;
    refusal.status = 401;
    return refusal;
  };
  // A whole request that is refused leaves the connection as it was; one whose body is still to come does not.
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string answer =
      talk(get + get + "GET /in HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("GET /in"), std::string::npos) << answer;
  const std::string post =
      talk("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 500\r\n\r\n", get);
  EXPECT_TRUE(post.starts_with("HTTP/1.1 401 ")) << post;
  EXPECT_NE(post.find("Connection: close"), std::string::npos) << post;
  EXPECT_EQ(post.find("HTTP/1.1", 1), std::string::npos) << post;
}

TEST_F(HttpServerTest, TurnsAFailedHandlerInto500) {
  handler_ = [](HttpRequest, HttpExchange&) -> asio::awaitable<void> {
    throw std::runtime_error("broken");
    co_return;
  };
  const std::string answer = talk("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_EQ(answer.find("broken"), std::string::npos);
  handler_ = [](HttpRequest, HttpExchange&) -> asio::awaitable<void> { co_return; };
  EXPECT_TRUE(talk("GET / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 500 "));
}

TEST_F(HttpServerTest, RefusesAnAnswerThatCannotBeSent) {
  handler_ = [](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpResponse split;
    split.headers.add("X", "a\r\nSet-Cookie: b");
    const Status sent = co_await exchange.respond(std::move(split));
    EXPECT_TRUE(!sent && sent.error().code == ErrorCode::internal);
  };
  const std::string answer = talk("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos);
}

asio::awaitable<void> stream_three(HttpRequest /*request*/, HttpExchange& exchange) {
  HttpHeaders headers{{"Content-Type", "text/event-stream"}};
  Status status = co_await exchange.start_stream(200, std::move(headers));
  for (int i = 0; i < 3 && status; ++i) status = co_await exchange.write_chunk("data: " + std::to_string(i) + "\n\n");
  EXPECT_TRUE(status);
  const Status ended = co_await exchange.end();
  EXPECT_TRUE(ended);
  const Status again = co_await exchange.write_chunk("x");
  EXPECT_FALSE(again);
}

TEST_F(HttpServerTest, StreamsInChunksAndGoesOn) {
  handler_ = stream_three;
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string chunks = "9\r\ndata: 0\n\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n";
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string expected = head + chunks + head + chunks;
  const std::string answer = without_dates(talk(get + get));
  EXPECT_EQ(answer, expected);
  EXPECT_TRUE(without_dates(talk("GET / HTTP/1.0\r\n\r\n")).ends_with("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n"));
}

TEST_F(HttpServerTest, CutsAStreamThatWasNotEnded) {
  handler_ = [](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpHeaders none;
    const Status started = co_await exchange.start_stream(200, std::move(none));
    EXPECT_TRUE(started);
    const Status sent = co_await exchange.write_chunk("half");
    EXPECT_TRUE(sent);
  };
  const std::string answer = talk("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("4\r\nhalf\r\n")) << answer;  // no last chunk
}

// ---- disconnects ----

struct Waiting {
  explicit Waiting(asio::any_io_executor loop) : left(loop), entered(loop) {}
  OneShot<bool> left;
  OneShot<bool> entered;
  std::optional<Status> delivered;
};

HttpServer::Handler wait_for_leave(Waiting& waiting) {
  return [&waiting](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    exchange.on_disconnect([&waiting] { waiting.left.set(true); });
    waiting.entered.set(true);
    const auto left = co_await waiting.left.wait(soon());
    EXPECT_TRUE(left.has_value());
    EXPECT_TRUE(exchange.disconnected());
    HttpResponse response;
    response.body = "late";
    waiting.delivered = co_await exchange.respond(std::move(response));
  };
}

asio::awaitable<void> leave(HttpServer& server, Waiting& waiting, asio::any_io_executor loop, bool half) {
  MemoryStreamPair pair = make_memory_streams(loop);
  server.accept(std::move(pair.second));
  const Status written = co_await pair.first->write_all("GET / HTTP/1.1\r\nHost: x\r\n\r\n", soon());
  EXPECT_TRUE(written);
  const auto entered = co_await waiting.entered.wait(soon());
  EXPECT_TRUE(entered.has_value());
  if (half) {
    const Status ended = co_await pair.first->shutdown_write(soon());
    EXPECT_TRUE(ended);
    const std::string answer = co_await read_to_end(*pair.first);
    EXPECT_TRUE(answer.ends_with("late")) << answer;
  } else {
    pair.first->close();
  }
  const bool clean = co_await server.stop(soon());
  EXPECT_TRUE(clean);
}

TEST_F(HttpServerTest, TellsAWaitingHandlerThatTheClientLeft) {
  Waiting waiting(loop_.executor());
  HttpServer server(loop_.executor(), "test", limits_, wait_for_leave(waiting));
  loop_.run(leave(server, waiting, loop_.executor(), false));
  ASSERT_TRUE(waiting.delivered);
  EXPECT_FALSE(*waiting.delivered);
}

TEST_F(HttpServerTest, AnswersAClientThatEndedItsSideOnly) {
  Waiting waiting(loop_.executor());
  HttpServer server(loop_.executor(), "test", limits_, wait_for_leave(waiting));
  loop_.run(leave(server, waiting, loop_.executor(), true));
  ASSERT_TRUE(waiting.delivered);
  EXPECT_TRUE(*waiting.delivered);
}

asio::awaitable<void> pipeline_behind_a_wait(HttpServer& server, asio::any_io_executor loop, OneShot<bool>& go,
                                             std::string& answer) {
  MemoryStreamPair pair = make_memory_streams(loop);
  server.accept(std::move(pair.second));
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const Status first = co_await pair.first->write_all(get, soon());
  EXPECT_TRUE(first);
  for (int i = 0; i < 20; ++i) co_await asio::post(loop, asio::use_awaitable);
  const Status second = co_await pair.first->write_all(get.substr(0, 9), soon());
  EXPECT_TRUE(second);
  for (int i = 0; i < 20; ++i) co_await asio::post(loop, asio::use_awaitable);
  go.set(true);
  for (int i = 0; i < 20; ++i) co_await asio::post(loop, asio::use_awaitable);
  const Status third = co_await pair.first->write_all(get.substr(9), soon());
  EXPECT_TRUE(third);
  const Status ended = co_await pair.first->shutdown_write(soon());
  EXPECT_TRUE(ended);
  answer = co_await read_to_end(*pair.first);
}

TEST_F(HttpServerTest, KeepsWhatItReadAheadForTheNextRequest) {
  OneShot<bool> go(loop_.executor());
  int calls = 0;
  const HttpServer::Handler handler = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    exchange.on_disconnect([] {});
    if (++calls == 1) {
      const auto went = co_await go.wait(soon());
      EXPECT_TRUE(went);
    }
    HttpResponse response;
    response.body = std::to_string(calls);
    const Status sent = co_await exchange.respond(std::move(response));
    EXPECT_TRUE(sent);
  };
  HttpServer server(loop_.executor(), "test", limits_, handler);
  std::string answer;
  loop_.run(pipeline_behind_a_wait(server, loop_.executor(), go, answer));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n2")) << answer;
}

// ---- bounds and the end ----

TEST_F(HttpServerTest, GivesUpOnAReaderThatDoesNotRead) {
  limits_.write_wait = milliseconds(5);
  std::optional<Status> delivered;
  const HttpServer::Handler handler = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    HttpResponse response;
    response.body = std::string(1 << 20, 'x');
    delivered = co_await exchange.respond(std::move(response));
  };
  HttpServer server(loop_.executor(), "test", limits_, handler);
  MemoryStreamPair pair = make_memory_streams(loop_.executor());
  asio::co_spawn(loop_.executor(), server.serve(std::move(pair.second)),
                 [](const std::exception_ptr& e) { EXPECT_FALSE(e); });
  loop_.run([](ByteStream& stream, std::optional<Status>& done) -> asio::awaitable<void> {
    const Status written = co_await stream.write_all("GET / HTTP/1.1\r\nHost: x\r\n\r\n", soon());
    EXPECT_TRUE(written);
    while (!done) co_await asio::post(stream.loop(), asio::use_awaitable);
  }(*pair.first, delivered));
  ASSERT_TRUE(delivered);
  ASSERT_FALSE(*delivered);
  EXPECT_EQ(delivered->error().code, ErrorCode::timeout);
}

asio::awaitable<void> one_too_many(HttpServer& server, asio::any_io_executor loop, std::string& refused) {
  MemoryStreamPair one = make_memory_streams(loop);
  MemoryStreamPair two = make_memory_streams(loop);
  server.accept(std::move(one.second));
  for (int i = 0; i < 5; ++i) co_await asio::post(loop, asio::use_awaitable);
  server.accept(std::move(two.second));
  const Status ended = co_await two.first->shutdown_write(soon());
  EXPECT_TRUE(ended);
  refused = co_await read_to_end(*two.first);
  // The first is served as before; stopping closes it because it is idle.
  const bool clean = co_await server.stop(soon());
  EXPECT_TRUE(clean);
  const std::string nothing = co_await read_to_end(*one.first);
  EXPECT_EQ(nothing, "");
}

TEST_F(HttpServerTest, RefusesConnectionsAboveItsBound) {
  limits_.connections = 1;
  HttpServer server(loop_.executor(), "test", limits_, handler_);
  std::string refused;
  loop_.run(one_too_many(server, loop_.executor(), refused));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
}

asio::awaitable<void> stop_while_busy(HttpServer& server, asio::any_io_executor loop, OneShot<bool>& entered,
                                      OneShot<bool>& go, std::string& answer) {
  MemoryStreamPair pair = make_memory_streams(loop);
  server.accept(std::move(pair.second));
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const Status written = co_await pair.first->write_all(get + get, soon());
  EXPECT_TRUE(written);
  const auto in = co_await entered.wait(soon());
  EXPECT_TRUE(in);
  const bool too_soon = co_await server.stop(Deadline::after(milliseconds(0)));
  EXPECT_FALSE(too_soon);
  go.set(true);
  answer = co_await read_to_end(*pair.first);
}

TEST_F(HttpServerTest, CutsBusyConnectionsWhenTheTimeToStopIsOver) {
  OneShot<bool> entered(loop_.executor());
  OneShot<bool> go(loop_.executor());
  const HttpServer::Handler handler = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    entered.set(true);
    const auto went = co_await go.wait(soon());
    HttpResponse response;
    const Status sent = co_await exchange.respond(std::move(response));
    ADD_FAILURE() << "was not cut " << went.has_value() << sent.has_value();
  };
  HttpServer server(loop_.executor(), "test", limits_, handler);
  std::string answer;
  loop_.run(stop_while_busy(server, loop_.executor(), entered, go, answer));
  EXPECT_EQ(answer, "");
}

asio::awaitable<void> stop_gently(HttpServer& server, asio::any_io_executor loop, OneShot<bool>& entered,
                                  OneShot<bool>& go, std::string& answer) {
  MemoryStreamPair pair = make_memory_streams(loop);
  server.accept(std::move(pair.second));
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const Status written = co_await pair.first->write_all(get + get, soon());
  EXPECT_TRUE(written);
  const auto in = co_await entered.wait(soon());
  EXPECT_TRUE(in);
  TaskGroup tasks(loop);
  bool clean = false;
  tasks.spawn("stop", [](HttpServer& stopped, bool& result) -> asio::awaitable<void> {
    result = co_await stopped.stop(soon());
  }(server, clean));
  for (int i = 0; i < 5; ++i) co_await asio::post(loop, asio::use_awaitable);
  go.set(true);
  answer = co_await read_to_end(*pair.first);
  pair.first->close();
  const bool done = co_await tasks.wait_empty(soon());
  EXPECT_TRUE(done);
  EXPECT_TRUE(clean);
}

// Large bodies that come slowly, on many connections.
TEST_F(HttpServerTest, BoundsWhatAllConnectionsTogetherAreSending) {
  limits_.body_bytes = 100'000;
  HttpServer server(loop_.executor(), "test", limits_, handler_);
  loop_.run([](HttpServer& to, asio::any_io_executor loop) -> asio::awaitable<void> {
    std::vector<std::unique_ptr<ByteStream>> peers;
    const auto begin = [&](std::size_t bytes) -> asio::awaitable<void> {
      MemoryStreamPair pair = make_memory_streams(loop, {.capacity = 1U << 20});
      to.accept(std::move(pair.second));
      const std::string text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n" + std::string(bytes, 'x');
      const Status written = co_await pair.first->write_all(text, soon());
      EXPECT_TRUE(written);
      peers.push_back(std::move(pair.first));
    };
    for (int i = 0; i < 65; ++i) co_await begin(99'998);
    for (int i = 0; i < 200; ++i) co_await asio::post(loop, asio::use_awaitable);
    const std::string refused = co_await read_until(*peers.back(), "\r\n");
    EXPECT_EQ(refused, "HTTP/1.1 503 Service Unavailable\r\n");
    co_await begin(10'000);
    const Status rest = co_await peers.front()->write_all("x", soon());
    EXPECT_TRUE(rest);
    const std::string answered = co_await read_until(*peers.front(), "\r\n");
    EXPECT_EQ(answered, "HTTP/1.1 200 OK\r\n");
    const Status small = co_await peers.back()->write_all(std::string(89'999, 'x'), soon());
    EXPECT_TRUE(small);
    const std::string taken = co_await read_until(*peers.back(), "\r\n");
    EXPECT_EQ(taken, "HTTP/1.1 200 OK\r\n") << "there is room again";
    for (const auto& peer : peers) peer->close();
  }(server, loop_.executor()));
}

TEST_F(HttpServerTest, FinishesTheRequestInHandWhenItStops) {
  OneShot<bool> entered(loop_.executor());
  OneShot<bool> go(loop_.executor());
  const HttpServer::Handler handler = [&](HttpRequest, HttpExchange& exchange) -> asio::awaitable<void> {
    entered.set(true);
    const auto went = co_await go.wait(soon());
    EXPECT_TRUE(went);
    HttpResponse response;
    response.body = "done";
    const Status sent = co_await exchange.respond(std::move(response));
    EXPECT_TRUE(sent);
  };
  HttpServer server(loop_.executor(), "test", limits_, handler);
  std::string answer;
  loop_.run(stop_gently(server, loop_.executor(), entered, go, answer));
  EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\ndone")) << answer;
}

}  // namespace
}  // namespace sallyport::gateway
