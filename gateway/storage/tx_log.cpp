// The log as a whole: what checkpoints cover, and what pruning takes away.
#include <fmt/format.h>

#include "gateway/storage/log_check.hpp"
#include "gateway/storage/sqlite_tx.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kPruned = "pruned";  // in meta: size, digest of the last one, edge in hex
constexpr std::uint32_t kKeptCheckpoints = 1000;
constexpr std::uint32_t kAtOnce = 5000;  // old operations and approvals that go with one pruning

}  // namespace

std::uint64_t SqliteTx::log_size() {
  if (write_ != nullptr) return write_->log->chain.next().seq;
  const PrunedRow before = pruned();
  const auto next = static_cast<std::uint64_t>(database_.integer("SELECT max(seq) + 1 FROM receipts"));
  return std::max(before.size, next);
}

void SqliteTx::payloads(std::uint64_t from, std::uint32_t limit,
                        const std::function<void(std::string_view payload)>& each) {
  Rows rows = database_.rows("SELECT payload FROM receipts WHERE seq >= ? ORDER BY seq LIMIT ?", from, limit);
  while (rows.next()) each(rows.view(0));
}

std::optional<CheckpointRow> SqliteTx::checkpoint(std::uint64_t at_most) {
  Rows rows = database_.rows(
      "SELECT size, edge, note, time FROM checkpoints WHERE size <= ? ORDER BY size DESC LIMIT 1", at_most);
  if (!rows.next()) return std::nullopt;
  return CheckpointRow{static_cast<std::uint64_t>(rows.integer(0)), rows.text(1), rows.text(2), rows.integer(3)};
}

Status SqliteTx::put(const CheckpointRow& row) {
  if (Status may = writable(); !may) return may;
  database_.run("INSERT OR REPLACE INTO checkpoints (size, edge, note, time) VALUES (?, ?, ?, ?)", row.size,
                Blob{row.edge}, row.note, row.time);
  database_.run(
      "DELETE FROM checkpoints WHERE size <= (SELECT size FROM checkpoints ORDER BY size DESC LIMIT 1 OFFSET ?)",
      kKeptCheckpoints);
  return {};
}

PrunedRow SqliteTx::pruned() {
  Rows rows = database_.rows("SELECT value FROM meta WHERE name = ?", kPruned);
  if (!rows.next()) return {};
  const std::string_view text = rows.view(0);
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  std::optional<std::string> edge;
  if (second != std::string_view::npos) edge = from_hex(text.substr(second + 1));
  if (!edge) throw std::runtime_error("the store does not say what was pruned");
  PrunedRow row;
  row.size = std::stoull(std::string(text.substr(0, first)));
  row.prev = text.substr(first + 1, second - first - 1);
  row.edge = std::move(*edge);
  return row;
}

std::uint64_t SqliteTx::first_needed() {
  Rows rows = database_.rows(
      "SELECT min(r.seq) FROM operations o JOIN receipts r ON r.operation = o.id AND r.operation <> '' WHERE o.open = "
      "1");
  const std::uint64_t end = log_size();
  if (!rows.next() || rows.view(0).empty()) return end;
  return std::min(end, static_cast<std::uint64_t>(rows.integer(0)));
}

std::uint64_t SqliteTx::stored_bytes() {
  const std::int64_t pages = database_.integer("PRAGMA page_count") - database_.integer("PRAGMA freelist_count");
  return static_cast<std::uint64_t>(pages * database_.integer("PRAGMA page_size"));
}

Status SqliteTx::next_receipt_key(std::string_view public_pem) {
  if (Status may = writable(); !may) return may;
  const Result<trust::PublicKey> key = trust::PublicKey::from_pem(public_pem);
  if (!key) return fail(key.error());
  put_key_in_force(database_, *key);
  return {};
}

Status SqliteTx::prune(const PrunedRow& to, UnixMillis before) {
  if (Status may = writable(); !may) return may;
  database_.run("DELETE FROM receipts WHERE seq < ?", to.size);
  // The newest checkpoint stays in any case: the tree goes on from it.
  database_.run("DELETE FROM checkpoints WHERE size < ? AND size < (SELECT max(size) FROM checkpoints)", to.size);
  database_.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", kPruned,
                fmt::format("{} {} {}", to.size, to.prev, to_hex(to.edge)));
  // In the order of their numbers, which is about that of time; whatever is open, and its approvals, stay.
  database_.run(
      "DELETE FROM operations WHERE n IN (SELECT n FROM operations WHERE open = 0 AND updated < ? ORDER BY n LIMIT ?)",
      before, kAtOnce);
  database_.run(
      "DELETE FROM approvals WHERE n IN (SELECT a.n FROM approvals a WHERE a.updated < ? AND NOT EXISTS "
      "(SELECT 1 FROM operations o WHERE o.id = a.operation) ORDER BY a.n LIMIT ?)",
      before, kAtOnce);
  return {};
}

}  // namespace sallyport::gateway
