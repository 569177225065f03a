// The front for lines of JSON: hello, ids, cancels, ends, slow readers.
#include "tests/component/clients/stdio_fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class StdioFrontTest : public StdioTest {};

TEST_F(StdioFrontTest, GreetsAndServes) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin(R"({"sallyport":1,"token":"secret-b","server":"files"})");
    const std::string answer = co_await peer.ask(call("1", "echo", R"({"x":1e2})"));
    EXPECT_EQ(answer,
              R"({"jsonrpc":"2.0","id":1,"result":{"principal":"agent:b","server":"files","params":{"x":1e2}}})");
    EXPECT_EQ(front_.last_client->transport, "stdio");
    EXPECT_EQ(front_.last_key, "<none>");
    EXPECT_EQ(sessions_->count(), 1U);
    peer.stream().close();
    co_await until_no_connection();
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(StdioFrontTest, KnowsAPeerOfItsOwnUserAndNoOther) {
  run([&]() -> asio::awaitable<void> {
    MemoryStreamOptions own{.peer_uid = 1000};
    LinePeer peer = connect_lines(own);
    co_await peer.begin(R"({"sallyport":1})");
    const std::string answer = co_await peer.ask(call("1", "echo"));
    EXPECT_TRUE(answer.contains(R"("principal":"local:1000")")) << answer;
    MemoryStreamOptions other{.peer_uid = 1001};
    LinePeer stranger = connect_lines(other);
    const std::string refused = co_await stranger.ask(R"({"sallyport":1})");
    EXPECT_EQ(refused, R"({"error":"a client's token is needed"})");
    const std::string end = co_await stranger.receive();
    EXPECT_EQ(end, "<end>");
  });
}

TEST_F(StdioFrontTest, RefusesOtherHellosWithAReason) {
  run([&]() -> asio::awaitable<void> {
    for (const std::string hello :
         {R"({"sallyport":2})", R"({"sallyport":"1"})", R"({"jsonrpc":"2.0","id":1,"method":"ping"})", "x", "[]", "",
          R"({"sallyport":1,"token":7})", R"({"sallyport":1,"token":"wrong"})", R"({"sallyport":1,"token":""})",
          R"({"sallyport":1,"token":"secret-a","server":"nope"})",
          R"({"sallyport":1,"token":"secret-b","token":"secret-a"})", "GET / HTTP/1.1\r", "\xff\xfe"}) {
      LinePeer peer = connect_lines();
      const std::string answer = co_await peer.ask(hello);
      EXPECT_TRUE(answer.starts_with(R"({"error":")")) << hello << " -> " << answer;
      const std::string end = co_await peer.receive();
      EXPECT_EQ(end, "<end>");
    }
    co_await until_no_connection();
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(StdioFrontTest, DoesNotWaitForAHelloForever) {
  stdio_options_.hello_wait = Millis(20);
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    const std::string answer = co_await peer.receive();
    EXPECT_TRUE(answer.starts_with(R"({"error":"no hello)")) << answer;
    co_await until_no_connection();
  });
}

TEST_F(StdioFrontTest, NothingButPingComesBeforeInitialize) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    const std::string welcome = co_await peer.ask(R"({"sallyport":1,"token":"secret-a"})");
    EXPECT_EQ(welcome, R"({"ok":true})");
    const std::string ping = co_await peer.ask(call("1", "ping"));
    EXPECT_EQ(ping, R"({"jsonrpc":"2.0","id":1,"result":{}})");
    for (const std::string method : {"echo", "tools/list", "logging/setLevel"}) {
      const std::string early = co_await peer.ask(call("2", method));
      EXPECT_EQ(error_of(early), -32600) << early;
    }
    EXPECT_EQ(front_.handled, 0);
    const std::string answer = co_await peer.ask(std::string(kInitialize));
    EXPECT_EQ(error_of(answer), 0);
    const std::string echo = co_await peer.ask(call("3", "echo"));
    EXPECT_EQ(error_of(echo), 0);
    const std::string again = co_await peer.ask(std::string(kInitialize));
    EXPECT_EQ(error_of(again), -32600);
  });
}

// Each id has one right behaviour: C025, C026, C031.
TEST_F(StdioFrontTest, AnswersComeInAnyOrderAndNotesBeforeThem) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "wait", R"({"tag":"first"})"));
    co_await front_.until_held("first");
    co_await peer.send(call("2", "notes", R"({"tag":"second","notes":2})"));
    for (int i = 1; i <= 2; ++i) {
      const std::string note = co_await peer.receive();
      EXPECT_TRUE(note.contains(R"("progress":)" + std::to_string(i))) << note;
    }
    const std::string second = co_await peer.receive();
    EXPECT_TRUE(second.contains(R"("id":2)"));
    front_.release("first");
    const std::string first = co_await peer.receive();
    EXPECT_TRUE(first.contains(R"("id":1)"));
    EXPECT_EQ(front_.delivered["first"], std::vector<bool>{true});
  });
}

