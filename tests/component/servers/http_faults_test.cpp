// What HTTP servers do wrong (field reports C044 to C077), and that no call is ever sent twice.
#include "tests/component/servers/http_support.hpp"

namespace sallyport::gateway {
namespace {

using Kind = ServerAnswer::Kind;

class HttpFaultsTest : public HttpServersTest {
 protected:
  ServerAnswer status(ServerLink& server, const std::string& arguments) { return call(server, "status", arguments); }
};

TEST_F(HttpFaultsTest, NobodyThereIsNotSent) {
  url_ = "http://127.0.0.1:1/mcp";
  make_pool(http());
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().retry, RetryClass::not_sent);
  EXPECT_EQ(pool_->status()[0].state, ServerState::down);
}

TEST_F(HttpFaultsTest, PlainHttpIsForThisMachineOnly) {
  url_ = "http://orders.example/mcp";
  make_pool(http());
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("use https"), std::string::npos) << made.error().message;
}

TEST_F(HttpFaultsTest, AServerThatWentAwayIsKnownNotToHaveBeenAsked) {
  serve();
  make_pool(http());
  const auto server = link();
  server_.reset();
  const ServerAnswer answer = call(*server, "json");
  // The kept connection may look alive for a moment; a new one is refused.
  EXPECT_NE(answer.kind, Kind::result);
  EXPECT_EQ(answer.sent, answer.kind == Kind::lost);
  const ServerAnswer again = call(*server, "json");
  EXPECT_EQ(again.kind, Kind::not_sent) << again.detail;
  EXPECT_FALSE(again.sent);
}

TEST_F(HttpFaultsTest, AConnectionDroppedAfterTheRequestIsLost) {
  serve();
  make_pool(http());
  const auto server = link();
  for (const std::string tool : {"drop", "drop_sse"}) {
    const ServerAnswer answer = call(*server, tool);
    EXPECT_EQ(answer.kind, Kind::lost) << tool;
    EXPECT_TRUE(answer.sent);
    EXPECT_FALSE(answer.timed_out);
  }
  EXPECT_EQ(count("tools/call"), 2U);
  EXPECT_EQ(call(*server, "json").kind, Kind::result);
}

TEST_F(HttpFaultsTest, ABrokenStreamIsResumedWithoutRepeatingTheCall) {
  serve();
  make_pool(http());
  EXPECT_EQ(text(call(*link(), "resume")), "resumed");
  EXPECT_EQ(events_.logs.size(), 1U);
  EXPECT_EQ(count("tools/call"), 1U);
}

TEST_F(HttpFaultsTest, AStreamThatCannotBeResumedIsLost) {
  serve();
  make_pool(http());
  const ServerAnswer answer = call(*link(), "gone");
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_FALSE(answer.timed_out);
  EXPECT_NE(answer.detail.find("HTTP 405"), std::string::npos) << answer.detail;
  EXPECT_EQ(count("tools/call"), 1U);
}

TEST_F(HttpFaultsTest, ALostSessionIsBegunAnewWithoutRepeatingTheCall) {
  for (const std::string lost : {"404", "400"}) {
    serve({"--lost=" + lost});
    make_pool(http());
    const auto first = link();
    EXPECT_EQ(text(call(*first, "forget")), "forgot");
    const ServerAnswer answer = call(*first, "json");
    EXPECT_EQ(answer.kind, Kind::error);
    EXPECT_EQ(answer.http_status, std::stoi(lost));
    EXPECT_NE(answer.detail.find("session"), std::string::npos) << answer.detail;
    EXPECT_FALSE(first->alive());
    const auto second = link();
    ASSERT_TRUE(second);
    EXPECT_NE(first, second);
    EXPECT_EQ(count("tools/call"), 2U);
    EXPECT_EQ(count("initialize"), 2U);
    EXPECT_EQ(call(*second, "json").kind, Kind::result);
    EXPECT_EQ(pool_->status()[0].state, ServerState::up);
    shutdown();
  }
}

TEST_F(HttpFaultsTest, A404WithoutASessionIsJustAnError) {
  serve({"--stateless"});
  make_pool(http());
  const auto server = link();
  const ServerAnswer answer = status(*server, R"({"status":404})");
  EXPECT_EQ(answer.kind, Kind::error);
  EXPECT_EQ(answer.http_status, 404);
  EXPECT_TRUE(server->alive());
}

TEST_F(HttpFaultsTest, RefusalsKeepTheirStatusAndTheServersOwnError) {
  serve();
  make_pool(http());
  const auto server = link();
  const ServerAnswer plain = status(*server, R"({"status":503,"body":"busy \u001b[31m"})");
  EXPECT_EQ(plain.kind, Kind::error);
  EXPECT_EQ(plain.http_status, 503);
  EXPECT_EQ(plain.error.find("code").integer(), 503);
  EXPECT_EQ(plain.error.find("message").string().find('\x1b'), std::string::npos);
  const ServerAnswer own =
      status(*server, R"({"status":429,"type":"application/json","body":)"
                      R"("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":7,\"message\":\"slow down\"}}"})");
  EXPECT_EQ(own.http_status, 429);
  EXPECT_EQ(own.error.find("code").integer(), 7);
  const ServerAnswer other =
      status(*server, R"({"status":500,"type":"application/json","body":)"
                      R"("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":7,\"message\":\"m\"}}"})");
  EXPECT_EQ(other.error.find("code").integer(), 500) << "an error with another id is not this call's";
}

