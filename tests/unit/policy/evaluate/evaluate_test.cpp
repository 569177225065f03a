// The bullets of design section 4 about what a match says and what comes of it.
#include "policy/evaluate/evaluate.hpp"

#include <gtest/gtest.h>

#include "policy/evaluate/explain.hpp"
#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

using V = Verdict;

class EvaluateTest : public ::testing::Test {
 protected:
  Verdict rules(const std::string& text, const Shop::Call& call) {
    return shop_.verdict("{\"rules\":[" + text + "]}", call);
  }
  Decision decision(const std::string& text, const Shop::Call& call) {
    return shop_.decide("{\"rules\":[" + text + "]}", call);
  }
  Shop::Call refund(const std::string& arguments) {
    return {.server = "orders", .tool = "refund", .arguments = arguments};
  }
  Shop::Call file(const std::string& path, const std::string& tool = "write_file") {
    return {.server = "files", .tool = tool, .arguments = "{\"path\":" + path + ",\"content\":\"x\"}"};
  }
  Shop shop_;
};

TEST_F(EvaluateTest, WithoutRulesEverythingAsks) {
  const auto decision = evaluate(*default_policy(), shop_.facts({}));
  EXPECT_EQ(decision.verdict, V::ask);
  EXPECT_TRUE(decision.by_default);
  ASSERT_EQ(decision.asks.size(), 1U);
  EXPECT_TRUE(decision.asks[0].by.empty());
  EXPECT_EQ(shop_.verdict(R"({"default":"deny"})", {}), V::deny);
}

TEST_F(EvaluateTest, DenyBeatsAskBeatsAllowWhateverTheOrder) {
  const std::string allow = R"({"id":"a","allow":{"server":"files"}})";
  const std::string ask = R"({"id":"q","ask":{"server":"files","tool":"read_file"}})";
  const std::string deny = R"({"id":"d","deny":{"tool":"read_*","group":"agents"}})";
  EXPECT_EQ(rules(allow, {}), V::allow);
  EXPECT_EQ(rules(allow + "," + ask, {}), V::ask);
  EXPECT_EQ(rules(ask + "," + allow, {}), V::ask);
  for (const std::string& text :
       {allow + "," + ask + "," + deny, deny + "," + allow + "," + ask, ask + "," + deny + "," + allow}) {
    const Decision out = decision(text, {});
    EXPECT_EQ(out.verdict, V::deny);
    EXPECT_EQ(out.rules.size(), 3U) << "all that matched are reported";
    ASSERT_EQ(out.reasons.size(), 1U);
    EXPECT_EQ(out.reasons[0].code, ReasonCode::policy_denied);
    EXPECT_EQ(out.reasons[0].rule, "d");
  }
}

TEST_F(EvaluateTest, TheDefaultIsTheSameWhateverRulesExist) {
  const std::string deny = R"({"id":"d","deny":{"server":"files","tool":"write_file"}})";
  EXPECT_EQ(rules(deny, {}), V::ask);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"orders"}})", {}), V::ask);
}

TEST_F(EvaluateTest, AnAllowHoldsOnlyForPinnedDefinitions) {
  const std::string allow = R"({"id":"a","allow":{"server":"files","effect":"read"}})";
  EXPECT_EQ(rules(allow, {}), V::allow);
  EXPECT_EQ(rules(allow, {.pinned = false}), V::ask);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"files","method":"resources/read"}})",
                  {.tool = "", .method = Method::resources_read, .uri = "file:///a"}),
            V::allow);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"files","method":"resources/read"}})",
                  {.tool = "", .method = Method::resources_read, .uri = "file:///a", .pinned = false}),
            V::ask);
}

