// The table of an operation's life is what section 7 says, and the docs are drawn from it.
#include "gateway/calls/operation_table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace sallyport::gateway::calls {
namespace {

constexpr OperationState kAll[] = {
    OperationState::received,         OperationState::waiting,      OperationState::ready,
    OperationState::refused,          OperationState::intent,       OperationState::sent,
    OperationState::awaiting_input,   OperationState::running,      OperationState::applied,
    OperationState::failed,           OperationState::unknown,      OperationState::reconciling,
    OperationState::resolved_applied, OperationState::resolved_none};

TEST(OperationTable, EveryPairStandsOnce) {
  std::set<std::pair<OperationState, Event>> seen;
  for (const Transition& t : transitions())
    EXPECT_TRUE(seen.emplace(t.from, t.event).second) << to_string(t.from) << to_string(t.event);
}

TEST(OperationTable, NothingLeavesAConcludedState) {
  for (const Transition& t : transitions()) EXPECT_TRUE(is_open(t.from)) << to_string(t.from);
}

TEST(OperationTable, AnUnknownEndsOnlyByProof) {
  for (const Transition& t : transitions()) {
    if (outcome_of(t.from) != Outcome::unknown || outcome_of(t.to) == Outcome::unknown) continue;
    const bool proof = t.event == Event::apply || t.event == Event::fail || t.event == Event::prove_applied ||
                       t.event == Event::prove_none;
    EXPECT_TRUE(proof) << to_string(t.from) << " " << to_string(t.event);
  }
}

TEST(OperationTable, NothingIsSentWithoutAnIntent) {
  for (const Transition& t : transitions()) {
    if (t.to == OperationState::sent) EXPECT_EQ(t.from, OperationState::intent);
    if (t.to == OperationState::intent) EXPECT_EQ(t.from, OperationState::ready);
  }
}

TEST(OperationTable, AnImpossiblePairIsAnError) {
  OperationRow row;
  row.state = OperationState::applied;
  EXPECT_FALSE(step(row, Event::dispatch));
  EXPECT_EQ(row.state, OperationState::applied);
}

TEST(OperationTable, EveryStateHasANameThatComesBack) {
  for (const OperationState state : kAll) EXPECT_EQ(parse_operation_state(to_string(state)), state);
}

// docs/operations.md holds exactly this; on a difference the message is the text to put there.
TEST(OperationTable, TheDocsShowTheTable) {
  std::string drawn = "| from | event | to | outcome |\n| --- | --- | --- | --- |\n";
  for (const Transition& t : transitions()) {
    drawn += fmt::format("| {} | {} | {} | {} |\n", to_string(t.from), to_string(t.event), to_string(t.to),
                         to_string(outcome_of(t.to)));
  }
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/docs/operations.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(drawn), std::string::npos) << drawn;
}

}  // namespace
}  // namespace sallyport::gateway::calls
