// What a fault says, and what it must not say.
#include <array>

#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

constexpr std::string_view kWrite = R"({"type":"object","properties":{"path":{"type":"string","minLength":1},
  "mode":{"enum":["create","overwrite","append"]},"n":{"type":["integer","null"],"minimum":1},
  "tags":{"type":"array","items":{"type":"string"},"maxItems":3}},"required":["path","content"],"additionalProperties":false})";

TEST(SchemaFaults, AllAreFoundWithPlaceAndRemedy) {
  EXPECT_EQ(faults(kWrite, R"({"pth":"x","mode":"apend","n":0.5,"tags":["a",1]})"),
            "/pth additionalProperties the member `pth` is not allowed; did you mean `path`?\n"
            "/mode enum expected one of \"create\", \"overwrite\", \"append\", got the string \"apend\"; did you mean "
            "`append`?\n"
            "/n type expected an integer or null, got the number 0.5\n"
            "/n minimum expected at least 1, got the number 0.5\n"
            "/tags/1 type expected a string, got the number 1\n"
            " required the member `path` (a string) is required and missing; add it\n"
            " required the member `content` is required and missing; add it\n");
}

TEST(SchemaFaults, PointsIntoInstanceAndSchema) {
  const auto document = parse(R"({"params":{"arguments":{"path":"x","content":"y","tags":[1]}}})");
  const auto verdict =
      compiled(R"({"properties":{"tags":{"items":{"$ref":"#/$defs/tag"}}},"$defs":{"tag":{"type":"string"}}})")
          .validate(document.root().at("/params/arguments"));
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_EQ(verdict.faults[0].instance, "/tags/0");
  EXPECT_EQ(verdict.faults[0].schema, "/$defs/tag/type");
  EXPECT_EQ(verdict.faults[0].keyword, "type");
}

TEST(SchemaFaults, TheClosestBranchIsExplained) {
  constexpr std::string_view kPick = R"({"oneOf":[
    {"title":"by id","type":"object","properties":{"kind":{"const":"id"},"id":{"type":"integer"}},"required":["kind","id"]},
    {"title":"by name","type":"object","properties":{"kind":{"const":"name"},"name":{"type":"string"}},"required":["kind","name"]},
    {"type":"string"}]})";
  EXPECT_EQ(
      faults(kPick, R"({"kind":"name","name":5})"),
      " oneOf an object with 2 members matches none of the 3 allowed forms; the closest is form 2 (`by name`), and its "
      "faults follow\n"
      "/name type expected a string, got the number 5\n");
  EXPECT_EQ(
      faults(R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1,"b":2})"),
      " oneOf matches the forms 1, 2 of `oneOf` together (counting from 1), and exactly one is allowed; leave out what "
      "belongs to the others\n");
}

TEST(SchemaFaults, AtMostTwentyAreTold) {
  std::string many = "[0";
  for (int i = 0; i < 100; ++i) many += ",0";
  const auto verdict = judge(compiled(R"({"items":{"type":"string"}})"), many + "]");
  EXPECT_FALSE(verdict.valid);
  EXPECT_EQ(verdict.faults.size(), 20U);
}

TEST(SchemaFaults, ValuesAreCutAndHiddenCharactersShown) {
  const std::string text = faults(R"({"type":"integer"})", "\"" + std::string(500, 'x') + "\"");
  EXPECT_LT(text.size(), 200U);
  EXPECT_NE(faults(R"({"additionalProperties":false})", R"({"a\u202eb":1})").find("\\u{202E}"), std::string::npos);
}

TEST(SchemaFaults, RedactedValuesAreNeverShown) {
  constexpr std::string_view kLogin = R"({"properties":{"password":{"type":"string","pattern":"^[0-9]+$","enum":["1"]},
    "vault":{"additionalProperties":false,"propertyNames":{"maxLength":2}},"token":{"const":"t"}},"unevaluatedProperties":false})";
  const std::array<std::string, 3> hidden = {"/password", "/vault", "/token"};
  const std::string text =
      faults(kLogin, R"({"password":"hunter2","vault":{"hunter2":{"x":"hunter2"}},"token":"hunter2"})", hidden);
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  EXPECT_NE(text.find("/password pattern"), std::string::npos) << text;
  EXPECT_NE(text.find("/vault additionalProperties a member (hidden)"), std::string::npos) << text;
}

