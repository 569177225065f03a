#include "trust/crypto/hash.hpp"

#include "tests/unit/trust/helpers.hpp"

namespace sallyport::trust {
namespace {

using test::unhex;

TEST(Hash, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256({"a", "", "bc"})), sha256_hex("abc"));
}

TEST(Hash, GivesThePublishedHmacs) {  // RFC 4231, cases 1, 2 and 6
  EXPECT_EQ(hex(hmac_sha256(unhex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hash, DoesNotKeepTheKeyOfTheCallBefore) {
  const auto empty = hmac_sha256(std::string_view(), "text");
  static_cast<void>(hmac_sha256("another key", "text"));
  EXPECT_EQ(hmac_sha256(std::string_view(), "text"), empty);
  EXPECT_NE(hmac_sha256("another key", "text"), empty);
}

TEST(Hash, KeepsDigestsOfDifferentKindsApart) {
  EXPECT_EQ(tagged_digest("sallyport/definition/v1", "{}"), digest_text("sallyport/definition/v1\n{}"));
  EXPECT_NE(tagged_digest(kDefinitionTag, "{}"), tagged_digest(kActionTag, "{}"));
}

TEST(Hash, ReadsOnlyDigestsOfItsOwnForm) {
  const auto text = digest_text("abc");
  EXPECT_TRUE(is_digest(text));
  EXPECT_EQ(parse_digest(text), sha256("abc"));
  EXPECT_FALSE(is_digest(text.substr(1)));
  EXPECT_FALSE(is_digest(text + "0"));
  EXPECT_FALSE(is_digest("sha256:" + std::string(64, 'A')));
  EXPECT_FALSE(is_digest("sha256:" + std::string(63, '0') + "g"));
  EXPECT_FALSE(is_digest(""));
}

}  // namespace
}  // namespace sallyport::trust