TEST_F(EvaluateTest, UnratedCountsAsEveryEffectWhereItTightensAndAsNoneWhereItLoosens) {
  const Shop::Call odd{.server = "files", .tool = "odd"};
  EXPECT_EQ(rules(R"({"id":"a","allow":{"effect":["read","file","record","external"]}})", odd), V::ask);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"files"}})", odd), V::allow) << "it names no effect";
  for (const char* effect : {"read", "file", "record", "external", "unrated"}) {
    EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files","effect":")" + std::string(effect) + R"("}})", odd), V::deny)
        << effect;
  }
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files"},"unless":{"effect":"read"}})", odd), V::deny);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files","effect":"unrated"}})", {}), V::ask);
  // An exception of an allow tightens.
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"files"},"unless":{"effect":"external"}})", odd), V::ask);
}

TEST_F(EvaluateTest, AnonymousClientsCanOnlyBeAllowedReads) {
  const std::string allow =
      R"({"id":"a","allow":{"server":["files","orders"]}},{"id":"q","ask":{"server":"orders"},"allowIf":{"server":"orders"}})";
  EXPECT_EQ(rules(allow, {.arguments = R"({"path":"/a"})", .principal = "anonymous:1"}), V::allow);
  EXPECT_EQ(rules(allow, {.tool = "write_file", .principal = "anonymous:1"}), V::ask);
  EXPECT_EQ(rules(allow, {.tool = "odd", .principal = "anonymous:1"}), V::ask);
  EXPECT_EQ(rules(allow, {.server = "orders", .tool = "refund", .principal = "anonymous:1"}), V::ask);
  EXPECT_EQ(rules(allow, {.server = "orders", .tool = "refund"}), V::allow);
}

TEST_F(EvaluateTest, NamesAreComparedExactly) {
  const std::string allow = R"({"id":"a","allow":{"server":"files","tool":["read_file","read_m*"]}})";
  EXPECT_EQ(rules(allow, {}), V::allow);
  EXPECT_EQ(rules(allow, {.tool = "read_many"}), V::allow);
  for (const char* tool : {"READ_FILE", "read_file ", "read_fil", "read_files", "re\u0430d_file", "files__read_file"})
    EXPECT_EQ(rules(allow, {.tool = tool}), V::ask) << tool;
  for (const char* server : {"Files", "fil.es", "files_", "file"})
    EXPECT_EQ(rules(allow, {.server = server}), V::ask) << server;
  // A separator within a name joins nothing.
  EXPECT_EQ(
      rules(R"({"id":"d","deny":{"server":"files","tool":"read_file"}})", {.server = "files__read", .tool = "file"}),
      V::ask);
}

TEST_F(EvaluateTest, MatchesByPrincipalGroupEffectDestructiveLabelsAndPinned) {
  const Shop::Call refund{.server = "orders", .tool = "refund"};
  const auto denies = [&](const std::string& match, const Shop::Call& call) {
    return rules("{\"id\":\"d\",\"deny\":" + match + "}", call) == V::deny;
  };
  EXPECT_TRUE(denies(R"({"principal":"agent:ci"})", refund));
  EXPECT_FALSE(denies(R"({"principal":"agent:two"})", refund));
  EXPECT_TRUE(denies(R"({"principal":"agent:*"})", refund));
  EXPECT_TRUE(denies(R"({"group":["support"]})", refund));
  EXPECT_FALSE(denies(R"({"group":"support"})", {.server = "orders", .tool = "refund", .principal = "agent:two"}));
  EXPECT_TRUE(denies(R"({"effect":["record","external"]})", refund));
  EXPECT_FALSE(denies(R"({"effect":"read"})", refund));
  EXPECT_TRUE(denies(R"({"destructive":true})", refund));
  EXPECT_FALSE(denies(R"({"destructive":false})", refund));
  EXPECT_TRUE(denies(R"({"labels":["credentials","money"]})", refund));
  EXPECT_FALSE(denies(R"({"labels":"credentials"})", refund));
  EXPECT_TRUE(denies(R"({"pinned":true})", refund));
  EXPECT_FALSE(denies(R"({"pinned":false})", refund));
  EXPECT_TRUE(denies(R"({"pinned":false})", {.pinned = false}));
  EXPECT_TRUE(denies(R"({})", refund));
}

