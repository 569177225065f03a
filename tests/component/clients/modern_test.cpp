// The modern era (2026-07-28) over both fronts: what is served, what is refused and with which status, rule by rule.
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

constexpr std::string_view kEnvelope =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{})";

std::string meta(const std::string& more = {}) { return R"("_meta":{)" + std::string(kEnvelope) + more + "}"; }

std::string message(std::string_view method, const std::string& members = {}, std::string_view id = "1",
                    const std::string& more = {}) {
  return mcp::request(id, method, "{" + members + (members.empty() ? "" : ",") + meta(more) + "}");
}
std::string tool(std::string_view name, const std::string& members = {}, std::string_view id = "1",
                 const std::string& more = {}) {
  return message("tools/call", R"("name":)" + quote(name) + (members.empty() ? "" : ",") + members, id, more);
}

// Header lines as they must be.
std::string heads(std::string_view method, std::string_view name = {}, std::string_view version = "2026-07-28") {
  std::string out = "MCP-Protocol-Version: " + std::string(version) + "\r\nMcp-Method: " + std::string(method) + "\r\n";
  if (!name.empty()) out += "Mcp-Name: " + std::string(name) + "\r\n";
  return out;
}

class ModernTest : public ClientsTest {
 protected:
  asio::awaitable<TestResponse> send(std::string more, std::string body, std::string token = "secret-a") {
    HttpPeer peer = connect();
    Form form{.token = std::move(token), .more = std::move(more)};
    std::string text = post(form, body);
    TestResponse answer = co_await peer.ask(std::move(text));
    co_return answer;
  }
  asio::awaitable<void> refused(std::string more, std::string body, int status, int code) {
    const int handled = front_.handled;
    const TestResponse answer = co_await send(more, body);
    EXPECT_EQ(answer.status, status) << more << body << answer.body;
    EXPECT_EQ(answer.error_code(), code) << more << body << answer.body;
    EXPECT_EQ(front_.handled, handled) << more << body;
  }
};

TEST_F(ModernTest, ServesWithoutHandshakeOrSession) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer =
        co_await send(heads("tools/call", "echo") + "Mcp-Session-Id: of-another-age\r\nIdempotency-Key: k-1\r\n",
                      tool("echo", R"("n":1.00)", "\"a\\u0062\"",
                           R"(,"io.modelcontextprotocol/clientInfo":{"name":"agent","version":"2"})"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_FALSE(answer.headers.has("Mcp-Session-Id"));
    EXPECT_TRUE(answer.body.starts_with(
        R"({"jsonrpc":"2.0","id":"a\u0062","result":{"resultType":"complete","principal":"agent:a",)"))
        << answer.body;
    EXPECT_TRUE(answer.body.contains(R"("n":1.00)")) << "bytes pass unharmed: " << answer.body;
    EXPECT_EQ(front_.last_key, "k-1");
    const ClientContext& client = *front_.last_client;
    EXPECT_EQ(client.era, mcp::Era::modern);
    EXPECT_EQ(client.protocol_version, "2026-07-28");
    EXPECT_EQ(client.claimed_name, "agent");
    EXPECT_TRUE(client.session.starts_with("se_"));
    EXPECT_EQ(client.run, "") << "the principal's standing run";
    EXPECT_EQ(sessions_->count(), 0U);
  });
}

TEST_F(ModernTest, DiscoverTellsWhatIsSpokenAndOffered) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer = co_await send(heads("server/discover"), message("server/discover"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body,
              R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private",)"
              R"("supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],)"
              R"("capabilities":{"tools":{"listChanged":true},"logging":{}},"instructions":"all servers",)"
              R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sallyport","version":"9.9.9"}}}})");
    EXPECT_EQ(front_.handled, 0);
  });
}

TEST_F(ModernTest, ListsSayHowLongTheyMayBeKeptAndThatTheyArePrivate) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer = co_await send(heads("tools/list"), message("tools/list"));
    EXPECT_EQ(
        answer.body,
        R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":5000,"cacheScope":"private","tools":[]}})");
  });
}

