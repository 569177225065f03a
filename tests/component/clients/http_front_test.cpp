// The HTTP front, rule by rule. Names with C… are the field reports they answer.
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class HttpFrontTest : public ClientsTest {};

TEST_F(HttpFrontTest, InitializesNegotiatesAndServes) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    const TestResponse answer = co_await peer.ask(post({}, kInitialize));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.body,
              R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":)"
              R"({"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"sallyport","version":"9.9.9"},)"
              R"("instructions":"all servers"}})");
    Form form;
    form.session = answer.header("Mcp-Session-Id");
    form.more = "MCP-Protocol-Version: 2025-11-25\r\nIdempotency-Key: k-1\r\n";
    const TestResponse echo =
        co_await peer.ask(post(form, call("\"a\\u0062\"", "echo", R"({"n":12345678901234567890})")));
    EXPECT_EQ(
        echo.body,
        R"({"jsonrpc":"2.0","id":"a\u0062","result":{"principal":"agent:a","server":"","params":{"n":12345678901234567890}}})");
    EXPECT_EQ(front_.last_key, "k-1");
    EXPECT_EQ(front_.last_client->transport, "http");
    EXPECT_EQ(front_.last_client->claimed_name, "test");
    EXPECT_EQ(front_.last_client->protocol_version, "2025-11-25");
    EXPECT_TRUE(front_.last_client->session.starts_with("se_"));
    EXPECT_TRUE(front_.last_client->run.starts_with("run_"));
    EXPECT_EQ(front_.last_client->principal.groups, std::vector<std::string>{"agents"});
    EXPECT_EQ(front_.delivered[""], std::vector<bool>{true});
  });
}

TEST_F(HttpFrontTest, MountsOneServerAndKnowsNoOther) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.path = "/servers/files/mcp"};
    form.session = co_await open_session(peer, form);
    const TestResponse echo = co_await peer.ask(post(form, call("1", "echo")));
    EXPECT_EQ(echo.json().at("result").at("server").as_string(), "files");
    // A session belongs to its mount.
    form.path = "/mcp";
    const TestResponse elsewhere = co_await peer.ask(post(form, call("1", "echo")));
    EXPECT_EQ(elsewhere.status, 404);
    for (const std::string path : {"/servers/nope/mcp", "/servers//mcp", "/", "/mcp/x", "/servers/files", "/healthz"}) {
      HttpPeer stranger = connect();  // a refusal before the body ends the connection
      const TestResponse none = co_await stranger.ask(post({.path = path}, kInitialize));
      EXPECT_EQ(none.status, 404) << path;
      EXPECT_EQ(none.header("Content-Type"), "application/json");
    }
    // C064: both spellings, no redirect.
    const TestResponse slash = co_await peer.ask(post({.path = "/mcp/"}, kInitialize));
    EXPECT_EQ(slash.status, 200);
  });
}

TEST_F(HttpFrontTest, NegotiatesEveryLegacyVersionAndOffersTheNewestForOthers) {
  run([&]() -> asio::awaitable<void> {
    for (const std::string version :
         {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28", "1999-01-01"}) {
      HttpPeer peer = connect();
      std::string body(kInitialize);
      body.replace(body.find("2025-11-25"), 10, version);
      const TestResponse answer = co_await peer.ask(post({}, body));
      const bool known = mcp::is_legacy(version);
      EXPECT_EQ(answer.json().at("result").at("protocolVersion").as_string(), known ? version : "2025-11-25");
    }
  });
}

TEST_F(HttpFrontTest, AsksForACredential) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    const TestResponse none = co_await peer.ask(post({.token = ""}, kInitialize));
    EXPECT_EQ(none.status, 401);
    EXPECT_EQ(none.header("WWW-Authenticate"), "Bearer realm=\"sallyport\"");
    EXPECT_NE(none.error_code(), 0);
    HttpPeer second = connect();
    const TestResponse wrong = co_await second.ask(post({.token = "secret-c"}, kInitialize));
    EXPECT_EQ(wrong.status, 401);
    EXPECT_EQ(wrong.header("WWW-Authenticate"), "Bearer realm=\"sallyport\", error=\"invalid_token\"");
    HttpPeer third = connect();
    const TestResponse basic =
        co_await third.ask(post({.token = "", .more = "Authorization: Basic eDp5\r\n"}, kInitialize));
    EXPECT_EQ(basic.status, 401);
    // Not even whether a path exists is told to strangers.
    HttpPeer fourth = connect();
    const TestResponse path = co_await fourth.ask(post({.path = "/nope", .token = ""}, kInitialize));
    EXPECT_EQ(path.status, 401);
    EXPECT_EQ(sessions_->count(), 0U);
    co_await still_serves();
  });
}

