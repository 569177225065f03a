// Load-time checks of design section 4: each with its place and a remedy.
#include <gtest/gtest.h>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

class ParseTest : public ::testing::Test {
 protected:
  std::string faults(const std::string& text, bool idle_is_error = false) {
    return text_of(shop_.load(text, idle_is_error).faults);
  }
  std::string rule(const std::string& text) { return faults("{\"rules\":[" + text + "]}"); }
  Shop shop_;
};

constexpr const char* kWhole = R"({ "default": "ask", "approval": { "by": ["owners"], "expires": "1h", "quorum": 1 },
  "rules": [
    { "id": "reads",    "allow":   { "effect": "read" } },
    { "id": "no-env",   "deny":    { "server": "files", "paths": { "pattern": "(.*/)?\\.env.*" } }, "message": "Files named .env are off limits." },
    { "id": "project",  "allow":   { "server": "files", "effect": "file", "paths": { "pathWithin": "${project}" } } },
    { "id": "refunds",  "ask":     { "server": "orders", "tool": "refund" }, "approval": { "by": ["payments"], "notOwner": true },
                        "allowIf": [ { "group": "support", "arguments": { "order_id": {}, "amount": { "exclusiveMinimum": 0, "maximum": 50 }, "currency": "EUR", "note?": {} } } ] },
    { "id": "other",    "allow":   { "server": "files", "method": ["resources/read", "prompts/get", "completion/complete"] } },
    { "id": "fresh",    "require": { "server": "export", "tool": "queue_export" }, "evidence": { "tool": "check_config", "result": { "passed": true } } },
    { "id": "hooked",   "hook":    { "server": "orders" }, "url": "http://127.0.0.1:8181/v1/data/sallyport", "timeout": "300ms" } ],
  "budgets": [ { "id": "run", "per": "run", "requests": 50, "attempts": 60, "deadline": "10m" }, { "id": "refunds", "per": "principal", "window": "1h", "match": { "server": "orders", "tool": "refund" }, "sum": "/amount", "max": 500 }, { "id": "rate", "per": "principal", "rate": "10/s", "burst": 20 } ],
  "redact":  [ "/password" ], // kept out of receipts
  "tests":   [ { "call": { "principal": "agent:ci", "server": "files", "tool": "write_file", "arguments": { "path": "/home/me/project/a", "content": "x" } }, "verdict": "allow", "rules": ["project"] }, ] })";

TEST_F(ParseTest, LoadsTheWholeExampleOfTheDesign) {
  const LoadedPolicy loaded = shop_.load(kWhole);
  ASSERT_TRUE(loaded.ok()) << text_of(loaded.faults);
  const Policy& policy = *loaded.policy;
  ASSERT_EQ(policy.rules.size(), 7U);
  EXPECT_EQ(policy.approval.by, std::vector<std::string>{"owners"});
  const Rule& refunds = *policy.rule("refunds");
  EXPECT_EQ(refunds.approval.by, std::vector<std::string>{"payments"});
  EXPECT_TRUE(refunds.approval.not_owner);
  EXPECT_EQ(refunds.approval.expires, std::chrono::hours(1));
  EXPECT_EQ(policy.rule("fresh")->evidence->server, "export");
  EXPECT_EQ(policy.rule("hooked")->hook->timeout, std::chrono::milliseconds(300));
  ASSERT_EQ(policy.budgets.size(), 3U);
  EXPECT_EQ(*policy.budgets[1].budget.max, Decimal(500));
  EXPECT_EQ(policy.budgets[2].budget.burst, 20U);
  EXPECT_EQ(policy.redact, std::vector<std::string>{"/password"});
  EXPECT_EQ(policy.digest, "sha256:00");
  // The one thing it says is that nobody has accepted `export` yet.
  ASSERT_EQ(loaded.faults.size(), 1U) << text_of(loaded.faults);
  EXPECT_EQ(loaded.faults[0].level, Fault::Level::note);
  EXPECT_NE(loaded.faults[0].message.find("`export` has no accepted definitions"), std::string::npos);
}

struct Bad {
  const char* rule;
  const char* words;
};

