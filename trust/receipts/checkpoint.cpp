// C2SP tlog-checkpoint and tlog-proof, in signed notes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "schemas/core/encoding.hpp"
#include "trust/receipts/merkle.hpp"

namespace sallyport::trust {
namespace {

constexpr std::string_view kProofLine = "c2sp.org/tlog-proof@v1\n";
constexpr std::string_view kDash = "\xE2\x80\x94 ";  // an em dash and a space open a signature line
constexpr std::string_view kEd25519("\x01", 1);
constexpr std::size_t kMaxNote = 1U << 20U;
constexpr std::size_t kMaxSignatures = 64;

std::string_view raw_key(const PublicKey& key) {
  return {reinterpret_cast<const char*>(key.raw().data()), key.raw().size()};
}

// SHA-256(name || 0x0A || 0x01 || key)[:4], big-endian.
std::uint32_t note_key_hash(std::string_view name, const PublicKey& key) {
  const auto hash = sha256({name, "\n", kEd25519, raw_key(key)});
  return (std::uint32_t{hash[0]} << 24U) | (std::uint32_t{hash[1]} << 16U) | (std::uint32_t{hash[2]} << 8U) | hash[3];
}

std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24U), static_cast<char>(number >> 16U), static_cast<char>(number >> 8U),
          static_cast<char>(number)};
}

std::unexpected<Error> bad(std::string_view why) {
  return fail(ErrorCode::invalid, fmt::format("the checkpoint is not of the form of C2SP tlog-checkpoint: {}", why));
}

// The next line without its newline; nullopt at the end, or if the newline is missing.
std::optional<std::string_view> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return out;
}

std::optional<Sha256> base64_hash(std::string_view text) {
  const auto bytes = from_base64(text);
  Sha256 out{};
  if (!bytes || bytes->size() != out.size()) return std::nullopt;
  std::ranges::copy(*bytes, out.begin());
  return out;
}

bool good_name(std::string_view name) {
  return !name.empty() && valid_utf8(name) && std::ranges::none_of(name, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '+' || c == '\x7F';
  });
}

Result<SignedCheckpoint::NoteSignature> parse_signature(std::string_view line) {
  if (!line.starts_with(kDash)) return bad("a signature line begins with an em dash and a space");
  line.remove_prefix(kDash.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return bad("a signature line is a name and base64");
  const auto bytes = from_base64(line.substr(space + 1));
  if (!good_name(line.substr(0, space)) || !bytes || bytes->size() < 5)
    return bad("a signature line is a name and base64");
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>((*bytes)[i])}; };
  return SignedCheckpoint::NoteSignature{std::string(line.substr(0, space)),
                                         (byte(0) << 24U) | (byte(1) << 16U) | (byte(2) << 8U) | byte(3),
                                         bytes->substr(4)};
}

}  // namespace

std::string checkpoint_origin(std::string_view log) { return fmt::format("sallyport.dev/{}", log); }

std::string checkpoint_body(const Checkpoint& checkpoint) {
  return fmt::format("{}\n{}\n{}\n", checkpoint.origin, checkpoint.size, to_base64(bytes_of(checkpoint.root)));
}

std::string sign_checkpoint(const Checkpoint& checkpoint, SigningKey& key) {
  const auto text = checkpoint_body(checkpoint);
  const auto signature = key.sign(text);
  const auto bytes = big_endian(note_key_hash(checkpoint.origin, key.public_key())) + std::string(bytes_of(signature));
  return fmt::format("{}\n{}{} {}\n", text, kDash, checkpoint.origin, to_base64(bytes));
}

Result<SignedCheckpoint> parse_checkpoint(std::string_view note) {
  if (note.size() > kMaxNote) return bad("it is too long");
  const auto blank = note.rfind("\n\n");
  if (blank == std::string_view::npos) return bad("no empty line stands before the signatures");
  SignedCheckpoint out;
  out.text = note.substr(0, blank + 1);
  std::string_view body = out.text;
  const auto origin = take_line(body);
  const auto size_line = take_line(body);
  const auto root_line = take_line(body);
  if (!origin || !size_line || !root_line) return bad("it has fewer than three lines");
  const auto size = decimal(*size_line);
  const auto root = base64_hash(*root_line);
  if (!good_name(*origin) || !size || !root) return bad("its lines are no origin, size and root");
  while (const auto line = take_line(body)) {
    if (line->empty()) return bad("an empty line stands among its lines");
  }
  out.checkpoint = {std::string(*origin), *size, *root};
  std::string_view rest = note.substr(blank + 2);
  while (!rest.empty()) {
    const auto line = take_line(rest);
    if (!line || out.signatures.size() >= kMaxSignatures) return bad("its signatures have another form");
    auto signature = parse_signature(*line);
    if (!signature) return fail(signature.error());
    out.signatures.push_back(std::move(*signature));
  }
  if (out.signatures.empty()) return bad("it has no signature");
  return out;
}

bool verify_checkpoint(const SignedCheckpoint& checkpoint, const PublicKey& key) {
  const auto hash = note_key_hash(checkpoint.checkpoint.origin, key);
  return std::ranges::any_of(checkpoint.signatures, [&](const auto& signature) {
    return signature.name == checkpoint.checkpoint.origin && signature.key_hash == hash &&
           key.verify(checkpoint.text, signature.signature);
  });
}

std::string verifier_key(std::string_view name, const PublicKey& key) {
  std::string bytes(kEd25519);
  bytes += raw_key(key);
  return fmt::format("{}+{}+{}", name, to_hex(big_endian(note_key_hash(name, key))), to_base64(bytes));
}

std::string proof_text(std::uint64_t index, std::span<const Sha256> proof, std::string_view signed_checkpoint) {
  std::string out = fmt::format("{}index {}\n", kProofLine, index);
  for (const auto& hash : proof) out += to_base64(bytes_of(hash)) + "\n";
  out += '\n';
  out += signed_checkpoint;
  return out;
}

Result<ProofFile> parse_proof(std::string_view text) {
  const auto refuse = [](std::string_view why) {
    return fail(ErrorCode::invalid, fmt::format("the proof is not of the form of C2SP tlog-proof: {}", why));
  };
  if (text.size() > kMaxNote || !text.starts_with(kProofLine))
    return refuse("it does not begin with `c2sp.org/tlog-proof@v1`");
  text.remove_prefix(kProofLine.size());
  ProofFile out;
  auto line = take_line(text);
  if (!line || !line->starts_with("index ")) return refuse("no index follows");
  const auto index = decimal(line->substr(6));
  if (!index) return refuse("its index is no number");
  out.index = *index;
  while ((line = take_line(text)) && !line->empty()) {
    const auto hash = base64_hash(*line);
    if (!hash || out.proof.size() >= 63) return refuse("a line is no hash");
    out.proof.push_back(*hash);
  }
  auto checkpoint = parse_checkpoint(text);
  if (!checkpoint) return fail(checkpoint.error());
  out.checkpoint = std::move(*checkpoint);
  return out;
}

Status verify_proof(const ProofFile& proof, std::string_view payload, const PublicKey& checkpoint_key) {
  if (!verify_checkpoint(proof.checkpoint, checkpoint_key)) {
    return fail(ErrorCode::invalid, "the checkpoint is not signed by that key");
  }
  const auto& checkpoint = proof.checkpoint.checkpoint;
  if (!verify_inclusion(leaf_hash(payload), proof.index, checkpoint.size, proof.proof, checkpoint.root)) {
    return fail(ErrorCode::invalid, "the receipt is not in the tree of the checkpoint at that index");
  }
  return {};
}

}  // namespace sallyport::trust
