// Checkpoints, the check at the start, and retention, on a real store.
#include "gateway/app/log_keeper.hpp"

#include <gtest/gtest.h>

#include "tests/component/storage/store_fixture.hpp"
#include "trust/receipts/merkle.hpp"

namespace sallyport::test {
namespace {

#define EXPECT_OK(expression)                                                           \
  do {                                                                                  \
    const auto& ok_result = (expression);                                               \
    EXPECT_TRUE(ok_result.has_value()) << (ok_result ? "" : ok_result.error().message); \
  } while (false)

constexpr UnixMillis kDay = 24LL * 3600 * 1000;

class Keeper : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(home_.open());
    make();
  }

  void make() {
    auto key = trust::SigningKey::from_seed(seed_);
    public_key_.emplace(key->public_key());
    keeper_ = std::make_unique<LogKeeper>(home_.store(), std::move(*key), home_.path() + "/checkpoint",
                                          Anchor({anchor(), {}, {}}, home_.loop().get_executor(), workers_), workers_,
                                          home_.clock());
  }
  void reopen() {
    keeper_.reset();
    home_.close();
    ASSERT_OK(home_.open());
    make();
  }
  [[nodiscard]] std::string anchor() const { return elsewhere_.file("anchor"); }

  void fill(int count, UnixMillis apart = 0) {
    for (int i = 0; i < count; ++i) {
      home_.clock().pass(apart);
      const std::string id = op(++operations_);
      OperationRow row = operation_row(id);
      row.state = OperationState::applied;
      row.outcome = Outcome::applied;
      row.updated = home_.clock().now();
      ASSERT_OK(home_.commit(Durability::crash, [&](Tx& tx) -> Status {
        auto appended = tx.append(receipt_of(id));
        if (!appended) return fail(appended.error());
        return tx.put(row);
      }));
    }
  }
  void leave_open() {
    OperationRow row = operation_row(op(++operations_));
    row.state = OperationState::unknown;
    row.updated = home_.clock().now();
    ASSERT_OK(home_.commit(Durability::crash, [&](Tx& tx) -> Status {
      auto appended = tx.append(receipt_of(row.id, trust::ReceiptKind::intent));
      if (!appended) return fail(appended.error());
      return tx.put(row);
    }));
  }

  template <class T>
  T wait(asio::awaitable<T> task) {
    std::optional<T> result;
    asio::co_spawn(home_.loop(), std::move(task), [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result = std::move(value);
    });
    home_.loop().restart();
    while (!result) home_.loop().run_one();
    return std::move(*result);
  }
  Result<std::string> checkpoint() { return wait(keeper_->make()); }
  Result<std::uint64_t> prune(UnixMillis age, std::uint64_t bytes = 0) {
    const std::function<trust::ReceiptBody()> receipt = [] {
      trust::ReceiptBody body;
      body.kind = trust::ReceiptKind::log;
      body.event.emplace();
      return body;
    };
    return wait(keeper_->prune({Millis(age), bytes}, receipt));
  }

  std::vector<ReceiptRow> rows() {
    std::vector<ReceiptRow> rows;
    ReceiptFilter all;
    all.newest_first = false;
    all.limit = 1'000'000;
    EXPECT_OK(home_.read([&](Tx& tx) -> Status {
      rows = tx.receipts(all);
      return {};
    }));
    return rows;
  }
  // As an auditor would, from an export, the checkpoints of the anchor and public keys.
  trust::VerifyReport verify(bool with_base = true) {
    trust::VerifyOptions options;
    options.keys.push_back(*trust::PublicKey::from_pem(home_.store().receipt_key_pem()));
    options.checkpoint_keys.push_back(*public_key_);
    const std::string text = slurp(anchor());
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find("\nsallyport.dev/", at);
      end = end == std::string::npos ? text.size() : end + 1;
      if (auto note = trust::parse_checkpoint(text.substr(at, end - at)))
        options.checkpoints.push_back(std::move(*note));
      at = end;
    }
    if (with_base) {
      for (const ReceiptRow& row : rows()) {
        auto base = trust::pruned_by(row.payload);
        if (!base) continue;
        options.pruned = base->tree;
        options.pruned_prev = base->prev;
      }
    }
    trust::Verifier verifier(std::move(options));
    for (const ReceiptRow& row : rows()) verifier.line(row.envelope);
    return verifier.finish();
  }

  TempFolder elsewhere_;
  StoreHome home_;
  Workers workers_{1};
  trust::Seed seed_{9};
  std::optional<trust::PublicKey> public_key_;
  std::unique_ptr<LogKeeper> keeper_;
  int operations_ = 0;
};

TEST_F(Keeper, ACheckpointCoversAllThatIsThereAndIsMadeOnce) {
  fill(3);
  const auto first = checkpoint();
  ASSERT_OK(first);
  EXPECT_EQ(trust::parse_checkpoint(*first)->checkpoint.size, 3U);
  EXPECT_EQ(checkpoint().value(), *first);
  EXPECT_EQ(slurp(anchor()), *first);
  EXPECT_EQ(slurp(home_.path() + "/checkpoint"), *first);
  fill(2);
  const auto second = checkpoint();
  ASSERT_OK(second);
  EXPECT_EQ(slurp(anchor()), *first + *second);
  const auto report = verify();
  EXPECT_TRUE(report.findings.empty()) << trust::to_text(report);
  EXPECT_EQ(report.anchored, 5U);
}

