// What is JSON but cannot be judged unambiguously.
#include <gtest/gtest.h>

#include <chrono>

#include "schemas/core/json.hpp"

namespace sallyport::json {
namespace {

struct Found {
  std::string what;
  std::string pointer;
  bool operator==(const Found&) const = default;
};
void PrintTo(const Found& found, std::ostream* out) { *out << found.what << " at " << found.pointer; }

Found mark_of(const std::string& text, std::string_view pointer = "") {
  const auto document = Document::parse(text, {.bytes = 64U << 20});
  if (!document) return {document.error().message, ""};
  const auto mark = document->root().at(pointer).ambiguity();
  if (!mark) return {"none", ""};
  switch (mark->what) {
    case Ambiguity::duplicate_name:
      return {"duplicate", mark->pointer};
    case Ambiguity::lookalike_name:
      return {"lookalike", mark->pointer};
    case Ambiguity::unsafe_number:
      return {"number", mark->pointer};
  }
  return {"?", ""};
}

const Found kNone{"none", ""};

TEST(JsonMarks, CleanTextsHaveNone) {
  for (const char* text :
       {"1", "[1,1,1]", R"({"a":{"a":{"a":1}},"b":{"a":1}})", R"([{"a":1},{"a":1},{"A":1}])", R"({"a":"A","b":"a"})",
        R"({"é":1,"è":2,"e":3})", R"({"":1," ":2,"\u0000":3})", R"({"a":1,"\u0062":2})",
        R"({"ab":1,"ba":2,"aab":3,"abb":4})", R"({"value_1":1,"value_2":2,"value_3":3})", R"({"名":1,"前":2})"}) {
    EXPECT_EQ(mark_of(text), kNone) << text;
  }
}

TEST(JsonMarks, FindsDuplicateNames) {
  EXPECT_EQ(mark_of(R"({"a":1,"b":2,"a":3})"), (Found{"duplicate", "/a"}));
  EXPECT_EQ(mark_of(R"({"a":1,"\u0061":2})"), (Found{"duplicate", "/a"}));
  EXPECT_EQ(mark_of(R"({"\u0061":1,"a":2})"), (Found{"duplicate", "/a"}));
  EXPECT_EQ(mark_of(R"({"":1,"":2})"), (Found{"duplicate", "/"}));
  EXPECT_EQ(mark_of(R"({"é":1,"\u00e9":2})"), (Found{"duplicate", "/é"}));
  EXPECT_EQ(mark_of(R"({"😀":1,"\ud83d\ude00":2})"), (Found{"duplicate", "/😀"}));
  EXPECT_EQ(mark_of(R"([0,{"x":[{"a":1,"a":1}]}])"), (Found{"duplicate", "/1/x/0/a"}));
  EXPECT_EQ(mark_of(R"({"a long enough name":1,"another name of it":2,"a long enough name":3})"),
            (Found{"duplicate", "/a long enough name"}));
}

TEST(JsonMarks, FindsNamesThatDifferOnlyByCaseWidthOrNormalisation) {
  EXPECT_EQ(mark_of(R"({"path":1,"Path":2})"), (Found{"lookalike", "/Path"}));
  EXPECT_EQ(mark_of(R"({"dry_run_option":1,"dry_Run_option":2})"), (Found{"lookalike", "/dry_Run_option"}));
  EXPECT_EQ(mark_of(R"({"path":1,"ｐａｔｈ":2})"), (Found{"lookalike", "/ｐａｔｈ"}));
  EXPECT_EQ(mark_of("{\"k\":1,\"\xE2\x84\xAA\":2}"), (Found{"lookalike", "/\xE2\x84\xAA"}));   // Kelvin sign
  EXPECT_EQ(mark_of("{\"\xC3\xA9\":1,\"e\xCC\x81\":2}"), (Found{"lookalike", "/e\xCC\x81"}));  // composed, decomposed
  EXPECT_EQ(mark_of("{\"stra\xC3\x9F"
                    "e\":1,\"STRASSE\":2}"),
            (Found{"lookalike", "/STRASSE"}));                                                       // ß
  EXPECT_EQ(mark_of("{\"file\":1,\"\xEF\xAC\x81le\":2}"), (Found{"lookalike", "/\xEF\xAC\x81le"}));  // fi ligature
  EXPECT_EQ(mark_of("{\"path\":1,\"pa\xE2\x80\x8Bth\":2}"),
            (Found{"lookalike", "/pa\xE2\x80\x8Bth"}));  // zero width space
  EXPECT_EQ(mark_of(R"({"path":1,"\u0050ath":2})"), (Found{"lookalike", "/Path"}));
  EXPECT_EQ(mark_of("{\"\xC3\x84\":1,\"\xC3\xA4\":2}"), (Found{"lookalike", "/ä"}));
  EXPECT_EQ(mark_of("{\"\xCE\xA3\":1,\"\xCF\x82\":2,\"x\":3}"), (Found{"lookalike", "/\xCF\x82"}));  // Σ and final ς
}

TEST(JsonMarks, FindsThemInObjectsOfEverySize) {
  for (const int size : {2, 3, 8, 15, 16, 17, 18, 40, 1000}) {
    std::string body;
    for (int i = 0; i < size; ++i) body += "\"member_" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    EXPECT_EQ(mark_of("{" + body + "\"z\":0}"), kNone) << size;
    EXPECT_EQ(mark_of("{" + body + "\"member_0\":0}"), (Found{"duplicate", "/member_0"})) << size;
    EXPECT_EQ(mark_of("{" + body + "\"Member_1\":0}"), (Found{"lookalike", "/Member_1"})) << size;
    EXPECT_EQ(mark_of("{\"\xC3\xA9\":0," + body + "\"\\u00c9\":0}"), (Found{"lookalike", "/É"})) << size;
  }
}

TEST(JsonMarks, FindsUnsafeNumbers) {
  const std::string many(1025, '1');
  for (const auto& token :
       {std::string("1e309"), std::string("-1e309"), std::string("1e400"), std::string("1.7976931348623159e308"),
        std::string("17976931348623159e292"), std::string("1e-400"), std::string("-1e-324"), std::string("2.4e-324"),
        std::string("1e99999999999999999999"), std::string("1e-99999999999999999999"), many, many + ".5",
        "1" + std::string(309, '0'), "0." + std::string(400, '0') + "1", "0." + std::string(1100, '0'),
        std::string("0.00001e-320")}) {
    EXPECT_EQ(mark_of(token), (Found{"number", ""})) << token;
    EXPECT_EQ(mark_of("{\"a\":[0," + token + "]}"), (Found{"number", "/a/1"})) << token;
  }
  for (const auto& token :
       {std::string("1e308"), std::string("1.7976931348623157e308"), std::string("1.7976931348623158e308"),
        std::string("0"), std::string("-0"), std::string("0e400"), std::string("0.0e-400"),
        std::string("0e99999999999999999999"), std::string("4.9e-324"), std::string("2.5e-324"),
        std::string("1" + std::string(308, '0')), "1" + std::string(400, '0') + "e-400",
        "0." + std::string(400, '0') + "1e400", std::string(300, '9'), std::string("0." + std::string(1022, '0')),
        std::string("12345678901234567890")}) {
    EXPECT_EQ(mark_of(token), kNone) << token;
  }
}

TEST(JsonMarks, TellsTheFirstInTheOrderOfTheText) {
  EXPECT_EQ(mark_of(R"([{"a":1e400,"A":1},{"b":1,"b":2}])"), (Found{"number", "/0/a"}));
  EXPECT_EQ(mark_of(R"({"x":{"b":1,"b":2},"X":1})"), (Found{"duplicate", "/x/b"}));
  EXPECT_EQ(mark_of(R"({"a":1,"A":2,"a":3})"), (Found{"lookalike", "/A"}));
}

TEST(JsonMarks, AreAskedOfASubtree) {
  const std::string text = R"({"clean":[{"a":1}],"bad":{"n":{"a":1,"A":1}},"also clean":{"x":[]}})";
  EXPECT_EQ(mark_of(text), (Found{"lookalike", "/bad/n/A"}));
  EXPECT_EQ(mark_of(text, "/bad"), (Found{"lookalike", "/bad/n/A"}));
  EXPECT_EQ(mark_of(text, "/clean"), kNone);
  EXPECT_EQ(mark_of(text, "/also clean"), kNone);
  EXPECT_EQ(mark_of(text, "/bad/n/a"), kNone);
}

TEST(JsonMarks, ARunOfMarksTooLongToOrderIsMarked) {
  std::string name = "a";
  for (int i = 0; i < 500; ++i) name += i % 2 == 0 ? "\xCC\x80" : "\xCC\xA3";
  EXPECT_EQ(mark_of("{\"" + name + "\":1,\"b\":2}").what, "lookalike");
}

TEST(JsonMarks, HostileNamesCostNoMoreThanLinearithmicTime) {
  const auto begin = std::chrono::steady_clock::now();
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) many += "\"" + std::to_string(i * 7919) + "\":0,";
  many.back() = '}';
  EXPECT_EQ(mark_of(many), kNone);
  std::string equal = "{";
  for (int i = 0; i < 100'000; ++i) equal += i % 2 == 0 ? "\"ab\":0," : "\"\\u0041b\":0,";
  equal.back() = '}';
  EXPECT_EQ(mark_of(equal).what, "lookalike");
  std::string marks;
  for (int i = 0; i < 500'000; ++i) marks += i % 2 == 0 ? "\xCC\x80" : "\xCC\xA3";
  EXPECT_EQ(mark_of("{\"" + marks + "\":1,\"b\":2}").what, "lookalike");
  // Quadratic time would be minutes; sanitizers and a busy machine are not.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace sallyport::json
