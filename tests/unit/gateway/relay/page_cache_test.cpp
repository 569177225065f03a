// Pages of lists are kept as long as their server said, for whom they were listed, until the list changes.
#include "gateway/relay/page_cache.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway::relay {
namespace {

Page page(const std::string& text = R"({"prompts":[]})", Millis fresh = std::chrono::hours(1)) {
  Page out;
  auto document = json::Document::parse(text, {.bytes = text.size() + 1});
  out.document = std::make_shared<const json::Document>(std::move(*document));
  out.result = out.document->root();
  out.fresh_until = Deadline::after(fresh);
  return out;
}

PageCache::Key key(const std::string& principal = "agent:a", const std::string& cursor = {},
                   Kind kind = Kind::prompts) {
  return {"s", principal, "se_1", kind, cursor};
}

TEST(PageCache, KeepsAPageForWhomItWasListed) {
  PageCache cache;
  cache.put(key(), page(), cache.changes());
  ASSERT_NE(cache.find(key()), nullptr);
  EXPECT_EQ(cache.find(key("agent:b")), nullptr);
  EXPECT_EQ(cache.find(key("agent:a", "\"2\"")), nullptr);
  EXPECT_EQ(cache.find(key("agent:a", {}, Kind::resources)), nullptr);
  PageCache::Key other = key();
  other.session = "se_2";
  EXPECT_EQ(cache.find(other), nullptr);
}

TEST(PageCache, KeepsNothingThatDoesNotSayHowLongOrHasPassed) {
  PageCache cache;
  Page silent = page();
  silent.fresh_until.reset();
  cache.put(key(), silent, cache.changes());
  cache.put(key("agent:b"), page("{}", Millis(0)), cache.changes());
  EXPECT_EQ(cache.size(), 0U);
}

TEST(PageCache, AChangeEndsThePagesOfThatListAndWhatWasAskedForBeforeIt) {
  PageCache cache;
  const std::uint64_t seen = cache.changes();
  cache.put(key(), page(), seen);
  cache.put(key("agent:a", {}, Kind::resources), page(), seen);
  cache.put(key("agent:a", {}, Kind::templates), page(), seen);
  cache.forget("other", ListKind::prompts);
  EXPECT_NE(cache.find(key()), nullptr);
  cache.forget("s", ListKind::prompts);
  EXPECT_EQ(cache.find(key()), nullptr);
  EXPECT_EQ(cache.size(), 2U);
  cache.forget("s", ListKind::resources);
  EXPECT_EQ(cache.size(), 0U);
  cache.put(key(), page(), seen);
  EXPECT_EQ(cache.size(), 0U) << "it may be of before the change";
}

TEST(PageCache, IsBoundedWithAShareForEachPrincipal) {
  PageCache cache;
  const std::string large = R"({"x":")" + std::string(1U << 20, 'x') + "\"}";
  for (int i = 0; i < 20; ++i) cache.put(key("agent:a", std::to_string(i)), page(large), cache.changes());
  EXPECT_LE(cache.size(), 4U);
  EXPECT_GE(cache.size(), 3U);
  cache.put(key("agent:b"), page(large), cache.changes());
  EXPECT_NE(cache.find(key("agent:b")), nullptr) << "one does not take it all";
  for (int i = 0; i < 20; ++i) cache.put(key("agent:b"), page(large), cache.changes());
  EXPECT_NE(cache.find(key("agent:b")), nullptr) << "a newer one takes the place of the same";
  cache.forget("s", ListKind::prompts);
  cache.put(key("agent:a"), page(large), cache.changes());
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace sallyport::gateway::relay
