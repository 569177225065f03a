#include "trust/receipts/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/envelope.hpp"

namespace sallyport::trust {
namespace {

constexpr std::size_t kRecent = 1024;
constexpr std::size_t kMissing = 1000;
// Of what the log's own words are told in: a line may be long.
constexpr std::size_t kMostSubject = 200;
constexpr std::size_t kMostMessage = 1000;

using Token = std::array<std::uint8_t, 16>;

Token token_of(std::string_view id) {
  const auto hash = sha256(id);
  Token out{};
  std::copy_n(hash.begin(), out.size(), out.begin());
  return out;
}

bool closes(const CheckedLine& line) {
  return line.kind == ReceiptKind::outcome || (line.kind == ReceiptKind::reconciliation && line.outcome);
}

}  // namespace

std::string checkpoint_key_statement(std::string_view log, std::string_view new_key) {
  return fmt::format("sallyport/checkpoint-key/v1\n{}\n{}\n", log, new_key);
}

std::optional<PrunedBase> pruned_by(std::string_view payload) {
  if (payload.find(R"("action":"pruned")") == std::string_view::npos) return std::nullopt;
  const auto document = json::Document::parse(std::string(payload));
  const json::Value predicate = document ? document->root().find("predicate") : json::Value();
  const json::Value event = predicate ? predicate.find("event") : json::Value();
  if (!event || !predicate.find("kind") || !predicate.find("kind").equals("log")) return std::nullopt;
  const auto text = [&](std::string_view pointer) {
    const json::Value value = event.at(pointer);
    return value && value.is_string() ? value.string() : std::string();
  };
  std::uint64_t size = 0;
  const std::string number = text("/details/size");
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  const auto edge = from_hex(text("/details/edge"));
  if (error != std::errc() || end != number.data() + number.size() || size == 0 || !edge ||
      !is_digest(text("/before"))) {
    return std::nullopt;
  }
  auto tree = MerkleTree::from_bytes(size, *edge);
  if (!tree) return std::nullopt;
  return PrunedBase{std::move(*tree), text("/before")};
}

std::size_t Verifier::TokenHash::operator()(const Token& token) const {
  std::size_t out = 0;
  std::memcpy(&out, token.data(), sizeof out);
  return out;
}

Verifier::Verifier(VerifyOptions options) : options_(std::move(options)), recent_(kRecent) {
  for (const PublicKey& key : options_.checkpoint_keys) checkpoint_keys_.push_back({key, 0, ~std::uint64_t{0}});
  std::ranges::sort(options_.checkpoints, {}, [](const SignedCheckpoint& c) { return c.checkpoint.size; });
  if (options_.pruned) {
    tree_ = *options_.pruned;
    expected_ = tree_.size();
    prev_ = options_.pruned_prev;
  }
  if (expected_ > 0) {
    add(FindingKind::pruned, std::nullopt, {},
        fmt::format("the first {} entries were taken away; what they were is only known by checkpoints kept elsewhere",
                    expected_));
  }
  // Checkpoints before the first line of a pruned log speak of what is not here.
  while (next_checkpoint_ < options_.checkpoints.size() &&
         options_.checkpoints[next_checkpoint_].checkpoint.size < tree_.size()) {
    ++next_checkpoint_;
  }
  report_.log = options_.log;
  pass_checkpoints();
}

bool Verifier::is_signed(const SignedCheckpoint& checkpoint) const {
  return std::ranges::any_of(checkpoint_keys_, [&](const CheckpointKey& one) {
    const auto size = checkpoint.checkpoint.size;
    return one.from <= size && size <= one.to && verify_checkpoint(checkpoint, one.key);
  });
}

// A checkpoint of another key or log says nothing of this one: not that it should be longer either.
bool Verifier::is_ours(const SignedCheckpoint& signed_checkpoint) {
  const auto& checkpoint = signed_checkpoint.checkpoint;
  if (!options_.checkpoint_keys.empty() && !is_signed(signed_checkpoint)) {
    add(FindingKind::checkpoint_mismatch, std::nullopt, checkpoint.origin,
        fmt::format("the checkpoint over {} entries is not signed by a given key", checkpoint.size));
    return false;
  }
  if (report_.log.empty() || checkpoint.origin == checkpoint_origin(report_.log)) return true;
  add(FindingKind::checkpoint_mismatch, std::nullopt, checkpoint.origin,
      fmt::format("the checkpoint over {} entries is of the log `{}`", checkpoint.size, visible(checkpoint.origin)));
  return false;
}

void Verifier::add(FindingKind kind, std::optional<std::uint64_t> seq, std::string subject, std::string message) {
  if (is_fault(kind)) ++report_.faults;
  if (report_.findings.size() >= options_.max_findings) {
    ++report_.more_findings;
    return;
  }
  subject.resize(std::min(subject.size(), kMostSubject));
  message.resize(std::min(message.size(), kMostMessage));
  report_.findings.push_back({kind, line_, seq, std::move(subject), std::move(message)});
}

void Verifier::accept(CheckedLine checked) {
  ++line_;
  if (checked.bad_form) {
    doubtful_.reset();
    add(FindingKind::bad_form, std::nullopt, {}, *checked.bad_form);
    return;
  }
  const bool proven = judge_signature(checked);
  const bool ours = judge_log(checked);
  if (!judge_place(checked, proven && ours)) return;
  doubtful_.reset();
  recent_[checked.seq % kRecent] = {checked.seq, checked.hash};
  prev_ = digest_text(checked.hash);
  expected_ = checked.seq + 1;
  if (proven) key_ = checked.keyid;
  ++report_.entries;
  if (!report_.first_seq) report_.first_seq = checked.seq;
  report_.last_seq = checked.seq;
  tree_.append(checked.leaf);
  if (proven && !checked.new_checkpoint_key.empty()) take_checkpoint_key(checked);
  pass_checkpoints();
  judge_content(checked);
  if (proven && !checked.new_key.empty()) take_key(checked);
}

bool Verifier::judge_signature(const CheckedLine& checked) {
  if (!options_.signatures) return true;
  const auto refuse = [&](FindingKind kind, std::string message) {
    add(kind, checked.seq, checked.keyid, std::move(message));
    return false;
  };
  const auto retired = retired_.find(checked.keyid);
  if (retired != retired_.end() && checked.seq > retired->second)
    return refuse(FindingKind::unknown_key,
                  fmt::format("it is signed by a key that was replaced at seq {}", retired->second));
  bool ok = checked.signature_ok;
  if (!checked.signature_checked) {  // by a key that was not known when the line was checked
    const auto key = std::ranges::find(options_.keys, checked.keyid, &PublicKey::keyid);
    if (key == options_.keys.end())
      return refuse(FindingKind::unknown_key, "it is signed by a key that is none of the given ones");
    ok = key->verify(pae(checked.payload), checked.signature);
  }
  if (!ok) return refuse(FindingKind::bad_signature, "the signature is not by that key over these bytes");
  // Several keys may be given, of several logs: each entry is for the one key that signs at its place.
  if (!key_.empty() && checked.keyid != key_ && checked.seq >= expected_) {
    return refuse(FindingKind::unknown_key,
                  fmt::format("the log goes on with key {}…, and no receipt changed that", key_.substr(0, 16)));
  }
  return true;
}

bool Verifier::judge_log(const CheckedLine& checked) {
  if (report_.log.empty()) report_.log = checked.log;
  if (checked.log != report_.log) {
    add(FindingKind::wrong_log, checked.seq, checked.id,
        fmt::format("it belongs to log {}, not to {}", checked.log, report_.log));
    return false;
  }
  if (checked.seq == 0 && !report_.first_seq && !checked.keyid.starts_with(checked.log)) {
    add(FindingKind::wrong_log, checked.seq, checked.id, "a log is named after the key that signed its first entry");
  }
  return true;
}

// Whether it takes the next place. What is not to be believed (no good signature, another log) does not lead elsewhere:
// one such line must not make the entries behind it look wrong.
bool Verifier::judge_place(const CheckedLine& checked, bool believed) {
  if (checked.seq < expected_) {
    doubtful_.reset();
    judge_repeat(checked, believed);
    return false;
  }
  if (checked.seq > expected_) {
    const bool second = doubtful_ && checked.seq == *doubtful_ + 1;  // two in a row: the entries before them are gone
    if (!believed && !second) {
      doubtful_ = checked.seq;
      return false;
    }
    miss(expected_, second ? *doubtful_ : checked.seq);
    return true;  // from here on by what it says itself
  }
  if (checked.prev != prev_) {
    add(FindingKind::wrong_prev, checked.seq, checked.id,
        prev_.empty() ? "the first entry has no `prev`"
                      : fmt::format("its `prev` is {}, the entry before it is {}",
                                    checked.prev.empty() ? "missing" : checked.prev, prev_));
  }
  return true;
}

void Verifier::miss(std::uint64_t begin, std::uint64_t end) {
  complete_ = false;
  key_.clear();
  if (missing_.size() < kMissing) missing_.push_back({begin, end});
  add(FindingKind::gap, end, {},
      begin + 1 == end ? fmt::format("the entry with seq {} is missing", begin)
                       : fmt::format("entries with seq {} to {} are missing", begin, end - 1));
}

bool Verifier::is_missing(std::uint64_t seq) const {
  return std::ranges::any_of(missing_, [&](const Range& gap) { return gap.begin <= seq && seq < gap.end; });
}

void Verifier::judge_repeat(const CheckedLine& checked, bool believed) {
  Seen& seen = recent_[checked.seq % kRecent];
  if (seen.seq == checked.seq) {
    const bool same = seen.hash == checked.hash;
    add(same ? FindingKind::duplicate : FindingKind::fork, checked.seq, checked.id,
        same ? "the same entry stands here again" : "another entry with that seq came before");
    return;
  }
  if (is_missing(checked.seq) || (report_.first_seq && checked.seq < *report_.first_seq)) {
    add(FindingKind::wrong_prev, checked.seq, checked.id,
        fmt::format("it stands out of its place, behind the entry with seq {}", expected_ - 1));
    if (believed) judge_content(checked);
    return;
  }
  add(FindingKind::fork, checked.seq, checked.id,
      "an entry with that seq came before, too far back to tell whether it was the same");
}

void Verifier::judge_content(const CheckedLine& checked) {
  if (checked.kind == ReceiptKind::intent) open_.try_emplace(checked.operation, Open{line_, checked.seq});
  if (closes(checked)) open_.erase(checked.operation);
  if (checked.approval.empty()) return;
  const auto [spent, fresh] = spent_.try_emplace(token_of(checked.approval), token_of(checked.operation));
  if (!fresh && spent->second != token_of(checked.operation)) {
    add(FindingKind::approval_spent_twice, checked.seq, checked.approval,
        "another operation spent that approval before");
  }
}

void Verifier::take_key(const CheckedLine& checked) {
  const auto der = from_base64(checked.new_key);
  auto key = der ? PublicKey::from_der(*der) : Result<PublicKey>(fail(ErrorCode::invalid, "no base64"));
  if (!key) {
    add(FindingKind::bad_form, checked.seq, checked.id, "the new key that it names is no Ed25519 key");
    return;
  }
  if (key->keyid() == checked.keyid) return;
  retired_[checked.keyid] = checked.seq;
  retired_.erase(key->keyid());
  key_ = key->keyid();
  if (std::ranges::find(options_.keys, key->keyid(), &PublicKey::keyid) == options_.keys.end()) {
    options_.keys.push_back(std::move(*key));
  }
}

// The key of receipts alone cannot put another in the place of the key that watches it.
void Verifier::take_checkpoint_key(const CheckedLine& checked) {
  const auto der = from_base64(checked.new_checkpoint_key);
  const auto signature = from_base64(checked.endorsement);
  auto key = der ? PublicKey::from_der(*der) : Result<PublicKey>(fail(ErrorCode::invalid, "no base64"));
  if (!key || !signature) {
    add(FindingKind::bad_form, checked.seq, checked.id, "the new checkpoint key that it names is no Ed25519 key");
    return;
  }
  const auto statement = checkpoint_key_statement(checked.log, checked.new_checkpoint_key);
  const auto old = std::ranges::find_if(checkpoint_keys_, [&](const CheckpointKey& one) {
    return checked.seq <= one.to && one.key.verify(statement, *signature);
  });
  if (old == checkpoint_keys_.end()) return;  // of a key that was not given, or is no longer in force
  old->to = checked.seq;
  checkpoint_keys_.push_back({std::move(*key), checked.seq + 1, ~std::uint64_t{0}});
}

void Verifier::pass_checkpoints() {
  while (next_checkpoint_ < options_.checkpoints.size() &&
         options_.checkpoints[next_checkpoint_].checkpoint.size == tree_.size()) {
    const auto& signed_checkpoint = options_.checkpoints[next_checkpoint_++];
    const auto& checkpoint = signed_checkpoint.checkpoint;
    if (!is_ours(signed_checkpoint)) continue;
    if (tree_.root() != checkpoint.root) {
      add(FindingKind::checkpoint_mismatch, std::nullopt, checkpoint.origin,
          complete_ ? fmt::format("the first {} entries are not those that the checkpoint covers", checkpoint.size)
                    : fmt::format("the checkpoint over {} entries cannot hold: entries are missing", checkpoint.size));
      continue;
    }
    const bool anchors = checkpoint.size <= options_.anchors_to && !options_.checkpoint_keys.empty();
    if (anchors && complete_) report_.anchored = checkpoint.size;
  }
}

void Verifier::judge_anchor() {
  const auto& checkpoints = options_.checkpoints;
  for (; next_checkpoint_ < checkpoints.size(); ++next_checkpoint_) {
    const auto& checkpoint = checkpoints[next_checkpoint_].checkpoint;
    if (!is_ours(checkpoints[next_checkpoint_])) continue;
    if (expected_ >= checkpoint.size) {
      add(FindingKind::checkpoint_mismatch, std::nullopt, checkpoint.origin,
          fmt::format("the checkpoint over {} entries cannot hold: entries are missing", checkpoint.size));
      continue;
    }
    add(FindingKind::shorter_than_checkpoint, std::nullopt, checkpoint.origin,
        fmt::format("the log ends behind {} entries, a checkpoint covers {}", expected_, checkpoint.size));
  }
  const auto covered = report_.anchored.value_or(0);
  if (covered >= tree_.size()) return;
  std::string message =
      fmt::format("no checkpoint covers the last {} of {} entries", tree_.size() - covered, tree_.size());
  if (!checkpoints.empty() && options_.checkpoint_keys.empty()) {
    message += "; the given checkpoints could not be judged without their public key";
  }
  add(FindingKind::tail_not_anchored, std::nullopt, {}, std::move(message));
}

VerifyReport Verifier::finish() {
  std::vector<std::pair<std::uint64_t, std::string>> open;
  for (const auto& [operation, place] : open_) open.emplace_back(place.seq, operation);
  std::ranges::sort(open);
  const auto end = line_;
  for (auto& [seq, operation] : open) {
    line_ = open_[operation].line;
    add(FindingKind::intent_without_outcome, seq, operation, "nothing tells what became of it: its outcome is unknown");
  }
  line_ = 0;
  if (end == 0) add(FindingKind::gap, std::nullopt, {}, "the log is empty: its first entry is missing");
  judge_anchor();
  line_ = end;
  report_.head = prev_;
  report_.root = to_base64(bytes_of(tree_.root()));
  return std::move(report_);
}

}  // namespace sallyport::trust
