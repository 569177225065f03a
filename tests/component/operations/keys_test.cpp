// Idempotency keys: one operation per principal, tool and key, over repeats, restarts and lost answers.
#include <gtest/gtest.h>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kKey = R"({"dev.sallyport/idempotencyKey":"k-1"})";
constexpr const char* kKeyed =
    R"("repeat":"keyed","idempotencyKey":{"meta":"k"},"attempts":1,"errors":{"none":{"codes":[-32001]}})";
constexpr const char* kArguments = R"({"account":"a","amount":5})";

TEST(Keys, AHundredAtOnceAreOneDispatchAndTheRestAreToldSo) {
  Charge charge;
  Rig rig(Charge::options(charge));
  rig.servers["pay"].on_call = {};
  std::vector<Rig::PendingPtr> sent;
  for (int i = 0; i < 100; ++i) sent.push_back(rig.send(rig.client(), "pay__charge", kArguments, kKey));
  rig.run_until(
      [&] { return std::ranges::count_if(sent, [](const auto& one) { return one->answer.has_value(); }) == 99; });
  rig.run_until([&] { return !rig.open_calls.empty(); });
  for (const auto& one : sent) {
    if (!one->answer) continue;
    const CallView seen = view(*one->answer);
    EXPECT_EQ(seen.code, "IDEMPOTENCY_IN_FLIGHT");
    EXPECT_EQ(seen.retry, "same_key");
  }
  ASSERT_EQ(rig.open_calls.size(), 1U);
  charge.answer(rig.open_calls.front());
  rig.run_until([&] { return std::ranges::all_of(sent, [](const auto& one) { return one->answer.has_value(); }); });
  const CallView replayed = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  EXPECT_TRUE(replayed.replayed);
  EXPECT_EQ(charge.executed, 1);
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

TEST(Keys, OneChangedByteIsAConflictWhateverBecameOfTheFirst) {
  for (const bool known : {true, false}) {
    Charge charge;
    Rig rig(Charge::options(charge, kKeyed));
    if (!known) charge.faults = {Fault::reset_after};
    rig.call(rig.client(), "pay__charge", kArguments, kKey);
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"a","amount":6})", kKey)).code,
              "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(charge.executed, 1);
  }
}

TEST(Keys, AreAPrincipalsOwn) {
  Charge charge;
  Rig rig(Charge::options(charge));
  const CallView mine = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  const CallView other = view(rig.call(rig.client("agent:other"), "pay__charge", R"({"account":"b"})", kKey));
  EXPECT_NE(mine.operation, other.operation);
  EXPECT_FALSE(other.replayed);
  EXPECT_EQ(charge.executed, 2);
}

TEST(Keys, HoldOverARestart) {
  TempDir dir;
  Charge charge;
  RigOptions options = Charge::options(charge, kKeyed);
  options.state = dir.file("state");
  CallView first;
  {
    Rig rig(options);
    first = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  }
  Rig rig(options);
  const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.operation, first.operation);
  EXPECT_EQ(again.receipt, first.receipt);
  EXPECT_EQ(charge.executed, 1);
}

TEST(Keys, AreForgottenAfterAWeek) {
  Charge charge;
  Rig rig(Charge::options(charge));
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  rig.clock.advance(std::chrono::hours(24 * 7 - 1));
  EXPECT_TRUE(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).replayed);
  rig.clock.advance(std::chrono::hours(2));
  EXPECT_FALSE(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).replayed);
  EXPECT_EQ(charge.executed, 2);
}

