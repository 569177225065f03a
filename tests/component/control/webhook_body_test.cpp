// What chat rooms are told: whole texts that they take, and who said yes.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "gateway/control/webhooks.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

NotifySettings hook(const std::string& format, bool arguments = false) {
  NotifySettings out;
  out.format = format;
  out.arguments = arguments;
  return out;
}

std::string ask(const std::string& state, const std::string& says, const std::string& more = {}) {
  return R"({"id":"ap_1","operation":"op_1","principal":"agent:ci","server":"shop","tool":"refund","expires":"2026-11-30T10:00:00.000Z",)"
         R"("state":")" +
         state + R"(","view":{"says":)" + quote(says) + R"(,"heading":"Refund … of …"})" + more + "}";
}

TEST(WebhookBody, OfALongSentenceIsCutBetweenCharactersAndSaysSo) {
  std::string says;
  for (int i = 0; i < 3000; ++i) says += "ü";
  for (std::size_t shift = 0; shift < 2; ++shift) {
    const std::string body = webhook_body(hook("slack", true), ask("pending", std::string(shift, 'x') + says), "");
    ASSERT_FALSE(body.empty());
    EXPECT_TRUE(valid_utf8(body));
    const auto blocks = boost::json::parse(body).at("blocks");
    const std::string shown(blocks.at(0).at("text").at("text").as_string());
    EXPECT_LT(shown.size(), 3000U);
    EXPECT_TRUE(shown.ends_with("ü…")) << shown.substr(shown.size() - 8);
  }
}

TEST(WebhookBody, OfAnApprovalNamesWhoGaveItAlsoWhenItIsSpentAlready) {
  const std::string votes = R"(,"votes":[{"by":"user:dana","vote":"approve"},{"by":"user:kim","vote":"approve"}])";
  for (const char* state : {"approved", "consumed"}) {
    const auto body =
        boost::json::parse(webhook_body(hook("json"), ask(state, "Refund 5", votes), "https://c.example"));
    EXPECT_EQ(body.at("title"), "approved by user:dana, user:kim: Refund … of …");
    EXPECT_EQ(body.at("state"), "approved");
    EXPECT_EQ(body.at("event"), "changed");
  }
}

TEST(WebhookBody, FillsATemplateOnceAndKeepsItJson) {
  NotifySettings own = hook("");
  own.body = R"({"text":"{says} {url} {nothing}"})";
  own.arguments = true;
  const auto body =
      boost::json::parse(webhook_body(own, ask("pending", R"({url} "},"evil":{" {principal})"), "https://c.example"));
  EXPECT_EQ(body.as_object().size(), 1U);
  EXPECT_EQ(body.at("text"), R"({url} "},"evil":{" {principal} https://c.example/#/asks/ap_1 {nothing})");
}

}  // namespace
}  // namespace sallyport::gateway
