// What rules want besides the arguments: evidence at the scope's present revision, hooks that only tighten, budgets
// that hold.
#include <gtest/gtest.h>

#include "gateway/net/http_server.hpp"
#include "gateway/net/listener.hpp"
#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kCheck =
    R"({"name":"check","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"passed":{"type":"boolean"}},"required":["passed"]}})";
constexpr const char* kWrite =
    R"({"name":"write","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}})";
constexpr const char* kQueue =
    R"({"name":"queue","inputSchema":{"type":"object","properties":{"amount":{"type":"number"}}}})";

RigOptions options(const std::string& more) {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}})" + more;
  options.trust =
      R"({"servers":{"s":{"tools":{"check":"read","write":{"effect":"file"},"queue":{"effect":"record","errors":"none","scope":"amount/{/amount}"}}}}})";
  options.servers["s"].tools = {kCheck, kWrite, kQueue};
  options.servers["s"].on_call = [](Dispatched& call) {
    call.result(call.tool == "check" ? R"({"content":[],"structuredContent":{"passed":true}})" : R"({"content":[]})");
  };
  return options;
}

constexpr const char* kRequire =
    R"(,{"id":"fresh","require":{"server":"s","tool":"queue"},"evidence":{"tool":"check","result":{"passed":true}}}]})";

TEST(Evidence, AQueueWithoutACurrentCheckIsRefusedAndSaysWhatToDo) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  const CallView refused = view(rig.call(client, "s__queue", "{}"));
  EXPECT_EQ(refused.code, "EVIDENCE_REQUIRED");
  EXPECT_EQ(refused.retry, "after_evidence");
  EXPECT_NE(refused.text.find("check"), std::string::npos) << refused.text;
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).outcome, "applied");
}

TEST(Evidence, AWriteInTheScopeMakesItStaleAlsoByAnotherPrincipal) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  rig.call(client, "s__check", "{}");
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "s__write", R"({"text":"x"})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Evidence, ItBelongsToThePrincipalThatGotIt) {
  Rig rig(options(kRequire));
  rig.call(rig.client(), "s__check", "{}");
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Evidence, ABadResultAndOneThatBreaksItsSchemaAreNone) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  for (const char* result : {R"({"content":[],"structuredContent":{"passed":false}})",
                             R"({"content":[],"structuredContent":{"passed":"true"}})",
                             R"({"content":[{"type":"text","text":"{\"passed\":true}"}]})"}) {
    rig.servers["s"].on_call = [result](Dispatched& call) { call.result(result); };
    rig.call(client, "s__check", "{}");
    EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED") << result;
  }
}

TEST(Evidence, IsJudgedWhereOtherResultsAreNot) {
  auto unjudged = options(kRequire);
  unjudged.trust =
      R"({"servers":{"s":{"tools":{"check":{"effect":"read","output":"off"},"queue":{"effect":"record","errors":"none"}}}}})";
  unjudged.servers["s"].tools[0] =
      R"({"name":"check","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"passed":{"type":"boolean"},"left":{"type":"integer"}}}})";
  Rig rig(unjudged);
  const auto client = rig.client();
  for (const auto& [left, code] : {std::pair{"\"many\"", "EVIDENCE_REQUIRED"}, {"0", ""}}) {
    const std::string result = std::string(R"({"content":[],"structuredContent":{"passed":true,"left":)") + left + "}}";
    rig.servers["s"].on_call = [result](Dispatched& call) { call.result(result); };
    EXPECT_FALSE(view(rig.call(client, "s__check", "{}")).is_error);
    EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, code) << left;
  }
}

TEST(Evidence, ACheckDuringAnOpenWriteProvesNothing) {
  Rig rig(options(kRequire));
  rig.servers["s"].on_call = {};
  const auto client = rig.client();
  const auto writing = rig.send(rig.client("agent:other"), "s__write", R"({"text":"x"})");
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  const auto checking = rig.send(client, "s__check", "{}");
  rig.run_until([&] { return rig.open_calls.size() == 2; });
  rig.open_calls[1].result(R"({"content":[],"structuredContent":{"passed":true}})");
  rig.run_until([&] { return checking->answer.has_value(); });
  rig.open_calls[0].result(R"({"content":[]})");
  rig.run_until([&] { return writing->answer.has_value(); });
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Budgets, RequestsAreCountedRefusedOnesToo) {
  Rig rig(options(R"(],"budgets":[{"id":"run","per":"run","requests":3}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__write", R"({"text":5})")).code, "ARGUMENTS_INVALID");
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  const CallView over = view(rig.call(client, "s__check", "{}"));
  EXPECT_EQ(over.code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(over.retry, "never");
  EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).outcome, "applied") << "another run has its own";
}