// C064
TEST_F(HttpFaultsTest, RedirectsAreNotFollowed) {
  serve();
  make_pool(http());
  const ServerAnswer answer = status(*link(), R"({"status":307,"headers":[["Location","http://127.0.0.1:1/other"]]})");
  EXPECT_EQ(answer.kind, Kind::error);
  EXPECT_EQ(answer.http_status, 307);
  EXPECT_NE(answer.detail.find("127.0.0.1:1/other"), std::string::npos) << answer.detail;
}

TEST_F(HttpFaultsTest, ARedirectAtTheStartNamesTheRightUrl) {
  serve({"--redirect=https://right.example/mcp"});
  make_pool(http());
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("right.example"), std::string::npos) << made.error().message;
}

// C056, C058
TEST_F(HttpFaultsTest, AnswersThatAreNoneAreLost) {
  serve();
  make_pool(http());
  const auto server = link();
  for (const std::string arguments : {
           R"({"status":200,"type":"text/html","body":"<h1>login</h1>"})",
           R"({"status":200,"type":"","body":"{}"})",
           R"({"status":202,"type":"text/plain","body":"Accepted"})",
           R"({"status":204,"type":"","body":""})",
           R"({"status":200,"type":"application/json","body":"{\"status\":\"ok\"}"})",
           R"({"status":200,"type":"application/json","body":""})",
           R"({"status":200,"type":"application/json","body":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":7}"})",
           R"({"status":200,"type":"application/json","body":"x","headers":[["Content-Encoding","br"]]})",
       }) {
    const ServerAnswer answer = status(*server, arguments);
    EXPECT_EQ(answer.kind, Kind::lost) << arguments;
    EXPECT_TRUE(answer.sent);
    EXPECT_FALSE(answer.timed_out) << arguments;
    EXPECT_FALSE(answer.detail.empty());
  }
  EXPECT_EQ(call(*server, "wrong_id").kind, Kind::lost);
  EXPECT_EQ(call(*server, "json").kind, Kind::result);
}

TEST_F(HttpFaultsTest, AnswersThatAreNoJsonEndTheirCallsAtOnceAndSayWhy) {
  serve();
  make_pool(http());
  const auto server = link();
  for (const std::string how : {"nan", "surrogate", "latin1", "tab", "comma", "cut", "glued", "quotes", "python"}) {
    for (const std::string sse : {"false", "true"}) {
      if (how == "python" && sse == "true") continue;  // names no call: only the end of the stream tells
      const ServerAnswer answer =
          call(*server, "unreadable", R"({"how":")" + how + R"(","ms":60000,"sse":)" + sse + "}");
      EXPECT_EQ(answer.kind, Kind::lost) << how;
      EXPECT_TRUE(answer.sent) << how;
      EXPECT_FALSE(answer.timed_out) << how;
      EXPECT_NE(answer.detail.find("is no JSON: "), std::string::npos) << how << ": " << answer.detail;
    }
  }
  EXPECT_EQ(call(*server, "json").kind, Kind::result);
}

TEST_F(HttpFaultsTest, ALoginPageIsNoServer) {
  serve({"--broken"});
  make_pool(http());
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("text/html"), std::string::npos) << made.error().message;
}

TEST_F(HttpFaultsTest, LargeAnswersPassAndLargerOnesAreLost) {
  limits_.result_bytes = 1U << 20;
  serve();
  make_pool(http());
  const auto server = link();
  for (const std::string sse : {"false", "true"}) {
    EXPECT_EQ(text(call(*server, "huge", R"({"bytes":1000000,"sse":)" + sse + "}")).size(), 1'000'000U);
    const ServerAnswer answer = call(*server, "huge", R"({"bytes":3000000,"sse":)" + sse + "}");
    EXPECT_EQ(answer.kind, Kind::lost);
    EXPECT_NE(answer.detail.find("over the limit"), std::string::npos) << answer.detail;
  }
  EXPECT_EQ(call(*server, "json").kind, Kind::result);
}

TEST_F(HttpFaultsTest, CallsOpenAtShutdownAreLost) {
  serve();
  make_pool(http());
  const auto server = link();
  std::optional<ServerAnswer> answer;
  bool running = false;
  Permit never;
  never.tool = "never";
  never.progress = true;
  CallControl control = within();
  control.progress = [&](std::string_view) { running = true; };
  asio::co_spawn(io_, server->call(never.make(), std::move(control)),
                 [&](std::exception_ptr, ServerAnswer given) { answer = std::move(given); });
  spin([&] { return running; });
  run(pool_->shutdown(Deadline::after(Millis(200))));
  spin([&] { return answer.has_value(); });
  EXPECT_EQ(answer->kind, Kind::lost);
  EXPECT_TRUE(answer->sent);
}

}  // namespace
}  // namespace sallyport::gateway
