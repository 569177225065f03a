// Every bullet of "Conditions" in design section 4, as a table.
#include "policy/conditions/condition.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace sallyport::policy {
namespace {

using T = Truth;

class ConditionTest : public ::testing::Test {
 protected:
  const json::Document& parse(std::string text) {
    auto document = json::Document::parse(std::move(text));
    if (!document) throw std::runtime_error(document.error().message);
    documents_.push_back(std::make_unique<const json::Document>(std::move(*document)));
    return *documents_.back();
  }
  std::string faults_of(const std::string& text, Place place = Place::tightening, bool closed = false) {
    FaultList faults("f");
    const auto compiled = Condition::compile(parse(text).root(), CompileContext{faults, place, closed, &variables_});
    EXPECT_EQ(faults.ok(), compiled.has_value());
    std::string out;
    for (const Fault& fault : faults.all()) out += fault.message + "\n";
    return out;
  }
  Condition compile(const std::string& text, Place place = Place::tightening, bool closed = false) {
    FaultList faults("f");
    auto compiled = Condition::compile(parse(text).root(), CompileContext{faults, place, closed, &variables_});
    if (!compiled) throw std::runtime_error(text + ": " + faults.all().at(0).message);
    return *compiled;
  }
  Truth judge(const std::string& condition, const std::string& value, Place place = Place::tightening,
              bool closed = false) {
    Work work;
    return compile(condition, place, closed).judge(parse(value).root(), SchemaView(), work, &miss_);
  }
  Truth judge_object(const std::string& conditions, const std::string& object, Place place, bool closed,
                     const std::string& schema = "") {
    FaultList faults("f");
    auto compiled =
        ArgumentConditions::compile(parse(conditions).root(), CompileContext{faults, place, closed, &variables_});
    if (!compiled) throw std::runtime_error(conditions + ": " + faults.all().at(0).message);
    Work work;
    miss_ = {};
    return compiled->judge(object.empty() ? json::Value() : parse(object).root(),
                           schema.empty() ? SchemaView() : SchemaView(parse(schema).root()), work, &miss_);
  }

  Variables variables_{{"project", "/p"}, {"dot", "a.b"}};
  Miss miss_;

