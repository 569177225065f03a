#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

using Standing = Property::Standing;

TEST(SchemaProperty, FindsWhatGovernsAPlace) {
  const auto schema = compiled(R"({"type":"object","properties":{"mode":{"$ref":"#/$defs/mode","default":"a"},
    "list":{"type":"array","items":{"type":"integer","maximum":9}},"pair":{"type":"array","prefixItems":[{"const":1}],"items":false}},
    "required":["mode"],"allOf":[{"properties":{"size":{"type":"integer","minimum":1}},"required":["size"]}],
    "patternProperties":{"^x-":{"type":"string"}},"$defs":{"mode":{"enum":["a","b"]}}})");
  const auto mode = schema.property("/mode");
  EXPECT_EQ(mode.standing, Standing::declared);
  EXPECT_TRUE(mode.required);
  EXPECT_TRUE(mode.keyword("default").equals("a"));
  EXPECT_EQ(mode.keyword("enum").size(), 2U);
  EXPECT_FALSE(mode.keyword("type"));
  EXPECT_TRUE(schema.property("/size").required);
  EXPECT_EQ(schema.property("/size").keyword("minimum").integer(), 1);
  EXPECT_TRUE(schema.property("/list/3").keyword("type").equals("integer"));
  EXPECT_FALSE(schema.property("/list").required);
  EXPECT_EQ(schema.property("/pair/0").standing, Standing::declared);
  EXPECT_EQ(schema.property("/pair/1").standing, Standing::impossible);
  EXPECT_EQ(schema.property("/x-a").standing, Standing::declared);
  EXPECT_EQ(schema.property("/other").standing, Standing::unknown);
  EXPECT_EQ(schema.property("").standing, Standing::declared);
}

TEST(SchemaProperty, TellsImpossibleFromUnknown) {
  const auto closed =
      compiled(R"({"type":"object","properties":{"a":{"type":"string"},"never":false},"additionalProperties":false})");
  EXPECT_EQ(closed.property("/b").standing, Standing::impossible);
  EXPECT_EQ(closed.property("/never").standing, Standing::impossible);
  EXPECT_EQ(closed.property("/a/b").standing, Standing::impossible);
  const auto branch = compiled(R"({"type":"object","anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]})");
  EXPECT_EQ(branch.property("/a").standing, Standing::unknown);
  const auto unevaluated =
      compiled(R"({"type":"object","allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false})");
  EXPECT_EQ(unevaluated.property("/a").standing, Standing::declared);
  EXPECT_EQ(unevaluated.property("/b").standing, Standing::impossible);
  const auto open = compiled(R"({"type":"object","anyOf":[{"properties":{"b":{}}}],"unevaluatedProperties":false})");
  EXPECT_EQ(open.property("/b").standing, Standing::unknown);
  EXPECT_EQ(closed.property("a").standing, Standing::unknown);
}

TEST(SchemaProperty, RecursionEnds) {
  const auto schema = compiled(R"({"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}})");
  EXPECT_TRUE(schema.property("/next/next/next/v").keyword("type").equals("integer"));
}

TEST(SchemaProperty, ManyPatternsShareOneBudget) {
  std::string text = R"({"patternProperties":{"^x":true)";
  for (int i = 0; i < 5'000; ++i) text += ",\"^(\\\\w+)+[" + std::to_string(i) + "#]$\":{}";
  const auto schema = compiled(text + "}}");
  EXPECT_EQ(schema.property("/" + std::string(60, 'a')).standing, Property::Standing::declared)
      << "not known: it may be";
}

}  // namespace
}  // namespace sallyport::schema