TEST_F(Keeper, TheTreeGoesOnAfterARestart) {
  fill(7);
  ASSERT_OK(checkpoint());
  fill(1);
  reopen();
  EXPECT_OK(wait(keeper_->check()));
  fill(5);
  ASSERT_OK(checkpoint());
  const auto report = verify();
  EXPECT_TRUE(report.findings.empty()) << trust::to_text(report);
  EXPECT_EQ(report.anchored, 13U);
}

TEST_F(Keeper, ALogThatTheCheckpointDoesNotFitIsARollback) {
  fill(4);
  ASSERT_OK(checkpoint());
  // A checkpoint of more than is there, and one of the same size over something else, both signed by our key.
  auto key = trust::SigningKey::from_seed(seed_);
  const std::string origin = trust::checkpoint_origin(home_.store().log_id());
  for (const trust::Checkpoint& other :
       {trust::Checkpoint{origin, 9, trust::leaf_hash("x")}, trust::Checkpoint{origin, 3, trust::leaf_hash("x")}}) {
    std::ofstream(anchor(), std::ios::trunc) << "something else\n\n" << trust::sign_checkpoint(other, *key);
    make();
    const Status good = wait(keeper_->check());
    ASSERT_FALSE(good.has_value());
    EXPECT_EQ(good.error().code, ErrorCode::conflict);
    EXPECT_NE(good.error().message.find("the anchor"), std::string::npos) << good.error().message;
  }
  // By another key.
  auto stranger = trust::SigningKey::from_seed(trust::Seed{7});
  std::ofstream(anchor(), std::ios::trunc) << trust::sign_checkpoint({origin, 9, trust::leaf_hash("x")}, *stranger);
  make();
  EXPECT_EQ(wait(keeper_->check()).error().code, ErrorCode::forbidden);
}

