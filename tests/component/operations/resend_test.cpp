// The client's own key, sent again for an operation whose outcome is unknown, is one more request to the server: it
// passes what every call passes, sends what was approved, moves its scope and stands in budgets and receipts.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kKey = R"({"dev.sallyport/idempotencyKey":"k-1"})";
constexpr const char* kOther = R"({"dev.sallyport/idempotencyKey":"k-2"})";
constexpr const char* kKeyed = R"("repeat":"keyed","idempotencyKey":{"meta":"k"},"attempts":1)";
constexpr const char* kArguments = R"({"account":"a","amount":5})";
constexpr const char* kAsk =
    R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"pay","ask":{"server":"pay","tool":"charge"}}]})";

std::size_t charges(const Rig& rig) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rig.all_calls, [](const auto& call) { return call.tool == "charge"; }));
}

// Approved, sent, and its answer lost.
CallView lose_an_approved_one(Rig& rig, Charge& charge, const std::string& meta) {
  charge.faults = {Fault::lost_answer};
  const auto pending = rig.send(rig.client(), "pay__charge", kArguments, meta);
  EXPECT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return pending->answer.has_value(); });
  return view(*pending->answer);
}

boost::json::object statement(const ReceiptRow& row) {
  return boost::json::parse(row.payload).at("predicate").as_object();
}

TEST(Resend, SendsWhatWasApprovedAndNothingElse) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed, kAsk));
  const CallView lost =
      lose_an_approved_one(rig, charge, R"({"dev.sallyport/idempotencyKey":"k-1","x.dev/account":"test"})");
  ASSERT_EQ(lost.code, "OUTCOME_UNKNOWN") << lost.text;
  const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments,
                                       R"({"dev.sallyport/idempotencyKey":"k-1","x.dev/account":"PRODUCTION"})"));
  EXPECT_EQ(again.outcome, "applied") << again.text;
  ASSERT_EQ(charges(rig), 2U);
  EXPECT_NE(rig.all_calls.back().meta.find("\"test\""), std::string::npos) << rig.all_calls.back().meta;
  EXPECT_EQ(rig.all_calls.back().meta.find("PRODUCTION"), std::string::npos);
  const auto intents = rig.receipts("intent");
  ASSERT_EQ(intents.size(), 2U);
  for (const ReceiptRow& row : intents) {
    EXPECT_EQ(row.verdict, "ask");
    EXPECT_EQ(statement(row).at("approval").at("id").as_string(), lost.approval);
  }
}

TEST(Resend, IsHeldBackByWhatHoldsBackAnyOtherCall) {
  struct Bar {
    const char* what;
    std::function<void(Rig&, Charge&)> put;
  };
  const std::vector<Bar> bars{
      {"the rule that allowed it is gone",
       [](Rig& rig, Charge&) { rig.set_policy(R"({"default":"deny","rules":[]})"); }},
      {"a rule asks now", [](Rig& rig, Charge&) { rig.set_policy(kAsk); }},
      {"evidence is wanted now",
       [](Rig& rig, Charge&) {
         rig.set_policy(
             R"({"default":"deny","rules":[{"id":"pay","allow":{"server":"pay"}},{"id":"checked","require":{"server":"pay","tool":"charge"},"evidence":{"tool":"find","result":{"found":true}}}]})");
       }},
      {"its tool says something else now",
       [](Rig& rig, Charge&) {
         std::string other(Charge::kCharge);
         other.insert(1, R"("description":"Charges twice",)");
         rig.servers["pay"].tools = {other, Charge::kFind};
         rig.relist("pay");
       }},
      {"another write to the same account is lost",
       [](Rig& rig, Charge& charge) {
         charge.faults = {Fault::lost_answer};
         rig.call(rig.client("agent:two"), "pay__charge", R"({"account":"a","amount":7})", kOther);
       }},
  };
  for (const Bar& bar : bars) {
    SCOPED_TRACE(bar.what);
    Charge charge;
    Rig rig(Charge::options(charge, kKeyed));
    charge.faults = {Fault::error};  // answered: blocks nothing, and is unknown all the same
    const CallView first = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    EXPECT_EQ(first.outcome, "unknown") << first.text;
    bar.put(rig, charge);
    const std::size_t before = charges(rig);
    const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    EXPECT_EQ(charges(rig), before);
    EXPECT_NE(again.outcome, "applied");
    EXPECT_FALSE(again.text.empty());
    EXPECT_EQ(rig.operations({OperationState::unknown}).front().server, "pay");
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Resend, IsHeldBackWhereWhatWasApprovedChanged) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed, kAsk));
  ASSERT_EQ(lose_an_approved_one(rig, charge, kKey).code, "OUTCOME_UNKNOWN");
  rig.set_policy(
      R"({"default":"deny","rules":[{"id":"other","ask":{"server":"pay","tool":"charge"},"approval":{"by":["payments"]}}]})");
  const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  EXPECT_EQ(charges(rig), 1U);
  EXPECT_NE(again.text.find("no longer what approval"), std::string::npos) << again.text;
}

TEST(Resend, MovesItsScopeAsEveryWriteDoes) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::lost_answer};
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  const auto intents = rig.receipts("intent");
  ASSERT_EQ(intents.size(), 2U);
  EXPECT_LT(statement(intents[0]).at("scope").at("revision").as_int64(),
            statement(intents[1]).at("scope").at("revision").as_int64());
}

TEST(Resend, IsNotProvenUndoneWhileItIsAtWork) {
  Charge charge;
  RigOptions options = Charge::options(
      charge, std::string(kKeyed) +
                  R"(,"deadline":"200ms","lookup":{"tool":"find","applied":{"found":true},"notFound":"none"})");
  options.between_looks = Millis(0);
  charge.find = [] { return std::string("false"); };
  Rig rig(options);
  const auto looked = [&](std::size_t times) {
    rig.run_until([&] { return rig.receipts("reconciliation").size() >= times; }, "a look");
  };
  charge.faults = {Fault::lost_answer, Fault::lost_answer};
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  looked(1);
  const Deadline first_is_over = Deadline::after(Millis(300));  // what is about time: the first attempt's own deadline
  rig.run_until([&] { return first_is_over.passed(); });
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).outcome, "unknown");
  looked(2);
  rig.await(rig.calls->sweep());
  looked(3);
  EXPECT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
}

TEST(Resend, TakesItsAttemptFromTheBudgets) {
  Charge charge;
  Rig rig(Charge::options(
      charge, kKeyed,
      R"({"default":"deny","rules":[{"id":"pay","allow":{"server":"pay","tool":"charge"}}],"budgets":[{"id":"a","per":"principal","attempts":2}]})"));
  charge.faults = {Fault::lost_answer, Fault::lost_answer, Fault::lost_answer, Fault::lost_answer};
  for (int i = 0; i < 4; ++i) rig.call(rig.client(), "pay__charge", kArguments, kKey);
  EXPECT_EQ(charges(rig), 2U);
  EXPECT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
}

TEST(Resend, AndARepeatClaimNoDecisionThatWasNotTaken) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::lost_answer};
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  rig.call(rig.client(), "pay__charge", kArguments, kKey);  // replayed
  for (const ReceiptRow& row : rig.receipts("intent")) EXPECT_EQ(row.verdict, "allow");
  const auto repeats = rig.receipts("repeat");
  ASSERT_EQ(repeats.size(), 2U);
  for (const ReceiptRow& row : repeats) EXPECT_EQ(row.verdict, "");
}

}  // namespace
}  // namespace sallyport::test
