#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "schemas/core/json.hpp"

namespace sallyport::json {
namespace {

using namespace std::string_literals;

Document parse(std::string text, const Limits& limits = {}) {
  auto document = Document::parse(std::move(text), limits);
  if (!document) throw std::runtime_error(document.error().message);
  return std::move(*document);
}

std::optional<std::int64_t> integer(std::string token) { return parse(std::move(token)).root().integer(); }

TEST(JsonValue, TellsKindsAndContents) {
  const auto document = parse(R"([null,true,false,-1.5,"a",[],{}])");
  const Value root = document.root();
  EXPECT_EQ(root.kind(), Kind::array);
  EXPECT_EQ(root.size(), 7U);
  EXPECT_TRUE(root.at("/0").is_null());
  EXPECT_TRUE(root.at("/1").is_bool());
  EXPECT_TRUE(root.at("/1").boolean());
  EXPECT_FALSE(root.at("/2").boolean());
  EXPECT_EQ(root.at("/3").number(), "-1.5");
  EXPECT_EQ(root.at("/3").real(), -1.5);
  EXPECT_EQ(root.at("/4").string(), "a");
  EXPECT_TRUE(root.at("/5").is_array());
  EXPECT_TRUE(root.at("/6").is_object());
  EXPECT_EQ(root.at("/6").size(), 0U);
  EXPECT_EQ(to_string(root.at("/6").kind()), "object");
}

TEST(JsonValue, AbsentValuesAnswerNo) {
  const Value none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.is_null());
  EXPECT_FALSE(none.find("a").find("b"));
  EXPECT_FALSE(none.at("/a"));
  EXPECT_FALSE(none.equals(""));
  EXPECT_FALSE(none.boolean());
  EXPECT_EQ(none.integer(), std::nullopt);
  EXPECT_EQ(none.string(), "");
  EXPECT_EQ(none.plain_string(), std::nullopt);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.members().begin(), none.members().end());
  EXPECT_EQ(none.elements().begin(), none.elements().end());
  EXPECT_FALSE(none.ambiguity().has_value());
}

TEST(JsonValue, WalksMembersAndElementsInTheOrderOfTheText) {
  const auto document = parse(R"({"b":[1,{"x":2},[3,[4]]],"a":{},"c\u0021":5})");
  std::string names;
  std::string values;
  for (const auto member : document.root().members()) {
    names += member.name() + ";";
    values += std::string(member.value.raw()) + ";";
  }
  EXPECT_EQ(names, "b;a;c!;");
  EXPECT_EQ(values, R"([1,{"x":2},[3,[4]]];{};5;)");
  std::string elements;
  for (const auto element : document.root().find("b").elements()) elements += std::string(element.raw()) + ";";
  EXPECT_EQ(elements, R"(1;{"x":2};[3,[4]];)");
  for (const auto element : document.root().elements()) FAIL() << element.raw();
  for (const auto member : document.root().find("b").members()) FAIL() << member.name();
}

