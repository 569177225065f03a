// The modern era over HTTP: no session, everything in every request, headers that mirror it, the connection's end as
// cancel. The server of the fixtures refuses what the specification says is wrong.
#include "gateway/base/signal.hpp"
#include "tests/component/servers/modern_support.hpp"

namespace sallyport::gateway {
namespace {

using ModernHttp = ModernServersTest;

TEST_F(ModernHttp, DiscoversInsteadOfInitializing) {
  make_pool(modern_http());
  const auto up = link();
  ASSERT_TRUE(up);
  EXPECT_EQ(up->info().protocol_version, "2026-07-28");
  EXPECT_EQ(up->info().name, "modern-fixture");
  EXPECT_EQ(up->info().instructions, "be strict");
  EXPECT_NE(up->info().capabilities_raw.find("completions"), std::string::npos);
  EXPECT_EQ(count("server/discover"), 1U);
  EXPECT_EQ(count("initialize"), 0U);
  EXPECT_EQ(count("notifications/initialized"), 0U);
  EXPECT_EQ(count("GET"), 0U);
  EXPECT_EQ(pool_->spoken("s"), "2026-07-28");
}

TEST_F(ModernHttp, EveryRequestSaysWhoAsksAndWhatItCanBeAsked) {
  events_.capabilities = R"({"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}})";
  make_pool(modern_http());
  const auto up = link();
  Permit permit;
  permit.tool = "meta";
  permit.meta =
      R"("traceparent":"00-1-2-01","com.example/x":1.0,"io.modelcontextprotocol/clientInfo":{"name":"agent"},)"
      R"("io.modelcontextprotocol/protocolVersion":"1900-01-01")";
  CallControl control = within();
  control.capabilities = R"({"elicitation":{"form":{}},"sampling":{},"roots":{"listChanged":true},)"
                         R"("extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"x.y/z":{}}})";
  control.log_level = "warning";
  const json::Document meta = parsed(text(call(*up, permit, std::move(control))));
  const json::Value root = meta.root();
  EXPECT_TRUE(root.find("io.modelcontextprotocol/protocolVersion").equals("2026-07-28"));
  EXPECT_TRUE(root.find("io.modelcontextprotocol/clientInfo").find("name").equals("sallyport"));
  // What the trust file lets the server ask, and the client can answer: neither alone.
  EXPECT_EQ(
      root.find("io.modelcontextprotocol/clientCapabilities").raw(),
      R"({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": []}}, "roots": {}})");
  EXPECT_TRUE(root.find("io.modelcontextprotocol/logLevel").equals("warning"));
  EXPECT_TRUE(root.find("traceparent").equals("00-1-2-01"));
  EXPECT_EQ(root.find("com.example/x").raw(), "1.0");
  EXPECT_FALSE(root.find("progressToken"));
}

