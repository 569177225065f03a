// Event streams: answers that take longer, the GET stream, list changes, slow readers.
#include "gateway/net/sse.hpp"
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class HttpStreamTest : public ClientsTest {
 protected:
  static bool is_comment(const std::string& event) { return event.starts_with(":"); }
};

TEST_F(HttpStreamTest, NotesOfARequestTurnItsAnswerIntoAStream) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    co_await peer.send(post(form, call("1", "notes", R"({"tag":"n","notes":3,"hold":true})")));
    const int status = co_await peer.receive_head();
    EXPECT_EQ(status, 200);
    EXPECT_EQ(peer.head().header("Content-Type"), "text/event-stream");
    EXPECT_EQ(peer.head().header("Cache-Control"), "no-cache, no-transform");
    EXPECT_EQ(peer.head().header("X-Accel-Buffering"), "no");
    for (int i = 1; i <= 3; ++i) {
      const std::string event = co_await peer.next_event();
      EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":)" +
                           std::to_string(i) + "}}");
    }
    front_.release("n");
    const std::string result = co_await peer.next_event();
    EXPECT_EQ(result, R"({"jsonrpc":"2.0","id":1,"result":{"tag":"n","cancelled":null}})");
    const std::string end = co_await peer.next_event();
    EXPECT_EQ(end, "<end>");
    EXPECT_EQ(front_.delivered["n"], std::vector<bool>{true});
    const TestResponse next = co_await peer.ask(post(form, call("2", "echo")));
    EXPECT_EQ(next.status, 200);
  });
}

TEST_F(HttpStreamTest, AClientThatTakesOnlyJsonGetsNoNotes) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer), .accept = "application/json"};
    const TestResponse answer = co_await peer.ask(post(form, call("1", "notes", R"({"tag":"n","notes":3})")));
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.body, R"({"jsonrpc":"2.0","id":1,"result":{"tag":"n","cancelled":null}})");
  });
}

TEST_F(HttpStreamTest, C137_AHeldCallShowsThatItIsAlive) {
  http_options_.stream_after = Millis(20);
  http_options_.keep_alive = Millis(20);
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    co_await peer.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await peer.receive_head();
    EXPECT_EQ(peer.head().header("Content-Type"), "text/event-stream");
    for (int i = 0; i < 3; ++i) {
      const std::string event = co_await peer.next_event();
      EXPECT_TRUE(is_comment(event)) << event;
    }
    front_.release("w");
    std::string event;
    do event = co_await peer.next_event();
    while (is_comment(event));
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","id":1,"result":{"tag":"w","cancelled":null}})");
  });
}

TEST_F(HttpStreamTest, C137_ADroppedStreamIsNoticedByItsKeepAliveAndTheCallRunsOn) {
  http_options_.stream_after = Millis(5);
  http_options_.keep_alive = Millis(5);
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer, {}, "2025-06-18")};
    co_await peer.send(post(form, call("1", "wait", R"({"tag":"w"})")));
    co_await peer.receive_head();
    peer.stream().close();
    const Deadline deadline = soon();
    while (http_->connections() > 0 && !deadline.passed()) {
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(1)));
    }
    EXPECT_EQ(http_->connections(), 0U);
    EXPECT_TRUE(front_.delivered["w"].empty());
    front_.release("w");
    co_await front_.until_delivered("w");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
  });
}

TEST_F(HttpStreamTest, LogNotesAreFilteredByTheSessionsLevel) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const TestResponse bad = co_await peer.ask(post(form, call("1", "logging/setLevel", R"({"level":"loud"})")));
    EXPECT_EQ(bad.error_code(), -32602);
    const TestResponse set = co_await peer.ask(post(form, call("2", "logging/setLevel", R"({"level":"warning"})")));
    EXPECT_EQ(set.body, R"({"jsonrpc":"2.0","id":2,"result":{}})");
    const TestResponse answer =
        co_await peer.ask(post(form, call("3", "log", R"({"levels":["debug","error","info","warning","emergency"]})")));
    EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
    EXPECT_FALSE(answer.body.contains("debug"));
    EXPECT_FALSE(answer.body.contains("info"));
    EXPECT_LT(answer.body.find("error"), answer.body.find("warning"));
    EXPECT_LT(answer.body.find("warning"), answer.body.find("emergency"));
    const TestResponse quiet = co_await peer.ask(post(form, call("4", "log", R"({"levels":["debug"]})")));
    EXPECT_EQ(quiet.header("Content-Type"), "application/json");
  });
}

