#include <gtest/gtest.h>

#include "gateway/net/http.hpp"

namespace sallyport::gateway {
namespace {

TEST(HttpHeaders, CompareNamesWithoutCase) {
  HttpHeaders headers{{"Accept", "a"}, {"X-One", "1"}, {"accept", "b"}};
  EXPECT_EQ(headers.get("ACCEPT"), "a");
  EXPECT_EQ(headers.all("accept").size(), 2);
  headers.set("aCCept", "c");
  EXPECT_EQ(headers.count("Accept"), 1);
  EXPECT_EQ(headers.get("Accept"), "c");
  headers.erase("x-one");
  EXPECT_FALSE(headers.has("X-One"));
}

TEST(HttpValues, MediaTypesIgnoreCaseAndParameters) {
  EXPECT_EQ(media_type(" Application/JSON ; charset=UTF-8"), "application/json");
  EXPECT_EQ(media_type(""), "");
}

TEST(HttpValues, AcceptIsReadAsRanges) {
  const auto takes = [](const char* accept, const char* type) {
    return accepts(HttpHeaders{{"Accept", accept}}, type);
  };
  EXPECT_TRUE(accepts(HttpHeaders{}, "application/json"));
  for (const char* accept : {"*/*", "application/*", "application/json", "text/event-stream;q=0.5, application/json",
                             "application/json , TEXT/EVENT-STREAM", "APPLICATION/JSON;q=1", "text/html, */*;q=0.1",
                             "application/json;a=\"x,y\";q=0.3"}) {
    EXPECT_TRUE(takes(accept, "application/json")) << accept;
  }
  for (const char* accept :
       {"text/html", "application/json;q=0", "*/*, application/json;q=0.000", "text/*", "a/b;x=\"application/json\""}) {
    EXPECT_FALSE(takes(accept, "application/json")) << accept;
  }
  EXPECT_TRUE(accepts(HttpHeaders({{"Accept", "text/html"}, {"Accept", "application/json"}}), "application/json"));
}

TEST(HttpValues, BearerTokensAreTakenFromOneHeaderOnly) {
  const auto token = [](HttpHeaders headers) { return std::string(bearer_token(headers).value_or("-")); };
  EXPECT_EQ(token({{"Authorization", "Bearer abc"}}), "abc");
  EXPECT_EQ(token({{"authorization", "bEARER  abc "}}), "abc");
  EXPECT_EQ(token({{"Authorization", "Basic abc"}}), "-");
  EXPECT_EQ(token({{"Authorization", "Bearer"}}), "-");
  EXPECT_EQ(token({{"Authorization", "Bearer "}}), "-");
  EXPECT_EQ(token({{"Authorization", "Bearer a b"}}), "-");
  EXPECT_EQ(token({{"Authorization", "Bearer a, Bearer b"}}), "-");
  EXPECT_EQ(token({{"Authorization", "Bearer a"}, {"Authorization", "Bearer b"}}), "-");
  EXPECT_EQ(token({}), "-");
}

TEST(CheckOrigin, AllowsOwnNamesAndNoOrigin) {
  OriginRules rules;
  rules.loopback_names = true;
  rules.hosts = {"gate.example:8443", "any.example"};
  rules.origins = {"https://console.example"};
  const auto ok = [&](const HttpHeaders& headers) { return check_origin(headers, rules).has_value(); };
  EXPECT_TRUE(ok({{"Host", "localhost:8720"}}));
  EXPECT_TRUE(ok({{"Host", "127.0.0.1:8720"}}));
  EXPECT_TRUE(ok({{"Host", "[::1]:8720"}}));
  EXPECT_TRUE(ok({{"Host", "LocalHost"}, {"Origin", "http://localhost"}}));
  EXPECT_TRUE(ok({{"Host", "gate.example:8443"}}));
  EXPECT_TRUE(ok({{"Host", "any.example:1"}}));
  EXPECT_TRUE(ok({{"Host", "any.example"}}));
  EXPECT_TRUE(ok({{"Host", "localhost:8720"}, {"Origin", "http://localhost:8720"}}));
  EXPECT_TRUE(ok({{"Host", "localhost:8720"}, {"Origin", "https://console.example"}}));
}

TEST(CheckOrigin, RefusesRebindingAndForeignPages) {
  OriginRules rules;
  rules.loopback_names = true;
  rules.hosts = {"gate.example:8443"};
  const auto ok = [&](const HttpHeaders& headers) { return check_origin(headers, rules).has_value(); };
  for (const char* host :
       {"evil.example:8720", "localhost.evil.example", "127.0.0.1.evil.example", "gate.example", "gate.example:84431",
        "", ":8720", "[::1", "[::1]x", "localhost:", "localhost:99999", "localhost:80:80", "evil@localhost"}) {
    EXPECT_FALSE(ok({{"Host", host}})) << host;
  }
  EXPECT_FALSE(ok({}));
  EXPECT_FALSE(ok({{"Host", "localhost"}, {"Host", "localhost"}}));
  for (const char* origin : {"null", "https://evil.example", "http://localhost:1", "http://localhost:8720.evil.example",
                             "http://127.0.0.1:8720", "", "HTTP://LOCALHOST:8720/"}) {
    EXPECT_FALSE(ok({{"Host", "localhost:8720"}, {"Origin", origin}})) << origin;
  }
  EXPECT_FALSE(ok({{"Host", "localhost:8720"}, {"Origin", "http://localhost:8720"}, {"Origin", "null"}}));
}

}  // namespace
}  // namespace sallyport::gateway
