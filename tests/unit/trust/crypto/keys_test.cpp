#include "trust/crypto/keys.hpp"

#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/crypto/seal.hpp"

namespace sallyport::trust {
namespace {

using test::seed_of;
using test::test_key;
using test::unhex;

TEST(SigningKey, GivesThePublishedSignatures) {  // RFC 8032, 7.1, tests 1 and 2
  auto one = *SigningKey::from_seed(seed_of("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
  EXPECT_EQ(one.public_key().raw(), seed_of("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
  EXPECT_EQ(to_hex(bytes_of(one.sign(""))),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f059"
            "5bbe246551"
            "41438e7a100b");
  auto two = *SigningKey::from_seed(seed_of("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  EXPECT_EQ(to_hex(bytes_of(two.sign("\x72"))),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4"
            "302aeeb00d"
            "291612bb0c00");
}

TEST(SigningKey, SignsManyTimesWithOneContext) {
  auto key = test_key(1);
  for (int i = 0; i < 5; ++i) {
    const auto message = std::string(static_cast<std::size_t>(i) * 100, 'x');
    EXPECT_TRUE(key.public_key().verify(message, bytes_of(key.sign(message)))) << i;
  }
  auto moved = std::move(key);
  EXPECT_TRUE(moved.public_key().verify("m", bytes_of(moved.sign("m"))));
}

TEST(SigningKey, GoesToPemAndBack) {
  auto key = test_key(2);
  const auto pem = key.pem();
  EXPECT_TRUE(pem.reveal().starts_with("-----BEGIN PRIVATE KEY-----\n"));
  auto again = SigningKey::from_pem(pem);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sign("x"), key.sign("x"));
  EXPECT_EQ(again->keyid(), key.keyid());
}

TEST(SigningKey, RefusesOtherKeysAndNoise) {
  EXPECT_FALSE(SigningKey::from_pem(Secret("")));
  EXPECT_FALSE(SigningKey::from_pem(Secret("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")));
  EXPECT_FALSE(SigningKey::from_pem(Secret(std::string(1 << 20, 'x'))));
  const Secret encrypted("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGb\n-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_FALSE(SigningKey::from_pem(encrypted));
}

TEST(PublicKey, HasItsKeyidFromTheDerForm) {
  const auto key = test_key(3).public_key();
  EXPECT_EQ(to_hex(key.der().substr(0, 12)), "302a300506032b6570032100");
  EXPECT_EQ(key.keyid(), sha256_hex(key.der()));
  EXPECT_EQ(PublicKey::from_der(key.der())->keyid(), key.keyid());
  EXPECT_EQ(PublicKey::from_pem(key.pem())->keyid(), key.keyid());
  EXPECT_EQ(PublicKey::from_raw(key.raw())->keyid(), key.keyid());
}

TEST(PublicKey, RefusesOtherKeysAndNoise) {
  const auto der = test_key(3).public_key().der();
  EXPECT_FALSE(PublicKey::from_der(der + "x"));
  EXPECT_FALSE(PublicKey::from_der(der.substr(0, 40)));
  EXPECT_FALSE(PublicKey::from_der(""));
  // P-256: another kind.
  EXPECT_FALSE(
      PublicKey::from_der(unhex("3059301306072a8648ce3d020106082a8648ce3d030107034200046b17d1f2e12c4247f8bce6e563a440f2"
                                "77037d812deb33a0f4a13945d898c2964f"
                                "e342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")));
}

TEST(PublicKey, VerifiesNothingElse) {
  auto key = test_key(4);
  auto signature = std::string(bytes_of(key.sign("message")));
  const auto half = key.public_key();
  EXPECT_TRUE(half.verify("message", signature));
  EXPECT_FALSE(half.verify("massage", signature));
  EXPECT_FALSE(half.verify("message", signature.substr(1)));
  EXPECT_FALSE(half.verify("message", ""));
  EXPECT_FALSE(test_key(5).public_key().verify("message", signature));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    auto other = signature;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(half.verify("message", other)) << i;
  }
}

TEST(Seal, GivesThePublishedCiphertext) {  // McGrew and Viega, test case 14
  const auto sealed = seal(SealKey{}, Nonce{}, std::string(16, '\0'), "");
  EXPECT_EQ(to_hex(sealed),
            std::string(24, '0') + "cea7403d4d606b6e074ec5d3baf39d18" + "d0d1c8a799996bf0265b98b5d48ab919");
}

TEST(Seal, OpensOnlyWhatItSealedAndWhere) {
  SealKey key{};
  key[0] = 7;
  Nonce nonce{};
  nonce[3] = 9;
  for (const std::string plain : {"", "a", "some text"}) {
    const auto sealed = seal(key, nonce, plain, "row 1");
    EXPECT_EQ(sealed.size(), plain.size() + 28);
    EXPECT_EQ(open(key, sealed, "row 1").value(), plain);
    EXPECT_EQ(open(key, sealed, "row 2").error().code, ErrorCode::corrupt);
    SealKey other = key;
    other[31] = 1;
    EXPECT_EQ(open(other, sealed, "row 1").error().code, ErrorCode::corrupt);
    for (std::size_t i = 0; i < sealed.size(); ++i) {
      auto changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ 0x10);
      EXPECT_FALSE(open(key, changed, "row 1")) << i;
    }
    EXPECT_FALSE(open(key, sealed.substr(0, sealed.size() - 1), "row 1"));
  }
  EXPECT_FALSE(open(key, "", ""));
}

}  // namespace
}  // namespace sallyport::trust