TEST_F(ModernTest, TheLadderRefusesInOrder) {
  run([&]() -> asio::awaitable<void> {
    using namespace mcp::code;
    const std::string list = heads("tools/list");
    co_await refused(list, "{", 400, kParseError);
    co_await refused(list, R"({"jsonrpc":"2.0","id":1})", 400, kInvalidRequest);
    co_await refused(list, "[" + message("tools/list") + "]", 400, kInvalidRequest);
    // Era: the body decides, a header that says another thing refuses.
    co_await refused(heads("tools/list", "", "2025-11-25"), message("tools/list"), 400, kHeaderMismatch);
    co_await refused(heads("prompts/list"), message("tools/list"), 400, kHeaderMismatch);
    co_await refused(heads("initialize"), std::string(kInitialize), 400, kHeaderMismatch);
    // Envelope.
    co_await refused(list, mcp::request("1", "tools/list", "{}"), 400, kInvalidParams);
    co_await refused(list, mcp::request("1", "tools/list", ""), 400, kInvalidParams);
    co_await refused(
        list, mcp::request("1", "tools/list", R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})"),
        400, kInvalidParams);
    co_await refused(list,
                     mcp::request("1", "tools/list", R"({"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}})"),
                     400, kInvalidParams);
    // Version, before the method and the other headers.
    std::string future = message("no/such");
    future.replace(future.find("2026-07-28"), 10, "2030-01-01");
    co_await refused("MCP-Protocol-Version: 2030-01-01\r\n", future, 400, kUnsupportedVersion);
    co_await refused("MCP-Protocol-Version: 2030-01-01\r\n", mcp::request("1", "tools/list", "{}"), 400,
                     kUnsupportedVersion);
    // Method, before the headers that are missing.
    for (const std::string gone : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                                   "resources/unsubscribe", "tasks/list", "tasks/result", "no/such"}) {
      co_await refused("MCP-Protocol-Version: 2026-07-28\r\n", message(gone), 404, kMethodNotFound);
    }
    // Headers.
    co_await refused("", message("tools/list"), 400, kHeaderMismatch);
    co_await refused("Mcp-Method: tools/list\r\n", message("tools/list"), 400, kHeaderMismatch);
    co_await refused("MCP-Protocol-Version: 2026-07-28\r\n", message("tools/list"), 400, kHeaderMismatch);
  });
}

