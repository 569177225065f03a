// Store: the one place where state lives (design section 12): operations, approvals, stops, receipts, revisions, sealed
// bytes.
//
// commit(durability, fn) runs fn(Tx&) on one writer thread and completes on the loop. All waiting fns share one
// transaction, each in a savepoint, so one that fails undoes only itself. fn does no other I/O, touches nothing that
// the loop may touch meanwhile, and may run twice. Free of SQLite's ways: PostgreSQL comes later.
//
// Errors: the fn's own error comes back as it is; ErrorCode::io or corrupt when the store could not commit (nothing of
// fn is kept then). After a failed sync the store is `broken`: every further commit fails at once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/ports/records.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::trust {
struct ReceiptBody;
}

namespace sallyport::gateway {

namespace asio = boost::asio;

enum class Durability : std::uint8_t {
  crash,  // survives a crash of the process
  power,  // survives loss of power (fsync)
};

struct Appended {
  std::uint64_t seq = 0;
  std::string id;      // rc_…
  std::string digest;  // sha256: of the payload bytes
};

// One transaction, on the writer thread. Reads see what earlier fns of the same group wrote.
class Tx {
 public:
  virtual ~Tx() = default;

  // Receipts. Only append knows `seq` and `prev`, and it signs. A body without an id gets one.
  virtual Result<Appended> append(trust::ReceiptBody body) = 0;
  virtual std::vector<ReceiptRow> receipts(const ReceiptFilter& filter) = 0;
  virtual std::optional<ReceiptRow> receipt(std::string_view id) = 0;

  // The log as a whole, for checkpoints and pruning. log_size(): entries ever appended, so the next `seq`.
  virtual std::uint64_t log_size() = 0;
  // Payload bytes from that entry on, in order.
  virtual void payloads(std::uint64_t from, std::uint32_t limit,
                        const std::function<void(std::string_view payload)>& each) = 0;
  virtual std::optional<CheckpointRow> checkpoint(std::uint64_t at_most) = 0;  // the largest of at most that size
  virtual Status put(const CheckpointRow& row) = 0;                            // keeps the newest thousand
  virtual PrunedRow pruned() = 0;
  // The first entry that belongs to an operation that is open or unknown; log_size() if there is none.
  virtual std::uint64_t first_needed() = 0;
  virtual std::uint64_t first_since(UnixMillis since) = 0;  // the first entry that may be of that time or later
  virtual std::uint64_t stored_bytes() = 0;                 // of the store's file, free pages left out
  // Whose key (PEM) the log goes on with, behind the receipt that says so; the store must then be opened again.
  virtual Status next_receipt_key(std::string_view public_pem) = 0;
  // Takes away the entries below `to.size`, and what is over of operations and approvals before `before`.
  virtual Status prune(const PrunedRow& to, UnixMillis before) = 0;

  virtual Status put(const OperationRow& row) = 0;  // insert or replace
  virtual std::optional<OperationRow> operation(std::string_view id) = 0;
  virtual std::vector<OperationRow> operations(const OperationFilter& filter) = 0;

  virtual Status put(const ApprovalRow& row) = 0;
  virtual std::optional<ApprovalRow> approval(std::string_view id) = 0;
  virtual std::vector<ApprovalRow> approvals(std::string_view state, std::uint32_t limit) = 0;  // state empty: any
  virtual std::optional<ApprovalRow> approval_of(std::string_view operation) = 0;               // the newest

  virtual Status put(const GrantRow& row) = 0;
  virtual std::optional<GrantRow> grant(std::string_view id) = 0;
  virtual std::vector<GrantRow> grants(bool open_only, std::uint32_t limit) = 0;  // newest first

  virtual Status put(const StopRow& row) = 0;
  virtual std::vector<StopRow> stops(bool in_force_only) = 0;

  // Our counter of a scope; bump moves it and every scope that overlaps it through the prefix.
  virtual std::uint64_t revision(std::string_view server, std::string_view scope) = 0;
  virtual Status bump_revision(std::string_view server, std::string_view scope) = 0;

  // Sealed with AES-256-GCM under the store's key file: `arguments`, `result`, … of an operation.
  virtual Status put_sealed(std::string_view owner, std::string_view kind, std::string_view bytes) = 0;
  virtual Result<std::string> sealed(std::string_view owner, std::string_view kind) = 0;  // not_found if none
  virtual Status drop_sealed(std::string_view owner, std::string_view kind) = 0;  // kind empty: all of the owner
  // Drops sealed results (24 hours, with a key 7 days) and vault rows (30 days) whose time is over. Now and then, in a
  // commit of its own.
  virtual Status sweep(UnixMillis) { return {}; }

  // Small values: `setting("people")`.
  virtual std::optional<std::string> setting(std::string_view name) = 0;
  virtual Status put_setting(std::string_view name, std::string_view value) = 0;
  virtual Status drop_setting(std::string_view name) = 0;
  // Those whose name begins with `prefix`, in order of the names, behind the one named `after`.
  virtual std::vector<std::pair<std::string, std::string>> settings(std::string_view prefix, std::string_view after,
                                                                    std::uint32_t limit) = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual asio::awaitable<Status> commit(Durability durability, std::function<Status(Tx&)> fn) = 0;
  // Joins the next group without anyone waiting for it; a failure shows in healthy(). For the operation row of a read.
  virtual void post(std::function<Status(Tx&)> fn) = 0;
  // Reads only; may run beside the writer on a snapshot that includes every commit completed before the call.
  virtual asio::awaitable<Status> read(std::function<Status(Tx&)> fn) = 0;
  [[nodiscard]] virtual bool healthy() const = 0;        // false: no further call may be taken
  [[nodiscard]] virtual std::string log_id() const = 0;  // 16 hex digits (design section 6)
  [[nodiscard]] virtual std::string fingerprint(
      std::string_view bytes) const = 0;  // hex HMAC under the store key; any thread
  // A new random key for one operation's argument commitments, derived so that `receipts open` can find it again; any
  // thread.
  [[nodiscard]] virtual std::string operation_key(std::string_view operation) const = 0;
};

}  // namespace sallyport::gateway
