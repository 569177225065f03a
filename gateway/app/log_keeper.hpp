// LogKeeper: checkpoints over the log, the check that the log extends them, and retention (design section 6). On the
// loop; one at a time of what it does, others wait.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/app/anchor.hpp"
#include "gateway/base/clock.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/ports/store.hpp"
#include "gateway/storage/state_folder.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/receipts/merkle.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway {

inline constexpr std::string_view kCheckpointFile = "checkpoint";  // in the state folder: the newest note

struct Retention {
  Millis age{};
  std::uint64_t bytes = 0;  // of the store's file; 0: no bound
  Millis operations =
      std::chrono::hours(24 * 7);  // how long they are known at least, whatever becomes of their receipts
};

// What the store knows of the anchor, by its place (Anchor::place()); another place holds nothing of ours yet.
struct AnchorMark {
  std::uint64_t size = 0;  // entries that the newest note there covers
  std::uint64_t from = 0;  // of a file: what stands before it is of a time that was rolled back
};
[[nodiscard]] AnchorMark anchor_mark(Tx& tx, const std::string& place);

// Checkpoint keys of before, each with the number of entries that its checkpoints may cover. Error: corrupt.
struct FormerKey {
  trust::PublicKey key;
  std::uint64_t size = 0;
};
[[nodiscard]] Result<std::vector<FormerKey>> former_checkpoint_keys(Tx& tx);

class LogKeeper {
 public:
  // All references outlive it. `file`: where the newest note is kept beside the store, so that a store that was put
  // back alone is noticed.
  LogKeeper(Store& store, trust::SigningKey key, std::string file, Anchor anchor, Workers& workers, Clock& clock);

  // Before anything is appended: the log must hold what the newest checkpoints at hand and at the anchor saw.
  // ErrorCode::conflict: it was rolled back. Others: what could not be read or is not ours.
  // The anchor must also hold what was sent to it, else it is not where it was: conflict too.
  asio::awaitable<Status> check();
  // After an operator accepted a rollback: what the anchor holds now is of the time that is lost.
  asio::awaitable<Status> begin_anew();
  // A checkpoint over all that is in the log now, made durable, kept and anchored; the last one if nothing was added. A
  // failing anchor is logged, told by problem(), and tried again the next time.
  asio::awaitable<Result<std::string>> make();
  // Takes away what is older than the age or beyond the bytes, never anything that is needed or not covered by a
  // checkpoint. `receipt`: a blank one of kind log. How many entries went.
  asio::awaitable<Result<std::uint64_t>> prune(Retention retention, std::function<trust::ReceiptBody()> receipt);

  // For a change of the checkpoint key, in the transaction that records it: this key's checkpoints cover at most `size`
  // entries from now on, and still count.
  Status retire_key(Tx& tx, std::uint64_t size) const;

  [[nodiscard]] const std::string& newest() const { return note_; }  // empty: none yet
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool anchored() const { return !anchor_.none(); }

 private:
  // Whose turn it is, until it goes: also when its task is cancelled in the middle.
  class Turn {
   public:
    explicit Turn(LogKeeper& keeper) : keeper_(keeper) { keeper_.busy_ = true; }
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    LogKeeper& keeper_;
  };
  asio::awaitable<void> until_free();
  asio::awaitable<Result<std::string>> make_now();
  asio::awaitable<Status> catch_up();
  asio::awaitable<Status> check_note(std::string note, std::string where);
  asio::awaitable<Result<bool>> is_of_former(const trust::SignedCheckpoint& note);
  asio::awaitable<Status> check_folder();
  asio::awaitable<Status> check_anchor();
  asio::awaitable<Status> remember();
  asio::awaitable<Result<std::uint64_t>> prune_some(Retention retention, trust::ReceiptBody receipt);
  asio::awaitable<void> publish();

  Store& store_;
  trust::SigningKey key_;
  std::string file_;
  Anchor anchor_;
  Workers& workers_;
  Clock& clock_;
  Signal left_;
  bool busy_ = false;
  trust::MerkleTree tree_;
  std::string note_;
  std::string anchored_note_;
  std::string problem_;
};

// Of that state folder, with the anchor that the settings name.
[[nodiscard]] Result<std::unique_ptr<LogKeeper>> make_keeper(const Settings& settings, const StateFolder& folder,
                                                             Store& store, const asio::any_io_executor& loop,
                                                             Workers& workers);
// Of the file system that the folder lies on; 0: it cannot be told.
[[nodiscard]] std::uint64_t tenth_of_disk(const std::string& folder);

// The tree over the first `size` entries, from the nearest checkpoint below it (or what was pruned) on.
[[nodiscard]] Result<trust::MerkleTree> tree_at(Tx& tx, std::uint64_t size);

}  // namespace sallyport::gateway
