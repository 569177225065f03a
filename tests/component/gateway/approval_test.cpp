// Asks: held, answered by people, bound to what was shown, spent once (promise 6).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

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
  const CallView own = view(rig.call(rig.client(), "bank__pay", R"({"to":"kim","amount":5})"));
  EXPECT_EQ(own.code, "NO_APPROVER");
  EXPECT_NE(own.text.find("whoever makes a call"), std::string::npos) << own.text;
  lonely.people.front().roles = 0;
  Rig nobody(lonely);
  const CallView none = view(nobody.call(nobody.client(), "bank__pay", R"({"to":"kim","amount":5})"));
  EXPECT_EQ(none.code, "NO_APPROVER");
  EXPECT_NE(none.text.find("nobody who may give it is set up"), std::string::npos) << none.text;
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

TEST(Approvals, AHundredIdenticalCallsAtOnceAreOneApprovalAndOneExecution) {
  Rig rig(options());
  const auto client = rig.client();
  std::vector<Rig::PendingPtr> pending;
  for (int i = 0; i < 100; ++i) pending.push_back(rig.send(client, "bank__pay", R"({"to":"kim","amount":5})"));
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return std::ranges::all_of(pending, [](const auto& one) { return one->answer.has_value(); }); });
  std::set<std::string> operations;
  for (const auto& one : pending) operations.insert(view(*one->answer).operation);
  EXPECT_EQ(operations.size(), 1U);
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(rig.receipts("approval").size(), 1U);
}

TEST(Approvals, ACrashAfterTheSpendingNeverRunsItAgain) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  with_state.servers["bank"].on_call = {};  // the call stays open
  std::string approval;
  {
    Rig rig(with_state);
    const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
    approval = rig.pending_approval();
    ASSERT_TRUE(rig.approve(approval));
    rig.run_until([&] { return rig.open_calls.size() == 1; });
  }
  Rig rig(with_state);
  const auto page = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), approval))).as_object();
  EXPECT_EQ(page.at("state"), "consumed");
  const CallView told = view(rig.call(rig.client(), "sallyport_wait", R"({"id":")" + approval + R"("})"));
  EXPECT_EQ(told.code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(view(rig.call(rig.client(), "bank__pay", R"({"to":"kim","amount":5})")).code, "BLOCKED_BY_UNKNOWN");
  EXPECT_TRUE(rig.all_calls.empty()) << "nothing was sent by the second life";
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Approvals, ADenialIsRememberedOverARestart) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  {
    Rig rig(with_state);
    const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
    ASSERT_TRUE(rig.deny(rig.pending_approval(), "user:dana", "too much"));
    rig.run_until([&] { return pending->answer.has_value(); });
  }
  Rig rig(with_state);
  const CallView again = view(rig.call(rig.client(), "bank__pay", R"({"to":"kim","amount":5})"));  // the same run
  EXPECT_EQ(again.code, "APPROVAL_DENIED");
  EXPECT_NE(again.text.find("too much"), std::string::npos);
}

TEST(Approvals, AWallClockThatIsTurnedBackDoesNotKeepAnAskAlive) {
  RigOptions short_lived = options();
  short_lived.policy =
      R"({"default":"deny","approval":{"by":["owners"],"expires":"300ms"},"rules":[{"id":"payments","ask":{"server":"bank","tool":"pay"}}]})";
  Rig rig(short_lived);
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  rig.clock.advance(-std::chrono::hours(5));
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).code, "APPROVAL_EXPIRED");
  EXPECT_FALSE(rig.approve(approval));
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Approvals, ThePageKeepsNoArgumentsOnceTheOperationIsClosed) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"secret-payee","amount":5})");
  const std::string approval = rig.pending_approval();
  const auto before = *rig.await(rig.people->approval(rig.person("user:dana"), approval));
  EXPECT_NE(before.find("\"arguments\""), std::string::npos);
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return pending->answer.has_value(); });
  Rig::deliver(*pending->answer);
  const auto after = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), approval)));
  EXPECT_FALSE(after.at("view").as_object().contains("arguments"));
  EXPECT_EQ(after.at("view").at("tool"), "pay");
}

