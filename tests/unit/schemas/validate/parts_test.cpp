// Exact numbers and URI references.
#include <gtest/gtest.h>

#include "schemas/validate/decimal.hpp"
#include "schemas/validate/uri.hpp"

namespace sallyport::schema {
namespace {

TEST(SchemaDecimal, ComparesExactly) {
  const auto compare = [](std::string_view a, std::string_view b) { return Decimal(a).compare(Decimal(b)); };
  EXPECT_EQ(compare("1.0", "1"), 0);
  EXPECT_EQ(compare("1e2", "100.00"), 0);
  EXPECT_EQ(compare("-0.0", "0e5"), 0);
  EXPECT_LT(compare("9007199254740992", "9007199254740993"), 0);
  EXPECT_GT(compare("0.1", "0.09999999999999999999"), 0);
  EXPECT_LT(compare("-2", "-1.5"), 0);
  EXPECT_LT(compare("-1", "1e-300"), 0);
  EXPECT_GT(compare("1e400", "9e399"), 0);
  EXPECT_LT(compare("12", "123"), 0);
  EXPECT_LT(compare("99", "1e2"), 0);
}

TEST(SchemaDecimal, DividesExactly) {
  const auto multiple = [](std::string_view a, std::string_view b) { return Decimal(a).multiple_of(Decimal(b)); };
  EXPECT_TRUE(multiple("19.99", "0.01"));
  EXPECT_TRUE(multiple("0.3", "0.1"));
  EXPECT_FALSE(multiple("0.35", "0.1"));
  EXPECT_TRUE(multiple("1e308", "0.5"));
  EXPECT_FALSE(multiple("1e308", "0.3"));
  EXPECT_TRUE(multiple("0", "7"));
  EXPECT_TRUE(multiple("-21", "7"));
  EXPECT_TRUE(multiple("123456789012345678901234567890", "10"));
  EXPECT_TRUE(multiple("370370367037037036703703703670", "123456789012345678901234567890"));
  EXPECT_FALSE(multiple("370370367037037036703703703671", "123456789012345678901234567890"));
}

TEST(SchemaDecimal, KnowsIntegers) {
  for (const auto* token : {"1", "1.0", "1e2", "1.5e1", "-0.0", "100e-2"})
    EXPECT_TRUE(is_integer_token(token)) << token;
  for (const auto* token : {"1.5", "1e-1", "15e-1", "0.00001"}) EXPECT_FALSE(is_integer_token(token)) << token;
}

TEST(SchemaUri, ResolvesAsRfc3986Shows) {
  constexpr std::string_view kBase = "http://a/b/c/d;p?q";
  const std::pair<std::string_view, std::string_view> cases[] = {{"g:h", "g:h"},
                                                                 {"g", "http://a/b/c/g"},
                                                                 {"./g", "http://a/b/c/g"},
                                                                 {"g/", "http://a/b/c/g/"},
                                                                 {"/g", "http://a/g"},
                                                                 {"//g", "http://g"},
                                                                 {"?y", "http://a/b/c/d;p?y"},
                                                                 {"g?y", "http://a/b/c/g?y"},
                                                                 {"#s", "http://a/b/c/d;p?q#s"},
                                                                 {"g#s", "http://a/b/c/g#s"},
                                                                 {";x", "http://a/b/c/;x"},
                                                                 {"", "http://a/b/c/d;p?q"},
                                                                 {".", "http://a/b/c/"},
                                                                 {"..", "http://a/b/"},
                                                                 {"../g", "http://a/b/g"},
                                                                 {"../..", "http://a/"},
                                                                 {"../../g", "http://a/g"},
                                                                 {"../../../g", "http://a/g"},
                                                                 {"/./g", "http://a/g"},
                                                                 {"/../g", "http://a/g"},
                                                                 {"g.", "http://a/b/c/g."},
                                                                 {"./../g", "http://a/b/g"},
                                                                 {"g/./h", "http://a/b/c/g/h"},
                                                                 {"g/../h", "http://a/b/c/h"}};
  for (const auto& [reference, expected] : cases) EXPECT_EQ(resolve_uri(kBase, reference), expected) << reference;
  EXPECT_EQ(resolve_uri("", "x.json#a"), "x.json#a");
  EXPECT_EQ(resolve_uri("urn:uuid:1", "#a"), "urn:uuid:1#a");
}

}  // namespace
}  // namespace sallyport::schema