TEST(Budgets, AmountsAreHeldInFlightAndOnUnknownAndGivenBackOnNone) {
  Rig rig(options(
      R"(],"budgets":[{"id":"sum","per":"principal","match":{"server":"s","tool":"queue"},"sum":"/amount","max":10}]})"));
  const auto client = rig.client();
  rig.servers["s"].on_call = {};
  const auto first = rig.send(client, "s__queue", R"({"amount":6})");
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":5})")).code, "BUDGET_EXHAUSTED") << "6 are in flight";
  rig.open_calls[0].result(R"({"content":[],"isError":true})");  // none, by the contract
  rig.run_until([&] { return first->answer.has_value(); });
  Rig::deliver(*first->answer);
  const auto second = rig.send(client, "s__queue", R"({"amount":5})");
  rig.run_until([&] { return rig.open_calls.size() == 2; });
  rig.open_calls[1].lose();
  rig.run_until([&] { return second->answer.has_value(); });
  const std::string unknown = view(*second->answer).operation;
  rig.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":6})")).code, "BUDGET_EXHAUSTED")
      << "5 are held while it is unknown";
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), unknown, "none", "looked")));
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":7})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":-1})")).code, "BUDGET_EXHAUSTED");
}

// A hook's server on the rig's own loop.
class HookServer {
 public:
  explicit HookServer(Rig& rig, std::string body, int status = 200)
      : server_(rig.io.get_executor(), "hook", {},
                [this, body, status](HttpRequest request, HttpExchange& exchange) -> asio::awaitable<void> {
                  seen.push_back(request.body);
                  HttpResponse response;
                  response.status = status;
                  response.body = body;
                  co_await exchange.respond(std::move(response));
                }) {
    auto listener = Listener::tcp(rig.io.get_executor(), "127.0.0.1", 0);
    listener_ = std::move(*listener);
    listener_->start([this](std::unique_ptr<ByteStream> stream) { server_.accept(std::move(stream)); });
  }
  [[nodiscard]] std::string url() const { return "http://" + listener_->address() + "/v1/data/sallyport"; }
  std::vector<std::string> seen;

 private:
  HttpServer server_;
  std::unique_ptr<Listener> listener_;
};

std::string with_hook(const std::string& url) {
  return R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}},{"id":"hooked","hook":{"server":"s"},"url":")" +
         url + R"(","timeout":"2s"}]})";
}

TEST(Hooks, AnAnswerCanOnlyTighten) {
  Rig rig(options("]}"));
  HookServer none(rig, R"({"decision":"none"})"), deny(rig, R"({"result":{"decision":"deny","message":"not today"}})"),
      ask(rig, R"({"decision":"ask"})");
  rig.set_policy(with_hook(none.url()));
  const Answer allowed = rig.call(rig.client(), "s__write", R"({"text":"x"})");
  EXPECT_EQ(view(allowed).outcome, "applied");
  Rig::deliver(allowed);
  ASSERT_EQ(none.seen.size(), 1U);
  EXPECT_NE(none.seen[0].find(R"("arguments":{"text":"x"})"), std::string::npos) << none.seen[0];
  rig.set_policy(with_hook(deny.url()));
  const CallView denied = view(rig.call(rig.client(), "s__write", R"({"text":"x"})"));
  EXPECT_EQ(denied.code, "POLICY_DENIED");
  rig.set_policy(with_hook(ask.url()));
  const auto asked = rig.send(rig.client(), "s__write", R"({"text":"y"})");
  EXPECT_FALSE(rig.pending_approval().empty());
}

TEST(Hooks, AFaultOfTheHookDeniesWithItsOwnCode) {
  Rig rig(options("]}"));
  HookServer bad(rig, "certainly"), failing(rig, R"({"decision":"none"})", 500),
      moved(rig, R"({"decision":"none"})", 302);
  for (const std::string& url : {bad.url(), failing.url(), moved.url(), std::string("http://127.0.0.1:1/")}) {
    rig.set_policy(with_hook(url));
    EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).code, "HOOK_FAILED") << url;
  }
  EXPECT_TRUE(rig.all_calls.empty());
}

}  // namespace
}  // namespace sallyport::test