TEST_F(EvaluateTest, AMatchWithoutMethodSpeaksOfToolCallsOnly) {
  const Shop::Call resource{.tool = "", .method = Method::resources_read, .uri = "file:///home/a"};
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files"}})", resource), V::ask);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files","method":"resources/read"}})", resource), V::deny);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"method":["resources/read","tools/call"]}})", {}), V::deny);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"effect":"read","method":"resources/read","uri":"file:///home/*"}})", resource),
            V::allow);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"effect":"read","method":"resources/read","uri":"file:///etc/*"}})", resource),
            V::ask);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":"files","method":"prompts/get"}})",
                  {.tool = "greet", .method = Method::prompts_get}),
            V::allow);
  // An exception speaks of the methods of its rule.
  EXPECT_EQ(rules(R"({"id":"d","deny":{"method":"resources/read"},"unless":{"uri":"file:///home/*"}})", resource),
            V::ask);
}

TEST_F(EvaluateTest, PathsHoldIfAnyTightensAndAllLoosen) {
  const std::string deny = R"({"id":"d","deny":{"server":"files","paths":{"pattern":"(.*/)?\\.env.*"}}})";
  EXPECT_EQ(rules(deny, file("\"/p/.env\"")), V::deny);
  EXPECT_EQ(rules(deny, file("\"/p/env\"")), V::ask);
  EXPECT_EQ(rules(deny, file("5")), V::deny) << "what cannot be judged is denied";
  const Shop::Call many{.tool = "read_many",
                        .arguments = R"({"paths":["/home/me/project/a","/home/me/project/.env"]})"};
  EXPECT_EQ(rules(deny, many), V::deny);
  const std::string allow = R"({"id":"a","allow":{"server":"files","paths":{"pathWithin":"${project}"}}})";
  EXPECT_EQ(rules(allow, many), V::allow);
  EXPECT_EQ(rules(allow, {.tool = "read_many", .arguments = R"({"paths":["/home/me/project/a","/etc/x"]})"}), V::ask);
  EXPECT_EQ(rules(allow, {.tool = "read_many", .arguments = R"({"paths":[]})"}), V::ask) << "at least one";
  EXPECT_EQ(rules(allow, {.tool = "read_many", .arguments = R"({"paths":"/home/me/project/a"})"}), V::ask)
      << "no list of paths";
  EXPECT_EQ(rules(allow, file("\"/home/me/project/../x\"")), V::ask);
  EXPECT_EQ(rules(allow, {.tool = "odd"}), V::ask) << "a tool without paths";
  // An absent path stands for its default.
  EXPECT_EQ(rules(allow, {.tool = "list"}), V::ask);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files","paths":"/"}})", {.tool = "list"}), V::deny);
}

TEST_F(EvaluateTest, AnyArgumentLooksAtEveryScalarAtAnyDepth) {
  const std::string deny = R"({"id":"d","deny":{"anyArgument":{"pattern":"-.*"}}})";
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","to":{"name":"--output=/x"}})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","lines":[{"sku":"a"},{"sku":"-x"}]})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","amount":-5,"fast":true,"note":null})")), V::ask)
      << "other types count as false";
  EXPECT_EQ(rules(R"({"id":"d","deny":{"anyArgument":[13,"x"]}})", refund(R"({"amount":13})")), V::deny);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"anyArgument":{"minimum":10}}})", refund(R"({"amount":9007199254740993})")),
            V::deny)
      << "undetermined tightens";
  EXPECT_EQ(rules(deny, refund("{}")), V::ask);
}

TEST_F(EvaluateTest, AnyArgumentLooksAtWhatTheSchemaPutsInThePlaceOfWhatIsLeftOut) {
  const std::string text =
      R"({"rules":[{"id":"a","allow":{"server":"limits"}},{"id":"d","deny":{"anyArgument":["prod","eu"]}}]})";
  const auto verdict = [&](const std::string& arguments) {
    return shop_.verdict(text, {.server = "limits", .tool = "limited", .arguments = arguments});
  };
  EXPECT_EQ(verdict(R"({"env":"test"})"), Verdict::allow);
  EXPECT_EQ(verdict("{}"), Verdict::deny) << "the server takes `prod`";
  EXPECT_EQ(verdict(R"({"env":"test","to":{"env":"us"}})"), Verdict::allow);
  EXPECT_EQ(verdict(R"({"env":"test","to":{}})"), Verdict::deny) << "and `eu` in it";
}

