#include "trust/receipts/envelope.hpp"

#include "tests/unit/trust/receipts/example.hpp"

namespace sallyport::trust {
namespace {

using test::full_receipt;
using test::test_key;

TEST(Envelope, SignsThePreAuthenticationEncoding) {
  EXPECT_EQ(pae("{}"), "DSSEv1 28 application/vnd.in-toto+json 2 {}");
  EXPECT_EQ(pae(""), "DSSEv1 28 application/vnd.in-toto+json 0 ");
}

TEST(Envelope, GoesToALineAndBack) {
  auto key = test_key(1);
  auto chain = Chain::first(key.public_key());
  const auto made = chain.append(full_receipt(), key);
  EXPECT_EQ(made.line.find('\n'), std::string::npos);
  const auto back = parse_envelope(made.line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->payload, made.payload);
  EXPECT_EQ(back->keyid, key.keyid());
  EXPECT_TRUE(key.public_key().verify(pae(back->payload), back->signature));
}

TEST(Envelope, RefusesOtherForms) {
  const std::string keyid(64, 'a');
  const std::string sig = to_base64(std::string(64, 'x'));
  const auto line = [&](const std::string& payload, const std::string& type, const std::string& signatures) {
    return R"({"payload":")" + payload + R"(","payloadType":")" + type + R"(","signatures":)" + signatures + "}";
  };
  const auto one = R"([{"keyid":")" + keyid + R"(","sig":")" + sig + R"("}])";
  const std::string type(kPayloadType);
  EXPECT_TRUE(parse_envelope(line("e30=", type, one)));
  for (const auto& bad :
       {std::string(), std::string("{}"), std::string("[]"), line("e30", type, one), line("e31=", type, one),
        line("e30=", "application/json", one), line("e30=", type, "[]"), line("e30=", type, "{}"),
        line("e30=", type, "[1]"), line("e30=", type, one.substr(0, one.size() - 1) + "," + one.substr(1)),
        line("e30=", type, R"([{"keyid":"aa","sig":")" + sig + "\"}]"),
        line("e30=", type, R"([{"keyid":")" + keyid + R"(","sig":"AAAA"}])"), line("e30=", type, one).substr(1),
        R"({"x":1,)" + line("e30=", type, one).substr(1)}) {
    EXPECT_FALSE(parse_envelope(bad)) << bad;
  }
}

TEST(Chain, LinksEachEntryToTheOneBefore) {
  auto key = test_key(1);
  auto chain = Chain::first(key.public_key());
  EXPECT_EQ(chain.next().log, key.keyid().substr(0, 16));
  EXPECT_TRUE(chain.next().prev.empty());
  const auto first = chain.append(full_receipt(), key);
  EXPECT_EQ(first.seq, 0U);
  EXPECT_EQ(first.digest, digest_text(first.payload));
  auto trial = chain;  // a copy that is thrown away changes nothing
  static_cast<void>(trial.append(full_receipt(), key));
  const auto second = chain.append(full_receipt(), key);
  EXPECT_EQ(second.seq, 1U);
  EXPECT_NE(second.payload.find("\"prev\":\"" + first.digest), std::string::npos);
  Chain resumed(chain.next().log, 2, second.digest);
  EXPECT_EQ(resumed.append(full_receipt(), key).line, chain.append(full_receipt(), key).line);
}

}  // namespace
}  // namespace sallyport::trust
