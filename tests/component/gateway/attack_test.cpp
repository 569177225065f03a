// Ways that were found around the promises, each closed: a test of its kind.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kPut =
    R"({"name":"put","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"number"}},"required":["id"]}})";
constexpr const char* kLook =
    R"({"name":"look","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}})";
constexpr const char* kPay =
    R"({"name":"pay","inputSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}})";
constexpr const char* kDone = R"({"content":[{"type":"text","text":"done"}]})";

RigOptions free_writes() {
  RigOptions options;
  options.policy = R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}}]})";
  options.trust = R"({"servers":{"s":{"tools":{"look":"read","put":{"effect":"record","scope":"things/{/id}"}}}}})";
  options.servers["s"].tools = {kPut, kLook};
  options.servers["s"].on_call = [](Dispatched& call) { call.result(kDone); };
  return options;
}

RigOptions asks() {
  RigOptions options;
  options.policy = R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"asked","ask":{"server":"s"}}]})";
  options.trust =
      R"({"servers":{"s":{"tools":{"look":"read","pay":{"effect":"external"},"put":{"effect":"record"}}}}})";
  options.servers["s"].tools = {kPut, kLook, kPay};
  options.servers["s"].on_call = [](Dispatched& call) { call.result(kDone); };
  return options;
}

class Quiet final : public ClientChannel {
 public:
  void notify(std::string_view, std::string_view) override {}
  [[nodiscard]] bool open() const override { return true; }
};

asio::awaitable<void> run(calls::Calls& calls, Inbound inbound, std::shared_ptr<std::optional<Answer>> out) {
  Quiet channel;
  inbound.channel = &channel;
  *out = co_await calls.tools_call(std::move(inbound));
}

Answer raw_call(Rig& rig, std::shared_ptr<ClientContext> client, const std::string& params) {
  auto document = json::Document::parse(std::string(params));
  Inbound inbound;
  inbound.client = std::move(client);
  inbound.document = std::make_shared<const json::Document>(std::move(*document));
  inbound.params = inbound.document->root();
  inbound.method = "tools/call";
  inbound.cancel = std::make_shared<Cancel>();
  inbound.received = rig.clock.now();
  auto out = std::make_shared<std::optional<Answer>>();
  asio::co_spawn(rig.io, run(*rig.calls, std::move(inbound), out), asio::detached);
  rig.run_until([&] { return out->has_value(); }, "an answer");
  return **out;
}

TEST(Attacks, RefusedCallsDoNotPushAKeysOperationOutOfSight) {
  Rig rig(free_writes());
  const auto client = rig.client();
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  Rig::deliver(rig.call(client, "s__put", R"({"id":"a"})", key));
  ASSERT_EQ(rig.all_calls.size(), 1U);
  for (int i = 0; i < 8; ++i) rig.call(client, "s__put", R"({"id":5})", key);  // ARGUMENTS_INVALID
  const CallView again = view(rig.call(client, "s__put", R"({"id":"a"})", key));
  EXPECT_EQ(rig.all_calls.size(), 1U) << "the same key ran twice";
  EXPECT_TRUE(again.replayed);
}

TEST(Attacks, NamesOfParamsThatDifferOnlyByCaseAreRefused) {
  Rig rig(free_writes());
  raw_call(rig, rig.client(), R"({"name":"s__look","arguments":{"id":"a"},"Name":"put","Arguments":{"id":"evil"}})");
  for (const auto& call : rig.all_calls) EXPECT_EQ(call.params.find("evil"), std::string::npos) << call.params;
}

TEST(Attacks, WaitingOnAnotherMountNeverRunsAnotherServersTool) {
  RigOptions options = asks();
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"asked","ask":{"server":"s"}},{"id":"o","allow":{"server":"o"}}]})";
  options.trust =
      R"({"servers":{"s":{"tools":{"pay":{"effect":"external"}}},"o":{"tools":{"pay":{"effect":"external"}}}}})";
  options.servers["s"].tools = {kPay};
  options.servers["o"].tools = {kPay};
  options.servers["o"].on_call = [](Dispatched& call) { call.result(kDone); };
  Rig rig(options);
  auto at_s = rig.client();
  at_s->mount.server = "s";
  at_s->hold = Millis(1);
  const CallView told = view(rig.call(at_s, "pay", R"({"to":"kim"})"));
  ASSERT_EQ(told.code, "APPROVAL_PENDING");
  auto at_o = rig.client();
  at_o->mount.server = "o";
  at_o->hold = Millis(1);
  rig.call(at_o, "sallyport_wait", R"({"id":")" + told.approval + R"("})");
  EXPECT_TRUE(rig.all_calls.empty()) << "ran on " << rig.all_calls.front().server;
}

