// Each from a real failure in the field (the list of faults and attacks that this gateway is measured by), as far as it
// is about operations, approvals and budgets; what is about receipts, rules and definitions stands with those.
#include <gtest/gtest.h>

#include <fstream>

#include <boost/json.hpp>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kArguments = R"({"account":"a","amount":5})";
constexpr const char* kKey = R"({"dev.sallyport/idempotencyKey":"k-1"})";
constexpr const char* kAsk =
    R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"pay","ask":{"server":"pay","tool":"charge"}}]})";

TEST(Adversary, TheServerCommitsAndDropsTheAnswer) {
  Charge charge;
  Rig rig(Charge::options(charge));
  charge.faults = {Fault::reset_after};
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments)).outcome, "unknown");
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "pay__charge", R"({"account":"a"})")).code, "BLOCKED_BY_UNKNOWN");
  EXPECT_EQ(charge.executed, 1);
}

TEST(Adversary, TheSameKeyHasOneResultAndAnotherPrincipalGetsNothingOfIt) {
  Charge charge;
  Rig rig(Charge::options(charge));
  rig.servers["pay"].on_call = [](Dispatched& call) {
    call.result(R"({"content":[{"type":"text","text":"for )" + call.operation + "\"}]}");
  };
  const CallView mine = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  const CallView other = view(rig.call(rig.client("agent:other"), "pay__charge", kArguments, kKey));
  EXPECT_NE(mine.text, other.text);
  EXPECT_EQ(other.text, "for " + other.operation);
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).text, mine.text);
}

TEST(Adversary, OneChangedCharacterAfterTheApprovalIsAnotherAsk) {
  Charge charge;
  Rig rig(Charge::options(charge, "", kAsk));
  const auto first = rig.send(rig.client(), "pay__charge", kArguments);
  const std::string approval = rig.pending_approval();
  const auto changed = rig.send(rig.client(), "pay__charge", R"({"account":"b","amount":5})");
  rig.run_until([&] { return rig.operations({OperationState::waiting}).size() == 2; });
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return first->answer.has_value(); });
  EXPECT_EQ(charge.executed, 1);
  EXPECT_FALSE(changed->answer.has_value());
  EXPECT_NE(rig.pending_approval(), approval);
}

TEST(Adversary, RedeemedTwiceInParallelIsOneIntent) {
  Charge charge;
  Rig rig(Charge::options(charge, "", kAsk));
  const auto first = rig.send(rig.client(), "pay__charge", kArguments);
  const std::string approval = rig.pending_approval();
  std::vector<Rig::PendingPtr> others;
  for (int i = 0; i < 5; ++i)
    others.push_back(rig.send(rig.client(), "sallyport_wait", R"({"id":")" + approval + "\"}"));
  for (int i = 0; i < 5; ++i) others.push_back(rig.send(rig.client(), "pay__charge", kArguments));
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return std::ranges::all_of(others, [](const auto& one) { return one->answer.has_value(); }); });
  EXPECT_EQ(charge.executed, 1);
  EXPECT_EQ(rig.receipts("intent").size(), 1U);
  for (const auto& one : others) EXPECT_EQ(view(*one->answer).text, "paid");
}

TEST(Adversary, RedeemedAfterALostAnswerToTheClientIsTheStoredOutcome) {
  Charge charge;
  Rig rig(Charge::options(charge, "", kAsk));
  const auto first = rig.send(rig.client(), "pay__charge", kArguments);
  const std::string approval = rig.pending_approval();
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return first->answer.has_value(); });
  Rig::deliver(*first->answer, false);  // the connection broke while it was written
  const CallView again = view(rig.call(rig.client(), "sallyport_wait", R"({"id":")" + approval + "\"}"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.text, "paid");
  EXPECT_EQ(charge.executed, 1);
}