TEST_F(EvaluateTest, TighteningHoldsUnlessFalseAndLooseningOnlyIfTrue) {
  const std::string deny =
      R"({"id":"d","deny":{"server":"orders","tool":"refund","arguments":{"amount":{"minimum":100}}}})";
  EXPECT_EQ(rules(deny, refund(R"({"amount":100})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({"amount":99.99})")), V::ask);
  EXPECT_EQ(rules(deny, refund(R"({"amount":"5"})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({"amount":9007199254740993})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({})")), V::deny) << "an omitted argument is no way round";
  const std::string allow =
      R"({"id":"a","allow":{"server":"orders","tool":"refund","arguments":{"order_id":{},"amount":{"maximum":50},"fast?":false}}})";
  EXPECT_EQ(rules(allow, refund(R"({"order_id":"1","amount":50})")), V::allow);
  EXPECT_EQ(rules(allow, refund(R"({"order_id":"1","amount":50,"fast":true})")), V::ask);
  EXPECT_EQ(rules(allow, refund(R"({"order_id":"1","amount":50,"note":"hi"})")), V::ask) << "unnamed";
  EXPECT_EQ(rules(allow, refund(R"({"order_id":"1"})")), V::ask);
  EXPECT_EQ(rules(allow, refund(R"({"order_id":"1","amount":"50"})")), V::ask);
}

TEST_F(EvaluateTest, ADenialSaysWhereItRestsOnWhatCouldNotBeJudged) {
  const std::string text =
      R"({"rules":[{"id":"a","allow":{"server":"files"}},{"id":"d","deny":{"server":"files","paths":{"pathWithin":"/etc"}},"message":"Not there."}]})";
  const auto message = [&](const std::string& path) {
    const Decision decision = shop_.decide(text, {.arguments = R"({"path":")" + path + "\"}"});
    EXPECT_EQ(decision.verdict, Verdict::deny) << path;
    return decision.reasons.empty() ? std::string() : decision.reasons[0].message;
  };
  EXPECT_EQ(message("/etc/passwd"), "Not there.");
  EXPECT_EQ(message("/home/../etc"),
            "Not there. (Something in the call could not be judged, so it counts as what the rule is about.)");
}

TEST_F(EvaluateTest, LongTextsAreJudgedByPatternsThatLookAtEachCharacterOnce) {
  const std::string text =
      R"({"rules":[{"id":"a","allow":{"server":"files"}},{"id":"d","deny":{"server":"files","anyArgument":{"pattern":"(.*/)?\\.github/workflows/.*"}}},{"id":"e","deny":{"server":"files","anyArgument":{"pattern":".*@(everyone|here).*"}}}]})";
  std::string content;
  for (int i = 0; i < 50'000; ++i) content += "a = b / c;\\n";
  const auto verdict = [&](const std::string& end) {
    return shop_.verdict(text,
                         {.tool = "write_file", .arguments = R"({"path":"/a","content":")" + content + end + "\"}"});
  };
  EXPECT_EQ(verdict(""), Verdict::allow);
  EXPECT_EQ(verdict("x/.github/workflows/y"), Verdict::deny);
  EXPECT_EQ(verdict("@here"), Verdict::deny);
}

TEST_F(EvaluateTest, UnlessIsWhatTheRuleDoesNotSpeakOf) {
  const std::string deny =
      R"({"id":"d","deny":{"server":"orders"},"unless":[{"tool":"get_*"},{"tool":"refund","arguments":{"order_id":{},"amount":{"maximum":5}}}]})";
  EXPECT_EQ(rules(deny, {.server = "orders", .tool = "get_order"}), V::ask);
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","amount":5})")), V::ask);
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","amount":6})")), V::deny);
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","amount":5,"note":"x"})")), V::deny) << "closed";
  EXPECT_EQ(rules(deny, refund(R"({"order_id":"1","amount":"5"})")), V::deny) << "undetermined is no exception";
  const std::string allow =
      R"({"id":"a","allow":{"server":"orders","tool":"refund"},"unless":{"arguments":{"amount":{"minimum":5}}}})";
  EXPECT_EQ(rules(allow, refund(R"({"amount":4,"note":"x"})")), V::allow);
  EXPECT_EQ(rules(allow, refund(R"({"amount":6})")), V::ask);
  EXPECT_EQ(rules(allow, refund(R"({"amount":"4"})")), V::ask) << "undetermined takes an allow back";
}