TEST_F(ModernHttp, ArgumentsAreMirroredInHeadersAsTheToolAsksFor) {
  make_pool(modern_http());
  const auto up = link();
  const auto listed = run(up->list_tools(Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(listed.has_value());
  // The server compares each of them with the body, and refuses what differs.
  const auto answer = call(
      *up, "regional", R"({"region":"süd west ","count":-7,"dry":false,"deep":{"er":"=?base64?x?="},"other":null})");
  const json::Document headers = parsed(text(answer));
  EXPECT_TRUE(headers.root().find("mcp-param-count").equals("-7"));
  EXPECT_TRUE(headers.root().find("mcp-param-dry").equals("false"));
  EXPECT_TRUE(headers.root().find("mcp-param-region").string().starts_with("=?base64?"));
  EXPECT_TRUE(headers.root().find("mcp-method").equals("tools/call"));
  EXPECT_TRUE(headers.root().find("mcp-name").equals("regional"));
  EXPECT_TRUE(headers.root().find("mcp-protocol-version").equals("2026-07-28"));
  EXPECT_EQ(call(*up, "regional", R"({"region":null})").kind, ServerAnswer::Kind::result);
  EXPECT_EQ(call(*up, "regional").kind, ServerAnswer::Kind::result);
}

TEST_F(ModernHttp, AToolWhoseHeadersCannotBeMadeIsLeftOut) {
  make_pool(modern_http());
  const auto up = link();
  const auto listed = run(up->list_tools(Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(listed.has_value());
  std::set<std::string> names;
  for (const json::Value tool : listed->tools) names.insert(tool.find("name").string());
  EXPECT_TRUE(names.contains("regional"));
  EXPECT_FALSE(names.contains("unfit"));
  EXPECT_FALSE(names.contains("rated"));
}

TEST_F(ModernHttp, ProgressAndLogsComeOnTheRequestsOwnStream) {
  make_pool(modern_http());
  const auto up = link();
  Permit permit;
  permit.tool = "noisy";
  permit.progress = true;
  CallControl control = within();
  control.session = "se_1";
  std::vector<std::string> progress, logs;
  control.progress = [&](std::string_view raw) { progress.emplace_back(raw); };
  control.log = [&](std::string_view raw) { logs.emplace_back(raw); };
  control.log_level = "debug";
  EXPECT_EQ(text(call(*up, permit, std::move(control))), "noisy");
  EXPECT_EQ(progress.size(), 3U);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_NE(logs[0].find("from noisy"), std::string::npos);
  EXPECT_TRUE(events_.logs.empty());
}

TEST_F(ModernHttp, CancellingClosesTheConnection) {
  make_pool(modern_http());
  const auto up = link();
  Permit permit;
  permit.tool = "never";
  permit.progress = true;
  Cancel cancel;
  CallControl control = within();
  control.cancel = &cancel;
  control.progress = [&](std::string_view) { cancel.cancel(CancelReason::client); };  // while its stream is read
  const ServerAnswer answer = call(*up, permit, std::move(control));
  EXPECT_EQ(answer.kind, ServerAnswer::Kind::lost);
  EXPECT_EQ(answer.cancelled, CancelReason::client);
  wait_gone("never");
  EXPECT_EQ(count("notifications/cancelled"), 0U);
}

TEST_F(ModernHttp, ADeadlineClosesTheConnectionThoughNoHeadCameYet) {
  make_pool(modern_http());
  const auto up = link();
  Permit permit;
  permit.tool = "never";
  const ServerAnswer answer = call(*up, permit, within(Millis(200)));
  EXPECT_EQ(answer.kind, ServerAnswer::Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_TRUE(answer.timed_out);
  wait_gone("never");
  EXPECT_TRUE(up->alive());
}

TEST_F(ModernHttp, AnAnswerThatNeverComesIsLostAndNotSentAgain) {
  make_pool(modern_http());
  const auto up = link();
  const ServerAnswer answer = call(*up, "drop");
  EXPECT_EQ(answer.kind, ServerAnswer::Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_EQ(text(call(*up, "writes")), "1");
}

TEST_F(ModernHttp, ErrorsOfTheEntryAreErrorsWithTheirStatus) {
  make_pool(modern_http());
  const auto up = link();
  const ServerAnswer answer = call(*up, "fault", R"({"code":-32021,"status":400})");
  EXPECT_EQ(answer.kind, ServerAnswer::Kind::error);
  EXPECT_EQ(answer.http_status, 400);
  EXPECT_TRUE(answer.modern);
  EXPECT_EQ(answer.error.find("code").integer(), -32021);
  EXPECT_TRUE(up->alive());
}

TEST_F(ModernHttp, ResultsThatAreQuestionsComeAsTheyAre) {
  events_.capabilities = R"({"elicitation":{}})";
  make_pool(modern_http());
  const auto up = link();
  Permit permit;
  permit.tool = "ask";
  CallControl control = within();
  control.capabilities = R"({"elicitation":{"form":{}}})";
  const ServerAnswer answer = call(*up, permit, std::move(control));
  ASSERT_EQ(answer.kind, ServerAnswer::Kind::result) << answer.detail;
  EXPECT_TRUE(answer.modern);
  EXPECT_TRUE(answer.result.find("resultType").equals("input_required"));
  // Without the client's own capability the server has no business asking.
  EXPECT_EQ(call(*up, permit).kind, ServerAnswer::Kind::error);
}

TEST_F(ModernHttp, AListThatIsNoListIsNone) {
  make_pool(modern_http());
  const auto up = link();
  EXPECT_EQ(relay(*up, "prompts/list").kind, ServerAnswer::Kind::result);
  EXPECT_EQ(relay(*up, "resources/list").kind, ServerAnswer::Kind::result);
  EXPECT_EQ(relay(*up, "ping").kind, ServerAnswer::Kind::result);
  EXPECT_EQ(count("ping"), 0U);
  EXPECT_EQ(relay(*up, "no/such").error.find("code").integer(), -32601);
  EXPECT_TRUE(up->alive());
}

TEST_F(ModernHttp, ALogLevelOfALegacyKindGoesWithEveryRequest) {
  make_pool(modern_http());
  const auto up = link();
  EXPECT_EQ(relay(*up, "logging/setLevel", R"({"level":"error"})").kind, ServerAnswer::Kind::result);
  const json::Document meta = parsed(text(call(*up, "meta")));
  EXPECT_TRUE(meta.root().find("io.modelcontextprotocol/logLevel").equals("error"));
  EXPECT_EQ(relay(*up, "logging/setLevel", R"({"level":"loud"})").kind, ServerAnswer::Kind::error);
  EXPECT_EQ(count("logging/setLevel"), 0U);
}

TEST_F(ModernHttp, RequestsOfTheServerAreNotAnswered) {
  make_pool(modern_http());
  const auto up = link();
  EXPECT_EQ(text(call(*up, "request")), "[]");
}

TEST_F(ModernHttp, ChangesAreToldOnASubscription) {
  make_pool(modern_http());
  const auto up = link();
  spin([&] { return count("subscriptions/listen") == 1; });
  run(up->list_tools(Deadline::after(std::chrono::seconds(20))));
  EXPECT_EQ(text(call(*up, "change")), "changed");
  spin([&] { return !events_.tools_changed.empty(); });
  EXPECT_EQ(text(call(*up, "change", R"({"what":"prompts/list_changed"})")), "changed");
  spin([&] { return events_.lists_changed.size() == 2; });
  EXPECT_EQ(events_.lists_changed[1].second, ListKind::prompts);
}

TEST_F(ModernHttp, ASubscriptionThatEndsIsOpenedAgainAndWhatWasMissedIsTold) {
  make_pool(modern_http());
  const auto up = link();
  ASSERT_EQ(relay(*up, "resources/subscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
  call(*up, "hang_up");
  spin([&] { return !events_.tools_changed.empty() && !events_.updated.empty(); });
  EXPECT_EQ(events_.updated[0].second, R"({"uri":"test://a"})");
}

TEST_F(ModernHttp, ResourcesAreSubscribedToOnTheSameStream) {
  make_pool(modern_http());
  const auto up = link();
  ASSERT_EQ(relay(*up, "resources/subscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
  const ServerAnswer none = relay(*up, "resources/subscribe", R"({"uri":"test://none"})");
  EXPECT_EQ(none.kind, ServerAnswer::Kind::error);
  call(*up, "change", R"({"what":"resources/updated","uri":"test://a"})");
  spin([&] { return !events_.updated.empty(); });
  EXPECT_EQ(events_.updated[0].first.principal, "p");
  const json::Document params = parsed(events_.updated[0].second);
  EXPECT_TRUE(params.root().find("uri").equals("test://a"));
  EXPECT_FALSE(params.root().find("_meta").find("io.modelcontextprotocol/subscriptionId"));
  // The stream that was left is one that the server sees end.
  wait_gone("listen");
  ASSERT_EQ(relay(*up, "resources/unsubscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
}

TEST_F(ModernHttp, AServerThatTellsNothingIsAskedAgainWhenItsListIsStale) {
  options_.shortest_ttl = Millis(1);
  make_pool(modern_http({"--silent", "--ttl=0"}));
  const auto up = link();
  const auto listed = run(up->list_tools(Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(listed.has_value());
  EXPECT_FALSE(listed->fresh_until.is_never());
  EXPECT_EQ(count("subscriptions/listen"), 0U);
}

TEST_F(ModernHttp, AServerThatTellsChangesNeedsNoAsking) {
  make_pool(modern_http({"--ttl=0"}));
  const auto up = link();
  ASSERT_EQ(relay(*up, "resources/subscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
  const auto listed = run(up->list_tools(Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(listed.has_value());
  EXPECT_TRUE(listed->fresh_until.is_never());
}

TEST_F(ModernHttp, AServerThatRefusesSubscriptionsStillServes) {
  make_pool(modern_http({"--deaf"}));
  const auto up = link();
  spin([&] { return count("subscriptions/listen") == 1; });
  EXPECT_EQ(text(call(*up, "echo")), "{}");
  EXPECT_EQ(relay(*up, "resources/subscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::error);
}

TEST_F(ModernHttp, ASubscriptionKeepsNoLinkFromBeingIdle) {
  options_.idle_keep = Millis(100);
  make_pool(modern_http());
  const auto up = link();
  spin([&] { return !up->alive(); });
  wait_gone("listen");
}

}  // namespace
}  // namespace sallyport::gateway
