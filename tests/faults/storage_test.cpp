// A store under faults: whatever was promised is there afterwards (design sections 1 and 12).
#include <sys/wait.h>

#include <cstdio>
#include <set>

#include "tests/component/storage/store_fixture.hpp"
#include "tests/support/vfs_shim.hpp"

namespace sallyport::test {
namespace {

constexpr int kSteps = 15;

// The recorded scenario: writes of every kind, every third durable against loss of power. Promised are the steps whose
// commit said yes; `durable` those that also survive the power.
struct Promised {
  std::set<int> all, durable;
};

Status scenario_step(Tx& tx, int number) {
  const Result<Appended> appended = tx.append(receipt_of(op(number)));
  if (!appended) return fail(appended.error());
  OperationRow row = operation_row(op(number));
  row.state = OperationState::applied;
  row.receipt = appended->id;
  if (Status done = tx.put(row); !done) return done;
  if (Status done = tx.bump_revision("orders", "a/b"); !done) return done;
  return tx.put_sealed(op(number), "result", std::string(5000, 'r'));
}

Promised run_scenario(StoreHome& home) {
  Promised promised;
  for (int i = 0; i < kSteps; ++i) {
    const bool power = i % 3 == 2;
    const Status done =
        home.commit(power ? Durability::power : Durability::crash, [i](Tx& tx) { return scenario_step(tx, i); });
    if (!done) continue;
    promised.all.insert(i);
    if (power) promised.durable = promised.all;  // a sync takes all before it along
  }
  return promised;
}

// Every step is there whole or not at all, and `must` are there.
void expect_kept(StoreHome& home, const std::set<int>& must, const std::string& where) {
  ASSERT_TRUE(home.read([&](Tx& tx) -> Status {
                    std::size_t present = 0;
                    for (int i = 0; i < kSteps; ++i) {
                      const std::optional<OperationRow> row = tx.operation(op(i));
                      const bool there = row.has_value();
                      present += there ? 1 : 0;
                      EXPECT_TRUE(there || !must.contains(i)) << where << ": step " << i << " was promised";
                      EXPECT_EQ(tx.receipts({.operation = op(i)}).size(), there ? 1U : 0U) << where << ": step " << i;
                      EXPECT_EQ(tx.sealed(op(i), "result").has_value(), there) << where << ": step " << i;
                      if (there) {
                        EXPECT_TRUE(tx.receipt(row->receipt).has_value()) << where;
                      }
                    }
                    EXPECT_EQ(tx.revision("orders", "a"), present) << where;
                    return {};
                  })
                  .has_value());
}

void expect_goes_on(StoreHome& home, const std::string& where) {
  const Status done = home.commit(Durability::power, [](Tx& tx) { return scenario_step(tx, 999); });
  EXPECT_TRUE(done.has_value()) << where << (done ? "" : done.error().message);
  const trust::VerifyReport report = home.verify();
  EXPECT_TRUE(report.ok()) << where << "\n" << trust::to_text(report);
}

std::uint64_t count_steps() {
  VfsShim shim("count");
  StoreHome home(shim.name());
  EXPECT_TRUE(home.open().has_value());
  const std::uint64_t before = shim.steps();
  run_scenario(home);
  home.close();
  return shim.steps() - before;
}

// Every step of the scenario is made to fail once; the parts share them out, so that they run side by side.
constexpr std::uint64_t kParts = 4;

class StoreFaults : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static void SetUpTestSuite() { steps_ = count_steps(); }
  static inline std::uint64_t steps_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Part, StoreFaults, ::testing::Range<std::uint64_t>(0, kParts));

TEST_P(StoreFaults, APowerCutAtAnyWriteOrSyncKeepsWhatWasPromised) {
  ASSERT_GT(steps_, 100U);
  for (std::uint64_t step = GetParam(); step < steps_; step += kParts) {
    const std::string where = "cut at step " + std::to_string(step);
    VfsShim shim("cut");
    StoreHome home(shim.name());
    home.options().reserve_bytes = 4096;
    ASSERT_OK(home.open());
    shim.fail_at(step, VfsShim::Fault::cut);
    const Promised promised = run_scenario(home);
    home.close();
    const bool cut = shim.tripped();
    // The disk may have kept any of the writes that were not synced: none, or some by chance.
    std::uint64_t chance = step * 2654435761U;
    if (step % 2 == 0) {
      shim.lose_unsynced();
    } else {
      shim.lose_unsynced([&chance](std::uint64_t) {
        chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
        return (chance >> 60) < 8;
      });
    }
    home.use_vfs("");
    const Status opened = home.open();
    ASSERT_TRUE(opened.has_value()) << where << ": " << opened.error().message;
    expect_kept(home, cut ? promised.durable : promised.all, where);
    expect_goes_on(home, where);
    if (HasFailure()) return;
  }
}

TEST_P(StoreFaults, AnErrorAtAnyWriteOrSyncKeepsWhatWasPromisedAndNothingAfterIt) {
  for (std::uint64_t step = GetParam(); step < steps_; step += kParts) {
    const std::string where = "error at step " + std::to_string(step);
    VfsShim shim("error");
    StoreHome home(shim.name());
    home.options().reserve_bytes = 4096;
    ASSERT_OK(home.open());
    shim.fail_at(step, VfsShim::Fault::io_error);
    const Promised promised = run_scenario(home);
    if (shim.tripped()) {
      // Once the disk has refused, nothing is taken any more.
      EXPECT_FALSE(home.store().healthy()) << where;
      const Status later = home.commit(Durability::crash, [](Tx& tx) { return tx.put_setting("a", "b"); });
      EXPECT_FALSE(later.has_value()) << where;
      const int last = promised.all.empty() ? -1 : *promised.all.rbegin();
      EXPECT_EQ(promised.all.size(), static_cast<std::size_t>(last + 1)) << where << ": a step after the failed one";
    }
    home.close();
    home.use_vfs("");
    ASSERT_OK(home.open());
    expect_kept(home, promised.all, where);
    expect_goes_on(home, where);
    if (HasFailure()) return;
  }
}

TEST_P(StoreFaults, AFullDiskAtAnyWriteOrSyncStillTakesWhatIsInHand) {
  for (std::uint64_t step = GetParam(); step < steps_; step += kParts) {
    const std::string where = "full at step " + std::to_string(step);
    VfsShim shim("full");
    StoreHome home(shim.name());
    home.options().reserve_bytes = 4096;
    ASSERT_OK(home.open());
    const std::string reserve = home.path() + "/reserve";
    shim.still_full([reserve] { return std::filesystem::exists(reserve); });
    shim.fail_at(step, VfsShim::Fault::full);
    const Promised promised = run_scenario(home);
    if (shim.tripped()) {
      EXPECT_FALSE(home.store().healthy()) << where;  // no further call
      EXPECT_FALSE(std::filesystem::exists(reserve)) << where;
    }
    EXPECT_EQ(promised.all.size(), static_cast<std::size_t>(kSteps)) << where;  // all outcomes in hand are kept
    home.close();
    home.use_vfs("");
    ASSERT_OK(home.open());
    expect_kept(home, promised.all, where);
    expect_goes_on(home, where);
    if (HasFailure()) return;
  }
}

TEST(StoreFaultsOnce, ADiskThatStaysFullRefusesAndKeepsWhatWasPromised) {
  const std::uint64_t half = count_steps() / 2;
  VfsShim shim("stays-full");
  StoreHome home(shim.name());
  ASSERT_OK(home.open());
  shim.fail_at(half, VfsShim::Fault::full);
  const Promised promised = run_scenario(home);
  EXPECT_FALSE(home.store().healthy());
  EXPECT_LT(promised.all.size(), static_cast<std::size_t>(kSteps));
  EXPECT_GT(promised.all.size(), 0U);
  home.close();
  home.use_vfs("");
  ASSERT_OK(home.open());
  expect_kept(home, promised.all, "stays full");
  expect_goes_on(home, "stays full");
}

TEST(StoreFaultsOnce, AfterAFailedSyncNothingIsTaken) {
  VfsShim shim("sync");
  StoreHome home(shim.name());
  ASSERT_OK(home.open());
  ASSERT_OK(home.commit(Durability::power, [](Tx& tx) { return scenario_step(tx, 0); }));
  shim.fail_next_sync();
  const Status failed = home.commit(Durability::power, [](Tx& tx) { return scenario_step(tx, 1); });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::io);
  EXPECT_FALSE(home.store().healthy());
  const Status later = home.commit(Durability::crash, [](Tx& tx) { return scenario_step(tx, 2); });
  EXPECT_FALSE(later.has_value());
  // What is there can still be read.
  ASSERT_OK(home.read([](Tx& tx) -> Status {
    EXPECT_TRUE(tx.operation(op(0)).has_value());
    return {};
  }));
}

