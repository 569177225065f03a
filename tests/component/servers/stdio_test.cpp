#include <fmt/format.h>

#include "gateway/servers/params.hpp"
#include "tests/component/servers/support.hpp"

namespace sallyport::gateway {
namespace {

using Kind = ServerAnswer::Kind;

class StdioLinkTest : public ServersTest {};

TEST_F(StdioLinkTest, ShakesHandsAndTellsWhoTheServerIs) {
  make_pool(fixture());
  const auto server = link();
  ASSERT_TRUE(server);
  EXPECT_TRUE(server->alive());
  EXPECT_EQ(server->info().name, "fixture");
  EXPECT_EQ(server->info().version, "1.2");
  EXPECT_EQ(server->info().protocol_version, "2025-11-25");
  EXPECT_EQ(server->info().instructions, "Be kind.");
  EXPECT_EQ(server->info().capabilities_raw, R"({"tools":{"listChanged":true}})");
  EXPECT_TRUE(text(call(*server, "seen")).starts_with("[[\"initialize\", "));
  EXPECT_NE(text(call(*server, "seen")).find("notifications/initialized"), std::string::npos);
}

TEST_F(StdioLinkTest, AcceptsOlderVersions) {
  for (const std::string version : {"2025-06-18", "2025-03-26", "2024-11-05"}) {
    make_pool(fixture({"--version=" + version}));
    const auto server = link();
    ASSERT_TRUE(server);
    EXPECT_EQ(server->info().protocol_version, version);
    shutdown();
  }
}

TEST_F(StdioLinkTest, SendsTheBytesThatWerePermitted) {
  make_pool(fixture());
  const auto server = link();
  Permit permit;
  permit.tool = "raw";
  permit.arguments = R"({"n":1.00,"z":12345678901234567890,"t":"\u0000\u00e9","a":{}})";
  permit.meta = R"("traceparent":"00-1","k": 1e2)";
  permit.progress = true;
  const std::string line = text(call(*server, permit));
  EXPECT_NE(line.find(R"("params":{"name":"raw","arguments":)" + permit.arguments + R"(,"_meta":{)" + permit.meta +
                      R"(,"progressToken":)"),
            std::string::npos)
      << line;
  permit.meta = "";
  permit.progress = false;
  EXPECT_TRUE(text(call(*server, permit)).ends_with(permit.arguments + "}}"));
}

TEST_F(StdioLinkTest, ResultsKeepTheirBytes) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "bytes");
  ASSERT_EQ(answer.kind, Kind::result);
  EXPECT_TRUE(answer.sent);
  EXPECT_EQ(answer.result.raw(), R"({"z":1.00,"a":12345678901234567890,"content":[ ] ,"_meta":{"x/y":1e2}})");
}

TEST_F(StdioLinkTest, ErrorsOfTheServerAreErrors) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "error");
  ASSERT_EQ(answer.kind, Kind::error);
  EXPECT_EQ(answer.error.raw(), R"({"code":-32602,"message":"bad arguments","data":{"n":1}})");
}

TEST_F(StdioLinkTest, RelaysOtherMethodsButNoToolCalls) {
  make_pool(fixture());
  const auto server = link();
  const std::string params = R"({"uri":"x","_meta":{"progressToken":"theirs","k":1}})";
  const ServerAnswer answer = run(server->relay("echo/params", params, within()));
  ASSERT_EQ(answer.kind, Kind::result);
  const std::string line = answer.result.find("line").string();
  EXPECT_EQ(line.find("theirs"), std::string::npos) << line;
  EXPECT_NE(line.find(R"(,"k":1})"), std::string::npos) << line;
  const ServerAnswer refused = run(server->relay("tools/call", R"({"name":"raw"})", within()));
  EXPECT_EQ(refused.kind, Kind::not_sent);
  EXPECT_EQ(run(server->relay("initialize", "{}", within())).kind, Kind::not_sent);
  EXPECT_EQ(run(server->relay("echo/params", "[]", within())).kind, Kind::not_sent);
}

