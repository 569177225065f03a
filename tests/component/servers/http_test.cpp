#include <algorithm>

#include "tests/component/servers/http_support.hpp"

namespace sallyport::gateway {
namespace {

using Kind = ServerAnswer::Kind;

class HttpLinkTest : public HttpServersTest {
 protected:
  static Permit permit(std::string tool, std::string arguments = "{}") {
    Permit permit;
    permit.tool = std::move(tool);
    permit.arguments = std::move(arguments);
    return permit;
  }
};

TEST_F(HttpLinkTest, OpensASessionAndEndsIt) {
  serve();
  make_pool(http());
  const auto server = link();
  ASSERT_TRUE(server);
  EXPECT_EQ(server->info().name, "http-fixture");
  EXPECT_EQ(text(call(*server, "sleep", R"({"ms":0})")), "slept");
  shutdown();
  // The server writes down what it was given in its own time.
  spin([&] { return log().find(R"("verb": "DELETE")") != std::string::npos; });
  const auto document = json::Document::parse(log());
  ASSERT_TRUE(document.has_value());
  std::vector<std::string> order;
  std::string session;
  for (const json::Value entry : document->root().elements()) {
    const json::Value headers = entry.find("headers");
    const std::string verb = entry.find("verb").string();
    order.push_back(verb == "POST" ? entry.find("method").string() : verb);
    if (order.size() == 1) {
      EXPECT_FALSE(headers.find("mcp-session-id"));
      EXPECT_FALSE(headers.find("mcp-protocol-version"));
      continue;
    }
    EXPECT_TRUE(headers.find("mcp-protocol-version").equals("2025-11-25")) << order.back();
    if (session.empty()) session = headers.find("mcp-session-id").string();
    EXPECT_TRUE(headers.find("mcp-session-id").equals(session)) << order.back();
    if (verb == "POST") EXPECT_TRUE(headers.find("accept").equals("application/json, text/event-stream"));
    if (verb == "POST") EXPECT_TRUE(headers.find("content-type").equals("application/json"));
  }
  ASSERT_GE(order.size(), 4U);
  EXPECT_EQ(order[0], "initialize");
  EXPECT_EQ(order[1], "notifications/initialized");
  // The GET for the server's own stream is on a connection of its own, so its place is not known.
  EXPECT_LT(std::ranges::find(order, "tools/call"), std::ranges::find(order, "DELETE"));
  EXPECT_EQ(std::ranges::count(order, "DELETE"), 1);
  EXPECT_FALSE(session.empty());
}

TEST_F(HttpLinkTest, JsonAnswersKeepTheirBytes) {
  serve();
  make_pool(http());
  const ServerAnswer answer = call(*link(), "json");
  ASSERT_EQ(answer.kind, Kind::result) << answer.detail;
  EXPECT_EQ(answer.result.raw(), R"({"z":1.00,"content":[ ]})");
}

TEST_F(HttpLinkTest, StreamedAnswersComeAfterWhatTheServerSaysBefore) {
  serve();
  make_pool(http());
  const auto server = link();
  Permit streamed = permit("sse");
  streamed.progress = true;
  CallControl control = within();
  int progress = 0;
  control.progress = [&](std::string_view) { ++progress; };
  EXPECT_EQ(text(call(*server, streamed, std::move(control))), "streamed");
  EXPECT_EQ(progress, 2);
  EXPECT_EQ(events_.logs.size(), 1U);
  // The server's ping was answered and its other request refused, by POSTs of their own.
  const auto answers = [&] {
    const std::string seen = log();
    return std::pair(seen.find(R"("id": "q-1", "result": {})") != std::string::npos,
                     seen.find(R"("id": "q-2", "error": {"code": -32601)") != std::string::npos);
  };
  spin([&] { return answers() == std::pair(true, true); });
}

// C041, C043
TEST_F(HttpLinkTest, StreamsMayBeCutAnywhere) {
  serve();
  make_pool(http());
  EXPECT_EQ(text(call(*link(), "pieces")), "pieces");
}

TEST_F(HttpLinkTest, BatchesOfTheVersionThatHasThemAreRead) {
  serve({"--version=2025-03-26"});
  make_pool(http());
  EXPECT_EQ(text(call(*link(), "batch")), "batched");
}

TEST_F(HttpLinkTest, ErrorsOfTheServerAreErrors) {
  serve();
  make_pool(http());
  const auto server = link();
  EXPECT_EQ(call(*server, "error").error.raw(), R"({"code": -32602, "message": "bad"})");
  // C032: the exchange itself says whose error it is.
  const ServerAnswer nameless = call(*server, "null_error");
  EXPECT_EQ(nameless.kind, Kind::error);
  EXPECT_EQ(nameless.error.find("code").integer(), -32700);
}

TEST_F(HttpLinkTest, CallsDoNotWaitForEachOther) {
  serve();
  make_pool(http());
  const auto server = link();
  std::vector<std::string> order;
  int open = 0;
  for (const std::string ms : {"500", "0", "0", "0"}) {
    ++open;
    asio::co_spawn(io_, server->call(permit("sleep", R"({"ms":)" + ms + "}").make(), within()),
                   [&, ms](std::exception_ptr, ServerAnswer answer) {
                     EXPECT_EQ(text(answer), "slept");
                     order.push_back(ms);
                     --open;
                   });
  }
  spin([&] { return open == 0; });
  EXPECT_EQ(order.back(), "500");
}

TEST_F(HttpLinkTest, TheIdempotencyKeyTravelsAsAHeader) {
  serve();
  make_pool(http());
  const auto server = link();
  Permit keyed = permit("headers");
  keyed.idempotency_header = "k-1";
  EXPECT_NE(text(call(*server, keyed)).find(R"("idempotency-key": "k-1")"), std::string::npos);
  EXPECT_EQ(text(call(*server, "headers")).find("idempotency-key"), std::string::npos);
}

TEST_F(HttpLinkTest, HeadersFromFilesAndCommandsAreReadAgain) {
  write("accepted", "Bearer one\nBearer two\n");
  write("token", "Bearer one\n");
  serve({"--token=" + file("accepted")});
  ServerSettings settings = http();
  settings.headers["Authorization"].kind = SecretSource::Kind::file;
  settings.headers["Authorization"].path = file("token");
  settings.headers["X-Made"].kind = SecretSource::Kind::command;
  settings.headers["X-Made"].command = {"sh", "-c", "echo made; echo secret >&2"};
  settings.headers["X-Fixed"].literal = Secret("fixed");
  make_pool(std::move(settings));
  const auto server = link();
  ASSERT_TRUE(server);
  std::string headers = text(call(*server, "headers"));
  EXPECT_NE(headers.find(R"("x-made": "made")"), std::string::npos) << headers;
  EXPECT_NE(headers.find(R"("x-fixed": "fixed")"), std::string::npos) << headers;
  // The old token is refused; that call fails, the next one reads the file.
  write("accepted", "Bearer two\n");
  write("token", "Bearer two\n");
  ServerAnswer answer = call(*server, "headers");
  if (answer.kind == Kind::error) {
    EXPECT_EQ(answer.http_status, 401);
    answer = call(*server, "headers");
  }
  EXPECT_NE(text(answer).find("Bearer two"), std::string::npos) << text(answer);
}

TEST_F(HttpLinkTest, AHeaderThatCannotBeHadSendsNothing) {
  serve();
  ServerSettings settings = http();
  settings.headers["Authorization"].kind = SecretSource::Kind::file;
  settings.headers["Authorization"].path = file("missing");
  make_pool(std::move(settings));
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("`Authorization`"), std::string::npos) << made.error().message;
  EXPECT_EQ(count("initialize"), 0U);
}

TEST_F(HttpLinkTest, HeadersOfTheTransportCannotBeConfigured) {
  serve();
  ServerSettings settings = http();
  settings.headers["Mcp-Session-Id"].literal = Secret("mine");
  make_pool(std::move(settings));
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("belongs to the transport"), std::string::npos) << made.error().message;
}

