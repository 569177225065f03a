#include "policy/evaluate/compare.hpp"

#include <gtest/gtest.h>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

class CompareTest : public ::testing::Test {
 protected:
  Loosening change(const std::string& before, const std::string& after) {
    return compare(*shop_.policy(before), *shop_.policy(after));
  }
  Loosening rules(const std::string& before, const std::string& after) {
    return change("{\"rules\":[" + before + "]}", "{\"rules\":[" + after + "]}");
  }
  Shop shop_;
};

struct Change {
  const char* before;
  const char* after;
};

TEST_F(CompareTest, TighteningAppliesAtOnce) {
  const std::vector<Change> cases{
      {"", R"({"id":"d","deny":{"server":"files"}})"},
      {"", R"({"id":"q","ask":{"server":"files"}})"},
      {"",
       R"({"id":"f","require":{"server":"files"},"evidence":{"server":"orders","tool":"check_config","result":{}}})"},
      {R"({"id":"a","allow":{"server":"files"}})", ""},
      {R"({"id":"d","deny":{"server":"files","tool":"list"}})", R"({"id":"d","deny":{"server":"files"}})"},
      {R"({"id":"d","deny":{"server":"files","tool":"list"}})",
       R"({"id":"d","deny":{"server":["files","orders"],"tool":["list","refund"]},"message":"no","hide":true})"},
      {R"({"id":"d","deny":{"server":"files"},"unless":{"tool":"list"}})", R"({"id":"d","deny":{"server":"files"}})"},
      {R"({"id":"q","ask":{"server":"files"},"allowIf":{"tool":"list"}})", R"({"id":"q","ask":{"server":"files"}})"},
      {R"({"id":"q","ask":{"server":"files"},"approval":{"by":["owners","payments"]}})",
       R"({"id":"q","ask":{"server":"files"},"approval":{"by":["payments"],"quorum":2,"notOwner":true,"expires":"5m"}})"},
      {R"({"id":"d","deny":{"server":"files","paths":"/a"}})", R"({"id":"d","deny":{"server":"files"}})"},
      // What becomes a deny, whatever it was.
      {R"({"id":"q","ask":{"server":"files"},"allowIf":{"tool":"list"}})", R"({"id":"q","deny":{"server":"files"}})"},
      {R"({"id":"h","hook":{"server":"files"},"url":"http://localhost/"})", R"({"id":"h","deny":{"server":"files"}})"},
      {R"({"id":"f","require":{"server":"orders"},"evidence":{"tool":"check_config","result":{}}})",
       R"({"id":"f","deny":{"server":["files","orders"]}})"},
      // What was an allow and allows no more, or less.
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","deny":{"server":"files","tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","ask":{"server":"files"}})"},
      {R"({"id":"a","allow":{"server":"files"}})",
       R"({"id":"a","allow":{"server":"files","tool":["list","read_file"]}})"},
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","allow":{"server":"files"},"unless":{"tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files"}})",
       R"({"id":"a","allow":{"server":"files","paths":{"pathWithin":"/x"}}})"},
      {R"({"id":"a","allow":{"server":"files"},"unless":{"tool":"list"}})",
       R"({"id":"a","allow":{"server":"files"},"unless":{"tool":["list","read_file"]}})"},
      // Exceptions of what tightens, and `allowIf`, that speak of less.
      {R"({"id":"d","deny":{"server":"files"},"unless":{"tool":["list","read_file"]}})",
       R"({"id":"d","deny":{"server":"files"},"unless":{"tool":"list"}})"},
      {R"({"id":"q","ask":{"server":"files"},"allowIf":{"group":["agents","support"]}})",
       R"({"id":"q","ask":{"server":"files"},"allowIf":{"group":"support"}})"},
  };
  for (const Change& each : cases) {
    const Loosening out = rules(each.before, each.after);
    EXPECT_FALSE(out.may_loosen) << each.before << " -> " << each.after << (out.looser.empty() ? "" : out.looser[0]);
    EXPECT_TRUE(out.changed);
  }
  EXPECT_FALSE(change(R"({"default":"ask"})", R"({"default":"deny"})").may_loosen);
  EXPECT_FALSE(change(R"({})", R"({"redact":["/a"],"budgets":[{"id":"b","per":"run","requests":1}]})").may_loosen);
  EXPECT_FALSE(change(R"({})", R"({})").changed);
}

