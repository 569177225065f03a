#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "gateway/base/clock.hpp"
#include "gateway/base/log.hpp"
#include "gateway/base/metrics.hpp"
#include "gateway/base/rate_limit.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/base/workers.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;

Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

class BaseTest : public ::testing::Test {
 protected:
  void run(asio::awaitable<void> task) {
    bool done = false;
    std::exception_ptr failure;
    asio::co_spawn(context_, std::move(task), [&](const std::exception_ptr& error) {
      done = true;
      failure = error;
    });
    context_.restart();
    context_.run_for(std::chrono::seconds(20));
    ASSERT_TRUE(done);
    if (failure) std::rethrow_exception(failure);
  }
  asio::io_context context_;
  asio::any_io_executor loop_ = context_.get_executor();
};

using SignalTest = BaseTest;
using TaskGroupTest = BaseTest;
using WorkersTest = BaseTest;

asio::awaitable<void> wait_on(Signal& signal, Deadline deadline, std::vector<bool>& out) {
  const bool notified = co_await signal.wait(deadline);
  out.push_back(notified);
}

TEST_F(SignalTest, WakesAllWhoWaitAndNobodyElse) {
  Signal signal(loop_);
  TaskGroup tasks(loop_);
  std::vector<bool> out;
  signal.notify();  // nobody waits: it is not kept
  tasks.spawn("a", wait_on(signal, soon(), out));
  tasks.spawn("b", wait_on(signal, soon(), out));
  run([](Signal& s, TaskGroup& group) -> asio::awaitable<void> {
    for (int i = 0; i < 5; ++i) co_await asio::post(asio::use_awaitable);
    s.notify();
    const bool ended = co_await group.wait_empty(soon());
    EXPECT_TRUE(ended);
    const bool notified = co_await s.wait(Deadline::after(milliseconds(1)));
    EXPECT_FALSE(notified);
  }(signal, tasks));
  EXPECT_EQ(out, (std::vector<bool>{true, true}));
}

TEST_F(SignalTest, LosesNoNoticeBetweenALookAndTheWait) {
  Signal signal(loop_);
  run([](Signal& s) -> asio::awaitable<void> {
    const std::uint64_t seen = s.count();
    s.notify();
    const bool since = co_await s.wait_since(seen, Deadline::never());
    EXPECT_TRUE(since);
    const std::uint64_t again = s.count();
    const bool quiet = co_await s.wait_since(again, Deadline::after(milliseconds(1)));
    EXPECT_FALSE(quiet);
  }(signal));
}

TEST_F(SignalTest, WakesItsWaitersWhenItIsDestroyedOrReplaced) {
  std::optional<Signal> signal(std::in_place, loop_);
  Signal other(loop_);
  TaskGroup tasks(loop_);
  std::vector<bool> out;
  tasks.spawn("a", wait_on(*signal, Deadline::never(), out));
  tasks.spawn("b", wait_on(other, Deadline::never(), out));
  run([](std::optional<Signal>& s, Signal& o, TaskGroup& group, asio::any_io_executor loop) -> asio::awaitable<void> {
    for (int i = 0; i < 5; ++i) co_await asio::post(asio::use_awaitable);
    s.reset();
    o = Signal(loop);
    const bool ended = co_await group.wait_empty(soon());
    EXPECT_TRUE(ended);
  }(signal, other, tasks, loop_));
  EXPECT_EQ(out.size(), 2);
}

TEST_F(SignalTest, OneShotKeepsTheFirstValue) {
  OneShot<int> one(loop_);
  EXPECT_TRUE(one.set(1));
  EXPECT_FALSE(one.set(2));
  OneShot<int> late(loop_);
  run([](OneShot<int>& first, OneShot<int>& second) -> asio::awaitable<void> {
    const std::optional<int> value = co_await first.wait(Deadline::after(milliseconds(0)));
    EXPECT_EQ(value, 1);
    const std::optional<int> nothing = co_await second.wait(Deadline::after(milliseconds(1)));
    EXPECT_EQ(nothing, std::nullopt);
  }(one, late));
}

TEST_F(SignalTest, CancelTellsItsListenerOnceWithTheFirstReason) {
  Cancel cancel;
  std::vector<CancelReason> seen;
  cancel.on_cancel([&](CancelReason reason) { seen.push_back(reason); });
  cancel.cancel(CancelReason::disconnect);
  cancel.cancel(CancelReason::shutdown);
  cancel.on_cancel([&](CancelReason reason) { seen.push_back(reason); });
  EXPECT_EQ(seen, (std::vector{CancelReason::disconnect, CancelReason::disconnect}));
}

asio::awaitable<void> wait_for_ever(asio::any_io_executor loop, bool& unwound) {
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  };
  const Mark mark{unwound};
  Signal signal(loop);
  for (;;) co_await signal.wait(Deadline::never());
}

