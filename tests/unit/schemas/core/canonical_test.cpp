#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/is_canonical.hpp"

namespace sallyport::json {
namespace {

using namespace std::string_literals;

constexpr Limits kDeep{.bytes = 64U << 20, .depth = 1'000'000};

std::string canonical_of(const std::string& text, std::vector<std::string> without = {}, std::string_view at = "") {
  const auto document = Document::parse(text, kDeep);
  if (!document) throw std::runtime_error(document.error().message);
  return canonical(document->root().at(at), without);
}

std::string pretty_of(const std::string& text, std::size_t indent = 0) {
  const auto document = Document::parse(text, kDeep);
  if (!document) throw std::runtime_error(document.error().message);
  return pretty(document->root(), indent);
}

TEST(Canonical, SortsNamesByUtf16CodeUnits) {
  // The names of RFC 8785 section 3.2.3: a control, digits, Latin, currency, emoji (a surrogate pair) before Hebrew
  // presentation.
  const std::string text =
      R"({"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",)"
      R"("\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"})";
  const std::string sorted =
      "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\",\"ö\":\"Latin Small Letter O With "
      "Diaeresis\","
      "\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}";
  EXPECT_EQ(canonical_of(text), sorted);
  EXPECT_EQ(canonical(boost::json::parse(text)), sorted);
}

TEST(Canonical, SurrogatesSortBelowPrivateUseAndAboveTheRest) {
  EXPECT_EQ(canonical_of(R"({"\uffff":1,"\ue000":2,"\ud800\udc00":3,"\udbff\udfff":4,"\ud7ff":5})"),
            "{\"\xED\x9F\xBF\":5,\"\xF0\x90\x80\x80\":3,\"\xF4\x8F\xBF\xBF\":4,\"\xEE\x80\x80\":2,\"\xEF\xBF\xBF\":1}");
  EXPECT_EQ(canonical_of(R"({"ab":1,"a":2,"":3,"b":4,"a\u0000":5,"B":6})"),
            "{\"\":3,\"B\":6,\"a\":2,\"a\\u0000\":5,\"ab\":1,\"b\":4}");
}

TEST(Canonical, EscapesOnlyWhatRfc8785Escapes) {
  EXPECT_EQ(canonical_of(R"("\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/")"), "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
  EXPECT_EQ(canonical_of(R"("\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001f\u007f\u2028\ud83d\ude00")"),
            "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\xE2\x80\xA8😀\"");
  EXPECT_EQ(canonical_of("\"é漢\xF0\x9F\x98\x80\""), "\"é漢😀\"");
}

TEST(Canonical, KeepsNumberTokensAndOrderOfElements) {
  EXPECT_EQ(canonical_of(" [ 3 , 1.0 , 1E+2 , -0 , 100000000000000000000000.50 ] "),
            "[3,1.0,1E+2,-0,100000000000000000000000.50]");
  EXPECT_EQ(canonical_of("[true,false,null,[],{},\"\"]"), "[true,false,null,[],{},\"\"]");
}

TEST(Canonical, NestsAndIgnoresSpace) {
  EXPECT_EQ(canonical_of("{ \"z\" : { \"b\" : [ { \"y\" : 1 , \"x\" : 2 } ] , \"a\" : { } } , \"a\" : 0 }"),
            R"({"a":0,"z":{"a":{},"b":[{"x":2,"y":1}]}})");
  EXPECT_EQ(canonical_of(R"({"\u0062":1,"a":2})"), R"({"a":2,"b":1})");
}

TEST(Canonical, LeavesOutWhatIsNamed) {
  const std::string text = R"({"b":{"x":1,"y":2},"a":[1,{"z":3,"w":4}],"c":0})";
  EXPECT_EQ(canonical_of(text, {"/c"}), R"({"a":[1,{"w":4,"z":3}],"b":{"x":1,"y":2}})");
  EXPECT_EQ(canonical_of(text, {"/b/x", "/a/1/z", "/c"}), R"({"a":[1,{"w":4}],"b":{"y":2}})");
  EXPECT_EQ(canonical_of(text, {"/a/0"}), R"({"a":[{"w":4,"z":3}],"b":{"x":1,"y":2},"c":0})");
  EXPECT_EQ(canonical_of(text, {"/nowhere", "/a/9", "no pointer", ""}), canonical_of(text));
  EXPECT_EQ(canonical_of(text, {"/x"}, "/b"), R"({"y":2})");  // relative to the value
}

TEST(Canonical, IsAFixedPoint) {
  for (const std::string text : {R"({"\u00e9\n":[1.50,"\u0000"],"":{}})", R"([{"b":[],"a":{"d":1,"c":2}}])"}) {
    EXPECT_EQ(canonical_of(canonical_of(text)), canonical_of(text));
  }
}

TEST(Canonical, IsKnownWithoutBeingMade) {
  for (const std::string text : {R"({})",
                                 R"([])",
                                 R"({ })",
                                 R"([1,2])",
                                 R"([1, 2])",
                                 R"( 1)",
                                 "1\n",
                                 R"("a")",
                                 R"({"a":1,"b":{"c":[]}})",
                                 R"({"b":1,"a":2})",
                                 R"({"a":1,"a":2})",
                                 R"({"a" :1})",
                                 R"({"a":1,"\u0061":2})",
                                 R"({"\u0061":1})",
                                 R"({"a\n":1,"a":2})",
                                 R"({"a":1,"a\n":2})",
                                 R"(["\n"])",
                                 R"(["\u000a"])",
                                 R"(["\u000b"])",
                                 R"(["\u000B"])",
                                 R"(["\/"])",
                                 R"(["\""])",
                                 R"([1.0])",
                                 R"([null,true,false,{"x":[[]]}])",
                                 "{\"\xC3\xB6\":1}",
                                 "{\"\xF0\x9F\x98\x80\":1,\"\xEF\xAC\xB3\":2}",
                                 "{\"\xEF\xAC\xB3\":2,\"\xF0\x9F\x98\x80\":1}",
                                 R"({"":{"":""}})"}) {
    const auto document = Document::parse(text, kDeep);
    ASSERT_TRUE(document) << text;
    EXPECT_EQ(is_canonical(*document), canonical(document->root()) == text) << text;
  }
}

TEST(Canonical, OfOurOwnValues) {
  EXPECT_EQ(canonical(boost::json::value{{"b", 1}, {"a", {true, nullptr, "x\n\x7F"}}, {"c", boost::json::object{}}}),
            "{\"a\":[true,null,\"x\\n\x7F\"],\"b\":1,\"c\":{}}");
  EXPECT_EQ(canonical(boost::json::value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(canonical(boost::json::value(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(canonical(boost::json::value(boost::json::array{})), "[]");
  EXPECT_THROW((void)canonical(boost::json::value{{"a", 1.5}}), std::logic_error);
  EXPECT_THROW((void)canonical(boost::json::value(1.0)), std::logic_error);
}

TEST(Canonical, AgreesWithWhatIsReadBack) {
  const boost::json::value value{{"z", {1, 2, {{"k", "é"}, {"j", -7}}}}, {"a\"", ""}, {"", nullptr}};
  EXPECT_EQ(canonical_of(canonical(value)), canonical(value));
  EXPECT_EQ(canonical_of(boost::json::serialize(value)), canonical(value));
}

TEST(Pretty, IndentsByTwoInTheOrderOfTheText) {
  EXPECT_EQ(pretty_of(R"({"b":1.50,"a":[1,[],{}, [ "\u0061" ]],"c":{"d":null}})"),
            "{\n  \"b\": 1.50,\n  \"a\": [\n    1,\n    [],\n    {},\n    [\n      \"\\u0061\"\n    ]\n  ],\n  \"c\": "
            "{\n    \"d\": null\n  }\n}");
  EXPECT_EQ(pretty_of("1"), "1");
  EXPECT_EQ(pretty_of(" {} "), "{}");
  EXPECT_EQ(pretty_of("[1]", 4), "[\n      1\n    ]");
}

TEST(Pretty, IsTheSameValueOfAPart) {
  const std::string text = R"({"x":{"b":[1,2,{"c":"d"}],"a":{}},"y":2})";
  const auto document = Document::parse(text);
  const auto again = Document::parse(pretty(document->root().find("x"), 2));
  ASSERT_TRUE(again);
  EXPECT_TRUE(same(again->root(), document->root().find("x")));
}

TEST(Pretty, LeavesCommentsOut) {
  const auto document = Document::parse("[1, // one\n {\"a\": /* b */ 2,},]", {.comments = true});
  EXPECT_EQ(pretty(document->root()), "[\n  1,\n  {\n    \"a\": 2\n  }\n]");
}

TEST(DeepNesting, NothingRecurses) {
  constexpr std::size_t kLevels = 100'000;
  std::string text;
  for (std::size_t i = 0; i < kLevels; ++i) text += i % 2 == 0 ? "[" : "{\"a\":";
  text += "1";
  for (std::size_t i = kLevels; i-- > 0;) text += i % 2 == 0 ? "]" : "}";
  {
    const auto document = Document::parse(text, kDeep);
    ASSERT_TRUE(document);
    EXPECT_EQ(canonical(document->root()), text);
    const auto again = Document::parse(pretty(document->root()), kDeep);
    ASSERT_TRUE(again);
    EXPECT_LT(again->text().size(), 100 * text.size());
    EXPECT_TRUE(same(document->root(), again->root()));
    EXPECT_FALSE(document->root().ambiguity());
    const Value innermost = document->node(static_cast<std::uint32_t>(document->node_count() - 1));
    EXPECT_EQ(document->root().at(innermost.pointer()).index(), innermost.index());
  }
  EXPECT_EQ(Document::parse(text).error().code, ErrorCode::limit);
  EXPECT_FALSE(Document::parse(text.substr(0, text.size() / 2), kDeep));
}

}  // namespace
}  // namespace sallyport::json