TEST_F(ParseTest, NamesEveryFaultOfARule) {
  const std::vector<Bad> cases{
      {R"({"deny":{"server":"files"}})", "needs an `id`"},
      {R"({"id":"","deny":{"server":"files"}})", "1 to 128 bytes"},
      {R"({"id":"a"})", "needs one of deny, ask, allow, require and hook"},
      {R"({"id":"a","deny":{},"allow":{"effect":"read"}})", "make two rules of it"},
      {R"({"id":"a","dney":{"server":"files"}})", "did you mean `deny`"},
      {R"({"id":"a","deny":{"sever":"files"}})", "did you mean `server`"},
      {R"({"id":"a","deny":{"server":"fils"}})", "unknown server `fils`: did you mean `files`"},
      {R"({"id":"a","deny":{"server":"*"}})", "a server is named exactly"},
      {R"({"id":"a","deny":{"server":[]}})", "matches nothing"},
      {R"({"id":"a","deny":{"server":"files","tool":"write_fil"}})",
       "unknown tool `write_fil`: did you mean `write_file`"},
      {R"({"id":"a","deny":{"server":"files","tool":"Write_File"}})", "unknown tool"},
      {R"({"id":"a","deny":{"server":"files","tool":"*_file"}})", "only stand at the end"},
      {R"({"id":"a","deny":{"server":"files","tool":"w*e"}})", "only stand at the end"},
      {R"({"id":"a","deny":{"tool":"nowhere"}})", ""},  // `export` may have it: nobody can tell
      {R"({"id":"a","deny":{"group":"agnets"}})", "did you mean `agents`"},
      {R"({"id":"a","deny":{"principal":"agent:cy"}})", "did you mean `agent:ci`"},
      {R"({"id":"a","deny":{"effect":"rread"}})", "did you mean `read`"},
      {R"({"id":"a","deny":{"destructive":"yes"}})", "true or false"},
      {R"({"id":"a","deny":{"method":"tools/cal"}})", "did you mean `tools/call`"},
      {R"({"id":"a","deny":{"uri":"file:///x"}})", "add `\"method\""},
      {R"({"id":"a","deny":{"method":"resources/read","tool":"x"}})", "a resource has no `tool`"},
      {R"({"id":"a","allow":{"server":"files","effect":"file","method":"resources/read"}})", "has the effect `read`"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"amonut":{"minimum":1}}}})",
       "unknown argument `amonut`: did you mean `amount`"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"amount":"5"}}})",
       "the pinned schema takes number here"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"currency":"GBP"}}})",
       "never lets this value through"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"to":{"members":{"ibna":"x"}}}}})",
       "does not have `/to/ibna`"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"lines":{"items":{"members":{"skv":"x"}}}}}})",
       "did you mean `sku`"},
      {R"({"id":"a","deny":{"server":"files","arguments":{"nowhere":1}}})", "unknown argument"},
      {R"({"id":"a","allow":{"server":"orders","tool":"refund","arguments":{"order_id":{}}}})", "always has `amount`"},
      {R"({"id":"a","allow":{"server":"orders","anyArgument":"x"}})", "one good value"},
      {R"({"id":"a","allow":{"tool":"read_file"}})", "needs a `server` or an `effect`"},
      {R"({"id":"a","allow":{}})", "needs a `server` or an `effect`"},
      {R"({"id":"a","allow":{"effect":"unrated"}})", "no effect where a rule loosens"},
      {R"({"id":"a","deny":{"server":"files","paths":5}})", "paths are strings"},
      {R"({"id":"a","deny":{"anyArgument":{"members":{"a":1}}}})", "nothing can fulfil"},
      {R"({"id":"a","allow":{"effect":"read"},"hide":true})", "only a `deny` can hide"},
      {R"({"id":"a","deny":{"server":"files","paths":{"pattern":"x"}},"hide":true})", "without conditions"},
      {R"({"id":"a","deny":{"server":"files"},"approval":{"by":"owners"}})", "belongs to an `ask`"},
      {R"({"id":"a","ask":{"server":"files"},"approval":{"by":"ownres"}})", "did you mean `owners`"},
      {R"({"id":"a","ask":{"server":"files"},"approval":{"expires":"1 hour"}})", "must be a duration"},
      {R"({"id":"a","ask":{"server":"files"},"approval":{"quorum":3}})", "only 2 can answer"},
      {R"({"id":"a","ask":{"server":"files"},"approval":{"quorum":0}})", "1 or more"},
      {R"({"id":"a","ask":{"server":"files"},"approval":{"quorum":2,"grants":true}})", "quorum above one"},
      {R"({"id":"a","deny":{"server":"files"},"allowIf":{"group":"agents"}})", "belongs to an `ask`"},
      {R"({"id":"a","ask":{"server":"files"},"allowIf":{}})", "speaks of everything"},
      {R"({"id":"a","ask":{"server":"files"},"allowIf":[]})", "empty list"},
      {R"({"id":"a","ask":{"server":"orders","tool":"refund"},"allowIf":{"arguments":{"amount":{"not":5}}}})",
       "`not` cannot stand"},
      {R"({"id":"a","require":{"server":"orders"}})", "needs `evidence`"},
      {R"({"id":"a","require":{"server":"orders"},"evidence":{"tool":"check_config"}})", "needs a `result`"},
      {R"({"id":"a","require":{"server":"orders"},"evidence":{"tool":"chekc_config","result":{}}})",
       "did you mean `check_config`"},
      {R"({"id":"a","require":{"effect":"file"},"evidence":{"tool":"check_config","result":{}}})", "say the `server`"},
      {R"({"id":"a","deny":{"server":"orders"},"evidence":{"tool":"check_config","result":{}}})",
       "belongs to a `require`"},
      {R"({"id":"a","hook":{"server":"orders"}})", "needs the `url`"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"ftp://x/"})", "http or https URL"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"http://u:p@x/"})", "http or https URL"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"http://opa.example:8181/v1"})", "use https"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"http://127.0.0.1.example/"})", "use https"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"http://0x7f.1/"})", "use https"},
      {R"({"id":"a","deny":{"server":"orders","tool":"refund","arguments":{"currency":{"pattern":"GB.*"}}}})",
       "lets only certain values through, and none of them"},
      {R"({"id":"a","deny":{"server":"limits","tool":"limited","arguments":{"n":{"exclusiveMinimum":10}}}})",
       "no number in this range"},
      {R"({"id":"a","deny":{"server":"limits","tool":"limited","arguments":{"n":{"exclusiveMaximum":1}}}})",
       "no number in this range"},
      {R"({"id":"a","deny":{"server":"limits","tool":"limited","arguments":{"list":{"minItems":4}}}})",
       "no list of this length"},
      {R"({"id":"a","hook":{"server":"orders"},"url":"http://localhost/","timeout":"5m"})", "30s at most"},
      {R"({"id":"a","deny":{"server":"orders"},"url":"http://localhost/"})", "belongs to a `hook`"},
      {R"({"id":"a","deny":{"server":"${nope}"}})", "unknown variable `nope`"},
      {R"(5)", "must be an object"},
  };
  for (const Bad& each : cases) {
    const std::string text = rule(each.rule);
    EXPECT_NE(text.find(each.words), std::string::npos) << each.rule << "\n" << text;
    if (*each.words != '\0') {
      EXPECT_NE(text.find("error:"), std::string::npos) << each.rule << "\n" << text;
    }
  }
}