TEST_F(ModernTest, EveryFieldOfAHeaderIsComparedWithTheBody) {
  run([&]() -> asio::awaitable<void> {
    using mcp::code::kHeaderMismatch;
    const auto named = [](std::string_view method, std::string_view name) { return heads(method, name); };
    co_await refused(named("tools/call", "other"), tool("echo"), 400, kHeaderMismatch);
    co_await refused(named("tools/call", "Echo"), tool("echo"), 400, kHeaderMismatch);
    co_await refused(named("tools/call", ""), tool("echo"), 400, kHeaderMismatch);
    co_await refused(named("tools/call", "=?base64?ZWNobw?="), tool("echo"), 400, kHeaderMismatch);
    co_await refused(named("prompts/get", "b"), message("prompts/get", R"("name":"a")"), 400, kHeaderMismatch);
    co_await refused(named("resources/read", "x://b"), message("resources/read", R"("uri":"x://a")"), 400,
                     kHeaderMismatch);
    co_await refused(heads("Tools/Call", "echo"), tool("echo"), 400, kHeaderMismatch);
    const std::string arguments = R"("arguments":{"path":"/a","count":3})";
    co_await refused(named("tools/call", "echo"), tool("echo", arguments), 400, kHeaderMismatch);
    co_await refused(named("tools/call", "echo") + "Mcp-Param-Path: /b\r\nMcp-Param-Count: 3\r\n",
                     tool("echo", arguments), 400, kHeaderMismatch);
    co_await refused(named("tools/call", "echo") + "Mcp-Param-Path: /a\r\nMcp-Param-Count: 4\r\n",
                     tool("echo", arguments), 400, kHeaderMismatch);
    const TestResponse twice = co_await send(
        named("tools/call", "echo") + "Mcp-Param-Path: /a\r\nmcp-param-path: /b\r\nMcp-Param-Count: 3\r\n",
        tool("echo", arguments));
    EXPECT_EQ(twice.status, 400);
    // The same in other words is the same; of headers that no tool declares nothing is said.
    for (const std::string good :
         {"Mcp-Param-Path: /a\r\nMcp-Param-Count: 3\r\n", "mcp-param-path: =?base64?L2E=?=\r\nMCP-PARAM-COUNT: 3.0\r\n",
          "Mcp-Param-Path: /a\r\nMcp-Param-Count: 3\r\nMcp-Param-Other: x\r\n"}) {
      const TestResponse answer =
          co_await send(named("tools/call", "=?base64?ZWNobw==?=") + good, tool("echo", arguments));
      EXPECT_EQ(answer.status, 200) << good << answer.body;
    }
  });
}

TEST_F(ModernTest, ErrorsOfMethodsStayInBandButOne) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse none = co_await send(heads("tools/call", "nope"), tool("nope"));
    EXPECT_EQ(none.status, 200);
    EXPECT_EQ(none.error_code(), mcp::code::kMethodNotFound);
    const TestResponse lacks = co_await send(heads("tools/call", "lacks"), tool("lacks"));
    EXPECT_EQ(lacks.status, 400);
    EXPECT_EQ(lacks.error_code(), mcp::code::kMissingClientCapability);
    const TestResponse missing =
        co_await send(heads("resources/read", "x://a"), message("resources/read", R"("uri":"x://a")"));
    EXPECT_EQ(missing.status, 200);
    EXPECT_EQ(missing.error_code(), mcp::code::kInvalidParams) << "the number of this era";
  });
}

TEST_F(ModernTest, HasNoGetAndNoDelete) {
  run([&]() -> asio::awaitable<void> {
    for (const std::string method : {"GET", "DELETE"}) {
      HttpPeer peer = connect();
      Form form{.session = "some", .more = "MCP-Protocol-Version: 2026-07-28\r\n"};
      const TestResponse answer = co_await peer.ask(request(method, form, ""));
      EXPECT_EQ(answer.status, 405) << method;
    }
  });
}

TEST_F(ModernTest, NotificationsAreTakenAndSaidNothingTo) {
  run([&]() -> asio::awaitable<void> {
    const TestResponse answer =
        co_await send(heads("notifications/cancelled"),
                      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    EXPECT_EQ(answer.status, 202);
    EXPECT_EQ(answer.body, "");
    co_await refused(heads("notifications/other"),
                     R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})", 400,
                     mcp::code::kHeaderMismatch);
  });
}

TEST_F(ModernTest, GoingAwayCancels) {
  run([&]() -> asio::awaitable<void> {
    {
      HttpPeer peer = connect();
      Form form{.more = heads("tools/call", "wait")};
      co_await peer.send(post(form, tool("wait", R"("tag":"t")")));
      co_await front_.until_held("t");
      peer.stream().close();
    }
    co_await front_.until_delivered("t");
    EXPECT_EQ(front_.delivered["t"], std::vector<bool>{false});
    EXPECT_FALSE(front_.was_open["t"]);
  });
}

