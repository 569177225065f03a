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
    const bool recorded = t.receipts[0] == trust::ReceiptKind::intent || t.receipts[1] == trust::ReceiptKind::intent;
    if (t.to == OperationState::sent) EXPECT_EQ(t.from, OperationState::intent);
    if (t.to == OperationState::intent) EXPECT_TRUE(recorded) << to_string(t.event);
    if (t.event == Event::resend) EXPECT_TRUE(recorded);
  }
}

TEST(OperationTable, AnApprovalIsSpentInOnePlaceOnly) {
  std::size_t places = 0;
  for (const Transition& t : transitions()) {
    if (t.deed != Deed::spend) continue;
    ++places;
    EXPECT_EQ(t.from, OperationState::ready);
    EXPECT_EQ(t.to, OperationState::intent);
  }
  EXPECT_EQ(places, 1U);
}

TEST(OperationTable, WhatEndsAnOperationLeavesAReceiptAndSettlesItsBudgets) {
  for (const Transition& t : transitions()) {
    if (is_open(t.to) && !is_unknown(t.to)) continue;
    if (t.event == Event::look) continue;  // the lookup has a receipt of its own
    EXPECT_TRUE(t.receipts[0].has_value()) << to_string(t.from) << " " << to_string(t.event);
    if (is_unknown(t.to) && t.event != Event::resend) EXPECT_EQ(t.deed, Deed::hold);
    if (outcome_of(t.to) == Outcome::applied) EXPECT_EQ(t.deed, Deed::keep);
    if (t.to == OperationState::failed || t.to == OperationState::resolved_none) EXPECT_EQ(t.deed, Deed::give_back);
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
  std::string drawn = "| from | event | to | outcome | receipts | with it |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Transition& t : transitions()) {
    std::string receipts;
    for (const auto& kind : t.receipts) {
      if (kind) receipts += (receipts.empty() ? "" : ", ") + std::string(trust::to_string(*kind));
    }
    drawn += fmt::format("| {} | {} | {} | {} | {} | {} |\n", to_string(t.from), to_string(t.event), to_string(t.to),
                         to_string(outcome_of(t.to)), receipts, to_string(t.deed));
  }
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/docs/operations.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(drawn), std::string::npos) << drawn;
}

}  // namespace
}  // namespace sallyport::gateway::calls