TEST_F(CompareTest, EverythingElseMayLoosen) {
  const std::vector<Change> cases{
      {R"({"id":"d","deny":{"server":"files"}})", ""},
      {R"({"id":"q","ask":{"server":"files"}})", ""},
      {R"({"id":"h","hook":{"server":"files"},"url":"http://localhost/"})", ""},
      {"", R"({"id":"a","allow":{"server":"files"}})"},
      {"", R"({"id":"q","ask":{"server":"files"},"allowIf":{"tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","allow":{"server":["files","orders"]}})"},
      {R"({"id":"d","deny":{"server":"files"}})", R"({"id":"d","deny":{"server":"files","tool":"list"}})"},
      {R"({"id":"d","deny":{"server":"files"}})", R"({"id":"d","ask":{"server":"files"}})"},
      {R"({"id":"d","deny":{"server":"files"}})", R"({"id":"d","deny":{"server":"files"},"unless":{"tool":"list"}})"},
      {R"({"id":"d","deny":{"server":"files"}})", R"({"id":"d","deny":{"server":"files","group":"agents"}})"},
      {R"({"id":"d","deny":{"server":"files","paths":"/a"}})", R"({"id":"d","deny":{"server":"files","paths":"/b"}})"},
      {R"({"id":"q","ask":{"server":"files"},"approval":{"by":["payments"],"quorum":2}})",
       R"({"id":"q","ask":{"server":"files"},"approval":{"by":["payments"]}})"},
      {R"({"id":"q","ask":{"server":"files"},"approval":{"by":["payments"]}})",
       R"({"id":"q","ask":{"server":"files"},"approval":{"by":["owners"]}})"},
      {R"({"id":"q","ask":{"server":"files"}})",
       R"({"id":"q","ask":{"server":"files"},"approval":{"sessionUser":true}})"},
      {R"({"id":"q","ask":{"server":"files","tool":"list"},"allowIf":{"group":"agents"}})",
       R"({"id":"q","ask":{"server":"files"},"allowIf":{"group":"agents"}})"},
      {R"({"id":"q","ask":{"server":"files"},"unless":{"tool":"list"},"allowIf":{"group":"agents"}})",
       R"({"id":"q","ask":{"server":"files"},"allowIf":{"group":"agents"}})"},
      {R"({"id":"q","ask":{"server":"files"}})", R"({"id":"q","deny":{"server":"files","tool":"list"}})"},
      {R"({"id":"q","ask":{"server":"files"}})", R"({"id":"q","deny":{"server":"files"},"unless":{"tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","ask":{"server":"files"},"allowIf":{"tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files"}})", R"({"id":"a","hook":{"server":"files"},"url":"http://localhost/"})"},
      {R"({"id":"a","allow":{"server":"files"},"unless":{"tool":["list","read_file"]}})",
       R"({"id":"a","allow":{"server":"files"},"unless":{"tool":"list"}})"},
      {R"({"id":"a","allow":{"server":"files","tool":"list"}})",
       R"({"id":"a","allow":{"server":"files","tool":"read_file"}})"},
      {R"({"id":"f","require":{"server":"orders"},"evidence":{"tool":"check_config","result":{"a":true}}})",
       R"({"id":"f","require":{"server":"orders"},"evidence":{"tool":"check_config","result":{}}})"},
  };
  for (const Change& each : cases) {
    const Loosening out = rules(each.before, each.after);
    EXPECT_TRUE(out.may_loosen) << each.before << " -> " << each.after;
    EXPECT_FALSE(out.looser.empty());
  }
  EXPECT_TRUE(change(R"({"default":"deny"})", R"({"default":"ask"})").may_loosen);
  EXPECT_TRUE(change(R"({"redact":["/a"]})", R"({})").may_loosen);
  EXPECT_TRUE(change(R"({"budgets":[{"id":"b","per":"run","requests":1}]})",
                     R"({"budgets":[{"id":"b","per":"run","requests":2}]})")
                  .may_loosen);
  // An ask takes the place of the default: of a denial, or of stricter people.
  EXPECT_TRUE(change(R"({"default":"deny"})", R"({"default":"deny","rules":[{"id":"q","ask":{"server":"files"}}]})")
                  .may_loosen);
  EXPECT_TRUE(
      change(
          R"({"approval":{"by":"payments","quorum":2}})",
          R"({"approval":{"by":"payments","quorum":2},"rules":[{"id":"q","ask":{"server":"files"},"approval":{"quorum":1}}]})")
          .may_loosen);
  EXPECT_TRUE(change(R"({"default":"deny","rules":[{"id":"q","ask":{"server":"files","tool":"list"}}]})",
                     R"({"default":"deny","rules":[{"id":"q","ask":{"server":"files"}}]})")
                  .may_loosen);
  // The policy's own terms are inherited.
  EXPECT_TRUE(change(R"({"approval":{"quorum":2},"rules":[{"id":"q","ask":{"server":"files"}}]})",
                     R"({"rules":[{"id":"q","ask":{"server":"files"}}]})")
                  .may_loosen);
}

TEST_F(CompareTest, ABudgetIsTighterOnlyIfNothingOfItIsWider) {
  const auto changed = [&](const std::string& before, const std::string& after) {
    const auto text = [](const std::string& budget) { return R"({"budgets":[{"id":"b",)" + budget + "}]}"; };
    return change(text(before), text(after)).may_loosen;
  };
  const std::string sum = R"("per":"principal","match":{"server":"orders","tool":"refund"},"sum":"/amount","max":)";
  EXPECT_FALSE(changed(R"("per":"run","requests":9)", R"("per":"run","requests":5,"attempts":3)"));
  EXPECT_FALSE(changed(R"("per":"run","requests":9,"window":"1h")", R"("per":"run","requests":9,"window":"2h")"));
  EXPECT_FALSE(changed(R"("per":"run","requests":9,"window":"1h")", R"("per":"run","requests":9)"));
  EXPECT_FALSE(changed(R"("per":"run","rate":"9/s","burst":3)", R"("per":"run","rate":"5/s")"));
  EXPECT_FALSE(changed(R"("per":"run","deadline":"9m")", R"("per":"run","deadline":"5m")"));
  EXPECT_FALSE(changed(sum + "500", sum + "50"));
  EXPECT_FALSE(changed(R"("per":"run","requests":9,"match":{"server":"files","tool":"list"})",
                       R"("per":"run","requests":9,"match":{"server":"files"})"));
  EXPECT_TRUE(changed(R"("per":"run","requests":5)", R"("per":"run","requests":9)"));
  EXPECT_TRUE(changed(R"("per":"run","requests":5)", R"("per":"principal","requests":5)")) << "other counters";
  EXPECT_TRUE(changed(R"("per":"run","requests":5,"attempts":5)", R"("per":"run","requests":5)"));
  EXPECT_TRUE(changed(R"("per":"run","requests":5)", R"("per":"run","requests":5,"window":"1d")"));
  EXPECT_TRUE(changed(R"("per":"run","rate":"5/s")", R"("per":"run","rate":"5/s","burst":2)"));
  EXPECT_TRUE(changed(R"("per":"run","requests":5)", R"("per":"run","requests":5,"match":{"server":"files"})"));
  EXPECT_TRUE(changed(sum + "50", R"("per":"principal","match":{"server":"orders","tool":"refund"},"requests":1)"));
}

TEST_F(CompareTest, SeesAVariableThatMeansAnother) {
  const std::string text = R"({"rules":[{"id":"a","allow":{"server":"files","paths":{"pathWithin":"${project}"}}}]})";
  const auto before = shop_.policy(text);
  shop_.vocabulary.variables["project"] = "/";
  EXPECT_TRUE(compare(*before, *shop_.policy(text)).may_loosen);
}

TEST_F(CompareTest, SaysInWordsWhatIsAnother) {
  const auto words = [&](const std::string& before, const std::string& after) {
    const Loosening found =
        compare(*shop_.policy("{\"rules\":[" + before + "]}"), *shop_.policy("{\"rules\":[" + after + "]}"));
    return found.looser.empty() ? found.stricter.at(0) : found.looser.at(0);
  };
  EXPECT_EQ(words(R"({"id":"a","allow":{"server":"files","tool":"list"}})",
                  R"({"id":"a","allow":{"server":"files","tool":["list","read_file"]}})"),
            "the allow `a` is another than before: it speaks of server files, tool list, read_file instead of server "
            "files, tool list.");
  EXPECT_EQ(words(R"({"id":"q","ask":{"server":"files"},"approval":{"by":"payments","quorum":2}})",
                  R"({"id":"q","ask":{"server":"files"}})"),
            "the ask `q` is another than before: it is answered by any approver, within 1h instead of payments, 2 of "
            "them, within 1h.");
  EXPECT_EQ(words(R"({"id":"d","deny":{"server":"orders","arguments":{"amount":{"minimum":5}}}})",
                  R"({"id":"d","deny":{"server":"orders","arguments":{"amount":{"minimum":50}}}})"),
            "the deny `d` is another than before: its conditions are others.");
  EXPECT_EQ(words(R"({"id":"d","deny":{"server":"files"},"message":"No."})",
                  R"({"id":"d","deny":{"server":"files"},"message":"Never."})"),
            "the deny `d` has other words, and means the same.");
}

}  // namespace
}  // namespace sallyport::policy::test
