#include "trust/receipts/merkle.hpp"

#include <algorithm>
#include <bit>

namespace sallyport::trust {
namespace {

constexpr std::string_view kLeaf("\0", 1);
constexpr std::string_view kNode("\1", 1);

// The largest power of two below n (n > 1): where RFC 6962 splits a tree.
std::uint64_t split_point(std::uint64_t n) { return std::bit_floor(n - 1); }

}  // namespace

Sha256 leaf_hash(std::string_view payload) { return sha256({kLeaf, payload}); }
Sha256 node_hash(const Sha256& left, const Sha256& right) { return sha256({kNode, bytes_of(left), bytes_of(right)}); }

Result<MerkleTree> MerkleTree::from_edge(std::uint64_t size, std::vector<Sha256> edge) {
  if (edge.size() != static_cast<std::size_t>(std::popcount(size))) {
    return fail(ErrorCode::invalid, "a tree's edge has another number of hashes than its size asks for");
  }
  MerkleTree out;
  out.size_ = size;
  out.edge_ = std::move(edge);
  return out;
}

std::string MerkleTree::edge_bytes() const {
  std::string out;
  for (const Sha256& hash : edge_) out += bytes_of(hash);
  return out;
}

Result<MerkleTree> MerkleTree::from_bytes(std::uint64_t size, std::string_view edge) {
  std::vector<Sha256> hashes(edge.size() / sizeof(Sha256));
  if (edge.size() % sizeof(Sha256) != 0) return fail(ErrorCode::invalid, "a tree's edge is cut off");
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    std::ranges::copy(edge.substr(i * sizeof(Sha256), sizeof(Sha256)), hashes[i].begin());
  }
  return from_edge(size, std::move(hashes));
}

void MerkleTree::append(const Sha256& leaf) {
  Sha256 hash = leaf;
  // Each low set bit of the size is a perfect subtree that the new one completes.
  for (std::uint64_t bits = size_; (bits & 1U) != 0; bits >>= 1U) {
    hash = node_hash(edge_.back(), hash);
    edge_.pop_back();
  }
  edge_.push_back(hash);
  ++size_;
}

Sha256 MerkleTree::root() const {
  if (edge_.empty()) return sha256(std::string_view());
  Sha256 hash = edge_.back();
  for (std::size_t i = edge_.size() - 1; i-- > 0;) hash = node_hash(edge_[i], hash);
  return hash;
}

InclusionProver::InclusionProver(std::uint64_t index, std::uint64_t size) : size_(size) {
  // From the root down: at each split the half without the leaf is a node of the proof; proofs go from the leaf up.
  std::uint64_t begin = 0;
  std::uint64_t end = size;
  while (end - begin > 1) {
    const auto middle = begin + split_point(end - begin);
    if (index < middle) {
      ranges_.insert(ranges_.begin(), Range{middle, end, {}});
      end = middle;
    } else {
      ranges_.insert(ranges_.begin(), Range{begin, middle, {}});
      begin = middle;
    }
  }
}

// Each range that lies in what is gone begins at one of the perfect subtrees of its edge, and is made of those that
// follow: both split at the same places.
void InclusionProver::begin_after(const MerkleTree& pruned) {
  next_ = pruned.size();
  for (auto& range : ranges_) {
    if (range.begin >= next_) continue;
    const std::uint64_t end = std::min(range.end, next_);
    std::vector<Sha256> edge;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < pruned.edge().size(); ++i) {
      if (at >= range.begin && at < end) edge.push_back(pruned.edge()[i]);
      at += std::bit_floor(next_ - at);
    }
    if (auto tree = MerkleTree::from_edge(end - range.begin, std::move(edge))) range.tree = std::move(*tree);
  }
}

void InclusionProver::add(const Sha256& leaf) {
  if (next_ >= size_) return;
  for (auto& range : ranges_) {
    if (next_ >= range.begin && next_ < range.end) range.tree.append(leaf);
  }
  ++next_;
}

Result<std::vector<Sha256>> InclusionProver::proof() const {
  if (next_ != size_) return fail(ErrorCode::invalid, "the log is shorter than the tree that the proof is for");
  std::vector<Sha256> out;
  for (const auto& range : ranges_) out.push_back(range.tree.root());
  return out;
}

bool verify_inclusion(const Sha256& leaf, std::uint64_t index, std::uint64_t size, std::span<const Sha256> proof,
                      const Sha256& root) {
  if (index >= size) return false;
  // RFC 9162, 2.1.3.2.
  std::uint64_t node = index;
  std::uint64_t last = size - 1;
  Sha256 hash = leaf;
  for (const auto& sibling : proof) {
    if (last == 0) return false;
    if ((node & 1U) != 0 || node == last) {
      hash = node_hash(sibling, hash);
      while ((node & 1U) == 0 && node != 0) {
        node >>= 1U;
        last >>= 1U;
      }
    } else {
      hash = node_hash(hash, sibling);
    }
    node >>= 1U;
    last >>= 1U;
  }
  return last == 0 && hash == root;
}

}  // namespace sallyport::trust
