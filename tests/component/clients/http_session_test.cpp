// Sessions over HTTP: whose they are, how many, when they end; requests that outlive their connection.
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class HttpSessionTest : public ClientsTest {};

TEST_F(HttpSessionTest, C067C068TellsMissingFromUnknownSessions) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    const TestResponse missing = co_await peer.ask(post({}, call("41", "echo")));
    EXPECT_EQ(missing.status, 400);
    EXPECT_EQ(missing.json().at("id").as_int64(), 41);
    const TestResponse unknown = co_await peer.ask(post({.session = "bogus"}, call("42", "echo")));
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(unknown.header("Content-Type"), "application/json");
    EXPECT_EQ(unknown.json().at("id").as_int64(), 42);
    EXPECT_EQ(unknown.error_code(), -32001);
    const TestResponse note = co_await peer.ask(post({}, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
    EXPECT_EQ(note.status, 400);
    EXPECT_EQ(front_.handled, 0);
  });
}

TEST_F(HttpSessionTest, AForeignSessionLooksExactlyLikeNone) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    const std::string session = co_await open_session(peer);
    HttpPeer thief = connect();
    for (const std::string method : {"POST", "GET", "DELETE"}) {
      const TestResponse foreign =
          co_await thief.ask(request(method, {.token = "secret-b", .session = session}, call("9", "echo")));
      const TestResponse unknown = co_await thief.ask(
          request(method, {.token = "secret-b", .session = std::string(session.size(), 'x')}, call("9", "echo")));
      EXPECT_EQ(foreign.status, 404) << method;
      EXPECT_EQ(foreign.status, unknown.status);
      EXPECT_EQ(foreign.body, unknown.body);
      EXPECT_EQ(foreign.headers.fields().size(), unknown.headers.fields().size());
    }
    EXPECT_EQ(front_.handled, 0);
    Form form{.session = session};
    const TestResponse own = co_await peer.ask(post(form, call("1", "echo")));
    EXPECT_EQ(own.status, 200);
  });
}

TEST_F(HttpSessionTest, SessionIdsAreLongAndNeverAlike) {
  run([&]() -> asio::awaitable<void> {
    std::set<std::string> seen;
    HttpPeer peer = connect();
    for (int i = 0; i < 200; ++i) {
      const TestResponse answer = co_await peer.ask(post({}, kInitialize));
      const std::string id = answer.header("Mcp-Session-Id");
      EXPECT_EQ(id.size(), 32U);  // 24 bytes as base64url
      EXPECT_TRUE(seen.insert(id).second);
    }
    EXPECT_EQ(sessions_->count(), 200U);
  });
}

TEST_F(HttpSessionTest, EndsASessionByDelete) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    HttpPeer other = connect();
    co_await other.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    const TestResponse gone = co_await peer.ask(request("DELETE", form, ""));
    EXPECT_EQ(gone.status, 204);
    // What was open is told, and whoever waits for it still gets its answer.
    const TestResponse answer = co_await other.receive();
    EXPECT_EQ(answer.json().at("result").at("cancelled").as_string(), "client");
    const TestResponse after = co_await peer.ask(post(form, call("1", "echo")));
    EXPECT_EQ(after.status, 404);
    const TestResponse twice = co_await peer.ask(request("DELETE", form, ""));
    EXPECT_EQ(twice.status, 404);
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(HttpSessionTest, RefusesASecondInitializeOfASession) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const TestResponse again = co_await peer.ask(post(form, kInitialize));
    EXPECT_EQ(again.error_code(), -32600);
    EXPECT_EQ(sessions_->count(), 1U);
    const TestResponse bad =
        co_await peer.ask(post({}, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"));
    EXPECT_EQ(bad.error_code(), -32602);
    EXPECT_EQ(bad.header("Mcp-Session-Id"), "");
    EXPECT_EQ(sessions_->count(), 1U);
  });
}

TEST_F(HttpSessionTest, CapsSessionsWithAClearAnswer) {
  settings_.limits.sessions = 4;
  run([&]() -> asio::awaitable<void> {
    HttpPeer a = connect();
    HttpPeer b = connect();
    const std::string first = co_await open_session(a);
    co_await open_session(a);
    // Half of them is one client's share.
    const TestResponse share = co_await a.ask(post({}, kInitialize));
    EXPECT_EQ(share.status, 429);
    EXPECT_EQ(share.header("Retry-After"), "5");
    EXPECT_NE(share.error_code(), 0);
    co_await open_session(b, {.token = "secret-b"});
    co_await open_session(b, {.token = "secret-b"});
    const TestResponse full = co_await b.ask(post({.token = "secret-b"}, kInitialize));
    EXPECT_EQ(full.status, 503);
    const TestResponse gone = co_await a.ask(request("DELETE", {.session = first}, ""));
    EXPECT_EQ(gone.status, 204);
    co_await open_session(a);
    EXPECT_EQ(sessions_->count(), 4U);
  });
}

