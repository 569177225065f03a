// Where a doubt could be turned into certainty, or a lost write into a second one, by something that proves nothing: a
// key that the server never got, a marker that it does not know, a server still at work, an error of a proxy, an answer
// that comes at the wrong moment.
#include <gtest/gtest.h>

#include <functional>

#include <boost/asio/post.hpp>

#include "tests/support/charge.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kArguments = R"({"account":"a","amount":5})";
constexpr const char* kKey = R"({"dev.sallyport/idempotencyKey":"k-1"})";
constexpr const char* kKeyedMeta = R"("repeat":"keyed","idempotencyKey":{"meta":"k"})";

std::string lookup_by(const std::string& from, const std::string& not_found = "unknown") {
  return R"("idempotencyKey":{"meta":"k"},"lookup":{"tool":"find","arguments":{"id":{"from":")" + from +
         R"("}},"applied":{"found":true},"notFound":")" + not_found + "\"}";
}

std::size_t looks(const Rig& rig) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rig.all_calls, [](const Dispatched& call) { return call.tool == "find"; }));
}

LateAnswer paid_late(const std::string& operation) {
  LateAnswer late;
  late.operation = operation;
  late.answer.kind = ServerAnswer::Kind::result;
  late.answer.sent = true;
  auto document = json::Document::parse(Charge::kPaid);
  late.answer.document = std::make_shared<const json::Document>(std::move(*document));
  late.answer.result = late.answer.document->root();
  return late;
}

// ---- keys and markers

TEST(Doubt, AKeyThatTheServerIsNotGivenMakesNothingSafe) {
  Charge charge;
  Rig rig(Charge::options(charge, R"("repeat":"keyed","idempotencyKey":{"argument":"/request_id"},"attempts":3)"));
  charge.faults = {Fault::reset_after};
  // Beside the arguments the gateway knows the call by it; the server gets nothing of it.
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(charge.executed, 1);
}

TEST(Doubt, AContractThatNamesAKeySinceThenMakesNothingSafe) {
  for (const bool keyed_at_first : {false, true}) {
    TempDir dir;
    Charge charge;
    {
      RigOptions options = Charge::options(charge, keyed_at_first ? kKeyedMeta : "");
      options.state = dir.file("state");
      Rig rig(options);
      charge.faults = {Fault::reset_after};
      EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).outcome, "unknown");
    }
    RigOptions options = Charge::options(charge, kKeyedMeta);
    options.state = dir.file("state");
    Rig rig(options);
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments, kKey)).outcome,
              keyed_at_first ? "applied" : "unknown");
    EXPECT_EQ(charge.executed, 1);
  }
}

TEST(Doubt, ALookupByAMarkerThatTheServerWasNotGivenProvesNothing) {
  for (const char* from : {"operation", "key"}) {
    for (const bool own_key : {false, true}) {
      Charge charge;
      charge.find = [] { return "false"; };
      Rig rig(Charge::options(charge, lookup_by(from, "none")));
      charge.faults = {Fault::error};  // answered, so that absence counts at once
      const CallView seen = view(rig.call(rig.client(), "pay__charge", kArguments, own_key ? kKey : ""));
      const bool given = std::string(from) == "key" || !own_key;
      EXPECT_EQ(seen.outcome, given ? "none" : "unknown") << from << own_key;
      EXPECT_EQ(looks(rig), given ? 1U : 0U);
      EXPECT_TRUE(rig.log_verifies());
    }
  }
}

// ---- time

