#include "gateway/storage/log_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/json.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/envelope.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kLogName = "log";
constexpr std::string_view kKeyInForce = "receipt_key";

std::string meta(Database& database, std::string_view name) {
  Rows rows = database.rows("SELECT value FROM meta WHERE name = ?", name);
  return rows.next() ? rows.text(0) : std::string();
}

struct Entry {
  std::uint64_t seq = 0;
  std::string id, payload, signature, keyid;
};

std::unexpected<Error> damaged(std::uint64_t seq, std::string_view what) {
  return fail(ErrorCode::corrupt,
              fmt::format("receipt {} of the store {}: restore the store, or begin with an empty state folder and keep "
                          "this one as evidence",
                          seq, what));
}

// Whether the payload is what stands at that place in that log.
Status check_entry(const Entry& entry, const std::string& prev, bool prev_known, const LogKeys& keys) {
  Result<json::Document> document = json::Document::parse(entry.payload);
  if (!document) return damaged(entry.seq, "is no JSON");
  const json::Value predicate = document->root().find("predicate");
  if (!predicate) return damaged(entry.seq, "has no predicate");
  const json::Value seq = predicate.find("seq");
  const bool placed = seq && seq.is_number() && seq.integer() == static_cast<std::int64_t>(entry.seq);
  if (!placed || !predicate.find("id") || !predicate.find("id").equals(entry.id)) {
    return damaged(entry.seq, "is not the one that belongs there");
  }
  if (!predicate.find("log") || !predicate.find("log").equals(keys.log)) {
    return damaged(entry.seq, "belongs to another log");
  }
  const json::Value named = predicate.find("prev");
  if (entry.seq == 0 ? bool(named) : (prev_known && (!named || !named.equals(prev)))) {
    return damaged(entry.seq, "does not follow the one before it");
  }
  const auto key = std::ranges::find(keys.keys, entry.keyid, [](const trust::PublicKey& k) { return k.keyid(); });
  if (key == keys.keys.end() || !key->verify(trust::pae(entry.payload), entry.signature)) {
    return damaged(entry.seq, "is not signed by a key of the log");
  }
  return {};
}

}  // namespace

Result<std::int64_t> enter_key(Database& database, const trust::PublicKey& key) {
  const std::string in_force = meta(database, kKeyInForce);
  if (in_force.empty()) {
    if (database.integer("SELECT count(*) FROM receipt_keys") != 0) {
      return fail(ErrorCode::corrupt, "the store does not name the key of its log");
    }
    database.execute("BEGIN IMMEDIATE");
    database.run("INSERT INTO receipt_keys (keyid, pem) VALUES (?, ?)", key.keyid(), key.pem());
    database.run("INSERT INTO meta (name, value) VALUES (?, ?)", kLogName, trust::log_id(key));
    database.run("INSERT INTO meta (name, value) VALUES (?, ?)", kKeyInForce, key.keyid());
    database.execute("COMMIT");
  } else if (in_force != key.keyid()) {
    return fail(
        ErrorCode::corrupt,
        fmt::format("`receipts.key` is key {}…, and the store goes on with {}…: restore the key that belongs to "
                    "this store",
                    key.keyid().substr(0, 16), in_force.substr(0, 16)));
  }
  Rows rows = database.rows("SELECT n FROM receipt_keys WHERE keyid = ?", key.keyid());
  if (!rows.next()) return fail(ErrorCode::corrupt, "the store does not know its own signing key");
  return rows.integer(0);
}

std::string key_in_force(Database& database) { return meta(database, kKeyInForce); }

void put_key_in_force(Database& database, const trust::PublicKey& key) {
  database.run("INSERT OR IGNORE INTO receipt_keys (keyid, pem) VALUES (?, ?)", key.keyid(), key.pem());
  database.run("UPDATE meta SET value = ? WHERE name = ?", key.keyid(), kKeyInForce);
}

Result<LogKeys> load_keys(Database& database) {
  LogKeys found{meta(database, kLogName), {}};
  if (found.log.empty()) return fail(ErrorCode::corrupt, "the store does not name its log");
  Rows rows = database.rows("SELECT pem FROM receipt_keys ORDER BY n");
  while (rows.next()) {
    const Result<trust::PublicKey> key = trust::PublicKey::from_pem(rows.view(0));
    if (!key) return fail(ErrorCode::corrupt, "a public key in the store cannot be read: " + key.error().message);
    found.keys.push_back(*key);
  }
  return found;
}

Result<LogEnd> load_log_end(Database& database, const LogKeys& keys, std::uint32_t checked) {
  std::vector<Entry> last;  // newest first
  {
    Rows rows = database.rows(
        "SELECT r.seq, r.id, r.payload, r.signature, k.keyid FROM receipts r LEFT JOIN receipt_keys k ON k.n = r.key "
        "ORDER BY r.seq DESC LIMIT ?",
        std::max<std::uint32_t>(checked, 1) + 1);
    while (rows.next()) {
      last.push_back(
          {static_cast<std::uint64_t>(rows.integer(0)), rows.text(1), rows.text(2), rows.text(3), rows.text(4)});
    }
  }
  if (last.empty()) return LogEnd{trust::Chain(keys.log, 0, ""), 0};
  std::ranges::reverse(last);
  std::string prev;
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (i > 0 && last[i].seq != last[i - 1].seq + 1) return damaged(last[i - 1].seq + 1, "is missing");
    const Status sound = check_entry(last[i], prev, i > 0, keys);
    if (!sound) return fail(sound.error());
    prev = trust::digest_text(last[i].payload);
  }
  const std::int64_t latest = database.integer("SELECT latest FROM receipts ORDER BY seq DESC LIMIT 1");
  return LogEnd{trust::Chain(keys.log, last.back().seq + 1, prev), latest};
}

}  // namespace sallyport::gateway
