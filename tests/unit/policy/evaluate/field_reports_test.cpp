// What went wrong for others with rules and names, each kind as a test; the numbers are those of the reports.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {
namespace {

using V = Verdict;

class PolicyReports : public ::testing::Test {
 protected:
  Verdict rules(const std::string& text, const Shop::Call& call) {
    return shop_.verdict("{\"rules\":[" + text + "]}", call);
  }
  Shop shop_;
};

TEST_F(PolicyReports, C086DelimitersInNamesJoinNothing) {
  shop_.vocabulary.servers.push_back(
      {.id = "a", .accepted = true, .tools = {VocabularyTool{.name = "b__c"}}, .prompts = {}});
  shop_.vocabulary.servers.push_back(
      {.id = "a__b", .accepted = true, .tools = {VocabularyTool{.name = "c"}}, .prompts = {}});
  const std::string deny = R"({"id":"d","deny":{"server":"a","tool":"b__c"}})";
  EXPECT_EQ(rules(deny, {.server = "a", .tool = "b__c"}), V::deny);
  EXPECT_EQ(rules(deny, {.server = "a__b", .tool = "c"}), V::ask);
}

TEST_F(PolicyReports, C088LookAlikeNamesNeverMatchAnAllow) {
  const std::string allow = R"({"id":"a","allow":{"server":"files","tool":"read_file"}})";
  for (const char* name : {"re\u0430d_file", "read_file\u200b", "\u202eelif_daer", "Read_file", "read_file\n"})
    EXPECT_EQ(rules(allow, {.tool = name}), V::ask);
  // And a rule about one is a fault: no such tool was accepted.
  EXPECT_FALSE(
      shop_.load("{\"rules\":[{\"id\":\"a\",\"allow\":{\"server\":\"files\",\"tool\":\"re\u0430d_file\"}}]}").policy);
}

TEST_F(PolicyReports, C089ARuleForOneServerAllowsNoOther) {
  shop_.vocabulary.servers.push_back(
      {.id = "foo.bar", .accepted = true, .tools = {VocabularyTool{.name = "x"}}, .prompts = {}});
  shop_.vocabulary.servers.push_back(
      {.id = "foo_bar", .accepted = true, .tools = {VocabularyTool{.name = "x"}}, .prompts = {}});
  const std::string allow = R"({"id":"a","allow":{"server":"foo.bar"}})";
  EXPECT_EQ(rules(allow, {.server = "foo.bar", .tool = "x"}), V::allow);
  EXPECT_EQ(rules(allow, {.server = "foo_bar", .tool = "x"}), V::ask);
}

TEST_F(PolicyReports, C091TheDefaultDoesNotFlipWithTheKindsOfRules) {
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"files","tool":"write_file"}})", {}), V::ask);
  EXPECT_EQ(
      shop_.verdict(R"({"default":"deny","rules":[{"id":"d","deny":{"server":"files","tool":"write_file"}}]})", {}),
      V::deny);
}

TEST_F(PolicyReports, C095OptionInjectionIsCaughtByAnyArgument) {
  const std::string deny = R"({"id":"options","deny":{"anyArgument":{"pattern":"-.*|ext::.*"}}})";
  for (const char* arguments :
       {R"({"order_id":"--output=/var/x"})", R"({"order_id":"-c"})", R"({"lines":[{"sku":"--upload-pack=touch x"}]})",
        R"({"url":"ext::sh -c id"})", R"({"to":{"name":"-\n"}})"}) {
    EXPECT_EQ(rules(deny, {.server = "orders", .tool = "refund", .arguments = arguments}), V::deny) << arguments;
  }
}

TEST_F(PolicyReports, C097ADuplicateKeyIsAnErrorWithItsLine) {
  const LoadedPolicy loaded =
      shop_.load("{\"rules\":[{\"id\":\"x\",\n\"deny\":{\"server\":\"files\"},\n\"deny\":{\"server\":\"orders\"}}]}");
  EXPECT_FALSE(loaded.policy);
  EXPECT_NE(text_of(loaded.faults).find("policy.jsonc:3:1: error: this name stands twice"), std::string::npos)
      << text_of(loaded.faults);
}