TEST(Adversary, ThreeAtOnceUnderASumForOne) {
  Charge charge;
  Rig rig(Charge::options(
      charge, "",
      R"({"default":"deny","rules":[{"id":"pay","allow":{"server":"pay","tool":"charge"}}],"budgets":[{"id":"sum","per":"principal","match":{"server":"pay","tool":"charge"},"sum":"/amount","max":5}]})"));
  std::vector<Rig::PendingPtr> sent;
  for (const char* account : {"a", "b", "c"})
    sent.push_back(
        rig.send(rig.client(), "pay__charge", std::string(R"({"account":")") + account + R"(","amount":5})"));
  rig.run_until([&] { return std::ranges::all_of(sent, [](const auto& one) { return one->answer.has_value(); }); });
  EXPECT_EQ(charge.executed, 1);
}

TEST(Adversary, AnUnknownKeepsItsReservationAlsoOverARestart) {
  TempDir dir;
  Charge charge;
  RigOptions options = Charge::options(
      charge, "",
      R"({"default":"deny","rules":[{"id":"pay","allow":{"server":"pay","tool":"charge"}}],"budgets":[{"id":"sum","per":"principal","match":{"server":"pay","tool":"charge"},"sum":"/amount","max":5}]})");
  options.state = dir.file("state");
  std::string operation;
  {
    Rig rig(options);
    charge.faults = {Fault::reset_after};
    operation = view(rig.call(rig.client(), "pay__charge", kArguments)).operation;
  }
  Rig rig(options);
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"b","amount":5})")).code, "BUDGET_EXHAUSTED");
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), operation, "none", "looked")));
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"b","amount":5})")).outcome, "applied");
}

TEST(Adversary, AnIdenticalItemOfAnotherCallerWithoutTheMarkerProvesNothing) {
  Charge charge;
  // The server finds by the operation's id, which only the operation's own item carries.
  Rig rig(Charge::options(
      charge,
      R"("idempotencyKey":{"meta":"k"},"lookup":{"tool":"find","arguments":{"marker":{"from":"operation"}},"applied":{"found":true}})"));
  std::string marker;
  charge.before = [&](Dispatched& call) {
    if (call.tool == "find") marker = call.params;
  };
  charge.find = [] { return "false"; };
  rig.call(rig.client("agent:other"), "pay__charge", R"({"account":"z","amount":5})");
  charge.faults = {Fault::reset_during};
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.outcome, "unknown");
  EXPECT_NE(marker.find(seen.operation), std::string::npos);
}

TEST(Adversary, TheValuesOfACallAreOnNoFileOnceItIsOver) {
  TempDir dir;
  Charge charge;
  RigOptions options = Charge::options(charge, R"("attempts":2,"errors":{"transient":{"codes":[-32050]}})");
  options.state = dir.file("state");
  {
    Rig rig(options);
    charge.faults = {Fault::transient, Fault::reset_after};
    rig.call(rig.client(), "pay__charge", R"({"account":"hunter2-secret","amount":5})", kKey);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.state)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const auto at = bytes.find("hunter2-secret");
    // The scope's name is what a contract puts in clear; nothing else is.
    if (at == std::string::npos) continue;
    for (auto next = at; next != std::string::npos; next = bytes.find("hunter2-secret", next + 1))
      EXPECT_EQ(bytes.substr(next - 9, 9), "accounts/") << entry.path();
  }
}

TEST(Adversary, CancellingNeverYieldsNoneByItself) {
  Charge charge;
  Rig rig(Charge::options(charge));
  rig.servers["pay"].on_call = {};
  const auto pending = rig.send(rig.client(), "pay__charge", kArguments);
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  pending->cancel->cancel(CancelReason::client);
  rig.run_until([&] { return rig.operations({OperationState::unknown}).size() == 1; });
  EXPECT_EQ(told_outcome(rig, rig.open_calls.front().operation), "unknown");
  EXPECT_TRUE(rig.log_verifies());
}

}  // namespace
}  // namespace sallyport::test
