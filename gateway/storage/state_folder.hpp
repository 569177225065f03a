// The state folder (design section 12): one process owns it, and only its user can look inside.
//
//   lock             who owns it: process id and command
//   receipts.key     signs receipts (PKCS#8 PEM); receipts.pub beside it is for auditors
//   checkpoint.key   signs checkpoints; checkpoint.pub
//   receipts.key.next  on its way to be the next one (`receipts key --rotate`)
//   checkpoint       the newest checkpoint: what a store put back alone is noticed by
//   store.key        seals rows and makes the keys of argument commitments (hex)
//   fingerprint.key  makes fingerprints, which no export can be checked against (hex)
//   store.db         the Store (sqlite_store.hpp); `reserve` keeps disk space for outcomes
//
// Refused: a folder that others can read or write, one on a network file system, a key file that others can read, a
// second owner, and a store without the keys it was made with. Keys are made only where there is no store yet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/clock.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/crypto/seal.hpp"

namespace sallyport::gateway {

inline constexpr std::string_view kStoreFile = "store.db";

struct StateOwner {
  int pid = 0;          // 0: not known
  std::string command;  // empty: not known
};

// Immutable once made. The owner's lock is held until it goes, so it outlives the Store. Move-only.
class StateFolder {
 public:
  // Makes the folder (0700) and its keys if need be, and takes the lock. ErrorCode::conflict names the present owner.
  static Result<StateFolder> own(const std::string& path, std::string_view command, Entropy& entropy);
  // For commands that only read: no lock, nothing is made or changed; the keys must be there.
  static Result<StateFolder> look(const std::string& path);
  // Who owns it now; nullopt: nobody (or no such folder).
  static std::optional<StateOwner> owner(const std::string& path);

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&&) = delete;
  ~StateFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const;
  [[nodiscard]] bool owned() const { return lock_ >= 0; }

  [[nodiscard]] Result<trust::SigningKey> receipt_key() const;     // a fresh object each time
  [[nodiscard]] Result<trust::SigningKey> checkpoint_key() const;  // likewise
  // A change of the signing key, in an order that a crash cannot spoil: a new one is laid beside the old one; the store
  // records it, signed by the old one, and names it as the one in force; then it takes the old one's place. The last
  // step is done by whoever opens the store next, if need be.
  [[nodiscard]] Result<trust::SigningKey> next_receipt_key(Entropy& entropy) const;
  Status take_next_receipt_key();  // with its public half
  // Likewise the key of checkpoints.
  [[nodiscard]] Result<trust::SigningKey> next_checkpoint_key(Entropy& entropy) const;
  Status take_next_checkpoint_key();
  [[nodiscard]] const Secret& store_key() const { return store_key_; }              // 32 bytes
  [[nodiscard]] const Secret& fingerprint_key() const { return fingerprint_key_; }  // 32 bytes

 private:
  StateFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  Status load_keys();
  [[nodiscard]] Result<trust::SigningKey> next_key(std::string_view name, Entropy& entropy) const;
  Status take_next_key(std::string_view next, std::string_view name, std::string_view public_name, Secret& into);

  std::string path_;
  int lock_;
  Secret receipt_pem_, checkpoint_pem_, store_key_, fingerprint_key_;
};

// Whether statfs() type `magic` is a network file system, where neither locks nor syncs can be relied on.
[[nodiscard]] bool is_network_file_system(long magic);

}  // namespace sallyport::gateway