// Whoever may add to the anchor, and put the state folder back, must not be able to hide the newest checkpoint there.
TEST_F(Keeper, TheCheckpointOverTheMostCountsWhereverItStands) {
  auto key = trust::SigningKey::from_seed(seed_);
  const std::string origin = trust::checkpoint_origin(home_.store().log_id());
  fill(4);
  const std::string ours = checkpoint().value();
  const std::string lost = trust::sign_checkpoint({origin, 9, trust::leaf_hash("x")}, *key);
  std::string others;
  for (int i = 0; others.size() < (300U << 10); ++i)
    others += trust::sign_checkpoint({"sallyport.dev/0123456789abcdef", 100U + static_cast<unsigned>(i), {}}, *key);
  for (const std::string& behind :
       {std::string(), ours, others, others + ours, lost.substr(0, lost.size() - 9), origin + "\n5\n",
        origin + "\n99\nAAAA\n\n\xE2\x80\x94 ", std::string("\n\n\n"), std::string(100'000, 'x')}) {
    std::ofstream(anchor(), std::ios::trunc) << ours << lost << behind;
    make();
    const Status good = wait(keeper_->check());
    ASSERT_FALSE(good.has_value()) << behind.substr(0, 200);
    EXPECT_EQ(good.error().code, ErrorCode::conflict);
  }
  // Without the lost one, none of this stands in the way.
  for (const std::string& behind : {others, std::string("x"), ours.substr(0, 30)}) {
    std::ofstream(anchor(), std::ios::trunc) << ours << behind;
    make();
    EXPECT_OK(wait(keeper_->check()));
  }
  // The next one is found behind what a crash cut off.
  fill(1);
  const std::string next = checkpoint().value();
  EXPECT_TRUE(slurp(anchor()).ends_with("\n" + next));
}

TEST_F(Keeper, AnAnchorThatLostWhatWasSentToItIsNoticed) {
  fill(4);
  const std::string first = checkpoint().value();
  fill(4);
  const std::string second = checkpoint().value();
  EXPECT_OK(wait(keeper_->check()));
  const auto refused = [&] {
    make();
    const Status good = wait(keeper_->check());
    return !good && good.error().code == ErrorCode::conflict &&
           good.error().message.find("the anchor") != std::string::npos;
  };
  std::filesystem::remove(anchor());
  EXPECT_TRUE(refused());
  std::ofstream(anchor(), std::ios::trunc) << "";
  EXPECT_TRUE(refused());
  std::ofstream(anchor(), std::ios::trunc) << first;
  EXPECT_TRUE(refused());
  std::ofstream(anchor(), std::ios::trunc) << first << second;
  EXPECT_FALSE(refused());
  // Accepted: what it holds now no longer counts, what comes then does.
  auto key = trust::SigningKey::from_seed(seed_);
  std::ofstream(anchor(), std::ios::trunc)
      << trust::sign_checkpoint({trust::checkpoint_origin(home_.store().log_id()), 9, trust::leaf_hash("x")}, *key);
  EXPECT_TRUE(refused());
  EXPECT_OK(wait(keeper_->begin_anew()));
  make();
  EXPECT_OK(wait(keeper_->check()));
  fill(1);
  ASSERT_OK(checkpoint());
  make();
  EXPECT_OK(wait(keeper_->check()));
  std::filesystem::resize_file(anchor(), std::filesystem::file_size(anchor()) - 20);
  EXPECT_TRUE(refused());
}

// A key is good for a week, and as long as a contract says, however short receipts are kept.
TEST_F(Keeper, OperationsAreKnownLongerThanTheirReceipts) {
  fill(40, kDay);
  ASSERT_OK(checkpoint());
  EXPECT_GT(prune(2 * kDay).value(), 30U);
  const auto known = [&](int number) {
    bool there = false;
    EXPECT_OK(home_.read([&](Tx& tx) -> Status {
      there = tx.operation(op(number)).has_value();
      return {};
    }));
    return there;
  };
  EXPECT_FALSE(known(30));
  for (int number = 34; number <= 40; ++number) EXPECT_TRUE(known(number)) << number;
}

TEST_F(Keeper, AnAnchorThatFailsIsToldAndTriedAgain) {
  std::filesystem::create_directory(anchor());  // no file can be written there
  fill(1);
  EXPECT_OK(checkpoint());
  EXPECT_NE(keeper_->problem().find("anchor"), std::string::npos);
  std::filesystem::remove(anchor());
  EXPECT_OK(checkpoint());
  EXPECT_EQ(keeper_->problem(), "");
  EXPECT_FALSE(slurp(anchor()).empty());
}

TEST_F(Keeper, PruningByAgeLeavesALogThatVerifies) {
  fill(40, kDay);
  ASSERT_OK(checkpoint());
  EXPECT_EQ(prune(10 * kDay).value(), 29U);  // those of the last ten days stay
  EXPECT_EQ(prune(10 * kDay).value(), 0U);
  fill(3);
  ASSERT_OK(checkpoint());
  const auto report = verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.findings.size(), 1U) << trust::to_text(report);
  EXPECT_EQ(report.findings.front().kind, trust::FindingKind::pruned);
  EXPECT_EQ(report.first_seq, 29U);
  EXPECT_EQ(report.anchored, 44U);
  EXPECT_FALSE(verify(false).ok());  // whoever does not know of the pruning sees a gap
  reopen();
  EXPECT_OK(wait(keeper_->check()));
  fill(1);
  ASSERT_OK(checkpoint());
  EXPECT_TRUE(verify().ok());
  // What remains can still be proven against every checkpoint.
  const auto all = rows();
  std::uint64_t size = 0;
  trust::MerkleTree before;
  EXPECT_OK(home_.read([&](Tx& tx) -> Status {
    size = tx.log_size();
    before = trust::MerkleTree::from_bytes(tx.pruned().size, tx.pruned().edge).value();
    return {};
  }));
  const auto note = trust::parse_checkpoint(keeper_->newest());
  ASSERT_OK(note);
  for (const ReceiptRow& row : all) {
    trust::InclusionProver prover(row.seq, size);
    prover.begin_after(before);
    for (const ReceiptRow& one : all) prover.add(trust::leaf_hash(one.payload));
    const auto proof = prover.proof();
    ASSERT_OK(proof);
    EXPECT_TRUE(trust::verify_inclusion(trust::leaf_hash(row.payload), row.seq, size, *proof, note->checkpoint.root));
  }
}

TEST_F(Keeper, NothingOpenAndNothingThatNoCheckpointCoversIsTakenAway) {
  EXPECT_EQ(prune(0).value(), 0U);
  fill(5, kDay);
  leave_open();
  fill(5, kDay);
  home_.clock().pass(100 * kDay);
  EXPECT_EQ(prune(kDay).value(), 0U);  // there is no checkpoint yet
  ASSERT_OK(checkpoint());
  fill(2);
  EXPECT_EQ(prune(kDay).value(), 5U);  // up to the one that is unknown
  EXPECT_EQ(rows().front().seq, 5U);
  std::vector<OperationRow> left;
  EXPECT_OK(home_.read([&](Tx& tx) -> Status {
    left = tx.operations({});
    return {};
  }));
  EXPECT_TRUE(std::ranges::any_of(left, [](const auto& row) { return row.state == OperationState::unknown; }));
  ASSERT_OK(checkpoint());
  EXPECT_TRUE(verify().ok()) << trust::to_text(verify());
}

TEST_F(Keeper, PruningBySizeStopsWhereItFits) {
  fill(300);
  ASSERT_OK(checkpoint());
  std::uint64_t before = 0;
  EXPECT_OK(home_.read([&](Tx& tx) -> Status {
    before = tx.stored_bytes();
    return {};
  }));
  EXPECT_EQ(prune(1000 * kDay, 2 * before).value(), 0U);
  EXPECT_EQ(prune(1000 * kDay, before / 2).value(), 300U);  // a piece at a time
  ASSERT_OK(checkpoint());
  EXPECT_TRUE(verify().ok()) << trust::to_text(verify());
}

}  // namespace
}  // namespace sallyport::test