TEST_F(ModernTest, ProgressAndWantedLogsGoOnTheStreamOfTheirRequest) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.more = heads("tools/call", "notes")};
    co_await peer.send(post(form, tool("notes", R"("notes":2,"tag":"n")")));
    EXPECT_EQ(co_await peer.receive_head(), 200);
    EXPECT_EQ(peer.head().header("Content-Type"), "text/event-stream");
    EXPECT_EQ(peer.head().header("X-Accel-Buffering"), "no");
    EXPECT_TRUE((co_await peer.next_event()).contains("\"progress\":1"));
    EXPECT_TRUE((co_await peer.next_event()).contains("\"progress\":2"));
    EXPECT_TRUE((co_await peer.next_event()).contains(R"("resultType":"complete")"));
    EXPECT_EQ(co_await peer.next_event(), "<end>");
    EXPECT_EQ(peer.last_id(), "") << "nothing to read on";

    const std::string levels = R"("levels":["debug","warning"])";
    const TestResponse quiet = co_await send(heads("tools/call", "log"), tool("log", levels));
    EXPECT_EQ(quiet.header("Content-Type"), "application/json") << "nobody asked for logs: " << quiet.body;
    HttpPeer loud = connect();
    form.more = heads("tools/call", "log");
    co_await loud.send(post(form, tool("log", levels, "1", R"(,"io.modelcontextprotocol/logLevel":"warning")")));
    EXPECT_EQ(co_await loud.receive_head(), 200);
    EXPECT_TRUE((co_await loud.next_event()).contains("warning"));
    EXPECT_TRUE((co_await loud.next_event()).contains("resultType"));
  });
}

TEST_F(ModernTest, ListenersHearWhatTheyAskedForUnderTheirOwnIds) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer tools = connect();
    HttpPeer both = connect();
    Form form{.more = heads("subscriptions/listen")};
    co_await tools.send(
        post(form, message("subscriptions/listen", R"("notifications":{"toolsListChanged":true})", "8")));
    co_await both.send(
        post(form, message("subscriptions/listen",
                           R"("notifications":{"promptsListChanged":true,"toolsListChanged":false,"other":true,)"
                           R"("resourceSubscriptions":["x://a","x://secret"]})",
                           "\"b\"")));
    for (HttpPeer* peer : {&tools, &both}) EXPECT_EQ(co_await peer->receive_head(), 200);
    EXPECT_EQ(co_await tools.next_event(),
              R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":)"
              R"({"io.modelcontextprotocol/subscriptionId":8},"notifications":{"toolsListChanged":true}}})");
    EXPECT_EQ(co_await both.next_event(),
              R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":)"
              R"({"io.modelcontextprotocol/subscriptionId":"b"},"notifications":{"promptsListChanged":true,)"
              R"("resourceSubscriptions":["x://a"]}}})");
    EXPECT_EQ(sessions_->modern().listeners(), 2U);
    EXPECT_EQ(front_.subscribed.size(), 1U);

    sessions_->changed("notifications/tools/list_changed", "files");
    EXPECT_EQ(co_await tools.next_event(),
              R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":)"
              R"({"io.modelcontextprotocol/subscriptionId":8}}})");
    const std::string session = front_.subscribed.begin()->first;
    sessions_->tell(session, "notifications/resources/updated",
                    R"({"uri":"x://a","_meta":{"io.modelcontextprotocol/subscriptionId":"theirs","k":1}})");
    EXPECT_EQ(co_await both.next_event(),
              R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a","_meta":)"
              R"({"io.modelcontextprotocol/subscriptionId":"b","k":1}}})");

    both.stream().close();
    while (sessions_->modern().listeners() > 1) co_await turns(1);
    EXPECT_TRUE(front_.subscribed.empty()) << "what it was subscribed to ends with it";
    sessions_->modern().end_listeners();
    EXPECT_EQ(co_await tools.next_event(), R"({"jsonrpc":"2.0","id":8,"result":{"resultType":"complete","_meta":)"
                                           R"({"io.modelcontextprotocol/subscriptionId":8}}})");
    EXPECT_EQ(co_await tools.next_event(), "<end>");
  });
}

TEST_F(ModernTest, AnOpenListenerHoldsNoShutdownUp) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.more = heads("subscriptions/listen")};
    co_await peer.send(post(form, message("subscriptions/listen", R"("notifications":{})", "8")));
    EXPECT_EQ(co_await peer.receive_head(), 200);
    EXPECT_TRUE((co_await peer.next_event()).contains("acknowledged"));
    const bool clean = co_await http_->shutdown(soon());
    EXPECT_TRUE(clean);
    EXPECT_TRUE((co_await peer.next_event()).contains(R"("resultType":"complete")"));
  });
}

