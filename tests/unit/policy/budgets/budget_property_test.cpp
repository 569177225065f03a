// Budgets under random traffic: whatever comes, in whatever order, with whatever clock, no window and no rate lets more
// through than it says, and what is given back is given back once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "policy/budgets/budget.hpp"

namespace sallyport::policy {
namespace {

constexpr UnixMillis kStart = 1'800'000'000'000;

class BudgetProperty : public ::testing::Test {
 protected:
  BudgetProperty() : seed_(std::random_device{}()), random_(seed_) { RecordProperty("seed", std::to_string(seed_)); }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  // The next moment: mostly a little later, sometimes much, sometimes before.
  UnixMillis tick(UnixMillis now) {
    const std::int64_t what = below(20);
    if (what == 0) return now - below(10'000'000);
    if (what == 1) return now + below(10'000'000);
    return now + below(20'000);
  }
  unsigned seed_;
  std::mt19937_64 random_;
};

struct Admitted {
  UnixMillis at = 0;
  std::int64_t amount = 0;
  Reservation reservation;
  bool given_back = false;
};

TEST_F(BudgetProperty, NoWindowLetsMoreThroughThanItSays) {
  for (int round = 0; round < 60; ++round) {
    Budget budget;
    budget.id = "b";
    budget.window = Millis(1000 + below(600'000));
    budget.attempts = 1 + static_cast<std::uint64_t>(below(20));
    budget.sum = "/amount";
    budget.max = Decimal(50);
    Counter counter;
    std::vector<Admitted> all;
    UnixMillis now = kStart;
    for (int i = 0; i < 400; ++i) {
      now = tick(now);
      const std::int64_t amount = below(30);
      auto reserved = reserve(budget, counter, Charge{0, 1, Decimal(amount)}, now);
      if (reserved) all.push_back({counter.latest, amount, *reserved, false});  // its clock never goes back
      if (!all.empty() && below(4) == 0) {
        Admitted& back = all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
        if (!back.given_back) release(counter, back.reservation);
        back.given_back = true;
      }
      std::uint64_t attempts = 0;
      std::int64_t sum = 0;
      for (const Admitted& one : all) {
        if (one.given_back || one.at <= counter.latest - budget.window->count()) continue;
        ++attempts;
        sum += one.amount;
      }
      ASSERT_LE(attempts, *budget.attempts) << "seed " << seed_ << " round " << round << " step " << i;
      ASSERT_LE(sum, 50) << "seed " << seed_ << " round " << round << " step " << i;
      ASSERT_LE(counter.slots.size(), static_cast<std::size_t>(kSlots + 2));
      counter = decode_counter(encode(counter)).value();  // as the store keeps it
    }
  }
}

TEST_F(BudgetProperty, NoRateLetsMoreThroughThanItsBurstAndItsPace) {
  for (int round = 0; round < 60; ++round) {
    Budget budget;
    budget.id = "b";
    budget.rate = Rate{1 + static_cast<std::uint64_t>(below(20)), Millis(1 + below(60'000))};
    budget.burst = 1 + static_cast<std::uint64_t>(below(10));
    Counter counter;
    std::vector<UnixMillis> times;
    UnixMillis now = kStart;
    for (int i = 0; i < 500; ++i) {
      now = below(10) == 0 ? tick(now)
                           : now + below(budget.rate->per.count() / static_cast<std::int64_t>(budget.rate->count) + 2);
      if (check(budget, counter, Charge{1, 0, {}}, now)) continue;
      count(budget, counter, Charge{1, 0, {}}, now);
      times.push_back(counter.latest);
    }
    for (std::size_t from = 0; from < times.size(); ++from) {
      for (std::size_t to = from; to < times.size(); to += 7) {
        const double span = static_cast<double>(times[to] - times[from]);
        const double pace =
            span * static_cast<double>(budget.rate->count) / static_cast<double>(budget.rate->per.count());
        ASSERT_LE(static_cast<double>(to - from + 1), static_cast<double>(budget.burst) + pace + 1.0)
            << "seed " << seed_ << " round " << round << ": " << budget.rate->count << " in "
            << budget.rate->per.count() << " ms, burst " << budget.burst << ", " << from << " to " << to;
      }
    }
    // A clock that went back far is waited for, however long that takes; nothing is lost by it.
    now = std::max(now, counter.latest) + static_cast<UnixMillis>(budget.burst + 1) * budget.rate->per.count();
    for (std::uint64_t i = 0; i < budget.burst; ++i) {
      ASSERT_FALSE(check(budget, counter, Charge{1, 0, {}}, now)) << "seed " << seed_ << " round " << round << " " << i;
      count(budget, counter, Charge{1, 0, {}}, now);
    }
  }
}

TEST_F(BudgetProperty, WhatIsAllGivenBackIsAllThereAgain) {
  for (int round = 0; round < 100; ++round) {
    Budget budget;
    budget.id = "b";
    budget.sum = "/amount";
    budget.max = Decimal(1000);
    Counter counter;
    std::vector<Reservation> held;
    for (int i = 0; i < 50; ++i) {
      const auto amount = Decimal::parse(std::to_string(below(100)) + "." + std::to_string(below(1'000'000)));
      if (auto reserved = reserve(budget, counter, Charge{0, 1, *amount}, kStart + i)) held.push_back(*reserved);
    }
    std::shuffle(held.begin(), held.end(), random_);
    for (const Reservation& one : held) release(counter, one);
    EXPECT_FALSE(check(budget, counter, Charge{0, 1, Decimal(1000)}, kStart + 60)) << encode(counter);
    EXPECT_EQ(counter.slots.back().amount, Decimal()) << "seed " << seed_;
    EXPECT_EQ(counter.slots.back().attempts, 0U);
  }
}

}  // namespace
}  // namespace sallyport::policy
