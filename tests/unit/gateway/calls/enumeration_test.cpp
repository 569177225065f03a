// Every way that an operation can go, enumerated: what clients, servers, people, crashes, reloads and stops can do in
// each state, with the table and the judgements of the gateway deciding, and a server whose deeds are counted.
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "gateway/calls/findings.hpp"
#include "gateway/calls/operation_table.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kAttempts = 3;

constexpr OperationState kAllStates[] = {
    OperationState::received,         OperationState::waiting,      OperationState::ready,
    OperationState::refused,          OperationState::intent,       OperationState::sent,
    OperationState::awaiting_input,   OperationState::running,      OperationState::applied,
    OperationState::failed,           OperationState::unknown,      OperationState::reconciling,
    OperationState::resolved_applied, OperationState::resolved_none};

// What the tool and its contract are.
struct Contract {
  Repeat repeat = Repeat::never;
  bool keyed = false;  // the server does what it is asked with one key once
  bool asks = false;
  bool absence_counts = false;
};

// An operation and what is true of the world.
struct World {
  OperationState state = OperationState::received;
  int executed = 0;
  int spent = 0;
  int asked = 0;
  bool approved = false;
  int attempts = 0;
  bool doubtful = false;
  bool by_person = false;
  bool resending = false;

  [[nodiscard]] auto key() const {
    return std::tuple(state, executed, spent, asked, approved, attempts, doubtful, by_person, resending);
  }
};

class Explorer {
 public:
  explicit Explorer(Contract contract) : contract_(contract) {}

  void run() {
    push(World{});
    while (!queue_.empty()) {
      const World world = queue_.front();
      queue_.pop_front();
      judge(world);
      expand(world);
    }
  }
  [[nodiscard]] std::size_t seen() const { return seen_.size(); }
  [[nodiscard]] const std::set<OperationState>& states() const { return states_; }

 private:
  void push(const World& world) {
    states_.insert(world.state);
    if (seen_.insert(world.key()).second) queue_.push_back(world);
  }

  // Takes the event as the gateway would; whatever the table does not have must not be tried.
  void go(World world, Event event) {
    const auto transition = next(world.state, event);
    ASSERT_TRUE(transition) << transition.error().message;
    if (transition->deed == Deed::spend && contract_.asks) {
      ASSERT_TRUE(world.approved) << "recorded without an approval";
      ++world.spent;
      world.approved = false;
    }
    if (event == Event::record) world.attempts = 1;
    if (event == Event::retry || event == Event::resend) ++world.attempts;
    world.state = transition->to;
    push(world);
  }

  // The server does it, unless it knows the key.
  [[nodiscard]] World done(World world) const {
    if (!(contract_.keyed && world.executed > 0)) ++world.executed;
    return world;
  }

  void expand(const World& world) {
    using enum OperationState;
    switch (world.state) {
      case received:
        go(world, contract_.asks ? Event::ask : Event::allow);
        go(world, Event::refuse);
        break;
      case waiting:
        wait(world);
        roll_back(world);
        break;
      case ready:
        if (!contract_.asks || world.approved) go(world, Event::record);
        go(world, Event::refuse);                                  // a stop, a reload, a cancel
        if (contract_.asks) go(void_approval(world), Event::ask);  // a reload that asks anew
        roll_back(world);
        break;
      case intent:
        send(world);
        roll_back(world);
        break;
      case unknown:
        settle(world);
        break;
      case reconciling:
        reconcile(world);
        break;
      default:
        break;
    }
  }

  // The log ends here once more: in the part that is lost nothing may have come of it, or everything.
  void roll_back(World world) {
    go(world, Event::rollback);
    world.attempts = std::max(world.attempts, 1);
    go(done(world), Event::rollback);
  }

  static World void_approval(World world) {
    world.approved = false;
    return world;
  }

  void wait(World world) {
    go(world, Event::refuse);  // denied, expired, cancelled, stopped, the re-decision differs
    if (world.asked >= 2) return;
    ++world.asked;
    world.approved = true;
    go(world, Event::allow);
  }

  void send(const World& world) {
    go(world, Event::restart);        // killed before the first byte
    go(done(world), Event::restart);  // killed after the server did it
    conclude(world, Proof::not_sent);
    World sent = world;
    sent.state = next(world.state, Event::dispatch)->to;
    push(sent);
    for (const Proof proof : {Proof::none, Proof::transient, Proof::lost, Proof::answered}) conclude(sent, proof);
    for (const Proof proof : {Proof::applied, Proof::lost, Proof::answered}) conclude(done(sent), proof);
    go(sent, Event::restart);
    go(done(sent), Event::restart);
  }