TEST(Attacks, WaitingOnTheOtherMountRunsTheStoredCall) {
  Rig rig(asks());
  auto at_s = rig.client();
  at_s->mount.server = "s";
  at_s->hold = Millis(1);
  const CallView told = view(rig.call(at_s, "pay", R"({"to":"kim"})"));
  ASSERT_TRUE(rig.approve(told.approval));
  const Answer answer = rig.call(rig.client(), "sallyport_wait", R"({"id":")" + told.approval + R"("})");
  EXPECT_FALSE(answer.error) << answer.error->message;
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

TEST(Attacks, AnAskedReadAsksAgainOnceItWasDelivered) {
  Rig rig(asks());
  const auto client = rig.client();
  const auto first = rig.send(client, "s__look", R"({"id":"a"})");
  ASSERT_TRUE(rig.approve(rig.pending_approval()));
  rig.run_until([&] { return first->answer.has_value(); });
  Rig::deliver(*first->answer);
  client->hold = Millis(1);
  EXPECT_EQ(view(rig.call(client, "s__look", R"({"id":"a"})")).code, "APPROVAL_PENDING");
}

TEST(Attacks, ADenialThatNobodyWaitedForHoldsWhateverTheRulesSayLater) {
  Rig rig(asks());
  const auto client = rig.client();
  client->hold = Millis(1);
  const CallView told = view(rig.call(client, "s__pay", R"({"to":"kim"})"));
  ASSERT_TRUE(rig.deny(told.approval, "user:dana", "no"));
  rig.set_policy(R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}}]})");
  EXPECT_EQ(view(rig.call(client, "sallyport_wait", R"({"id":")" + told.approval + R"("})")).code, "APPROVAL_DENIED");
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Attacks, AnApprovalThatRanOutIsSaidToHaveExpired) {
  Rig rig(asks());
  const auto client = rig.client();
  client->hold = Millis(1);
  const CallView told = view(rig.call(client, "s__pay", R"({"to":"kim"})"));
  ASSERT_TRUE(rig.approve(told.approval));
  rig.clock.advance(std::chrono::hours(2));
  const CallView late = view(rig.call(client, "sallyport_wait", R"({"id":")" + told.approval + R"("})"));
  EXPECT_EQ(late.code, "APPROVAL_EXPIRED") << late.text;
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Attacks, AnExpiredAskClosesItsOperation) {
  Rig rig(asks());
  const auto client = rig.client();
  client->hold = Millis(1);
  rig.call(client, "s__pay", R"({"to":"kim"})");
  rig.run_until([&] { return rig.calls->in_flight() == 0; }, "the operation to be in nobody's hands");
  rig.clock.advance(std::chrono::hours(2));
  rig.await(rig.calls->sweep());
  EXPECT_TRUE(rig.operations({OperationState::waiting}).empty());
}

TEST(Attacks, ARepeatOfAnUnknownJoinsTheRepeatThatAlreadyAsks) {
  RigOptions options = free_writes();
  options.servers["s"].on_call = [](Dispatched& call) { call.error(R"({"code":-32000,"message":"boom"})"); };
  Rig rig(options);
  const auto client = rig.client();
  client->hold = Millis(1);
  Rig::deliver(rig.call(client, "s__put", R"({"id":"a"})"));
  const CallView one = view(rig.call(client, "s__put", R"({"id":"a"})"));
  const CallView two = view(rig.call(client, "s__put", R"({"id":"a"})"));
  ASSERT_EQ(one.code, "APPROVAL_PENDING") << one.text;
  EXPECT_EQ(one.approval, two.approval) << "two asks for one call";
}

TEST(Attacks, AReplayIsNotBlockedByAnotherOperation) {
  Rig rig(free_writes());
  const auto client = rig.client();
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  rig.call(client, "s__put", R"({"id":"a"})", key);
  rig.servers["s"].on_call = [](Dispatched& call) { call.lose(); };
  rig.call(client, "s__put", R"({"id":"a","n":2})");
  const CallView again = view(rig.call(client, "s__put", R"({"id":"a"})", key));
  EXPECT_EQ(again.outcome, "applied") << again.text;
  EXPECT_TRUE(again.replayed);
}