// C023: one slow call does not hold up the others.
TEST_F(StdioLinkTest, AnswersComeInAnyOrder) {
  make_pool(fixture());
  const auto server = link();
  std::vector<std::string> order;
  int open = 0;
  const auto start = [&](std::string tool, std::string arguments) {
    ++open;
    Permit permit;
    permit.tool = std::move(tool);
    permit.arguments = std::move(arguments);
    asio::co_spawn(io_, server->call(permit.make(), within()), [&](std::exception_ptr, ServerAnswer answer) {
      order.push_back(text(answer));
      --open;
    });
  };
  start("sleep", R"({"ms":400})");
  for (int i = 0; i < 20; ++i) start("length", fmt::format(R"({{"x":"{}"}})", std::string(100'000 + i, 'x')));
  spin([&] { return open == 0; });
  ASSERT_EQ(order.size(), 21U);
  EXPECT_EQ(order.back(), "slept");
  std::ranges::sort(order);
  EXPECT_EQ(std::ranges::unique(order).begin(), order.end()) << "every call has its own answer";
}

TEST_F(StdioLinkTest, ProgressOfTheCallComesInIncreasingOrderAndEndsWithIt) {
  make_pool(fixture());
  const auto server = link();
  std::vector<std::string> seen;
  CallControl control = within();
  control.progress = [&](std::string_view params) { seen.emplace_back(params); };
  Permit permit;
  permit.tool = "progress";
  permit.progress = true;
  EXPECT_EQ(text(call(*server, permit, std::move(control))), "done");
  EXPECT_EQ(text(call(*server, "length")).empty(), false);  // after the late progress was read
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NE(seen[2].find(R"("progress":3)"), std::string::npos);
}

TEST_F(StdioLinkTest, ProgressIsNotAskedForUnlessWanted) {
  make_pool(fixture());
  const auto server = link();
  CallControl control = within();
  control.progress = [](std::string_view) { ADD_FAILURE(); };
  Permit permit;
  permit.tool = "raw";
  EXPECT_EQ(text(call(*server, permit, std::move(control))).find("progressToken"), std::string::npos);
}

TEST_F(StdioLinkTest, PingIsAnsweredAndOtherRequestsOfTheServerAreRefused) {
  make_pool(fixture());
  const auto server = link();
  const std::string answers = text(call(*server, "ask"));
  EXPECT_NE(answers.find(R"("result": {})"), std::string::npos) << answers;
  EXPECT_EQ(answers.find(R"("code": -32601)") != answers.rfind(R"("code": -32601)"), true) << answers;
}

// C037: the cancel names the id of this leg.
TEST_F(StdioLinkTest, CancelEndsTheCallAndTellsTheServer) {
  make_pool(fixture());
  const auto server = link();
  Cancel cancel;
  CallControl control = within();
  control.cancel = &cancel;
  control.progress = [&](std::string_view) { cancel.cancel(CancelReason::client); };
  Permit permit;
  permit.tool = "never";
  permit.progress = true;
  const ServerAnswer answer = call(*server, permit, std::move(control));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_EQ(answer.cancelled, CancelReason::client);
  EXPECT_FALSE(answer.timed_out);
  const std::string seen = text(call(*server, "seen"));
  EXPECT_NE(seen.find("\"cancelled\", "), std::string::npos) << seen;
}

TEST_F(StdioLinkTest, ACallCancelledBeforeIsNotSent) {
  make_pool(fixture());
  const auto server = link();
  Cancel cancel;
  cancel.cancel(CancelReason::stop);
  CallControl control = within();
  control.cancel = &cancel;
  Permit permit;
  permit.tool = "raw";
  const ServerAnswer answer = call(*server, permit, std::move(control));
  EXPECT_EQ(answer.kind, Kind::not_sent);
  EXPECT_FALSE(answer.sent);
  EXPECT_EQ(answer.cancelled, CancelReason::stop);
}

TEST_F(StdioLinkTest, TimeOutIsLostAndTheLateAnswerStillCounts) {
  make_pool(fixture());
  const auto server = link();
  Permit permit;
  permit.tool = "late";
  permit.operation = "op_late";
  permit.attempt = 2;
  const ServerAnswer answer = call(*server, permit, within(Millis(150)));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_TRUE(answer.timed_out);
  spin([&] { return !events_.late_answers.empty(); });
  EXPECT_EQ(events_.late_answers[0].operation, "op_late");
  EXPECT_EQ(events_.late_answers[0].attempt, 2);
  EXPECT_EQ(text(events_.late_answers[0].answer), "late");
}

TEST_F(StdioLinkTest, ADeadlineThatHasPassedSendsNothing) {
  make_pool(fixture());
  const auto server = link();
  Permit permit;
  permit.tool = "raw";
  CallControl control;
  control.deadline = Deadline::at(Deadline::Clock::now());
  const ServerAnswer answer = call(*server, permit, std::move(control));
  EXPECT_EQ(answer.kind, Kind::not_sent);
  EXPECT_TRUE(answer.timed_out);
}

TEST_F(StdioLinkTest, ListChangesAreToldOnceAndLogsPassOn) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "notify", R"({"changes":20,"logs":2})")), "notified");
  spin([&] { return !events_.tools_changed.empty(); });
  EXPECT_EQ(events_.tools_changed, std::vector<std::string>{"s"});
  ASSERT_EQ(events_.logs.size(), 2U);
  EXPECT_EQ(events_.logs[1], R"({"level":"info","data":1})");
}

