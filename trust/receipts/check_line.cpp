// One line of a log judged by itself: form, canonical bytes, subject, signature.
#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/core/ids.hpp"
#include "schemas/core/is_canonical.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/envelope.hpp"
#include "trust/receipts/verify.hpp"

namespace sallyport::trust {
namespace {

constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53U) - 1;

std::string text(json::Value value) { return value.is_string() ? value.string() : std::string(); }

bool is_hex(std::string_view text, std::size_t size) {
  return text.size() == size &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Receipts hold no null and no number but integers below 2^53, printed as such.
bool plain_values(const json::Document& document) {
  for (std::uint32_t i = 0; i < document.node_count(); ++i) {
    const auto value = document.node(i);
    if (value.is_null()) return false;
    if (!value.is_number()) continue;
    const auto number = value.integer();
    if (!number || *number > kMaxInteger || *number < -kMaxInteger || std::to_string(*number) != value.number())
      return false;
  }
  return true;
}

// The action as the predicate tells it; raw slices of canonical bytes are canonical.
std::string action_of(json::Value predicate) {
  json::Writer out(512);
  const auto copy = [&](std::string_view name, json::Value value) {
    if (value) out.key(name).raw(value.raw());
  };
  out.begin_object();
  copy("arguments", predicate.find("arguments").find("hmac"));
  copy("definition", predicate.find("definition"));
  copy("effective", predicate.find("effect").find("effective"));
  copy("idempotencyKey", predicate.find("idempotencyKey"));
  copy("principal", predicate.find("principal"));
  copy("server", predicate.find("server").find("identity"));
  copy("tool", predicate.find("tool"));
  return out.end_object().take();
}

std::optional<std::string> judge_subject(json::Value statement, const CheckedLine& line) {
  const auto subjects = statement.find("subject");
  if (!subjects.is_array() || subjects.size() != 1) return "it does not have one subject";
  const auto subject = *subjects.elements().begin();
  const auto digest = text(subject.find("digest").find("sha256"));
  if (subject.size() != 2 || subject.find("digest").size() != 1 || !is_hex(digest, 64))
    return "its subject has another form";
  if (!subject.find("name").equals(line.operation.empty() ? line.id : line.operation)) {
    return "its subject is not named after its operation";
  }
  if (digest != hex(tagged_hash(kActionTag, action_of(statement.find("predicate"))))) {
    return "its subject's digest is not that of its action";
  }
  return std::nullopt;
}

std::optional<Outcome> parse_outcome(json::Value value) {
  for (const auto outcome : {Outcome::none, Outcome::applied, Outcome::unknown}) {
    if (value.equals(to_string(outcome))) return outcome;
  }
  return std::nullopt;
}

std::optional<std::string> judge_predicate(json::Value predicate, CheckedLine& line) {
  if (!predicate.is_object()) return "it has no predicate";
  const auto kind = parse_receipt_kind(text(predicate.find("kind")));
  if (!kind) return "its kind is none of ours";
  line.kind = *kind;
  line.id = text(predicate.find("id"));
  if (!is_id(line.id, "rc")) return "its id is no receipt's id";
  line.log = text(predicate.find("log"));
  if (!is_hex(line.log, 16)) return "its log is not named by 16 hex digits";
  const auto seq = predicate.find("seq");
  if (!seq.is_number() || *seq.integer() < 0) return "its seq is no number";
  line.seq = static_cast<std::uint64_t>(*seq.integer());
  line.prev = text(predicate.find("prev"));
  if (predicate.find("prev") && !is_digest(line.prev)) return "its prev is no digest";
  if (const auto operation = predicate.find("operation")) {
    line.operation = text(operation);
    if (!is_id(line.operation, "op")) return "its operation is no operation's id";
  }
  if (const auto outcome = predicate.find("outcome")) {
    line.outcome = parse_outcome(outcome.find("value"));
    if (!line.outcome) return "its outcome is none of none, applied and unknown";
  }
  const bool spends = line.kind == ReceiptKind::intent || line.kind == ReceiptKind::call;
  const auto approval = predicate.find("approval");
  if (spends && approval && !approval.find("form").equals("grant")) line.approval = text(approval.find("id"));
  const auto event = predicate.find("event");
  if (line.kind == ReceiptKind::key && event.find("action").equals("rotated")) {
    line.new_key = text(event.find("details").find("publicKey"));
    if (line.new_key.empty()) return "it names no new key";
  }
  if (line.kind == ReceiptKind::key && event.find("action").equals(kCheckpointRotated)) {
    line.new_checkpoint_key = text(event.find("details").find("checkpointKey"));
    line.endorsement = text(event.find("details").find("endorsement"));
    if (line.new_checkpoint_key.empty()) return "it names no new key";
  }
  if (line.kind == ReceiptKind::intent && line.operation.empty()) return "an intent without an operation";
  return std::nullopt;
}

std::optional<std::string> judge_statement(CheckedLine& line) {
  json::Limits limits;
  limits.bytes = 16U << 20U;
  limits.depth = 32;
  const auto document = json::Document::parse(line.payload, limits);
  if (!document) return "its payload is no JSON: " + document.error().message;
  const auto root = document->root();
  if (!root.is_object() || root.ambiguity()) return "its payload is no unambiguous object";
  if (!root.find("_type").equals(kStatementType) || !root.find("predicateType").equals(kPredicateType) ||
      root.size() != 4) {
    return "its payload is no statement of ours";
  }
  if (!plain_values(*document)) return "it holds a null or a number that is no integer below 2^53";
  if (!json::is_canonical(*document)) return "its payload is not in RFC 8785 form";
  if (auto fault = judge_predicate(root.find("predicate"), line)) return fault;
  return judge_subject(root, line);
}

}  // namespace

CheckedLine check_line(std::string line, const VerifyOptions& options) {
  CheckedLine out;
  auto envelope = parse_envelope(std::move(line));
  if (!envelope) {
    out.bad_form = envelope.error().message;
    return out;
  }
  out.keyid = std::move(envelope->keyid);
  out.payload = std::move(envelope->payload);
  out.signature = std::move(envelope->signature);
  out.bad_form = judge_statement(out);
  if (out.bad_form) return out;
  out.hash = sha256(out.payload);
  out.leaf = leaf_hash(out.payload);
  if (!options.signatures) return out;
  const auto key = std::ranges::find(options.keys, out.keyid, &PublicKey::keyid);
  if (key == options.keys.end()) return out;
  out.signature_checked = true;
  out.signature_ok = key->verify(pae(out.payload), out.signature);
  return out;
}

}  // namespace sallyport::trust