TEST_F(HttpSessionTest, C070C071EndsIdleSessionsButNoBusyOnes) {
  auto now = std::make_shared<Deadline::Clock::time_point>(Deadline::Clock::now());
  session_options_.now = [now] { return *now; };
  std::size_t counted = 99;
  session_options_.on_count = [&counted](std::size_t count) { counted = count; };
  run([&, now]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    HttpPeer other = connect();
    HttpPeer stream = connect();
    Form idle{.session = co_await open_session(peer)};
    Form busy{.session = co_await open_session(peer)};
    Form streaming{.session = co_await open_session(peer)};
    co_await other.send(post(busy, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    co_await stream.send(request("GET", streaming, ""));
    co_await stream.receive_head();
    *now += std::chrono::minutes(29);
    sessions_->sweep();
    EXPECT_EQ(sessions_->count(), 3U);
    *now += std::chrono::minutes(2);
    sessions_->sweep();
    EXPECT_EQ(sessions_->count(), 2U);
    EXPECT_EQ(counted, 2U);
    const TestResponse expired = co_await peer.ask(post(idle, call("1", "echo")));
    EXPECT_EQ(expired.status, 404);
    // Idleness begins when the last request or stream has ended.
    front_.release("w");
    const TestResponse answer = co_await other.receive();
    EXPECT_EQ(answer.status, 200);
    stream.stream().close();
    co_await turns();
    *now += std::chrono::minutes(29);
    sessions_->sweep();
    EXPECT_EQ(sessions_->count(), 2U);
    *now += std::chrono::minutes(2);
    sessions_->sweep();
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(HttpSessionTest, C028GivesEveryExchangeItsOwnAnswer) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer one = connect();
    HttpPeer two = connect();
    Form form{.session = co_await open_session(one)};
    co_await one.send(post(form, call("1", "wait", R"({"tag":"slow"})")));
    co_await front_.until_held("slow");
    const TestResponse fast = co_await two.ask(post(form, call("1", "echo", R"({"tag":"fast"})")));
    EXPECT_EQ(fast.json().at("result").at("params").at("tag").as_string(), "fast");
    // A cancel that could mean two requests means none.
    co_await two.send(post(form, call("1", "wait", R"({"tag":"slow2"})")));
    co_await front_.until_held("slow2");
    HttpPeer three = connect();
    const std::string cancel = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})";
    const TestResponse noted = co_await three.ask(post(form, cancel));
    EXPECT_EQ(noted.status, 202);
    front_.release("slow");
    const TestResponse slow = co_await one.receive();
    EXPECT_TRUE(slow.json().at("result").at("cancelled").is_null());
    // Now it means one.
    const TestResponse again = co_await three.ask(post(form, cancel));
    EXPECT_EQ(again.status, 202);
    const TestResponse cancelled = co_await two.receive();
    EXPECT_EQ(cancelled.header("Content-Type"), "text/event-stream");
    EXPECT_EQ(cancelled.body, "");
    EXPECT_EQ(front_.delivered["slow2"], std::vector<bool>{false});
  });
}

TEST_F(HttpSessionTest, AnswersACancelledRequestOfAClientThatTakesOnlyJson) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer one = connect();
    HttpPeer two = connect();
    Form form{.session = co_await open_session(one), .accept = "application/json"};
    co_await one.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    co_await two.send(post(form, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"));
    const TestResponse answer = co_await one.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json().at("result").at("cancelled").as_string(), "client");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
  });
}

TEST_F(HttpSessionTest, C052ADisconnectDoesNotCancelAndTheAnswerIsUndelivered) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    for (const std::string accept : {"application/json", "application/json, text/event-stream"}) {
      const std::string tag = "w" + std::to_string(accept.size());
      HttpPeer leaves = connect();
      form.accept = accept;
      co_await leaves.send(post(form, call("1", "wait", R"({"tag":")" + tag + "\"}")));
      co_await front_.until_held(tag);
      leaves.stream().close();
      co_await turns();
      EXPECT_TRUE(front_.delivered[tag].empty());
      front_.release(tag);
      co_await front_.until_delivered(tag);
      EXPECT_EQ(front_.delivered[tag], std::vector<bool>{false});
      EXPECT_FALSE(front_.was_open[tag]);
    }
    co_await still_serves();
  });
}

TEST_F(HttpSessionTest, AnswersAClientThatHalfClosedButDoesNotCallThatDelivered) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    co_await peer.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    const Status ended = co_await peer.stream().shutdown_write(soon());
    EXPECT_TRUE(ended);
    co_await turns();
    front_.release("w");
    const TestResponse answer = co_await peer.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.contains(R"("tag":"w")"));
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
  });
}

TEST_F(HttpSessionTest, ShutsDownInOrder) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    HttpPeer waiting = connect();
    HttpPeer stream = connect();
    Form form{.session = co_await open_session(peer)};
    co_await waiting.send(post(form, call("1", "wait", R"({"tag":"finishes"})")));
    co_await front_.until_held("finishes");
    co_await stream.send(request("GET", form, ""));
    co_await stream.receive_head();
    bool clean = false;
    TaskGroup tasks(loop_.executor());
    auto shut = [&]() -> asio::awaitable<void> { clean = co_await http_->shutdown(soon()); };
    tasks.spawn("shutdown", shut());
    co_await turns();
    front_.release("finishes");
    const TestResponse answer = co_await waiting.receive();
    EXPECT_TRUE(answer.json().at("result").at("cancelled").is_null());
    EXPECT_EQ(front_.delivered["finishes"], std::vector<bool>{true});
    std::string event;
    do event = co_await stream.next_event();
    while (event.starts_with(":"));
    EXPECT_EQ(event, "<end>");
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended && clean);
  });
}

TEST_F(HttpSessionTest, CancelsAtShutdownWhatDoesNotFinish) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    co_await peer.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await front_.until_held("w");
    const bool clean = co_await http_->shutdown(Deadline::after(std::chrono::milliseconds(300)));
    EXPECT_TRUE(clean);  // it heard of it, and its answer was written
    const TestResponse answer = co_await peer.receive();
    EXPECT_EQ(answer.json().at("result").at("cancelled").as_string(), "shutdown");
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