TEST_F(StdioFrontTest, AnEndCancelsWhatIsOpenAndEndsTheSession) {
  stdio_options_.end_grace = Millis(10);
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "wait", R"({"tag":"w"})"));
    co_await front_.until_held("w");
    const Status ended = co_await peer.stream().shutdown_write(soon());
    EXPECT_TRUE(ended);
    const std::string answer = co_await peer.receive();
    EXPECT_TRUE(answer.contains(R"("cancelled":"disconnect")")) << answer;
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{true});
    co_await until_no_connection();
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(StdioFrontTest, APeerThatIsGoneGetsNothingDelivered) {
  stdio_options_.end_grace = Millis(10);
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "wait", R"({"tag":"w"})"));
    co_await front_.until_held("w");
    peer.stream().close();
    co_await front_.until_delivered("w");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
    co_await until_no_connection();
    EXPECT_EQ(sessions_->count(), 0U);
    co_await still_serves();
  });
}

TEST_F(StdioFrontTest, RequestsPipedInBeforeTheEndAreAnswered) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.send(R"({"sallyport":1,"token":"secret-a"})"
                       "\n" +
                       std::string(kInitialize) + "\n" + call("1", "echo"));
    const Status ended = co_await peer.stream().shutdown_write(soon());
    EXPECT_TRUE(ended);
    std::vector<std::string> lines;
    for (int i = 0; i < 4; ++i) lines.push_back(co_await peer.receive());
    EXPECT_TRUE(lines[1].contains("protocolVersion"));
    EXPECT_TRUE(lines[2].contains(R"("id":1,"result")"));
    EXPECT_EQ(lines[3], "<end>");
  });
}

TEST_F(StdioFrontTest, ASlowReaderIsNotReadFromAndHoldsUpNobodyElse) {
  stdio_options_.high_water = 100'000;
  run([&]() -> asio::awaitable<void> {
    LinePeer slow = connect_lines();
    co_await slow.begin();
    std::string flood;
    for (int i = 0; i < 40; ++i) flood += call(std::to_string(i), "big", R"({"bytes":100000})") + "\n";
    flood.pop_back();
    co_await slow.send(std::move(flood));
    co_await turns(200);
    // What fits into the transport, one in the writer's hands, and not much more than the high water.
    const int handled = front_.handled;
    EXPECT_LT(handled, 40);
    co_await still_serves();
    LinePeer other = connect_lines();
    co_await other.begin();
    const std::string answer = co_await other.ask(call("1", "echo"));
    EXPECT_TRUE(answer.contains("result"));
    std::set<std::string> ids;
    for (int i = 0; i < 40; ++i) {
      const std::string line = co_await slow.receive();
      EXPECT_GT(line.size(), 100'000U);
      ids.insert(line.substr(0, 30));
    }
    EXPECT_EQ(ids.size(), 40U);
  });
}

TEST_F(StdioFrontTest, AReaderThatStopsIsGivenUp) {
  stdio_options_.write_wait = Millis(30);
  stdio_options_.end_grace = Millis(1);
  run([&]() -> asio::awaitable<void> {
    LinePeer slow = connect_lines();
    co_await slow.begin();
    co_await slow.send(call("1", "big", R"({"bytes":1000000,"tag":"big"})"));
    co_await front_.until_delivered("big");
    EXPECT_EQ(front_.delivered["big"], std::vector<bool>{false});
    co_await until_no_connection();
  });
}

TEST_F(StdioFrontTest, ProgressIsDroppedFirstAndTheAnswerNever) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "notes", R"({"tag":"n","notes":100000})"));
    std::int64_t last = 0;
    int notes = 0;
    for (;;) {
      const auto value = boost::json::parse(co_await peer.receive());
      if (!value.as_object().contains("method")) {
        EXPECT_EQ(value.at("id").as_int64(), 1);
        break;
      }
      const std::int64_t progress = value.at("params").at("progress").as_int64();
      EXPECT_GT(progress, last);
      last = progress;
      ++notes;
    }
    EXPECT_EQ(last, 100'000);  // the newest is kept
    EXPECT_LE(notes, 4'096);
  });
}

