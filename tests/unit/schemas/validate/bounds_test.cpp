// Promise 11: whatever the schema and the instance, judging them ends soon, and a bound refuses.
#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

std::string nested(std::size_t levels, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(SchemaBounds, AHundredThousandLevelsDoNotOverflowTheStack) {
  const std::string deep = nested(100'000, "[", "]");
  const auto verdict = judge(compiled(R"({"items":{"$ref":"#"}})"), deep);
  EXPECT_FALSE(verdict.valid);
  EXPECT_TRUE(verdict.limit_reached);
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].keyword, "limit");
  EXPECT_TRUE(judge(compiled("{}"), deep).valid);
  EXPECT_TRUE(judge(compiled(R"({"type":"array","uniqueItems":true,"not":{"const":[[]]}})"), "[" + deep + ",1]").valid);
  EXPECT_FALSE(judge(compiled(R"({"uniqueItems":true})"), "[" + deep + "," + deep + "]").valid);
  EXPECT_TRUE(
      judge(compiled(R"({"properties":{"a":{"$ref":"#"}}})"), nested(100'000, "{\"a\":", "}").insert(500'000, "1"))
          .limit_reached);
}

TEST(SchemaBounds, RecursionWithinTheDocumentsDepthIsJudged) {
  const auto schema =
      compiled(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"label":{"type":"string"},
    "kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["label"],"additionalProperties":false}}})");
  std::string tree = R"({"label":"leaf"})";
  for (int i = 0; i < 60; ++i) tree = R"({"label":"x","kids":[)" + tree + "]}";
  EXPECT_TRUE(accepts(schema, tree));
  const auto leaf = tree.find("\"leaf\"");
  EXPECT_FALSE(accepts(schema, tree.replace(leaf, 6, "1")));
}

TEST(SchemaBounds, ExponentialSchemasRunOutOfSteps) {
  std::string text = "{\"$defs\":{";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
    text += "\"d" + std::to_string(i) + "\":{\"anyOf\":[" + next + "," + next + "]},";
  }
  const auto verdict = judge(compiled(text + R"("d60":{"type":"string"}},"$ref":"#/$defs/d0"})"), "1");
  EXPECT_FALSE(verdict.valid);
  EXPECT_TRUE(verdict.limit_reached);
}

TEST(SchemaBounds, APatternThatRunsAwayRefusesWithItsOwnReason) {
  const auto schema = compiled(R"({"properties":{"s":{"pattern":"^(a+)+$"}}})");
  EXPECT_TRUE(accepts(schema, R"({"s":"aaaa"})"));
  const auto verdict = judge(schema, "{\"s\":\"" + std::string(60, 'a') + "!\"}");
  EXPECT_TRUE(verdict.limit_reached);
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].instance, "/s");
  EXPECT_NE(verdict.faults[0].message.find("pattern"), std::string::npos);
  // Below `not` a bound is no match either: it refuses.
  EXPECT_TRUE(judge(compiled(R"({"not":{"pattern":"^(a+)+$"}})"), "\"" + std::string(60, 'a') + "!\"").limit_reached);
  EXPECT_TRUE(judge(compiled(R"({"propertyNames":{"pattern":"^(a+)+$"}})"), "{\"" + std::string(60, 'a') + "!\":1}")
                  .limit_reached);
}

TEST(SchemaBounds, PatternsOverManyStringsShareOneBudget) {
  std::string texts = "[\"\"";
  for (int i = 0; i < 2'000; ++i) texts += ",\"" + std::string(14, 'a') + "!\"";
  EXPECT_TRUE(judge(compiled(R"({"items":{"not":{"pattern":"^(a+)+$"}}})"), texts + "]").limit_reached);
}

TEST(SchemaBounds, LongScansOfAPatternAreCounted) {
  const auto verdict = judge(compiled(R"({"pattern":"(.*)(.*)(.*)(.*)x$"})"), "\"x" + std::string(100'000, 'a') + "\"");
  EXPECT_TRUE(verdict.limit_reached);
}

TEST(SchemaBounds, HugeNumbersAreCheapOrRefused) {
  EXPECT_TRUE(accepts(R"({"type":"integer","multipleOf":7})", "7e300"));
  EXPECT_FALSE(accepts(R"({"multipleOf":7})", "1e999999999"));
  EXPECT_FALSE(accepts(R"({"maximum":5})", "1e99999999999999999999"));
  EXPECT_TRUE(accepts(R"({"minimum":5})", "1e99999999999999999999"));
  EXPECT_TRUE(judge(compiled(R"({"type":"integer"})"), "0." + std::string(2'000, '1')).limit_reached);
  std::string numbers = "[1";
  for (int i = 0; i < 5'000; ++i) numbers += ",1" + std::string(1'000, '7');
  EXPECT_FALSE(judge(compiled("{\"items\":{\"multipleOf\":1." + std::string(900, '3') + "}}"), numbers + "]").valid);
}

TEST(SchemaBounds, DynamicReferencesThatNeverEndAreRefused) {
  const auto schema = compiled(R"({"$id":"https://x.example/a","$dynamicAnchor":"n","$ref":"b","$defs":{"b":{"$id":"b",
    "$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n"}}}}})");
  EXPECT_TRUE(judge(schema, "1").limit_reached);
}

TEST(SchemaBounds, AWideSchemaIsCheap) {
  std::string text = "{\"properties\":{\"p\":{}";
  std::string instance = "{\"p\":1";
  for (int i = 0; i < 10'000; ++i) {
    text += ",\"prop" + std::to_string(i) + "\":{\"type\":\"string\"}";
    instance += ",\"prop" + std::to_string(i) + "\":\"x\"";
  }
  const auto schema = compiled(text + "},\"additionalProperties\":false}");
  EXPECT_LT(schema.memory(), 10U << 20);
  const auto verdict = judge(schema, instance + "}");
  EXPECT_TRUE(verdict.valid);
  EXPECT_LT(verdict.steps, 50'000U);
}

std::string repeated(std::string_view element, int count) {
  std::string text = "[" + std::string(element);
  for (int i = 1; i < count; ++i) text.append(",").append(element);
  return text + "]";
}

TEST(SchemaBounds, WhatCostsMoreThanAStepIsChargedMore) {
  // Division by a thousand digits.
  EXPECT_TRUE(
      judge(compiled(R"({"items":{"not":{"multipleOf":0.)" + std::string(1'000, '7') + "}}}"), repeated("9e300", 1'000))
          .limit_reached);
  // Numbers that share one double, and deep arrays that differ at their end: equal hashes, each pair compared.
  std::string numbers = "[1";
  std::string arrays = "[1";
  for (int i = 0; i < 1'000; ++i) {
    numbers += ",0." + std::string(300, '1') + std::to_string(1'000 + i);
    arrays += "," + std::string(12, '[') + std::to_string(i) + std::string(12, ']');
  }
  EXPECT_TRUE(judge(compiled(R"({"uniqueItems":true})"), numbers + "]").limit_reached);
  EXPECT_TRUE(judge(compiled(R"({"uniqueItems":true})"), arrays + "]").limit_reached);
  EXPECT_TRUE(judge(compiled(R"({"items":{"not":{"enum":)" + repeated("[[1]]", 2'000) + "}}}"), repeated("[[2]]", 100))
                  .limit_reached);
}

TEST(SchemaBounds, PatternsOverLongTextsCostWhatTheyRunOver) {
  std::string base64;
  while (base64.size() < 300'000) base64 += "QUJD";
  EXPECT_TRUE(accepts(R"x({"pattern":"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"})x",
                      "\"" + base64 + "\""));
  EXPECT_TRUE(accepts(R"x({"pattern":"^(?!.*<script)"})x", "\"" + base64 + "\""));
  EXPECT_FALSE(accepts(R"x({"pattern":"^(?!.*<script)"})x", "\"" + base64 + "<script>\""));
  EXPECT_FALSE(accepts(R"({"pattern":"foo"})", "\"" + std::string(300'000, 'f') + "\""));
  // What one item runs over in vain is charged all the same.
  const std::string many = "\"" + std::string(30'000, 'a') + "d\"";
  EXPECT_TRUE(judge(compiled(R"({"pattern":"a{20000}[bc]"})"), many).limit_reached);
  EXPECT_TRUE(judge(compiled(R"({"pattern":"(a*)\\1[bc]"})"), many).limit_reached);
}

TEST(SchemaBounds, TheReasonNamesThePatternOnlyIfThePatternIsIt) {
  const auto verdict =
      judge(compiled(R"({"items":{"pattern":"^a*$"}})", {.steps = 20'000}), repeated(R"("aaa")", 10'000));
  ASSERT_TRUE(verdict.limit_reached);
  EXPECT_NE(verdict.faults.at(0).message.find("steps"), std::string::npos) << verdict.faults[0].message;
}

TEST(SchemaBounds, ManyRequiredMembersAreCheap) {
  std::string required = "[\"m0\"";
  std::string instance = "{\"m0\":1";
  for (int i = 1; i < 20'000; ++i) {
    required += ",\"m" + std::to_string(i) + "\"";
    instance += ",\"m" + std::to_string(i) + "\":1";
  }
  const auto schema = compiled("{\"required\":" + required + "]}");
  EXPECT_TRUE(accepts(schema, instance + "}"));
  EXPECT_FALSE(accepts(schema, R"({"m0":1,"m19999":1})"));
}

TEST(SchemaBounds, ReferencesAndDynamicAnchorsByTheThousandAreResolved) {
  std::string text = R"({"$defs":{"end":true)";
  std::string uses;
  for (int i = 0; i < 4'000; ++i) {
    const std::string n = std::to_string(i);
    text += ",\"d" + n + R"(":{"$id":"r)" + n + R"(","$dynamicAnchor":"a)" + n +
            R"(","properties":{"p":{"$dynamicRef":"#a)" + n + R"("},"q":{"type":"integer"}}})";
    uses += (i == 0 ? "\"m" : ",\"m") + n + R"(":{"$ref":"#/$defs/d)" + n + "\"}";
  }
  const auto schema = compiled(text + "},\"properties\":{" + uses + "}}");
  EXPECT_TRUE(accepts(schema, R"({"m3999":{"p":{"p":{"q":1}}}})"));
  EXPECT_FALSE(accepts(schema, R"({"m3999":{"p":{"p":{"q":"x"}}}})"));
}

}  // namespace
}  // namespace sallyport::schema
