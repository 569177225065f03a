#include "policy/conditions/words.hpp"

#include <gtest/gtest.h>

namespace sallyport::policy {
namespace {

std::vector<std::string> words(const std::string& conditions) {
  const auto document = json::Document::parse(conditions);
  return in_words(document->root());
}

TEST(ConditionWords, SayWhatAMemberMayBe) {
  EXPECT_EQ(
      words(R"({"a":1.50,"b":"x","c":{},"d":["x","y"],"e?":{"minimum":1,"exclusiveMaximum":5}})"),
      (std::vector<std::string>{"`a` is exactly 1.50", "`b` is exactly \"x\"", "`c` may be anything",
                                "`d` is one of \"x\", \"y\"", "`e` is at least 1 and less than 5, or is not there"}));
  EXPECT_EQ(
      words(R"({"p":{"pathWithin":"/srv"},"u":{"hostIn":["a.example","b.example"]},"l":{"items":"x","maxItems":3}})"),
      (std::vector<std::string>{"`p` is a path within \"/srv\"", "`u` is a URL at \"a.example\", \"b.example\"",
                                "`l` is a list, each is exactly \"x\" and no more than 3 elements"}));
  EXPECT_EQ(words(R"({"o":{"members":{"k":1}}})"),
            std::vector<std::string>{"`o` is an object where `k` is exactly 1 and nothing else stands"});
}

TEST(ConditionWords, ShowHiddenCharacters) {
  EXPECT_EQ(words("{\"a\\u202e\":\"b\xE2\x80\x8B\"}"),
            std::vector<std::string>{"`a\\u{202E}` is exactly \"b\\u{200B}\""});
}

}  // namespace
}  // namespace sallyport::policy
