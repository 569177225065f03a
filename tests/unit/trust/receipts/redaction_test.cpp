#include "trust/receipts/redaction.hpp"

#include "tests/unit/trust/receipts/example.hpp"

namespace sallyport::trust {
namespace {

using test::doc;
using Texts = std::vector<std::string>;

Texts write_only(const std::string& schema) {
  const auto document = doc(schema);
  return write_only_patterns(document.root());
}

TEST(WriteOnly, IsFoundInEveryBranchOfASchema) {
  EXPECT_EQ(
      write_only(
          R"({"properties":{"user":{},"password":{"writeOnly":true},"a/b":{"properties":{"pin":{"writeOnly":true}}},
    "keys":{"items":{"properties":{"k":{"writeOnly":true}}}},"more":{"additionalProperties":{"writeOnly":true}},
    "no":{"writeOnly":false}},"anyOf":[{"properties":{"token":{"writeOnly":true}}}],"if":{"properties":{"c":{"writeOnly":true}}}})"),
      (Texts{"/a~1b/pin", "/c", "/keys/*/k", "/more/*", "/password", "/token"}));
  EXPECT_TRUE(write_only("true").empty());
  EXPECT_TRUE(write_only(R"({"writeOnly":true})").empty());
}

TEST(WriteOnly, FollowsLocalReferencesAndEnds) {
  EXPECT_EQ(write_only(R"({"$defs":{"secret":{"writeOnly":true}},"properties":{"s":{"$ref":"#/$defs/secret"}}})"),
            Texts{"/s"});
  const auto looping = write_only(R"({"properties":{"next":{"$ref":"#"},"s":{"writeOnly":true}}})");
  EXPECT_EQ(looping.front(),
            "/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/next/"
            "next/next/next/next/next/next/next/next/next/next/next/s");
  EXPECT_EQ(write_only(R"({"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"writeOnly":true}}})").size(), 256U);
}

TEST(LooksSecret, KnowsTheUsualShapes) {
  for (const auto* text : {
           "ghp_0123456789abcdefghijABCDEFGHIJ012345",
           "token is glpat-0123456789abcdef!",
           "xoxb-123456789012-abc",
           "AKIAIOSFODNN7EXAMPLE",
           "sk-abcdefghijklmnopqrstuvwx",
           "Bearer abcdefghijkl",
           "basic dXNlcjpwYXNz",
           "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
           "-----BEGIN PRIVATE KEY-----\nMC4C",
           "-----BEGIN RSA PRIVATE KEY-----",
           "postgres://dana:hunter2@db.example/x",
           "see https://a:b@c.example.",
       }) {
    EXPECT_TRUE(looks_secret(text)) << text;
  }
}

TEST(LooksSecret, LeavesOrdinaryTextsAlone) {
  for (const auto* text :
       {"", "Order for customer 7", "sk-1", "task-abcdefghijklmnopqrstuvwx", "bearer of bad news and more", "eyJ",
        "https://a.example/@b:c", "http://host:80/x@y", "user@example.org", "mailto://x", "://@", "://:@",
        "-----BEGIN PUBLIC KEY-----", "/home/me/ghp_", "eyJhbGciOiJIUzI1NiJ9.abc.def"}) {
    EXPECT_FALSE(looks_secret(text)) << text;
  }
}

TEST(SecretPointers, NameWhereTheyAre) {
  const auto value = doc(R"({"a":["x",{"k":"Bearer abcdefghijkl"}],"b":"AKIAIOSFODNN7EXAMPLE"})");
  EXPECT_EQ(secret_pointers(value.root()), (Texts{"/a/1/k", "/b"}));
  const auto made =
      record_arguments(value.root(), {Texts{"/a", "/b"}, secret_pointers(value.root())}, "k", test::under("s"));
  EXPECT_EQ(made.recorded, (Pairs{{"/a", R"(["x",{}])"}}));
  std::string many = "[";
  for (int i = 0; i < 300; ++i) many += R"("AKIAIOSFODNN7EXAMPLE",)";
  EXPECT_EQ(secret_pointers(doc(many + "1]").root()), Texts{"/*"});
}

TEST(Sweep, FindsConfiguredSecretsWhereverTheyAre) {
  auto body = test::full_receipt();
  const std::string canary = "canary-5EC2E7";
  for (auto* text : {&body.client_name, &body.uri, &body.scope_name, &body.idempotency_key}) *text += canary;
  body.arguments->recorded = {{"/" + canary, "a" + canary + canary}};
  body.arguments->redacted = {"/" + canary};
  body.result = ResultRecord{ResultStatus::ok, "", {}, {{"/id", canary}}, {}};
  body.decision->reasons = {{ReasonCode::policy_denied, "", canary}};
  body.approval->votes[0].reason = canary;
  body.event = EventRecord{"stopped", "user:dana", canary, canary, "", "", {{canary, canary}}};
  const Secret secrets[] = {Secret(canary), Secret("ab")};
  EXPECT_EQ(sweep(body, secrets), 15U);
  const auto payload = to_payload(body, {"7c1e0b9d2a44f310", 0, ""});
  EXPECT_EQ(payload.find(canary), std::string::npos) << payload;
  EXPECT_EQ(body.client_name, "claude-code***");
  EXPECT_EQ(sweep(body, secrets), 0U);
}

TEST(Sweep, LeavesNamesThatStandInTheConfigInClear) {
  auto body = test::full_receipt();
  const Secret secrets[] = {Secret("orders"), Secret("agent:ci"), Secret("create_order")};
  EXPECT_EQ(sweep(body, secrets), 1U);  // the scope
  EXPECT_EQ(body.server_id, "orders");
  EXPECT_EQ(body.principal, "agent:ci");
  EXPECT_EQ(body.tool, "create_order");
  EXPECT_EQ(body.scope_name, "***/customer-7");
  body.definition.clear();  // then the tool is only what the client called it
  EXPECT_EQ(sweep(body, secrets), 1U);
}

TEST(Sweep, TakesOutWhatLooksLikeASecret) {
  auto body = test::full_receipt();
  body.idempotency_key = "sp_0123456789abcdefghijABCDEFGHIJ0123456789abc";
  body.arguments->redacted = {"/headers/Bearer abcdefghijkl", "/ghp_0123456789abcdefghijABCDEFGHIJ012345"};
  EXPECT_EQ(sweep(body, {}), 2U);
  EXPECT_EQ(body.idempotency_key, "***");
  EXPECT_EQ(body.arguments->redacted[1], "***");
}

}  // namespace
}  // namespace sallyport::trust
