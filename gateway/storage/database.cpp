#include "gateway/storage/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <utility>

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMaxCachedStatements = 256;

DatabaseFault fault_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return DatabaseFault::constraint;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return DatabaseFault::busy;
    case SQLITE_FULL:
      return DatabaseFault::full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DatabaseFault::corrupt;
    default:
      return DatabaseFault::io;
  }
}

}  // namespace

DatabaseError::DatabaseError(int code, const std::string& message)
    : std::runtime_error(message), code_(code), fault_(fault_of(code)) {}

Error DatabaseError::error() const {
  switch (fault_) {
    case DatabaseFault::constraint:
      return {ErrorCode::conflict, fmt::format("the store refused the row: {}", what())};
    case DatabaseFault::busy:
      return {ErrorCode::unavailable, "the store is held by another process", ErrorSource::gateway, RetryClass::later};
    case DatabaseFault::full:
      return {ErrorCode::io, "the disk that holds the store is full"};
    case DatabaseFault::corrupt:
      return {ErrorCode::corrupt, fmt::format("the store is damaged: {}", what())};
    case DatabaseFault::io:
      return {ErrorCode::io, fmt::format("the store failed: {}", what())};
  }
  std::abort();
}

Rows::~Rows() {
  if (statement_ == nullptr) return;
  if (in_use_ == nullptr) {
    sqlite3_finalize(statement_);
    return;
  }
  *in_use_ = false;
  sqlite3_reset(statement_);  // repeats the error of the last step, which next() has raised
  sqlite3_clear_bindings(statement_);
}

bool Rows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_->raise(code);
}

std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Rows::view(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(bytes), size);
}

std::string Rows::text(int column) const { return std::string(view(column)); }

void Rows::bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, index, value);
  if (code != SQLITE_OK) database_->raise(code);
}

void Rows::bind(int index, std::string_view value, bool copy) {
  const char* bytes = value.data() == nullptr ? "" : value.data();
  const int code =
      sqlite3_bind_text64(statement_, index, bytes, value.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) database_->raise(code);
}

void Rows::bind(int index, Blob value, bool copy) {
  const char* bytes = value.bytes.data() == nullptr ? "" : value.bytes.data();
  const int code =
      sqlite3_bind_blob64(statement_, index, bytes, value.bytes.size(), copy ? SQLITE_TRANSIENT : SQLITE_STATIC);
  if (code != SQLITE_OK) database_->raise(code);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const std::string& vfs, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  std::string name = path;
  if (mode == Mode::immutable) {
    flags |= SQLITE_OPEN_URI;
    name = "file:";
    for (const char c : path) {
      if (c == '%' || c == '?' || c == '#') {
        name += fmt::format("%{:02x}", static_cast<unsigned char>(c));
      } else {
        name += c;
      }
    }
    name += "?immutable=1";
  }
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (code != SQLITE_OK) {
    const std::string why = handle == nullptr ? "no memory" : sqlite3_errmsg(handle);
    sqlite3_close_v2(handle);
    return fail(ErrorCode::io, fmt::format("cannot open the store `{}`: {}", path, why));
  }
  std::unique_ptr<Database> database(new Database(handle));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_busy_timeout(handle, 2000);
  // Our own hook takes the place of the automatic checkpoint, which would run inside a commit that someone waits for.
  sqlite3_wal_hook(
      handle,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

Database::~Database() {
  for (auto& [sql, cached] : cache_) sqlite3_finalize(cached.statement);
  sqlite3_close_v2(handle_);
}

void Database::raise(int code) const {
  throw DatabaseError(code, fmt::format("{} ({})", sqlite3_errmsg(handle_), code));
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(code);
}

Rows Database::prepared(std::string_view sql) {
  const auto found = cache_.find(sql);
  if (found != cache_.end() && !found->second.in_use) {
    found->second.in_use = true;
    return {found->second.statement, &found->second.in_use, this};
  }
  if (found == cache_.end() && cache_.size() >= kMaxCachedStatements) {
    std::erase_if(cache_, [](const auto& entry) {
      if (entry.second.in_use) return false;
      sqlite3_finalize(entry.second.statement);
      return true;
    });
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) raise(code);
  if (found != cache_.end()) return {statement, nullptr, this};  // a list inside a list: a second copy
  Cached& cached = cache_.emplace(std::string(sql), Cached{statement, true}).first->second;
  return {statement, &cached.in_use, this};
}

Rows Database::rows(std::string_view sql, const std::vector<std::string>& args) {
  Rows rows = prepared(sql);
  int index = 0;
  for (const std::string& arg : args) rows.bind(++index, arg, true);
  return rows;
}

std::int64_t Database::integer(std::string_view sql) {
  Rows found = rows(sql);
  return found.next() ? found.integer(0) : 0;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

bool Database::checkpoint() {
  int in_log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return false;
  if (code != SQLITE_OK) raise(code);
  return in_log == moved;
}

}  // namespace sallyport::gateway