TEST_F(ParseTest, SaysLineAndColumnOfAllFaultsAtOnce) {
  const std::string text = faults(
      "{\n  \"rules\": [\n    { \"id\": \"a\", \"deny\": { \"server\": \"fils\" } },\n    { \"id\": \"b\", \"alow\": "
      "{} }\n  ],\n  \"defualt\": \"ask\"\n}");
  EXPECT_NE(text.find("policy.jsonc:3:38: error: unknown server `fils`"), std::string::npos) << text;
  EXPECT_NE(text.find("policy.jsonc:4:18: error: unknown member `alow`"), std::string::npos) << text;
  EXPECT_NE(text.find("policy.jsonc:6:3: error: unknown member `defualt`: did you mean `default`"), std::string::npos)
      << text;
}

TEST_F(ParseTest, RefusesFilesThatCanBeReadInTwoWays) {
  EXPECT_NE(
      faults(R"({"rules":[{"id":"a","deny":{"server":"files"},"deny":{"server":"orders"}}]})").find("stands twice"),
      std::string::npos);
  EXPECT_NE(faults(R"({"rules":[{"id":"a","deny":{"server":"files"}}],"rules":[]})").find("stands twice"),
            std::string::npos);
  EXPECT_NE(rule(R"({"id":"a","deny":{"server":"files"}},{"id":"a","deny":{"server":"orders"}})")
                .find("is taken by the rule in line 1"),
            std::string::npos);
  EXPECT_NE(faults(R"({"default":"allow"})").find("cannot be allow"), std::string::npos);
  EXPECT_NE(faults(R"([])").find("a policy is an object"), std::string::npos);
  EXPECT_NE(faults(R"({"rules":{}})").find("must be a list"), std::string::npos);
}

