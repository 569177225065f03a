#include "gateway/calls/server_health.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway::calls {
namespace {

using Gate = ServerHealth::Gate;
using std::chrono::seconds;

ServerHealth::Time at(int second) { return ServerHealth::Time(seconds(1'000 + second)); }

TEST(ServerHealth, OpensOnlyAfterSeveralFailuresInARow) {
  ServerHealth health;
  for (int i = 0; i + 1 < ServerHealth::kFailuresToOpen; ++i) health.failed(at(0));
  EXPECT_EQ(health.admit(false, at(0)), Gate::open);
  health.succeeded();
  for (int i = 0; i + 1 < ServerHealth::kFailuresToOpen; ++i) health.failed(at(0));
  EXPECT_EQ(health.admit(false, at(0)), Gate::open);
  health.failed(at(0));
  EXPECT_EQ(health.admit(true, at(1)), Gate::shut);
  EXPECT_EQ(health.rest(at(1)), seconds(4));
}

TEST(ServerHealth, OneReadIsTheProbeAndAWriteNeverIs) {
  ServerHealth health;
  for (int i = 0; i < ServerHealth::kFailuresToOpen; ++i) health.failed(at(0));
  EXPECT_EQ(health.admit(false, at(5)), Gate::needs_probe);
  EXPECT_EQ(health.admit(true, at(5)), Gate::shut);  // one at a time
  health.failed(at(6));
  EXPECT_EQ(health.admit(true, at(11)), Gate::shut);  // twice as long
  EXPECT_EQ(health.admit(true, at(16)), Gate::probe);
  health.succeeded();
  EXPECT_EQ(health.admit(false, at(16)), Gate::open);
}

TEST(ServerHealth, AProbeOfWhichNothingIsHeardIsOver) {
  ServerHealth health;
  for (int i = 0; i < ServerHealth::kFailuresToOpen; ++i) health.failed(at(0));
  EXPECT_EQ(health.admit(true, at(5)), Gate::probe);
  EXPECT_EQ(health.admit(true, at(34)), Gate::shut);
  EXPECT_EQ(health.admit(true, at(35)), Gate::probe);
}

TEST(ServerHealth, TheRestIsBounded) {
  ServerHealth health;
  for (int i = 0; i < 40; ++i) health.failed(at(0));
  EXPECT_EQ(health.rest(at(0)), ServerHealth::kLongestRest);
}

TEST(ServerHealth, RetriesTakeTokensThatGoodAnswersGiveBack) {
  ServerHealth health;
  int retries = 0;
  while (health.take_retry()) ++retries;
  EXPECT_EQ(retries, 5);
  for (int i = 0; i < ServerHealth::kRetryCosts; ++i) health.succeeded();
  EXPECT_TRUE(health.take_retry());
  EXPECT_FALSE(health.take_retry());
}

TEST(RetryPause, IsUniformUpToABoundThatDoubles) {
  EXPECT_EQ(retry_pause(2, 0).count(), 0);
  EXPECT_EQ(retry_pause(2, 100).count(), 100);
  EXPECT_EQ(retry_pause(2, 101).count(), 0);
  EXPECT_EQ(retry_pause(3, 200).count(), 200);
  EXPECT_EQ(retry_pause(10, 5000).count(), 5000);
  EXPECT_LE(retry_pause(10, 4'000'000'000U).count(), 5000);
}

}  // namespace
}  // namespace sallyport::gateway::calls
