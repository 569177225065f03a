// The test vector of trust/README.md is what the code makes.
#include <fstream>
#include <iterator>

#include "tests/unit/trust/receipts/example.hpp"

namespace sallyport::trust {
namespace {

ReceiptBody vector_body() {
  const std::string arguments = R"({"path":"/a"})";
  ReceiptBody out;
  out.kind = ReceiptKind::call;
  out.id = "rc_01KB9Z3W9Q8V5M0F7T2N6R4XHC";
  out.operation = "op_01KB9Z3W9Q8V5M0F7T2N6R4XHC";
  out.principal = "agent:ci";
  out.server_id = "files";
  out.server_identity = digest_text("files");
  out.tool = "read_file";
  out.arguments =
      ArgumentsRecord{hex(hmac_sha256("operation key", arguments)), hex(hmac_sha256("store key", arguments)), {}, {}};
  EffectView view;
  view.assigned = EffectCategory::read;
  view.effective = {EffectCategory::read, false, Repeat::safe, {}};
  view.source = EffectSource::contract;
  out.effect = view;
  out.decision = DecisionRecord{Verdict::allow,      false, {{"reads", Verdict::allow}}, {}, digest_text("policy"),
                                digest_text("trust")};
  out.outcome = OutcomeRecord{Outcome::applied, "answered"};
  out.times.received = 1'796'030'042'118;
  out.times.answered = 1'796'030'042'131;
  return out;
}

TEST(Vector, OfTheReadmeIsWhatTheCodeMakes) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/trust/README.md");
  const std::string readme((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto shows = [&](const std::string& text) { return readme.find("\n" + text + "\n") != std::string::npos; };
  auto key = test::test_key(1);
  auto chain = Chain::first(key.public_key());
  const auto body = vector_body();
  const auto made = chain.append(body, key);
  EXPECT_TRUE(shows(to_hex(key.public_key().der())));
  EXPECT_TRUE(shows(key.keyid()));
  EXPECT_TRUE(shows(canonical_action(body)));
  EXPECT_TRUE(shows(made.payload)) << made.payload;
  EXPECT_TRUE(shows(made.digest));
  EXPECT_TRUE(shows(to_base64(parse_envelope(made.line)->signature)));
  MerkleTree tree;
  tree.append_payload(made.payload);
  auto checkpoint_key = test::test_key(9);
  const Checkpoint checkpoint{checkpoint_origin(chain.next().log), 1, tree.root()};
  EXPECT_NE(readme.find(sign_checkpoint(checkpoint, checkpoint_key)), std::string::npos);
  EXPECT_TRUE(shows(verifier_key(checkpoint.origin, checkpoint_key.public_key())));
}

}  // namespace
}  // namespace sallyport::trust
