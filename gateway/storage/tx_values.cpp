// Revisions, sealed bytes and settings.
#include <fmt/format.h>

#include "gateway/storage/sqlite_tx.hpp"
#include "trust/receipts/redaction.hpp"

namespace sallyport::gateway {
namespace {

constexpr UnixMillis kDay = 24LL * 60 * 60 * 1000;
constexpr UnixMillis kResultAge = kDay;           // design section 12
constexpr UnixMillis kKeyedResultAge = 7 * kDay;  // as long as an idempotency key (section 14)
constexpr UnixMillis kVaultAge = 30 * kDay;       // section 6

// Calls `each` with every strict prefix of the scope, segment by segment; the empty one is the whole server.
template <class F>
void for_prefixes(std::string_view scope, F each) {
  if (scope.empty()) return;
  each(std::string_view());
  for (std::size_t slash = scope.find('/'); slash != std::string_view::npos; slash = scope.find('/', slash + 1)) {
    each(scope.substr(0, slash));
  }
}

// A sealed row says what it is, so that it cannot be moved to another owner or kind. Lengths keep the parts apart.
std::string seal_place(std::string_view owner, std::string_view kind) {
  return fmt::format("sallyport/sealed/v1\n{}:{}{}:{}", owner.size(), owner, kind.size(), kind);
}

}  // namespace

Status SqliteTx::writable() const {
  if (write_ == nullptr) return fail(ErrorCode::internal, "a transaction that only reads was asked to write");
  return {};
}

// A write in a scope makes every scope stale that overlaps it: itself, those above and those below. Kept are two
// counters per scope; the sum below moves exactly if an overlapping scope was written.
std::uint64_t SqliteTx::revision(std::string_view server, std::string_view scope) {
  std::uint64_t sum = 0;
  {
    Rows rows = database_.rows("SELECT own + below FROM revisions WHERE server = ? AND scope = ?", server, scope);
    if (rows.next()) sum += static_cast<std::uint64_t>(rows.integer(0));
  }
  for_prefixes(scope, [&](std::string_view prefix) {
    Rows rows = database_.rows("SELECT own FROM revisions WHERE server = ? AND scope = ?", server, prefix);
    if (rows.next()) sum += static_cast<std::uint64_t>(rows.integer(0));
  });
  return sum;
}

Status SqliteTx::bump_revision(std::string_view server, std::string_view scope) {
  if (Status may = writable(); !may) return may;
  database_.run(
      "INSERT INTO revisions (server, scope, own, below) VALUES (?, ?, 1, 0) "
      "ON CONFLICT (server, scope) DO UPDATE SET own = own + 1",
      server, scope);
  for_prefixes(scope, [&](std::string_view prefix) {
    database_.run(
        "INSERT INTO revisions (server, scope, own, below) VALUES (?, ?, 0, 1) "
        "ON CONFLICT (server, scope) DO UPDATE SET below = below + 1",
        server, prefix);
  });
  return {};
}

std::string SqliteTx::seal(std::string_view place, std::string_view bytes) {
  trust::Nonce nonce{};
  write_->entropy->fill(nonce);
  return trust::seal(*seal_key_, nonce, bytes, place);
}

std::string SqliteTx::swept(std::string text) const {
  if (write_->secrets != nullptr) write_->secrets->hide(text);
  return trust::looks_secret(text) ? "***" : text;
}

Status SqliteTx::put_sealed(std::string_view owner, std::string_view kind, std::string_view bytes) {
  if (Status may = writable(); !may) return may;
  const std::string closed = seal(seal_place(owner, kind), bytes);
  database_.run(
      "INSERT INTO sealed (owner, kind, created, bytes) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (owner, kind) DO UPDATE SET created = excluded.created, bytes = excluded.bytes",
      owner, kind, write_->clock->now(), Blob{closed});
  return {};
}

Result<std::string> SqliteTx::sealed(std::string_view owner, std::string_view kind) {
  if (seal_key_ == nullptr) return fail(ErrorCode::forbidden, "sealed bytes cannot be read without the store's key");
  Rows rows = database_.rows("SELECT bytes FROM sealed WHERE owner = ? AND kind = ?", owner, kind);
  if (!rows.next()) return fail(ErrorCode::not_found, fmt::format("nothing is kept as `{}` of `{}`", kind, owner));
  return trust::open(*seal_key_, rows.view(0), seal_place(owner, kind));
}

Status SqliteTx::drop_sealed(std::string_view owner, std::string_view kind) {
  if (Status may = writable(); !may) return may;
  if (kind.empty()) {
    database_.run("DELETE FROM sealed WHERE owner = ?", owner);
  } else {
    database_.run("DELETE FROM sealed WHERE owner = ? AND kind = ?", owner, kind);
  }
  return {};
}

Status SqliteTx::sweep(UnixMillis now) {
  if (Status may = writable(); !may) return may;
  // In small pieces: a sweep after a long pause must not hold up the calls of its group.
  database_.run(
      "DELETE FROM sealed WHERE n IN (SELECT s.n FROM sealed s WHERE s.kind = 'result' AND s.created <= ? AND NOT "
      "EXISTS "
      "(SELECT 1 FROM operations o WHERE o.id = s.owner AND o.key <> '' AND s.created > ?) LIMIT 500)",
      now - kResultAge, now - kKeyedResultAge);
  database_.run("DELETE FROM sealed WHERE n IN (SELECT n FROM sealed WHERE kind = 'vault' AND created <= ? LIMIT 500)",
                now - kVaultAge);
  return {};
}

std::optional<std::string> SqliteTx::setting(std::string_view name) {
  Rows rows = database_.rows("SELECT value FROM settings WHERE name = ?", name);
  if (!rows.next()) return std::nullopt;
  return rows.text(0);
}

Status SqliteTx::put_setting(std::string_view name, std::string_view value) {
  if (Status may = writable(); !may) return may;
  database_.run(
      "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name,
      value);
  return {};
}

Status SqliteTx::drop_setting(std::string_view name) {
  if (Status may = writable(); !may) return may;
  database_.run("DELETE FROM settings WHERE name = ?", name);
  return {};
}

std::vector<std::pair<std::string, std::string>> SqliteTx::settings(std::string_view prefix, std::string_view after,
                                                                    std::uint32_t limit) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string_view from = std::max(prefix, after);
  Rows rows = database_.rows("SELECT name, value FROM settings WHERE name >= ? AND name <> ? ORDER BY name LIMIT ?",
                             from, after, static_cast<std::int64_t>(limit));
  while (rows.next()) {
    std::string name = rows.text(0);
    if (!name.starts_with(prefix)) break;  // in order: none of the rest does
    out.emplace_back(std::move(name), rows.text(1));
  }
  return out;
}

}  // namespace sallyport::gateway
