// `receipts verify`: judges a log line by line, with keys and checkpoints kept elsewhere (design section 6). Never
// throws on any input and never stops at a fault; memory grows only with operations left open and approvals spent (some
// 40 bytes each).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/core/result.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/receipts/merkle.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust {

enum class FindingKind : std::uint8_t {
  bad_form,  // no envelope, no statement of ours, not canonical, or a subject that does not fit
  bad_signature,
  unknown_key,  // or one that is not in force at that place
  wrong_log,
  gap,                  // seq jumps ahead, the log does not begin at 0, or it is empty
  duplicate,            // the same entry again
  fork,                 // another entry with a seq that was there
  wrong_prev,           // it does not follow the entry before it, or stands out of its place
  checkpoint_mismatch,  // the tree at that size has another root, or the checkpoint is of another log or key
  shorter_than_checkpoint,
  intent_without_outcome,  // the log ends with its outcome unknown
  approval_spent_twice,
  tail_not_anchored,  // entries behind the last checkpoint, or no checkpoint at all
  pruned,             // the log begins behind what its retention took away
};
[[nodiscard]] std::string_view to_string(FindingKind kind);  // `bad-signature`
// Faults make the log untrustworthy; the rest (intent without outcome, tail not anchored, pruned) is what an honest log
// says of itself.
[[nodiscard]] bool is_fault(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::uint64_t line = 0;  // from 1; 0: the log as a whole
  std::optional<std::uint64_t> seq;
  std::string subject;  // an operation, approval or key id
  std::string message;
};

struct VerifyOptions {
  std::vector<PublicKey> keys;  // of receipts; a `key` receipt signed by one of them adds its successor
  std::vector<SignedCheckpoint> checkpoints;
  // None: checkpoints are compared, but anchor nothing. A `key` receipt that one of them endorses adds its successor.
  std::vector<PublicKey> checkpoint_keys;
  // Checkpoints over more entries than that lie beside the log; they must fit, and prove nothing of its end.
  std::uint64_t anchors_to = ~std::uint64_t{0};
  bool signatures = true;
  std::size_t max_findings = 1000;   // further ones are counted
  std::optional<MerkleTree> pruned;  // what stood before the first line of a pruned log
  std::string pruned_prev;           // the digest that the first line's prev must be
  std::string log;                   // the log that it must be, where known; empty: as the first entry says
};

// A line read by itself; check_line() is pure and may run on several threads at once.
struct CheckedLine {
  std::optional<std::string> bad_form;
  bool signature_checked = false;  // by a key of the options
  bool signature_ok = false;
  std::string keyid;
  std::string payload;
  Sha256 hash{}, leaf{};  // of the payload: as the next entry's prev, and in the tree
  std::string signature;
  ReceiptKind kind = ReceiptKind::refusal;
  std::string id, operation, log, prev;
  std::string approval;                         // one that this entry spends
  std::string new_key;                          // base64 DER, of a `key` receipt that rotates
  std::string new_checkpoint_key, endorsement;  // base64: DER, and the old checkpoint key's signature for it
  std::uint64_t seq = 0;
  std::optional<Outcome> outcome;
};
[[nodiscard]] CheckedLine check_line(std::string line, const VerifyOptions& options);

inline constexpr std::string_view kCheckpointRotated = "checkpoint-rotated";  // the action of a `key` receipt
// What the old checkpoint key signs when it hands over to another one (base64 DER) in that log.
[[nodiscard]] std::string checkpoint_key_statement(std::string_view log, std::string_view new_key);

// What a receipt of a pruning says of the entries that are gone: enough to go on behind them.
struct PrunedBase {
  MerkleTree tree;
  std::string prev;  // the digest that the first line's prev must be
};
// nullopt: it is no such receipt. Of the payload's bytes; whether they are signed is for the pass over the log.
[[nodiscard]] std::optional<PrunedBase> pruned_by(std::string_view payload);

struct VerifyReport {
  std::uint64_t entries = 0;
  std::optional<std::uint64_t> first_seq, last_seq;
  std::string log;
  std::string head;                       // sha256:… of the last payload
  std::string root;                       // base64, RFC 6962 root over all entries
  std::optional<std::uint64_t> anchored;  // entries that a matching checkpoint covers
  std::vector<Finding> findings;
  std::uint64_t more_findings = 0;  // beyond max_findings
  std::uint64_t faults = 0;         // of all findings, shown or not
  [[nodiscard]] bool ok() const { return faults == 0; }
};
[[nodiscard]] std::string to_text(const VerifyReport& report);  // for people, ends with a newline
[[nodiscard]] std::string to_json(const VerifyReport& report);  // one canonical line, ends with a newline

class Verifier {
 public:
  explicit Verifier(VerifyOptions options);
  void line(std::string text) { accept(check_line(std::move(text), options_)); }  // without its newline
  void accept(CheckedLine checked);                                               // in order of the log
  [[nodiscard]] const VerifyOptions& options() const { return options_; }
  [[nodiscard]] VerifyReport finish();  // once, at the end

 private:
  using Token = std::array<std::uint8_t, 16>;  // of an id: half a SHA-256
  struct TokenHash {
    std::size_t operator()(const Token& token) const;
  };
  struct Open {
    std::uint64_t line, seq;
  };
  struct Seen {
    std::uint64_t seq = ~std::uint64_t{0};  // none yet
    Sha256 hash{};
  };
  struct Range {
    std::uint64_t begin, end;
  };
  void add(FindingKind kind, std::optional<std::uint64_t> seq, std::string subject, std::string message);
  [[nodiscard]] bool judge_signature(const CheckedLine& checked);
  [[nodiscard]] bool judge_log(const CheckedLine& checked);
  [[nodiscard]] bool judge_place(const CheckedLine& checked, bool believed);
  void judge_repeat(const CheckedLine& checked, bool believed);
  [[nodiscard]] bool is_missing(std::uint64_t seq) const;
  void miss(std::uint64_t begin, std::uint64_t end);
  void judge_content(const CheckedLine& checked);
  void take_key(const CheckedLine& checked);
  void take_checkpoint_key(const CheckedLine& checked);
  [[nodiscard]] bool is_signed(const SignedCheckpoint& checkpoint) const;
  [[nodiscard]] bool is_ours(const SignedCheckpoint& checkpoint);
  void pass_checkpoints();
  void judge_anchor();

  VerifyOptions options_;
  VerifyReport report_;
  MerkleTree tree_;
  bool complete_ = true;  // no entry is missing before here: the tree can be compared
  std::uint64_t line_ = 0;
  std::uint64_t expected_ = 0;
  std::string prev_;
  struct CheckpointKey {
    PublicKey key;
    std::uint64_t from, to;  // entries that its checkpoints cover
  };
  std::vector<CheckpointKey> checkpoint_keys_;
  std::string key_;             // keyid that signs from here on; empty: not known, at the beginning and behind a gap
  std::vector<Range> missing_;  // gaps so far, the first thousand
  std::optional<std::uint64_t> doubtful_;       // seq of the line before, which jumped ahead and is not to be believed
  std::vector<Seen> recent_;                    // a ring of the last payloads by seq, to tell duplicates from forks
  std::unordered_map<std::string, Open> open_;  // operations whose intent has no outcome yet
  std::unordered_map<Token, Token, TokenHash> spent_;       // approval -> operation
  std::unordered_map<std::string, std::uint64_t> retired_;  // keyid -> seq of the receipt that replaced it
  std::size_t next_checkpoint_ = 0;
};

}  // namespace sallyport::trust