TEST_F(ParseTest, WarnsOfIdleRulesAndRefusesThemInCheck) {
  const std::vector<Bad> cases{
      {R"({"id":"d","deny":{"server":"files"}},{"id":"a","allow":{"server":"files","tool":"read_file"}})",
       "rule `a` can never matter: the deny `d` covers"},
      {R"({"id":"d","deny":{"tool":"read_*"}},{"id":"a","ask":{"server":"files","tool":"read_file","group":"agents"}})",
       "the deny `d` covers"},
      {R"({"id":"d","deny":{}},{"id":"a","hook":{"server":"files"},"url":"http://localhost/"})", "the deny `d` covers"},
      {R"({"id":"d","deny":{"server":"files","effect":["file","record"]}},{"id":"a","allow":{"server":"files","effect":"file"}})",
       "the deny `d` covers"},
      {R"({"id":"a","deny":{"server":"files","tool":"zz*"}})", "no accepted tool begins with `zz`"},
      {R"({"id":"a","deny":{"principal":"agnet:*"}})", "no client of the config begins with `agnet:`"},
      {R"({"id":"a","deny":{"principal":["agent:ci","gateway"]}})", "no rule is asked"},
      {R"({"id":"a","deny":{"server":"orders","labels":["money","mony"]}})", "did you mean `money`"},
      {R"({"id":"a","deny":{"server":"orders","labels":"secret-sauce"}})", "labels are given in the trust file"},
      {R"({"id":"a","allow":{"server":"orders","tool":"re*","arguments":{"order_id":{}}}})",
       "no tool that this names fits: `refund` always has `amount`"},
      {R"({"id":"a","allow":{"server":"orders","labels":"money","arguments":{"order_id":{}}}})",
       "no tool that this names fits"},
      {R"({"id":"a","allow":{"server":"orders","effect":"external"}})", "has such an effect"},
      {R"({"id":"a","allow":{"server":"orders","paths":{"pathWithin":"/x"}}})", "has `paths` in its contract"},
      {R"({"id":"a","allow":{"server":"files","pinned":false}})", "only for pinned"},
      {R"({"id":"a","ask":{"server":"files","tool":"list"},"unless":{"server":"files"}})", "takes back all"},
  };
  for (const Bad& each : cases) {
    const std::string text = "{\"rules\":[" + std::string(each.rule) + "]}";
    const LoadedPolicy loaded = shop_.load(text);
    EXPECT_TRUE(loaded.ok()) << each.rule;
    EXPECT_NE(text_of(loaded.faults).find(each.words), std::string::npos) << each.rule << "\n"
                                                                          << text_of(loaded.faults);
    EXPECT_NE(text_of(loaded.faults).find("warning:"), std::string::npos);
    EXPECT_FALSE(shop_.load(text, true).policy) << each.rule;
  }
}

TEST_F(ParseTest, WarnsOfToolsWhosePathsARuleDoesNotSee) {
  const std::string text = R"({"rules":[{"id":"d","deny":{"server":"files","paths":{"pattern":".*\\.env"}}}]})";
  EXPECT_EQ(faults(text), "");
  shop_.vocabulary.servers[0].tools[0].paths.clear();
  EXPECT_NE(faults(text).find("warning: `read_file` takes `path`, and its contract names no `paths`"),
            std::string::npos)
      << faults(text);
  EXPECT_EQ(faults(R"({"rules":[{"id":"a","allow":{"server":"files","paths":{"pathWithin":"/x"}}}]})"), "")
      << "what allows does not speak of it, and that is safe";
}

TEST_F(ParseTest, LeavesNamesAloneThatMayComeYet) {
  for (const char* match : {R"({"principal":"anon*"})", R"({"principal":"anonymous:*"})",
                            R"({"principal":"local:10*"})", R"({"principal":"client:*"})", R"({"principal":"user:*"})",
                            R"({"labels":["money","credentials"]})", R"({"labels":"sauce"})", R"({"principal":"*"})"}) {
    const LoadedPolicy loaded = shop_.load(R"({"rules":[{"id":"a","deny":)" + std::string(match) + "}]}", true);
    EXPECT_TRUE(loaded.ok()) << match << text_of(loaded.faults);
  }
}

TEST_F(ParseTest, LeavesRulesAloneThatADenyDoesNotCover) {
  for (
      const char* text :
      {R"({"id":"d","deny":{"server":"files","arguments":{"path":"/x"}}},{"id":"a","allow":{"server":"files","tool":"read_file"}})",
       R"({"id":"d","deny":{"server":"files"},"unless":{"group":"agents"}},{"id":"a","allow":{"server":"files","tool":"read_file"}})",
       R"({"id":"d","deny":{"server":"files","group":"support"}},{"id":"a","allow":{"server":"files","tool":"read_file"}})",
       R"({"id":"d","deny":{"server":"files","effect":"file"}},{"id":"a","allow":{"server":"files"}})",
       R"({"id":"d","deny":{"server":"files"}},{"id":"a","allow":{"server":"files","method":"resources/read"}})"}) {
    EXPECT_EQ(rule(text).find("can never matter"), std::string::npos) << text << rule(text);
  }
}

TEST_F(ParseTest, MergesSeveralFilesInAnyOrder) {
  const json::Document& a = shop_.parse(
      R"({"default":"deny","approval":{"by":"owners"},"rules":[{"id":"a","deny":{"server":"files","tool":"list"}}]})");
  const json::Document& b = shop_.parse(
      R"({"rules":[{"id":"b","ask":{"server":"orders"}}],"tests":[{"call":{"principal":"agent:ci","server":"files","tool":"list"},"verdict":"deny","rules":["a"]}]})");
  for (const bool swapped : {false, true}) {
    std::vector<Source> sources{{"a.jsonc", a.root()}, {"b.jsonc", b.root()}};
    if (swapped) std::swap(sources[0], sources[1]);
    const LoadedPolicy loaded = load(sources, shop_.vocabulary);
    ASSERT_TRUE(loaded.ok()) << text_of(loaded.faults);
    EXPECT_EQ(loaded.policy->default_verdict, Verdict::deny);
    EXPECT_EQ(loaded.policy->rule("b")->approval.by, std::vector<std::string>{"owners"});
  }
  const std::vector<Source> twice{{"a.jsonc", a.root()}, {"a2.jsonc", a.root()}};
  const std::string text = text_of(load(twice, shop_.vocabulary).faults);
  EXPECT_NE(text.find("a2.jsonc:1:12: error: `default` is said in another file too"), std::string::npos) << text;
  EXPECT_NE(text.find("is taken by the rule"), std::string::npos) << text;
}

TEST_F(ParseTest, RunsThePolicysOwnTests) {
  const std::string rules =
      R"("rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"e","deny":{"server":"files","paths":{"pattern":".*env"}}},
      {"id":"fresh","require":{"server":"orders","tool":"refund"},"evidence":{"tool":"check_config","result":{}}},{"id":"r","ask":{"server":"orders","tool":"refund"}}])";
  const auto tests = [&](const std::string& text) { return shop_.load("{" + rules + ",\"tests\":[" + text + "]}"); };
  const auto good = tests(
      R"({"call":{"principal":"agent:ci","server":"files","tool":"read_file","arguments":{"path":"/a"}},"verdict":"allow","rules":["reads"]},
      {"call":{"principal":"agent:ci","server":"files","tool":"read_file","arguments":{"path":"/.env"}},"verdict":"deny","rules":["e"]},
      {"call":{"principal":"new","groups":["agents"],"server":"files","tool":"write_file","arguments":{"path":"/a","content":""}},"verdict":"ask","rules":[]},
      {"call":{"principal":"agent:ci","server":"orders","tool":"refund","arguments":{"order_id":"1","amount":1}},"verdict":"deny","rules":["fresh"]},
      {"call":{"principal":"agent:ci","server":"orders","tool":"refund","arguments":{"order_id":"1","amount":1}},"verdict":"ask","evidence":["fresh"],"rules":["r"]},
      {"call":{"principal":"agent:ci","server":"export","tool":"queue"},"verdict":"deny"})");
  EXPECT_TRUE(good.ok()) << text_of(good.faults);
  EXPECT_NE(text_of(good.faults).find("note: test `tests[5]`: not run"), std::string::npos) << text_of(good.faults);

  const auto failing = tests(
      R"({"name":"env","call":{"principal":"agent:ci","server":"files","tool":"read_file","arguments":{"path":"/.env"}},"verdict":"allow","rules":["reads"]})");
  EXPECT_FALSE(failing.ok());
  EXPECT_TRUE(failing.policy) << "a reload that only tightens may still take it";
  EXPECT_NE(text_of(failing.faults).find("error: test `env`: expected allow by `reads`, got deny by `e`"),
            std::string::npos)
      << text_of(failing.faults);

  EXPECT_NE(text_of(tests(R"({"call":{"principal":"agent:ci","server":"files","tool":"nope"},"verdict":"ask"})").faults)
                .find("no accepted tool `nope`"),
            std::string::npos);
  EXPECT_NE(
      text_of(
          tests(
              R"({"call":{"principal":"agent:ci","server":"files","tool":"read_file","arguments":{}},"verdict":"ask"})")
              .faults)
          .find("do not fit the pinned schema"),
      std::string::npos);
  EXPECT_FALSE(
      tests(R"({"call":{"principal":"agent:ci","server":"files","tool":"list"},"verdict":"allow","rules":["raeds"]})")
          .policy);
  EXPECT_FALSE(tests(R"({"call":{"principal":"agent:c","server":"files","tool":"list"},"verdict":"allow"})").policy);
  EXPECT_FALSE(tests(R"({"call":{"principal":"agent:ci","server":"files","tool":"list"},"verdict":"yes"})").policy);
}