TEST_F(StdioFrontTest, BoundsTheOpenRequestsOfASession) {
  settings_.limits.calls_in_flight = 16;  // 16 / 4 + 64
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    for (int i = 0; i < 68; ++i) co_await peer.send(call(std::to_string(i), "wait", R"({"tag":"w"})"));
    co_await front_.until_held("w", 68);
    const std::string refused = co_await peer.ask(call("100", "echo"));
    EXPECT_TRUE(refused.contains("LIMIT_REACHED")) << refused;
    EXPECT_EQ(error_of(refused), mcp::code::kRefused);
    front_.release("w");
    for (int i = 0; i < 68; ++i) {
      const std::string answer = co_await peer.receive();
      EXPECT_TRUE(answer.contains(R"("cancelled":null)"));
    }
  });
}

TEST_F(StdioFrontTest, ListChangesReachTheConnection) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await turns();
    sessions_->changed("notifications/tools/list_changed", "files");
    sessions_->changed("notifications/tools/list_changed", "orders");
    const std::string note = co_await peer.receive();
    EXPECT_EQ(note, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    const std::string answer = co_await peer.ask(call("1", "ping"));
    EXPECT_TRUE(answer.contains(R"("id":1)")) << answer;
  });
}

TEST_F(StdioFrontTest, ShutsDownInOrder) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    LinePeer late = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "wait", R"({"tag":"w"})"));
    co_await front_.until_held("w");
    bool clean = false;
    TaskGroup tasks(loop_.executor());
    auto shut = [&]() -> asio::awaitable<void> { clean = co_await stdio_->shutdown(soon()); };
    tasks.spawn("shutdown", shut());
    co_await turns();
    const std::string refused = co_await peer.ask(call("2", "echo"));
    EXPECT_EQ(error_of(refused), mcp::code::kRefused);
    const std::string hello = co_await late.ask(R"({"sallyport":1,"token":"secret-a"})");
    EXPECT_EQ(hello, R"({"error":"the gateway is shutting down"})");
    front_.release("w");
    const std::string answer = co_await peer.receive();
    EXPECT_TRUE(answer.contains(R"("cancelled":null)"));
    const std::string end = co_await peer.receive();
    EXPECT_EQ(end, "<end>");
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended && clean);
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{true});
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(StdioFrontTest, RefusesConnectionsBeyondItsBound) {
  stdio_options_.connections = 1;
  run([&]() -> asio::awaitable<void> {
    LinePeer first = connect_lines();
    co_await first.begin();
    LinePeer second = connect_lines();
    const std::string answer = co_await second.ask(R"({"sallyport":1,"token":"secret-a"})");
    EXPECT_EQ(answer, R"({"error":"too many connections: try again later"})");
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