TEST_F(HttpFrontTest, LetsAnonymousClientsInOnlyIfTheSettingsSaySo) {
  settings_.anonymous = true;
  run([&]() -> asio::awaitable<void> {
    HttpPeer one = connect();
    HttpPeer two = connect();
    Form first{.token = ""};
    Form second{.token = ""};
    first.session = co_await open_session(one, first);
    second.session = co_await open_session(two, second);
    const TestResponse a = co_await one.ask(post(first, call("1", "echo")));
    const std::string id_a = front_.last_client->principal.id;
    EXPECT_TRUE(front_.last_client->principal.anonymous);
    const TestResponse b = co_await two.ask(post(second, call("1", "echo")));
    EXPECT_TRUE(id_a.starts_with("anonymous:"));
    EXPECT_NE(id_a, front_.last_client->principal.id);
    // A wrong credential is not none.
    HttpPeer three = connect();
    const TestResponse wrong = co_await three.ask(post({.token = "nonsense"}, kInitialize));
    EXPECT_EQ(wrong.status, 401);
    // A known client may not go on with an anonymous session, nor the other way round.
    HttpPeer four = connect();
    const TestResponse taken =
        co_await four.ask(post({.token = "secret-a", .session = first.session}, call("1", "echo")));
    EXPECT_EQ(taken.status, 404);
  });
}

TEST_F(HttpFrontTest, C065ChecksHostAndOrigin) {
  http_options_.listen.allowed_origins = {"https://console.example"};
  run([&]() -> asio::awaitable<void> {
    struct Case {
      std::string host, origin;
      int status;
    };
    const std::vector<Case> cases{{"127.0.0.1:8720", "", 200},
                                  {"localhost:8720", "", 200},
                                  {"[::1]:8080", "", 200},
                                  {"evil.example:8080", "", 403},
                                  {"localhost.evil.example", "", 403},
                                  {"127.0.0.1:8720", "https://evil.example", 403},
                                  {"127.0.0.1:8720", "null", 403},
                                  {"127.0.0.1:8720", "http://127.0.0.1:8720", 200},
                                  {"127.0.0.1:8720", "https://console.example", 200},
                                  {"127.0.0.1:8720", "https://console.example.evil", 403}};
    for (const Case& one : cases) {
      HttpPeer peer = connect();
      std::string text = post({}, kInitialize);
      text.replace(text.find("127.0.0.1:8720"), 14, one.host);
      if (!one.origin.empty()) text.insert(text.find("Accept:"), "Origin: " + one.origin + "\r\n");
      const TestResponse answer = co_await peer.ask(std::move(text));
      EXPECT_EQ(answer.status, one.status) << one.host << " " << one.origin;
      const bool cors = one.status == 200 && !one.origin.empty();
      EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), cors ? one.origin : "");
    }
  });
}

