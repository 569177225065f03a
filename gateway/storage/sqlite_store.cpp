#include "gateway/storage/sqlite_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "gateway/base/log.hpp"
#include "gateway/storage/log_check.hpp"
#include "gateway/storage/reader.hpp"
#include "gateway/storage/schema.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

// The sealing key and the operations' keys come from store.key, each for its own use.
trust::SealKey seal_key_of(const StateFolder& folder) {
  return trust::hmac_sha256(folder.store_key().reveal(), "sallyport/seal/v1");
}

// One post per group, not per job: waking the loop costs more than running a completion.
std::function<void(std::vector<Job>)> completer(const asio::any_io_executor& loop) {
  return [loop](std::vector<Job> jobs) {
    std::erase_if(jobs, [](const Job& job) { return !job.done; });
    if (jobs.empty()) return;
    asio::post(loop, [jobs = std::move(jobs)]() mutable {
      for (Job& job : jobs) job.done(std::move(job.result));
    });
  };
}

// A job that nobody waits for gives others this long to share its transaction.
constexpr auto kLinger = std::chrono::milliseconds(5);

class Sqlite final : public SqliteStore {
 public:
  struct Parts {
    asio::any_io_executor loop;
    std::string log_id, receipt_key_pem;
    Secret store_key, fingerprint_key;
    Writer::Parts writer;
    Reader::Parts reader;
  };

  explicit Sqlite(Parts parts)
      : loop_(std::move(parts.loop)),
        linger_(loop_),
        log_id_(std::move(parts.log_id)),
        receipt_key_pem_(std::move(parts.receipt_key_pem)),
        store_key_(std::move(parts.store_key)),
        fingerprint_key_(std::move(parts.fingerprint_key)),
        writer_(std::make_unique<Writer>(std::move(parts.writer))),
        reader_(std::make_unique<Reader>(std::move(parts.reader))) {}

  asio::awaitable<Status> commit(Durability durability, std::function<Status(Tx&)> fn) override {
    return submit(*writer_, durability, std::move(fn));
  }

  void post(std::function<Status(Tx&)> fn) override {
    Job job{Durability::crash, std::move(fn), {}, {}};
    if (Status taken = writer_->enqueue(job); !taken) {
      // Nobody waits who could be told, and what it says must not be lost unseen.
      log::error("store.post_refused", {{"reason", taken.error().message}});
      writer_->mark_broken();
      return;
    }
    if (std::exchange(*lingers_, true)) return;
    linger_.expires_after(kLinger);
    linger_.async_wait([this, alive = std::weak_ptr(lingers_)](const boost::system::error_code&) {
      const std::shared_ptr<bool> lingers = alive.lock();
      if (!lingers) return;  // the store has gone, and wrote all that waited
      *lingers = false;
      writer_->flush();
    });
  }

  asio::awaitable<Status> read(std::function<Status(Tx&)> fn) override {
    return submit(*reader_, Durability::crash, std::move(fn));
  }

  [[nodiscard]] bool healthy() const override { return writer_->healthy(); }
  [[nodiscard]] std::string log_id() const override { return log_id_; }

  [[nodiscard]] std::string fingerprint(std::string_view bytes) const override {
    return trust::hex(trust::hmac_sha256(fingerprint_key_.reveal(), bytes));
  }

  [[nodiscard]] std::string operation_key(std::string_view operation) const override {
    const std::string message = fmt::format("operation{}", operation);
    return std::string(trust::bytes_of(trust::hmac_sha256(store_key_.reveal(), message)));
  }

  [[nodiscard]] std::string receipt_key_pem() const override { return receipt_key_pem_; }
  [[nodiscard]] WriterStats stats() const override { return writer_->stats(); }

 private:
  // Not cancelled by cancellation: whoever waits learns what became of the commit.
  template <class Target>
  asio::awaitable<Status> submit(Target& target, Durability durability, std::function<Status(Tx&)> fn) {
    auto initiate = [this, &target, durability, &fn](auto handler) {
      auto executor = asio::get_associated_executor(handler, loop_);
      asio::any_io_executor work = asio::prefer(loop_, asio::execution::outstanding_work.tracked);
      auto done = [handler = std::move(handler), executor, work = std::move(work)](Status status) mutable {
        asio::dispatch(executor, [handler = std::move(handler), status = std::move(status)]() mutable {
          std::move(handler)(std::move(status));
        });
      };
      Job job{durability, std::move(fn), std::move(done), {}};
      if (Status taken = target.enqueue(job); !taken) {
        job.result = std::move(taken);
        asio::post(loop_, [job = std::move(job)]() mutable { job.done(std::move(job.result)); });
      }
    };
    Status status = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Status)>(std::move(initiate),
                                                                                               asio::use_awaitable);
    co_return status;
  }

  asio::any_io_executor loop_;
  asio::steady_timer linger_;
  std::shared_ptr<bool> lingers_ = std::make_shared<bool>(false);  // shared: the timer may end after the store
  std::string log_id_, receipt_key_pem_;
  Secret store_key_, fingerprint_key_;
  std::unique_ptr<Writer> writer_;  // goes last: closing the last connection empties the write-ahead log
  std::unique_ptr<Reader> reader_;
};

constexpr const char* kPragmas =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; "
    "PRAGMA cache_size = -16384; PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864";

