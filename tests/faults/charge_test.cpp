// `charge` under every fault: executed 0 or 1 times, never 2, and what the receipts tell is true. The gateway runs in a
// child that is killed with SIGKILL before each write and sync of its journal in turn; then it is started again on what
// that left, the client repeats its call, and a person settles what is unknown.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <tuple>

#include "tests/support/charge.hpp"
#include "tests/support/vfs_shim.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kArguments = R"({"account":"a","amount":5})";
constexpr const char* kAsk =
    R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"pay","ask":{"server":"pay","tool":"charge"}}]})";

// What outlives a killed gateway: the server's own books, and what the client was told.
struct Books {
  int executed = 0;
  bool key_seen = false;
  bool told = false;      // the client has an answer
  char outcome[16] = {};  // and what it says
};

class SharedBooks {
 public:
  SharedBooks() {
    void* memory = ::mmap(nullptr, sizeof(Books), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    books_ = new (memory) Books();
  }
  ~SharedBooks() { ::munmap(books_, sizeof(Books)); }
  SharedBooks(const SharedBooks&) = delete;
  SharedBooks& operator=(const SharedBooks&) = delete;
  Books* operator->() const { return books_; }

 private:
  Books* books_;
};

struct Variant {
  const char* name;
  std::string contract;
  std::string policy = Charge::kAllow;
  std::string meta;  // of the client's call
  bool keyed = false;
  std::deque<Fault> faults;  // of the first calls
  bool lookup = false;
};

std::vector<Variant> variants() {
  const std::string keyed = R"("repeat":"keyed","idempotencyKey":{"meta":"k"},"attempts":2)";
  const std::string look =
      R"("idempotencyKey":{"meta":"k"},"lookup":{"tool":"find","arguments":{"operation":{"from":"operation"}},"applied":{"found":true}})";
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  return {{"Plain", ""},
          {"WithAKey", "", Charge::kAllow, key},
          {"Approved", "", kAsk},
          {"KeyedAndRetried", keyed, Charge::kAllow, key, true, {Fault::reset_after}},
          {"TransientAndRetried",
           R"("attempts":2,"errors":{"transient":{"codes":[-32050]}})",
           Charge::kAllow,
           "",
           false,
           {Fault::transient}},
          {"LookedUp", look, Charge::kAllow, "", false, {Fault::reset_after}, true}};
}

// Every step has its turn; the parts share them out, so that they run side by side.
constexpr std::uint64_t kParts = 3;

class ChargeFaults : public ::testing::TestWithParam<std::tuple<Variant, std::uint64_t>> {
 protected:
  [[nodiscard]] static const Variant& variant() { return std::get<0>(GetParam()); }
  [[nodiscard]] static std::uint64_t part() { return std::get<1>(GetParam()); }

  RigOptions options(Charge& charge, const std::string& state) const {
    RigOptions made = Charge::options(charge, variant().contract, variant().policy);
    made.state = state;
    made.servers["pay"].on_call = [this, &charge](Dispatched& call) {
      charge.answer(call);
      keep_books(charge, call);
    };
    charge.find = [this] { return books_->executed > 0 ? "true" : "false"; };
    return made;
  }

  // The server's books are outside of the gateway's process.
  void keep_books(Charge& charge, const Dispatched& call) const {
    if (call.tool != "charge" || charge.executed == 0) return;
    charge.executed = 0;
    charge.keys.clear();
    if (variant().keyed && books_->key_seen) return;
    books_->key_seen = true;
    ++books_->executed;
  }

  Rig::PendingPtr ask_for_it(Rig& rig) const {
    auto pending = rig.send(rig.client(), "pay__charge", kArguments, variant().meta);
    if (variant().policy == kAsk) {
      const std::string approval = rig.pending_approval();
      if (!rig.approve(approval)) ::_exit(4);
    }
    return pending;
  }

  // The gateway's life in the child, until it is killed or the client has its answer.
  [[noreturn]] void live(const std::string& state, std::uint64_t step) const {
    VfsShim shim("kill");
    Charge charge;
    charge.faults = variant().faults;
    RigOptions made = options(charge, state);
    made.vfs = shim.name();
    auto* rig = new Rig(made);  // never destroyed: this process ends here, one way or the other
    shim.fail_at(step, VfsShim::Fault::kill);
    const auto pending = ask_for_it(*rig);
    rig->run_until([&] { return pending->answer.has_value(); });
    const CallView seen = view(*pending->answer);
    std::snprintf(books_->outcome, sizeof books_->outcome, "%s", seen.outcome.c_str());
    books_->told = true;
    ::_exit(0);
  }

  // True: the child was killed at that step.
  bool run_child(const std::string& state, std::uint64_t step) const {
    const pid_t child = ::fork();
    if (child == 0) live(state, step);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
    return WIFSIGNALED(status);
  }

  std::string told(Rig& rig) const {
    std::string outcome;
    for (const ReceiptRow& row : rig.receipts()) {
      if (row.tool == "charge" && !row.outcome.empty() && row.kind != "refusal") outcome = row.outcome;
    }
    return outcome;
  }