TEST_F(ParseTest, WantsATestForEachAllowWhereItSaysSo) {
  const std::string rules =
      R"("testedAllows":true,"rules":[{"id":"reads","allow":{"server":"files","effect":"read"}},
      {"id":"small","ask":{"server":"orders","tool":"refund"},"allowIf":{"arguments":{"order_id":{},"amount":{"maximum":5}}}},
      {"id":"far","allow":{"server":"export"}},{"id":"no","deny":{"server":"files","tool":"odd"}}])";
  const std::string read =
      R"({"call":{"principal":"agent:ci","server":"files","tool":"list","arguments":{}},"verdict":"allow"})";
  const std::string refund =
      R"({"call":{"principal":"agent:ci","server":"orders","tool":"refund","arguments":{"order_id":"1","amount":5}},"verdict":"allow"})";
  const LoadedPolicy none = shop_.load("{" + rules + "}");
  EXPECT_FALSE(none.ok());
  EXPECT_NE(text_of(none.faults).find("policy.jsonc:1:31: error: no test reaches `reads`"), std::string::npos)
      << text_of(none.faults);
  EXPECT_EQ(text_of(none.faults).find("`far`"), std::string::npos) << "nothing is known of its server yet";
  const LoadedPolicy one = shop_.load("{" + rules + R"(,"tests":[)" + read + "]}");
  EXPECT_NE(text_of(one.faults).find("no test reaches `small`"), std::string::npos) << text_of(one.faults);
  EXPECT_TRUE(shop_.load("{" + rules + R"(,"tests":[)" + read + "," + refund + "]}").ok());
  EXPECT_FALSE(shop_.load(R"({"testedAllows":"yes","rules":[]})").ok());
}

