// Budgets hold whatever happens at once, at a crash, with the clock, and with what clients send.
#include <algorithm>
#include <filesystem>

#include "tests/component/policy/shop_rig.hpp"

namespace sallyport::test {
namespace {

TEST(Budgets, RequestsAreCountedRefusedOnesToo) {
  Rig rig(options(R"(],"budgets":[{"id":"run","per":"run","requests":3}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__write", R"({"text":5})")).code, "ARGUMENTS_INVALID");
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  const CallView over = view(rig.call(client, "s__check", "{}"));
  EXPECT_EQ(over.code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(over.retry, "never");
  EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).outcome, "applied") << "another run has its own";
}

TEST(Budgets, AmountsAreHeldInFlightAndOnUnknownAndGivenBackOnNone) {
  Rig rig(options(
      R"(],"budgets":[{"id":"sum","per":"principal","match":{"server":"s","tool":"queue"},"sum":"/amount","max":10}]})"));
  const auto client = rig.client();
  rig.servers["s"].on_call = {};
  const auto first = rig.send(client, "s__queue", R"({"amount":6})");
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":5})")).code, "BUDGET_EXHAUSTED") << "6 are in flight";
  rig.open_calls[0].result(R"({"content":[],"isError":true})");  // none, by the contract
  rig.run_until([&] { return first->answer.has_value(); });
  Rig::deliver(*first->answer);
  const auto second = rig.send(client, "s__queue", R"({"amount":5})");
  rig.run_until([&] { return rig.open_calls.size() == 2; });
  rig.open_calls[1].lose();
  rig.run_until([&] { return second->answer.has_value(); });
  const std::string unknown = view(*second->answer).operation;
  rig.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":6})")).code, "BUDGET_EXHAUSTED")
      << "5 are held while it is unknown";
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), unknown, "none", "looked")));
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":7})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":-1})")).code, "BUDGET_EXHAUSTED");
}

constexpr const char* kSum =
    R"(],"budgets":[{"id":"sum","per":"principal","match":{"server":"s","tool":"queue"},"sum":"/amount","max":10}]})";

TEST(Budgets, EachHasCountersOfItsOwn) {
  Rig rig(options(
      R"(],"budgets":[{"id":"a","per":"principal","requests":4},{"id":"b","per":"principal","requests":2,"match":{"server":"s","tool":"queue"}}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":1})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":2})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":3})")).code, "BUDGET_EXHAUSTED") << "b: two are used";
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED") << "a: four are used, refused ones too";
}

TEST(Budgets, CallsAtOnceNeverTakeMoreThanThereIs) {
  Rig rig(options(
      R"(],"budgets":[{"id":"sum","per":"principal","sum":"/amount","max":10,"match":{"server":"s","tool":"queue"}},{"id":"tries","per":"server","attempts":8,"match":{"server":"s"}}]})"));
  rig.servers["s"].on_call = {};
  std::vector<Rig::PendingPtr> sent;
  // Different amounts, so that no call is another's repeat: 1, 1.01, 1.02, …
  for (int i = 0; i < 30; ++i) {
    sent.push_back(rig.send(rig.client(), "s__queue", R"({"amount":1.)" + std::to_string(10 + i) + "}"));
  }
  const auto answered = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(sent, [](const auto& p) { return p->answer.has_value(); }));
  };
  rig.run_until([&] { return answered() + rig.open_calls.size() == sent.size(); }, "every call");
  EXPECT_EQ(rig.open_calls.size(), 8U) << "eight attempts; their amounts add up to less than 10";
  for (const auto& one : sent) {
    if (one->answer) EXPECT_EQ(view(*one->answer).code, "BUDGET_EXHAUSTED");
  }
  for (Dispatched& call : rig.open_calls) call.result(R"({"content":[],"isError":true})");  // none: all is given back
  rig.run_until([&] { return answered() == sent.size(); });
  rig.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  EXPECT_EQ(view(rig.call(rig.client(), "s__queue", R"({"amount":10})")).outcome, "applied");
}