TEST(Attacks, AConflictLeavesAReceipt) {
  Rig rig(free_writes());
  const auto client = rig.client();
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  rig.call(client, "s__put", R"({"id":"a"})", key);
  const CallView conflict = view(rig.call(client, "s__put", R"({"id":"b"})", key));
  ASSERT_EQ(conflict.code, "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(rig.receipts("refusal").size(), 1U);
}

TEST(Attacks, WhatIsForwardedBesideTheArgumentsIsShown) {
  Rig rig(asks());
  rig.send(rig.client(), "s__pay", R"({"to":"kim"})", R"({"acme/elevate":true})");
  const auto page = rig.await(rig.people->approval(rig.person("user:dana"), rig.pending_approval()));
  EXPECT_NE(page->find("acme/elevate"), std::string::npos);
}

TEST(Attacks, TheServerGetsTheKeyOnce) {
  RigOptions options = free_writes();
  options.trust =
      R"({"servers":{"s":{"tools":{"put":{"effect":"record","repeat":"keyed","idempotencyKey":{"meta":"acme/key"}}}}}})";
  Rig rig(options);
  rig.call(rig.client(), "s__put", R"({"id":"a"})", R"({"acme/key":"mine","dev.sallyport/idempotencyKey":"k-1"})");
  for (const auto& call : rig.all_calls) EXPECT_EQ(call.meta.find("mine"), std::string::npos) << call.meta;
}

TEST(Attacks, AnApprovalOfOldTermsIsVoidWhenTheDefaultTermsTighten) {
  RigOptions options = asks();
  options.policy = R"({"default":"ask","approval":{"by":["owners"]}})";
  Rig rig(options);
  const auto client = rig.client();
  client->hold = Millis(1);
  const CallView told = view(rig.call(client, "s__pay", R"({"to":"kim"})"));
  ASSERT_TRUE(rig.approve(told.approval));
  rig.set_policy(R"({"default":"ask","approval":{"by":["payments"]}})");  // dana is not of them
  rig.call(client, "sallyport_wait", R"({"id":")" + told.approval + R"("})");
  EXPECT_TRUE(rig.all_calls.empty()) << "run on the word of somebody who may not answer any more";
}

TEST(Attacks, AServerThatIsAnotherNowIsNotCalled) {
  Rig rig(free_writes());
  rig.call(rig.client(), "s__put", R"({"id":"a"})");
  ASSERT_EQ(rig.all_calls.size(), 1U);
  rig.servers["s"].identity =
      R"({"kind":"command","command":"/bin/test","digest":"sha256:)" + std::string(64, '9') + R"("})";
  const CallView seen = view(rig.call(rig.client("agent:other"), "s__put", R"({"id":"b"})"));  // a new child
  EXPECT_EQ(rig.all_calls.size(), 1U) << seen.verdict;
}

TEST(Attacks, ACancelByOneOfTwoDoesNotSayThatNothingRan) {
  Rig rig(asks());
  const auto one = rig.send(rig.client(), "s__pay", R"({"to":"kim"})");
  const std::string approval = rig.pending_approval();
  const auto two = rig.send(rig.client(), "s__pay", R"({"to":"kim"})");
  rig.run_until([&] { return rig.receipts("repeat").size() == 1; });
  one->cancel->cancel(CancelReason::client);
  rig.run_until([&] { return one->answer.has_value(); });
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return two->answer.has_value(); });
  ASSERT_EQ(rig.all_calls.size(), 1U);
  EXPECT_NE(view(*one->answer).outcome, "none") << "its operation ran";
}

TEST(Attacks, AtShutdownAHeldAskIsAnsweredAsPending) {
  Rig rig(asks());
  const auto held = rig.send(rig.client(), "s__pay", R"({"to":"kim"})");
  const std::string approval = rig.pending_approval();
  rig.await(rig.calls->shutdown(Deadline::after(std::chrono::seconds(1))));
  held->cancel->cancel(CancelReason::shutdown);
  rig.run_until([&] { return held->answer.has_value(); });
  EXPECT_EQ(view(*held->answer).code, "APPROVAL_PENDING") << view(*held->answer).text;
  EXPECT_EQ(view(*held->answer).approval, approval);
}

TEST(Attacks, AnAskThatShowedNoUnknownIsVoidOnceThereIsOne) {
  RigOptions options = asks();
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"asked","ask":{"server":"s","tool":"pay"}},{"id":"put","allow":{"server":"s","tool":"put"}}]})";
  Rig rig(options);
  const auto asked = rig.send(rig.client(), "s__pay", R"({"to":"kim"})");
  const std::string approval = rig.pending_approval();
  rig.servers["s"].on_call = [](Dispatched& call) { call.lose(); };
  rig.call(rig.client(), "s__put", R"({"id":"a"})");  // lost, without a scope: the server's next writes ask, showing it
  (void)rig.approve(approval);
  rig.run_until([&] { return asked->answer.has_value(); });
  EXPECT_EQ(rig.all_calls.size(), 1U) << "the approver never saw the unknown operation";
}

TEST(Attacks, AnAnswerOfTheWrongShapeIsNoAnswer) {
  RigOptions options = free_writes();
  options.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"isError":"true"})"); };
  Rig rig(options);
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"a"})")).outcome, "unknown");
}

}  // namespace
}  // namespace sallyport::test