TEST_F(ParseTest, NamesTheFaultsOfBudgets) {
  const std::vector<Bad> cases{
      {R"({"per":"run","requests":5})", "needs an `id`"},
      {R"({"id":"a","requests":5})", "needs `per`"},
      {R"({"id":"a","per":"rnu","requests":5})", "did you mean `run`"},
      {R"({"id":"a","per":"run"})", "without a limit"},
      {R"({"id":"a","per":"run","requests":-1})", "whole number"},
      {R"({"id":"a","per":"run","rate":"10"})", "a count per time"},
      {R"({"id":"a","per":"run","rate":"0/s"})", "a count per time"},
      {R"({"id":"a","per":"run","requests":1,"burst":2})", "belongs to a `rate`"},
      {R"({"id":"a","per":"principal","deadline":"1m"})", "whole run"},
      {R"({"id":"a","per":"run","sum":"/amount"})", "needs a `max`"},
      {R"({"id":"a","per":"run","sum":"/amount","max":5})", "needs a `match`"},
      {R"({"id":"a","per":"run","sum":"amount","max":5,"match":{"server":"orders","tool":"refund"}})", "JSON Pointer"},
      {R"({"id":"a","per":"run","sum":"/amonut","max":5,"match":{"server":"orders","tool":"refund"}})",
       "unknown argument"},
      {R"({"id":"a","per":"run","sum":"/amount","max":-5,"match":{"server":"orders","tool":"refund"}})", "0 or more"},
      {R"({"id":"a","per":"run","max":5,"requests":1})", "belongs to a `sum`"},
      {R"({"id":"a","per":"run","sum":"/to/amonut","max":5,"match":{"server":"orders","tool":"refund"}})",
       "unknown argument"},
      {R"({"id":"a","per":"run","sum":"/nowhere/amount","max":5,"match":{"server":"orders","tool":"refund"}})",
       "unknown argument"},
      {R"({"id":"a","per":"run","sum":"/currency","max":5,"match":{"server":"orders","tool":"refund"}})",
       "every call would be refused"},
      {R"({"id":"a","per":"run","requests":1},{"id":"a","per":"run","requests":1})", "is taken"},
  };
  for (const Bad& each : cases) {
    const std::string text = faults("{\"budgets\":[" + std::string(each.rule) + "]}");
    EXPECT_NE(text.find(each.words), std::string::npos) << each.rule << "\n" << text;
  }
  EXPECT_NE(faults(R"({"redact":["password"]})").find("JSON Pointer"), std::string::npos);
}