// A child commits as fast as it can and says which steps were promised; it is killed in the middle.
TEST(StoreCrash, AKilledProcessHasKeptWhatItPromised) {
  for (int round = 0; round < 4; ++round) {
    StoreHome home;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      if (!home.open()) ::_exit(3);
      auto writer = [&home, out = pipe[1]](int first) -> asio::awaitable<void> {
        for (std::uint16_t i = static_cast<std::uint16_t>(first);; i = static_cast<std::uint16_t>(i + 8)) {
          auto step = [i](Tx& tx) { return scenario_step(tx, i); };
          const Durability durability = i % 2 == 0 ? Durability::power : Durability::crash;
          const Status done = co_await home.store().commit(durability, step);
          if (!done) ::_exit(4);
          if (::write(out, &i, sizeof i) != sizeof i) ::_exit(5);
        }
      };
      for (int first = 0; first < 8; ++first) asio::co_spawn(home.loop(), writer(first), asio::detached);
      home.loop().run();
      ::_exit(6);
    }
    ::close(pipe[1]);
    std::set<int> promised;
    std::uint16_t number = 0;
    while (promised.size() < 150U + 100U * static_cast<unsigned>(round) &&
           ::read(pipe[0], &number, sizeof number) == sizeof number) {
      promised.insert(number);
    }
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &number, sizeof number) == sizeof number) promised.insert(number);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    ::close(pipe[0]);
    ASSERT_OK(home.open());
    ASSERT_OK(home.read([&promised](Tx& tx) -> Status {
      for (const int step : promised) {
        EXPECT_TRUE(tx.operation(op(step)).has_value()) << step;
        EXPECT_EQ(tx.receipts({.operation = op(step)}).size(), 1U) << step;
      }
      return {};
    }));
    const trust::VerifyReport report = home.verify();
    EXPECT_TRUE(report.ok()) << trust::to_text(report);
    EXPECT_GE(report.entries, promised.size());
  }
}

}  // namespace
}  // namespace sallyport::test