  // What the log says of the operation is so, or says that it is not known.
  void expect_truth(Rig& rig, const std::string& where) const {
    const std::string outcome = told(rig);
    if (books_->executed == 0) EXPECT_NE(outcome, "applied") << where;
    if (books_->executed > 0) EXPECT_TRUE(outcome == "applied" || outcome == "unknown") << where << outcome;
    if (books_->told && std::string(books_->outcome) == "applied") EXPECT_EQ(outcome, "applied") << where;
    EXPECT_LE(books_->executed, 1) << where;
    std::size_t spent = 0;
    for (const ReceiptRow& row : rig.receipts("intent")) spent += row.payload.find("\"approval\"") != std::string::npos;
    EXPECT_LE(spent, 1U) << where;
    EXPECT_TRUE(rig.log_verifies()) << where;
  }

  // The client comes back with the same call; a person settles what stands in the way, as it was.
  void go_on(Rig& rig, const std::string& where) const {
    auto pending = rig.send(rig.client(), "pay__charge", kArguments, variant().meta);
    if (variant().lookup) rig.await(rig.calls->sweep());
    // Answered, or held by the ask that it made or joined.
    const auto settled = [&] { return pending->answer.has_value() || (rig.calls->in_flight() > 0 && asks(rig) > 0); };
    rig.run_until(settled, where.c_str());
    EXPECT_LE(books_->executed, 1) << where;
    for (const OperationRow& row : rig.operations({OperationState::unknown})) {
      EXPECT_EQ(row.unknown, Unknown::lost) << where;
      if (variant().lookup) continue;  // it may still be on its way
      const std::string truth = books_->executed > 0 ? "applied" : "none";
      EXPECT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), row.id, truth, "looked"))) << where;
    }
    EXPECT_TRUE(rig.log_verifies()) << where;
  }

  std::size_t asks(Rig& rig) const {
    std::size_t count = 0;
    rig.await(rig.store->read([&](Tx& tx) -> Status {
      count = tx.approvals("pending", 10).size();
      return {};
    }));
    return count;
  }

  mutable SharedBooks books_;
};

INSTANTIATE_TEST_SUITE_P(Every, ChargeFaults,
                         ::testing::Combine(::testing::ValuesIn(variants()),
                                            ::testing::Range<std::uint64_t>(0, kParts)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::to_string(std::get<1>(info.param));
                         });

TEST_P(ChargeFaults, Kill9AtEveryJournalStepExecutesItAtMostOnce) {
  TempDir begun;
  {
    Charge charge;
    const Rig fresh(options(charge, begun.file("state")));  // the steps of a first start are not what this is about
  }
  std::uint64_t step = part();
  std::size_t unknown = 0;
  for (bool killed = true; killed; step += kParts) {
    ASSERT_LT(step, 400U);
    const std::string where = std::string(variant().name) + ", killed at step " + std::to_string(step);
    *books_.operator->() = Books{};
    TempDir dir;
    const std::string state = dir.file("state");
    std::filesystem::copy(begun.file("state"), state, std::filesystem::copy_options::recursive);
    std::filesystem::permissions(state, std::filesystem::perms::owner_all);
    killed = run_child(state, step);
    Charge charge;
    Rig rig(options(charge, state));
    unknown += rig.operations({OperationState::unknown}).size();
    expect_truth(rig, where);
    go_on(rig, where);
    expect_truth(rig, where);
    if (HasFailure()) return;
  }
  EXPECT_GT(step, 3 * kParts);
  EXPECT_GT(unknown, 0U);  // else no kill met anything
}

TEST_P(ChargeFaults, AFullDiskAtEveryJournalStepExecutesItAtMostOnceAndStopsTheGateway) {
  std::uint64_t step = part();
  for (bool tripped = true; tripped; step += kParts) {
    ASSERT_LT(step, 400U);
    const std::string where = std::string(variant().name) + ", full at step " + std::to_string(step);
    *books_.operator->() = Books{};
    TempDir dir;
    VfsShim shim("full");
    {
      Charge charge;
      charge.faults = variant().faults;
      RigOptions made = options(charge, dir.file("state"));
      made.vfs = shim.name();
      Rig rig(made);
      const auto first = rig.send(rig.client(), "pay__charge", kArguments, variant().meta);
      std::string approval;
      if (variant().policy == kAsk) approval = rig.pending_approval();
      shim.fail_at(step, VfsShim::Fault::full);
      if (!approval.empty()) static_cast<void>(rig.approve(approval));
      if (!approval.empty() && asks(rig) > 0) first->cancel->cancel(CancelReason::client);
      rig.run_until([&] { return first->answer.has_value(); }, where.c_str());
      tripped = shim.tripped();
      const CallView seen = view(*first->answer);
      if (books_->executed == 0) EXPECT_NE(seen.outcome, "applied") << where;
      if (books_->executed > 0) EXPECT_NE(seen.outcome, "none") << where;
      if (tripped && !rig.calls->can_record()) {
        EXPECT_EQ(view(rig.call(rig.client(), "pay__charge", R"({"account":"b"})")).code, "RECORDING_UNAVAILABLE");
      }
      EXPECT_LE(books_->executed, 1) << where;
    }
    Charge charge;
    Rig rig(options(charge, dir.file("state")));
    EXPECT_LE(books_->executed, 1) << where;
    if (books_->executed > 0) EXPECT_NE(told(rig), "none") << where;
    EXPECT_TRUE(rig.log_verifies()) << where;
    if (HasFailure()) return;
  }
  EXPECT_GT(step, 2 * kParts);
}

}  // namespace
}  // namespace sallyport::test