TEST_F(ModernTest, PrincipalsAreToldApartAndAnonymousOnesByConnection) {
  settings_.anonymous = true;
  run([&]() -> asio::awaitable<void> {
    std::vector<ClientContext> seen;
    const auto ask = [&](HttpPeer& peer, std::string token) -> asio::awaitable<void> {
      Form form{.token = std::move(token), .more = heads("tools/call", "echo")};
      const TestResponse answer = co_await peer.ask(post(form, tool("echo")));
      EXPECT_EQ(answer.status, 200) << answer.body;
      seen.push_back(*front_.last_client);
    };
    HttpPeer one = connect();
    HttpPeer two = connect();
    co_await ask(one, "secret-a");
    co_await ask(two, "secret-a");
    co_await ask(one, "secret-b");
    co_await ask(one, "");
    co_await ask(one, "");
    co_await ask(two, "");
    EXPECT_EQ(seen[0].session, seen[1].session);
    EXPECT_NE(seen[0].session, seen[2].session);
    EXPECT_TRUE(seen[3].principal.anonymous);
    EXPECT_EQ(seen[3].principal.id, seen[4].principal.id);
    EXPECT_NE(seen[3].principal.id, seen[5].principal.id) << "joins nothing of others";
  });
}

TEST_F(ModernTest, BothErasAreServedOnOneConnection) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form legacy;
    legacy.session = co_await open_session(peer);
    Form modern{.more = heads("tools/call", "echo")};
    const TestResponse first = co_await peer.ask(post(modern, tool("echo")));
    EXPECT_TRUE(first.body.contains("resultType")) << first.body;
    const TestResponse second = co_await peer.ask(post(legacy, call("7", "echo")));
    EXPECT_EQ(second.status, 200);
    EXPECT_FALSE(second.body.contains("resultType")) << second.body;
  });
}

TEST_F(ModernTest, SpeaksOverLinesToo) {
  run([&]() -> asio::awaitable<void> {
    LinePeer peer = connect_lines();
    EXPECT_EQ(co_await peer.ask(R"({"sallyport":1,"token":"secret-a"})"), R"({"ok":true})");
    const std::string found = co_await peer.ask(message("server/discover", "", "\"d\""));
    EXPECT_TRUE(found.contains("supportedVersions")) << found;
    EXPECT_TRUE((co_await peer.ask(message("ping"))).contains("-32601"));
    EXPECT_TRUE((co_await peer.ask(mcp::request("2", "tools/list",
                                                R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01",)"
                                                R"("io.modelcontextprotocol/clientCapabilities":{}}})")))
                    .contains("-32022"));
    const std::string echo = co_await peer.ask(tool("echo", "", "5"));
    EXPECT_TRUE(echo.contains(R"("resultType":"complete")")) << echo;
    EXPECT_EQ(front_.last_client->transport, "stdio");
    EXPECT_TRUE(front_.last_client->run.starts_with("run_")) << "a connection is a run";

    co_await peer.send(message("subscriptions/listen", R"("notifications":{"toolsListChanged":true})", "9"));
    EXPECT_TRUE((co_await peer.receive()).contains("acknowledged"));
    // An id in flight is refused in either era; a cancel finds requests of both.
    EXPECT_TRUE((co_await peer.ask(tool("echo", "", "9"))).contains("still open"));
    sessions_->changed("notifications/tools/list_changed", "");
    EXPECT_TRUE((co_await peer.receive()).contains(R"("io.modelcontextprotocol/subscriptionId":9)"));
    co_await peer.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}})");
    while (sessions_->modern().listeners() > 0) co_await turns(1);
    // And the handshake of the other era is as good as ever.
    EXPECT_TRUE((co_await peer.ask(std::string(kInitialize))).contains("2025-11-25"));
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
