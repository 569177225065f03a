// The modern era over stdio: one pipe for all requests, cancelled by a notification, subscriptions told apart by id.
#include "tests/component/servers/modern_support.hpp"

namespace sallyport::gateway {
namespace {

using ModernStdio = ModernServersTest;

TEST_F(ModernStdio, DiscoversAndCalls) {
  make_pool(modern_stdio());
  const auto up = link();
  ASSERT_TRUE(up);
  EXPECT_EQ(up->info().protocol_version, "2026-07-28");
  EXPECT_EQ(text(call(*up, "echo", R"({"a":1})")), R"({"a": 1})");
}

TEST_F(ModernStdio, CancelsByANotification) {
  make_pool(modern_stdio());
  const auto up = link();
  Permit permit;
  permit.tool = "never";
  permit.progress = true;
  Cancel cancel;
  CallControl control = within();
  control.cancel = &cancel;
  control.progress = [&](std::string_view) { cancel.cancel(CancelReason::client); };
  EXPECT_EQ(call(*up, permit, std::move(control)).kind, ServerAnswer::Kind::lost);
  EXPECT_EQ(text(call(*up, "echo")), "{}");
}

TEST_F(ModernStdio, ALostChildLosesItsCalls) {
  make_pool(modern_stdio());
  const ServerAnswer answer = call(*link(), "die");
  EXPECT_EQ(answer.kind, ServerAnswer::Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_EQ(text(call(*link(), "writes")), "0");
}

TEST_F(ModernStdio, ToolsWithUnfitHeadersStayForThereAreNoHeaders) {
  make_pool(modern_stdio());
  const auto listed = run(link()->list_tools(Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(listed.has_value());
  EXPECT_TRUE(std::ranges::any_of(listed->tools, [](json::Value tool) { return tool.find("name").equals("unfit"); }));
}

TEST_F(ModernStdio, ChangesAndResourcesAreToldOverTheSamePipe) {
  make_pool(modern_stdio());
  const auto up = link();
  ASSERT_EQ(relay(*up, "resources/subscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
  call(*up, "change", R"({"what":"resources/updated","uri":"test://a"})");
  spin([&] { return !events_.updated.empty(); });
  call(*up, "change");
  spin([&] { return !events_.tools_changed.empty(); });
  ASSERT_EQ(relay(*up, "resources/unsubscribe", R"({"uri":"test://a"})").kind, ServerAnswer::Kind::result);
}

TEST_F(ModernStdio, ASharedChildHearsForEachCallWhatThatClientCanBeAsked) {
  events_.capabilities = R"({"elicitation":{},"sampling":{}})";
  ServerSettings server = modern_stdio();
  server.shared = true;
  make_pool(server);
  const auto up = link("a");
  EXPECT_EQ(up, link("b"));
  const auto declared = [&](const std::string& capabilities) {
    Permit permit;
    permit.tool = "meta";
    CallControl control = within();
    control.capabilities = capabilities;
    const json::Document meta = parsed(text(call(*up, permit, std::move(control))));
    return std::string(meta.root().find("io.modelcontextprotocol/clientCapabilities").raw());
  };
  EXPECT_EQ(declared(R"({"sampling":{}})"), R"({"sampling": {}})");
  EXPECT_EQ(declared(R"({"elicitation":{"url":{}}})"), R"({"elicitation": {"url": {}}})");
  EXPECT_EQ(declared(""), "{}");
}

}  // namespace
}  // namespace sallyport::gateway
