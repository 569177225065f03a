#include "schemas/validate/pattern.hpp"

#include <gtest/gtest.h>

namespace sallyport::schema {
namespace {

bool found(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::compile(pattern);
  if (!regex) {
    ADD_FAILURE() << pattern << ": " << regex.error().message;
    return false;
  }
  Matcher matcher;
  std::uint64_t steps = 0;
  const auto outcome = matcher.match(*regex, text, steps, 1'000'000);
  EXPECT_NE(outcome, Matcher::Outcome::limit) << pattern;
  return outcome == Matcher::Outcome::match;
}

std::string reason(std::string_view pattern) {
  const auto regex = Regex::compile(pattern);
  return regex ? "compiled" : regex.error().message;
}

TEST(EcmaPattern, AnchorsAndDotKnowLineEnds) {
  EXPECT_TRUE(found("^abc$", "abc"));
  EXPECT_FALSE(found("^abc$", "abc\n"));
  EXPECT_FALSE(found("^b", "a\nb"));
  EXPECT_FALSE(found("^.$", "\n"));
  EXPECT_FALSE(found("^.$", "\r"));
  EXPECT_FALSE(found("^.$", "\xE2\x80\xA8"));
  EXPECT_TRUE(found("^.$", "\xF0\x9F\x90\xB2"));
  EXPECT_TRUE(found("^[^]$", "\n"));
  EXPECT_FALSE(found("[]", "a"));
}

TEST(EcmaPattern, WebLeniencesMeanWhatTheySay) {
  EXPECT_TRUE(found("^https\\:\\/\\/", "https://x"));
  EXPECT_TRUE(found("^[a-z[\\]|@]+$", "a[]|@"));
  EXPECT_TRUE(found("^a{$", "a{"));
  EXPECT_TRUE(found("^a{,3}$", "a{,3}"));
  EXPECT_TRUE(found("^]}$", "]}"));
  EXPECT_TRUE(found("^[[:alpha:]]$", ":]"));
  EXPECT_FALSE(found("^[[:alpha:]]$", "b"));
  EXPECT_TRUE(found("^[\\w-.]+$", "a-b.c"));
  EXPECT_TRUE(found("^[\\d-a-z]+$", "1-az"));  // no range begins at a set
  EXPECT_FALSE(found("^[\\d-a-z]+$", "b"));
  EXPECT_TRUE(found("^[\\s-\\w]+$", "a -"));
  EXPECT_TRUE(found("^[a\\-z]+$", "a-z"));
  EXPECT_FALSE(found("^[a\\-z]+$", "b"));
  EXPECT_TRUE(found("^[!--]+$", "!-,"));
  EXPECT_TRUE(found("^[\\b]$", "\b"));
}

TEST(EcmaPattern, ClassesAreThoseOfEcma) {
  EXPECT_TRUE(found("^(?!\\s)[\\p{L}\\p{N} _-]+$", "na\xC3\xAFve 1"));
  EXPECT_FALSE(found("^(?!\\s)[\\p{L}\\p{N} _-]+$", " x"));
  EXPECT_TRUE(found("^\\s$", "\xEF\xBB\xBF"));
  EXPECT_FALSE(found("^\\S$", "\xC2\xA0"));
  EXPECT_TRUE(found("^[\\S]$", "x"));
  EXPECT_FALSE(found("^[^\\S]$", "x"));
  EXPECT_TRUE(found("^[^\\S]$", " "));
  EXPECT_FALSE(found("\\d", "\xD9\xA3"));
  EXPECT_TRUE(found("^\\p{Lowercase_Letter}\\P{Lu}\\p{Script=Greek}$", "ab\xCF\x80"));
  EXPECT_TRUE(found("^\\p{ASCII}$", "a"));
  EXPECT_FALSE(found("^\\p{ASCII}$", "\xC3\xA9"));
  EXPECT_TRUE(found("^[\\P{ASCII}]$", "\xC3\xA9"));
}

TEST(EcmaPattern, EscapesStandForCodePoints) {
  EXPECT_TRUE(found("^\\u0041\\x42\\u{43}\\cA\\0$", std::string_view("ABC\x01\0", 5)));
  EXPECT_TRUE(found("^\\ud83d\\udc32$", "\xF0\x9F\x90\xB2"));
  EXPECT_TRUE(found("^[\\ud83d\\udc32]$", "\xF0\x9F\x90\xB2"));
  EXPECT_TRUE(found("^\\.\\$\\#$", ".$#"));
  EXPECT_TRUE(found("#x", "#x"));
}

TEST(EcmaPattern, GroupsAndReferences) {
  EXPECT_TRUE(found("^(?<q>['\"]).*\\k<q>$", "'a'"));
  EXPECT_FALSE(found("^(['\"]).*\\1$", "'a\""));
  EXPECT_TRUE(found("^(?:a|(b))\\1c$", "ac"));
  EXPECT_TRUE(found("(?<=\\$)\\d+(?!\\d)", "$12"));
}

TEST(EcmaPattern, ReferencesThatAnotherRoundMayAnswerAreRefused) {
  for (const std::string_view pattern :
       {"^(?:(a)|b)*\\1$", "(?:(a)?b\\1)+", "(a\\1)*", "(?:\\1x(a))*", "(?:(?<n>a)*b\\k<n>)+", "(?:(a)b|\\1c)*",
        "(?:(?:(a)|c)d\\1)*", "(a?)*\\1", "(?:x(a))+\\1", "(?:(?:(a)c)?\\1)*"}) {
    EXPECT_NE(reason(pattern).find("an earlier round may have set it"), std::string::npos)
        << pattern << reason(pattern);
  }
  for (const std::string_view pattern : {"^(?:(['\"]).*?\\1|\\S)+$", "(a)?\\1", "^(?:([ab])\\1)+$", "(?:(a)|b)\\1",
                                         "((a)|b)\\2", "(?:(a)(?:b|c\\1))*"}) {
    EXPECT_EQ(reason(pattern), "compiled") << pattern;
  }
  EXPECT_TRUE(found("^(?:(['\"]).*?\\1|\\S)+$", "'a b'c"));
  EXPECT_FALSE(found("^(?:([ab])\\1)+$", "aaab"));
}

TEST(EcmaPattern, GroupsThatAreRepeatedZeroTimesAreRefused) {
  for (const std::string_view pattern : {"(?:b|^c){0}x", "(?:b|(?=a)){0,0}", "(a){0}?"}) {
    EXPECT_NE(reason(pattern), "compiled") << pattern;
  }
  EXPECT_TRUE(found("^b{0}(?:c){0,}(?:d){0,1}x$", "x"));
}

TEST(EcmaPattern, WhatPcreAloneWouldAllowIsRefused) {
  for (const std::string_view pattern :
       {"a++",     "a*+",   "(?>a)", "(?i)a", "(?#x)",   "(?P<n>a)", "(*UTF)a", "\\Aa", "a\\z",
        "\\Qa\\E", "\\Ra",  "\\hx",  "\\Kx",  "(?R)",    "(?1)",     "\\g{1}",  "\\N",  "\\X",
        "(a)\\2",  "\\08",  "^*",    "\\b+",  "a{2}{3}", "[b-a]",    "(",       ")",    "[a",
        "a\\",     "\\u12", "\\p{L", "\\pL",  "x{3,2}",  "(?<1a>x)", "\\k<n>",  "\\cé", "x{70000}"}) {
    EXPECT_NE(reason(pattern), "compiled") << pattern;
  }
}

TEST(EcmaPattern, WorkIsCountedAndBounded) {
  const auto regex = Regex::compile("^(a|aa)+$");
  ASSERT_TRUE(regex);
  Matcher matcher;
  std::uint64_t steps = 0;
  EXPECT_EQ(matcher.match(*regex, std::string(40, 'a') + "!", steps, 10'000), Matcher::Outcome::limit);
  EXPECT_GT(steps, 10'000U);
  std::uint64_t again = 0;
  EXPECT_EQ(matcher.match(*regex, "aaa", again, 10'000), Matcher::Outcome::match);
  EXPECT_LT(again, 100U);
}

}  // namespace
}  // namespace sallyport::schema