TEST_F(EvaluateTest, AllowIfTurnsOnlyItsOwnAsk) {
  const std::string ask = R"({"id":"r","ask":{"server":"orders","tool":"refund"},"approval":{"by":"payments"},
      "allowIf":[{"group":"support","arguments":{"order_id":{},"amount":{"exclusiveMinimum":0,"maximum":50},"currency":"EUR","note?":{}}}]})";
  const char* good = R"({"order_id":"1","amount":50,"currency":"EUR"})";
  EXPECT_EQ(rules(ask, refund(good)), V::allow);
  EXPECT_EQ(rules(ask, refund(R"({"order_id":"1","amount":51,"currency":"EUR"})")), V::ask);
  EXPECT_EQ(rules(ask, refund(R"({"order_id":"1","amount":50,"currency":"EUR","url":"x"})")), V::ask);
  EXPECT_EQ(rules(ask, {.server = "orders", .tool = "refund", .arguments = good, .principal = "agent:two"}), V::ask);
  EXPECT_EQ(rules(ask, {.server = "orders", .tool = "refund", .arguments = good, .pinned = false}), V::ask);
  const Decision both =
      decision(ask + R"(,{"id":"money","ask":{"labels":"money"},"approval":{"by":"owners"}})", refund(good));
  EXPECT_EQ(both.verdict, V::ask) << "other rules still count";
  ASSERT_EQ(both.asks.size(), 1U);
  EXPECT_EQ(both.asks[0].by, std::vector<std::string>{"owners"});
  // Also for an unrated tool.
  EXPECT_EQ(rules(R"({"id":"o","ask":{"tool":"odd"},"allowIf":{"arguments":{"x":"ok"}}})",
                  {.tool = "odd", .arguments = R"({"x":"ok"})"}),
            V::allow);
}

TEST_F(EvaluateTest, AllowIfDoesNotCountWhereTheAskItselfCannotBeJudged) {
  const std::string ask =
      R"({"id":"r","ask":{"server":"orders","tool":"refund","arguments":{"amount":{"maximum":50}}},"allowIf":{"arguments":{"order_id":{},"amount":{}}}})";
  EXPECT_EQ(rules(ask, refund(R"({"order_id":"1","amount":50})")), V::allow);
  EXPECT_EQ(rules(ask, refund(R"({"order_id":"1","amount":51})")), V::ask);
  EXPECT_EQ(rules(ask, refund(R"({"order_id":"1","amount":9007199254740993})")), V::ask);
  const std::string unless =
      R"({"id":"r","ask":{"server":"orders","tool":"refund"},"unless":{"arguments":{"order_id":{},"amount":5}},"allowIf":{"arguments":{"order_id":{},"amount":{}}}})";
  EXPECT_EQ(rules(unless, refund(R"({"order_id":"1","amount":6})")), V::allow);
  EXPECT_EQ(rules(unless, refund(R"({"order_id":"1","amount":"5"})")), V::ask);
}

TEST_F(EvaluateTest, AnAskThatCannotBeJudgedOpensNoDefaultDenial) {
  const std::string text =
      R"({"default":"deny","rules":[{"id":"r","ask":{"server":"orders","tool":"refund","arguments":{"amount":{"maximum":50}}}}]})";
  EXPECT_EQ(shop_.verdict(text, refund(R"({"amount":50})")), V::ask);
  EXPECT_EQ(shop_.verdict(text, refund(R"({"amount":51})")), V::deny);
  EXPECT_EQ(shop_.verdict(text, refund(R"({"amount":"50"})")), V::deny);
  EXPECT_EQ(shop_.verdict(text, refund(R"({})")), V::deny);
}

