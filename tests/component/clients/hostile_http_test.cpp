// What hostile or broken HTTP clients send: a clear answer, and the next one is served. And the same answers however
// the bytes are cut.
#include "gateway/clients/hello.hpp"
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class HostileHttpTest : public ClientsTest {
 protected:
  static std::string without_dates(std::string text) {
    for (std::size_t at = text.find("Date: "); at != std::string::npos; at = text.find("Date: ")) {
      text.erase(at, text.find("\r\n", at) + 2 - at);
    }
    return text;
  }
  // What the server says to these bytes, sent in two pieces.
  asio::awaitable<std::string> talk(std::string text, std::size_t cut) {
    HttpPeer peer = connect();
    co_await peer.send(text.substr(0, cut));
    co_await turns(6);
    if (cut < text.size()) co_await peer.send(text.substr(cut));
    const Status ended = co_await peer.stream().shutdown_write(soon());
    EXPECT_TRUE(ended);
    const std::string answer = co_await read_to_end(peer.stream());
    co_return without_dates(answer);
  }
};

TEST_F(HostileHttpTest, EveryMalformedBodyIsRefusedWithAnErrorAndTheNextRequestIsServed) {
  settings_.limits.message_bytes = 40'000;
  run([&]() -> asio::awaitable<void> {
    HttpPeer control = connect();
    Form form{.session = co_await open_session(control)};
    struct Case {
      std::string body;
      int status;
      std::int64_t code;
    };
    const std::vector<Case> cases{
        {"", 400, -32700},
        {"{", 400, -32700},
        {call("1", "echo").substr(0, 30), 400, -32700},
        {std::string(10'000, '[') + std::string(10'000, ']'), 400, -32600},
        {std::string(10'000, '['), 400, 0},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"u":")"
         "\xff\xfe\"}}",
         400, -32700},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","method":"wait"})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"a","name":"b"}})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"a","\u006eame":"b"}})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"a","Name":"b"}})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":null,"method":"echo"})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":1.5,"method":"echo"})", 400, -32600},
        {R"({"jsonrpc":"2.0","id":1,"method":"echo"}x)", 400, -32700},
        {"null", 400, -32600},
        {"[]", 400, -32600},
        {"[" + call("1", "echo") + "]", 400, -32600},
        {std::string("\0", 1), 400, -32700}};
    for (const Case& one : cases) {
      const TestResponse answer = co_await control.ask(post(form, one.body));
      EXPECT_EQ(answer.status, one.status) << one.body.substr(0, 80);
      EXPECT_EQ(answer.header("Content-Type"), "application/json");
      if (one.code != 0) EXPECT_EQ(answer.error_code(), one.code) << one.body.substr(0, 80) << answer.body;
      EXPECT_NE(answer.error_code(), 0);
    }
    EXPECT_EQ(front_.handled, 0);
    HttpPeer large = connect();
    const TestResponse too_large = co_await large.ask(post(form, std::string(40'001, ' ')));
    EXPECT_EQ(too_large.status, 413);
    const TestResponse own = co_await control.ask(post(form, call("1", "echo")));
    EXPECT_EQ(own.status, 200);
    co_await still_serves();
  });
}

TEST_F(HostileHttpTest, DepthIsBoundedExactlyByTheSetting) {
  settings_.limits.depth = 20;
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    for (const int depth : {18, 19}) {  // beside the message and its params
      const std::string nested = std::string(depth, '[') + std::string(depth, ']');
      const TestResponse answer = co_await peer.ask(post(form, call("1", "echo", R"({"x":)" + nested + "}")));
      EXPECT_EQ(answer.status, depth == 18 ? 200 : 400);
    }
  });
}

TEST_F(HostileHttpTest, TheSameAnswerHoweverTheBytesAreCut) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer, {}, "2025-06-18")};  // without event ids, which never repeat
    Form last = form;
    last.more = "Connection: close\r\n";
    const std::string fixture =
        post(form, call("1", "notes", R"({"tag":"n","notes":2})")) +
        post(form, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})") +
        post(form,
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"\xc3\xa4\":\"\xf0\x9f\x98\x80\"}}") +
        post(last, "{\"bad\":}");
    const std::string whole = co_await talk(fixture, fixture.size());
    EXPECT_TRUE(whole.contains("text/event-stream")) << whole;
    EXPECT_TRUE(whole.contains("202 Accepted"));
    EXPECT_TRUE(whole.contains("\xf0\x9f\x98\x80"));
    EXPECT_TRUE(whole.contains("400 Bad Request"));
    for (std::size_t cut = 0; cut < fixture.size(); ++cut) {
      const std::string answer = co_await talk(fixture, cut);
      if (answer != whole) {
        ADD_FAILURE() << "cut at " << cut << ": " << answer;
        co_return;
      }
    }
  });
}

TEST_F(HostileHttpTest, ARequestThatEndsEarlyRunsNothing) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const std::string text = post(form, call("1", "echo"));
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      const std::string answer = co_await talk(text.substr(0, cut), cut);
      EXPECT_FALSE(answer.contains(" 200 ")) << cut;
    }
    EXPECT_EQ(front_.handled, 0);
    co_await still_serves();
  });
}

TEST_F(HostileHttpTest, ABodyIsNotReadForAStranger) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    std::string head = post({.token = "wrong"}, std::string(1'000'000, 'x'));
    head.resize(head.find("\r\n\r\n") + 4);
    const TestResponse answer = co_await peer.ask(head);  // not a byte of the body was sent
    EXPECT_EQ(answer.status, 401);
  });
}

TEST_F(HostileHttpTest, LinesGiveTheSameAnswersHoweverTheyAreCut) {
  run([&]() -> asio::awaitable<void> {
    const std::string fixture = R"({"sallyport":1,"token":"secret-a"})"
                                "\r\n" +
                                std::string(kInitialize) + "\n\n" + call("1", "notes", R"({"tag":"n","notes":2})") +
                                "\r\n{\"bad\":}\n" + call("\"\xc3\xa4\"", "echo", "{\"x\":\"\xf0\x9f\x98\x80\"}") +
                                "\n";
    std::string whole;
    for (std::size_t cut = 0; cut <= fixture.size(); ++cut) {
      LinePeer peer = connect_lines();
      const Status first = co_await peer.stream().write_all(fixture.substr(0, cut), soon());
      co_await turns(6);
      const Status second = co_await peer.stream().write_all(fixture.substr(cut), soon());
      const Status ended = co_await peer.stream().shutdown_write(soon());
      EXPECT_TRUE(first && second && ended);
      std::vector<std::string> lines;
      for (std::string line = co_await peer.receive(); line != "<end>"; line = co_await peer.receive()) {
        lines.push_back(line);
      }
      EXPECT_EQ(lines.size(), 7U);
      std::ranges::sort(lines);  // answers come in any order
      std::string all;
      for (const std::string& line : lines) all += line + "\n";
      if (cut == 0) whole = all;
      if (all != whole) {
        ADD_FAILURE() << "cut at " << cut << ": " << all;
        co_return;
      }
    }
    EXPECT_TRUE(whole.contains("\xf0\x9f\x98\x80"));
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
