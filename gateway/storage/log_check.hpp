// What opening must know of the log, and whether its end is sound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/storage/database.hpp"
#include "gateway/storage/sqlite_tx.hpp"
#include "trust/crypto/keys.hpp"

namespace sallyport::gateway {

// The public keys that signed this log, by their row.
struct LogKeys {
  std::string log;  // its id
  std::vector<trust::PublicKey> keys;
};

// Names the log after `key` and remembers the key, in a new store; refuses a key that is not the one in force.
Result<std::int64_t> enter_key(Database& database, const trust::PublicKey& key);
[[nodiscard]] std::string key_in_force(Database& database);  // keyid; empty: a new store
void put_key_in_force(Database& database, const trust::PublicKey& key);
Result<LogKeys> load_keys(Database& database);

// The end of the log. The last `checked` entries must follow each other without a gap, name each other's digest, hold
// the place they stand at, and be signed by a key of the log: else ErrorCode::corrupt, naming the entry.
Result<LogEnd> load_log_end(Database& database, const LogKeys& keys, std::uint32_t checked);

}  // namespace sallyport::gateway