TEST_F(TaskGroupTest, NamesItsTasksAndEndsThemWhenCancelled) {
  TaskGroup tasks(loop_);
  bool unwound = false;
  tasks.spawn("one", wait_for_ever(loop_, unwound));
  EXPECT_EQ(tasks.names(), std::vector<std::string>{"one"});
  run([](TaskGroup& group) -> asio::awaitable<void> {
    const bool too_soon = co_await group.wait_empty(Deadline::after(milliseconds(1)));
    EXPECT_FALSE(too_soon);
    group.cancel();
    const bool ended = co_await group.wait_empty(soon());
    EXPECT_TRUE(ended);
    bool never_started = true;
    group.spawn("late", [](bool& flag) -> asio::awaitable<void> {
      flag = false;
      co_return;
    }(never_started));
    const bool empty = co_await group.wait_empty(soon());
    EXPECT_TRUE(empty && never_started);
  }(tasks));
  EXPECT_TRUE(unwound);
}

TEST_F(TaskGroupTest, MayBeDestroyedBeforeItsTasksAndWhileTheLoopRests) {
  bool unwound = false;
  {
    TaskGroup tasks(loop_);
    tasks.spawn("one", wait_for_ever(loop_, unwound));
    context_.poll();
  }
  context_.restart();
  context_.run_for(std::chrono::seconds(5));
  EXPECT_TRUE(unwound);
}

TEST_F(TaskGroupTest, SurvivesATaskThatThrows) {
  TaskGroup tasks(loop_);
  log::configure(log::Level::off, log::Format::text);
  tasks.spawn("bad", []() -> asio::awaitable<void> {
    co_await asio::post(asio::use_awaitable);
    throw std::runtime_error("broken");
  }());
  run([](TaskGroup& group) -> asio::awaitable<void> {
    const bool ended = co_await group.wait_empty(soon());
    EXPECT_TRUE(ended);
  }(tasks));
  log::configure(log::Level::info, log::Format::text);
}

// The last reference to the group's owner may be held by one of its own tasks.
TEST_F(TaskGroupTest, MayBeOwnedByItsOwnTask) {
  struct Owner {
    explicit Owner(asio::any_io_executor loop) : tasks(std::move(loop)) {}
    TaskGroup tasks;
  };
  auto owner = std::make_shared<Owner>(loop_);
  const std::weak_ptr<Owner> seen = owner;
  owner->tasks.spawn("self", [](std::shared_ptr<Owner> self) -> asio::awaitable<void> {
    co_await asio::post(asio::use_awaitable);
    self.reset();
  }(owner));
  owner.reset();
  context_.run_for(std::chrono::seconds(5));
  EXPECT_TRUE(seen.expired());
}

TEST_F(TaskGroupTest, SleepTellsWhetherItWasCutShort) {
  bool slept = false;
  run([](bool& out) -> asio::awaitable<void> { out = co_await sleep_until(Deadline::after(milliseconds(1))); }(slept));
  EXPECT_TRUE(slept);
}

TEST_F(WorkersTest, RunJobsElsewhereAndComeBackToTheLoop) {
  Workers workers(2);
  const std::thread::id here = std::this_thread::get_id();
  int sum = 0;
  run([](Workers& pool, std::thread::id loop_thread, int& out) -> asio::awaitable<void> {
    for (int i = 1; i <= 100; ++i) {
      std::thread::id there;
      std::function<void()> job = [&there] { there = std::this_thread::get_id(); };
      co_await pool.run(std::move(job));
      EXPECT_NE(there, loop_thread);
      EXPECT_EQ(std::this_thread::get_id(), loop_thread);
      out += i;
    }
  }(workers, here, sum));
  EXPECT_EQ(sum, 5050);
}

TEST_F(WorkersTest, CancellationWaitsForTheJobThatUsesTheFrame) {
  std::atomic<bool> release = false;
  bool finished = false;
  Workers workers(1);
  TaskGroup tasks(loop_);
  tasks.spawn("job", [](Workers& pool, std::atomic<bool>& go, bool& done) -> asio::awaitable<void> {
    int local = 0;
    std::function<void()> job = [&] {
      while (!go) std::this_thread::yield();
      local = 1;
      done = true;
    };
    co_await pool.run(std::move(job));
  }(workers, release, finished));
  run([](TaskGroup& group, std::atomic<bool>& go) -> asio::awaitable<void> {
    for (int i = 0; i < 5; ++i) co_await asio::post(asio::use_awaitable);
    group.cancel();
    const bool too_soon = co_await group.wait_empty(Deadline::after(milliseconds(1)));
    EXPECT_FALSE(too_soon);
    go = true;
    const bool ended = co_await group.wait_empty(soon());
    EXPECT_TRUE(ended);
  }(tasks, release));
  EXPECT_TRUE(finished);
}

