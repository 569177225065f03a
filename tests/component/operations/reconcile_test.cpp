// What ends an unknown operation: a lookup, a late answer, a person. What proves nothing leaves it unknown.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kArguments = R"({"account":"a","amount":5,"request_id":"r-1"})";

std::string lookup(const std::string& not_found = "unknown") {
  return R"("idempotencyKey":{"meta":"k"},"lookup":{"tool":"find","arguments":{"request_id":{"from":"/request_id"},"operation":{"from":"operation"}},)"
         R"("applied":{"found":true},"notFound":")" +
         not_found + "\"}";
}

std::size_t looks(const Rig& rig) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rig.all_calls, [](const Dispatched& call) { return call.tool == "find"; }));
}

TEST(Reconcile, APositiveLookupEndsItAndItsReceiptsSayHow) {
  Charge charge;
  Rig rig(Charge::options(charge, lookup()));
  charge.faults = {Fault::reset_after};
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.outcome, "applied") << seen.text;
  EXPECT_EQ(seen.code, "RESULT_WITHHELD");
  EXPECT_NE(seen.text.find("did run"), std::string::npos);
  ASSERT_EQ(looks(rig), 1U);
  EXPECT_EQ(rig.all_calls[1].params,
            R"("name":"find","arguments":{"operation":")" + seen.operation + R"(","request_id":"r-1"})");
  const auto found = rig.receipts("call");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().principal, "gateway");
  const auto call = boost::json::parse(found.front().payload).at("predicate");
  EXPECT_EQ(call.at("cause").as_string(), seen.operation);
  ASSERT_EQ(rig.receipts("reconciliation").size(), 1U);
  const auto reconciled = boost::json::parse(rig.receipts("reconciliation").front().payload).at("predicate");
  EXPECT_EQ(reconciled.at("evidence").at(0).as_string(), found.front().id);
  EXPECT_EQ(reconciled.at("outcome").at("basis").as_string(), "lookup");
  EXPECT_EQ(reconciled.at("id").as_string(), seen.receipt);
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"a"})")).outcome, "applied");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Reconcile, AbsenceProvesNothingUnlessTheContractSaysSo) {
  for (const bool authoritative : {false, true}) {
    Charge charge;
    charge.find = [] { return "false"; };
    Rig rig(Charge::options(charge, authoritative ? lookup("none") : lookup()));
    charge.faults = {Fault::error};
    const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
    EXPECT_EQ(seen.outcome, authoritative ? "none" : "unknown");
    EXPECT_EQ(seen.retry, authoritative ? "now" : "after_resolution");
    EXPECT_EQ(rig.receipts("reconciliation").size(), 1U);
    EXPECT_EQ(told_outcome(rig, seen.operation), authoritative ? "none" : "unknown");
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Reconcile, AServerThatDidNotAnswerMayStillBeAtWorkAndAbsenceHasToWait) {
  for (const Fault fault : {Fault::late_answer, Fault::reset_during, Fault::reset_after}) {
    Charge charge;
    charge.find = [] { return "false"; };
    Rig rig(Charge::options(charge, lookup("none")));
    charge.faults = {fault};
    const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
    EXPECT_EQ(seen.code, "OUTCOME_UNKNOWN");
    EXPECT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"a"})")).code, "BLOCKED_BY_UNKNOWN");
  }
}

TEST(Reconcile, ALookupThatCannotBeBelievedProvesNothing) {
  const char* answers[] = {R"({"content":[],"isError":true})", R"({"content":[]})",
                           R"({"content":[],"structuredContent":{"found":"true"}})", R"({"oops":1})"};
  for (const char* answer : answers) {
    Charge charge;
    Rig rig(Charge::options(charge, lookup("none")));
    rig.servers["pay"].on_call = [&](Dispatched& call) {
      if (call.tool == "find") {
        call.result(answer);
      } else {
        charge.answer(call);
      }
    };
    charge.faults = {Fault::reset_after};
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments)).outcome, "unknown") << answer;
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Reconcile, OnlyAnAcceptedReadLooks) {
  for (const bool pinned : {true, false}) {
    Charge charge;
    RigOptions options = Charge::options(charge, lookup());
    if (pinned) {
      const auto at = options.trust.find(R"("find":"read")");
      options.trust.replace(at, 13, R"("find":"record")");
    }
    options.accept_all = pinned;
    options.policy = R"({"default":"ask","rules":[]})";
    Rig rig(options);
    charge.faults = {Fault::reset_after};
    const auto pending = rig.send(rig.client(), "pay__charge", kArguments);
    ASSERT_TRUE(rig.approve(rig.pending_approval()));
    rig.run_until([&] { return pending->answer.has_value(); });
    EXPECT_EQ(view(*pending->answer).outcome, "unknown");
    EXPECT_EQ(looks(rig), 0U);
  }
}

TEST(Reconcile, AStopHoldsForLookupsToo) {
  Charge charge;
  Rig rig(Charge::options(charge, lookup()));
  charge.faults = {Fault::reset_after};
  charge.before = [&](Dispatched& call) {
    if (call.tool != "charge") return;
    StopRow stop;
    stop.id = "st_1";
    stop.kind = "server";
    stop.value = "pay";
    rig.calls->stop_changed(stop);
  };
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments)).outcome, "unknown");
  EXPECT_EQ(looks(rig), 0U);
}