TEST(Budgets, AreHeldOverACrashUntilSomebodyKnows) {
  TempDir dir;
  RigOptions with_state = options(kSum);
  with_state.state = dir.file("state");
  with_state.servers["s"].on_call = {};
  Rig crashed(with_state);
  const auto lost = crashed.send(crashed.client(), "s__queue", R"({"amount":7})");
  crashed.run_until([&] { return crashed.open_calls.size() == 1; });
  with_state.state = dir.file("copy");
  std::filesystem::copy(dir.file("state"), with_state.state, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(with_state.state, std::filesystem::perms::owner_all);
  with_state.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  Rig rig(with_state);
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":4})")).code, "BUDGET_EXHAUSTED") << "7 are held";
  const auto unknown = rig.operations({OperationState::unknown});
  ASSERT_EQ(unknown.size(), 1U);
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), unknown.front().id, "none", "looked")));
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":9})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":2})")).code, "BUDGET_EXHAUSTED") << "9 are kept for good";
}

TEST(Budgets, WhatIsRefusedForItsFormCountsToo) {
  const char* const budget = R"(],"budgets":[{"id":"run","per":"run","requests":3}]})";
  for (const auto& [tool, arguments] :
       std::vector<std::pair<std::string, std::string>>{{"s__write", R"({"text":"a","text":"b"})"},
                                                        {"s__write", R"({"text":"a","Text":"b"})"},
                                                        {"s__nothing", "{}"}}) {
    Rig rig(options(budget));
    const auto client = rig.client();
    for (int i = 0; i < 3; ++i) EXPECT_NE(view(rig.call(client, tool, arguments)).code, "BUDGET_EXHAUSTED") << tool;
    EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED") << tool << arguments;
  }
}

TEST(Budgets, ARepeatCountsAsARequestAndTakesNothingElse) {
  Rig rig(options(
      R"(],"budgets":[{"id":"sum","per":"principal","sum":"/amount","max":10,"requests":3,"attempts":1,"match":{"server":"s","tool":"queue"}}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":9})")).outcome, "applied");  // not delivered
  const CallView again = view(rig.call(client, "s__queue", R"({"amount":9})"));
  EXPECT_TRUE(again.replayed) << again.code;
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_TRUE(view(rig.call(client, "s__queue", R"({"amount":9})")).replayed) << "told although nothing is left";
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":1})")).code, "BUDGET_EXHAUSTED");
}

TEST(Budgets, AmountsThatCannotBeCountedRefuseTheCall) {
  Rig rig(options(kSum));
  const auto client = rig.client();
  for (const char* arguments : {"{}", R"({"amount":-0.01})", R"({"amount":9007199254740993})", R"({"amount":1e308})",
                                R"({"amount":0.1000000000000000055511151231257827})"}) {
    const CallView seen = view(rig.call(client, "s__queue", arguments));
    EXPECT_EQ(seen.code, "BUDGET_EXHAUSTED") << arguments << seen.text;
  }
  EXPECT_TRUE(rig.all_calls.empty());
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":1e-300})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":10})")).code, "BUDGET_EXHAUSTED") << "a hair too much";
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":9.5})")).outcome, "applied") << "and nothing is stuck";
}

