// Tx on SQLite: one transaction, on the thread that owns the connection. Failures of the database are thrown
// (DatabaseError); the writer or the reader catches them.
//
// Receipts in tx_receipts.cpp, the log as a whole in tx_log.cpp, operations in tx_operations.cpp, approvals and stops
// in tx_approvals.cpp, revisions, sealed bytes and settings in tx_values.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/known_secrets.hpp"
#include "gateway/ports/store.hpp"
#include "gateway/storage/database.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/crypto/seal.hpp"
#include "trust/receipts/envelope.hpp"

namespace sallyport::gateway {

// The end of the log as this transaction sees it. A value: the writer copies it before each fn and puts it back if the
// fn or the group fails.
struct LogEnd {
  trust::Chain chain;
  UnixMillis latest = 0;  // the greatest time in it
};

// What a writing transaction needs beside the connection. Not owned; null for readers.
struct WriteContext {
  LogEnd* log = nullptr;
  trust::SigningKey* key = nullptr;
  std::int64_t key_row = 0;  // of `key` in receipt_keys
  Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  const KnownSecrets* secrets = nullptr;
};

class SqliteTx final : public Tx {
 public:
  // `seal_key` null: sealed rows cannot be read. Everything outlives this object.
  SqliteTx(Database& database, const trust::SealKey* seal_key, const WriteContext* write)
      : database_(database), seal_key_(seal_key), write_(write) {}

  Result<Appended> append(trust::ReceiptBody body) override;
  std::vector<ReceiptRow> receipts(const ReceiptFilter& filter) override;
  std::optional<ReceiptRow> receipt(std::string_view id) override;
  // Row by row, without holding them all: stops when `each` says false.
  void each_receipt(const ReceiptFilter& filter, const std::function<bool(const ReceiptRow&)>& each);

  std::uint64_t log_size() override;
  void payloads(std::uint64_t from, std::uint32_t limit,
                const std::function<void(std::string_view payload)>& each) override;
  std::optional<CheckpointRow> checkpoint(std::uint64_t at_most) override;
  Status put(const CheckpointRow& row) override;
  PrunedRow pruned() override;
  std::uint64_t first_needed() override;
  std::uint64_t first_since(UnixMillis since) override;
  std::uint64_t stored_bytes() override;
  Status next_receipt_key(std::string_view public_pem) override;
  Status prune(const PrunedRow& to, UnixMillis before) override;

  Status put(const OperationRow& row) override;
  std::optional<OperationRow> operation(std::string_view id) override;
  std::vector<OperationRow> operations(const OperationFilter& filter) override;

  Status put(const ApprovalRow& row) override;
  std::optional<ApprovalRow> approval(std::string_view id) override;
  std::vector<ApprovalRow> approvals(std::string_view state, std::uint32_t limit) override;
  std::optional<ApprovalRow> approval_of(std::string_view operation) override;

  Status put(const GrantRow& row) override;
  std::optional<GrantRow> grant(std::string_view id) override;
  std::vector<GrantRow> grants(bool open_only, std::uint32_t limit) override;
  Status put(const StopRow& row) override;
  std::vector<StopRow> stops(bool in_force_only) override;

  std::uint64_t revision(std::string_view server, std::string_view scope) override;
  Status bump_revision(std::string_view server, std::string_view scope) override;

  Status put_sealed(std::string_view owner, std::string_view kind, std::string_view bytes) override;
  Result<std::string> sealed(std::string_view owner, std::string_view kind) override;
  Status drop_sealed(std::string_view owner, std::string_view kind) override;
  Status sweep(UnixMillis now) override;

  std::optional<std::string> setting(std::string_view name) override;
  Status put_setting(std::string_view name, std::string_view value) override;
  Status drop_setting(std::string_view name) override;
  std::vector<std::pair<std::string, std::string>> settings(std::string_view prefix, std::string_view after,
                                                            std::uint32_t limit) override;

 private:
  // Ok in a transaction that may write.
  [[nodiscard]] Status writable() const;
  void sweep(trust::ReceiptBody& body) const;
  // Sealed under the place that says what it is.
  [[nodiscard]] std::string seal(std::string_view place, std::string_view bytes);
  // A text of ours without the secrets of this process.
  [[nodiscard]] std::string swept(std::string text) const;
  [[nodiscard]] ApprovalRow approval_row(const Rows& rows) const;

  Database& database_;
  const trust::SealKey* seal_key_;
  const WriteContext* write_;
};

}  // namespace sallyport::gateway
