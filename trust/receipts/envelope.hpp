// DSSE envelopes (one JSON line each) and the chain (design section 6).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust {

inline constexpr std::string_view kPayloadType = "application/vnd.in-toto+json";

// "DSSEv1 28 application/vnd.in-toto+json {length} {payload}": what the signature is over.
[[nodiscard]] std::string pae(std::string_view payload);

// Canonical JSON, no newline: {"payload":…,"payloadType":…,"signatures":[{"keyid":…,"sig":…}]}.
[[nodiscard]] std::string envelope_line(std::string_view payload, std::string_view keyid, const Signature& signature);

struct Envelope {
  std::string payload;  // decoded
  std::string keyid;    // a hint, not proven
  std::string signature;
};
// ErrorCode::invalid for any other form. Strict: those members only, one signature, standard padded base64.
[[nodiscard]] Result<Envelope> parse_envelope(std::string line);

struct SignedReceipt {
  std::uint64_t seq = 0;
  std::string payload;
  std::string line;    // the envelope
  std::string digest;  // sha256:… of the payload: the next entry's prev
};

// The end of a log: where the next entry goes. A value: copy it to try, assign it to keep.
class Chain {
 public:
  // A new log: named after its first key.
  [[nodiscard]] static Chain first(const PublicKey& key);
  // Goes on after an entry: seq of the next one, and the digest (sha256:…) of the last payload.
  Chain(std::string log, std::uint64_t next_seq, std::string prev)
      : point_{std::move(log), next_seq, std::move(prev)} {}

  [[nodiscard]] const ChainPoint& next() const { return point_; }
  // Makes, signs and appends: afterwards next() is the place behind it.
  [[nodiscard]] SignedReceipt append(const ReceiptBody& body, SigningKey& key);

 private:
  ChainPoint point_;
};

[[nodiscard]] std::string log_id(const PublicKey& first_key);  // first 16 hex digits of its keyid

}  // namespace sallyport::trust
