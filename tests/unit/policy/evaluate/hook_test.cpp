#include "policy/evaluate/hook.hpp"

#include <gtest/gtest.h>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

using D = HookAnswer::Decision;

TEST(Hook, DocumentCarriesTheBytesThatCame) {
  Shop shop;
  const std::string document = hook_document(
      "h", shop.facts({.server = "orders", .tool = "refund", .arguments = R"({"amount": 1.0e1, "x":"\u0041"})"}));
  EXPECT_NE(document.find(R"("arguments":{"amount": 1.0e1, "x":"\u0041"})"), std::string::npos) << document;
  const auto parsed = json::Document::parse(document);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->root().at("/input/principal/id").equals("agent:ci"));
  EXPECT_TRUE(parsed->root().at("/input/effect/labels/0").equals("money"));
  EXPECT_TRUE(parsed->root().at("/input/pinned").boolean());
  EXPECT_TRUE(parsed->root().at("/input/method").equals("tools/call"));
}

TEST(Hook, DocumentEscapesNames) {
  Shop shop;
  const auto parsed =
      json::Document::parse(hook_document("a\"b", shop.facts({.tool = "x\",\"pinned\":true,\"y\":\""})));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->root().ambiguity());
}

TEST(Hook, AnswerIsBareOrOpas) {
  EXPECT_EQ(parse_hook_answer("h", R"({"decision":"none"})").decision, D::none);
  EXPECT_EQ(parse_hook_answer("h", R"({"decision":"ask","message":"big"})").message, "big");
  EXPECT_EQ(parse_hook_answer("h", R"({"result":{"decision":"deny"},"decision_id":"4c"})").decision, D::deny);
  EXPECT_EQ(parse_hook_answer("h", R"({"decision":"none"})").rule, "h");
}

TEST(Hook, AnythingElseFails) {
  for (const char* body : {"", "{}", "null", "[]", "\"none\"", R"({"decision":"allow"})", R"({"decision":"NONE"})",
                           R"({"decision":null})", R"({"result":true})", R"({"result":{}})",
                           R"({"decision":"none","decision":"deny"})", R"({"decision":"none","Decision":"deny"})",
                           R"({"decision":"none"} x)", R"({"decision":"none","result":{"decision":"deny"}})",
                           R"({"decision":"none","message":5})", "{\"decision\":\"none\""}) {
    EXPECT_EQ(parse_hook_answer("h", body).decision, D::failed) << body;
    EXPECT_FALSE(parse_hook_answer("h", body).message.empty()) << body;
  }
  EXPECT_EQ(parse_hook_answer("h", R"({"decision":"none","x":")" + std::string(kMaxHookAnswer, 'x') + "\"}").decision,
            D::failed);
  EXPECT_EQ(parse_hook_answer("h", std::string(1000, '[')).decision, D::failed);
}

}  // namespace
}  // namespace sallyport::policy::test