TEST(Budgets, AClockThatGoesBackGivesNothingBack) {
  Rig rig(options(
      R"(],"budgets":[{"id":"hour","per":"principal","window":"1h","requests":2},{"id":"rate","per":"principal","rate":"1/m","burst":2}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  rig.clock.advance(std::chrono::seconds(-30));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED") << "so little is a clock being set";
  rig.clock.advance(std::chrono::hours(-48));
  const CallView unsafe = view(rig.call(client, "s__check", "{}"));
  EXPECT_EQ(unsafe.code, "CLOCK_UNSAFE");
  EXPECT_EQ(unsafe.retry, "later");
  EXPECT_NE(unsafe.text.find("the clock went back"), std::string::npos) << unsafe.text;
  rig.clock.advance(std::chrono::hours(48 + 2));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
}

TEST(Budgets, TheDeadlineOfARunEndsWhatWaitedForAPersonTooLong) {
  Rig rig(options(
      R"(,{"id":"ask","ask":{"server":"s","tool":"write"}}],"budgets":[{"id":"run","per":"run","deadline":"10m"}]})"));
  const auto client = rig.client();
  const auto asked = rig.send(client, "s__write", R"({"text":"x"})");
  const std::string approval = rig.pending_approval();
  rig.clock.advance(std::chrono::minutes(11));
  ASSERT_TRUE(rig.approve(approval));
  rig.run_until([&] { return asked->answer.has_value(); });
  EXPECT_EQ(view(*asked->answer).code, "BUDGET_EXHAUSTED");
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(Budgets, AClockThatGoesBackIsNothingToWhatDoesNotDependOnTime) {
  Rig rig(options(R"(],"budgets":[{"id":"few","per":"principal","requests":2}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  rig.clock.advance(std::chrono::hours(-48));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED");
}

TEST(Budgets, ARefusalThatPassesSaysWhenAndOneThatDoesNotSaysSo) {
  Rig rig(options(
      R"(],"budgets":[{"id":"slow","per":"principal","match":{"tool":"check"},"rate":"1/m"},{"id":"once","per":"run","match":{"tool":"write"},"requests":1}]})"));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  const CallView later = view(rig.call(client, "s__check", "{}"));
  EXPECT_EQ(later.code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(later.retry, "later");
  EXPECT_NE(later.text.find("The budget `slow` is used up: at most 1 requests in 1m; there may be room again in 1m."),
            std::string::npos)
      << later.text;
  EXPECT_NE(later.text.find("Wait that long"), std::string::npos) << later.text;
  EXPECT_EQ(view(rig.call(client, "s__write", R"({"text":"a"})")).outcome, "applied");
  const CallView never = view(rig.call(client, "s__write", R"({"text":"b"})"));
  EXPECT_EQ(never.retry, "never");
  EXPECT_NE(never.text.find("Stop calling"), std::string::npos) << never.text;
  EXPECT_NE(rig.receipts("refusal").back().payload.find(R"("rule":"once")"), std::string::npos);
}

TEST(Budgets, CountersOfWhoNeverComesBackAreDroppedAndOthersKept) {
  Rig rig(options(
      R"(],"budgets":[{"id":"a/run/b","per":"run","requests":9},{"id":"all","per":"principal","requests":9},{"id":"s","per":"server","requests":9,"match":{"server":"s"}}]})"));
  const auto counters = [&] {
    std::vector<std::string> names;
    EXPECT_TRUE(rig.await(rig.store->read([&](Tx& tx) -> Status {
      names.clear();
      for (const auto& [name, value] : tx.settings("budget/", {}, 1000)) names.push_back(name);
      return {};
    })));
    return names;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).outcome, "applied");
  const auto stranger = rig.client("anonymous:1");
  stranger->principal.anonymous = true;
  rig.call(stranger, "s__check", "{}");
  EXPECT_EQ(counters().size(), 4U + 2U + 1U);
  rig.clock.advance(std::chrono::hours(24 * 29));
  const auto lasting = rig.client();
  rig.call(lasting, "s__check", "{}");
  rig.await(rig.calls->sweep_budgets());
  EXPECT_EQ(counters().size(), 5U + 2U + 1U) << "not a month yet";
  rig.clock.advance(std::chrono::hours(24 * 2));
  rig.await(rig.calls->sweep_budgets());
  const std::vector<std::string> left = counters();
  EXPECT_EQ(left, (std::vector<std::string>{"budget/a%2Frun%2Fb/run/" + lasting->run,
                                            "budget/all/principal/agent%3Atest", "budget/s/server/s"}));
}

TEST(Budgets, AReloadKeepsWhatWasCounted) {
  Rig rig(options(kSum));
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":6})")).outcome, "applied");
  rig.set_policy(
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}}],"budgets":[{"id":"sum","per":"principal","match":{"server":"s","tool":"queue"},"sum":"/amount","max":8}]})");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":3})")).code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(view(rig.call(client, "s__queue", R"({"amount":2})")).outcome, "applied");
}

}  // namespace
}  // namespace sallyport::test
