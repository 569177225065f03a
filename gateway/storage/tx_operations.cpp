#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "gateway/storage/sqlite_tx.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kColumns =
    "SELECT id, state, unknown, outcome, basis, principal, session, run, server, tool, scope, contract_scope, is_read, "
    "effect, definition, fingerprint, key, approval, attempts, delivered, receipt, summary, reason, created, updated, "
    "sent_key FROM operations";

bool is_open(OperationState state) {
  switch (state) {
    case OperationState::refused:
    case OperationState::applied:
    case OperationState::failed:
    case OperationState::resolved_applied:
    case OperationState::resolved_none:
      return false;
    default:
      return true;
  }
}

OperationRow row_of(const Rows& rows) {
  OperationRow row;
  row.id = rows.text(0);
  const std::optional<OperationState> state = parse_operation_state(rows.view(1));
  const std::int64_t unknown = rows.integer(2);
  const std::int64_t outcome = rows.integer(3);
  if (!state || unknown < 0 || unknown > 2 || outcome < 0 || outcome > 2) {
    throw std::runtime_error(fmt::format("the row of operation `{}` is damaged", row.id));
  }
  row.state = *state;
  row.unknown = static_cast<Unknown>(unknown);
  row.outcome = static_cast<Outcome>(outcome);
  row.basis = rows.text(4);
  row.principal = rows.text(5);
  row.session = rows.text(6);
  row.run = rows.text(7);
  row.server = rows.text(8);
  row.tool = rows.text(9);
  row.scope = rows.text(10);
  row.contract_scope = rows.integer(11) != 0;
  row.is_read = rows.integer(12) != 0;
  row.effect = rows.text(13);
  row.definition = rows.text(14);
  row.fingerprint = rows.text(15);
  row.key = rows.text(16);
  row.approval = rows.text(17);
  row.attempts = static_cast<int>(rows.integer(18));
  row.delivered = rows.integer(19) != 0;
  row.receipt = rows.text(20);
  row.summary = rows.text(21);
  row.reason = rows.text(22);
  row.created = rows.integer(23);
  row.updated = rows.integer(24);
  row.sent_key = rows.text(25);
  return row;
}

}  // namespace

Status SqliteTx::put(const OperationRow& row) {
  if (Status may = writable(); !may) return may;
  if (row.id.empty()) return fail(ErrorCode::invalid, "an operation needs an id");
  database_.run(
      "INSERT INTO operations (id, state, open, unknown, outcome, basis, principal, session, run, server, tool, scope, "
      "contract_scope, is_read, effect, definition, fingerprint, key, approval, attempts, delivered, receipt, summary, "
      "reason, created, updated, sent_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, "
      "?, ?) "
      "ON CONFLICT (id) DO UPDATE SET state = excluded.state, open = excluded.open, unknown = excluded.unknown, "
      "outcome = excluded.outcome, basis = excluded.basis, principal = excluded.principal, session = excluded.session, "
      "run = excluded.run, server = excluded.server, tool = excluded.tool, scope = excluded.scope, "
      "contract_scope = excluded.contract_scope, is_read = excluded.is_read, effect = excluded.effect, "
      "definition = excluded.definition, fingerprint = excluded.fingerprint, key = excluded.key, "
      "approval = excluded.approval, attempts = excluded.attempts, delivered = excluded.delivered, "
      "receipt = excluded.receipt, summary = excluded.summary, reason = excluded.reason, created = excluded.created, "
      "updated = excluded.updated, sent_key = excluded.sent_key",
      row.id, to_string(row.state), is_open(row.state), static_cast<int>(row.unknown), static_cast<int>(row.outcome),
      row.basis, row.principal, row.session, row.run, row.server, row.tool, row.scope, row.contract_scope, row.is_read,
      row.effect, row.definition, row.fingerprint, row.key, row.approval, row.attempts, row.delivered, row.receipt,
      swept(row.summary), swept(row.reason), row.created, row.updated, row.sent_key);
  return {};
}

std::optional<OperationRow> SqliteTx::operation(std::string_view id) {
  static const std::string sql = fmt::format("{} WHERE id = ?", kColumns);
  Rows rows = database_.rows(sql, id);
  if (!rows.next()) return std::nullopt;
  return row_of(rows);
}

std::vector<OperationRow> SqliteTx::operations(const OperationFilter& filter) {
  std::string sql(kColumns);
  sql += " WHERE 1";
  std::vector<std::string> values;
  const auto where = [&](std::string_view column, const std::string& value, std::string_view extra) {
    if (value.empty()) return;
    sql += fmt::format(" AND {} = ?{}", column, extra);
    values.push_back(value);
  };
  where("fingerprint", filter.fingerprint, " AND is_read = 0");
  where("key", filter.key, " AND key <> ''");
  where("principal", filter.principal, "");
  where("server", filter.server, "");
  where("tool", filter.tool, "");
  where("run", filter.run, "");
  if (!filter.states.empty()) {
    std::vector<std::string> names;
    for (const OperationState state : filter.states) names.push_back(fmt::format("'{}'", to_string(state)));
    sql += fmt::format(" AND state IN ({})", fmt::join(names, ", "));
    if (std::ranges::all_of(filter.states, is_open)) sql += " AND open = 1";
  }
  sql += fmt::format(" ORDER BY n DESC LIMIT {}", filter.limit);
  std::vector<OperationRow> found;
  Rows rows = database_.rows(sql, values);
  while (rows.next()) found.push_back(row_of(rows));
  return found;
}

}  // namespace sallyport::gateway
