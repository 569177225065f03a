#include "policy/budgets/budget.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace sallyport::policy {
namespace {

constexpr UnixMillis kNow = 1'800'000'000'000;

Budget budget() {
  Budget out;
  out.id = "b";
  out.per = Budget::Per::principal;
  return out;
}

TEST(Budget, CountsRequestsAndAttempts) {
  Budget b = budget();
  b.requests = 3;
  b.attempts = 2;
  Counter counter;
  const Charge request{.requests = 1, .attempts = 0, .amount = {}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(check(b, counter, request, kNow)) << i;
    count(b, counter, request, kNow);
  }
  EXPECT_TRUE(check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow));
  ASSERT_TRUE(reserve(b, counter, {.requests = 0, .attempts = 1, .amount = {}}, kNow));
  ASSERT_TRUE(reserve(b, counter, {.requests = 0, .attempts = 1, .amount = {}}, kNow));
  const auto third = reserve(b, counter, {.requests = 0, .attempts = 1, .amount = {}}, kNow);
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().words.find("at most 2 attempts per principal"), std::string::npos) << third.error().words;
  EXPECT_FALSE(third.error().retry_after) << "without a window it never fits again";
}

TEST(Budget, ReservesReleasesAndHolds) {
  Budget b = budget();
  b.sum = "/amount";
  b.max = Decimal(500);
  Counter counter;
  const Charge big{.requests = 0, .attempts = 0, .amount = Decimal(300)};
  const auto first = reserve(b, counter, big, kNow);
  ASSERT_TRUE(first);
  EXPECT_FALSE(reserve(b, counter, big, kNow)) << "what is in flight counts";
  release(counter, *first);
  EXPECT_TRUE(reserve(b, counter, big, kNow)) << "outcome none gives it back";
  EXPECT_FALSE(reserve(b, counter, big, kNow)) << "an unknown outcome holds it";
  EXPECT_TRUE(reserve(b, counter, {.requests = 0, .attempts = 0, .amount = Decimal(200)}, kNow));
  EXPECT_FALSE(check(b, counter, {.requests = 0, .attempts = 0, .amount = {}}, kNow)) << "nothing more costs nothing";
}

TEST(Budget, AddsUpWithoutRounding) {
  Budget b = budget();
  b.sum = "/amount";
  b.max = Decimal::parse("1");
  Counter counter;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(reserve(b, counter, {.requests = 0, .attempts = 0, .amount = *Decimal::parse("0.1")}, kNow)) << i;
  const auto more = reserve(b, counter, {.requests = 0, .attempts = 0, .amount = *Decimal::parse("1e-30")}, kNow);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().words.find("and 0 are left"), std::string::npos) << more.error().words;
}

TEST(Budget, WindowsSlideAndNeverLetMoreThrough) {
  Budget b = budget();
  b.requests = 10;
  b.window = std::chrono::hours(1);
  Counter counter;
  std::vector<UnixMillis> passed;
  for (UnixMillis now = kNow; now < kNow + 5LL * 3600 * 1000; now += 37'000) {
    if (check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, now)) continue;
    count(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, now);
    passed.push_back(now);
  }
  EXPECT_GT(passed.size(), 40U) << "they do come free again";
  for (std::size_t i = 10; i < passed.size(); ++i)
    EXPECT_GT(passed[i] - passed[i - 10], 3600 * 1000) << "eleven in one hour";
  EXPECT_LE(counter.slots.size(), static_cast<std::size_t>(kSlots) + 1);
  const auto refused = check(b, counter, {.requests = 11, .attempts = 0, .amount = {}}, counter.latest);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->retry_after) << "more than the whole never fits";
}

