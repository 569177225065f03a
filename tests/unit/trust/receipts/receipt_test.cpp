#include "trust/receipts/receipt.hpp"

#include "schemas/core/canonical.hpp"
#include "tests/unit/trust/receipts/example.hpp"

namespace sallyport::trust {
namespace {

using test::doc;
using test::full_receipt;

const ChainPoint kPoint{"7c1e0b9d2a44f310", 17, digest_text("prev")};

TEST(Receipt, IsWrittenInCanonicalForm) {
  auto body = full_receipt();
  body.decision->by_default = true;
  body.decision->reasons = {{ReasonCode::policy_denied, "orders", std::nullopt},
                            {ReasonCode::arguments_invalid, "", "/a"},
                            {ReasonCode::arguments_invalid, "", ""}};
  body.approval->expires = 1;
  body.approval->form = "grant";
  body.approval->shown = digest_text("shown");
  body.approval->state = "approved";
  body.approval->votes[0].reason = "ticket 4411 \"ü\" \u2028";
  body.result = ResultRecord{ResultStatus::ok,
                             "00",
                             17,
                             {{"/id", "1"}, {"/\xF0\x9F\x98\x80", "a"}, {"/\xEF\xAC\xB3", "b"}},
                             {"output-schema"}};
  body.event = EventRecord{"accepted",       "user:dana",      "new release",           "orders",
                           digest_text("a"), digest_text("b"), {{"z", "1"}, {"a", "2"}}};
  body.evidence = {test::id("rc", 9)};
  body.supersedes = test::id("rc", 8);
  body.count = 3;
  body.cause = test::id("op", 5);
  body.uri = "file:///x";
  body.method = "resources/read";
  body.server_sandbox = "none";
  body.server_revision = "etag";
  body.gateway.mode = "observe";
  body.times = {1, 2, 3, 4, 5, 6};
  body.effect->declared = {true, false, true, false};
  const auto payload = to_payload(body, kPoint);
  const auto document = doc(payload);
  EXPECT_EQ(json::canonical(document.root()), payload);
  const auto action = canonical_action(body);
  const auto action_document = doc(action);
  EXPECT_EQ(json::canonical(action_document.root()), action);
}

// The vector of trust/README.md.
TEST(Receipt, HasTheDocumentedBytes) {
  const auto payload = to_payload(full_receipt(), kPoint);
  EXPECT_EQ(
      payload,
      R"({"_type":"https://in-toto.io/Statement/v1","predicate":{"approval":{"id":"ap_01KB9Z3W9Q8V5M0F7T2N6R4X01","votes":[{)"
      R"("at":"2026-11-30T09:15:40.002Z","by":"user:dana","seen":")" +
          digest_text("shown") + R"(","vote":"approve"}]},"arguments":{"fingerprint":")" + hex(hmac_sha256("s", "{}")) +
          R"(","hmac":")" + hex(hmac_sha256("k", "{}")) +
          R"(","recorded":{"/customer_id":"7"},"redacted":["/password"]},"attempt":1,)"
          R"("claimed":{"name":"claude-code","version":"2.1"},"decision":{"policy":")" +
          digest_text("policy") + R"(","rules":[{"id":"orders","verdict":"ask"}],"trust":")" + digest_text("trust") +
          R"(","verdict":"ask"},"definition":")" + digest_text("definition") +
          R"(","effect":{"assigned":"record","declared":{"readOnlyHint":true},"effective":{"category":"record","destructive":false,)"
          R"("labels":["money"],"repeat":"keyed"},"source":"contract"},"gateway":{"boot":"b7d1f6","boundary":"service",)"
          R"("version":"0.1.0"},"id":"rc_01KB9Z3W9Q8V5M0F7T2N6R4X01","idempotencyKey":"k-1","kind":"intent",)"
          R"("log":"7c1e0b9d2a44f310","operation":"op_01KB9Z3W9Q8V5M0F7T2N6R4X01","outcome":{"basis":"intent","value":"unknown"},)"
          R"("prev":")" +
          digest_text("prev") +
          R"(","principal":"agent:ci","request":{"protocol":"2026-07-28","transport":"http"},"run":"run_01KB9Z3W9Q8V5M0F7T2N6R4X01",)"
          R"("scope":{"name":"orders/customer-7","revision":4},"seq":17,"server":{"id":"orders","identity":")" +
          digest_text("identity") +
          R"("},"times":{"decided":"2026-11-30T09:15:40.101Z","received":"2026-11-30T09:14:02.118Z"},)"
          R"("tool":"create_order"},"predicateType":"https://sallyport.dev/receipt/v1","subject":[{"digest":{"sha256":")" +
          action_digest(full_receipt()) + R"("},"name":"op_01KB9Z3W9Q8V5M0F7T2N6R4X01"}]})");
}