TEST_F(EvaluateTest, EachMatchingAskMustBeSatisfied) {
  const Decision out = decision(
      R"({"id":"a","ask":{"server":"orders"},"approval":{"by":"owners"}},{"id":"b","ask":{"labels":"money"},"approval":{"by":"payments","quorum":2}},
      {"id":"c","allow":{"server":"orders"}})",
      refund("{}"));
  EXPECT_EQ(out.verdict, V::ask);
  ASSERT_EQ(out.asks.size(), 2U);
  EXPECT_EQ(out.asks[0].by, std::vector<std::string>{"owners"});
  EXPECT_EQ(out.asks[1].quorum, 2U);
  EXPECT_EQ(ids(out), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(EvaluateTest, UnmetEvidenceRefusesWithWhatToRunFirst) {
  const auto policy = shop_.policy(
      R"({"rules":[{"id":"f","require":{"server":"orders","tool":"refund"},"evidence":{"tool":"check_config","result":{"passed":true}}},
      {"id":"a","allow":{"server":"orders"}}]})");
  const CallFacts facts = shop_.facts(refund("{}"));
  const Weighed weighed = weigh(*policy, facts);
  ASSERT_EQ(weighed.evidence.size(), 1U);
  EXPECT_EQ(weighed.evidence[0].tool, "check_config");
  EXPECT_FALSE(weighed.denied);
  const Decision unmet = conclude(*policy, weighed, {}, {});
  EXPECT_EQ(unmet.verdict, V::deny);
  ASSERT_EQ(unmet.reasons.size(), 1U);
  EXPECT_EQ(unmet.reasons[0].code, ReasonCode::evidence_required);
  EXPECT_NE(unmet.reasons[0].message.find("check_config"), std::string::npos);
  const std::vector<EvidenceFound> found{{.rule = "f", .found = true, .receipt = "rc_1", .words = {}}};
  EXPECT_EQ(conclude(*policy, weighed, found, {}).verdict, V::allow);
  EXPECT_TRUE(evidence_fulfils(*policy, "f", shop_.parse(R"({"passed":true,"more":1})").root()));
  EXPECT_FALSE(evidence_fulfils(*policy, "f", shop_.parse(R"({"passed":"true"})").root()));
  EXPECT_FALSE(evidence_fulfils(*policy, "f", shop_.parse(R"({})").root()));
  EXPECT_FALSE(evidence_fulfils(*policy, "f", {}));
  EXPECT_FALSE(evidence_fulfils(*policy, "a", shop_.parse(R"({"passed":true})").root()));
}

TEST_F(EvaluateTest, MetEvidenceAllowsNothingByItself) {
  const auto policy = shop_.policy(
      R"({"default":"deny","rules":[{"id":"f","require":{"server":"orders"},"evidence":{"tool":"check_config","result":{}}}]})");
  const std::vector<EvidenceFound> found{{.rule = "f", .found = true, .receipt = {}, .words = {}}};
  EXPECT_EQ(evaluate(*policy, shop_.facts(refund("{}")), found).verdict, V::deny);
}