TEST(SchemaFaults, ALookalikeOfAHiddenNameIsHiddenToo) {
  const std::array<std::string, 1> hidden = {"/password"};
  const std::string text = faults(R"({"properties":{"password":{}},"additionalProperties":{"type":"integer"}})",
                                  R"({"Password":"hunter2"})", hidden);
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  EXPECT_EQ(faults(R"({"properties":{"password":{"minLength":8}}})", R"({"password":"hunter2"})", hidden),
            "/password minLength expected at least 8 characters\n");
}

TEST(SchemaFaults, LookalikesOfDeclaredNamesRefuse) {
  EXPECT_TRUE(accepts(R"({"properties":{"path":{}}})", R"({"other":1})"));
  EXPECT_EQ(faults(R"({"properties":{"path":{}}})", R"({"Path":1})"),
            "/Path lookalike the member `Path` differs from `path` only by case, width or normalisation; write the "
            "name exactly\n");
  // At every level, in every branch, and whatever the rest says.
  EXPECT_FALSE(accepts(R"({"properties":{"o":{"properties":{"path":{}}}}})", R"({"o":{"PATH":1}})"));
  EXPECT_FALSE(accepts(R"({"items":{"properties":{"path":{}}}})", R"([{"path":1},{"patH":1}])"));
  EXPECT_FALSE(accepts(R"({"anyOf":[{},{"properties":{"path":{}}}]})", R"({"Path":1})"));
  EXPECT_FALSE(accepts(R"({"not":{"properties":{"path":{"type":"string"}},"required":["path"]}})", R"({"Path":1})"));
  EXPECT_FALSE(accepts(R"({"$ref":"#/$defs/x","$defs":{"x":{"properties":{"path":{}}}}})", R"({"Path":1})"));
  EXPECT_FALSE(accepts(R"({"properties":{"caf\u00e9":{}}})", R"({"cafe\u0301":1})"));
  EXPECT_FALSE(accepts(R"({"properties":{"path":{}}})", R"({"\uff50ath":1})"));
  EXPECT_FALSE(accepts(R"({"additionalProperties":{"properties":{"path":{}}}})", R"({"x":{"Path":1}})"));
  EXPECT_FALSE(accepts(R"({"unevaluatedProperties":{"properties":{"path":{}}}})", R"({"x":{"Path":1}})"));
  // A name that another part of the schema declares exactly is no lookalike.
  EXPECT_TRUE(accepts(R"({"anyOf":[{"properties":{"a":{}}},{"properties":{"A":{}}}]})", R"({"A":1})"));
  EXPECT_TRUE(accepts(compiled(R"({"properties":{"path":{}}})", {.refuse_lookalikes = false}), R"({"Path":1})"));
}

TEST(SchemaFaults, EqualWordsAtOnePlaceAreSaidOnce) {
  EXPECT_EQ(faults(R"({"allOf":[{"type":"string"},{"type":"string"}]})", "1"),
            " type expected a string, got the number 1\n");
}

TEST(SchemaFaults, ABranchWithTheRightDiscriminatorIsTheClosestHoweverMuchItMisses) {
  for (const std::string kind : {R"({"const":"%"})", R"({"enum":["%"]})"}) {
    const auto branch = [&](char value, const std::string& more) {
      std::string text = kind;
      text[text.find('%')] = value;
      return R"({"properties":{"kind":)" + text + R"(},"required":["kind")" + more + "]}";
    };
    std::string names;
    for (int i = 0; i < 30; ++i) names += ",\"m" + std::to_string(i) + "\"";
    const auto verdict =
        judge(compiled("{\"oneOf\":[" + branch('a', "") + "," + branch('b', names) + "]}"), R"({"kind":"b"})");
    EXPECT_NE(verdict.faults.at(0).message.find("the closest is form 2"), std::string::npos)
        << verdict.faults[0].message;
  }
}

TEST(SchemaFaults, FewFormsAreNamedOfThoseThatMatchTogether) {
  std::string all = "true";
  for (int i = 1; i < 5'000; ++i) all += ",true";
  const auto verdict = judge(compiled("{\"oneOf\":[" + all + "]}"), "1");
  ASSERT_EQ(verdict.faults.size(), 1U);
  EXPECT_NE(verdict.faults[0].message.find("the forms 1, 2, 3"), std::string::npos) << verdict.faults[0].message;
  EXPECT_NE(verdict.faults[0].message.find(" and 4980 more of `oneOf`"), std::string::npos)
      << verdict.faults[0].message;
}

TEST(SchemaFaults, APlaceTooLongToWriteIsToldByWhatIsAroundIt) {
  const std::string name(5'000, 'n');
  const auto schema = compiled(R"({"additionalProperties":{"additionalProperties":{"type":"string"}}})");
  const auto fault = judge(schema, R"({"a":{")" + name + R"(":1}})").faults.at(0);
  EXPECT_EQ(fault.instance, "/a");
  EXPECT_EQ(fault.message,
            "expected a string, got the number 1 (somewhere inside: the pointer to it is too long to write)");
  const auto both = judge(schema, "{\"" + name + R"(":{"x":1}})").faults.at(0);
  EXPECT_EQ(both.instance, "");
  // What is not looked into is not shown either.
  const std::array<std::string, 1> hidden = {"/elsewhere"};
  EXPECT_EQ(judge(schema, R"({"a":{")" + name + R"(":1}})", hidden).faults.at(0).message.find("number 1"),
            std::string::npos);
  EXPECT_EQ(nearest_place("/a/b"), "/a/b");
  EXPECT_EQ(nearest_place("/a/" + name), "/a");
  EXPECT_EQ(nearest_place("/" + name), "");
}

TEST(SchemaFaults, TextInThePlaceOfWhatHoldsASecretIsNotShown) {
  const std::array<std::string, 1> hidden = {"/auth/token"};
  const std::string text =
      faults(R"({"properties":{"auth":{"type":"object"}}})", R"({"auth":"{\"token\":\"hunter2\"}"})", hidden);
  EXPECT_EQ(text, "/auth type expected an object, got a string (hidden)\n");
  EXPECT_EQ(faults(R"({"properties":{"auth":{"maxProperties":1}}})", R"({"auth":{"token":1,"b":2}})", hidden),
            "/auth maxProperties expected at most 1 member, got 2\n");
  const std::array<std::string, 1> list = {"/list"};
  EXPECT_EQ(faults(R"({"properties":{"list":{"maxItems":1}}})", R"({"list":[1,2,3]})", list),
            "/list maxItems expected at most 1 element\n");
}

TEST(SchemaFaults, TheReasonOfADependentMemberIsItsOwn) {
  std::string schema = R"({"dependentRequired":{"d0":["x0"])";
  std::string instance = R"({"d0":1)";
  for (int i = 1; i < 30; ++i) {
    const std::string n = std::to_string(i);
    schema += ",\"d" + n + "\":[\"x" + n + "\"]";
    instance += ",\"d" + n + "\":1";
  }
  const auto verdict = judge(compiled(schema + "}}"), instance + "}");
  ASSERT_EQ(verdict.faults.size(), 20U);
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(verdict.faults[static_cast<std::size_t>(i)].message,
              "the member `x" + n + "` is required because `d" + n + "` is there; add it");
  }
}

TEST(SchemaFaults, AfterABoundNothingIsGuessed) {
  const auto schema =
      compiled(R"({"properties":{"a":{"type":"integer"},"b":{"anyOf":[{"pattern":"^(a+)+$"},{"type":"null"}]}}})");
  const auto verdict = judge(schema, R"({"a":"x","b":")" + std::string(60, 'a') + "!\"}");
  ASSERT_EQ(verdict.faults.size(), 2U);
  EXPECT_FALSE(verdict.limit_reached) << "that `a` is wrong is certain";
  EXPECT_EQ(verdict.faults[0].instance, "/a");
  EXPECT_EQ(verdict.faults[1].keyword, "limit") << verdict.faults[1].message;
}

}  // namespace
}  // namespace sallyport::schema