TEST_F(HttpFrontTest, AnswersPreflightsOfAllowedOriginsOnly) {
  http_options_.listen.allowed_origins = {"https://console.example"};
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.token = "", .more = "Origin: https://console.example\r\nAccess-Control-Request-Method: POST\r\n"};
    const TestResponse answer = co_await peer.ask(request("OPTIONS", form, ""));
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://console.example");
    EXPECT_TRUE(answer.header("Access-Control-Allow-Headers").contains("Mcp-Session-Id"));
    HttpPeer other = connect();
    form.more = "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    const TestResponse refused = co_await other.ask(request("OPTIONS", form, ""));
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.header("Access-Control-Allow-Origin"), "");
  });
}

TEST_F(HttpFrontTest, C053TakesEveryAcceptThatFits) {
  run([&]() -> asio::awaitable<void> {
    struct Case {
      std::string accept, type;
    };
    const std::vector<Case> cases{{"application/json, text/event-stream", "application/json"},
                                  {"application/json", "application/json"},
                                  {"*/*", "application/json"},
                                  {"application/*", "application/json"},
                                  {"", "application/json"},
                                  {"application/json , TEXT/EVENT-STREAM", "application/json"},
                                  {"text/event-stream;q=0.5", "text/event-stream"},
                                  {"text/event-stream", "text/event-stream"}};
    HttpPeer peer = connect();
    Form form;
    form.session = co_await open_session(peer);
    for (const Case& one : cases) {
      form.accept = one.accept;
      const TestResponse answer = co_await peer.ask(post(form, call("5", "echo")));
      EXPECT_EQ(answer.status, 200) << one.accept;
      EXPECT_EQ(answer.header("Content-Type"), one.type) << one.accept;
      EXPECT_TRUE(answer.body.contains(R"("id":5)")) << answer.body;
    }
    for (const std::string accept : {"text/html", "application/json;q=0", "image/*"}) {
      form.accept = accept;
      const TestResponse answer = co_await peer.ask(post(form, call("5", "echo")));
      EXPECT_EQ(answer.status, 406) << accept;
      EXPECT_NE(answer.error_code(), 0);
      peer = connect();
    }
  });
}

TEST_F(HttpFrontTest, C055TakesContentTypesByTheirMeaning) {
  run([&]() -> asio::awaitable<void> {
    struct Case {
      std::string type;
      int status;
      std::string more;
    };
    const std::vector<Case> cases{{"application/json", 200, ""},
                                  {"Application/JSON;charset=UTF-8", 200, ""},
                                  {"application/json; charset=\"utf-8\"", 200, ""},
                                  {"application/json; charset=utf-16", 415, ""},
                                  {"application/json; charset=latin1", 415, ""},
                                  {"text/plain", 415, ""},
                                  {"", 415, ""},
                                  {"application/jsonp", 415, ""},
                                  {"application/json", 415, "Content-Encoding: gzip\r\n"},
                                  {"application/json", 200, "Content-Encoding: identity\r\n"},
                                  {"application/json", 200, "Content-Encoding:\r\n"}};
    for (const Case& one : cases) {
      HttpPeer peer = connect();
      const TestResponse answer = co_await peer.ask(post({.more = one.more, .type = one.type}, kInitialize));
      EXPECT_EQ(answer.status, one.status) << one.type << one.more;
      if (answer.status != 200) EXPECT_NE(answer.error_code(), 0);
    }
  });
}

TEST_F(HttpFrontTest, AllowsThreeMethods) {
  run([&]() -> asio::awaitable<void> {
    for (const std::string method : {"PUT", "PATCH", "OPTIONS", "GET"}) {
      HttpPeer peer = connect();
      const TestResponse answer = co_await peer.ask(request(method, {}, ""));
      EXPECT_EQ(answer.status, 405) << method;
      EXPECT_EQ(answer.header("Allow"), "POST, GET, DELETE");
      EXPECT_NE(answer.error_code(), 0);
    }
    HttpPeer peer = connect();
    const TestResponse answer = co_await peer.ask(request("DELETE", {}, ""));
    EXPECT_EQ(answer.status, 400);
  });
}

