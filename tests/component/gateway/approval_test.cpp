// Asks: held, answered by people, bound to what was shown, spent once (promise 6).
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kPay =
    R"({"name":"pay","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"integer"}},"required":["to","amount"]}})";

RigOptions options() {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"payments","ask":{"server":"bank","tool":"pay"}}]})";
  options.trust =
      R"({"servers":{"bank":{"tools":{"pay":{"effect":"external","labels":["money"],"scope":"to/{/to}","says":"Pay {/amount} to {/to}"}}}}})";
  options.servers["bank"].tools = {kPay};
  options.servers["bank"].on_call = [](Dispatched& call) {
    call.result(R"({"content":[{"type":"text","text":"paid"}]})");
  };
  return options;
}

TEST(Approvals, AnApprovedCallRunsOnceWithTheBytesThatWereShown) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  EXPECT_TRUE(rig.all_calls.empty());
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return pending->answer.has_value(); });
  const CallView seen = view(*pending->answer);
  EXPECT_EQ(seen.outcome, "applied");
  EXPECT_EQ(seen.verdict, "ask");
  EXPECT_EQ(seen.approval, approval);
  ASSERT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(rig.all_calls.front().params, R"("name":"pay","arguments":{"to":"kim","amount":5})");
  EXPECT_FALSE(rig.approve(approval)) << "a spent approval is no longer answered";
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Approvals, TheApproverSeesTheSentenceTheArgumentsAndTheRule) {
  Rig rig(options());
  rig.send(rig.client(), "bank__pay", R"({"to":"kim\u202e","amount":5})");
  const auto page =
      boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), rig.pending_approval())));
  const auto& shown = page.at("view").as_object();
  EXPECT_EQ(shown.at("says"), R"(Pay 5 to "kim\u{202E}")");
  EXPECT_EQ(shown.at("effect").at_pointer("/effective/category"), "external");
  EXPECT_EQ(shown.at("rules").at(0).at("id"), "payments");
  EXPECT_NE(boost::json::serialize(shown.at("arguments")).find("amount"), std::string::npos);
}

TEST(Approvals, WhoMayNotAnswerCannot) {
  Rig rig(options());
  rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  EXPECT_FALSE(rig.approve(approval, "user:kim")) << "kim is in another group";
  EXPECT_FALSE(rig.approve(approval, "agent:test")) << "a client is no person";
  EXPECT_FALSE(rig.approve(approval, "user:dana", "sha256:" + std::string(64, '0'))) << "something else was shown";
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Approvals, ADenialReachesTheModelWithItsReasonAndHoldsForTheRun) {
  Rig rig(options());
  const auto client = rig.client();
  const auto pending = rig.send(client, "bank__pay", R"({"to":"kim","amount":5})");
  ASSERT_TRUE(rig.deny(rig.pending_approval(), "user:dana", "too much"));
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).code, "APPROVAL_DENIED");
  EXPECT_NE(view(*pending->answer).text.find("too much"), std::string::npos);
  EXPECT_EQ(view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})")).code, "APPROVAL_DENIED");
  EXPECT_EQ(rig.receipts("approval").size(), 1U) << "no new ask was made";
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Approvals, AfterTheHoldTheClientIsToldToWaitAndWaitRunsTheStoredCallOnce) {
  Rig rig(options());
  const auto client = rig.client();
  client->hold = Millis(1);
  const CallView told = view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})"));
  EXPECT_EQ(told.code, "APPROVAL_PENDING");
  EXPECT_EQ(told.retry, "after_approval");
  ASSERT_FALSE(told.approval.empty());
  ASSERT_TRUE(rig.approve(told.approval));
  EXPECT_TRUE(rig.all_calls.empty()) << "nobody waited, so nothing ran";
  client->hold = Millis(45'000);
  const Answer answer = rig.call(client, "sallyport_wait", R"({"id":")" + told.approval + R"("})");
  EXPECT_EQ(view(answer).outcome, "applied");
  Rig::deliver(answer);
  EXPECT_EQ(rig.all_calls.size(), 1U);
  const CallView again = view(rig.call(client, "sallyport_wait", R"({"id":")" + told.approval + R"("})"));
  EXPECT_EQ(rig.all_calls.size(), 1U) << again.text;
}