TEST(Reconcile, WhatACrashLeftIsLookedUpAfterTheStart) {
  TempDir dir;
  Charge charge;
  RigOptions options = Charge::options(charge, lookup());
  options.state = dir.file("state");
  options.servers["pay"].on_call = {};
  Rig crashed(options);
  const auto pending = crashed.send(crashed.client(), "pay__charge", kArguments);
  crashed.run_until([&] { return crashed.open_calls.size() == 1; });
  charge.executed = 1;
  options.state = dir.file("copy");
  options.servers["pay"].on_call = [&](Dispatched& call) { charge.answer(call); };
  std::filesystem::copy(dir.file("state"), options.state, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(options.state, std::filesystem::perms::owner_all);
  Rig rig(options);
  ASSERT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
  rig.await(rig.calls->sweep());
  rig.run_until([&] { return rig.operations({OperationState::resolved_applied}).size() == 1; });
  EXPECT_EQ(charge.executed, 1);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Reconcile, ALateAnswerIsEvidenceAndIsHandedToTheRepeatOfItsKey) {
  Charge charge;
  Rig rig(Charge::options(charge));
  charge.faults = {Fault::late_answer};
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, key));
  EXPECT_EQ(lost.outcome, "unknown");
  LateAnswer late;
  late.operation = lost.operation;
  late.answer.kind = ServerAnswer::Kind::result;
  late.answer.sent = true;
  auto document = json::Document::parse(Charge::kPaid);
  late.answer.document = std::make_shared<const json::Document>(std::move(*document));
  late.answer.result = late.answer.document->root();
  rig.calls->on_late_answer(std::move(late));
  rig.run_until([&] { return rig.operations({OperationState::resolved_applied}).size() == 1; });
  const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, key));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.text, "paid");
  EXPECT_EQ(again.receipt, rig.receipts("reconciliation").front().id);
  EXPECT_EQ(charge.executed, 1);
}

TEST(Reconcile, APersonSettlesItWithAReasonAndTheRepeatIsToldTheTruth) {
  for (const std::string outcome : {"applied", "none"}) {
    Charge charge;
    Rig rig(Charge::options(charge));
    charge.faults = {Fault::reset_after};
    const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
    const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, key));
    EXPECT_FALSE(rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, outcome, "")));
    EXPECT_FALSE(rig.await(rig.people->resolve(rig.person("user:kim"), lost.operation, outcome, "looked")));
    ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, outcome, "looked")));
    EXPECT_FALSE(rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, outcome, "twice")));
    const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments, key));
    if (outcome == "applied") {
      EXPECT_TRUE(again.replayed);
      EXPECT_EQ(again.outcome, "applied") << again.text;
      EXPECT_EQ(charge.executed, 1);
    } else {  // nothing was done: the key is free again
      EXPECT_FALSE(again.replayed);
      EXPECT_EQ(again.outcome, "applied");
    }
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Reconcile, WhatWasFoundDoneAndToldToNobodyIsNotDoneAgain) {
  for (const bool told : {false, true}) {
    Charge charge;
    Rig rig(Charge::options(charge));
    charge.faults = {Fault::reset_after};
    const Answer lost = rig.call(rig.client(), "pay__charge", kArguments);
    if (told) Rig::deliver(lost);
    ASSERT_TRUE(
        rig.await(rig.people->resolve(rig.person("user:dana"), view(lost).operation, "applied", "it is in the books")));
    const CallView again = view(rig.call(rig.client(), "pay__charge", kArguments));
    EXPECT_EQ(again.replayed, !told) << again.text;
    EXPECT_EQ(again.outcome, "applied");
    EXPECT_EQ(charge.executed, told ? 2 : 1);
  }
}

TEST(Reconcile, NobodySettlesACallOfTheirOwn) {
  Charge charge;
  Rig rig(Charge::options(charge));
  charge.faults = {Fault::reset_after};
  const CallView lost = view(rig.call(rig.client("user:dana"), "pay__charge", kArguments));
  const auto refused = rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, "none", "trust me"));
  EXPECT_FALSE(refused);
}

// ---- revisions that the contract reads from the server

constexpr const char* kAskPolicy =
    R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"pay","ask":{"server":"pay","tool":"charge"}}]})";
constexpr const char* kRevision =
    R"("revision":{"tool":"find","arguments":{"account":{"from":"/account"}},"at":"/revision"})";

TEST(ServerRevision, AnApprovalOfAnOlderOneDoesNotFit) {
  for (const bool moves : {false, true}) {
    Charge charge;
    int revision = 7;
    Rig rig(Charge::options(charge, kRevision, kAskPolicy));
    rig.servers["pay"].on_call = [&](Dispatched& call) {
      if (call.tool == "find") {
        call.result(R"({"content":[],"structuredContent":{"found":true,"revision":")" + std::to_string(revision) +
                    "\"}}");
      } else {
        charge.answer(call);
      }
    };
    const auto pending = rig.send(rig.client(), "pay__charge", kArguments);
    const std::string approval = rig.pending_approval();
    if (moves) revision = 8;
    ASSERT_TRUE(rig.approve(approval));
    rig.run_until([&] { return pending->answer.has_value(); });
    const CallView seen = view(*pending->answer);
    EXPECT_EQ(seen.code, moves ? "APPROVAL_INVALIDATED" : "") << seen.text;
    EXPECT_EQ(charge.executed, moves ? 0 : 1);
    for (const ReceiptRow& row : rig.receipts("call")) EXPECT_EQ(row.principal, "gateway");
    EXPECT_GE(rig.receipts("call").size(), 2U);
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(ServerRevision, ThatCannotBeReadRefusesTheAsk) {
  Charge charge;
  Rig rig(Charge::options(charge, kRevision, kAskPolicy));  // `find` tells no revision
  const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments));
  EXPECT_EQ(seen.code, "SERVER_UNAVAILABLE");
  EXPECT_EQ(charge.executed, 0);
}

}  // namespace
}  // namespace sallyport::test