TEST(Doubt, AbsenceCountsOnlyOnceTheTimeOfTheCallIsOver) {
  for (const bool over : {false, true}) {
    Charge charge;
    charge.find = [] { return "false"; };
    RigOptions options = Charge::options(charge, lookup_by("key", "none") + (over ? R"(,"deadline":"1ms")" : ""));
    options.between_looks = Millis(0);
    Rig rig(options);
    charge.faults = {Fault::reset_during};
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", kArguments)).outcome, "unknown");
    const auto settled = [&] { return rig.receipts("reconciliation").size() == 2; };
    rig.await(rig.calls->sweep());
    rig.run_until(settled);
    EXPECT_EQ(rig.operations({OperationState::resolved_none}).size(), over ? 1U : 0U);
    rig.await(rig.calls->sweep());
    EXPECT_EQ(looks(rig), 2U);  // the next one waits until the server cannot be at work any more
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Doubt, ALateAnswerCountsWheneverItComes) {
  for (int turns = 0; turns < 24; ++turns) {
    Charge charge;
    Rig rig(Charge::options(charge));
    std::function<void(std::string, int)> later = [&](const std::string& operation, int left) {
      if (left == 0) {
        rig.calls->on_late_answer(paid_late(operation));
      } else {
        boost::asio::post(rig.io, [&, operation, left] { later(operation, left - 1); });
      }
    };
    charge.before = [&](Dispatched& call) { later(call.operation, turns + 1); };
    charge.faults = {Fault::lost_answer};
    rig.call(rig.client(), "pay__charge", kArguments);
    const auto known = [&] {
      return rig.operations({OperationState::applied, OperationState::resolved_applied}).size() == 1;
    };
    rig.run_until(known, "the late answer to count");
    EXPECT_TRUE(rig.operations({OperationState::unknown}).empty()) << turns;
    EXPECT_TRUE(rig.log_verifies());
  }
}

TEST(Doubt, ALateAnswerCountsWhileALookupLooksInVain) {
  Charge charge;
  Rig rig(Charge::options(charge, lookup_by("key")));
  charge.faults = {Fault::lost_answer};
  std::string operation;
  charge.before = [&](Dispatched& call) {
    if (call.tool == "charge") operation = call.operation;
    if (call.tool == "find") rig.calls->on_late_answer(paid_late(operation));
  };
  charge.find = [] { return "false"; };
  rig.call(rig.client(), "pay__charge", kArguments);
  rig.run_until([&] { return rig.operations({OperationState::resolved_applied}).size() == 1; });
  EXPECT_EQ(rig.operations({OperationState::resolved_applied}).front().basis, "late-answer");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Doubt, ACrashDuringALookDoesNotMakeALossOfAnAnsweredError) {
  TempDir dir;
  Charge charge;
  RigOptions options = Charge::options(charge, lookup_by("key"));
  options.state = dir.file("state");
  options.servers["pay"].on_call = [&](Dispatched& call) {
    if (call.tool == "charge") charge.answer(call);  // the lookup stays open
  };
  charge.faults = {Fault::error};
  Rig crashed(options);
  const auto pending = crashed.send(crashed.client(), "pay__charge", kArguments);
  crashed.run_until([&] { return looks(crashed) == 1; });
  options.state = dir.file("copy");
  std::filesystem::copy(dir.file("state"), options.state, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(options.state, std::filesystem::perms::owner_all);
  Rig rig(options);
  ASSERT_EQ(rig.operations({OperationState::unknown}).size(), 1U);
  EXPECT_EQ(rig.operations({OperationState::unknown}).front().unknown, Unknown::answered);
}

// ---- errors that are nobody's answer

void answer_http(const Dispatched& call, int status, bool bare, Millis retry_after = Millis(0)) {
  ServerAnswer got;
  got.kind = ServerAnswer::Kind::error;
  got.sent = true;
  got.http_status = status;
  got.bare_http = bare;
  if (retry_after.count() > 0) got.retry_after = retry_after;
  auto document = json::Document::parse(R"({"code":-32603,"message":"bad gateway"})");
  got.document = std::make_shared<const json::Document>(std::move(*document));
  got.error = got.document->root();
  call.answer->set(std::move(got));
}

TEST(Doubt, AnErrorOfAProxyIsNoAnswerOfTheTool) {
  struct One {
    int status;
    bool bare;
    const char* contract;
    const char* outcome;
    const char* next;  // what another call in the scope is told
  };
  const One all[] = {{504, true, R"("errors":"none")", "unknown", "BLOCKED_BY_UNKNOWN"},
                     {502, true, "", "unknown", "BLOCKED_BY_UNKNOWN"},
                     {500, true, R"("errors":{"none":{"http":[401]}})", "unknown", "BLOCKED_BY_UNKNOWN"},
                     {503, true, R"("errors":{"none":{"http":[503]}})", "none", ""},
                     {401, true, R"("errors":"none")", "none", ""},
                     {500, false, R"("errors":"none")", "none", ""}};
  for (const One& one : all) {
    Charge charge;
    Rig rig(Charge::options(charge, one.contract));
    rig.servers["pay"].on_call = [&](Dispatched& call) {
      if (rig.all_calls.size() == 1) {
        answer_http(call, one.status, one.bare);
      } else {
        charge.answer(call);
      }
    };
    const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
    rig.call(rig.client(), "pay__charge", kArguments, key);
    const auto rows = rig.operations({OperationState::unknown, OperationState::failed});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(told_outcome(rig, rows.front().id), one.outcome) << one.status;
    EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"a"})")).code, one.next) << one.status;
  }
}

