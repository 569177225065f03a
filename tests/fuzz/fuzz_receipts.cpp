// Whatever a log, a checkpoint or a proof holds, `receipts verify` ends with a report. The first byte chooses what the
// rest is read as; the rest of a log is lines.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trust/receipts/envelope.hpp"
#include "trust/receipts/verify.hpp"

namespace {

using namespace sallyport::trust;  // NOLINT

const SigningKey& key() {
  static const SigningKey made = SigningKey::from_seed(Seed{1}).value();
  return made;
}

VerifyOptions options() {
  VerifyOptions out;
  out.keys.push_back(key().public_key());
  out.checkpoint_keys.push_back(key().public_key());
  return out;
}

void verify(std::string_view text, bool as_payloads) {
  static SigningKey signer = SigningKey::from_seed(Seed{1}).value();
  Verifier verifier(options());
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    static_cast<void>(pruned_by(line));
    // Signed, so that what lies behind the signature is reached.
    if (as_payloads) line = envelope_line(line, signer.keyid(), signer.sign(pae(line)));
    verifier.line(std::move(line));
    ++lines;
  }
  const VerifyReport report = verifier.finish();
  if (report.entries > lines || to_json(report).empty() || to_text(report).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      verify(text, false);
      break;
    case 1:
      verify(text, true);
      break;
    case 2:
      if (const auto note = parse_checkpoint(text)) static_cast<void>(verify_checkpoint(*note, key().public_key()));
      break;
    default:
      if (const auto proof = parse_proof(text)) static_cast<void>(verify_proof(*proof, text, key().public_key()));
  }
  return 0;
}