TEST(Budget, ATimeThatWentBackIsUnsafeForWhatDependsOnIt) {
  const Charge one{.requests = 1, .attempts = 0, .amount = {}};
  for (const bool timed : {true, false}) {
    Budget b = budget();
    b.requests = 10;
    if (timed) b.window = std::chrono::hours(1);
    Counter counter;
    count(b, counter, one, kNow);
    EXPECT_FALSE(check(b, counter, one, kNow - kClockSlack.count())) << "a clock that is set";
    const auto refused = check(b, counter, one, kNow - kClockSlack.count() - 1);
    ASSERT_EQ(refused.has_value(), timed);
    if (!timed) continue;
    EXPECT_TRUE(refused->clock);
    EXPECT_EQ(refused->words, "the clock went back by 61s since it was last counted");
    ASSERT_TRUE(refused->retry_after);
    EXPECT_FALSE(check(b, counter, one, kNow - kClockSlack.count() - 1 + refused->retry_after->count()));
  }
}

TEST(Budget, SaysWhenARunEnds) {
  Budget b = budget();
  Counter counter;
  EXPECT_FALSE(run_end(b, counter));
  b.deadline = std::chrono::minutes(10);
  EXPECT_FALSE(run_end(b, counter)) << "it has not begun";
  count(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow);
  EXPECT_EQ(run_end(b, counter), kNow + 600'000);
}

TEST(Budget, SaysWhenItMayFit) {
  Budget b = budget();
  b.requests = 1;
  b.window = std::chrono::minutes(1);
  Counter counter;
  count(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow);
  const auto refused = check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow + 1);
  ASSERT_TRUE(refused && refused->retry_after);
  EXPECT_FALSE(
      check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow + 1 + refused->retry_after->count()));
}

TEST(Budget, RatesAllowABurstAndThenTheirPace) {
  Budget b = budget();
  b.rate = Rate{.count = 10, .per = std::chrono::seconds(1)};
  b.burst = 5;
  Counter counter;
  const Charge one{.requests = 1, .attempts = 0, .amount = {}};
  int passed = 0;
  for (int i = 0; i < 20; ++i) {
    if (!check(b, counter, one, kNow)) ++passed;
    count(b, counter, one, kNow);  // refused ones are counted too, and cost no pace
  }
  EXPECT_EQ(passed, 5);
  const auto refused = check(b, counter, one, kNow);
  ASSERT_TRUE(refused && refused->retry_after);
  EXPECT_EQ(refused->retry_after->count(), 100);
  EXPECT_FALSE(check(b, counter, one, kNow + 100));
  count(b, counter, one, kNow + 100);
  EXPECT_TRUE(check(b, counter, one, kNow + 199));
  EXPECT_FALSE(check(b, counter, one, kNow + 200));
}

