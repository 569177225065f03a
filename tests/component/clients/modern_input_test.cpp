// Calls of more than one leg: what a modern client carries in between, and what it cannot do with it.
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}})";

struct Leg {
  std::string id = "1";
  std::string method = "tools/call";
  std::string name = "ask";
  std::string path = "/mcp";
  std::string token = "secret-a";
  std::string arguments = R"({"n":1.0})";
  std::string more;  // members of params, with a comma behind each
};

class ModernInputTest : public ClientsTest {
 protected:
  asio::awaitable<TestResponse> send(Leg leg) {
    HttpPeer peer = connect();
    Form form{.path = leg.path, .token = leg.token};
    form.more = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + leg.method + "\r\nMcp-Name: " + leg.name + "\r\n";
    const std::string params = R"({"name":)" + quote(leg.name) + R"(,"arguments":)" + leg.arguments + "," + leg.more +
                               std::string(kMeta) + "}";
    std::string text = post(form, mcp::request(leg.id, leg.method, params));
    TestResponse answer = co_await peer.ask(std::move(text));
    co_return answer;
  }
  asio::awaitable<std::string> first(Leg leg = {}) {
    const TestResponse answer = co_await send(std::move(leg));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto value = answer.json();
    EXPECT_EQ(value.at("result").at("resultType").as_string(), "input_required") << answer.body;
    co_return std::string(value.at("result").at("requestState").as_string());
  }
  static std::string with(const std::string& state, const std::string& responses = {}) {
    return R"("requestState":)" + quote(state) + "," +
           (responses.empty() ? "" : R"("inputResponses":)" + responses + ",");
  }
  asio::awaitable<void> refused(Leg leg, std::string_view words) {
    const TestResponse answer = co_await send(std::move(leg));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.error_code(), mcp::code::kInvalidParams) << answer.body;
    EXPECT_TRUE(answer.body.contains(words)) << answer.body;
  }
};

TEST_F(ModernInputTest, TheServersQuestionsComeUnderTheirOwnKeysAndItsStateUnread) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer = co_await send({});
    const auto result = answer.json().at("result");
    EXPECT_EQ(
        boost::json::serialize(result.at("inputRequests")),
        R"({"q":{"method":"elicitation/create","params":{"message":"[files] who?"}},"server.dev.sallyport/ask":{"method":"roots/list"},"server.server.x":{"method":"roots/list"}})");
    EXPECT_FALSE(answer.body.contains("their"));
    EXPECT_FALSE(answer.body.contains("op_1"));
    EXPECT_FALSE(answer.body.contains("ttlMs")) << "such an answer is not to be kept";
    const std::string state(result.at("requestState").as_string());

    const TestResponse next =
        co_await send({.id = "2",
                       .more = with(state, R"({"q":{"action":"accept","content":{"n":1.00}},"dev.sallyport/ask":{},)"
                                           R"("server.dev.sallyport/ask":{"a":1},"server.server.x":{}})")});
    EXPECT_EQ(
        next.body,
        R"({"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","operation":"op_1","leg":1,)"
        R"("state":"their\u0020state","responses":{"q":{"action":"accept","content":{"n":1.00}},"dev.sallyport/ask":{"a":1},"server.x":{}}}})");
  });
}

TEST_F(ModernInputTest, AStateWithoutAnswersGoesOnWithout) {
  run([&]() -> asio::awaitable<void> {
    const std::string state = co_await first();
    const TestResponse next = co_await send({.more = with(state)});
    EXPECT_TRUE(next.body.contains(R"("responses":null)")) << next.body;
  });
}

