// One SQLite connection with a cache of prepared statements: the only place that calls SQLite.
//
// Failures of the database are exceptions here (DatabaseError): a statement of ours fails only when the disk, the file
// or the code is broken. Writer and reader catch them and make Errors of them. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schemas/core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace sallyport::gateway {

enum class DatabaseFault : std::uint8_t {
  constraint,  // the statement alone is undone; the transaction goes on
  busy,        // another connection holds the file
  full,        // no space on the disk
  corrupt,     // the file is not what was written
  io,          // anything else that the operating system refused, failed syncs included
};

class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(int code, const std::string& message);
  [[nodiscard]] DatabaseFault fault() const { return fault_; }
  [[nodiscard]] int code() const { return code_; }  // SQLite's extended code
  [[nodiscard]] Error error() const;

 private:
  int code_;
  DatabaseFault fault_;
};

// Bytes bound as a blob (a string_view is bound as text).
struct Blob {
  std::string_view bytes;
};

class Database;

// One use of a cached statement; gives it back when it goes. `while (rows.next()) rows.text(0)…`
class Rows {
 public:
  Rows(Rows&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), in_use_(other.in_use_), database_(other.database_) {}
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  bool next();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;       // of text and blobs
  [[nodiscard]] std::string_view view(int column) const;  // until the next next()

 private:
  friend class Database;
  Rows(sqlite3_stmt* statement, bool* in_use, Database* database)
      : statement_(statement), in_use_(in_use), database_(database) {}
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value, bool copy);
  void bind(int index, Blob value, bool copy);
  template <class T>
  void bind_any(int index, const T& value, bool copy) {
    if constexpr (std::is_same_v<T, Blob>) {
      bind(index, value, copy);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      bind(index, std::string_view(value), copy);
    } else {
      bind(index, static_cast<std::int64_t>(value));
    }
  }

  sqlite3_stmt* statement_;
  bool* in_use_;  // of the cache; null: a second copy, which goes with this object
  Database* database_;
};

class Database {
 public:
  enum class Mode : std::uint8_t { read_write, read_only, immutable };
  // `vfs` empty: SQLite's default.
  static Result<std::unique_ptr<Database>> open(const std::string& path, const std::string& vfs, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);  // any number of statements, not cached

  // A cached statement with these values bound in order; the values are copied.
  template <class... Args>
  [[nodiscard]] Rows rows(std::string_view sql, const Args&... args) {
    Rows rows = prepared(sql);
    int index = 0;
    (rows.bind_any(++index, args, true), ...);
    return rows;
  }
  [[nodiscard]] Rows rows(std::string_view sql, const std::vector<std::string>& args);
  // The same for what gives no rows; nothing is copied.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    Rows rows = prepared(sql);
    int index = 0;
    (rows.bind_any(++index, args, false), ...);
    while (rows.next()) {
    }
  }
  [[nodiscard]] std::int64_t integer(std::string_view sql);  // of the first row's first column; 0 if there is none

  [[nodiscard]] bool in_transaction() const;
  // Called after each commit with the number of pages in the write-ahead log.
  [[nodiscard]] int wal_pages() const { return wal_pages_; }
  // Moves what the write-ahead log holds into the file; true if all of it.
  bool checkpoint();

 private:
  friend class Rows;
  explicit Database(sqlite3* handle) : handle_(handle) {}
  Rows prepared(std::string_view sql);
  [[noreturn]] void raise(int code) const;

  struct Cached {
    sqlite3_stmt* statement = nullptr;
    bool in_use = false;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  sqlite3* handle_;
  std::unordered_map<std::string, Cached, Hash, std::equal_to<>> cache_;
  int wal_pages_ = 0;
};

}  // namespace sallyport::gateway
