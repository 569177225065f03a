#include "trust/receipts/envelope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

constexpr std::size_t kMaxLine = 16U << 20U;

bool is_keyid(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The parts of a line as envelope_line() writes it: most lines need no JSON reader. nullopt: another form, or a fault.
std::optional<Envelope> parse_own_form(std::string_view line) {
  const auto take = [&](std::string_view word) {
    const bool there = line.starts_with(word);
    if (there) line.remove_prefix(word.size());
    return there;
  };
  const auto until_quote = [&] {
    const std::string_view text = line.substr(0, line.find('"'));
    line.remove_prefix(text.size());
    return text;
  };
  if (!take(R"({"payload":")")) return std::nullopt;
  const std::string_view payload = until_quote();
  if (!take(R"(","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":")")) return std::nullopt;
  const std::string_view keyid = until_quote();
  if (!take(R"(","sig":")")) return std::nullopt;
  const std::string_view sig = until_quote();
  if (line != R"("}]})" || !is_keyid(keyid)) return std::nullopt;
  auto bytes = from_base64(payload);
  auto signed_bytes = from_base64(sig);
  if (!bytes || !signed_bytes || signed_bytes->size() != sizeof(Signature)) return std::nullopt;
  return Envelope{std::move(*bytes), std::string(keyid), std::move(*signed_bytes)};
}

}  // namespace

std::string pae(std::string_view payload) {
  std::string out = fmt::format("DSSEv1 {} {} {} ", kPayloadType.size(), kPayloadType, payload.size());
  out += payload;
  return out;
}

std::string envelope_line(std::string_view payload, std::string_view keyid, const Signature& signature) {
  json::Writer out(payload.size() * 4 / 3 + 320);
  out.begin_object();
  out.member("payload", to_base64(payload));
  out.member("payloadType", kPayloadType);
  out.key("signatures").begin_array().begin_object();
  out.member("keyid", keyid).member("sig", to_base64(bytes_of(signature)));
  return out.end_object().end_array().end_object().take();
}

Result<Envelope> parse_envelope(std::string line) {
  if (line.size() <= kMaxLine) {
    if (auto own = parse_own_form(line)) return std::move(*own);
  }
  json::Limits limits;
  limits.bytes = kMaxLine;
  limits.depth = 8;
  const auto document = json::Document::parse(std::move(line), limits);
  if (!document) return fail(ErrorCode::invalid, "the line is no envelope: " + document.error().message);
  const auto root = document->root();
  const auto signatures = root.find("signatures");
  if (!root.is_object() || root.size() != 3 || root.ambiguity() || !root.find("payloadType").equals(kPayloadType) ||
      !signatures.is_array() || signatures.size() != 1) {
    return fail(ErrorCode::invalid, "the line is no envelope with payload, payloadType and one signature");
  }
  const auto signature = *signatures.elements().begin();
  const auto payload = root.find("payload");
  const auto sig = signature.find("sig");
  const auto keyid = signature.find("keyid");
  if (!payload.is_string() || !signature.is_object() || signature.size() != 2 || !sig.is_string() ||
      !keyid.is_string() || !is_keyid(keyid.string())) {
    return fail(ErrorCode::invalid, "the envelope's payload or signature has another form");
  }
  auto bytes = from_base64(payload.string());
  auto signed_bytes = from_base64(sig.string());
  if (!bytes || !signed_bytes || signed_bytes->size() != sizeof(Signature)) {
    return fail(ErrorCode::invalid, "the envelope's payload or signature is no base64 of its length");
  }
  return Envelope{std::move(*bytes), keyid.string(), std::move(*signed_bytes)};
}

std::string log_id(const PublicKey& first_key) { return first_key.keyid().substr(0, 16); }

Chain Chain::first(const PublicKey& key) { return {log_id(key), 0, {}}; }

SignedReceipt Chain::append(const ReceiptBody& body, SigningKey& key) {
  SignedReceipt out;
  out.seq = point_.seq;
  out.payload = to_payload(body, point_);
  out.digest = digest_text(out.payload);
  out.line = envelope_line(out.payload, key.keyid(), key.sign(pae(out.payload)));
  point_.prev = out.digest;
  ++point_.seq;
  return out;
}

}  // namespace sallyport::trust