TEST(Receipt, DigestsItsActionUnderItsTag) {
  const auto body = full_receipt();
  EXPECT_EQ(
      canonical_action(body),
      R"({"arguments":")" + body.arguments->hmac + R"(","definition":")" + body.definition +
          R"(","effective":{"category":"record","destructive":false,"labels":["money"],"repeat":"keyed"},"idempotencyKey":"k-1",)"
          R"("principal":"agent:ci","server":")" +
          body.server_identity + R"(","tool":"create_order"})");
  EXPECT_EQ(action_digest(body), sha256_hex("sallyport/action/v1\n" + canonical_action(body)));
  EXPECT_EQ(canonical_action(ReceiptBody{}), "{}");
}

TEST(Receipt, LeavesOutWhatIsNotKnown) {
  ReceiptBody body;
  body.kind = ReceiptKind::start;
  body.id = test::id("rc", 2);
  body.times.at = 1'796'030'042'118;
  EXPECT_EQ(to_payload(body, {"7c1e0b9d2a44f310", 0, ""}),
            R"({"_type":"https://in-toto.io/Statement/v1","predicate":{"id":")" + body.id +
                R"(","kind":"start","log":"7c1e0b9d2a44f310","seq":0,"times":{"at":"2026-11-30T09:14:02.118Z"}},)"
                R"("predicateType":"https://sallyport.dev/receipt/v1","subject":[{"digest":{"sha256":")" +
                sha256_hex("sallyport/action/v1\n{}") + R"("},"name":")" + body.id + R"("}]})");
}

TEST(Receipt, SurvivesBytesThatAreNoText) {
  auto body = full_receipt();
  body.client_name = "a\xFFz\x01";
  const auto payload = to_payload(body, kPoint);
  EXPECT_NE(payload.find("a\xEF\xBF\xBDz\\u0001"), std::string::npos);
  EXPECT_TRUE(json::Document::parse(payload));
}

TEST(Receipt, KnowsItsKinds) {
  for (int i = 0; i < 15; ++i) {
    const auto kind = static_cast<ReceiptKind>(i);
    EXPECT_EQ(parse_receipt_kind(to_string(kind)), kind);
  }
  EXPECT_FALSE(parse_receipt_kind("verdict"));
}

TEST(Commitment, RedactsThenHashes) {
  const auto with = doc(R"({"user":"a","password":"hunter2","list":[{"secret":1,"x":2},{"secret":3}],"n":1.50})");
  const auto other = doc(R"({"n":1.50,"list":[{"secret":9,"x":2},{"secret":8}],"password":"other","user":"a"})");
  const std::vector<std::string> redact{"/password", "/list/*/secret", "/absent"};
  const std::vector<std::string> record{"/user", "/list", "/n", "/password", "/none"};
  const auto made = record_arguments(with.root(), {record, redact}, "operation key", test::under("store key"));
  EXPECT_EQ(made.redacted, (std::vector<std::string>{"/password", "/list/0/secret", "/list/1/secret"}));
  EXPECT_EQ(made.recorded, (Pairs{{"/user", "a"}, {"/list", R"([{"x":2},{}])"}, {"/n", "1.50"}}));
  const auto again = record_arguments(other.root(), {record, redact}, "operation key", test::under("store key"));
  EXPECT_EQ(made.hmac, again.hmac);
  EXPECT_EQ(made.fingerprint, hex(hmac_sha256("store key", R"({"list":[{"x":2},{}],"n":1.50,"user":"a"})")));
  EXPECT_NE(record_arguments(with.root(), {record, redact}, "another key", test::under("store key")).hmac, made.hmac);
  EXPECT_TRUE(opens(made.hmac, with.root(), made.redacted, "operation key"));
  EXPECT_FALSE(opens(made.hmac, with.root(), {}, "operation key"));
  EXPECT_FALSE(opens(made.hmac, with.root(), made.redacted, "another key"));
}

TEST(Commitment, ShowsNothingInsideOfWhatIsRedacted) {
  const auto arguments = doc(R"({"auth":{"user":"u","pass":"p"},"a~b":{"c/d":1}})");
  const std::vector<std::string> redact{"/auth"};
  const std::vector<std::string> record{"/auth/user", "/auth", "/a~0b/c~1d"};
  EXPECT_EQ(recorded_values(arguments.root(), {record, redact}), (Pairs{{"/a~0b/c~1d", "1"}}));
  const std::vector<std::string> all{"/*"};
  const auto made = record_arguments(arguments.root(), {record, all}, "k", test::under("s"));
  EXPECT_TRUE(made.recorded.empty());
  EXPECT_EQ(made.hmac, hex(hmac_sha256("k", "{}")));
}

TEST(Commitment, OfNoArgumentsIsThatOfTheEmptyObject) {
  const auto made = record_arguments({}, {}, "k", test::under("s"));
  EXPECT_EQ(made.hmac, hex(hmac_sha256("k", "{}")));
  EXPECT_TRUE(made.recorded.empty());
  EXPECT_TRUE(made.redacted.empty());
}

}  // namespace
}  // namespace sallyport::trust
