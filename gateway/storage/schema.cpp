#include "gateway/storage/schema.hpp"

#include <fmt/format.h>

#include <array>

namespace sallyport::gateway {
namespace {

constexpr std::int64_t kApplicationId = 0x53414c59;  // "SALY": tells our files from others'

// Every index of `receipts` and `operations` is a page that each call writes once more, so there are few, and those
// that only matter for writes leave reads out. Lists come in the order of the integer keys.
constexpr const char* kInitial = R"sql(
  CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE receipt_keys (n INTEGER PRIMARY KEY, keyid TEXT NOT NULL UNIQUE, pem TEXT NOT NULL) STRICT;
  -- latest: the greatest `time` up to this row. It never falls along seq, so the first row of a span is found by
  -- halving, without an index.
  CREATE TABLE receipts (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, operation TEXT NOT NULL, principal TEXT NOT NULL,
    server TEXT NOT NULL, tool TEXT NOT NULL, verdict TEXT NOT NULL, effect TEXT NOT NULL, outcome TEXT NOT NULL,
    time INTEGER NOT NULL,
    latest INTEGER NOT NULL, key INTEGER NOT NULL, signature BLOB NOT NULL, payload TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX receipts_id ON receipts (id);
  CREATE INDEX receipts_operation ON receipts (operation) WHERE operation <> '';
  CREATE INDEX receipts_principal ON receipts (principal);
  CREATE INDEX receipts_tool ON receipts (server, tool);
  CREATE INDEX receipts_kind ON receipts (kind) WHERE kind <> 'call';
  CREATE INDEX receipts_verdict ON receipts (verdict) WHERE verdict <> 'allow';
  CREATE INDEX receipts_effect ON receipts (effect) WHERE effect NOT IN ('', 'read');
  CREATE INDEX receipts_unknown ON receipts (outcome) WHERE outcome = 'unknown';

  -- The log as checkpoints saw it: the tree can go on from the newest, and be judged at each.
  CREATE TABLE checkpoints (size INTEGER PRIMARY KEY, edge BLOB NOT NULL, note TEXT NOT NULL, time INTEGER NOT NULL) STRICT;

  CREATE TABLE operations (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, open INTEGER NOT NULL, unknown INTEGER NOT NULL,
    outcome INTEGER NOT NULL, basis TEXT NOT NULL, principal TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL,
    server TEXT NOT NULL, tool TEXT NOT NULL, scope TEXT NOT NULL, contract_scope INTEGER NOT NULL,
    is_read INTEGER NOT NULL, effect TEXT NOT NULL, definition TEXT NOT NULL, fingerprint TEXT NOT NULL,
    key TEXT NOT NULL, approval TEXT NOT NULL, attempts INTEGER NOT NULL, delivered INTEGER NOT NULL,
    receipt TEXT NOT NULL, summary TEXT NOT NULL, reason TEXT NOT NULL, created INTEGER NOT NULL,
    updated INTEGER NOT NULL) STRICT;
  CREATE INDEX operations_open ON operations (state) WHERE open = 1;
  CREATE INDEX operations_fingerprint ON operations (fingerprint) WHERE is_read = 0;
  CREATE INDEX operations_key ON operations (key) WHERE key <> '';
  CREATE INDEX operations_tool ON operations (server, tool) WHERE is_read = 0;

  CREATE TABLE approvals (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, principal TEXT NOT NULL,
    server TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL, fingerprint TEXT NOT NULL, run TEXT NOT NULL,
    binding TEXT NOT NULL, shown TEXT NOT NULL, body TEXT NOT NULL, view BLOB NOT NULL, created INTEGER NOT NULL,
    expires INTEGER NOT NULL, updated INTEGER NOT NULL) STRICT;
  CREATE INDEX approvals_state ON approvals (state);
  CREATE INDEX approvals_operation ON approvals (operation);

  CREATE TABLE stops (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, value TEXT NOT NULL, tool TEXT NOT NULL,
    by TEXT NOT NULL, reason TEXT NOT NULL, created INTEGER NOT NULL, lifted INTEGER NOT NULL) STRICT;

  -- own: writes in exactly this scope; below: writes in scopes that it is a prefix of.
  CREATE TABLE revisions (
    server TEXT NOT NULL, scope TEXT NOT NULL, own INTEGER NOT NULL, below INTEGER NOT NULL,
    PRIMARY KEY (server, scope)) STRICT, WITHOUT ROWID;

  CREATE TABLE sealed (
    n INTEGER PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, created INTEGER NOT NULL, bytes BLOB NOT NULL,
    UNIQUE (owner, kind)) STRICT;
  CREATE INDEX sealed_age ON sealed (kind, created);
)sql";

constexpr const char* kGrants = R"sql(
  CREATE TABLE grants (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, open INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE INDEX grants_open ON grants (open) WHERE open = 1;
)sql";

// What earlier versions sent is not known to have carried a key.
constexpr const char* kSentKey = "ALTER TABLE operations ADD COLUMN sent_key TEXT NOT NULL DEFAULT ''";

constexpr std::array<const char*, kSchemaVersion> kMigrations{kInitial, kGrants, kSentKey};

}  // namespace

Status check_schema(Database& database) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  const std::int64_t application = database.integer("PRAGMA application_id");
  if (application != kApplicationId) {
    return fail(ErrorCode::corrupt, "the store's file was not made by sallyport");
  }
  if (version > kSchemaVersion) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("the store has version {}, made by a newer sallyport; this one knows {}", version, kSchemaVersion));
  }
  return {};
}

Status migrate(Database& database) {
  const bool empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!empty) {
    if (Status ours = check_schema(database); !ours) return ours;
  }
  std::int64_t version = empty ? 0 : database.integer("PRAGMA user_version");
  while (version < kSchemaVersion) {
    database.execute("BEGIN IMMEDIATE");
    try {
      database.execute(kMigrations.at(static_cast<std::size_t>(version)));
      ++version;
      database.execute(
          fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kApplicationId, version));
    } catch (const DatabaseError&) {
      if (database.in_transaction()) database.execute("ROLLBACK");
      throw;
    }
  }
  return {};
}

}  // namespace sallyport::gateway