TEST(Approvals, TheNextAskShowsWhatDiffersFromTheLastCallInItsScope) {
  Rig rig(options());
  const auto client = rig.client();
  const auto first = rig.send(client, "bank__pay", R"({"to":"kim","amount":5})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return first->answer.has_value(); });
  Rig::deliver(*first->answer);
  const auto other = rig.send(client, "bank__pay", R"({"to":"ada","amount":5})");
  auto page = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), rig.pending_approval())));
  EXPECT_FALSE(page.at("view").as_object().contains("difference")) << "another scope";
  ASSERT_TRUE(rig.deny(rig.pending_approval()));
  rig.run_until([&] { return other->answer.has_value(); });
  const auto second = rig.send(client, "bank__pay", R"({"to":"kim","amount":500})");
  page = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), rig.pending_approval())));
  const auto& difference = page.at("view").at("difference").as_array();
  ASSERT_EQ(difference.size(), 1U);
  EXPECT_EQ(difference[0].at("pointer"), "/amount");
  EXPECT_EQ(difference[0].at("before"), "5");
  EXPECT_EQ(std::string(page.at("view").at("last").at("operation").as_string()), view(*first->answer).operation);
  EXPECT_EQ(page.at("beside").at("denials").at(0).at("tool"), "pay");
  EXPECT_EQ(page.at("beside").at("denials").at(0).at("same"), false);
}

TEST(Approvals, AnOperatorSettlesAnUnknownInTheSameActAndItsAskGoesOn) {
  RigOptions unscoped = options();
  unscoped.trust =
      R"({"servers":{"bank":{"tools":{"pay":{"effect":"external","destructive":false,"labels":["money"]}}}}})";
  Rig rig(unscoped);
  const auto client = rig.client();
  rig.servers["bank"].on_call = [](Dispatched& call) { call.lose(); };
  const auto lost = rig.send(client, "bank__pay", R"({"to":"kim","amount":1})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return lost->answer.has_value(); });
  rig.servers["bank"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  const auto next = rig.send(client, "bank__pay", R"({"to":"kim","amount":2})");
  const std::string approval = rig.pending_approval();
  const auto page = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), approval)));
  const std::string unknown(page.at("view").at("unknowns").at(0).at("operation").as_string());
  Vote vote{true, std::string(page.at("shown").as_string()), "", {}, {{unknown, "none"}}};
  EXPECT_FALSE(rig.await(rig.people->vote(rig.person("user:dana"), approval, vote))) << "a reason is needed";
  vote.reason = "the bank shows nothing";
  EXPECT_FALSE(rig.await(rig.people->vote(rig.person("user:kim"), approval, vote))) << "kim is no operator";
  ASSERT_TRUE(rig.await(rig.people->vote(rig.person("user:dana"), approval, vote)));
  rig.run_until([&] { return next->answer.has_value(); });
  EXPECT_EQ(view(*next->answer).outcome, "applied") << view(*next->answer).text;
  EXPECT_TRUE(rig.operations({OperationState::unknown}).empty());
}

TEST(Approvals, AnUnknownThatIsSettledMeanwhileDoesNotVoidTheAskThatShowedIt) {
  RigOptions unscoped = options();
  unscoped.trust =
      R"({"servers":{"bank":{"tools":{"pay":{"effect":"external","destructive":false,"labels":["money"]}}}}})";
  Rig rig(unscoped);
  const auto client = rig.client();
  rig.servers["bank"].on_call = [](Dispatched& call) { call.lose(); };
  const auto lost = rig.send(client, "bank__pay", R"({"to":"kim","amount":1})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return lost->answer.has_value(); });
  rig.servers["bank"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  const auto next = rig.send(client, "bank__pay", R"({"to":"kim","amount":2})");
  const std::string approval = rig.pending_approval();
  const std::string unknown = rig.operations({OperationState::unknown}).front().id;
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), unknown, "none", "seen")));
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return next->answer.has_value(); });
  EXPECT_EQ(view(*next->answer).outcome, "applied") << view(*next->answer).text;
}