TEST_F(ParseTest, WarnsOfWhatIsRedactedNowhere) {
  EXPECT_EQ(faults(R"({"redact":["/amonut"]})"), "") << "`export` may have it: nobody can tell";
  std::erase_if(shop_.vocabulary.servers, [](const VocabularyServer& server) { return !server.accepted; });
  EXPECT_NE(faults(R"({"redact":["/amonut"]})").find("did you mean `/amount`?"), std::string::npos);
  EXPECT_NE(faults(R"({"redact":["/to/ibna"]})").find("nothing is redacted by it"), std::string::npos);
  EXPECT_EQ(faults(R"({"redact":["/amount","/to/iban","/lines/*/sku","/paths/*"]})"), "");
}

TEST_F(ParseTest, EveryMisspelledMemberFailsToLoad) {
  // Each member of the example, one after the other, with a letter more: nothing may be silently ignored.
  const std::string text = kWhole;
  for (const char* name : {"default",  "approval",
                           "rules",    "budgets",
                           "redact",   "tests",
                           "id",       "allow",
                           "deny",     "effect",
                           "server",   "paths",
                           "pattern",  "message",
                           "ask",      "tool",
                           "notOwner", "allowIf",
                           "group",    "arguments",
                           "amount",   "exclusiveMinimum",
                           "maximum",  "currency",
                           "method",   "require",
                           "evidence", "hook",
                           "url",      "timeout",
                           "per",      "requests",
                           "attempts", "deadline",
                           "window",   "match",
                           "sum",      "max",
                           "rate",     "burst",
                           "call",     "principal",
                           "verdict",  "by",
                           "expires",  "quorum"}) {
    const std::string key = "\"" + std::string(name) + "\":";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      std::string mutated = text;
      mutated.insert(at + key.size() - 2, "x");
      EXPECT_FALSE(shop_.load(mutated).ok()) << name << " at " << at;
    }
  }
}

TEST_F(ParseTest, StopsAtItsBounds) {
  std::string many = "{\"rules\":[";
  for (std::size_t i = 0; i < 2000; ++i) many += std::string(i == 0 ? "" : ",") + "{\"bad\":1}";
  const LoadedPolicy loaded = shop_.load(many + "]}");
  EXPECT_FALSE(loaded.policy);
  EXPECT_LT(loaded.faults.size(), 1100U);
  EXPECT_NE(text_of(loaded.faults).find("too many faults"), std::string::npos);
  std::string too_many = "{\"rules\":[0";
  for (std::size_t i = 0; i < kMaxRules; ++i) too_many += ",0";
  EXPECT_NE(faults(too_many + "]}").find("more than 100000"), std::string::npos);
}

}  // namespace
}  // namespace sallyport::policy::test
