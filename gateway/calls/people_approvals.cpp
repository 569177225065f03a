#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/people.hpp"
#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::uint32_t kMostListed = 1'000;

}  // namespace

Status may_read(const Person& person) {
  if (person.has(Role::approver) || person.has(Role::operator_) || person.has(Role::auditor)) return {};
  return fail(ErrorCode::forbidden,
              fmt::format("`{}` may not read this: it takes the role approver, operator or auditor", person.id));
}

Status must_have(const Person& person, Role role) {
  if (person.has(role)) return {};
  const char* name = role == Role::approver    ? "approver"
                     : role == Role::operator_ ? "operator"
                     : role == Role::auditor   ? "auditor"
                                               : "watcher";
  return fail(ErrorCode::forbidden, fmt::format("`{}` does not have the role {}", person.id, name));
}

DeskAnswer People::approvals(Person person, std::string state, std::uint32_t limit) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  std::vector<ApprovalRow> rows;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    rows = tx.approvals(state, std::min(limit, kMostListed));
    return {};
  });
  if (!read) co_return fail(read.error());
  bj::array list;
  for (const ApprovalRow& row : rows) {
    auto approval = approval_from(row);
    if (!approval) co_return fail(approval.error());
    bj::object entry = to_json(row, *approval);
    entry["mayAnswer"] = approval->state == trust::ApprovalState::pending && trust::may_answer(person, *approval);
    list.emplace_back(std::move(entry));
  }
  co_return json::canonical(bj::value(bj::object{{"approvals", std::move(list)}}));
}

DeskAnswer People::approval(Person person, std::string id) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  std::optional<ApprovalRow> row;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    row = tx.approval(id);
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!row) co_return fail(ErrorCode::not_found, "there is no approval `" + id + "`");
  auto approval = approval_from(*row);
  if (!approval) co_return fail(approval.error());
  bj::object entry = to_json(*row, *approval);
  entry["mayAnswer"] = approval->state == trust::ApprovalState::pending && trust::may_answer(person, *approval);
  co_return json::canonical(bj::value(std::move(entry)));
}

DeskAnswer People::vote(Person person, std::string id, bool approve, std::string shown, std::string reason) {
  if (auto allowed = must_have(person, Role::approver); !allowed) co_return fail(allowed.error());
  trust::ApprovalEvent event = trust::event::Voted{std::move(person), approve, std::move(shown), std::move(reason)};
  const Person voter = std::get<trust::event::Voted>(event).person;
  auto answer = co_await act(voter, std::move(id), std::move(event));
  co_return answer;
}

DeskAnswer People::revoke(Person person, std::string id, std::string reason) {
  if (!person.has(Role::approver) && !person.has(Role::operator_)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role approver nor operator", person.id));
  }
  trust::ApprovalEvent event = trust::event::Revoked{person, std::move(reason)};
  auto answer = co_await act(std::move(person), std::move(id), std::move(event));
  co_return answer;
}

// One step of the state machine, with its receipt, in one transaction: of two at once the store takes one.
DeskAnswer People::act(Person person, std::string id, trust::ApprovalEvent event) {
  const UnixMillis now = calls_.clock().now();
  const trust::ReceiptBody blank = calls_.receipt(trust::ReceiptKind::approval);
  std::string answer;
  auto stored = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    auto row = tx.approval(id);
    if (!row) return fail(ErrorCode::not_found, "there is no approval `" + id + "`");
    auto approval = approval_from(*row);
    if (!approval) return fail(approval.error());
    auto next = trust::apply(*approval, event, now);
    if (!next) return fail(next.error());
    update(*row, *next, now);
    if (auto put = tx.put(*row); !put) return put;
    trust::ReceiptBody body = blank;
    body.operation = row->operation;
    body.principal = row->principal;
    body.server_id = row->server;
    body.tool = row->tool;
    body.approval = record_of(*next);
    auto appended = tx.append(std::move(body));
    if (!appended) return fail(appended.error());
    answer = json::canonical(bj::value(to_json(*row, *next)));
    return {};
  });
  if (!stored) co_return fail(stored.error());
  calls_.approval_changed(id);
  co_return answer;
}

}  // namespace sallyport::gateway::calls
