// Policies that are too large, too deep or too clever: a clear fault, in bounded time.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

std::string repeat(std::string_view text, int times) {
  std::string out;
  out.reserve(text.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Generous: a sanitizer on a busy machine. What is quadratic takes minutes.
constexpr auto kSoon = std::chrono::seconds(60);

class HostileTest : public ::testing::Test {
 protected:
  // The faults, found soon.
  std::string faults(std::string text) {
    const auto begin = std::chrono::steady_clock::now();
    const LoadedPolicy loaded = shop_.load(std::move(text));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon);
    loads_ = loaded.ok();
    return text_of(loaded.faults);
  }
  static std::string many(int count, const std::string& kind, const std::string& match) {
    std::string out = R"({"rules":[)";
    for (int i = 0; i < count; ++i) {
      std::string rule = match;
      const std::string number = std::to_string(i);
      for (std::size_t at = rule.find('#'); at != std::string::npos; at = rule.find('#', at + number.size()))
        rule.replace(at, 1, number);
      out += (i == 0 ? "" : ",") + (R"({"id":"r)" + number + "\",\"" + kind + "\":" + rule + "}");
    }
    return out + "]}";
  }
  Shop shop_;
  bool loads_ = false;
};

TEST_F(HostileTest, ManyRulesLoadAndMoreThanAHundredThousandDoNot) {
  EXPECT_EQ(faults(many(20'000, "deny", R"({"server":"export","tool":"t#"})")).find("error"), std::string::npos);
  EXPECT_TRUE(loads_);
  const std::string too_many = faults(many(100'001, "deny", R"({"server":"export","tool":"t#"})"));
  EXPECT_FALSE(loads_);
  EXPECT_NE(too_many.find("`rules` has more than 100000"), std::string::npos) << too_many.substr(0, 300);
}

TEST_F(HostileTest, ManyRulesThatMightCoverEachOtherTakeNoTimeSquared) {
  for (const char* match : {R"({"principal":"agent:p#*"})", R"({"labels":"l#"})",
                            R"({"server":"files","arguments":{"path":"/p#"}})", R"({"tool":"re*","labels":"l#"})"}) {
    const std::string all = faults(many(4'000, "deny", match));
    EXPECT_EQ(all.find("error"), std::string::npos) << all.substr(0, 300);
    std::string both = many(4'000, "deny", match);
    both.replace(both.rfind("]}"), 2, "," + many(4'000, "ask", match).substr(std::string(R"({"rules":[)").size()));
    for (std::size_t at = both.find(R"("ask")"); at != std::string::npos; at = both.find(R"("ask")", at + 1)) {
      const std::size_t id = both.rfind(R"("r)", at);
      both[id + 1] = 'a';
    }
    faults(std::move(both));
  }
}

TEST_F(HostileTest, FaultsAreBoundedToo) {
  const std::string all = faults(many(100'000, "deny", R"({"sever":"files"})"));
  EXPECT_FALSE(loads_);
  EXPECT_NE(all.find("too many faults"), std::string::npos);
  EXPECT_LT(all.size(), 1U << 20);
}

TEST_F(HostileTest, AnyNumberOfIdleRulesIsNoError) {
  const std::string all = faults(many(5'000, "deny", R"({"principal":"agnet:#*"})"));
  EXPECT_TRUE(loads_) << all.substr(0, 300);
  EXPECT_NE(all.find("can never matter"), std::string::npos);
  EXPECT_NE(all.find("more of this kind are not listed"), std::string::npos);
}

TEST_F(HostileTest, OneRuleOfNothingButFaultsCostsNoTimeSquared) {
  std::string members, names, keywords;
  for (int i = 0; i < 50'000; ++i) {
    const std::string number = std::to_string(i);
    members += ",\n\"m" + number + "\":1";
    names += (i == 0 ? "\"n" : ",\n\"n") + number + "\":1";
    keywords += (i == 0 ? "\"k" : ",\n\"k") + number + "\":1";
  }
  for (const std::string& rule :
       {R"("deny":{"server":"files")" + members + "}", R"("deny":{"server":"files","arguments":{)" + names + "}}",
        R"("deny":{"server":"files","arguments":{"path":{)" + keywords + "}}}",
        R"("deny":{"server":"orders","arguments":{"to":{"members":{)" + names + "}}}}"}) {
    const std::string all = faults(R"({"rules":[{"id":"d",)" + rule + "}]}");
    EXPECT_FALSE(loads_);
    EXPECT_LT(all.size(), 4U << 20);
  }
}

TEST_F(HostileTest, ACallThatEveryRuleConcernsIsDecidedInTimeOfTheirNumber) {
  for (const char* rule : {R"("ask":{"server":"export"},"approval":{"expires":"#ms"}})",
                           R"("ask":{"server":"export","arguments":{"x":{"minimum":1}}},"approval":{"expires":"#ms"}})",
                           R"("require":{"server":"export"},"evidence":{"tool":"check","result":{}}})",
                           R"("hook":{"server":"export"},"url":"https://localhost/"})"}) {
    std::string text = R"({"rules":[)";
    for (int i = 1; i <= 20'000; ++i) {
      std::string one = rule;
      if (const auto at = one.find('#'); at != std::string::npos) one.replace(at, 1, std::to_string(i));
      text += (i == 1 ? "" : ",") + (R"({"id":"r)" + std::to_string(i) + "\"," + one);
    }
    const auto policy = shop_.policy(text + "]}");
    const CallFacts facts = shop_.facts({.server = "export", .tool = "t", .arguments = R"({"x":"y"})"});
    const auto begin = std::chrono::steady_clock::now();
    const Weighed weighed = weigh(*policy, facts);
    std::vector<EvidenceFound> found;
    for (const EvidenceWanted& wanted : weighed.evidence) found.push_back({wanted.rule, true, {}, {}});
    std::vector<HookAnswer> answers;
    for (const HookWanted& wanted : weighed.hooks) answers.push_back({wanted.rule, HookAnswer::Decision::ask, {}});
    EXPECT_EQ(conclude(*policy, weighed, found, answers).verdict, Verdict::ask);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << rule;
  }
}

TEST_F(HostileTest, GroupsCannotHoldGroups) {
  EXPECT_NE(faults(R"({"groups":{"a":["b"],"b":["a"]},"rules":[]})").find("groups"), std::string::npos);
  EXPECT_FALSE(loads_);
  shop_.vocabulary.groups = {"a", "b"};
  EXPECT_EQ(faults(R"({"rules":[{"id":"d","deny":{"group":["a","b","a"]}}]})").find("error"), std::string::npos);
}

TEST_F(HostileTest, ConditionsAreAsDeepAsTheyMayBe) {
  for (const int depth : {10, 25, 50}) {
    const std::string nested = repeat(R"({"members":{"x":)", depth) + "5" + repeat("}}", depth);
    faults(R"({"rules":[{"id":"d","deny":{"server":"export","arguments":{"a":)" + nested + "}}}]}");
    const std::string nots = repeat(R"({"not":)", depth) + "5" + repeat("}", depth);
    faults(R"({"rules":[{"id":"d","deny":{"server":"export","arguments":{"a":)" + nots + "}}}]}");
  }
}

TEST_F(HostileTest, LongNamesListsAndPatternsAreTakenOrRefused) {
  const std::string name(1'000'000, 'x');
  faults(R"({"rules":[{"id":")" + name + R"(","deny":{"server":"export"}}]})");
  faults(R"({"rules":[{"id":"d","deny":{"server":"export","tool":")" + name + R"("},"message":")" + name + R"("}]})");
  faults(R"({"rules":[{"id":"d","deny":{"server":"export","arguments":{"a":[)" + repeat("1,", 500'000) + "2]}}}]}");
  for (const std::string& pattern : {std::string("(a+)+$"), repeat("(", 500) + repeat(")", 500),
                                     std::string("a{1000}{1000}"), name, "(?:" + repeat("a|", 20'000) + "b)*"}) {
    faults(R"({"rules":[{"id":"d","deny":{"server":"export","arguments":{"a":{"pattern":")" + pattern + R"("}}}}]})");
    if (!loads_) continue;
    const auto policy = shop_.policy(R"({"rules":[{"id":"d","deny":{"server":"export","arguments":{"a":{"pattern":")" +
                                     pattern + R"("}}}}]})");
    const auto begin = std::chrono::steady_clock::now();
    const Decision decision = evaluate(
        *policy,
        shop_.facts({.server = "export", .tool = "t", .arguments = R"({"a":")" + std::string(100'000, 'a') + "!\"}"}));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon) << pattern.substr(0, 40);
    EXPECT_GE(decision.verdict, Verdict::ask);
  }
}

TEST_F(HostileTest, NumbersBeyondWhatReadersHoldAreFaults) {
  for (const char* number : {"1e400", "1e-400", "123456789012345678901234567890", "-1", "1.5"}) {
    const std::string all =
        faults(std::string(R"({"rules":[],"budgets":[{"id":"b","per":"run","requests":)") + number + "}]}");
    EXPECT_FALSE(loads_) << number;
    EXPECT_NE(all.find("policy.jsonc:1:"), std::string::npos) << number << all;
  }
  for (const char* duration : {"0s", "-1s", "1e9d", "99999999999999999999d", "1", "1h30m"}) {
    faults(std::string(R"({"rules":[],"budgets":[{"id":"b","per":"run","requests":1,"window":")") + duration + "\"}]}");
    EXPECT_FALSE(loads_) << duration;
  }
}

}  // namespace
}  // namespace sallyport::policy::test