// A change of the key that a crash cut short: the store says which one it goes on with.
Status settle_key(StateFolder& folder, Database& database) {
  if (file_exists(folder.file("receipts.key.next"))) {
    const Result<trust::SigningKey> next = folder.next_receipt_key(system_entropy());
    if (!next) return fail(next.error());
    const bool taken = next->keyid() == key_in_force(database);
    if (Status done = taken ? folder.take_next_receipt_key() : Status{}; !done) return done;
  }
  if (!file_exists(folder.file("checkpoint.key.next"))) return {};
  const Result<trust::SigningKey> next = folder.next_checkpoint_key(system_entropy());
  if (!next) return fail(next.error());
  Rows rows = database.rows("SELECT value FROM settings WHERE name = ?", kCheckpointKeySetting);
  const bool taken = rows.next() && rows.view(0) == next->keyid();
  return taken ? folder.take_next_checkpoint_key() : Status{};
}

Result<std::unique_ptr<SqliteStore>> open_parts(const StoreOptions& options, const asio::any_io_executor& loop,
                                                Clock& clock, Entropy& entropy) {
  StateFolder& folder = *options.folder;
  const std::string file = folder.file(kStoreFile);
  Result<DiskReserve> reserve = DiskReserve::take(folder.file("reserve"), options.reserve_bytes);
  if (!reserve) return fail(reserve.error());
  // SQLite would let others read the file, should it ever be copied out of the folder.
  if (Status made = make_private_file(file); !made) return fail(made.error());
  Result<std::unique_ptr<Database>> database = Database::open(file, options.vfs, Database::Mode::read_write);
  if (!database) return fail(database.error());
  Database& db = **database;
  db.execute(kPragmas);
  if (Status migrated = migrate(db); !migrated) return fail(migrated.error());
  if (Status settled = settle_key(folder, db); !settled) return fail(settled.error());
  Result<trust::SigningKey> key = folder.receipt_key();
  if (!key) return fail(key.error());
  const Result<std::int64_t> key_row = enter_key(db, key->public_key());
  if (!key_row) return fail(key_row.error());
  const Result<LogKeys> keys = load_keys(db);
  if (!keys) return fail(keys.error());
  Result<LogEnd> log = load_log_end(db, *keys, options.checked_receipts);
  if (!log) return fail(log.error());
  if (Status synced = sync_folder(folder.path()); !synced) return fail(synced.error());
  Result<std::unique_ptr<Database>> second = Database::open(file, options.vfs, Database::Mode::read_only);
  if (!second) return fail(second.error());
  (*second)->execute("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0");

  const trust::SealKey seal_key = seal_key_of(folder);
  std::string pem = key->public_key().pem();
  Writer::Parts writer{std::move(*database), seal_key, std::move(*key), *key_row,        std::move(*log),
                       std::move(*reserve),  &clock,   &entropy,        options.secrets, options.queue_limit,
                       completer(loop)};
  Reader::Parts reader{std::move(*second), seal_key, options.queue_limit, completer(loop)};
  Sqlite::Parts parts{loop,
                      keys->log,
                      std::move(pem),
                      folder.store_key(),
                      folder.fingerprint_key(),
                      std::move(writer),
                      std::move(reader)};
  return std::make_unique<Sqlite>(std::move(parts));
}

class ReadOnly final : public ReadOnlyStore {
 public:
  ReadOnly(std::unique_ptr<Database> database, LogKeys keys) : database_(std::move(database)), keys_(std::move(keys)) {}

  Status read(const std::function<Status(Tx&)>& fn) override {
    return read_once(*database_, nullptr, [&fn](SqliteTx& tx) { return fn(tx); });
  }
  Status each_receipt(const ReceiptFilter& filter, const std::function<bool(const ReceiptRow&)>& each) override {
    return read_once(*database_, nullptr, [&](SqliteTx& tx) -> Status {
      tx.each_receipt(filter, each);
      return {};
    });
  }
  [[nodiscard]] std::string log_id() const override { return keys_.log; }
  [[nodiscard]] const std::vector<trust::PublicKey>& receipt_keys() const override { return keys_.keys; }

 private:
  std::unique_ptr<Database> database_;
  LogKeys keys_;
};

Result<std::unique_ptr<ReadOnlyStore>> open_reading(const std::string& file, const std::string& vfs,
                                                    Database::Mode mode) {
  Result<std::unique_ptr<Database>> database = Database::open(file, vfs, mode);
  if (!database) return fail(database.error());
  if (Status ours = check_schema(**database); !ours) return fail(ours.error());
  Result<LogKeys> keys = load_keys(**database);
  if (!keys) return fail(keys.error());
  return std::make_unique<ReadOnly>(std::move(*database), std::move(*keys));
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> open_store(const StoreOptions& options, asio::any_io_executor loop, Clock& clock,
                                                Entropy& entropy) {
  if (options.folder == nullptr || !options.folder->owned()) {
    return fail(ErrorCode::internal, "a store is opened for writing only by the owner of its state folder");
  }
  try {
    return open_parts(options, loop, clock, entropy);
  } catch (const DatabaseError& error) {
    return fail_in(fmt::format("`{}`", options.folder->file(kStoreFile)), error.error());
  }
}

Result<std::unique_ptr<ReadOnlyStore>> open_read_only(const std::string& state_folder, const std::string& vfs) {
  const std::string file = fmt::format("{}/{}", state_folder, kStoreFile);
  if (!file_exists(file)) return fail(ErrorCode::not_found, fmt::format("there is no store in `{}`", state_folder));
  try {
    return open_reading(file, vfs, Database::Mode::read_only);
  } catch (const DatabaseError& error) {
    // A copy in a folder that cannot be written: without a write-ahead log beside it, the file alone is all there is.
    if (!file_exists(file + "-wal")) {
      try {
        return open_reading(file, vfs, Database::Mode::immutable);
      } catch (const DatabaseError& again) {
        return fail_in(fmt::format("`{}`", file), again.error());
      }
    }
    return fail_in(fmt::format("`{}`", file), error.error());
  }
}

}  // namespace sallyport::gateway
