#include "gateway/base/known_secrets.hpp"

#include <gtest/gtest.h>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

std::string hidden(const std::string& secret, std::string text) {
  KnownSecrets secrets;
  secrets.add(Secret(secret));
  secrets.hide(text);
  return text;
}

TEST(KnownSecrets, AreHiddenInEveryFormInWhichTheyAreShown) {
  const std::string secret = "p4ss \"word\"/\xC3\xA9\\ and more";
  for (const std::string& shown : {secret, quote(secret), visible(secret), percent_encode(secret),
                                   visible(quote("in " + secret + " text")), "scope/" + percent_encode(secret)}) {
    const std::string text = hidden(secret, shown);
    EXPECT_NE(text.find("***"), std::string::npos) << shown;
    EXPECT_EQ(text.find("p4ss"), std::string::npos) << shown;
  }
}

TEST(KnownSecrets, OfSeveralLinesAreHiddenLineByLine) {
  const std::string key =
      "-----BEGIN KEY-----\r\nMC4CAQAwBQYDK2VwBCIEIJ1h\r\nsecond/line+of/the==key\n-----END KEY-----\n";
  EXPECT_EQ(hidden(key, "MC4CAQAwBQYDK2VwBCIEIJ1h"), "***");
  EXPECT_EQ(hidden(key, "say second/line+of/the==key"), "say ***");
  EXPECT_EQ(hidden(key, "-----BEGIN KEY-----"), "-----BEGIN KEY-----");
  EXPECT_EQ(hidden(key, key), "***");
  EXPECT_EQ(hidden(key, quote(key)), "\"***\"");
}

TEST(KnownSecrets, OfTheConfigOutliveThoseOfAnHour) {
  KnownSecrets secrets(100);
  secrets.add(Secret("the-one-that-stays-and-is-the-longest-of-all"));
  for (int i = 0; i < 150; ++i) secrets.add(Secret("token-" + std::to_string(i)), true);
  EXPECT_EQ(secrets.all()->size(), 100U);
  std::string text = "the-one-that-stays-and-is-the-longest-of-all token-149";
  EXPECT_EQ(secrets.hide(text), 2U);
}

TEST(KnownSecrets, AreHiddenInTheirParts) {
  EXPECT_EQ(hidden("Bearer abcdefghijklmnop", "token abcdefghijklmnop"), "token ***");
  EXPECT_EQ(hidden("https://me:passwd12@host/x", "passwd12"), "***");
  EXPECT_EQ(hidden("short", "short"), "short");
}

}  // namespace
}  // namespace sallyport::gateway