TEST(Approvals, AnotherPrincipalsApprovalIsTheSameAsNone) {
  Rig rig(options());
  const auto client = rig.client();
  client->hold = Millis(1);
  const CallView told = view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})"));
  const CallView other =
      view(rig.call(rig.client("agent:other"), "sallyport_wait", R"({"id":")" + told.approval + R"("})"));
  EXPECT_EQ(other.code, "ARGUMENTS_INVALID");
  EXPECT_NE(other.text.find("no approval or operation"), std::string::npos);
}

TEST(Approvals, TheSameCallTwiceAtOnceJoinsAndRunsOnce) {
  Rig rig(options());
  const auto first = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const auto second = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return first->answer && second->answer; });
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(view(*first->answer).operation, view(*second->answer).operation);
  EXPECT_EQ(rig.receipts("repeat").size(), 1U);
}

TEST(Approvals, AnUndeliveredAnswerIsReplayedAndADeliveredOneIsANewCall) {
  Rig rig(options());
  const auto client = rig.client();
  const auto lost = rig.send(client, "bank__pay", R"({"to":"kim","amount":5})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return lost->answer.has_value(); });
  Rig::deliver(*lost->answer, false);
  const Answer replay = rig.call(client, "bank__pay", R"({"to":"kim","amount":5})");
  EXPECT_TRUE(view(replay).replayed);
  EXPECT_EQ(view(replay).operation, view(*lost->answer).operation);
  EXPECT_EQ(rig.all_calls.size(), 1U);
  Rig::deliver(replay);
  const auto fresh = rig.send(client, "bank__pay", R"({"to":"kim","amount":5})");
  EXPECT_FALSE(rig.pending_approval().empty()) << "delivered: the same bytes are a new operation, and ask anew";
  EXPECT_FALSE(fresh->answer);
}

TEST(Approvals, AChangeOfTheRulesVoidsAnAskOnlyIfTheDecisionDiffers) {
  Rig rig(options());
  const auto kept = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  rig.set_policy(
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"payments","ask":{"server":"bank","tool":"pay"}},{"id":"more","deny":{"server":"bank","tool":"other"}}]})");
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return kept->answer.has_value(); });
  EXPECT_EQ(view(*kept->answer).outcome, "applied");
  const auto voided = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":6})");
  rig.pending_approval();
  rig.set_policy(R"({"default":"deny","rules":[{"id":"no","deny":{"server":"bank","tool":"pay"}}]})");
  rig.run_until([&] { return voided->answer.has_value(); });
  EXPECT_EQ(view(*voided->answer).code, "POLICY_DENIED");
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

TEST(Approvals, AnExpiredAskDenies) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  rig.clock.advance(std::chrono::hours(2));
  EXPECT_FALSE(rig.approve(approval)) << "too late";
  rig.calls->configuration_changed();
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).code, "APPROVAL_EXPIRED");
}

TEST(Approvals, WithNobodyWhoMayAnswerTheCallIsRefusedAtOnce) {
  RigOptions lonely = options();
  lonely.people = {Person{"user:dana", static_cast<unsigned>(Role::approver), {"others"}}};
  lonely.policy = R"({"default":"ask","approval":{"by":["user:dana"],"quorum":1},"rules":[]})";
  lonely.people.front().id = "agent:test";  // the only approver is the asker
  lonely.policy = R"({"default":"ask"})";
  Rig rig(lonely);
  EXPECT_EQ(view(rig.call(rig.client(), "bank__pay", R"({"to":"kim","amount":5})")).code, "NO_APPROVER");
}

TEST(Approvals, AClientsCancelEndsItsAsk) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  pending->cancel->cancel(CancelReason::client);
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).code, "CANCELLED");
  rig.run_until([&] { return rig.calls->in_flight() == 0; });
  EXPECT_FALSE(rig.approve(approval));
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Approvals, AnAskSurvivesARestart) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  std::string approval;
  {
    Rig rig(with_state);
    const auto client = rig.client();
    client->hold = Millis(1);
    approval = view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})")).approval;
  }
  Rig rig(with_state);
  ASSERT_TRUE(rig.approve(approval));
  const Answer answer = rig.call(rig.client(), "sallyport_wait", R"({"id":")" + approval + R"("})");
  EXPECT_EQ(view(answer).outcome, "applied");
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

}  // namespace
}  // namespace sallyport::test
