// What is JSON text and what is not.
#include <gtest/gtest.h>

#include <string>

#include "schemas/core/json.hpp"

namespace sallyport::json {
namespace {

using namespace std::string_literals;

constexpr Limits kComments{.comments = true};

std::string error_of(std::string text, const Limits& limits = {}) {
  const auto document = Document::parse(std::move(text), limits);
  return document ? "accepted" : document.error().message;
}

TEST(JsonScan, AcceptsEveryFormOfValue) {
  const std::string texts[] = {
      "null",
      "true",
      "false",
      "0",
      "-0",
      "7",
      "-12",
      "10.25",
      "1e5",
      "1E+5",
      "2.5e-10",
      "0e0",
      "-0.0e-0",
      "\"\"",
      "\"a\"",
      "[]",
      "{}",
      " [ ] ",
      "\t{\r\n}\n",
      "[1,2]",
      "[[],[[]],{}]",
      R"({"":0})",
      R"({"a":{"b":[null,true]},"c":"d"})",
      R"("\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00")",
      "\"\x7F\"",
      "\"h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"",
      "\"\xEF\xBF\xBF \xF4\x8F\xBF\xBF \xED\x9F\xBF \xEE\x80\x80\"",  // noncharacters and the edges of the surrogates
      R"("\uFFFF\uFDD0")",
      "\"12345678\"",
      "\"1234567\\n\"",
      "123456789012345678901234567890",
      "1e400"};
  for (const auto& text : texts) EXPECT_EQ(error_of(text), "accepted") << text;
}

TEST(JsonScan, RefusesEveryClassOfMalformedText) {
  const std::string texts[] = {
      // nothing, or more than one
      "", " ", "\n", "1 2", "[] []", "{}x", "null,", "[1]]", "{}}", "\"a\" \"b\"",
      // literals
      "nul", "nulll", "True", "NULL", "t", "truefalse", "NaN", "Infinity", "-Infinity", "undefined", "nan",
      // numbers
      "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1e-", "1E", "0x10", "1_000", "1,0", "--1",
      "1.2.3", "1e5.5", "1e1e1", "\xEF\xBC\x91", "0b1", "1f", "- 1", "1 .5", "0.e1", "2e+-1",
      // strings
      "\"", "\"abc", "\"\\", "\"\\\"", "'a'", "\"a'", "\"\\x41\"", "\"\\'\"", "\"\\a\"", "\"\\0\"", "\"\\U0041\"",
      "\"\\u\"", "\"\\u12\"", "\"\\u123\"", "\"\\u123g\"", "\"\\u 123\"", "\"\\u+123\"", "\"\\u12", "\"a\nb\"",
      "\"a\tb\"", "\"a\rb\"", "\"\x1F\"", "\"a\0b\""s, "abc", "\"\\\n\"",
      // surrogates
      R"("\uD800")", R"("\uDBFF")", R"("\uDC00")", R"("\uDFFF")", R"("\uD800x")", R"("\uD800\n")", R"("\uD800\uD800")",
      R"("\uD800\u0041")", R"("\uDC00\uD800")", R"("\ud83d\u")", R"("\ud83d\ude0")", R"("\ud83d\)",
      // arrays
      "[", "]", "[1", "[1,", "[1,]", "[,]", "[,1]", "[1,,2]", "[1 2]", "[1}", "[1;2]", "[\"a\",", "[[]", "[1:2]",
      "[\"a\":1]",
      // objects
      "{", "}", "{1:2}", "{a:1}", "{'a':1}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}",
      "{\"a\" 1}", "{\"a\"::1}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}", "{\"a\",\"b\"}", "{null:1}", "{\"a\":1]",
      "{\"a\"", "{\"a\":", "{[]:1}", "{\"a\":1;}", "{{}}", "{\"a\":{}",
      // comments and white space that JSON does not have
      "// a\n1", "/* a */ 1", "1 // a", "[1 /**/]", "# a\n1", "\f1", "\v1",
      "\xC2\xA0"
      "1",
      "\xE2\x80\xA8"
      "1",
      "1\0"s, "\0"s, "[1,\0]"s,
      // encodings
      "\xEF\xBB\xBF{}", "\xFF\xFE{\0}\0"s, "{\0}\0"s};
  for (const auto& text : texts) EXPECT_NE(error_of(text), "accepted") << text;
}

TEST(JsonScan, RefusesBytesThatAreNoUtf8) {
  const std::string bad[] = {
      "\x80",         "\xBF",          "\xC0\x80",         "\xC1\xBF",         "\xC3",
      "\xC3(",        "\xE0\x80\x80",  "\xE0\x9F\xBF",     "\xE2\x82",         "\xE2\x82(",
      "\xE2(\xA1",    "\xED\xA0\x80",  "\xED\xBF\xBF",     "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",
      "\xF0\x9F\x98", "\xF0\x9F(\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80",
      "\xFE",         "\xFF"};
  for (const auto& bytes : bad) {
    EXPECT_EQ(error_of("\"" + bytes + "\""), "bytes that are no UTF-8 at line 1, column 2");
    EXPECT_EQ(error_of("\"1234567890" + bytes), "bytes that are no UTF-8 at line 1, column 12");
    EXPECT_NE(error_of("{\"" + bytes + "\":1}"), "accepted");
    EXPECT_NE(error_of(bytes), "accepted");
    EXPECT_NE(error_of("// " + bytes + "\n1", kComments), "accepted");
  }
}

TEST(JsonScan, SaysWhatWasExpectedAndWhere) {
  EXPECT_EQ(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"),
            "expected `:` after the member name, found `2` at line 3, column 7");
  EXPECT_EQ(error_of("[1 2]"), "expected `,` or `]` after the element, found `2` at line 1, column 4");
  EXPECT_EQ(error_of("{\"a\":1 x"), "expected `,` or `}` after the member, found `x` at line 1, column 8");
  EXPECT_EQ(error_of("{a:1}"), "expected a member name in double quotes, found `a` at line 1, column 2");
  EXPECT_EQ(error_of(""), "expected a value, but the text ends at line 1, column 1");
  EXPECT_EQ(error_of("[1,"), "expected a value, but the text ends at line 1, column 4");
  EXPECT_EQ(error_of("\"abc"), "expected `\"` to end the string, but the text ends at line 1, column 5");
  EXPECT_EQ(error_of("{}\n\n}"), "expected the end of the text, found `}` at line 3, column 1");
  EXPECT_EQ(error_of("[1.]"), "expected a digit after the point, found `]` at line 1, column 4");
  EXPECT_EQ(error_of("-x"), "expected a digit, found `x` at line 1, column 2");
  EXPECT_EQ(error_of("1e"), "expected a digit in the exponent, but the text ends at line 1, column 3");
  EXPECT_EQ(error_of("[007]"), "a number with a zero in front at line 1, column 2");
  EXPECT_EQ(error_of("\"\\q\""), "expected one of `\"\\/bfnrtu` after the backslash at line 1, column 2");
  EXPECT_EQ(error_of("\"\\u12x4\""), "expected four hex digits after `\\u` at line 1, column 2");
  EXPECT_EQ(error_of("\"\\uD800\""), "an escaped surrogate without its other half at line 1, column 2");
  EXPECT_EQ(error_of("\"a\nb\""), "a control character in a string, which must be escaped at line 1, column 3");
  EXPECT_EQ(error_of("\xEF\xBB\xBF{}"),
            "the text begins with a byte order mark, which JSON does not allow at line 1, column 1");
  // What was found cannot play tricks on a terminal.
  EXPECT_EQ(error_of("\x1B[31m"), "expected a value, found `\\u{1B}` at line 1, column 1");
  EXPECT_EQ(error_of("\xE2\x80\xAE"), "expected a value, found `\\u{202E}` at line 1, column 1");
  EXPECT_EQ(error_of("\xFF"), "expected a value, found `\\u{FF}` at line 1, column 1");
}

TEST(JsonScan, RefusalsCarryTheirCode) {
  EXPECT_EQ(Document::parse("[").error().code, ErrorCode::invalid);
  EXPECT_EQ(Document::parse("[1]", {.bytes = 2}).error().code, ErrorCode::limit);
  EXPECT_EQ(Document::parse("[1]", {.bytes = 2}).error().message, "a text of 3 bytes, 2 are allowed");
  EXPECT_TRUE(Document::parse("[1]", {.bytes = 3}));
}

TEST(JsonScan, CountsDepthInContainers) {
  EXPECT_EQ(error_of("1", {.depth = 0}), "accepted");
  EXPECT_EQ(error_of("[]", {.depth = 0}), "nested deeper than the 0 levels allowed at line 1, column 1");
  EXPECT_EQ(error_of("[{\"a\":[1]},[]]", {.depth = 3}), "accepted");
  EXPECT_EQ(error_of("[[],[{}]]", {.depth = 2}), "nested deeper than the 2 levels allowed at line 1, column 6");
  EXPECT_EQ(Document::parse("[[]]", {.depth = 1}).error().code, ErrorCode::limit);
  EXPECT_EQ(error_of(std::string(128, '[') + std::string(128, ']')), "accepted");
  EXPECT_NE(error_of(std::string(129, '[') + std::string(129, ']')), "accepted");
  EXPECT_NE(error_of(std::string(4'000'000, '[')), "accepted");
}

TEST(JsonScan, CommentsAndTrailingCommasOnlyWhereAsked) {
  const std::string texts[] = {"// a\n1",
                               "/* a */1/**/",
                               "[1,]",
                               "{\"a\":1,}",
                               "{\"a\":1,// b\n}",
                               "[/**/]",
                               "{ // a\n }",
                               "{\"a\"/*:*/:/*,*/1/*}*/,/**/\"b\":2}",
                               "1 // no line feed at the end",
                               "/* * / **/1",
                               "[1 // ]\n]",
                               "/* \xC3\xA9 */1",
                               "//\n//\n//\n1"};
  for (const auto& text : texts) {
    EXPECT_EQ(error_of(text, kComments), "accepted") << text;
    EXPECT_NE(error_of(text), "accepted") << text;
  }
  const std::string bad[] = {"[,]",       "{,}",          "[1,,]",  "{\"a\":1,,}", "/* a",     "/*/ 1", "/",
                             "/ /1",      "1 /",          "[1]/* ", "[1,",         "//",       "// 1",  "1,",
                             "{\"a\":,}", "/* /* */ */1", "{/",     "{\"a\"/",     "{\"a\":/", "[1/",   "# a\n1"};
  for (const auto& text : bad) EXPECT_NE(error_of(text, kComments), "accepted") << text;
  EXPECT_EQ(error_of("[1,\n /* a", kComments),
            "expected `*/` to end the comment, but the text ends at line 2, column 2");
  EXPECT_EQ(error_of("[1 /]", kComments), "expected `//` or `/*` to begin a comment at line 1, column 4");
}

TEST(JsonScan, SlashesInStringsAreNoComments) {
  const auto document = Document::parse(R"({"url":"http://a/*b*/"})", kComments);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("url").string(), "http://a/*b*/");
}

TEST(JsonScan, NoPrefixOfADocumentIsAccepted) {
  const std::string text =
      R"({"a":[1,-2.5e+10,"x\u00e9\ud83d\ude00\n",true,false,null,{"b":{}}],"långt namn":"漢字 😀","c":{"d":[[],[[1]]]}})";
  ASSERT_TRUE(Document::parse(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(Document::parse(text.substr(0, size))) << size;
    EXPECT_FALSE(Document::parse(text.substr(0, size), kComments)) << size;
  }
}

TEST(JsonScan, NoChangedByteCrashesAndPositionsStayInside) {
  const std::string text = R"({"a":[1,-2.5e+10,"x\u00e9\ud83d\ude00\n",true,null,{"b":{}}],"é漢😀":"/**/"})";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      for (const bool comments : {false, true}) {
        const auto document = Document::parse(changed, {.comments = comments});
        if (!document) continue;
        EXPECT_TRUE(document->root().is_object());
        EXPECT_EQ(document->root().raw(), changed);
      }
    }
  }
}

TEST(JsonScan, KeepsTheBytesThatCame) {
  const std::string text = " {\"b\" : 1.50 ,\"a\":[ 1E2,\"\\u0061\\/\" ] } ";
  const auto document = Document::parse(text);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->text(), text);
  EXPECT_EQ(document->root().raw(), "{\"b\" : 1.50 ,\"a\":[ 1E2,\"\\u0061\\/\" ] }");
  EXPECT_EQ(document->root().find("b").raw(), "1.50");
  EXPECT_EQ(document->root().find("a").raw(), "[ 1E2,\"\\u0061\\/\" ]");
  EXPECT_EQ(document->root().at("/a/1").raw(), "\"\\u0061\\/\"");
  EXPECT_EQ(document->root().at("/a/1").offset(), text.find("\"\\u0061"));
}

TEST(JsonScan, LongStringsOfEveryAlignmentEndWhereTheyEnd) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (const std::string tail : {"", "\\n", "\xC3\xA9", "\\\"", "\\\\"}) {
      const std::string text = "[\"" + std::string(size, 'x') + tail + "\",\"" + std::string(size, 'y') + "\"]";
      const auto document = Document::parse(text);
      ASSERT_TRUE(document) << text;
      ASSERT_EQ(document->root().size(), 2U);
      EXPECT_EQ(document->root().at("/1").string(), std::string(size, 'y'));
    }
  }
}

}  // namespace
}  // namespace sallyport::json
