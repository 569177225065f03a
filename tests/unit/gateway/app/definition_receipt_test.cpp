#include "gateway/app/definition_receipt.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway {
namespace {

std::shared_ptr<const Tool> tool(ToolState state, const std::string& digest, std::vector<std::string> findings = {}) {
  auto out = std::make_shared<Tool>();
  out->ref = {"s", "look"};
  out->state = state;
  out->current_digest = digest;
  if (state == ToolState::quarantined) out->quarantine_reason = "why";
  out->findings = std::move(findings);
  return out;
}

std::optional<trust::ReceiptBody> receipt(std::shared_ptr<const Tool> before, std::shared_ptr<const Tool> after) {
  return definition_receipt({}, {trust::Offer::tool, {"s", "look"}, std::move(before), std::move(after)});
}

TEST(DefinitionReceipt, IsNotMadeOfAToolThatIsSeenForTheFirstTimeAndAsExpected) {
  EXPECT_FALSE(receipt(nullptr, tool(ToolState::pinned, "a")));
  EXPECT_FALSE(receipt(nullptr, tool(ToolState::unpinned, "a")));
}

TEST(DefinitionReceipt, SaysWhatAnAcceptedServerAdded) {
  const auto made =
      definition_receipt({}, {trust::Offer::prompt, {"s", "look"}, nullptr, tool(ToolState::unpinned, "a"), true});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->event->action + " " + made->event->after, "added a");
  EXPECT_FALSE(
      definition_receipt({}, {trust::Offer::tool, {"s", "look"}, nullptr, tool(ToolState::pinned, "a"), true}));
}

TEST(DefinitionReceipt, SaysWhatHappenedFromWhatToWhat) {
  const auto was = tool(ToolState::pinned, "a");
  const auto drifted = receipt(was, tool(ToolState::drifted, "b"));
  ASSERT_TRUE(drifted);
  EXPECT_EQ(drifted->server_id + "/" + drifted->tool, "s/look");
  EXPECT_EQ(drifted->event->action, "drifted");
  EXPECT_EQ(drifted->event->before + ">" + drifted->event->after, "a>b");
  const auto shut = receipt(nullptr, tool(ToolState::quarantined, "c"));
  ASSERT_TRUE(shut);
  EXPECT_EQ(shut->event->action + ": " + shut->event->reason, "quarantined: why");
  EXPECT_EQ(receipt(tool(ToolState::drifted, "b"), was)->event->action, "changed") << "and when it came back";
  const auto gone = receipt(was, nullptr);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->event->action + " " + gone->event->before + gone->event->after, "gone a");
}

TEST(DefinitionReceipt, CarriesWhatWasFoundAndNotWithoutBound) {
  const std::vector<std::string> findings(20, "odd");
  const auto made = receipt(nullptr, tool(ToolState::quarantined, "a", findings));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->event->details.size(), 8U);
  EXPECT_EQ(made->event->details.front(), (std::pair<std::string, std::string>("finding 1", "odd")));
  EXPECT_EQ(made->event->details.back().first, "finding 8");
}

TEST(DefinitionReceipt, SaysWhatItIsAboutWhereThatIsNoTool) {
  const auto made = definition_receipt(
      {}, {trust::Offer::prompt, {"s", "look"}, nullptr, tool(ToolState::quarantined, "a", {"odd"})});
  ASSERT_TRUE(made);
  ASSERT_EQ(made->event->details.size(), 2U);
  EXPECT_EQ(made->event->details.front(), (std::pair<std::string, std::string>("of", "prompt")));
}

}  // namespace
}  // namespace sallyport::gateway
