// What an attempt proves, and what follows from it.
#include "gateway/calls/findings.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway::calls {
namespace {

constexpr Proof kAll[] = {Proof::applied, Proof::none, Proof::transient, Proof::not_sent, Proof::lost, Proof::answered};

TEST(Findings, OnlyWhatDidNotRunOrIsSafeGoesAgain) {
  for (const Proof proof : kAll) {
    const bool nothing_done = proof == Proof::transient || proof == Proof::not_sent;
    EXPECT_EQ(may_send_again(proof, Repeat::never, true), nothing_done);
    EXPECT_EQ(may_send_again(proof, Repeat::keyed, false), nothing_done);
    EXPECT_EQ(may_send_again(proof, Repeat::keyed, true), nothing_done || proof == Proof::lost);
    EXPECT_EQ(may_send_again(proof, Repeat::safe, false), nothing_done || proof == Proof::lost);
  }
}

TEST(Findings, NoneIsConcludedOnlyFromProofOfEveryAttempt) {
  for (const Proof proof : kAll) {
    for (const bool doubtful : {false, true}) {
      const Conclusion found = conclusion_of(proof, false, doubtful);
      EXPECT_EQ(found.event == Event::apply, proof == Proof::applied);
      if (doubtful) EXPECT_NE(found.event, Event::fail);
      if (proof == Proof::lost || proof == Proof::answered) EXPECT_EQ(found.event, Event::lose);
      EXPECT_EQ(found.unknown == Unknown::no, found.event != Event::lose);
    }
  }
  EXPECT_EQ(conclusion_of(Proof::answered, false, false).unknown, Unknown::answered);
  EXPECT_EQ(conclusion_of(Proof::answered, false, true).unknown, Unknown::lost);
}

TEST(Findings, AReadIsNeverUnknown) {
  for (const Proof proof : kAll) EXPECT_NE(conclusion_of(proof, true, true).event, Event::lose);
}

json::Document parsed(const std::string& text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document);
  return std::move(*document);
}

TEST(CutResult, KeepsTextFromTheFrontAndWholeCharacters) {
  const auto result = parsed(
      "{\"content\":[{\"type\":\"image\",\"data\":\"xx\"},{\"type\":\"text\",\"text\":\"ab\xc3\xa9\"},"
      "{\"type\":\"text\",\"text\":\"later\"}],\"isError\":true,\"structuredContent\":{\"a\":1}}");
  const auto cut = parsed(cut_result(result.root(), 3));
  EXPECT_EQ(cut.root().at("/content/0/text").string(), "ab");
  EXPECT_TRUE(cut.root().at("/content/1/text").string().starts_with("Cut by the gateway"));
  EXPECT_EQ(cut.root().find("content").size(), 2U);
  EXPECT_TRUE(cut.root().find("isError").boolean());
  EXPECT_FALSE(cut.root().find("structuredContent"));
  EXPECT_EQ(parsed(cut_result(result.root(), 6)).root().at("/content/1/text").string(), "la");
}

TEST(CutResult, OfAResultWithoutTextOnlySaysSo) {
  const auto result = parsed(R"({"structuredContent":{"a":1}})");
  EXPECT_EQ(parsed(cut_result(result.root(), 1)).root().find("content").size(), 1U);
}

}  // namespace
}  // namespace sallyport::gateway::calls