TEST_F(PolicyReports, C092OrderAndLayersNeverMatter) {
  const std::string deny = R"({"id":"d","deny":{"server":"files","tool":"read_file"}})";
  const std::string ask = R"({"id":"q","ask":{"server":"files","tool":"read_file"}})";
  const std::string allow = R"({"id":"a","allow":{"server":"files"}})";
  for (const auto& [rules_text, expected] :
       std::vector<std::pair<std::string, V>>{{deny + "," + allow, V::deny},
                                              {allow + "," + deny, V::deny},
                                              {ask + "," + allow, V::ask},
                                              {allow + "," + ask, V::ask},
                                              {allow + "," + ask + "," + deny, V::deny}}) {
    EXPECT_EQ(rules(rules_text, {.arguments = R"({"path":"a"})"}), expected) << rules_text;
  }
}

TEST_F(PolicyReports, C094WhatNobodyRatedIsAllowedByNoEffect) {
  // `odd` has no contract: whatever its annotations claim, rules see it unrated.
  for (const char* effect : {"read", "file", "record", "external"}) {
    const std::string name = std::string("\"effect\":\"") + effect + "\"";
    EXPECT_EQ(rules(R"({"id":"a","allow":{)" + name + "}}", {.tool = "odd"}), V::ask) << effect;
    EXPECT_EQ(rules(R"({"id":"d","deny":{)" + name + "}}", {.tool = "odd"}), V::deny) << effect;
  }
}

TEST_F(PolicyReports, C098ADefinitionThatChangedIsNotAllowedByWhatAllowedTheOldOne) {
  const std::string allow = R"({"id":"a","allow":{"server":"files","tool":"read_file"}})";
  const Shop::Call before{.arguments = R"({"path":"a"})"};
  Shop::Call after = before;
  after.pinned = false;
  EXPECT_EQ(rules(allow, before), V::allow);
  EXPECT_EQ(rules(allow, after), V::ask);
  EXPECT_EQ(rules(R"({"id":"q","ask":{"server":"files"},"allowIf":{"tool":"read_file"}})", after), V::ask);
  EXPECT_EQ(rules(allow + R"(,{"id":"d","deny":{"pinned":false}})", after), V::deny);
}

TEST_F(PolicyReports, T20AToolThatLooksLikeAnothersIsNeitherAllowedNorMissedByADenyOfItsServer) {
  shop_.vocabulary.servers.push_back(
      {.id = "evil", .accepted = true, .tools = {VocabularyTool{.name = "re\u0430d_file"}}, .prompts = {}});
  const Shop::Call call{.server = "evil", .tool = "re\u0430d_file"};
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":["files","evil"],"tool":"read_file"}})", call), V::ask);
  EXPECT_EQ(rules(R"({"id":"a","allow":{"server":["files","evil"],"effect":"read"}})", call), V::ask);
  EXPECT_EQ(rules(R"({"id":"d","deny":{"server":"evil"}})", call), V::deny);
}

TEST_F(PolicyReports, AMissingArgumentIsNoWayRoundADeny) {
  const std::string deny = R"({"id":"d","deny":{"server":"orders","tool":"refund","arguments":{"currency":"USD"}}})";
  EXPECT_EQ(rules(deny, {.server = "orders", .tool = "refund", .arguments = R"({"order_id":"1","amount":1})"}),
            V::deny);
}

TEST_F(PolicyReports, AStarInTheMiddleOfADenyIsAnErrorNotASilentPermit) {
  EXPECT_FALSE(shop_.load(R"({"rules":[{"id":"d","deny":{"server":"files","tool":"wr*le"}}]})").policy);
  EXPECT_FALSE(
      shop_.load(R"({"rules":[{"id":"d","deny":{"server":"files","tool":"*"}},{"id":"e","deny":{"tool":"**"}}]})")
          .policy);
}

}  // namespace
}  // namespace sallyport::policy::test