// ---- log ----

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    EXPECT_EQ(::pipe(pipe_.data()), 0);
    saved_ = ::dup(STDERR_FILENO);
    ::dup2(pipe_[1], STDERR_FILENO);
    ::close(pipe_[1]);
  }
  ~LogTest() override {
    restore();
    log::configure(log::Level::info, log::Format::text);
  }
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  std::string written() {
    restore();
    std::string out;
    std::array<char, 4096> chunk{};
    for (ssize_t got = ::read(pipe_[0], chunk.data(), chunk.size()); got > 0;
         got = ::read(pipe_[0], chunk.data(), chunk.size())) {
      out.append(chunk.data(), static_cast<std::size_t>(got));
    }
    ::close(pipe_[0]);
    return out;
  }
  std::array<int, 2> pipe_{};
  int saved_ = -1;
};

TEST_F(LogTest, WritesTextThatCannotForgeLines) {
  log::configure(log::Level::info, log::Format::text);
  log::debug("hidden.event");
  log::info("some.event",
            {{"a", "plain"}, {"b", "two words"}, {"c", 5}, {"d", true}, {"e", "x\n2026 forged"}, {"f", ""}});
  const std::string out = written();
  EXPECT_EQ(out.find("hidden"), std::string::npos);
  EXPECT_NE(out.find("Z info    some.event a=plain b=\"two words\" c=5 d=true e="), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
}

TEST_F(LogTest, WritesJsonLines) {
  log::configure(log::Level::debug, log::Format::json);
  log::warning("some.event",
               {{"a", "q\"\n"}, {"n", -3}, {"x", 0.5}, {"y", 1.0 / 0.0}, {"long", std::string(5000, 'x')}});
  const std::string out = written();
  EXPECT_TRUE(out.starts_with("{\"time\":\"")) << out;
  EXPECT_NE(
      out.find("Z\",\"level\":\"warning\",\"event\":\"some.event\",\"a\":\"q\\\"\\n\",\"n\":-3,\"x\":0.5,\"y\":null"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("xx… (5000 bytes)\"}\n"), std::string::npos) << out;
  EXPECT_LT(out.size(), 2300);
}

TEST_F(LogTest, DropsAndCountsWhatNobodyReads) {
  log::configure(log::Level::info, log::Format::text);
  for (int i = 0; i < 2000; ++i) log::info("flood", {{"text", std::string(100, 'x')}});  // the pipe holds 64 KiB
  std::array<char, 65536> chunk{};
  EXPECT_GT(::read(pipe_[0], chunk.data(), chunk.size()), 0);
  log::info("after");
  const std::string out = written();
  EXPECT_NE(out.find("lines were dropped because nobody read them\n"), std::string::npos);
  EXPECT_NE(out.find("after"), std::string::npos);
}

TEST(MetricsTest, StandInThePrometheusForm) {
  Metrics metrics;
  metrics.call("files", "allow", "", 0.002);
  metrics.call("files", "allow", "", 0.2);
  metrics.call("files", "deny", "POLICY_DENIED", 0.001);
  metrics.receipt("decision");
  metrics.server_up("files", false);
  metrics.waiting_approvals(3);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("sallyport_calls_total{code=\"\",server=\"files\",verdict=\"allow\"} 2"), std::string::npos)
      << text;
  EXPECT_NE(text.find("sallyport_call_seconds_count{server=\"files\"} 3"), std::string::npos) << text;
  EXPECT_NE(text.find("sallyport_receipts_total{kind=\"decision\"} 1"), std::string::npos);
  EXPECT_NE(text.find("sallyport_server_up{server=\"files\"} 0"), std::string::npos);
  EXPECT_NE(text.find("sallyport_approvals_waiting 3"), std::string::npos);
}

TEST(MetricsTest, BoundItsSeries) {
  Metrics metrics;
  for (int i = 0; i < 5000; ++i) metrics.receipt("kind" + std::to_string(i));
  const std::string text = metrics.text();
  EXPECT_EQ(text.find("kind4999"), std::string::npos);
  EXPECT_NE(text.find("kind=\"other\"} 904"), std::string::npos);
}

TEST(ClockTest, IdsSortByTimeAndTokensDiffer) {
  Entropy& entropy = system_entropy();
  EXPECT_LT(entropy.id("op", 1000), entropy.id("op", 2000));
  EXPECT_NE(entropy.token(32), entropy.token(32));
  EXPECT_EQ(entropy.token(32).size(), 43);
  EXPECT_GT(system_clock().now(), 1'700'000'000'000);
}

TEST(RateLimit, LetsInABurstThenARateAndCountsWhatItLeftOut) {
  RateLimit::Time now{};
  RateLimit rate(3, 10, now);
  EXPECT_TRUE(rate.is_idle(now));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rate.admit(now), 0U);
  EXPECT_FALSE(rate.admit(now));
  EXPECT_FALSE(rate.admit(now));
  now += std::chrono::milliseconds(150);
  EXPECT_EQ(rate.admit(now), 2U) << "what was left out is told once";
  EXPECT_FALSE(rate.admit(now));
  now += std::chrono::hours(1);
  EXPECT_FALSE(rate.is_idle(now)) << "something was left out and not told";
  EXPECT_EQ(rate.admit(now), 1U);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rate.admit(now), 0U) << "no more than a burst was saved up";
  EXPECT_FALSE(rate.admit(now));
}

}  // namespace
}  // namespace sallyport::gateway
