#include "schemas/validate/schema.hpp"

#include <array>
#include <thread>

#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

TEST(Schema, NumbersAreJudgedOnTheirText) {
  const auto schema = compiled(R"({"properties":{"id":{"type":"integer","minimum":0},"page":{"type":"integer"},
    "amount":{"type":"number","multipleOf":0.01},"big":{"maximum":9007199254740992}}})");
  EXPECT_TRUE(accepts(schema, R"({"id":9007199254740993,"page":7.0,"amount":19.99})"));
  EXPECT_TRUE(accepts(schema, R"({"page":1e3,"amount":0.29})"));
  EXPECT_TRUE(accepts(schema, R"({"id":123456789012345678901234567890})"));
  EXPECT_FALSE(accepts(schema, R"({"page":7.5})"));
  EXPECT_FALSE(accepts(schema, R"({"amount":19.995})"));
  EXPECT_TRUE(accepts(schema, R"({"big":9007199254740992})"));
  EXPECT_FALSE(accepts(schema, R"({"big":9007199254740993})"));
  EXPECT_FALSE(accepts(schema, R"({"big":9007199254740992.000000000001})"));
  EXPECT_FALSE(accepts(schema, R"({"id":-0.0001})"));
  EXPECT_TRUE(accepts(schema, R"({"id":-0})"));
}

TEST(Schema, ConditionalsHoldBesideOtherKeywords) {
  const auto schema =
      compiled(R"({"type":"object","properties":{"mode":{"enum":["thumb","full"]},"px":{"type":"integer"}},
    "required":["mode","px"],"allOf":[{"if":{"properties":{"mode":{"const":"thumb"}}},"then":{"properties":{"px":{"maximum":256}}},
    "else":{"properties":{"px":{"maximum":8192}}}}]})");
  EXPECT_TRUE(accepts(schema, R"({"mode":"thumb","px":256})"));
  EXPECT_FALSE(accepts(schema, R"({"mode":"thumb","px":257})"));
  EXPECT_TRUE(accepts(schema, R"({"mode":"full","px":257})"));
  EXPECT_FALSE(accepts(schema, R"({"mode":"full","px":9000})"));
}

TEST(Schema, SiblingsOfAReferenceAndAnchorsAndIdsHold) {
  const auto schema = compiled(R"({"$id":"https://schemas.example.test/pick","type":"object","properties":{"any":true,
    "never":false,"c":{"$ref":"#col","maxLength":4},"d":{"$ref":"defs/shade"}},"$defs":{"col":{"$anchor":"col","type":"string",
    "pattern":"^#"},"shade":{"$id":"defs/shade","type":"integer","minimum":0}}})");
  EXPECT_TRUE(accepts(schema, R"({"any":null,"c":"#fff","d":3})"));
  EXPECT_FALSE(accepts(schema, R"({"c":"#fffff"})"));
  EXPECT_FALSE(accepts(schema, R"({"c":"fff"})"));
  EXPECT_FALSE(accepts(schema, R"({"d":-1})"));
  EXPECT_FALSE(accepts(schema, R"({"never":1})"));
}

TEST(Schema, NullAndAbsentDifferAndNullableIsNoKeyword) {
  const auto schema = compiled(R"({"type":"object","properties":{"owner":{"type":["integer","null"]},
    "state":{"enum":["open","done",null]},"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
    "tag":{"type":"string","nullable":true}},"required":["owner"],"additionalProperties":false})");
  EXPECT_TRUE(accepts(schema, R"({"owner":null,"state":null,"note":null})"));
  EXPECT_FALSE(accepts(schema, R"({"state":null})"));
  EXPECT_FALSE(accepts(schema, R"({"owner":1,"tag":null})"));
  EXPECT_FALSE(accepts(schema, R"({"owner":1,"_meta":{}})"));
}

TEST(Schema, FormatsAnnotateUnlessAsserted) {
  constexpr std::string_view kText = R"({"properties":{"at":{"format":"date-time"},"n":{"format":"uint"}}})";
  EXPECT_TRUE(accepts(kText, R"({"at":"tomorrow","n":-1})"));
  const auto strict = compiled(kText, {.assert_formats = true});
  EXPECT_FALSE(accepts(strict, R"({"at":"tomorrow"})"));
  EXPECT_TRUE(accepts(strict, R"({"at":"2024-02-29T23:59:60Z","n":-1})"));
}

TEST(Schema, LengthCountsCodePoints) {
  const auto schema = compiled(R"({"minLength":2,"maxLength":2})");
  EXPECT_TRUE(accepts(schema, "\"\xF0\x9F\x90\xB2\xF0\x9F\x90\xB2\""));
  EXPECT_TRUE(accepts(schema, R"("\ud83d\udc32\ud83d\udc32")"));
  EXPECT_FALSE(accepts(schema, R"("\ud83d\udc32")"));
  EXPECT_FALSE(accepts(schema, "\"\xC3\xA9\xC3\xA9\xC3\xA9\""));
}

TEST(Schema, EscapedKeywordsAndNamesMeanTheSame) {
  EXPECT_FALSE(accepts(R"({"\u0074ype":"string"})", "1"));
  EXPECT_FALSE(accepts(R"({"properties":{"\u0061":{"type":"string"}}})", R"({"a":1})"));
  EXPECT_FALSE(accepts(R"({"properties":{"a":{"type":"string"}}})", R"({"\u0061":1})"));
  EXPECT_TRUE(accepts(R"({"required":["a\"b"]})", R"({"a\u0022b":1})"));
}

