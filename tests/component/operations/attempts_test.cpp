// Attempts: again only after what provably did not run or is safe to repeat, within one deadline, each recorded.
#include <gtest/gtest.h>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kErrors = R"("attempts":3,"errors":{"none":{"codes":[-32001]},"transient":{"codes":[-32050]}})";
constexpr const char* kKeyed =
    R"("repeat":"keyed","idempotencyKey":{"meta":"k"},"attempts":3,"errors":{"none":{"codes":[-32001]},"transient":{"codes":[-32050]}})";
constexpr const char* kArguments = R"({"account":"a","amount":5})";

TEST(Attempts, ATransientErrorIsTriedAgainWithinOneOperation) {
  Charge charge;
  Rig rig(Charge::options(charge, kErrors));
  charge.faults = {Fault::transient};
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_FALSE(seen.is_error) << seen.text;
  EXPECT_EQ(charge.executed, 1);
  ASSERT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(rig.all_calls[0].operation, rig.all_calls[1].operation);
  EXPECT_EQ(rig.all_calls[1].attempt, 2);
  ASSERT_EQ(rig.operations().size(), 1U);
  EXPECT_EQ(rig.operations().front().attempts, 2);
  EXPECT_EQ(count_kind(rig, "intent", seen.operation), 2U);
  EXPECT_EQ(count_kind(rig, "outcome", seen.operation), 2U);
  EXPECT_EQ(told_outcome(rig, seen.operation), "applied");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Attempts, WhatWasNotSentIsTriedAgainWhereTheContractSaysSo) {
  for (const bool again : {false, true}) {
    Charge charge;
    Rig rig(Charge::options(charge, again ? kErrors : ""));
    charge.faults = {Fault::reset_before};
    const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
    EXPECT_EQ(charge.executed, again ? 1 : 0);
    EXPECT_EQ(seen.outcome, again ? "applied" : "none");
    EXPECT_EQ(rig.all_calls.size(), again ? 2U : 1U);
  }
}

TEST(Attempts, ALostWriteIsNeverSentAgain) {
  Charge charge;
  Rig rig(Charge::options(charge, kErrors));
  charge.faults = {Fault::reset_after};
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(charge.executed, 1);
}

TEST(Attempts, ALostKeyedWriteIsSentAgainWithTheSameKey) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::reset_after};
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.outcome, "applied") << seen.text;
  ASSERT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(rig.all_calls[0].meta, rig.all_calls[1].meta);
  EXPECT_NE(rig.all_calls[0].meta.find(seen.operation), std::string::npos);
  EXPECT_EQ(charge.executed, 1);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Attempts, NothingDoneByALaterAttemptProvesNothingOfAnEarlierOne) {
  for (const Fault last : {Fault::refused, Fault::reset_before, Fault::transient}) {
    Charge charge;
    Rig rig(Charge::options(charge, kKeyed));
    charge.faults = {Fault::reset_after, last, last};
    const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
    EXPECT_EQ(seen.code, "OUTCOME_UNKNOWN") << seen.text;
    ASSERT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
    EXPECT_EQ(rig.operations({OperationState::unknown}).front().unknown, Unknown::lost);
    EXPECT_EQ(told_outcome(rig, seen.operation), "unknown");
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Attempts, AReadIsTriedThreeTimes) {
  Charge charge;
  Rig rig(Charge::options(charge));
  int lost = 0;
  rig.servers["pay"].on_call = [&](Dispatched& call) {
    if (lost++ < 2) {
      call.lose();
    } else {
      call.result(R"({"content":[],"structuredContent":{"found":true}})");
    }
  };
  const CallView seen = view(rig.call(rig.client(), "pay__find", "{}"));
  EXPECT_FALSE(seen.is_error) << seen.text;
  EXPECT_EQ(rig.all_calls.size(), 3U);
  EXPECT_EQ(count_kind(rig, "call", seen.operation), 3U);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Attempts, AServerThatFailsAgainAndAgainIsLeftAloneAndAWriteIsNoProbe) {
  Charge charge;
  Rig rig(Charge::options(charge));
  rig.servers["pay"].on_call = [](Dispatched& call) { call.lose(); };
  for (int i = 0; i < 4; ++i) rig.call(rig.client(), "pay__find", "{}");
  const std::size_t before = rig.all_calls.size();
  EXPECT_LT(before, 12U);  // three attempts each, until there was too much of it
  const CallView refused = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(refused.code, "SERVER_UNAVAILABLE");
  EXPECT_EQ(refused.outcome, "none");
  EXPECT_EQ(rig.all_calls.size(), before);
}

TEST(Attempts, EachCountsInTheBudgetAndNoneIsMadeBeyondIt) {
  Charge charge;
  Rig rig(Charge::options(
      charge, kErrors,
      R"({"default":"deny","rules":[{"id":"pay","allow":{"server":"pay","tool":"charge"}}],"budgets":[{"id":"a","per":"principal","attempts":2}]})"));
  charge.faults = {Fault::transient, Fault::transient};
  rig.call(rig.client(), "pay__charge", kArguments);
  EXPECT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(charge.executed, 0);
  EXPECT_EQ(told_outcome(rig, rig.all_calls.front().operation), "none");
  // Nothing was done, so nothing of it is used up.
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"b"})")).outcome, "applied");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Attempts, ADenialThatComesBetweenTwoAttemptsHolds) {
  Charge charge;
  Rig rig(Charge::options(charge, kErrors));
  charge.faults = {Fault::transient};
  charge.before = [&](Dispatched& call) {
    if (call.attempt == 1)
      rig.set_policy(R"({"default":"deny","rules":[{"id":"no","deny":{"server":"pay","tool":"charge"}}]})");
  };
  rig.call(rig.client(), "pay__charge", kArguments);
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(charge.executed, 0);
}

