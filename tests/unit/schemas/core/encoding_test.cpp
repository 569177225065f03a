#include "schemas/core/encoding.hpp"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

using namespace std::string_literals;
using Texts = std::vector<std::string>;

std::string every_byte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

TEST(Hex, GoesBothWays) {
  EXPECT_EQ(to_hex("\0\x7F\xFF\x0A"s), "007fff0a");
  EXPECT_EQ(from_hex("007FfF0a"), "\0\x7F\xFF\x0A"s);
  EXPECT_EQ(from_hex(to_hex(every_byte())), every_byte());
  EXPECT_EQ(from_hex(""), "");
  for (const char* bad : {"0", "0g", "g0", " 0", "0x", "00 ", "::", "@@", "``"})
    EXPECT_EQ(from_hex(bad), std::nullopt) << bad;
}

TEST(Base64, FollowsTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(to_base64("\xFB\xFF\xFE"), "+//+");
  EXPECT_EQ(to_base64url("\xFB\xFF\xFE"), "-__-");
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(from_base64(to_base64(every_byte())), every_byte());
  EXPECT_EQ(from_base64url(to_base64url(every_byte())), every_byte());
}

TEST(Base64, IsStrict) {
  for (const char* bad : {"Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9v", "Zm9v\n",
                          "-_-_", "Zm=v", "Z=g="}) {
    EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
  }
  for (const char* bad : {"Z", "Zg==", "Zh", "Zm9", "+/+/", "Zm9vY", "Zm9v "})
    EXPECT_EQ(from_base64url(bad), std::nullopt) << bad;
}

TEST(PercentEncode, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(percent_encode("azAZ09-._~"), "azAZ09-._~");
  EXPECT_EQ(percent_encode("a/b c%\xC3\xA9\0"s), "a%2Fb%20c%25%C3%A9%00");
  EXPECT_EQ(percent_encode("!$&'()*+,;=:@?#[]"), "%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40%3F%23%5B%5D");
}

TEST(Quote, EscapesAsRfc8785Does) {
  EXPECT_EQ(quote("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(quote("\0\x01\b\t\n\v\f\r\x1F\x7F"s), "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\"");
  EXPECT_EQ(quote("é漢😀"), "\"é漢😀\"");
  EXPECT_EQ(quote(""), "\"\"");
}

TEST(Quote, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(quote("a\xFF"
                  "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(quote("\xC3"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(quote("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Pointer, EscapesAndReadsSteps) {
  EXPECT_EQ(pointer_step("a/b~c~1"), "a~1b~0c~01");
  EXPECT_EQ(pointer_steps(""), Texts{});
  EXPECT_EQ(pointer_steps("/"), Texts{""});
  EXPECT_EQ(pointer_steps("/a//b"), (Texts{"a", "", "b"}));
  EXPECT_EQ(pointer_steps("/a~1b~0c~01"), Texts{"a/b~c~1"});
  for (const char* bad : {"a", "~", "/~", "/a~2", "/~/", " /a", "#/a"})
    EXPECT_EQ(pointer_steps(bad), std::nullopt) << bad;
}

TEST(Utf8, IsJudgedAndCounted) {
  EXPECT_TRUE(valid_utf8(""));
  EXPECT_TRUE(valid_utf8("plain ascii, longer than eight"));
  EXPECT_TRUE(valid_utf8("é漢😀 and more \xF4\x8F\xBF\xBF"));
  for (const char* bad : {"\x80", "12345678\xC3", "1234567\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "12345678901234567\xE2\x82"}) {
    EXPECT_FALSE(valid_utf8(bad)) << bad;
  }
  EXPECT_EQ(code_points(""), 0U);
  EXPECT_EQ(code_points("aé漢😀"), 4U);
}

TEST(EqualSecret, ComparesWholeTexts) {
  EXPECT_TRUE(equal_secret("", ""));
  EXPECT_TRUE(equal_secret("secret", "secret"));
  EXPECT_FALSE(equal_secret("secret", "secreT"));
  EXPECT_FALSE(equal_secret("Secret", "secret"));
  EXPECT_FALSE(equal_secret("secret", "secre"));
  EXPECT_FALSE(equal_secret("a\0b"s, "a\0c"s));
}

TEST(Nearest, FindsSlips) {
  const Texts known{"servers", "tools", "policy", "listen", "tokenSha256", "id"};
  EXPECT_EQ(nearest("server", known), "servers");
  EXPECT_EQ(nearest("sevrers", known), "servers");  // a swap is one slip
  EXPECT_EQ(nearest("tool", known), "tools");
  EXPECT_EQ(nearest("polciy", known), "policy");
  EXPECT_EQ(nearest("token_sha256", known), "tokenSha256");
  EXPECT_EQ(nearest("ids", known), "id");
}

TEST(Nearest, OffersNothingThatIsFar) {
  const Texts known{"servers", "tools", "id", ""};
  for (const std::string name : {"", "x", "banana", "srv", "anonymous", "ab"})
    EXPECT_EQ(nearest(name, known), std::nullopt) << name;
  EXPECT_EQ(nearest("servers", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 's'), known), std::nullopt);
  EXPECT_EQ(nearest("servers", Texts{std::string(100'000, 's')}), std::nullopt);
}

TEST(Nearest, PrefersTheNearestAndThenTheFirst) {
  EXPECT_EQ(nearest("abcde", Texts{"abcxx", "abcdx", "abcdy"}), "abcdx");
  EXPECT_EQ(nearest("abcde", Texts{"abcdx", "abcde"}), "abcde");
}

// Optimal string alignment, as plainly as it can be written.
std::size_t edits(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const auto cut = [](std::string_view text, std::size_t by) { return text.substr(0, text.size() - by); };
  std::size_t least = edits(cut(a, 1), cut(b, 1)) + (a.back() == b.back() ? 0 : 1);
  least = std::min({least, edits(cut(a, 1), b) + 1, edits(a, cut(b, 1)) + 1});
  if (a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && b.back() == a[a.size() - 2])
    least = std::min(least, edits(cut(a, 2), cut(b, 2)) + 1);
  return least;
}

TEST(Encoding, NearestAgreesWithThePlainDistance) {
  std::vector<std::string> words;
  for (std::size_t size = 1; size <= 5; ++size) {
    for (unsigned bits = 0; bits < 1U << size; ++bits) {
      std::string word;
      for (std::size_t i = 0; i < size; ++i) word += (bits >> i & 1U) != 0 ? 'a' : 'b';
      words.push_back(word);
    }
  }
  for (const auto& name : words) {
    const std::size_t most = std::min<std::size_t>(name.size() < 4 ? 1 : 2, name.size() - 1);
    for (const auto& known : words) {
      EXPECT_EQ(nearest(name, std::vector{known}).has_value(), edits(name, known) <= most) << name << " " << known;
    }
  }
}

}  // namespace
}  // namespace sallyport