// C079
TEST_F(StdioLinkTest, AllPagesOfToolsAreRead) {
  make_pool(fixture({"--pages=three"}));
  const auto server = link();
  const auto listing = run(server->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  std::string names;
  for (const json::Value tool : listing->tools) names += tool.find("name").string() + " ";
  EXPECT_EQ(names, "t1 t2 t3 t4 ");
}

// C080
TEST_F(StdioLinkTest, ACursorThatDoesNotAdvanceEndsTheList) {
  make_pool(fixture({"--pages=stuck"}));
  const auto server = link();
  const auto listing = run(server->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->tools.size(), 2U);
}

TEST_F(StdioLinkTest, EndlessPagesEndAtTheBound) {
  options_.tool_pages = 7;
  make_pool(fixture({"--pages=endless"}));
  const auto server = link();
  const auto listing = run(server->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->pages.size(), 7U);
}

TEST_F(StdioLinkTest, PagesAreBoundedInBytesToo) {
  limits_.result_bytes = 1'000;
  make_pool(fixture({"--pages=endless"}));
  const auto listing = run(link()->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  EXPECT_GT(listing->pages.size(), 5U);
  EXPECT_LT(listing->pages.size(), 50U);
}

// C083
TEST_F(StdioLinkTest, WhatIsNoToolIsLeftOut) {
  make_pool(fixture({"--pages=odd"}));
  const auto listing = run(link()->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->tools.size(), 2U);
}

TEST_F(StdioLinkTest, AServerWithoutToolsHasNone) {
  make_pool(fixture({"--pages=none"}));
  const auto listing = run(link()->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_TRUE(listing.has_value());
  EXPECT_TRUE(listing->tools.empty());
}

TEST_F(StdioLinkTest, AListOfTheWrongShapeIsAnError) {
  make_pool(fixture({"--pages=shape"}));
  const auto listing = run(link()->list_tools(Deadline::after(std::chrono::seconds(10))));
  ASSERT_FALSE(listing.has_value());
  EXPECT_EQ(listing.error().code, ErrorCode::protocol);
}

TEST_F(StdioLinkTest, TheChildSeesOnlyWhatItIsGiven) {
  ASSERT_EQ(::setenv("SALLYPORT_TEST_SECRET", "leaked", 1), 0);  // NOLINT: no other thread reads the environment
  ASSERT_EQ(::setenv("LC_TEST", "C", 1), 0);                     // NOLINT
  ServerSettings server = fixture({"--x=$HOME; 'q'"});
  server.env["API_KEY"] = Secret("k-1");
  server.cwd = "/";
  make_pool(std::move(server));
  const std::string inside = text(call(*link(), "inside"));
  ::unsetenv("SALLYPORT_TEST_SECRET");  // NOLINT
  EXPECT_EQ(inside.find("leaked"), std::string::npos);
  EXPECT_NE(inside.find(R"("API_KEY": "k-1")"), std::string::npos);
  EXPECT_NE(inside.find(R"("LC_TEST": "C")"), std::string::npos);
  EXPECT_NE(inside.find(R"("cwd": "/")"), std::string::npos);
  EXPECT_NE(inside.find(R"(--x=$HOME; 'q')"), std::string::npos);
  EXPECT_NE(inside.find(R"("fds": [0, 1, 2, 3])"), std::string::npos) << inside;  // 3 is its own listing
  EXPECT_NE(inside.find(R"("SigBlk": "0000000000000000")"), std::string::npos) << inside;
  const auto document = json::Document::parse(inside);
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->root().find("pid").raw(), document->root().find("pgid").raw());
}

}  // namespace
}  // namespace sallyport::gateway
