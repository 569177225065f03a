// The RFC 6962 Merkle tree over payload bytes, proofs, and C2SP checkpoints (tlog-checkpoint, signed-note, tlog-proof).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/result.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/crypto/keys.hpp"

namespace sallyport::trust {

[[nodiscard]] Sha256 leaf_hash(std::string_view payload);                 // SHA-256(0x00 || payload)
[[nodiscard]] Sha256 node_hash(const Sha256& left, const Sha256& right);  // SHA-256(0x01 || left || right)

// The tree's right edge: O(log n) memory, append and root. A value.
class MerkleTree {
 public:
  MerkleTree() = default;
  // From a stored edge: hashes of the perfect subtrees that `size` is made of, largest first (popcount(size) of them).
  [[nodiscard]] static Result<MerkleTree> from_edge(std::uint64_t size, std::vector<Sha256> edge);

  void append(const Sha256& leaf);
  void append_payload(std::string_view payload) { append(leaf_hash(payload)); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Sha256 root() const;  // of the empty tree: SHA-256 of nothing
  [[nodiscard]] const std::vector<Sha256>& edge() const { return edge_; }
  // The edge as stored: 32 bytes a hash, one after the other. from_bytes: ErrorCode::invalid as from_edge().
  [[nodiscard]] std::string edge_bytes() const;
  [[nodiscard]] static Result<MerkleTree> from_bytes(std::uint64_t size, std::string_view edge);

 private:
  std::uint64_t size_ = 0;
  std::vector<Sha256> edge_;
};

// Makes the proof for one leaf in one pass over all leaves in order: O(log n) memory.
class InclusionProver {
 public:
  InclusionProver(std::uint64_t index, std::uint64_t size);  // index < size
  // For a pruned log, first and once: the tree over the leaves that are gone (at most `index`); add() goes on behind
  // it.
  void begin_after(const MerkleTree& pruned);
  void add(const Sha256& leaf);                             // leaves up to size-1; further ones are ignored
  [[nodiscard]] Result<std::vector<Sha256>> proof() const;  // ErrorCode::invalid if leaves are missing

 private:
  struct Range {
    std::uint64_t begin, end;
    MerkleTree tree;
  };
  std::uint64_t next_ = 0;
  std::uint64_t size_;
  std::vector<Range> ranges_;  // in the order of the proof
};
[[nodiscard]] bool verify_inclusion(const Sha256& leaf, std::uint64_t index, std::uint64_t size,
                                    std::span<const Sha256> proof, const Sha256& root);

struct Checkpoint {
  std::string origin;
  std::uint64_t size = 0;
  Sha256 root{};
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
[[nodiscard]] std::string checkpoint_origin(std::string_view log);  // `sallyport.dev/` and the log's id
[[nodiscard]] std::string checkpoint_body(
    const Checkpoint& checkpoint);  // origin, size, base64 root, each with a newline

// A signed note with one signature by that key under that name (the origin).
[[nodiscard]] std::string sign_checkpoint(const Checkpoint& checkpoint, SigningKey& key);
// Form only. ErrorCode::invalid says what is wrong.
struct SignedCheckpoint {
  Checkpoint checkpoint;
  std::string text;  // the signed part, with its last newline
  struct NoteSignature {
    std::string name;
    std::uint32_t key_hash = 0;
    std::string signature;
  };
  std::vector<NoteSignature> signatures;
};
[[nodiscard]] Result<SignedCheckpoint> parse_checkpoint(std::string_view note);
// True if one of the signatures is by that key under the checkpoint's origin.
[[nodiscard]] bool verify_checkpoint(const SignedCheckpoint& checkpoint, const PublicKey& key);
// `name+hash+base64(0x01 || key)`, as note tools want it, and back.
[[nodiscard]] std::string verifier_key(std::string_view name, const PublicKey& key);

// c2sp.org/tlog-proof@v1: index, hashes and a checkpoint in one text.
[[nodiscard]] std::string proof_text(std::uint64_t index, std::span<const Sha256> proof,
                                     std::string_view signed_checkpoint);
struct ProofFile {
  std::uint64_t index = 0;
  std::vector<Sha256> proof;
  SignedCheckpoint checkpoint;
};
[[nodiscard]] Result<ProofFile> parse_proof(std::string_view text);
// Why the payload is not proven by it; success: it is.
[[nodiscard]] Status verify_proof(const ProofFile& proof, std::string_view payload, const PublicKey& checkpoint_key);

}  // namespace sallyport::trust