TEST(Approvals, SeveralAreAnsweredAtOnceEachForItself) {
  Rig rig(options());
  const auto client = rig.client();
  std::vector<Rig::PendingPtr> pending;
  for (const char* amount : {"1", "2", "3"})
    pending.push_back(rig.send(client, "bank__pay", std::string(R"({"to":"kim","amount":)") + amount + "}"));
  boost::json::array asks;
  rig.run_until([&] {
    asks = boost::json::parse(*rig.await(rig.people->approvals(rig.person("user:dana"), "pending", 10)))
               .at("approvals")
               .as_array();
    return asks.size() == 3;
  });
  std::vector<AskShown> shown;
  std::set<std::string> groups;
  for (const auto& ask : asks) {
    shown.push_back({std::string(ask.at("id").as_string()), std::string(ask.at("shown").as_string())});
    groups.insert(std::string(ask.at("group").as_string()));
  }
  EXPECT_EQ(groups.size(), 1U) << "they differ in arguments only";
  std::swap(shown[0].shown, shown[1].shown);  // two pages mixed up: neither is approved by that
  const auto answered =
      boost::json::parse(*rig.await(rig.people->vote_all(rig.person("user:dana"), shown, true, "month end")))
          .at("answered")
          .as_array();
  EXPECT_EQ(answered[0].at("error").at("code"), "invalid");
  EXPECT_EQ(answered[1].at("error").at("code"), "invalid");
  EXPECT_EQ(answered[2].at("state"), "approved");
  rig.run_until([&] { return rig.all_calls.size() == 1; });
  EXPECT_EQ(rig.receipts("approval").size(), 1U);
}

TEST(Approvals, OfQuorumGroupsAndOwnersEachAskHasItsOwnPeople) {
  RigOptions several = options();
  several.people = {{"user:dana", static_cast<unsigned>(Role::approver), {"owners"}},
                    {"user:eve", static_cast<unsigned>(Role::approver), {"owners"}},
                    {"user:kim", static_cast<unsigned>(Role::approver), {"payments"}}};
  several.policy =
      R"({"default":"deny","rules":[{"id":"two","ask":{"server":"bank","tool":"pay"},"approval":{"by":["owners"],"quorum":2}},)"
      R"({"id":"pay","ask":{"server":"bank","tool":"pay"},"approval":{"by":["payments"]}}]})";
  Rig rig(several);
  const auto pending = rig.send(rig.client(), "bank__pay", R"({"to":"kim","amount":5})");
  const std::string approval = rig.pending_approval();
  ASSERT_TRUE(rig.approve(approval, "user:dana"));
  EXPECT_FALSE(rig.approve(approval, "user:dana")) << "one person, one vote";
  ASSERT_TRUE(rig.approve(approval, "user:eve"));
  EXPECT_TRUE(rig.all_calls.empty()) << "payments have not answered";
  ASSERT_TRUE(rig.approve(approval, "user:kim"));
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).outcome, "applied");
}

TEST(Approvals, ARevokedOneIsNotSpent) {
  Rig rig(options());
  const auto client = rig.client();
  client->hold = Millis(0);
  const std::string approval = view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})")).approval;
  ASSERT_TRUE(rig.approve(approval));
  ASSERT_TRUE(rig.await(rig.people->revoke(rig.person("user:dana"), approval, "not today")));
  const CallView told = view(rig.call(client, "sallyport_wait", R"({"id":")" + approval + R"("})"));
  EXPECT_EQ(told.code, "APPROVAL_DENIED") << "a person's no, and nothing to ask again for";
  EXPECT_NE(told.text.find("not today"), std::string::npos);
  EXPECT_TRUE(rig.all_calls.empty());
  EXPECT_EQ(view(rig.call(client, "bank__pay", R"({"to":"kim","amount":5})")).code, "APPROVAL_DENIED");
}

TEST(Approvals, SpentOnesDoNotCountAmongThoseThatWait) {
  RigOptions few = options();
  few.limits.waiting_approvals = 4;  // one for each principal
  Rig rig(few);
  const auto client = rig.client();
  for (const char* amount : {"1", "2", "3"}) {
    const auto pending = rig.send(client, "bank__pay", std::string(R"({"to":"kim","amount":)") + amount + "}");
    ASSERT_TRUE(rig.approve(rig.pending_approval()));
    rig.run_until([&] { return pending->answer.has_value(); });
    EXPECT_EQ(view(*pending->answer).outcome, "applied") << view(*pending->answer).text;
    Rig::deliver(*pending->answer);
  }
}

}  // namespace
}  // namespace sallyport::test