TEST(Budget, ARunHasADeadline) {
  Budget b = budget();
  b.per = Budget::Per::run;
  b.deadline = std::chrono::minutes(10);
  Counter counter;
  const Charge one{.requests = 1, .attempts = 0, .amount = {}};
  EXPECT_FALSE(check(b, counter, one, kNow)) << "it begins with the first request";
  count(b, counter, one, kNow);
  EXPECT_FALSE(check(b, counter, one, kNow + 599'999));
  EXPECT_TRUE(check(b, counter, one, kNow + 600'000));
}

TEST(Budget, TimeNeverRunsBackwards) {
  Budget b = budget();
  b.requests = 1;
  b.window = std::chrono::minutes(1);
  Counter counter;
  count(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow);
  EXPECT_TRUE(check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow - 3'600'000))
      << "a clock set back opens nothing";
  count(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow - 3'600'000);
  EXPECT_EQ(counter.latest, kNow);
}

TEST(Budget, StaysSaneAtTheLimitsOfItsCounters) {
  Budget b = budget();
  b.requests = 5;
  b.rate = Rate{.count = 1, .per = Millis(std::numeric_limits<std::int32_t>::max())};
  b.burst = 1'000'000'000;
  Counter counter;
  count(b, counter,
        {.requests = std::numeric_limits<std::uint64_t>::max(),
         .attempts = std::numeric_limits<std::uint64_t>::max(),
         .amount = {}},
        kNow);
  count(b, counter, {.requests = std::numeric_limits<std::uint64_t>::max(), .attempts = 0, .amount = {}}, kNow);
  EXPECT_TRUE(check(b, counter, {.requests = 1, .attempts = 0, .amount = {}}, kNow));
  release(counter,
          Reservation{
              .slot = 0,
              .charge = {.requests = 1, .attempts = std::numeric_limits<std::uint64_t>::max(), .amount = Decimal(5)}});
  EXPECT_EQ(counter.slots[0].attempts, 0U);
  EXPECT_FALSE(counter.slots[0].amount.negative()) << "more than there is cannot be given back";
}

TEST(Budget, TakesOnlyExactAmountsThatAreNotNegative) {
  Budget b = budget();
  b.sum = "/to/amount";
  std::vector<std::unique_ptr<json::Document>> kept;
  const auto parse = [&](std::string text) {
    kept.push_back(std::make_unique<json::Document>(json::Document::parse(std::move(text)).value()));
    return kept.back()->root();
  };
  EXPECT_EQ(budget_amount(b, parse(R"({"to":{"amount":1.50}})"), {}).value(), *Decimal::parse("1.5"));
  EXPECT_EQ(budget_amount(b, parse(R"({"to":{"amount":0}})"), {}).value(), Decimal());
  for (const char* bad : {R"({})", R"({"to":{}})", R"({"to":{"amount":"5"}})", R"({"to":{"amount":-1}})",
                          R"({"to":{"amount":null}})", R"({"to":{"amount":9007199254740993}})",
                          R"({"to":{"amount":1e400}})", R"({"to":{"amount":[1]}})", R"({"to":5})"}) {
    EXPECT_FALSE(budget_amount(b, parse(bad), {})) << bad;
  }
  EXPECT_FALSE(budget_amount(b, {}, {}));
  const auto schema = parse(R"({"properties":{"to":{"properties":{"amount":{"default":7}}}}})");
  EXPECT_EQ(budget_amount(b, parse(R"({"to":{}})"), schema).value(), Decimal(7));
  EXPECT_EQ(budget_amount(budget(), {}, {}).value(), Decimal()) << "a budget without a sum adds nothing";
}

TEST(Budget, KeysCannotBeConfused) {
  Budget b = budget();
  b.per = Budget::Per::tool;
  CallFacts a;
  a.server = "x/y";
  a.tool = "z";
  CallFacts c;
  c.server = "x";
  c.tool = "y/z";
  EXPECT_NE(budget_key(b, a, "run"), budget_key(b, c, "run"));
}

TEST(Budget, SurvivesTheStore) {
  Budget b = budget();
  b.requests = 100;
  b.window = std::chrono::hours(1);
  b.rate = Rate{};
  Counter counter;
  count(b, counter, {.requests = 2, .attempts = 1, .amount = *Decimal::parse("0.1")}, kNow);
  count(b, counter, {.requests = 1, .attempts = 0, .amount = *Decimal::parse("1e30")}, kNow + 120'000);
  const auto again = decode_counter(encode(counter));
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), encode(counter));
  EXPECT_EQ(again->slots.size(), 2U);
  EXPECT_EQ(again->slots[0].amount, *Decimal::parse("0.1"));
  EXPECT_EQ(again->started, kNow);
  const Reservation reservation{.slot = 5, .charge = {.requests = 1, .attempts = 2, .amount = *Decimal::parse("0.25")}};
  EXPECT_EQ(encode(decode_reservation(encode(reservation)).value()), encode(reservation));
  for (const char* bad :
       {"", "{}", "[]", R"({"latest":1,"arrival":0,"slots":[{}]})", R"({"latest":1,"arrival":0,"slots":5})",
        R"({"latest":1,"arrival":0,"slots":[{"start":0,"requests":-1,"attempts":0,"amount":"0"}]})"}) {
    EXPECT_FALSE(decode_counter(bad)) << bad;
    EXPECT_FALSE(decode_reservation(bad)) << bad;
  }
}

}  // namespace
}  // namespace sallyport::policy
