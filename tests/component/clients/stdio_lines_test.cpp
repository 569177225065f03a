// What lines may hold: ids, cancels, batches, hostile texts.
#include "tests/component/clients/stdio_fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class StdioLinesTest : public StdioTest {};

TEST_F(StdioLinesTest, IdsKeepTheirToken) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    for (const std::string id : {"0", "1", "-1", "9007199254740993", "123456789012345678901234567890", "\"\"", "\"1\"",
                                 "\"a\\u0062\\n\"", "\"\xc3\xa4\"", "\"\\ud83d\\ude00\""}) {
      const std::string answer = co_await peer.ask(call(id, "echo"));
      EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)")) << answer;
    }
    const int handled = front_.handled;
    for (const std::string id : {"1.0", "1e0", "null", "true", "{}", "[1]", "1.5"}) {
      const std::string answer = co_await peer.ask(call(id, "echo"));
      EXPECT_EQ(error_of(answer), -32600) << id;
      EXPECT_TRUE(answer.contains(R"("id":null)")) << answer;
    }
    // Without an id it is a notification: nothing is done, nothing is said. With one, nothing is a notification.
    co_await peer.send(R"({"jsonrpc":"2.0","method":"echo","params":{}})");
    const std::string note =
        co_await peer.ask(R"({"jsonrpc":"2.0","id":9,"method":"notifications/cancelled","params":{"requestId":4}})");
    EXPECT_EQ(error_of(note), -32601);
    EXPECT_EQ(front_.handled, handled);
  });
}

TEST_F(StdioLinesTest, C026OneAndQuotedOneAreTwoRequests) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send(call("1", "wait", R"({"tag":"number"})"));
    co_await front_.until_held("number");
    const std::string fast = co_await peer.ask(call("\"1\"", "echo"));
    EXPECT_TRUE(fast.contains(R"("id":"1")"));
    co_await peer.send(call("\"1\"", "wait", R"({"tag":"text"})"));
    co_await front_.until_held("text");
    co_await peer.send(cancel("1"));
    co_await turns();
    front_.release("text");
    const std::string answer = co_await peer.receive();
    EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":"1","result":{"tag":"text","cancelled":null}})");
    co_await front_.until_delivered("number");
    EXPECT_EQ(front_.delivered["number"], std::vector<bool>{false});
  });
}

TEST_F(StdioLinesTest, C028RefusesAnIdThatIsInFlightAndTakesItAgainAfterwards) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    LinePeer other = connect_lines();
    co_await peer.begin();
    co_await other.begin();
    co_await peer.send(call("\"ab\"", "wait", R"({"tag":"w"})"));
    co_await front_.until_held("w");
    const std::string twice = co_await peer.ask(call("\"a\\u0062\"", "echo"));
    EXPECT_EQ(error_of(twice), -32600);
    EXPECT_TRUE(twice.contains(R"("id":"a\u0062")"));
    // Another client may use it as it likes, and its cancel is not ours.
    const std::string elsewhere = co_await other.ask(call("\"ab\"", "echo"));
    EXPECT_EQ(error_of(elsewhere), 0);
    co_await other.send(cancel("\"ab\""));
    co_await turns();
    front_.release("w");
    const std::string answer = co_await peer.receive();
    EXPECT_TRUE(answer.contains(R"("cancelled":null)"));
    const std::string again = co_await peer.ask(call("\"ab\"", "echo"));
    EXPECT_EQ(error_of(again), 0);
  });
}

TEST_F(StdioLinesTest, C034C035CancelsAreSilentWhateverTheyNameAndWhenever) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    for (const std::string odd : {"77", "\"x\"", "null", "{}", "1.0", "[1]"}) co_await peer.send(cancel(odd));
    co_await peer.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
    co_await peer.send(call("5", "wait", R"({"tag":"w"})"));
    co_await peer.send(cancel("5"));
    co_await peer.send(cancel("5"));
    co_await front_.until_delivered("w");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
    co_await peer.send(cancel("5"));
    const std::string next = co_await peer.ask(call("6", "echo"));
    EXPECT_TRUE(next.contains(R"("id":6)")) << next;
  });
}

TEST_F(StdioLinesTest, ACancelBeforeItsRequestHasBegunIsNotLost) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    // Both lines come in one piece.
    co_await peer.send(call("5", "wait", R"({"tag":"w"})") + "\n" + cancel("5"));
    co_await front_.until_delivered("w");
    const std::string next = co_await peer.ask(call("6", "echo"));
    EXPECT_TRUE(next.contains(R"("id":6)")) << next;
  });
}