TEST(Attempts, TheDeadlineIsOneForAll) {
  Charge charge;
  Rig rig(Charge::options(charge, R"("attempts":10,"deadline":"20ms","errors":{"transient":{"codes":[-32050]}})"));
  charge.faults.assign(10, Fault::transient);
  rig.call(rig.client(), "pay__charge", kArguments);
  EXPECT_LT(rig.all_calls.size(), 10U);
  EXPECT_EQ(told_outcome(rig, rig.all_calls.front().operation), "none");
}

TEST(Attempts, ALateAnswerOfAnEarlierAttemptCounts) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyed));
  charge.faults = {Fault::reset_after, Fault::reset_before, Fault::reset_before};
  charge.before = [&](Dispatched& call) {
    if (call.attempt != 2) return;
    LateAnswer late;
    late.operation = call.operation;
    late.attempt = 1;
    late.answer.kind = ServerAnswer::Kind::result;
    late.answer.sent = true;
    auto document = json::Document::parse(Charge::kPaid);
    late.answer.document = std::make_shared<const json::Document>(std::move(*document));
    late.answer.result = late.answer.document->root();
    rig.calls->on_late_answer(std::move(late));
  };
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.outcome, "applied") << seen.text;
  EXPECT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(charge.executed, 1);
}

// ---- results over their limit

TEST(ResultLimit, IsWithheldOrCutAndTheReceiptSaysWhich) {
  for (const bool cut : {false, true}) {
    Charge charge;
    Rig rig(
        Charge::options(charge, std::string(R"("maxResultBytes":200)") + (cut ? R"(,"overLimit":"truncate")" : "")));
    rig.servers["pay"].on_call = [](Dispatched& call) {
      call.result(R"({"content":[{"type":"text","text":")" + std::string(50, 'x') + R"("},{"type":"text","text":")" +
                  std::string(997, 'y') + "\xc3\xa9\xc3\xa9" + R"("}],"structuredContent":{"secret":1}})");
    };
    const Answer answer = rig.call(rig.client(), "pay__charge", kArguments);
    const CallView seen = view(answer);
    EXPECT_EQ(seen.outcome, "applied");
    EXPECT_EQ(answer.result.find("secret"), std::string::npos);
    EXPECT_EQ(answer.result.find(std::string(50, 'x')) != std::string::npos, cut) << answer.result;
    EXPECT_EQ(seen.is_error, !cut);
    if (cut) EXPECT_NE(answer.result.find("Cut by the gateway"), std::string::npos);
    ASSERT_EQ(rig.receipts("outcome").size(), 1U);
    const std::string payload = rig.receipts("outcome").front().payload;
    EXPECT_NE(payload.find(cut ? "\"truncated\"" : "\"withheld\""), std::string::npos) << payload;
    EXPECT_TRUE(rig.log_verifies());
  }
}

}  // namespace
}  // namespace sallyport::test
