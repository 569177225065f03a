// Folding of names and characters that deceive.
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "schemas/core/encoding.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport {
namespace {

using namespace std::string_literals;

// The library's own answer for the whole text at once.
std::string reference(const std::string& text) {
  auto* folded = utf8proc_NFKC_Casefold(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  std::string result = folded == nullptr ? "bad" : reinterpret_cast<char*>(folded);
  std::free(folded);
  return result;
}

TEST(Fold, LowersAsciiAndNothingElseOfIt) {
  EXPECT_EQ(fold("Hello_World-09 [@`{"), "hello_world-09 [@`{");
  EXPECT_EQ(fold(""), "");
  EXPECT_EQ(fold("A\0Z"s), "a\0z"s);
}

TEST(Fold, TakesLookalikesTogether) {
  EXPECT_EQ(fold("ＰＡＴＨ"), "path");
  EXPECT_EQ(fold("\xE2\x84\xAA"), "k");
  EXPECT_EQ(fold("Straße"), "strasse");
  EXPECT_EQ(fold("e\xCC\x81"), "é");
  EXPECT_EQ(fold("É"), "é");
  EXPECT_EQ(fold("\xEF\xAC\x81"), "fi");
  EXPECT_EQ(fold("pa\xE2\x80\x8Bth"), "path");
  EXPECT_EQ(fold("pay\xC2\xAD"
                 "ee"),
            "payee");
  EXPECT_NE(fold("о"), fold("o"));  // Cyrillic: another letter, however it looks
}

TEST(Fold, RefusesWhatIsNoUtf8) {
  for (const char* bad : {"\xFF", "a\xC3", "\xED\xA0\x80", "abc\x80", "\xF4\x90\x80\x80"})
    EXPECT_EQ(fold(bad), std::nullopt) << bad;
}

TEST(Fold, InPiecesIsTheSameAsWhole) {
  const std::string alphabet[] = {"a",
                                  "Z",
                                  " ",
                                  "é",
                                  "e\xCC\x81",
                                  "\xCC\x81",
                                  "\xCC\xA3",
                                  "漢",
                                  "한",
                                  "\xE1\x84\x92",
                                  "\xE1\x85\xA1",
                                  "\xE1\x86\xAB",
                                  "\xE3\x85\x8F",
                                  "\xEF\xBE\x9E",
                                  "カ",
                                  "ｶ",
                                  "\xE2\x80\x8D",
                                  "ß",
                                  "İ",
                                  "ﷺ",
                                  "😀",
                                  "\xE0\xA6\xBE",
                                  "\xE0\xA7\x87",
                                  "\xCD\x85",
                                  "\xC2\xAD",
                                  "ǆ",
                                  "ﬃ",
                                  "\xEF\xB8\x8F",
                                  "\xC2\xA8",
                                  "ώ",
                                  "\xF0\x91\x84\xB1",
                                  "\xF0\x91\x84\xA7"};
  std::mt19937 random(7);
  int whole = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const auto size = 1 + random() % 200;
    for (std::size_t i = 0; i < size; ++i) text += alphabet[random() % std::size(alphabet)];
    std::string folded;
    if (unicode::fold_into(text, folded) != unicode::Folded::whole) continue;
    ++whole;
    ASSERT_EQ(folded, reference(text)) << text;
  }
  EXPECT_GT(whole, 2900);
}

TEST(Fold, IsStable) {
  for (const std::string text : {"Straße", "ﷺ", "İstanbul", "ΌΣΟΣ", "ｶﾞ", "①½", "ǅ"})
    EXPECT_EQ(fold(*fold(text)), fold(text)) << text;
}

TEST(Fold, LongRunsOfMarksStayBounded) {
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? "\xCC\x80" : "\xCC\xA3";
  std::string folded;
  EXPECT_EQ(unicode::fold_into(marks, folded), unicode::Folded::grouped);
  EXPECT_LE(folded.size(), marks.size() + 16);
  std::string expanding;
  for (int i = 0; i < 10'000; ++i) expanding += "ﷺ";
  folded.clear();
  EXPECT_EQ(unicode::fold_into(expanding, folded), unicode::Folded::whole);
  EXPECT_EQ(folded.size(), 330'000U);
}

TEST(Visible, LeavesOrdinaryTextAlone) {
  const std::string texts[] = {"",          "plain",       "Grüße, 漢字, 😀, עברית, العربية", "a\\u{202E}b", "x y",
                               "e\xCC\x81", "\xE3\x80\x80"};
  for (const auto& text : texts) {
    EXPECT_EQ(visible(text), text);
    EXPECT_FALSE(has_hidden(text)) << text;
  }
}

TEST(Visible, ShowsEveryClassOfHiddenCharacter) {
  const char32_t hidden[] = {0x00,    0x07,    0x1B,    0x7F,    0x85,    0x9B,    0xA0,    0xAD,     0x34F,   0x61C,
                             0x115F,  0x1160,  0x180E,  0x2000,  0x200B,  0x200C,  0x200D,  0x200E,   0x200F,  0x2028,
                             0x2029,  0x202A,  0x202B,  0x202C,  0x202D,  0x202E,  0x202F,  0x2060,   0x2061,  0x2064,
                             0x2066,  0x2067,  0x2068,  0x2069,  0x206F,  0x2800,  0x3164,  0xE000,   0xF8FF,  0xFDD0,
                             0xFE00,  0xFE0F,  0xFEFF,  0xFFA0,  0xFFF9,  0xFFFB,  0xFFFE,  0xFFFF,   0x1D173, 0x1FFFE,
                             0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xF0000, 0x10FFFD, 0x10FFFF};
  for (const char32_t c : hidden) {
    std::string text = "a";
    unicode::append(text, c);
    char shown[32];
    std::snprintf(shown, sizeof shown, "a\\u{%02X}b", static_cast<unsigned>(c));
    EXPECT_EQ(visible(text + "b"), shown);
    EXPECT_TRUE(has_hidden(text)) << shown;
  }
}

TEST(Visible, ShowsLayoutButDoesNotCallItHidden) {
  EXPECT_EQ(visible("a\n\tb\r"), "a\\u{0A}\\u{09}b\\u{0D}");
  EXPECT_FALSE(has_hidden("a\n\tb\r"));
  EXPECT_TRUE(has_hidden("a\n\x1B"));
}

TEST(Visible, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("a\xFF\xC3(\xED\xA0\x80"), "a\\u{FF}\\u{C3}(\\u{ED}\\u{A0}\\u{80}");
  EXPECT_TRUE(has_hidden("\xFF"));
  EXPECT_TRUE(has_hidden("a\xE2\x80"));
}

TEST(Visible, AnswersInPlainSight) {
  std::string everything;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) unicode::append(everything, c);
  }
  const auto shown = visible(everything);
  EXPECT_FALSE(has_hidden(shown));
  EXPECT_EQ(visible(shown), shown);
}

}  // namespace
}  // namespace sallyport