TEST(JsonValue, DecodesStrings) {
  const auto document =
      parse(R"(["\"\\\/\b\f\n\r\t","\u0000\u0041\u00e9\u20AC\uFFFF","\ud83d\uDE00\uDBFF\uDFFF","é漢😀",""])");
  const Value root = document.root();
  EXPECT_EQ(root.at("/0").string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(root.at("/1").string(), "\0A\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF"s);
  EXPECT_EQ(root.at("/2").string(), "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
  EXPECT_EQ(root.at("/3").string(), "é漢😀");
  EXPECT_EQ(root.at("/0").plain_string(), std::nullopt);
  EXPECT_EQ(root.at("/3").plain_string(), "é漢😀");
  EXPECT_EQ(root.at("/4").plain_string(), "");
}

TEST(JsonValue, EqualsComparesDecodedText) {
  const auto document = parse(R"(["abc","\u0061bc","a\u0062\u0063","\ud83d\ude00",1])");
  const Value root = document.root();
  for (const char* step : {"/0", "/1", "/2"}) {
    EXPECT_TRUE(root.at(step).equals("abc"));
    EXPECT_FALSE(root.at(step).equals("ab"));
    EXPECT_FALSE(root.at(step).equals("abcd"));
    EXPECT_FALSE(root.at(step).equals("abd"));
  }
  EXPECT_TRUE(root.at("/3").equals("😀"));
  EXPECT_FALSE(root.at("/4").equals("1"));
  EXPECT_FALSE(root.at("/1").equals(R"(\u0061bc)"));
}

TEST(JsonValue, FindsMembersByDecodedName) {
  const auto document = parse(R"({"a":1,"\u0062":2,"":3,"x/y":4,"a":5,"b ":6})");
  const Value root = document.root();
  EXPECT_EQ(root.find("a").raw(), "1");
  EXPECT_EQ(root.find("b").raw(), "2");
  EXPECT_EQ(root.find("").raw(), "3");
  EXPECT_EQ(root.find("x/y").raw(), "4");
  EXPECT_FALSE(root.find("A"));
  EXPECT_FALSE(root.find(R"(\u0062)"));
  EXPECT_FALSE(root.find("a").find("a"));
}

TEST(JsonValue, FollowsTheExamplesOfRfc6901) {
  const auto document =
      parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  const Value root = document.root();
  EXPECT_EQ(root.at("").raw(), root.raw());
  EXPECT_EQ(root.at("/foo").raw(), R"(["bar","baz"])");
  EXPECT_EQ(root.at("/foo/0").raw(), R"("bar")");
  EXPECT_EQ(root.at("/").raw(), "0");
  EXPECT_EQ(root.at("/a~1b").raw(), "1");
  EXPECT_EQ(root.at("/c%d").raw(), "2");
  EXPECT_EQ(root.at("/e^f").raw(), "3");
  EXPECT_EQ(root.at("/g|h").raw(), "4");
  EXPECT_EQ(root.at("/i\\j").raw(), "5");
  EXPECT_EQ(root.at("/k\"l").raw(), "6");
  EXPECT_EQ(root.at("/ ").raw(), "7");
  EXPECT_EQ(root.at("/m~0n").raw(), "8");
}

TEST(JsonValue, PointersThatLeadNowhereAreAbsent) {
  const auto document = parse(R"({"foo":["bar","baz"],"0":{"01":1},"~1":2,"s":"text"})");
  const Value root = document.root();
  for (const char* pointer : {"foo",
                              "/bar",
                              "/foo/2",
                              "/foo/-",
                              "/foo/00",
                              "/foo/01",
                              "/foo/+1",
                              "/foo/1e0",
                              "/foo/ 1",
                              "/foo/",
                              "/foo/-1",
                              "/foo/4294967296",
                              "/foo/99999999999999999999",
                              "/foo/0/0",
                              "/s/0",
                              "/~",
                              "/~2",
                              "/foo~",
                              "//",
                              "#/foo",
                              "/foo/0/"}) {
    EXPECT_FALSE(root.at(pointer)) << pointer;
  }
  EXPECT_EQ(root.at("/0/01").raw(), "1");  // a name, not an index
  EXPECT_EQ(root.at("/~01").raw(), "2");   // `~01` is `~1`, not `/`
}

TEST(JsonValue, TellsItsPointer) {
  const auto document = parse(R"({"a/b":[1,[2,{"m~n":{"\u00e9":3},"":4}]],"z":5})");
  for (const char* pointer : {"", "/a~1b", "/a~1b/0", "/a~1b/1", "/a~1b/1/0", "/a~1b/1/1", "/a~1b/1/1/m~0n",
                              "/a~1b/1/1/m~0n/é", "/a~1b/1/1/", "/z"}) {
    ASSERT_TRUE(document.root().at(pointer)) << pointer;
    EXPECT_EQ(document.root().at(pointer).pointer(), pointer);
  }
  EXPECT_EQ((*document.root().members().begin()).key.pointer(), "/a~1b");
}

TEST(JsonValue, TellsLineAndColumn) {
  const auto document = parse("{\n  \"a\": 1,\r\n  \"b\": [\n2]\n}\n");
  EXPECT_EQ(document.root().position().line, 1U);
  EXPECT_EQ(document.root().position().column, 1U);
  EXPECT_EQ(document.root().find("a").position().line, 2U);
  EXPECT_EQ(document.root().find("a").position().column, 8U);
  EXPECT_EQ(document.root().at("/b/0").position().line, 4U);
  EXPECT_EQ(document.root().at("/b/0").position().column, 1U);
  EXPECT_EQ(document.position(1'000'000).line, 6U);
}

TEST(JsonValue, ReadsIntegersExactly) {
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("-0"), 0);
  EXPECT_EQ(integer("0.000e7"), 0);
  EXPECT_EQ(integer("0e99999999999999999999"), 0);
  EXPECT_EQ(integer("1.0"), 1);
  EXPECT_EQ(integer("10e1"), 100);
  EXPECT_EQ(integer("1.5e1"), 15);
  EXPECT_EQ(integer("1500e-2"), 15);
  EXPECT_EQ(integer("-120.00e-1"), -12);
  EXPECT_EQ(integer("0.0000015E6"), std::nullopt);
  EXPECT_EQ(integer("0.000001E6"), 1);
  EXPECT_EQ(integer("1.5"), std::nullopt);
  EXPECT_EQ(integer("1e-1"), std::nullopt);
  EXPECT_EQ(integer("9007199254740993"), 9007199254740993);  // no double
  EXPECT_EQ(integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(integer("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(integer("9223372036854775807.0"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("9223372036854775807.5"), std::nullopt);
  EXPECT_EQ(integer("0.9223372036854775807e19"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("18446744073709551617"), std::nullopt);  // not wrapped round
  EXPECT_EQ(integer("99999999999999999999999"), std::nullopt);
  EXPECT_EQ(integer("1e18"), 1'000'000'000'000'000'000);
  EXPECT_EQ(integer("1e19"), std::nullopt);
  EXPECT_EQ(integer("1e400"), std::nullopt);
  EXPECT_EQ(integer("1e99999999999999999999"), std::nullopt);
  EXPECT_EQ(integer("1e-99999999999999999999"), std::nullopt);
  EXPECT_EQ(integer("1" + std::string(500, '0') + "e-500"), 1);
  EXPECT_EQ(integer("\"1\""), std::nullopt);
}

TEST(JsonValue, ReadsTheNearestDouble) {
  const auto real = [](std::string token) { return parse(std::move(token)).root().real(); };
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("-2.5E3"), -2500.0);
  EXPECT_EQ(real("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(real("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("-1e400"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e99999999999999999999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e-400"), 0.0);
  EXPECT_EQ(real("1e-99999999999999999999"), 0.0);
  EXPECT_TRUE(std::signbit(real("-1e-400")));
  EXPECT_EQ(real("5e-324"), std::numeric_limits<double>::denorm_min());
}

TEST(JsonDocument, StaysWholeWhenMoved) {
  auto first = parse("[1]");  // short: the string moves its bytes
  const Document second = std::move(first);
  EXPECT_EQ(second.root().at("/0").raw(), "1");
  EXPECT_EQ(second.text(), "[1]");
}

TEST(JsonDocument, ReportsWhatItHolds) {
  const auto document = parse("[1,2,{\"a\":3}]");
  EXPECT_EQ(document.node_count(), 6U);  // array, 1, 2, object, key, 3
  EXPECT_GE(document.memory(), document.text().size() + 6 * 20);
  std::string zeros = "[0";
  for (int i = 0; i < 100'000; ++i) zeros += ",0";
  const auto large = parse(zeros + "]");
  EXPECT_LE(large.memory(), 20 * large.node_count() * 3 / 2 + 2 * large.text().size());
}

TEST(JsonDocument, NodesCanBeWalkedByIndex) {
  const auto document = parse(R"({"a":[1,2],"b":3})");
  const Value array = document.root().find("a");
  EXPECT_EQ(document.node(array.index()).raw(), "[1,2]");
  EXPECT_EQ(document.node(array.next_index()).raw(), "\"b\"");
  EXPECT_EQ(document.root().next_index(), document.node_count());
}

}  // namespace
}  // namespace sallyport::json
