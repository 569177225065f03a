#include "gateway/relay/routes.hpp"

#include <gtest/gtest.h>

#include "gateway/ports/naming.hpp"

namespace sallyport::gateway::relay {
namespace {

TEST(FitsTemplate, LiteralPartsStandInOrderAndAtBothEnds) {
  EXPECT_TRUE(fits_template("a://items/{id}", "a://items/7"));
  EXPECT_TRUE(fits_template("a://items/{id}/data", "a://items/7/data"));
  EXPECT_TRUE(fits_template("a://{+path}", "a://x/y/z"));
  EXPECT_TRUE(fits_template("a://{x}/b/{y}", "a://1/b/2"));
  EXPECT_TRUE(fits_template("a://plain", "a://plain"));
  EXPECT_FALSE(fits_template("a://plain", "a://plain/more"));
  EXPECT_FALSE(fits_template("a://items/{id}/data", "a://items/7"));
  EXPECT_FALSE(fits_template("a://items/{id}", "b://items/7"));
  EXPECT_FALSE(fits_template("a://{x}/b/{y}", "a://1/c/2"));
}

TEST(Routes, APromptIsFoundByItsExposedNameOnly) {
  Routes routes;
  routes.add_prompt("a", "greet");
  routes.add_prompt("a", "greet");
  EXPECT_EQ(routes.prompt("a__greet").server, "a");
  EXPECT_EQ(routes.prompt("a__greet").name, "greet");
  EXPECT_TRUE(routes.prompt("greet").server.empty());
  routes.forget("a", ListKind::resources);
  EXPECT_EQ(routes.prompt("a__greet").server, "a");
  routes.forget("a", ListKind::prompts);
  EXPECT_TRUE(routes.prompt("a__greet").server.empty());
}

TEST(Routes, TwoPromptsOfOneNameAreRefusedBoth) {
  Routes routes;
  routes.add_prompt("a__b", "c");
  routes.add_prompt("a", "b__c");
  EXPECT_TRUE(routes.prompt("a__b__c").server.empty());
  EXPECT_FALSE(routes.prompt("a__b__c").problem.empty());
}

TEST(Routes, AnExactUriBeatsTemplatesAndTheLongestTemplateOthers) {
  Routes routes;
  routes.add_template("a", "x://{any}");
  routes.add_template("b", "x://items/{id}");
  routes.add_resource("c", "x://items/7");
  EXPECT_EQ(routes.resource("x://items/7").server, "c");
  EXPECT_EQ(routes.resource("x://items/8").server, "b");
  EXPECT_EQ(routes.resource("x://else").server, "a");
  EXPECT_EQ(routes.resource("x://items/{id}").server, "b");  // as a completion names it
  routes.add_resource("d", "x://items/7");
  EXPECT_TRUE(routes.resource("x://items/7").problem.contains("`c`, `d`"));
  EXPECT_TRUE(routes.resource("y://").server.empty());
}

TEST(Routes, AServerTakesNoMoreThanItsShare) {
  Routes routes;
  for (std::size_t i = 0; i <= Routes::kMost; ++i) routes.add_resource("loud", "l://" + std::to_string(i));
  routes.add_resource("quiet", "q://1");
  EXPECT_TRUE(routes.resource("l://" + std::to_string(Routes::kMost)).server.empty());
  EXPECT_EQ(routes.resource("l://0").server, "loud");
  EXPECT_EQ(routes.resource("q://1").server, "quiet");
  const std::string longest = "q://" + std::string(Routes::kLongest, 'x');
  routes.add_resource("quiet", longest);
  EXPECT_TRUE(routes.resource(longest).server.empty());
}

}  // namespace
}  // namespace sallyport::gateway::relay