 private:
  std::vector<std::unique_ptr<const json::Document>> documents_;
};

struct Case {
  const char* condition;
  const char* value;
  Truth truth;
};

TEST_F(ConditionTest, JudgesEveryFormWithThreeValues) {
  const std::vector<Case> cases{
      // A scalar is equals; another type is undetermined.
      {"true", "true", T::yes},
      {"true", "false", T::no},
      {"true", "\"true\"", T::undetermined},
      {"true", "1", T::undetermined},
      {"5", "5", T::yes},
      {"5", "5.0", T::yes},
      {"5", "50e-1", T::yes},
      {"5", "6", T::no},
      {"5", "\"5\"", T::undetermined},
      {"\"EUR\"", "\"EUR\"", T::yes},
      {"\"EUR\"", "\"\\u0045UR\"", T::yes},
      {"\"EUR\"", "\"eur\"", T::no},
      {"\"EUR\"", "null", T::undetermined},
      {"\"EUR\"", "[\"EUR\"]", T::undetermined},
      {"null", "null", T::yes},
      {"null", "5", T::no},
      // A list is one of.
      {"[1,2]", "2", T::yes},
      {"[1,2]", "3", T::no},
      {"[1,\"a\"]", "\"b\"", T::no},
      {"[1,\"a\"]", "true", T::undetermined},
      {"[\"a\",null]", "null", T::yes},
      // {} is anything.
      {"{}", "null", T::yes},
      {"{}", "{\"a\":[1]}", T::yes},
      // Numbers, exactly.
      {"{\"minimum\":1,\"maximum\":50}", "50", T::yes},
      {"{\"maximum\":50}", "50.01", T::no},
      {"{\"maximum\":50}", "5e1", T::yes},
      {"{\"maximum\":50}", "50.000000000000000001", T::undetermined},
      {"{\"maximum\":50}", "9007199254740993", T::undetermined},
      {"{\"exclusiveMinimum\":0}", "0", T::no},
      {"{\"exclusiveMinimum\":0}", "0.1", T::yes},
      {"{\"exclusiveMaximum\":1}", "1", T::no},
      {"{\"maximum\":50}", "\"5\"", T::undetermined},
      {"{\"maximum\":0.3}", "0.3", T::yes},
      // Strings: code points; the whole string; `.` matches line ends.
      {"{\"minLength\":2}", "\"\\u00e9\\u00e9\"", T::yes},
      {"{\"maxLength\":2}", "\"abc\"", T::no},
      {"{\"maxLength\":1}", "\"\\ud83d\\ude00\"", T::yes},
      {"{\"pattern\":\"a.*\"}", "\"a\\nb\"", T::yes},
      {"{\"pattern\":\"a\"}", "\"ab\"", T::no},
      {"{\"pattern\":\"a|ab\"}", "\"ab\"", T::yes},
      {"{\"pattern\":\"a\"}", "\"a\\n\"", T::no},
      {"{\"pattern\":\"[0-9]+\"}", "5", T::undetermined},
      {"{\"pattern\":\"(.*/)?\\\\.env.*\"}", "\"/a/.env\"", T::yes},
      {"{\"pattern\":\"\"}", "\"\"", T::yes},
      {"{\"pattern\":\"${dot}\"}", "\"a.b\"", T::yes},
      {"{\"pattern\":\"${dot}\"}", "\"axb\"", T::no},
      // Patterns mean what they mean in schemas: `\\d` is ASCII, `\\s` is not only that, `|` does not escape the whole.
      {"{\"pattern\":\"\\\\d+\"}", "\"12\"", T::yes},
      {"{\"pattern\":\"\\\\d+\"}", "\"\u0661\"", T::no},
      {"{\"pattern\":\"\\\\s\"}", "\"\u00a0\"", T::yes},
      {"{\"pattern\":\"a|b.*\"}", "\"xb\"", T::no},
      {"{\"pattern\":\"[^]*\"}", "\"\\n\"", T::yes},
      {"{\"pattern\":\"a$\"}", "\"a\\n\"", T::no},
      // Arrays.
      {"{\"items\":{\"maximum\":2}}", "[1,2]", T::yes},
      {"{\"items\":{\"maximum\":2}}", "[1,3]", T::no},
      {"{\"items\":{\"maximum\":2}}", "[1,\"x\"]", T::undetermined},
      {"{\"items\":{\"maximum\":2}}", "[\"x\",3]", T::no},
      {"{\"items\":5}", "[]", T::yes},
      {"{\"minItems\":1}", "[]", T::no},
      {"{\"maxItems\":1}", "[1,2]", T::no},
      {"{\"minItems\":1}", "{}", T::undetermined},
      // Objects.
      {"{\"members\":{\"a\":1}}", "{\"a\":1,\"b\":2}", T::yes},
      {"{\"members\":{\"a\":1}}", "{\"a\":2}", T::no},
      {"{\"members\":{\"a\":1}}", "5", T::undetermined},
      // Paths and hosts.
      {"{\"pathWithin\":\"${project}\"}", "\"/p/a\"", T::yes},
      {"{\"pathWithin\":\"/p\"}", "\"/q\"", T::no},
      {"{\"pathWithin\":[\"/p\",\"/q\"]}", "\"/q/x\"", T::yes},
      {"{\"pathWithin\":\"/p\"}", "\"/p/../q\"", T::undetermined},
      {"{\"pathWithin\":\"/p\"}", "\"p/a\"", T::undetermined},
      {"{\"hostIn\":[\"a.example\"]}", "\"https://a.example/x\"", T::yes},
      {"{\"hostIn\":[\"a.example\"]}", "\"https://b.example/x\"", T::no},
      {"{\"hostIn\":\"a.example\"}", "\"https://a.example@b.example/\"", T::undetermined},
      // `not`, where it tightens.
      {"{\"not\":[\"a\",\"b\"]}", "\"c\"", T::yes},
      {"{\"not\":[\"a\",\"b\"]}", "\"a\"", T::no},
      {"{\"not\":\"a\"}", "5", T::undetermined},
      {"{\"not\":{\"pathWithin\":\"/p\"}}", "\"/p/../x\"", T::undetermined},
      {"{\"minLength\":1,\"not\":\"a\"}", "\"b\"", T::yes},
  };
  for (const Case& each : cases)
    EXPECT_EQ(judge(each.condition, each.value), each.truth) << each.condition << " of " << each.value;
}

TEST_F(ConditionTest, NamesTheFaultsOfWhatIsNoCondition) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {R"({"minimun":1})", "did you mean `minimum`"},
      {R"({"minimum":"1"})", "needs a number"},
      {R"({"minLength":-1})", "whole number"},
      {R"({"pattern":"("})", "does not compile"},
      {R"({"pattern":"(?i)a"})", "does not compile"},
      {R"({"pattern":"\\Aa"})", "no escape of ECMA-262"},
      {R"({"pattern":5})", "needs a string"},
      {R"([])", "empty list"},
      {R"([{"minimum":1}])", "one of"},
      {R"({"minimum":5,"maximum":4})", "no number is in this range"},
      {R"({"exclusiveMinimum":5,"maximum":5})", "no number is in this range"},
      {R"({"minItems":3,"maxItems":2})", "no list is that long"},
      {R"({"minLength":3,"maxLength":2})", "no string is that long"},
      {R"({"minimum":1,"pattern":"a"})", "another type"},
      {R"({"maximum":9007199254740993})", "exactly"},
      {R"(9007199254740993)", "exactly"},
      {R"({"pathWithin":"a/b"})", "absolute"},
      {R"({"pathWithin":"/a/../b"})", "absolute"},
      {R"({"pathWithin":[]})", "empty list"},
      {R"({"hostIn":"https://a"})", "plain host names"},
      {R"({"hostIn":"*.example.com"})", "plain host names"},
      {R"({"pathWithin":"${nope}"})", "unknown variable `nope`"},
      {R"({"pathWithin":"${projct}"})", "did you mean `project`"},
      {R"({"not":{}})", "nothing"},
      {R"({"not":{"not":1}})", "`not` cannot stand"},
      {R"({"members":[1]})", "names and what their values"},
      {R"({"members":{"a":1,"a?":2}})", "named twice"},
  };
  for (const auto& [condition, words] : cases)
    EXPECT_NE(faults_of(condition).find(words), std::string::npos) << condition << ": " << faults_of(condition);
}

TEST_F(ConditionTest, ForbidsNotWhereItLoosens) {
  EXPECT_NE(faults_of(R"({"not":"a"})", Place::loosening).find("`not` cannot stand"), std::string::npos);
  EXPECT_NE(faults_of(R"({"items":{"members":{"a":{"not":"a"}}}})", Place::loosening).find("`not` cannot stand"),
            std::string::npos);
}

TEST_F(ConditionTest, DemandsWordsForElementsWhereItIsClosed) {
  EXPECT_NE(faults_of(R"({"maxItems":3})", Place::loosening, true).find("each element"), std::string::npos);
  EXPECT_EQ(judge(R"({"maxItems":3,"items":{}})", R"([{"a":1}])", Place::loosening, true), T::yes);
}

TEST_F(ConditionTest, TakesAHostWithoutPortForEveryPortOnlyWhereItTightens) {
  const char* condition = R"({"hostIn":["a.example"]})";
  EXPECT_EQ(judge(condition, R"("https://a.example:8443/")", Place::tightening), T::yes);
  EXPECT_EQ(judge(condition, R"("https://a.example:8443/")", Place::loosening), T::no);
  EXPECT_EQ(judge(condition, R"("https://a.example:443/")", Place::loosening), T::yes);
  EXPECT_EQ(judge(R"({"hostIn":["a.example:8443"]})", R"("https://a.example:8443/")", Place::loosening), T::yes);
  // `deny … not`: whoever is told what is good must not be widened by it.
  EXPECT_EQ(judge(R"({"not":{"hostIn":["a.example"]}})", R"("https://a.example:22/")", Place::tightening), T::yes);
}

TEST_F(ConditionTest, ClosesObjectsInsideNot) {
  EXPECT_EQ(judge(R"({"not":{"members":{"a":1}}})", R"({"a":1})"), T::no);
  EXPECT_EQ(judge(R"({"not":{"members":{"a":1}}})", R"({"a":1,"evil":2})"), T::yes);
}

TEST_F(ConditionTest, BoundsThePatternsWork) {
  Work work;
  const Condition condition = compile(R"({"pattern":"(a+)+b"})");
  const json::Document& value = parse("\"" + std::string(5000, 'a') + "\"");
  EXPECT_EQ(condition.judge(value.root(), SchemaView(), work), T::undetermined);
  for (int i = 0; i < 100 && !work.exhausted(); ++i)
    static_cast<void>(condition.judge(value.root(), SchemaView(), work));
  EXPECT_TRUE(work.exhausted()) << "a call cannot make the gateway run into the bound for ever";
}

TEST_F(ConditionTest, JudgesAbsentMembersByTheDefault) {
  const std::string schema =
      R"({"type":"object","properties":{"n":{"type":"integer","default":5},"m":{"type":"integer"},
      "deep":{"type":"object","properties":{"k":{"default":true}}}, "r":{"$ref":"#/$defs/r"}},"$defs":{"r":{"default":"x"}}})";
  struct Absent {
    const char* conditions;
    Truth tightening;
    Truth loosening;
  };
  const std::vector<Absent> cases{
      {R"({"n":5})", T::yes, T::yes},         {R"({"n":6})", T::no, T::no},
      {R"({"n?":6})", T::no, T::no},           // the default counts for optional ones too
      {R"({"m":6})", T::undetermined, T::no},  // declared, no default: nobody knows
      {R"({"m?":6})", T::yes, T::yes},        {R"({"m":{}})", T::no, T::no},  // `{}` asks whether it is there
      {R"({"unheard":6})", T::no, T::no},                                     // no such member
      {R"({"r":"x"})", T::yes, T::yes},
  };
  for (const Absent& each : cases) {
    EXPECT_EQ(judge_object(each.conditions, "{}", Place::tightening, false, schema), each.tightening)
        << each.conditions;
    EXPECT_EQ(judge_object(each.conditions, "", Place::loosening, true, schema), each.loosening) << each.conditions;
  }
  EXPECT_EQ(judge_object(R"({"deep":{"members":{"k":true}}})", R"({"deep":{}})", Place::loosening, true, schema),
            T::yes);
  EXPECT_EQ(judge_object(R"({"m":6})", "{}", Place::tightening, false), T::undetermined) << "no schema: nobody knows";
}

TEST_F(ConditionTest, TrustsADefaultOnlyIfAllBranchesAgree) {
  const std::string schema = R"({"anyOf":[{"properties":{"n":{"default":1}}},{"properties":{"n":{"default":100}}}]})";
  EXPECT_EQ(judge_object(R"({"n?":{"maximum":50}})", "{}", Place::loosening, true, schema), T::undetermined);
  EXPECT_EQ(judge_object(R"({"n?":{"maximum":500}})", "{}", Place::loosening, true, schema), T::yes);
}

TEST_F(ConditionTest, ClosesArgumentsAtEveryLevel) {
  const auto closed = [&](const char* conditions, const char* object) {
    return judge_object(conditions, object, Place::loosening, true);
  };
  EXPECT_EQ(closed(R"({"a":1})", R"({"a":1})"), T::yes);
  EXPECT_EQ(closed(R"({"a":1})", R"({"a":1,"b":2})"), T::no);
  EXPECT_EQ(miss_.pointer, "/b");
  EXPECT_EQ(closed(R"({"a":{"members":{"x":1}}})", R"({"a":{"x":1,"y":2}})"), T::no);
  EXPECT_EQ(miss_.pointer, "/a/y");
  EXPECT_EQ(closed(R"({"a":{"items":{"members":{"x":1}}}})", R"({"a":[{"x":1},{"x":1,"y":2}]})"), T::no);
  EXPECT_EQ(miss_.pointer, "/a/1/y");
  EXPECT_EQ(closed(R"({"a":1,"b?":{}})", R"({"a":1})"), T::yes);
  EXPECT_EQ(closed(R"({"a":1})", R"({})"), T::no);
  EXPECT_EQ(closed(R"({"a":1})", R"([1])"), T::undetermined);
  EXPECT_EQ(judge_object(R"({"dryRun":true})", R"({"dryRun":true,"path":"x"})", Place::loosening, false), T::yes)
      << "cases are open";
}

TEST_F(ConditionTest, SaysWhatFailedFirstAndNeverTheValue) {
  EXPECT_EQ(judge_object(R"({"amount":{"maximum":50},"to":{"members":{"iban":"DE1"}}})",
                         R"({"amount":99.75,"to":{"iban":"secret"}})", Place::tightening, false),
            T::no);
  EXPECT_EQ(miss_.pointer, "/amount");
  EXPECT_EQ(miss_.words, "fails `maximum` 50");
  EXPECT_EQ(
      judge_object(R"({"to":{"members":{"iban":"DE1"}}})", R"({"to":{"iban":"hush-hush"}})", Place::tightening, false),
      T::no);
  EXPECT_EQ(miss_.pointer, "/to/iban");
  EXPECT_EQ(miss_.words.find("hush"), std::string::npos);
}

TEST_F(ConditionTest, KnowsWhatASchemaMakesImpossible) {
  const auto why = [&](const char* condition, const char* schema) {
    return compile(condition).impossible(SchemaView(parse(schema).root())).value_or("");
  };
  EXPECT_NE(why("5", R"({"type":"string"})"), "");
  EXPECT_NE(why(R"({"pattern":"a"})", R"({"type":["integer","null"]})"), "");
  EXPECT_NE(why(R"("GBP")", R"({"enum":["EUR","USD"]})"), "");
  EXPECT_NE(why(R"(["GBP","CHF"])", R"({"enum":["EUR","USD"]})"), "");
  EXPECT_NE(why(R"({"minimum":100})", R"({"type":"number","maximum":50})"), "");
  EXPECT_NE(why(R"({"maximum":0})", R"({"exclusiveMinimum":0})"), "");
  EXPECT_NE(why(R"(1.5)", R"({"type":"integer"})"), "");
  EXPECT_NE(why(R"({"minLength":9})", R"({"maxLength":8})"), "");
  EXPECT_NE(why(R"({"items":{"pattern":"x"}})", R"({"type":"array","items":{"type":"number"}})"), "");
  EXPECT_NE(why(R"({"not":5})", R"({"type":"string"})"), "");
  EXPECT_EQ(why(R"(["GBP","EUR"])", R"({"enum":["EUR","USD"]})"), "");
  EXPECT_EQ(why(R"({"minimum":50})", R"({"type":"integer","maximum":50})"), "");
  EXPECT_EQ(why(R"(5)", R"({"anyOf":[{"type":"string"},{"type":"number"}]})"), "") << "a branch proves nothing";
  EXPECT_EQ(why(R"({})", R"({"type":"string"})"), "");
}

}  // namespace
}  // namespace sallyport::policy
