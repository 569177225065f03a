#include <gtest/gtest.h>

#include "schemas/core/json.hpp"

namespace sallyport::json {
namespace {

bool alike(const std::string& a, const std::string& b) {
  constexpr Limits kDeep{.depth = 1'000'000};
  const auto left = Document::parse(a, kDeep);
  const auto right = Document::parse(b, kDeep);
  if (!left || !right) throw std::runtime_error("no JSON");
  const bool one = same(left->root(), right->root());
  EXPECT_EQ(same(right->root(), left->root()), one) << a << " and " << b;
  EXPECT_TRUE(same(left->root(), left->root()));
  return one;
}

TEST(JsonSame, ComparesScalarsByKindAndValue) {
  EXPECT_TRUE(alike("null", " null "));
  EXPECT_TRUE(alike("true", "true"));
  EXPECT_FALSE(alike("true", "false"));
  EXPECT_FALSE(alike("null", "false"));
  EXPECT_FALSE(alike("0", "false"));
  EXPECT_FALSE(alike("1", "\"1\""));
  EXPECT_FALSE(alike("[]", "{}"));
  EXPECT_TRUE(alike(R"("a\u00e9\/")", R"("aé/")"));
  EXPECT_TRUE(alike(R"("\u0061b")", R"("a\u0062")"));
  EXPECT_FALSE(alike(R"("\u0061b")", R"("a\u0063")"));
  EXPECT_FALSE(alike("\"\xC3\xA9\"", "\"e\xCC\x81\""));  // different texts, however they look
}

TEST(JsonSame, ComparesNumbersExactly) {
  for (const auto& [a, b] :
       std::initializer_list<std::pair<std::string, std::string>>{{"1", "1.0"},
                                                                  {"1", "10e-1"},
                                                                  {"100", "1E2"},
                                                                  {"0", "-0"},
                                                                  {"0", "0e5"},
                                                                  {"0.0", "-0.00e-9"},
                                                                  {"1.50", "15e-1"},
                                                                  {"-2.5", "-25.0e-1"},
                                                                  {"0.001", "1e-3"},
                                                                  {"123.456", "1.23456e2"},
                                                                  {"1e400", "10e399"},
                                                                  {"1e-400", "0.1e-399"},
                                                                  {"1e999999999999999999", "10e999999999999999998"},
                                                                  {"1" + std::string(400, '0'), "1e400"},
                                                                  {"1e99999999999999999999", "1e99999999999999999999"},
                                                                  {"0e99999999999999999999", "0"},
                                                                  {"10.10", "10.1"},
                                                                  {"1e+5", "1e05"}}) {
    EXPECT_TRUE(alike(a, b)) << a << " and " << b;
  }
  for (const auto& [a, b] :
       std::initializer_list<std::pair<std::string, std::string>>{{"1", "-1"},
                                                                  {"1", "2"},
                                                                  {"1", "10"},
                                                                  {"9007199254740992", "9007199254740993"},
                                                                  {"0.1", "0.10000000000000000001"},
                                                                  {"1e400", "1e401"},
                                                                  {"1e400", "-1e400"},
                                                                  {"12", "1.2"},
                                                                  {"101", "1.01"},
                                                                  {"1", "0"},
                                                                  {"1.2", "1.21"},
                                                                  {"1e-400", "0"},
                                                                  {"1e99999999999999999999", "1e99999999999999999998"},
                                                                  {"11", "1.1e2"},
                                                                  {"1001", "101"}}) {
    EXPECT_FALSE(alike(a, b)) << a << " and " << b;
  }
}

TEST(JsonSame, ArraysHaveAnOrderAndObjectsHaveNone) {
  EXPECT_TRUE(alike("[1,2,[3]]", "[1.0,2,[30e-1]]"));
  EXPECT_FALSE(alike("[1,2]", "[2,1]"));
  EXPECT_FALSE(alike("[1,2]", "[1,2,3]"));
  EXPECT_TRUE(alike(R"({"a":1,"b":{"c":[2],"d":3}})", R"({"b":{"d":3,"c":[2]},"a":1})"));
  EXPECT_TRUE(alike(R"({"a":1,"\u0062":2})", R"({"b":2,"\u0061":1})"));
  EXPECT_FALSE(alike(R"({"a":1,"b":2})", R"({"a":2,"b":1})"));
  EXPECT_FALSE(alike(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(alike(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(alike(R"({"x":{"a":1},"y":{"b":1}})", R"({"x":{"b":1},"y":{"a":1}})"));
  EXPECT_FALSE(alike(R"({"b":{"x":1},"a":{"x":2}})", R"({"a":{"x":1},"b":{"x":2}})"));
}

TEST(JsonSame, EqualNamesPairUpInTheOrderOfTheText) {
  EXPECT_TRUE(alike(R"({"a":1,"a":2,"b":3})", R"({"b":3,"a":1,"a":2})"));
  EXPECT_FALSE(alike(R"({"a":1,"a":2,"b":3})", R"({"b":3,"a":2,"a":1})"));
  EXPECT_FALSE(alike(R"({"a":1,"a":1})", R"({"a":1,"b":1})"));
}

TEST(JsonSame, AbsentIsTheSameAsAbsentOnly) {
  const auto document = Document::parse("null");
  EXPECT_TRUE(same({}, {}));
  EXPECT_FALSE(same(document->root(), {}));
  EXPECT_FALSE(same({}, document->root()));
}

TEST(JsonSame, LargeObjectsInOppositeOrderAndDeepOnesAreNoTrouble) {
  std::string up = "{";
  std::string down = "{";
  for (int i = 0; i < 50'000; ++i) {
    up += "\"m" + std::to_string(i) + "\":[" + std::to_string(i) + "],";
    down += "\"m" + std::to_string(49'999 - i) + "\":[" + std::to_string(49'999 - i) + ".0],";
  }
  up.back() = down.back() = '}';
  EXPECT_TRUE(alike(up, down));
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  EXPECT_TRUE(alike(open + "1" + close, open + "1.0" + close));
  EXPECT_FALSE(alike(open + "1" + close, open + "2" + close));
}

}  // namespace
}  // namespace sallyport::json