TEST_F(StdioLinesTest, C005C008LineEndsAndPrettyPrinting) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    co_await peer.send("\r\n\n" + call("1", "ping") + "\r");
    const std::string answer = co_await peer.receive();
    EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":1,"result":{}})");
    co_await peer.send("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 2,\n  \"method\": \"ping\"\n}");
    for (int i = 0; i < 5; ++i) {
      const std::string bad = co_await peer.receive();
      EXPECT_TRUE(error_of(bad) == -32700 || error_of(bad) == -32600) << bad;
    }
    const std::string good = co_await peer.ask(call("3", "ping"));
    EXPECT_TRUE(good.contains(R"("id":3)"));
    // A result with line ends in it goes out as one line.
    const std::string pretty = co_await peer.ask(call("4", "pretty"));
    EXPECT_EQ(pretty, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{   \"a\": 1,    \"b\": \"x\\ny\" }}");
  });
}

TEST_F(StdioLinesTest, C004C011C038C040HostileLinesAreAnsweredAndTheNextIsServed) {
  settings_.limits.message_bytes = 20'000;
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    co_await peer.begin();
    const int handled = front_.handled;
    struct Case {
      std::string line;
      std::int64_t code;
    };
    const std::vector<Case> cases{
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"echo\",\"params\":{\"u\":\"http://x\xff\xfe\"}}", -32700},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"u":"\ud800"}})", -32700},
        {std::string("{\"a\":\"\0\"}", 9), -32700},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","method":"wait"})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"echo"})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{},"params":{"tag":"x"}})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","\u006dethod":"wait"})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"Method":"echo","method":"wait"})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"n":NaN}})", -32700},
        {"{} {}", -32700},
        {R"({"a":1,})", -32700},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":[1]})", -32600},
        {R"({"jsonrpc":"1.0","id":1,"method":"echo"})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":7})", -32600},
        {R"({"jsonrpc":"2.0","id":1})", -32600},
        {R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})", -32600},
        {"42", -32600},
        {"[]", -32600},
        {"[" + call("1", "echo") + "]", -32600},
        {"\xef\xbb\xbf{}", -32700},
        {std::string(9'000, '[') + std::string(9'000, ']'), -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":)" + std::string(5'000, '{'), -32700},
        {std::string(30'000, 'x'), -32600}};
    for (const Case& one : cases) {
      const std::string answer = co_await peer.ask(one.line);
      const std::int64_t code = error_of(answer);
      EXPECT_TRUE(code == one.code || (code == -32600 && one.line.size() > 4'000))
          << one.line.substr(0, 100) << " -> " << answer;
      const std::string next = co_await peer.ask(call("6", "ping"));
      EXPECT_EQ(next, R"({"jsonrpc":"2.0","id":6,"result":{}})") << one.line.substr(0, 100);
    }
    EXPECT_EQ(front_.handled, handled);
    // Answers to what we never asked are passed over.
    co_await peer.send(R"({"jsonrpc":"2.0","id":1,"result":{}})");
    co_await peer.send(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}})");
    const std::string next = co_await peer.ask(call("7", "echo", R"({"path":"/ok/a\u0000/../../etc/x"})"));
    EXPECT_TRUE(next.contains(R"("params":{"path":"/ok/a\u0000/../../etc/x"})")) << next;
    co_await still_serves();
  });
}

TEST_F(StdioLinesTest, BatchesAreAnsweredAsOneArray) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    const std::string welcome = co_await peer.ask(R"({"sallyport":1,"token":"secret-a"})");
    EXPECT_EQ(welcome, R"({"ok":true})");
    std::string initialize(kInitialize);
    initialize.replace(initialize.find("2025-11-25"), 10, "2025-03-26");
    const std::string answer = co_await peer.ask(std::move(initialize));
    EXPECT_EQ(error_of(answer), 0);
    co_await peer.send("[" + call("1", "wait", R"({"tag":"w"})") + "," + call("2", "echo") + "," + cancel("1") + "]");
    const auto list = boost::json::parse(co_await peer.receive()).as_array();
    EXPECT_EQ(list.size(), 1U);  // the cancelled one wants none
    EXPECT_EQ(list.at(0).at("id").as_int64(), 2);
    co_await front_.until_delivered("w");
    EXPECT_EQ(front_.delivered["w"], std::vector<bool>{false});
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