TEST_F(EvaluateTest, HooksOnlyTighten) {
  const auto policy = shop_.policy(
      R"({"rules":[{"id":"h","hook":{"server":"orders"},"url":"http://127.0.0.1:1/"},{"id":"a","allow":{"server":"orders"}}]})");
  const CallFacts facts = shop_.facts(refund("{}"));
  const auto with = [&](HookAnswer::Decision decision) {
    const std::vector<HookAnswer> answers{{.rule = "h", .decision = decision, .message = "said so"}};
    return evaluate(*policy, facts, {}, answers);
  };
  EXPECT_EQ(with(HookAnswer::Decision::none).verdict, V::allow);
  EXPECT_EQ(with(HookAnswer::Decision::ask).verdict, V::ask);
  EXPECT_EQ(with(HookAnswer::Decision::deny).verdict, V::deny);
  EXPECT_EQ(with(HookAnswer::Decision::deny).reasons.at(0).code, ReasonCode::policy_denied);
  EXPECT_EQ(with(HookAnswer::Decision::failed).verdict, V::deny);
  EXPECT_EQ(with(HookAnswer::Decision::failed).reasons.at(0).code, ReasonCode::hook_failed);
  EXPECT_EQ(with(HookAnswer::Decision::failed).reasons.at(0).rule, "h");
  EXPECT_EQ(evaluate(*policy, facts).verdict, V::deny) << "no answer is a failure";
  const auto alone =
      shop_.policy(R"({"default":"deny","rules":[{"id":"h","hook":{"server":"orders"},"url":"http://127.0.0.1:1/"}]})");
  const std::vector<HookAnswer> none{{.rule = "h", .decision = HookAnswer::Decision::none, .message = {}}};
  EXPECT_EQ(evaluate(*alone, facts, {}, none).verdict, V::deny) << "`none` allows nothing";
  const std::vector<HookAnswer> ask{{.rule = "h", .decision = HookAnswer::Decision::ask, .message = {}}};
  EXPECT_EQ(evaluate(*alone, facts, {}, ask).verdict, V::deny) << "`ask` opens no default denial";
  const auto quorum = shop_.policy(
      R"({"approval":{"quorum":2},"rules":[{"id":"h","hook":{"server":"orders"},"url":"http://127.0.0.1:1/","approval":{"by":"payments","quorum":1}}]})");
  EXPECT_EQ(evaluate(*quorum, facts, {}, ask).asks.size(), 2U) << "nor does it take the place of the default's people";
}

TEST_F(EvaluateTest, DoesNotAskForEvidenceOrHooksOnceDenied) {
  const auto policy = shop_.policy(
      R"({"rules":[{"id":"h","hook":{"server":"orders"},"url":"http://127.0.0.1:1/"},{"id":"d","deny":{"labels":"money"}}]})");
  const Weighed weighed = weigh(*policy, shop_.facts(refund("{}")));
  EXPECT_TRUE(weighed.denied);
  const Decision out = conclude(*policy, weighed, {}, {});
  EXPECT_EQ(out.verdict, V::deny);
  ASSERT_EQ(out.reasons.size(), 1U) << "an unasked hook has not failed";
}

TEST_F(EvaluateTest, ARuleThatCannotBeWeighedDenies) {
  std::string text = R"({"id":"a","allow":{"server":"orders"}})";
  for (int i = 0; i < 60; ++i)
    text += R"(,{"id":"p)" + std::to_string(i) + R"(","ask":{"anyArgument":{"pattern":"(a+)+b"}}})";
  const Decision out = decision(text, refund("{\"note\":\"" + std::string(5000, 'a') + "\"}"));
  EXPECT_EQ(out.verdict, V::deny);
  ASSERT_FALSE(out.reasons.empty());
  EXPECT_EQ(out.reasons.back().code, ReasonCode::rule_failed);
}

TEST_F(EvaluateTest, CountsInBudgetsWhatCannotBeJudged) {
  const auto policy = shop_.policy(R"({"budgets":[{"id":"all","per":"run","requests":5},
      {"id":"big","per":"principal","requests":5,"match":{"server":"orders","tool":"refund","arguments":{"amount":{"minimum":100}}}}]})");
  EXPECT_EQ(budgets_for(*policy, shop_.facts(refund(R"({"amount":5})"))).size(), 1U);
  EXPECT_EQ(budgets_for(*policy, shop_.facts(refund(R"({"amount":500})"))).size(), 2U);
  EXPECT_EQ(budgets_for(*policy, shop_.facts(refund(R"({"amount":"5"})"))).size(), 2U);
}

TEST_F(EvaluateTest, HidesByPrincipalOnly) {
  const auto policy = shop_.policy(
      R"({"rules":[{"id":"d","deny":{"server":"orders","group":"support"},"unless":{"tool":"get_*"},"hide":true},{"id":"e","deny":{"server":"files","tool":"list"}}]})");
  EXPECT_TRUE(hidden(*policy, shop_.facts({.server = "orders", .tool = "refund"})));
  EXPECT_FALSE(hidden(*policy, shop_.facts({.server = "orders", .tool = "get_order"})));
  EXPECT_FALSE(hidden(*policy, shop_.facts({.server = "orders", .tool = "refund", .principal = "agent:two"})));
  EXPECT_FALSE(hidden(*policy, shop_.facts({.tool = "list"}))) << "denied, but listed";
}

TEST_F(EvaluateTest, LooksAtNoMoreThanTheRulesThatConcernTheCall) {
  const auto cost = [&](int rules) {
    std::string text =
        R"({"rules":[{"id":"x","allow":{"server":"files","tool":"read_file","arguments":{"path":{"maxLength":100},"head?":{}}}},
        {"id":"y","deny":{"server":"files","paths":{"pattern":".*secret.*"}}},{"id":"z","deny":{"tool":"read_*","anyArgument":"-x"}})";
    for (int i = 0; i < rules; ++i) {
      const char* server = i % 2 == 0 ? "orders" : "files";
      const char* tool = i % 2 == 0 ? "refund" : "write_file";
      const char* name = i % 2 == 0 ? "note" : "content";
      text += ",{\"id\":\"r" + std::to_string(i) + R"(","deny":{"server":")" + server + R"(","tool":")" + tool +
              R"(","arguments":{")" + name + R"(":"v)" + std::to_string(i) + "\"}}}";
    }
    const auto policy = shop_.policy(text + "]}");
    const Weighed out = weigh(*policy, shop_.facts({.arguments = R"({"path":"/a"})"}));
    return std::pair(out.candidates, out.conditions);
  };
  const auto few = cost(100);
  EXPECT_EQ(few.first, 3U);
  EXPECT_EQ(cost(10'000), few);
}

TEST_F(EvaluateTest, ExplainsWhatMatchedAndWhatElseDidNot) {
  const auto policy = shop_.policy(R"({"rules":[
      {"id":"refunds","ask":{"server":"orders","tool":"refund"},"approval":{"by":"payments","notOwner":true},"allowIf":{"arguments":{"order_id":{},"amount":{"maximum":50}}}},
      {"id":"fraud","deny":{"server":"orders","arguments":{"to":{"members":{"iban":{"pattern":"XX.*"}}}}}},
      {"id":"files","allow":{"server":"files"}}, {"id":"writes","allow":{"effect":"file"}}, {"id":"odd","deny":{"server":"orders","tool":"refund","arguments":{"note":{"maxLength":3}}}}]})");
  const Explanation out =
      explain(*policy, shop_.facts(refund(R"({"order_id":"1","amount":99.5,"to":{"iban":"DE99secret"}})")));
  const std::string text = to_text(out);
  ASSERT_EQ(out.rules.size(), 5U);
  EXPECT_TRUE(out.rules[0].matched);
  EXPECT_NE(out.rules[0].words.find("its `allowIf` does not hold: `/amount` fails `maximum` 50"), std::string::npos)
      << text;
  EXPECT_NE(out.rules[0].words.find("answered by payments, not the owner"), std::string::npos) << text;
  EXPECT_FALSE(out.rules[1].matched);
  EXPECT_EQ(out.rules[1].pointer, "/to/iban");
  EXPECT_NE(out.rules[2].words.find("is about server files"), std::string::npos) << text;
  EXPECT_NE(out.rules[3].words.find("names another effect than `record`"), std::string::npos) << text;
  EXPECT_TRUE(out.rules[4].matched);
  EXPECT_NE(out.rules[4].words.find("matches (server orders, tool refund, arguments note), because `/note` is absent"),
            std::string::npos)
      << text;
  EXPECT_EQ(out.rules[1].at, "policy.jsonc:3");
  EXPECT_NE(text.find("refunds (ask, policy.jsonc:2): matches (server orders, tool refund); its"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("99.5"), std::string::npos);
  EXPECT_EQ(out.decision.verdict, V::deny);
}

}  // namespace
}  // namespace sallyport::policy::test
