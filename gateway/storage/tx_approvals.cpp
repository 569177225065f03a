#include <fmt/format.h>

#include <string_view>

#include "gateway/storage/sqlite_tx.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kColumns =
    "SELECT id, operation, principal, server, tool, state, fingerprint, run, binding, shown, body, view, created, "
    "expires, updated FROM approvals";

std::string view_place(std::string_view id) { return fmt::format("sallyport/approval/v1\n{}", id); }

}  // namespace

// What approvers see holds the arguments: it lies sealed. Without the store's key it is left out.
ApprovalRow SqliteTx::approval_row(const Rows& rows) const {
  std::string view;
  if (seal_key_ != nullptr && !rows.view(11).empty()) {
    Result<std::string> opened = trust::open(*seal_key_, rows.view(11), view_place(rows.view(0)));
    if (!opened) throw std::runtime_error(fmt::format("the row of approval `{}` is damaged", rows.view(0)));
    view = std::move(*opened);
  }
  return {.id = rows.text(0),
          .operation = rows.text(1),
          .principal = rows.text(2),
          .server = rows.text(3),
          .tool = rows.text(4),
          .state = rows.text(5),
          .fingerprint = rows.text(6),
          .run = rows.text(7),
          .binding = rows.text(8),
          .shown = rows.text(9),
          .body = rows.text(10),
          .view = std::move(view),
          .created = rows.integer(12),
          .expires = rows.integer(13),
          .updated = rows.integer(14)};
}

Status SqliteTx::put(const ApprovalRow& row) {
  if (Status may = writable(); !may) return may;
  if (row.id.empty()) return fail(ErrorCode::invalid, "an approval needs an id");
  const std::string view = row.view.empty() ? std::string() : seal(view_place(row.id), row.view);
  database_.run(
      "INSERT INTO approvals (id, operation, principal, server, tool, state, fingerprint, run, binding, shown, body, "
      "view, created, expires, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO "
      "UPDATE "
      "SET operation = excluded.operation, principal = excluded.principal, server = excluded.server, "
      "tool = excluded.tool, state = excluded.state, fingerprint = excluded.fingerprint, run = excluded.run, "
      "binding = excluded.binding, shown = excluded.shown, body = excluded.body, view = excluded.view, "
      "created = excluded.created, expires = excluded.expires, updated = excluded.updated",
      row.id, row.operation, row.principal, row.server, row.tool, row.state, row.fingerprint, row.run, row.binding,
      row.shown, row.body, Blob{view}, row.created, row.expires, row.updated);
  return {};
}

std::optional<ApprovalRow> SqliteTx::approval(std::string_view id) {
  static const std::string sql = fmt::format("{} WHERE id = ?", kColumns);
  Rows rows = database_.rows(sql, id);
  if (!rows.next()) return std::nullopt;
  return approval_row(rows);
}

std::vector<ApprovalRow> SqliteTx::approvals(std::string_view state, std::uint32_t limit) {
  static const std::string of_state = fmt::format("{} WHERE state = ? ORDER BY n DESC LIMIT ?", kColumns);
  static const std::string all = fmt::format("{} ORDER BY n DESC LIMIT ?", kColumns);
  std::vector<ApprovalRow> found;
  Rows rows = state.empty() ? database_.rows(all, limit) : database_.rows(of_state, state, limit);
  while (rows.next()) found.push_back(approval_row(rows));
  return found;
}

std::optional<ApprovalRow> SqliteTx::approval_of(std::string_view operation) {
  static const std::string sql = fmt::format("{} WHERE operation = ? ORDER BY n DESC LIMIT 1", kColumns);
  Rows rows = database_.rows(sql, operation);
  if (!rows.next()) return std::nullopt;
  return approval_row(rows);
}

Status SqliteTx::put(const GrantRow& row) {
  if (Status may = writable(); !may) return may;
  if (row.id.empty()) return fail(ErrorCode::invalid, "a grant needs an id");
  database_.run(
      "INSERT INTO grants (id, open, body) VALUES (?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET open = excluded.open, body = excluded.body",
      row.id, row.open, row.body);
  return {};
}

std::optional<GrantRow> SqliteTx::grant(std::string_view id) {
  Rows rows = database_.rows("SELECT id, open, body FROM grants WHERE id = ?", id);
  if (!rows.next()) return std::nullopt;
  return GrantRow{rows.text(0), rows.integer(1) != 0, rows.text(2)};
}

std::vector<GrantRow> SqliteTx::grants(bool open_only, std::uint32_t limit) {
  std::vector<GrantRow> found;
  Rows rows = open_only
                  ? database_.rows("SELECT id, open, body FROM grants WHERE open = 1 ORDER BY n DESC LIMIT ?", limit)
                  : database_.rows("SELECT id, open, body FROM grants ORDER BY n DESC LIMIT ?", limit);
  while (rows.next()) found.push_back({rows.text(0), rows.integer(1) != 0, rows.text(2)});
  return found;
}

Status SqliteTx::put(const StopRow& row) {
  if (Status may = writable(); !may) return may;
  if (row.id.empty()) return fail(ErrorCode::invalid, "a stop needs an id");
  database_.run(
      "INSERT INTO stops (id, kind, value, tool, by, reason, created, lifted) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, value = excluded.value, tool = excluded.tool, "
      "by = excluded.by, reason = excluded.reason, created = excluded.created, lifted = excluded.lifted",
      row.id, row.kind, row.value, row.tool, row.by, row.reason, row.created, row.lifted);
  return {};
}

std::vector<StopRow> SqliteTx::stops(bool in_force_only) {
  std::vector<StopRow> found;
  Rows rows = database_.rows(
      "SELECT id, kind, value, tool, by, reason, created, lifted FROM stops WHERE lifted = 0 OR NOT ? ORDER BY n DESC",
      in_force_only);
  while (rows.next()) {
    found.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5),
                     rows.integer(6), rows.integer(7)});
  }
  return found;
}

}  // namespace sallyport::gateway
