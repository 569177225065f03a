// What clients may make us hold, and what is said at each bound; what is never lost to a bound.
#include "tests/component/clients/stdio_fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

using BoundsTest = StdioTest;

TEST_F(BoundsTest, CallsOverTheBoundOfOpenRequestsAreToldToTheRecord) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    const Form form{.session = co_await open_session(peer, {}, "2025-03-26")};
    const std::size_t bound = settings_.limits.calls_in_flight / 4 + 64;
    std::string batch = "[" + call("0", "wait", R"({"tag":"w"})");
    for (std::size_t i = 1; i < bound + 100; ++i) batch += "," + call(std::to_string(i), "wait", R"({"tag":"w"})");
    co_await peer.send(post(form, batch + "]"));
    co_await front_.until_held("w", static_cast<int>(bound));
    EXPECT_EQ(front_.over.size(), 100U);
    front_.release("w");
    const TestResponse answer = co_await peer.receive();
    std::size_t refused = 0;
    for (const auto& one : answer.json().as_array()) refused += one.as_object().contains("error") ? 1 : 0;
    EXPECT_EQ(refused, 100U);
  });
}

// One principal's open requests are counted together, over all its sessions; another's are not.
TEST_F(BoundsTest, RequestsThatAreOpenAreBoundedInBytes) {
  settings_.limits.message_bytes = 64U << 10;
  run([&]() -> asio::awaitable<void> {
    std::vector<HttpPeer> held;
    const std::string large = call("1", "wait", R"({"tag":"w","x":")" + std::string(60'000, 'x') + "\"}");
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
      HttpPeer peer = connect();
      const Form form{.session = co_await open_session(peer)};
      const int open = i - refused;
      co_await peer.send(post(form, large));
      if (open < 16) co_await turns();
      held.push_back(std::move(peer));
      refused = static_cast<int>(front_.over.size());
    }
    EXPECT_GE(refused, 3);
    EXPECT_LT(refused, 8);
    const TestResponse answer = co_await held.back().receive();
    EXPECT_TRUE(answer.body.contains("LIMIT_REACHED")) << answer.body;
    HttpPeer other = connect();
    Form theirs{.token = "secret-b"};
    theirs.session = co_await open_session(other, theirs);
    const TestResponse served = co_await other.ask(post(theirs, call("1", "echo")));
    EXPECT_EQ(served.status, 200);
    EXPECT_EQ(served.error_code(), 0);
    front_.release("w");
    for (int i = 0; i < 20 - refused; ++i) co_await held[static_cast<std::size_t>(i)].receive();
    HttpPeer again = connect();
    const Form form{.session = co_await open_session(again)};
    const TestResponse fits = co_await again.ask(post(form, large));
    EXPECT_EQ(fits.error_code(), 0);
  });
}

TEST_F(BoundsTest, AnswersThatNobodyReadsAreBoundedInBytesAndStayUndelivered) {
  settings_.limits.result_bytes = 1U << 20;
  run([&]() -> asio::awaitable<void> {
    std::vector<HttpPeer> unread;
    for (int i = 0; i < 8; ++i) {
      HttpPeer peer = connect({.capacity = 1024});
      const Form form{.session = co_await open_session(peer)};
      co_await peer.send(post(form, call("1", "big", R"({"tag":"b","bytes":1000000})")));
      unread.push_back(std::move(peer));
      co_await turns();
    }
    EXPECT_EQ(front_.delivered["b"], std::vector<bool>(4, false)) << "four are being written";
    const TestResponse left_out = co_await unread.back().receive();
    EXPECT_EQ(left_out.error_code(), mcp::code::kRefused) << left_out.body.substr(0, 200);
    const TestResponse whole = co_await unread.front().receive();
    EXPECT_GT(whole.body.size(), 1'000'000U);
    EXPECT_EQ(front_.delivered["b"].back(), true);
    HttpPeer peer = connect();
    const Form form{.session = co_await open_session(peer)};
    const TestResponse fits = co_await peer.ask(post(form, call("2", "big", R"({"tag":"c","bytes":1000})")));
    EXPECT_EQ(fits.error_code(), 0);
  });
}

TEST_F(BoundsTest, ABurstOfLogsReachesAClientThatReads) {
  run([&]() -> asio::awaitable<void> {
    std::string levels = R"("info")";
    for (int i = 1; i < 1'000; ++i) levels += R"(,"info")";
    LinePeer lines = connect_lines();
    co_await lines.begin();
    co_await lines.send(call("1", "log", R"({"levels":[)" + levels + "]}"));
    int logs = 0;
    for (std::string line = co_await lines.receive(); line.contains("notifications/message"); ++logs)
      line = co_await lines.receive();
    EXPECT_EQ(logs, 1'000);
    HttpPeer peer = connect();
    for (const std::string version : {"2025-11-25", "2025-06-18"}) {
      const Form form{.session = co_await open_session(peer, {}, version)};
      const TestResponse answer = co_await peer.ask(post(form, call("1", "log", R"({"levels":[)" + levels + "]}")));
      logs = 0;
      for (std::size_t at = 0; (at = answer.body.find("notifications/message", at)) != std::string::npos; ++at) ++logs;
      EXPECT_EQ(logs, 1'000) << version;
    }
  });
}

TEST_F(BoundsTest, AQuestionIsNotLostBehindNotes) {
  run([&]() -> asio::awaitable<void> {
    LinePeer lines = connect_lines({.capacity = 256});
    const std::string welcome = co_await lines.ask(R"({"sallyport":1,"token":"secret-a"})");
    EXPECT_EQ(welcome, R"({"ok":true})");
    std::string initialize(kInitialize);
    initialize.replace(initialize.find(R"("capabilities":{})"), 17, R"("capabilities":{"elicitation":{}})");
    co_await lines.ask(std::move(initialize));
    std::string levels = R"("info")";
    for (int i = 1; i < 6'000; ++i) levels += R"(,"info")";
    co_await lines.send(call("1", "log", R"({"levels":[)" + levels + "]}"));
    co_await lines.send(call("2", "approve"));
    std::string line = co_await lines.receive();
    while (!line.contains("elicitation/create") && !line.starts_with("<")) line = co_await lines.receive();
    EXPECT_TRUE(line.contains("May it?")) << line;
    const std::string id = boost::json::serialize(boost::json::parse(line).at("id"));
    co_await lines.send(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"action":"accept"}})");
    line = co_await lines.receive();
    while (!line.contains(R"("id":2)") && !line.starts_with("<")) line = co_await lines.receive();
    EXPECT_TRUE(line.contains("accept")) << line;
  });
}

// What the codec refuses, as every other refusal.
TEST_F(BoundsTest, WhatIsNoRequestIsRefusedWithAJsonRpcErrorToo) {
  settings_.limits.message_bytes = 1'000;
  run([&]() -> asio::awaitable<void> {
    const Form browser{.more = "Origin: http://127.0.0.1:8720\r\n"};
    HttpPeer peer = connect();
    const TestResponse large = co_await peer.ask(post(browser, std::string(2'000, ' ')));
    EXPECT_EQ(large.status, 413);
    EXPECT_EQ(large.error_code(), -32600) << large.body;
    EXPECT_EQ(large.header("Access-Control-Allow-Origin"), "http://127.0.0.1:8720");
    for (const std::string text : {"GET /mcp\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                                   "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \x01\r\n\r\n"}) {
      HttpPeer bad = connect();
      const TestResponse answer = co_await bad.ask(text);
      EXPECT_EQ(answer.status, 400) << text;
      EXPECT_EQ(answer.error_code(), -32600) << answer.body;
    }
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
