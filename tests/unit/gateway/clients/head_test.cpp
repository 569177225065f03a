// The pure parts of clients/: who somebody is, paths and headers, the hello.
#include <gtest/gtest.h>

#include "gateway/clients/authenticate.hpp"
#include "gateway/clients/hello.hpp"
#include "gateway/clients/http_head.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

ClientSettings client(std::string id, std::string_view token) {
  return {.id = std::move(id),
          .token_sha256 = trust::sha256_hex(token),
          .groups = {"g"},
          .owner = "user:dana",
          .hold = Millis(7)};
}

TEST(Authenticator, FindsAClientByItsToken) {
  Settings settings;
  settings.clients = {client("agent:a", "one"), client("agent:b", "two"), {.id = "agent:none", .token_sha256 = ""}};
  for (char& c : settings.clients[1].token_sha256) c = static_cast<char>(std::toupper(c));
  const Authenticator who(settings, client("client:local", "three"));
  const auto b = who.by_token("two");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->principal.id, "agent:b");
  EXPECT_EQ(b->principal.groups, std::vector<std::string>{"g"});
  EXPECT_EQ(b->principal.owner, "user:dana");
  EXPECT_EQ(b->hold, Millis(7));
  EXPECT_FALSE(b->principal.anonymous);
  EXPECT_EQ(who.by_token("three")->principal.id, "client:local");
  for (const std::string_view wrong : {"", "on", "one ", "four"}) EXPECT_FALSE(who.by_token(wrong)) << wrong;
  // The hash is no token.
  EXPECT_FALSE(who.by_token(trust::sha256_hex("one")));
}

TEST(Authenticator, AnonymousOnlyIfTheSettingsSaySo) {
  Settings settings;
  EXPECT_FALSE(Authenticator(settings).without_credential());
  settings.anonymous = true;
  const auto identity = Authenticator(settings).without_credential();
  ASSERT_TRUE(identity);
  EXPECT_TRUE(identity->principal.anonymous);
  EXPECT_FALSE(Authenticator(settings).by_token("x"));
}

TEST(Authenticator, AUserOfTheSocketMustBeOurs) {
  Settings settings;
  const Authenticator who(settings, std::nullopt, 1000);
  EXPECT_EQ(who.by_peer(1000)->principal.id, "local:1000");
  EXPECT_FALSE(who.by_peer(0));
  EXPECT_FALSE(who.by_peer(1001));
  EXPECT_FALSE(who.by_peer(std::nullopt));
}

TEST(Identity, MayUseOnlySessionsOfItsOwn) {
  Identity a{{.id = "agent:a"}};
  Identity anonymous;
  anonymous.principal.anonymous = true;
  const Principal owner{.id = "agent:a", .groups = {"other"}};
  const Principal nobody{.id = "anonymous:x", .anonymous = true};
  EXPECT_TRUE(a.may_use_session_of(owner));
  EXPECT_FALSE(a.may_use_session_of(nobody));
  EXPECT_FALSE(anonymous.may_use_session_of(owner));
  EXPECT_TRUE(anonymous.may_use_session_of(nobody));
  EXPECT_FALSE(Identity{{.id = "agent:b"}}.may_use_session_of(owner));
}

TEST(ParseMount, KnowsTwoKindsOfPath) {
  EXPECT_TRUE(parse_mount("/mcp")->all());
  EXPECT_TRUE(parse_mount("/mcp/")->all());
  EXPECT_EQ(parse_mount("/servers/files/mcp")->server, "files");
  EXPECT_EQ(parse_mount("/servers/a%2Fb%C3%A4/mcp/")->server, "a/b\xc3\xa4");
  EXPECT_EQ(parse_mount("/servers/mcp/mcp")->server, "mcp");
  for (const std::string_view path :
       {"", "/", "//mcp", "/mcp//", "/MCP", "/servers/mcp", "/servers//mcp", "/servers/a/b/mcp", "/servers/a%2/mcp",
        "/servers/a%zz/mcp", "/servers/a%/mcp", "/mcp/servers/a"}) {
    EXPECT_FALSE(parse_mount(path)) << path;
  }
}

TEST(OriginRulesOf, AnswerUnderTheListenersNames) {
  const OriginRules loopback = origin_rules({.address = "127.0.0.1"});
  EXPECT_TRUE(loopback.loopback_names);
  const OriginRules outside = origin_rules({.address = "192.0.2.7", .allowed_hosts = {"Gateway.Example:443"}});
  EXPECT_FALSE(outside.loopback_names);
  EXPECT_TRUE(check_origin({{"Host", "192.0.2.7:8720"}}, outside));
  EXPECT_TRUE(check_origin({{"Host", "gateway.example:443"}}, outside));
  EXPECT_FALSE(check_origin({{"Host", "gateway.example:444"}}, outside));
  EXPECT_FALSE(check_origin({{"Host", "localhost"}}, outside));
  const OriginRules six = origin_rules({.address = "2001:DB8::7"});
  EXPECT_TRUE(check_origin({{"Host", "[2001:db8::7]:8720"}}, six));
  const OriginRules every = origin_rules({.address = "0.0.0.0", .allowed_hosts = {"gw"}});
  EXPECT_TRUE(check_origin({{"Host", "localhost:1"}}, every));
  EXPECT_TRUE(check_origin({{"Host", "gw:1"}}, every));
  EXPECT_FALSE(check_origin({{"Host", "0.0.0.0"}}, every));
}

TEST(Hello, SurvivesItsLine) {
  Hello hello{.token = Secret("to\"ken"), .server = "fi\nles"};
  const std::string line = hello_line(hello);
  EXPECT_FALSE(line.contains('\n'));
  const auto back = parse_hello(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->token->reveal(), "to\"ken");
  EXPECT_EQ(back->server, "fi\nles");
  EXPECT_EQ(hello_line({}), R"({"sallyport":1})");
  EXPECT_FALSE(parse_hello(hello_line({}))->token);
  EXPECT_FALSE(parse_hello(R"({"sallyport":1,"server":")" + std::string(kMaxHelloBytes, 'x') + "\"}"));
}

TEST(HelloAnswer, SaysYesOrWhyNot) {
  EXPECT_TRUE(parse_hello_answer(hello_answer({})));
  const Status refused = parse_hello_answer(hello_answer(fail(ErrorCode::forbidden, "no \"way\"")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no \"way\"");
  for (const std::string text : {"", "{}", R"({"ok":false})", R"({"ok":1})", "HTTP/1.1 400 Bad Request"}) {
    EXPECT_FALSE(parse_hello_answer(text)) << text;
  }
}

}  // namespace
}  // namespace sallyport::gateway
