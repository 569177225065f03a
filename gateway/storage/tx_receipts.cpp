#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gateway/base/log.hpp"
#include "gateway/storage/sqlite_tx.hpp"
#include "schemas/model/effect.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/receipt.hpp"
#include "trust/receipts/redaction.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kColumns =
    "SELECT r.seq, r.id, r.kind, r.operation, r.principal, r.server, r.tool, r.verdict, r.outcome, r.time, "
    "r.signature, "
    "r.payload, k.keyid FROM receipts r JOIN receipt_keys k ON k.n = r.key";

ReceiptRow row_of(const Rows& rows) {
  ReceiptRow row;
  row.seq = static_cast<std::uint64_t>(rows.integer(0));
  row.id = rows.text(1);
  row.kind = rows.text(2);
  row.operation = rows.text(3);
  row.principal = rows.text(4);
  row.server = rows.text(5);
  row.tool = rows.text(6);
  row.verdict = rows.text(7);
  row.outcome = rows.text(8);
  row.time = rows.integer(9);
  trust::Signature signature{};
  const std::string_view stored = rows.view(10);
  std::copy_n(stored.begin(), std::min(stored.size(), signature.size()), signature.begin());
  row.payload = rows.text(11);
  // The envelope is made again from its parts: stored, it would more than double each row.
  row.envelope = trust::envelope_line(row.payload, rows.view(12), signature);
  return row;
}

// The time by which lists find it: the last thing it tells of.
UnixMillis time_of(const trust::TimesRecord& times) {
  for (const UnixMillis time : {times.at, times.concluded, times.decided, times.received}) {
    if (time != 0) return time;
  }
  return 0;
}

}  // namespace

// The last thing before a receipt is made: whatever let a secret through, it does not get into the log.
void SqliteTx::sweep(trust::ReceiptBody& body) const {
  const auto secrets = write_->secrets == nullptr ? nullptr : write_->secrets->all();
  const std::size_t found = trust::sweep(body, secrets ? std::span<const Secret>(*secrets) : std::span<const Secret>());
  if (found > 0) log::warning("receipt.swept", {{"receipt", body.id}, {"places", found}});
}

Result<Appended> SqliteTx::append(trust::ReceiptBody body) {
  if (Status may = writable(); !may) return fail(may.error());
  const UnixMillis now = write_->clock->now();
  if (body.id.empty()) body.id = write_->entropy->id("rc", now);
  if (time_of(body.times) == 0) body.times.at = now;
  sweep(body);
  LogEnd& log = *write_->log;
  const trust::ChainPoint place = log.chain.next();
  const std::string payload = trust::to_payload(body, place);
  const trust::Signature signature = write_->key->sign(trust::pae(payload));
  const UnixMillis time = time_of(body.times);
  const UnixMillis latest = std::max(log.latest, time);
  const std::string_view verdict = body.decision ? to_string(body.decision->verdict) : std::string_view();
  const std::string_view effect = body.effect ? to_string(body.effect->effective.category) : std::string_view();
  const std::string_view outcome = body.outcome ? to_string(body.outcome->value) : std::string_view();
  database_.run(
      "INSERT INTO receipts (seq, id, kind, operation, principal, server, tool, verdict, effect, outcome, time, "
      "latest, "
      "key, signature, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      place.seq, body.id, trust::to_string(body.kind), body.operation, body.principal, body.server_id,
      body.tool.empty() ? body.uri : body.tool, verdict, effect, outcome, time, latest, write_->key_row,
      Blob{trust::bytes_of(signature)}, payload);
  Appended appended{place.seq, std::move(body.id), trust::digest_text(payload)};
  log.chain = trust::Chain(place.log, place.seq + 1, appended.digest);
  log.latest = latest;
  return appended;
}

// The first entry that may have happened at `since` or later: `latest` never falls along seq, so halving finds it.
std::uint64_t SqliteTx::first_since(UnixMillis since) {
  auto low = static_cast<std::uint64_t>(database_.integer("SELECT min(seq) FROM receipts"));
  auto high = static_cast<std::uint64_t>(database_.integer("SELECT max(seq) + 1 FROM receipts"));
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    Rows rows = database_.rows("SELECT latest FROM receipts WHERE seq = ?", middle);
    if (rows.next() && rows.integer(0) < since) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void SqliteTx::each_receipt(const ReceiptFilter& filter, const std::function<bool(const ReceiptRow&)>& each) {
  std::string sql(kColumns);
  sql += " WHERE 1";
  std::vector<std::string> values;
  // `extra` names the condition of a partial index, which SQLite only uses where the query says it too.
  const auto where = [&](std::string_view column, const std::string& value, std::string_view extra) {
    if (value.empty()) return;
    sql += fmt::format(" AND r.{} = ?{}", column, extra);
    values.push_back(value);
  };
  where("operation", filter.operation, " AND r.operation <> ''");
  where("principal", filter.principal, "");
  where("server", filter.server, "");
  where("tool", filter.tool, "");
  where("kind", filter.kind, filter.kind == "call" ? "" : " AND r.kind <> 'call'");
  where("verdict", filter.verdict, filter.verdict == "allow" ? "" : " AND r.verdict <> 'allow'");
  where("effect", filter.effect, filter.effect == "read" ? "" : " AND r.effect NOT IN ('', 'read')");
  where("outcome", filter.outcome, filter.outcome == "unknown" ? " AND r.outcome = 'unknown'" : "");
  std::uint64_t from = filter.from_seq;
  if (filter.since > 0) {
    from = std::max(from, first_since(filter.since));
    // Numbers of our own stand in the text: the values bound are texts.
    sql += fmt::format(" AND r.time >= {}", filter.since);
  }
  if (filter.until > 0) sql += fmt::format(" AND r.time < {}", filter.until);
  if (from > 0) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    sql += fmt::format(" AND r.seq >= {}", std::min(from, kMax));
  }
  sql += fmt::format(" ORDER BY r.seq {} LIMIT {}", filter.newest_first ? "DESC" : "ASC", filter.limit);
  Rows rows = database_.rows(sql, values);
  while (rows.next()) {
    if (!each(row_of(rows))) return;
  }
}

std::vector<ReceiptRow> SqliteTx::receipts(const ReceiptFilter& filter) {
  std::vector<ReceiptRow> found;
  each_receipt(filter, [&](const ReceiptRow& row) {
    found.push_back(row);
    return true;
  });
  return found;
}

std::optional<ReceiptRow> SqliteTx::receipt(std::string_view id) {
  const std::string sql = fmt::format("{} WHERE r.id = ?", kColumns);
  Rows rows = database_.rows(sql, id);
  if (!rows.next()) return std::nullopt;
  return row_of(rows);
}

}  // namespace sallyport::gateway