TEST_F(HttpStreamTest, TellsListChangesOnceAndOnlyToWhoSeesTheServer) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer control = connect();
    HttpPeer all = connect();
    HttpPeer files = connect();
    Form everything{.session = co_await open_session(control)};
    Form one{.path = "/servers/files/mcp"};
    one.session = co_await open_session(control, one);
    co_await all.send(request("GET", everything, ""));
    co_await files.send(request("GET", one, ""));
    co_await all.receive_head();
    co_await files.receive_head();
    EXPECT_EQ(all.head().header("Content-Type"), "text/event-stream");
    std::string event = co_await all.next_event();
    EXPECT_TRUE(is_comment(event));
    event = co_await files.next_event();
    EXPECT_TRUE(is_comment(event));
    for (int i = 0; i < 5; ++i) sessions_->changed("notifications/tools/list_changed", "orders");
    event = co_await all.next_event();
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    sessions_->changed("notifications/tools/list_changed", "files");
    sessions_->changed("notifications/prompts/list_changed", "files");
    event = co_await files.next_event();
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
    event = co_await files.next_event();
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    event = co_await all.next_event();
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
  });
}

TEST_F(HttpStreamTest, AListChangeWaitsForTheNextStream) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    for (int i = 0; i < 3; ++i) {
      sessions_->changed("notifications/tools/list_changed", "");
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(5)));
    }
    co_await peer.send(request("GET", form, ""));
    co_await peer.receive_head();
    std::string event = co_await peer.next_event();
    EXPECT_TRUE(is_comment(event));
    event = co_await peer.next_event();
    EXPECT_EQ(event, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    // Once only.
    const TestResponse gone = co_await connect().ask(request("DELETE", form, ""));
    EXPECT_EQ(gone.status, 204);
    event = co_await peer.next_event();
    EXPECT_EQ(event, "<end>");
  });
}

TEST_F(HttpStreamTest, ANewStreamBeyondTheBoundEndsTheOldest) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    std::vector<HttpPeer> streams;
    for (std::size_t i = 0; i <= Session::kMaxStreams; ++i) {
      streams.push_back(connect());
      co_await streams.back().send(request("GET", form, ""));
      co_await streams.back().receive_head();
      const std::string open = co_await streams.back().next_event();
      EXPECT_TRUE(is_comment(open));
    }
    const std::string ended = co_await streams.front().next_event();
    EXPECT_EQ(ended, "<end>");
    sessions_->changed("notifications/tools/list_changed", "");
    const std::string event = co_await streams.back().next_event();
    EXPECT_TRUE(event.contains("list_changed"));
  });
}

TEST_F(HttpStreamTest, AGetNeedsItsAcceptAndAKnownVersion) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer), .accept = "application/json"};
    TestResponse answer = co_await peer.ask(request("GET", form, ""));
    EXPECT_EQ(answer.status, 406);
    form.accept = "text/event-stream";
    form.more = "MCP-Protocol-Version: 2030-01-01\r\n";
    HttpPeer other = connect();
    answer = co_await other.ask(request("GET", form, ""));
    EXPECT_EQ(answer.status, 400);
  });
}

TEST_F(HttpStreamTest, C061ASlowReaderHoldsUpOnlyItself) {
  settings_.limits.result_bytes = 8U << 20;
  run([&]() -> asio::awaitable<void> {
    HttpPeer slow = connect();
    Form form{.session = co_await open_session(slow)};
    co_await slow.send(post(form, call("1", "big", R"({"bytes":6000000,"tag":"big"})")));
    co_await turns();
    EXPECT_TRUE(front_.delivered["big"].empty());  // 64 KiB fit into the transport
    co_await still_serves();
    const TestResponse answer = co_await slow.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_GT(answer.body.size(), 6'000'000U);
    co_await front_.until_delivered("big");
    EXPECT_EQ(front_.delivered["big"], std::vector<bool>{true});
  });
}

TEST_F(HttpStreamTest, AReaderThatStopsIsGivenUpAndItsAnswerIsUndelivered) {
  http_options_.http.write_wait = Millis(30);
  run([&]() -> asio::awaitable<void> {
    HttpPeer slow = connect();
    Form form{.session = co_await open_session(slow)};
    co_await slow.send(post(form, call("1", "big", R"({"bytes":1000000,"tag":"big"})")));
    co_await front_.until_delivered("big");
    EXPECT_EQ(front_.delivered["big"], std::vector<bool>{false});
    co_await still_serves();
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