TEST_F(HttpLinkTest, CancelTellsTheServerAndTheLateAnswerCounts) {
  serve();
  make_pool(http());
  const auto server = link();
  Cancel cancel;
  CallControl control = within();
  control.cancel = &cancel;
  control.progress = [&](std::string_view) { cancel.cancel(CancelReason::client); };
  Permit never = permit("never");
  never.progress = true;
  never.operation = "op_9";
  const ServerAnswer answer = call(*server, never, std::move(control));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_EQ(answer.cancelled, CancelReason::client);
  spin([&] { return !events_.late_answers.empty(); });
  EXPECT_EQ(events_.late_answers[0].operation, "op_9");
  EXPECT_EQ(text(events_.late_answers[0].answer), "late");
  EXPECT_EQ(count("notifications/cancelled"), 1U);
}

TEST_F(HttpLinkTest, TimeOutIsLost) {
  serve();
  make_pool(http());
  const ServerAnswer answer = call(*link(), permit("sleep", R"({"ms":3000})"), within(Millis(150)));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_TRUE(answer.timed_out);
}

TEST_F(HttpLinkTest, TheServersOwnStreamIsReadAndOpenedAgain) {
  serve({"--stream"});
  make_pool(http());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "push")), "pushed");
  spin([&] { return events_.tools_changed.size() == 1; });
  EXPECT_EQ(text(call(*server, "push", R"({"break":true})")), "pushed");
  spin([&] { return count("GET") >= 2; });
  const std::string seen = log();
  EXPECT_NE(seen.find(R"("last-event-id": "p-)"), std::string::npos);
  EXPECT_EQ(text(call(*server, "push")), "pushed");
  spin([&] { return events_.tools_changed.size() == 2; });
}

TEST_F(HttpLinkTest, TheIdentityIsTheUrlWithoutItsQuery) {
  serve();
  ServerSettings settings = http();
  settings.url += "?key=secret";
  make_pool(std::move(settings));
  ASSERT_TRUE(link());
  EXPECT_EQ(link()->identity(), R"({"kind":"http","url":")" + url_ + R"("})");
}

TEST_F(HttpLinkTest, IdleSessionsEnd) {
  options_.idle_keep = Millis(100);
  serve();
  make_pool(http());
  const auto server = link();
  spin([&] { return !server->alive(); });
  spin([&] { return count("DELETE") == 1; });
}

}  // namespace
}  // namespace sallyport::gateway
