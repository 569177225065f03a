#include "trust/receipts/merkle.hpp"

#include <algorithm>

#include "tests/unit/trust/helpers.hpp"

namespace sallyport::trust {
namespace {

using test::test_key;
using test::unhex;

// The leaves and roots that implementations of RFC 6962 test with.
const std::string kLeaves[] = {
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
const std::string kRoots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                              "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                              "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                              "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                              "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                              "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                              "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                              "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

TEST(MerkleTree, HasThePublishedRoots) {
  MerkleTree tree;
  EXPECT_EQ(tree.root(), sha256(""));
  for (std::size_t i = 0; i < std::size(kLeaves); ++i) {
    tree.append_payload(unhex(kLeaves[i]));
    EXPECT_EQ(hex(tree.root()), kRoots[i]) << i;
  }
}

TEST(MerkleTree, GoesOnFromItsEdge) {
  MerkleTree tree;
  for (int i = 0; i < 100; ++i) {
    auto resumed = MerkleTree::from_edge(tree.size(), tree.edge());
    ASSERT_TRUE(resumed);
    resumed->append_payload("next");
    tree.append_payload("next");
    EXPECT_EQ(resumed->root(), tree.root());
  }
  EXPECT_FALSE(MerkleTree::from_edge(3, tree.edge()));
}

TEST(Inclusion, IsProvenForEveryLeafOfEveryTree) {
  for (std::uint64_t size = 1; size <= 20; ++size) {
    MerkleTree tree;
    std::vector<Sha256> leaves;
    for (std::uint64_t i = 0; i < size; ++i) leaves.push_back(leaf_hash(std::to_string(i)));
    for (const auto& leaf : leaves) tree.append(leaf);
    for (std::uint64_t index = 0; index < size; ++index) {
      InclusionProver prover(index, size);
      for (const auto& leaf : leaves) prover.add(leaf);
      prover.add(leaves[0]);  // further ones are ignored
      const auto proof = prover.proof().value();
      EXPECT_TRUE(verify_inclusion(leaves[index], index, size, proof, tree.root())) << index << " of " << size;
      EXPECT_FALSE(verify_inclusion(leaf_hash("x"), index, size, proof, tree.root()));
      EXPECT_FALSE(verify_inclusion(leaves[index], index + 1, size, proof, tree.root()));
      EXPECT_FALSE(verify_inclusion(leaves[index], index, size, proof, leaf_hash("x")));
      if (!proof.empty()) {
        EXPECT_FALSE(verify_inclusion(leaves[index], index, size, std::span(proof).subspan(1), tree.root()));
        auto longer = proof;
        longer.push_back(proof[0]);
        EXPECT_FALSE(verify_inclusion(leaves[index], index, size, longer, tree.root()));
      }
    }
    InclusionProver short_of_leaves(0, size);
    EXPECT_FALSE(short_of_leaves.proof());
  }
}

TEST(Inclusion, IsProvenBehindWhatWasPruned) {
  for (std::uint64_t size = 1; size <= 20; ++size) {
    MerkleTree tree;
    std::vector<Sha256> leaves;
    for (std::uint64_t i = 0; i < size; ++i) leaves.push_back(leaf_hash(std::to_string(i)));
    for (const auto& leaf : leaves) tree.append(leaf);
    MerkleTree pruned;
    for (std::uint64_t gone = 0; gone < size; ++gone) {
      const auto again = MerkleTree::from_bytes(pruned.size(), pruned.edge_bytes());
      ASSERT_TRUE(again);
      EXPECT_EQ(again->root(), pruned.root());
      for (std::uint64_t index = gone; index < size; ++index) {
        InclusionProver prover(index, size);
        prover.begin_after(pruned);
        for (std::uint64_t i = gone; i < size; ++i) prover.add(leaves[i]);
        const auto proof = prover.proof();
        ASSERT_TRUE(proof);
        EXPECT_TRUE(verify_inclusion(leaves[index], index, size, *proof, tree.root()))
            << gone << " " << index << " " << size;
      }
      pruned.append(leaves[gone]);
    }
  }
  EXPECT_FALSE(MerkleTree::from_bytes(1, "short"));
}

TEST(Checkpoint, GoesToANoteAndBack) {
  auto key = test_key(9);
  const Checkpoint checkpoint{"sallyport.dev/7c1e0b9d2a44f310", 4, leaf_hash("x")};
  const auto note = sign_checkpoint(checkpoint, key);
  const auto parsed = parse_checkpoint(note);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->checkpoint, checkpoint);
  EXPECT_TRUE(verify_checkpoint(*parsed, key.public_key()));
  EXPECT_FALSE(verify_checkpoint(*parsed, test_key(8).public_key()));
  auto changed = note;
  changed[changed.find("\n4\n") + 1] = '5';
  EXPECT_FALSE(verify_checkpoint(parse_checkpoint(changed).value(), key.public_key()));
}

TEST(Checkpoint, NamesKeysAsNoteToolsDo) {  // a verifier key in public use
  const std::string known = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
  const auto bytes = from_base64(known.substr(known.rfind('+', known.find("Ac4z")) + 1)).value();
  Seed raw;
  std::copy(bytes.begin() + 1, bytes.end(), raw.begin());
  EXPECT_EQ(verifier_key("sum.golang.org", PublicKey::from_raw(raw).value()), known);
}

TEST(Checkpoint, RefusesOtherForms) {
  auto key = test_key(9);
  const auto note = sign_checkpoint({"origin.example/log", 4, leaf_hash("x")}, key);
  for (const auto& bad :
       {std::string(), std::string("\n\n"), note.substr(0, note.find("\n\n") + 2), "\n" + note, note + "x",
        note.substr(0, note.size() - 1), std::string(2 << 20, 'x'),
        std::string("a b\n1\n") + std::string(44, 'A') + "\n\n" + note.substr(note.rfind("\xE2\x80\x94"))}) {
    EXPECT_FALSE(parse_checkpoint(bad)) << bad.substr(0, 100);
  }
  auto zero = note;
  zero.insert(zero.find("\n4\n") + 1, "0");
  EXPECT_FALSE(parse_checkpoint(zero));
}

TEST(ProofFile, ProvesOneReceiptByItself) {
  auto key = test_key(9);
  MerkleTree tree;
  InclusionProver prover(2, 5);
  for (int i = 0; i < 5; ++i) {
    tree.append_payload(std::to_string(i));
    prover.add(leaf_hash(std::to_string(i)));
  }
  const auto note = sign_checkpoint({"sallyport.dev/x", tree.size(), tree.root()}, key);
  const auto text = proof_text(2, prover.proof().value(), note);
  EXPECT_TRUE(text.starts_with("c2sp.org/tlog-proof@v1\nindex 2\n"));
  const auto parsed = parse_proof(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(verify_proof(*parsed, "2", key.public_key()));
  EXPECT_FALSE(verify_proof(*parsed, "3", key.public_key()));
  EXPECT_FALSE(verify_proof(*parsed, "2", test_key(8).public_key()));
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto other = parse_proof(changed);
    EXPECT_FALSE(other && verify_proof(*other, "2", key.public_key())) << i;
  }
}

}  // namespace
}  // namespace sallyport::trust