TEST(Keys, TheClientsRepeatSettlesAnUnknownWhereTheServerKnowsTheKey) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::reset_after};
  const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  EXPECT_EQ(lost.code, "OUTCOME_UNKNOWN");
  const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  EXPECT_EQ(again.operation, lost.operation);
  EXPECT_EQ(again.outcome, "applied") << again.text;
  EXPECT_FALSE(again.is_error);
  EXPECT_EQ(again.text, "paid");
  EXPECT_EQ(charge.executed, 1);
  ASSERT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(rig.all_calls[0].meta, rig.all_calls[1].meta);
  EXPECT_EQ(rig.operations({OperationState::resolved_applied}).size(), 1U);
  EXPECT_EQ(told_outcome(rig, lost.operation), "applied");
  // From now on it is told what became of it, and the scope is free.
  EXPECT_TRUE(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).replayed);
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"a","amount":7})")).outcome, "applied");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Keys, ARepeatThatProvesNothingLeavesItUnknown) {
  for (const Fault second : {Fault::reset_after, Fault::refused, Fault::reset_before, Fault::error}) {
    Charge charge;
    Rig rig(Charge::options(charge, kKeyed));
    charge.faults = {Fault::reset_after, second};
    const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    EXPECT_EQ(again.code, "OUTCOME_UNKNOWN") << again.text;
    EXPECT_EQ(again.operation, lost.operation);
    EXPECT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
    EXPECT_EQ(charge.executed, 1);
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Keys, WhereNothingMakesItSafeTheRepeatIsOnlyTold) {
  // No contract for the key, or the time is over in which the server remembers it.
  for (const bool expired : {false, true}) {
    Charge charge;
    Rig rig(Charge::options(charge, expired ? std::string(kKeyed) + R"(,"retention":"1h")" : std::string()));
    charge.faults = {Fault::reset_after};
    const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    if (expired) rig.clock.advance(std::chrono::hours(2));
    const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
    EXPECT_EQ(again.code, "OUTCOME_UNKNOWN");
    EXPECT_EQ(again.operation, lost.operation);
    EXPECT_EQ(rig.all_calls.size(), 1U);
    EXPECT_EQ(charge.executed, 1);
  }
}

TEST(Keys, ADenialStandsBeforeAReplayAndBeforeAResend) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::reset_after};
  rig.call(rig.client(), "pay__charge", kArguments, kKey);
  rig.set_policy(R"({"default":"deny","rules":[{"id":"no","deny":{"server":"pay","tool":"charge"}}]})");
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).code, "POLICY_DENIED");
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
}

TEST(Keys, InAnArgumentTheValueIsTheKey) {
  Charge charge;
  Rig rig(Charge::options(charge, R"("repeat":"keyed","idempotencyKey":{"argument":"/request_id"},"attempts":1)"));
  charge.faults = {Fault::reset_after};
  const std::string arguments = R"({"account":"a","request_id":"r-1"})";
  const CallView lost = view(rig.call(rig.client(), "pay__charge", arguments));
  EXPECT_EQ(lost.code, "OUTCOME_UNKNOWN");
  const CallView again = view(rig.call(rig.client(), "pay__charge", arguments));
  EXPECT_EQ(again.operation, lost.operation);
  EXPECT_EQ(again.outcome, "applied");
  // Without a value there is no key, and nothing makes a repeat safe.
  charge.faults = {Fault::reset_after};
  rig.call(rig.client(), "pay__charge", R"({"account":"b"})");
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"b"})")).code, "BLOCKED_BY_UNKNOWN");
}

TEST(Keys, OfAnyOtherFormAreRefused) {
  Charge charge;
  Rig rig(Charge::options(charge));
  for (const std::string& key : {std::string("\"\""), std::string("7"), std::string("\"a b\""),
                                 std::string("\"\\u00e9\""), "\"" + std::string(256, 'k') + "\""}) {
    const CallView seen =
        view(rig.call(rig.client(), "pay__charge", kArguments, R"({"dev.sallyport/idempotencyKey":)" + key + "}"));
    EXPECT_EQ(seen.code, "IDEMPOTENCY_KEY_INVALID") << key;
  }
  EXPECT_EQ(charge.executed, 0);
}

}  // namespace
}  // namespace sallyport::test