TEST(Schema, TheOrderOfMembersChangesNothing) {
  const std::array<std::string_view, 3> schemas = {
      R"({"properties":{"a":{"type":"integer"},"b":{}},"required":["a"],"anyOf":[{"required":["b"]},{"required":["c"]}],"unevaluatedProperties":false})",
      R"({"unevaluatedProperties":false,"anyOf":[{"required":["b"]},{"required":["c"]}],"required":["a"],"properties":{"b":{},"a":{"type":"integer"}}})",
      R"({"required":["a"],"properties":{"a":{"type":"integer"},"b":{}},"unevaluatedProperties":false,"anyOf":[{"required":["b"]},{"required":["c"]}]})"};
  for (const auto& [first, second] : {std::pair{R"({"a":1,"b":2})", R"({"b":2,"a":1})"},
                                      {R"({"a":1,"c":2})", R"({"c":2,"a":1})"},
                                      {R"({"a":"x","b":2})", R"({"b":2,"a":"x"})"},
                                      {R"({"b":1})", R"({"b":1})"}}) {
    const bool expected = accepts(schemas[0], first);
    for (const auto schema : schemas) {
      EXPECT_EQ(accepts(schema, first), expected) << schema << first;
      EXPECT_EQ(accepts(schema, second), expected) << schema << second;
    }
  }
}

TEST(Schema, ManyRequiredMembersAreAllAskedFor) {
  std::string names;
  std::string members;
  for (int i = 0; i < 100; ++i) {
    names += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\"";
    members += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
  }
  const auto schema = compiled("{\"required\":[" + names + "]}");
  EXPECT_TRUE(accepts(schema, "{" + members + "}"));
  const auto last = members.rfind(',');
  EXPECT_FALSE(accepts(schema, "{" + members.substr(0, last) + "}"));
  EXPECT_FALSE(accepts(schema, "{" + members.substr(members.find(',') + 1) + "}"));
}

TEST(Schema, UnevaluatedSeesThroughManyMembersAndBranches) {
  std::string declared;
  std::string members;
  for (int i = 0; i < 200; ++i) {
    declared += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":{}";
    members += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
  }
  const auto schema = compiled("{\"allOf\":[{\"properties\":{" + declared + "}}],\"unevaluatedProperties\":false}");
  EXPECT_TRUE(accepts(schema, "{" + members + "}"));
  EXPECT_FALSE(accepts(schema, "{" + members + ",\"other\":1}"));
}

TEST(Schema, UniqueItemsAreComparedAsValues) {
  const auto schema = compiled(R"({"uniqueItems":true})");
  EXPECT_FALSE(accepts(schema, R"([1,2,1.0])"));
  EXPECT_FALSE(accepts(schema, R"([{"a":1,"b":[2]},{"b":[2.0],"a":1e0}])"));
  EXPECT_FALSE(accepts(schema, R"(["a","\u0061"])"));
  EXPECT_FALSE(accepts(schema, R"([0,-0.0])"));
  EXPECT_TRUE(accepts(schema, R"([1,"1",true,[1],{"a":1},null,[[1]]])"));
  EXPECT_TRUE(accepts(schema, R"([9007199254740992,9007199254740993])"));
}

TEST(Schema, MetaSchemasAreAtHand) {
  const auto schema = compiled(R"({"$ref":"https://json-schema.org/draft/2020-12/schema"})");
  EXPECT_TRUE(accepts(schema, R"({"type":"object","properties":{"a":{"minLength":1}}})"));
  EXPECT_FALSE(accepts(schema, R"({"properties":{"a":{"minLength":-1}}})"));
}

TEST(Schema, KeepsItsOwnCopyAndNamesItsDialect) {
  auto document = std::make_unique<json::Document>(
      parse(R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"string"})"));
  const auto schema = Schema::compile(document->root());
  ASSERT_TRUE(schema);
  document.reset();
  EXPECT_EQ(schema->dialect(), Dialect::draft7);
  EXPECT_TRUE(accepts(*schema, R"("x")"));
  EXPECT_TRUE(schema->document().root().find("type").equals("string"));
  EXPECT_GT(schema->memory(), schema->document().memory());
}

TEST(Schema, ServesSeveralThreads) {
  const auto schema =
      compiled(R"({"properties":{"a":{"pattern":"^[a-z]+$"},"b":{"multipleOf":0.01}},"required":["a"]})");
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto good = parse(R"({"a":"abc","b":1.25})");
      const auto bad = parse(R"({"a":"ABC","b":1.255})");
      for (int i = 0; i < 2'000; ++i) {
        if (!schema.valid(good.root()) || schema.validate(bad.root()).faults.size() != 2) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST(Schema, WhatABranchEvaluatesCountsOnlyIfItMatches) {
  const char* schema =
      R"({"unevaluatedItems":{"minimum":2.5},"anyOf":[{"unevaluatedItems":{"const":1},"minItems":2},{"required":["a"]}]})";
  EXPECT_FALSE(accepts(schema, "[1]"));
  EXPECT_TRUE(accepts(schema, "[1,1]"));
  EXPECT_TRUE(accepts(schema, "[3]"));
}

}  // namespace
}  // namespace sallyport::schema