  void conclude(const World& world, Proof proof) {
    const Conclusion conclusion = conclusion_of(proof, false, world.doubtful);
    go(world, conclusion.event);
    if (world.attempts >= kAttempts || !may_send_again(proof, contract_.repeat, contract_.keyed)) return;
    World again = world;
    again.doubtful = again.doubtful || proof == Proof::lost;
    go(again, Event::retry);
  }

  void settle(const World& world) {
    if (world.executed > 0) go(world, Event::prove_applied);  // a late answer
    go(world, Event::look);
    World person = world;
    person.by_person = true;
    go(person, Event::prove_applied);
    go(person, Event::prove_none);
    // The client's repeat: a new operation meets its block; the same key is this operation.
    if (contract_.repeat == Repeat::never || world.attempts >= kAttempts) return;
    World resend = world;
    resend.resending = true;
    go(resend, Event::resend);
  }

  void reconcile(World world) {
    const bool resending = std::exchange(world.resending, false);
    go(world, Event::restart);
    go(world, Event::look_failed);
    if (resending) {
      go(done(world), Event::restart);
      go(done(world), Event::look_failed);  // and its answer was lost again
      go(done(world), Event::prove_applied);
      return;
    }
    if (world.executed > 0) go(world, Event::prove_applied);
    if (world.executed == 0 && contract_.absence_counts) go(world, Event::prove_none);
  }

  void judge(const World& world) const {
    const std::string where =
        fmt::format("{} executed {} spent {}", to_string(world.state), world.executed, world.spent);
    if (contract_.repeat != Repeat::safe) EXPECT_LE(world.executed, 1) << where;
    EXPECT_LE(world.spent, 1) << where;
    if (world.executed > 0) EXPECT_GE(world.attempts, 1) << where;
    const Outcome outcome = outcome_of(world.state);
    if (!world.by_person && outcome == Outcome::applied) EXPECT_GE(world.executed, 1) << where;
    if (!world.by_person && outcome == Outcome::none) EXPECT_EQ(world.executed, 0) << where;
    if (!is_open(world.state)) return;
    // No open state is a dead end: something can still come of it.
    const bool leaves = std::ranges::any_of(transitions(), [&](const Transition& t) { return t.from == world.state; });
    EXPECT_TRUE(leaves) << where;
  }

  Contract contract_;
  std::deque<World> queue_;
  std::set<decltype(World{}.key())> seen_;
  std::set<OperationState> states_;
};

TEST(EveryWay, ExecutesAtMostOnceWithoutASafeRepeatAndNeverLosesAnUnknown) {
  std::set<OperationState> reached;
  for (const Repeat repeat : {Repeat::never, Repeat::keyed, Repeat::safe}) {
    for (const bool asks : {false, true}) {
      for (const bool absence : {false, true}) {
        Explorer explorer(Contract{repeat, repeat == Repeat::keyed, asks, absence});
        explorer.run();
        EXPECT_GT(explorer.seen(), 10U);
        reached.insert(explorer.states().begin(), explorer.states().end());
      }
    }
  }
  // All but those that a server's questions and tasks lead to.
  EXPECT_EQ(reached.size(), std::size(kAllStates) - 2);
}

TEST(EveryWay, PairsThatAreNotInTheTableAreErrorsAndChangeNothing) {
  std::size_t possible = 0;
  for (const OperationState state : kAllStates) {
    for (std::size_t number = 0; number < kEvents; ++number) {
      OperationRow row;
      row.state = state;
      row.outcome = outcome_of(state);
      const auto stepped = step(row, static_cast<Event>(number));
      if (stepped) {
        ++possible;
        EXPECT_EQ(row.state, stepped->to);
        EXPECT_EQ(row.outcome, outcome_of(stepped->to));
      } else {
        EXPECT_EQ(stepped.error().code, ErrorCode::internal);
        EXPECT_EQ(row.state, state);
      }
    }
  }
  EXPECT_EQ(possible, transitions().size());
}

TEST(EveryWay, OutOfUnknownLeadsOnlyEvidenceOrAPerson) {
  for (const Transition& t : transitions()) {
    if (!is_unknown(t.from) || is_unknown(t.to)) continue;
    EXPECT_TRUE(t.event == Event::prove_applied || t.event == Event::prove_none) << to_string(t.event);
    EXPECT_EQ(t.receipts[0], trust::ReceiptKind::reconciliation);
  }
}

}  // namespace
}  // namespace sallyport::gateway::calls