TEST_F(ModernInputTest, AnAlteredStateIsNone) {
  run([&]() -> asio::awaitable<void> {
    const std::string state = co_await first();
    for (std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{20}, state.size() / 2, state.size() - 2}) {
      std::string other = state;
      other[at] = other[at] == 'A' ? 'B' : 'A';
      co_await refused({.more = with(other)}, "altered");
    }
    for (const std::string& other : {std::string(), std::string("v1."), std::string("x"), state.substr(0, 40),
                                     state + "AAAA", std::string(100'000, 'A')}) {
      co_await refused({.more = with(other)}, "altered");
    }
    co_await refused({.more = R"("requestState":7,)"}, "string");
  });
}

TEST_F(ModernInputTest, AStateIsForOneClientOneMountAndOneCall) {
  run([&]() -> asio::awaitable<void> {
    const std::string state = co_await first();
    co_await refused({.token = "secret-b", .more = with(state)}, "another client");
    co_await refused({.path = "/servers/files/mcp", .more = with(state)}, "another call");
    co_await refused({.arguments = R"({"n":1.00})", .more = with(state)}, "another call");
    co_await refused({.name = "echo", .more = with(state)}, "another call");
    co_await refused({.method = "prompts/get", .more = with(state)}, "another call");
    // Whoever it was given to may still use it.
    const TestResponse next = co_await send({.more = with(state)});
    EXPECT_EQ(next.error_code(), 0) << next.body;
  });
}

TEST_F(ModernInputTest, AStateExpires) {
  run([&]() -> asio::awaitable<void> {
    const std::string arguments = R"({"late":true})";
    const std::string state = co_await first({.arguments = arguments});
    co_await refused({.arguments = arguments, .more = with(state)}, "expired");
  });
}

TEST_F(ModernInputTest, AnswersWithoutAStateAreNotPassedOn) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer = co_await send({.more = R"("inputResponses":{"q":{"action":"accept"}},)"});
    EXPECT_TRUE(answer.body.contains("input_required")) << answer.body;
  });
}

TEST_F(ModernInputTest, AnAnonymousClientIsKnownByItsState) {
  settings_.anonymous = true;
  run([&]() -> asio::awaitable<void> {
    const std::string state = co_await first({.token = ""});
    const std::string who = front_.last_client->principal.id;
    const TestResponse next = co_await send({.token = "", .more = with(state)});  // on another connection
    EXPECT_EQ(next.error_code(), 0) << next.body;
    EXPECT_EQ(front_.last_client->principal.id, who);
    EXPECT_TRUE(front_.last_client->principal.anonymous);
    co_await refused({.more = with(state)}, "another client");
  });
}

TEST_F(ModernInputTest, TheGatewayAsksTheUserBetweenACallAndItsRepeat) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse asked = co_await send({.name = "approve"});
    const auto result = asked.json().at("result");
    EXPECT_EQ(result.at("resultType").as_string(), "input_required") << asked.body;
    EXPECT_EQ(boost::json::serialize(result.at("inputRequests")),
              R"({"dev.sallyport/ask":{"method":"elicitation/create","params":{"message":"May it?","mode":"form"}}})");
    const std::string state(result.at("requestState").as_string());
    const std::string yes = with(state, R"({"dev.sallyport/ask":{"action":"accept"},"other":{}})");
    co_await refused({.name = "approve", .token = "secret-b", .more = yes}, "another client");
    co_await refused({.name = "echo", .more = yes}, "another call");
    const TestResponse done = co_await send({.id = "2", .name = "approve", .more = yes});
    EXPECT_EQ(done.body, R"({"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","told":{"action":"accept"}}})");
    co_await refused({.name = "approve", .more = yes}, "no longer valid");
  });
}

TEST_F(ModernInputTest, AClientThatCannotBeAskedIsNot) {
  run([&]() -> asio::awaitable<void> {
    // Completions have no further legs.
    HttpPeer peer = connect();
    Form form{.more = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: completion/complete\r\n"};
    std::string text = post(form, mcp::request("1", "completion/complete", "{" + std::string(kMeta) + "}"));
    const TestResponse answer = co_await peer.ask(std::move(text));
    EXPECT_EQ(answer.status, 200);
    EXPECT_FALSE(front_.last_client->asks_by_form);
    co_await send({.name = "echo"});
    EXPECT_TRUE(front_.last_client->asks_by_form);
  });
}

TEST_F(ModernInputTest, AStateOutlivesTheGatewayWhereItsKeyDoes) {
  session_options_.state_key = std::string(32, 'k');
  std::string state;
  run([&]() -> asio::awaitable<void> { state = co_await first(); });
  http_.reset();
  stdio_.reset();
  sessions_.reset();
  run([&]() -> asio::awaitable<void> {
    const TestResponse next = co_await send({.more = with(state)});
    EXPECT_EQ(next.error_code(), 0) << next.body;
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
