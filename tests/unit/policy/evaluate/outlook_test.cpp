// What is said of recorded calls: never a verdict that what is not known could change.
#include "policy/evaluate/outlook.hpp"

#include "policy/evaluate/suggest.hpp"
#include "tests/unit/policy/support/random_policy.hpp"

namespace sallyport::policy::test {
namespace {

class OutlookTest : public PropertyTest {};

TEST_F(OutlookTest, ToldWithoutArgumentsItIsTheVerdictWithThem) {
  int told = 0, open = 0;
  for (int i = 0; i < kRounds * 4; ++i) {
    const auto rules = some_rules();
    const Shop::Call made = call();
    const CallFacts facts = shop_.facts(made);
    const auto policy = shop_.policy(policy_text(rules, random_.pick<std::string>({"ask", "deny"})));
    const Verdict real = evaluate(*policy, facts).verdict;
    const Outlook known = outlook(*policy, facts, true);
    ASSERT_EQ(known.verdict, real) << trace(rules, made);
    CallFacts bare = facts;
    bare.arguments = {};
    const Outlook unknown = outlook(*policy, bare, false);
    ++(unknown.verdict ? told : open);
    if (unknown.verdict) {
      ASSERT_EQ(*unknown.verdict, real) << trace(rules, made);
    }
  }
  EXPECT_GT(told, kRounds / 10);
  EXPECT_GT(open, kRounds / 10);
}

TEST_F(OutlookTest, NamesTheRulesThatGiveItAndThoseThatAreOpen) {
  const auto policy = shop_.policy(
      R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},)"
      R"({"id":"small","allow":{"server":"orders","tool":"refund","arguments":{"order_id":{},"amount":{"maximum":5}}}}]})");
  const Outlook read = outlook(*policy, shop_.facts({.tool = "list"}), false);
  EXPECT_EQ(read.verdict, V::allow);
  EXPECT_EQ(read.rules, std::vector<std::string>{"reads"});
  const Outlook refund = outlook(*policy, shop_.facts({.server = "orders", .tool = "refund"}), false);
  EXPECT_FALSE(refund.verdict);
  EXPECT_EQ(refund.rules, std::vector<std::string>{"small"});
}

TEST_F(OutlookTest, TakesEvidenceAndHooksAsTheyWereAndTellsNothingOfNewOnes) {
  const auto policy =
      shop_.policy(R"({"rules":[{"id":"all","allow":{"server":"orders"}},)"
                   R"({"id":"hooked","hook":{"server":"orders","tool":"get_order"},"url":"http://127.0.0.1:1/"}]})");
  const CallFacts facts = shop_.facts({.server = "orders", .tool = "get_order", .arguments = R"({"order_id":"1"})"});
  EXPECT_EQ(outlook(*policy, facts, true, {{"hooked", V::allow}}).verdict, V::allow);
  EXPECT_EQ(outlook(*policy, facts, true, {{"hooked", V::ask}}).verdict, V::ask);
  EXPECT_EQ(outlook(*policy, facts, true, {{"hooked", V::deny}}).verdict, V::deny);
  EXPECT_FALSE(outlook(*policy, facts, true).verdict);
}

class SuggestTest : public OutlookTest {
 protected:
  static Seen seen(const std::string& tool, Verdict verdict, bool read, const std::string& principal = "agent:ci") {
    const bool order = tool == "refund" || tool == "get_order";
    return {order ? "orders" : "files", tool, principal, verdict, read, 3};
  }
};

TEST_F(SuggestTest, ADraftLoadsAndItsTestsPass) {
  const std::vector<Seen> calls{seen("read_file", V::allow, true), seen("write_file", V::allow, false),
                                seen("refund", V::ask, false),     seen("get_order", V::deny, true),
                                seen("gone", V::allow, true),      seen("list", V::allow, true, "agent:gone")};
  const std::string text = suggest(calls, shop_.vocabulary, V::deny);
  const LoadedPolicy loaded = shop_.load(text, true);
  ASSERT_TRUE(loaded.ok()) << text << text_of(loaded.faults);
  EXPECT_EQ(loaded.policy->tests.size(), 4U) << text;
  EXPECT_EQ(evaluate(*loaded.policy, shop_.facts({.tool = "read_file", .arguments = R"({"path":"a"})"})).verdict,
            V::allow);
  EXPECT_EQ(evaluate(*loaded.policy, shop_.facts({.tool = "write_file"})).verdict, V::ask) << "a write asks at least";
  EXPECT_EQ(evaluate(*loaded.policy, shop_.facts({.tool = "read_file", .principal = "agent:two"})).verdict, V::deny)
      << "another client was not seen";
  EXPECT_NE(text.find("left out, no accepted tool: files/gone by agent:ci: 3 allowed"), std::string::npos) << text;
  EXPECT_NE(text.find("left out, no client of the config: files/list by agent:gone"), std::string::npos) << text;
}

TEST_F(SuggestTest, ItIsNeverLooserThanWhatWasSeen) {
  const std::vector<std::string> tools{"read_file", "write_file", "list", "odd", "refund", "get_order"};
  for (int round = 0; round < 50; ++round) {
    std::vector<Seen> calls;
    for (int i = random_.below(12); i >= 0; --i) {
      calls.push_back(seen(random_.pick(tools), random_.pick<V>({V::allow, V::ask, V::deny}), random_.chance(50),
                           random_.pick<std::string>({"agent:ci", "agent:two"})));
    }
    const V otherwise = random_.pick<V>({V::ask, V::deny});
    const auto policy = shop_.policy(suggest(calls, shop_.vocabulary, otherwise));
    for (const Seen& one : calls) {
      const V now =
          evaluate(*policy, shop_.facts({.server = one.server, .tool = one.tool, .principal = one.principal})).verdict;
      ASSERT_GE(now, one.verdict) << one.tool << suggest(calls, shop_.vocabulary, otherwise);
    }
  }
}

TEST_F(SuggestTest, NamesThatAreNoNamesStayInTheirComment) {
  const std::string text =
      suggest(std::vector<Seen>{{"files", "x\n{\"default\":\"ask\"}", "agent:ci", V::allow, true, 1}}, shop_.vocabulary,
              V::deny);
  const LoadedPolicy loaded = shop_.load(text);
  ASSERT_TRUE(loaded.ok()) << text;
  EXPECT_EQ(loaded.policy->default_verdict, V::deny);
  EXPECT_TRUE(loaded.policy->rules.empty());
}

}  // namespace
}  // namespace sallyport::policy::test
