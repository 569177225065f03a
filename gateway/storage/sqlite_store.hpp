// The Store on SQLite (design section 12): a file with a write-ahead log, one writing thread with group commit, one
// reading thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/known_secrets.hpp"
#include "gateway/ports/store.hpp"
#include "gateway/storage/state_folder.hpp"
#include "gateway/storage/writer.hpp"
#include "schemas/core/result.hpp"
#include "trust/crypto/keys.hpp"

namespace sallyport::gateway {

// In the settings: the keyid of the checkpoint key that a rotation put in force.
inline constexpr std::string_view kCheckpointKeySetting = "checkpoint.key";

struct StoreOptions {
  StateFolder* folder = nullptr;              // owned; outlives the store
  const KnownSecrets* secrets = nullptr;      // what receipts and rows are swept for; null: nothing
  std::string vfs;                            // SQLite VFS by name; empty: the default
  std::size_t queue_limit = 8192;             // commits that may wait, and reads
  std::uint64_t reserve_bytes = 16ULL << 20;  // disk space set aside for outcomes; 0: none
  std::uint32_t checked_receipts = 64;        // at the end of the log, judged when opening
};

// What opening and app need beside the Store. Destroy it after its tasks ended and before the loop: what waits is then
// run, and its completions are posted. Loop, clock and entropy outlive it.
class SqliteStore : public Store {
 public:
  [[nodiscard]] virtual std::string receipt_key_pem() const = 0;  // public; what auditors need
  [[nodiscard]] virtual WriterStats stats() const = 0;            // any thread
};

// Makes or migrates the store in the folder. Refuses (ErrorCode::corrupt, conflict, unsupported, io): a store whose
// last receipts do not chain or are not signed by a key of the log, a file that is not ours or is newer, a signing key
// that is not the one in force, a disk without room for the reserve.
Result<std::unique_ptr<SqliteStore>> open_store(const StoreOptions& options, asio::any_io_executor loop, Clock& clock,
                                                Entropy& entropy);

// For commands that only read: a snapshot per call, on the caller's thread. Works beside an owner and without one,
// writes nothing and needs no keys. One thread at a time.
class ReadOnlyStore {
 public:
  virtual ~ReadOnlyStore() = default;
  virtual Status read(const std::function<Status(Tx&)>& fn) = 0;
  // Receipts row by row, in constant memory; stops when `each` says false.
  virtual Status each_receipt(const ReceiptFilter& filter, const std::function<bool(const ReceiptRow&)>& each) = 0;
  [[nodiscard]] virtual std::string log_id() const = 0;
  [[nodiscard]] virtual const std::vector<trust::PublicKey>& receipt_keys() const = 0;  // as the store remembers them
};
Result<std::unique_ptr<ReadOnlyStore>> open_read_only(const std::string& state_folder, const std::string& vfs = "");

}  // namespace sallyport::gateway