TEST_F(HttpFrontTest, ChecksTheProtocolVersionHeader) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    for (const std::string version : {"2025-11-25", "2025-03-26", "2024-11-05"}) {
      form.more = "MCP-Protocol-Version: " + version + "\r\n";
      const TestResponse answer = co_await peer.ask(post(form, call("1", "echo")));
      EXPECT_EQ(answer.status, 200) << version;
    }
    for (const std::string version : {"2026-07-28", "1", "2025-11-25x"}) {
      form.more = "MCP-Protocol-Version: " + version + "\r\n";
      const TestResponse answer = co_await peer.ask(post(form, call("17", "echo")));
      EXPECT_EQ(answer.status, 400) << version;
      EXPECT_EQ(answer.json().at("id").as_int64(), 17);
    }
    EXPECT_EQ(front_.handled, 3);
    HttpPeer twice = connect();
    form.more = "Idempotency-Key: a\r\nIdempotency-Key: b\r\n";
    const TestResponse answer = co_await twice.ask(post(form, call("1", "echo")));
    EXPECT_EQ(answer.status, 400);
  });
}

TEST_F(HttpFrontTest, AFailingFrontIsAnInternalErrorAndNothingMore) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const TestResponse thrown = co_await peer.ask(post(form, call("1", "throw")));
    EXPECT_EQ(thrown.status, 200);
    EXPECT_EQ(thrown.error_code(), -32603);
    EXPECT_FALSE(thrown.body.contains("the test wants"));
    const TestResponse unknown = co_await peer.ask(post(form, call("2", "no/such")));
    EXPECT_EQ(unknown.error_code(), -32601);
    co_await still_serves();
  });
}

TEST_F(HttpFrontTest, TakesBatchesOfTheirVersionOnly) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form old{.session = co_await open_session(peer, {}, "2025-03-26")};
    Form now{.session = co_await open_session(peer)};
    const std::string batch = "[" + call("1", "echo", R"({"tag":"x"})") +
                              R"(,{"jsonrpc":"2.0","method":"notifications/initialized"},)" + call("\"b\"", "ping") +
                              "," + call("3", "nope") + "]";
    const TestResponse answer = co_await peer.ask(post(old, batch));
    EXPECT_EQ(answer.status, 200);
    const auto list = answer.json().as_array();
    EXPECT_EQ(list.size(), 3U);
    // Each bad element is answered for itself; of two with one id neither is run.
    const int handled = front_.handled;
    const TestResponse mixed =
        co_await peer.ask(post(old, "[7," + call("1", "echo") + R"(,{"jsonrpc":"1.0","id":4,"method":"echo"},[],)" +
                                        call("\"d\"", "echo") + "," + call("\"\\u0064\"", "echo") + "]"));
    EXPECT_EQ(mixed.status, 200);
    std::map<std::string, int> codes;  // by id
    for (const auto& one : mixed.json().as_array()) {
      const auto* error = one.as_object().if_contains("error");
      codes[boost::json::serialize(one.at("id"))] += error ? static_cast<int>(error->at("code").as_int64()) : 1;
    }
    EXPECT_EQ(codes, (std::map<std::string, int>{{"1", 1}, {"4", -32600}, {"\"d\"", -65200}, {"null", -65200}}));
    EXPECT_EQ(front_.handled, handled + 1);
    EXPECT_EQ(front_.delivered["x"], std::vector<bool>{true});
    const TestResponse refused = co_await peer.ask(post(now, batch));
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.error_code(), -32600);
    const TestResponse empty = co_await peer.ask(post(old, "[]"));
    EXPECT_EQ(empty.error_code(), -32600);
    const TestResponse notes =
        co_await peer.ask(post(old, R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])"));
    EXPECT_EQ(notes.status, 202);
    const TestResponse first = co_await peer.ask(post({}, "[" + std::string(kInitialize) + "]"));
    EXPECT_EQ(first.status, 400);
    old.more = "Idempotency-Key: k\r\n";
    const TestResponse key = co_await peer.ask(post(old, batch));
    EXPECT_EQ(key.status, 400);
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