TEST(Doubt, WhatTheServerAsksToWaitIsWaitedForOrNothingIsSent) {
  for (const bool too_long : {false, true}) {
    Charge charge;
    Rig rig(Charge::options(charge, R"("attempts":2,"deadline":"5s","errors":{"transient":{"http":[503]}})"));
    std::vector<std::chrono::steady_clock::time_point> sent;
    rig.servers["pay"].on_call = [&](Dispatched& call) {
      sent.push_back(std::chrono::steady_clock::now());
      if (sent.size() == 1) {
        answer_http(call, 503, true, too_long ? Millis(60'000) : Millis(150));
      } else {
        charge.answer(call);
      }
    };
    const Answer answer = rig.call(rig.client(), "pay__charge", kArguments);
    ASSERT_EQ(sent.size(), too_long ? 1U : 2U);
    EXPECT_EQ(charge.executed, too_long ? 0 : 1);
    if (!too_long) EXPECT_GE(sent[1] - sent[0], Millis(150));
  }
}

TEST(Doubt, NothingIsLookedUpWhileTheServerIsLeftAlone) {
  Charge charge;
  RigOptions options = Charge::options(charge, lookup_by("key"));
  options.between_looks = Millis(0);
  Rig rig(options);
  rig.servers["pay"].on_call = [](Dispatched& call) { call.lose(); };
  for (int i = 0; i < 3; ++i) rig.call(rig.client(), "pay__charge", R"({"account":")" + std::to_string(i) + "\"}");
  EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"z"})")).code, "SERVER_UNAVAILABLE");
  const std::size_t sent = rig.all_calls.size();
  rig.await(rig.calls->sweep());
  rig.await(rig.calls->sweep());
  rig.call(rig.client(), "pay__charge", R"({"account":"y"})");
  EXPECT_EQ(rig.all_calls.size(), sent);
}

// ---- words and people

TEST(Doubt, ABlockTellsNothingOfAnotherClientsArguments) {
  Charge charge;
  Rig rig(Charge::options(charge, R"("says":"Charge of {/amount}")"));
  charge.faults = {Fault::reset_after};
  const CallView lost = view(rig.call(rig.client(), "pay__charge", R"({"account":"a","amount":4711})"));
  const CallView own = view(rig.call(rig.client(), "pay__charge", R"({"account":"a"})"));
  const CallView other = view(rig.call(rig.client("agent:other"), "pay__charge", R"({"account":"a"})"));
  EXPECT_EQ(other.code, "BLOCKED_BY_UNKNOWN");
  EXPECT_NE(own.text.find("4711"), std::string::npos);
  EXPECT_EQ(other.text.find("4711"), std::string::npos) << other.text;
  for (const CallView& one : {own, other}) {
    EXPECT_NE(one.text.find(lost.operation), std::string::npos);
    EXPECT_NE(one.text.find("operator"), std::string::npos);
  }
}

TEST(Doubt, WhoeverIsLeftByTheGatewayIsNotToldToCallAgain) {
  for (const bool read : {false, true}) {
    Charge charge;
    Rig rig(Charge::options(charge));
    rig.servers["pay"].on_call = {};
    const auto pending = rig.send(rig.client(), read ? "pay__find" : "pay__charge", read ? "{}" : kArguments);
    rig.run_until([&] { return rig.open_calls.size() == 1; });
    pending->cancel->cancel(CancelReason::shutdown);
    rig.run_until([&] { return pending->answer.has_value(); });
    const CallView seen = view(*pending->answer);
    EXPECT_EQ(seen.code, read ? "CANCELLED" : "OUTCOME_UNKNOWN");
    EXPECT_EQ(seen.retry, read ? "later" : "after_resolution");
    EXPECT_EQ(seen.text.find("Call again") == std::string::npos, !read) << seen.text;
  }
}

TEST(Doubt, NobodySettlesWhatIsJustBeingSentAgain) {
  Charge charge;
  Rig rig(Charge::options(charge, kKeyedMeta));
  charge.faults = {Fault::reset_after};
  const CallView lost = view(rig.call(rig.client(), "pay__charge", kArguments, kKey));
  rig.servers["pay"].on_call = {};
  const auto again = rig.send(rig.client(), "pay__charge", kArguments, kKey);
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  const auto refused = rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, "none", "looked"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  charge.answer(rig.open_calls.front());
  rig.run_until([&] { return again->answer.has_value(); });
  EXPECT_EQ(view(*again->answer).outcome, "applied");
  EXPECT_EQ(charge.executed, 1);
  EXPECT_EQ(told_outcome(rig, lost.operation), "applied");
}

}  // namespace
}  // namespace sallyport::test
