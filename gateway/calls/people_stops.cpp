#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/grants.hpp"
#include "gateway/calls/people.hpp"
#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::uint32_t kMostAsks = 100'000;

bool concerns(const StopRow& stop, const ApprovalRow& ask) {
  if (stop.kind == "principal") return ask.principal == stop.value;
  if (stop.kind == "server") return ask.server == stop.value;
  if (stop.kind == "tool") return ask.server == stop.value && ask.tool == stop.tool;
  return true;
}

// A stop cancels the asks that it concerns (design section 7).
Status cancel_asks(Tx& tx, const StopRow& stop, const trust::ReceiptBody& blank, UnixMillis now,
                   std::vector<std::string>& cancelled) {
  cancelled.clear();
  for (const char* state : {"pending", "approved"}) {
    for (ApprovalRow& row : tx.approvals(state, kMostAsks)) {
      if (!concerns(stop, row)) continue;
      auto approval = approval_from(row);
      if (!approval) return fail(approval.error());
      const trust::ApprovalEvent event =
          approval->state == trust::ApprovalState::pending
              ? trust::ApprovalEvent(trust::event::Cancelled{stop.by, std::string(kStopped) + stop.reason})
              : trust::ApprovalEvent(trust::event::Invalidated{std::string(kStopped) + stop.reason});
      auto ended = trust::apply(*approval, event, now);
      if (!ended) continue;
      update(row, *ended, now);
      cancelled.push_back(row.id);
      if (auto put = tx.put(row); !put) return put;
      trust::ReceiptBody body = receipt_about(blank, row, *ended);
      body.kind = trust::ReceiptKind::approval;
      auto appended = tx.append(std::move(body));
      if (!appended) return fail(appended.error());
    }
  }
  return {};
}

bool concerns(const StopRow& stop, const trust::Grant& grant) {
  if (stop.kind == "principal") return grant.principal == stop.value;
  if (stop.kind == "server") return grant.tool.server == stop.value;
  if (stop.kind == "tool") return grant.tool.server == stop.value && grant.tool.tool == stop.tool;
  return true;
}

// And revokes the grants that it concerns.
Status revoke_grants(Tx& tx, const StopRow& stop, const trust::ReceiptBody& blank, UnixMillis now,
                     std::vector<trust::Grant>& revoked) {
  revoked.clear();
  for (const GrantRow& row : tx.grants(true, kMostGrants)) {
    auto grant = grant_from(tx, row);
    if (!grant) return fail(grant.error());
    if (!concerns(stop, *grant) || !trust::in_force(*grant, now)) continue;
    grant->revoked = now;
    grant->revoked_by = stop.by;
    grant->reason = std::string(kStopped) + stop.reason;
    if (auto put = put_grant(tx, *grant, now); !put) return put;
    auto appended = tx.append(grant_receipt(blank, *grant, "revoked", stop.by, grant->reason));
    if (!appended) return fail(appended.error());
    revoked.push_back(std::move(*grant));
  }
  return {};
}

std::string target_of(const StopRow& stop) {
  if (stop.kind == "all") return "all";
  return stop.tool.empty() ? stop.kind + " " + stop.value : fmt::format("tool {} of {}", stop.tool, stop.value);
}

}  // namespace

DeskAnswer People::stops(Person person) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  std::vector<StopRow> rows;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    rows = tx.stops(false);
    return {};
  });
  if (!read) co_return fail(read.error());
  bj::array list;
  for (const StopRow& row : rows) list.emplace_back(to_json(row));
  co_return json::canonical(bj::value(bj::object{{"stops", std::move(list)}}));
}

DeskAnswer People::stop(Person person, std::string kind, std::string value, std::string tool, std::string reason) {
  if (!person.has(Role::approver) && !person.has(Role::operator_)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role approver nor operator", person.id));
  }
  const bool named = kind == "principal" || kind == "server" || kind == "tool";
  if (kind != "all" && !named)
    co_return fail(ErrorCode::invalid, "a stop is of `all`, `principal`, `server` or `tool`");
  if (named && value.empty()) co_return fail(ErrorCode::invalid, fmt::format("say which {} to stop", kind));
  if (kind == "tool" && tool.empty()) co_return fail(ErrorCode::invalid, "say which tool to stop");
  if (reason.empty()) co_return fail(ErrorCode::invalid, "say why, with a reason");
  const UnixMillis now = calls_.clock().now();
  StopRow row{calls_.entropy().id("st", now),
              std::move(kind),
              std::move(value),
              std::move(tool),
              person.id,
              std::move(reason),
              now,
              0};
  trust::ReceiptBody body = calls_.receipt(trust::ReceiptKind::stop);
  body.event = trust::EventRecord{"stopped", person.id, row.reason, target_of(row), {}, {}, {}};
  const trust::ReceiptBody blank = calls_.receipt(trust::ReceiptKind::approval);
  std::vector<std::string> ended;
  std::vector<trust::Grant> grants;
  auto stored = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    if (auto put = tx.put(row); !put) return put;
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    if (auto revoked = revoke_grants(tx, row, blank, now, grants); !revoked) return revoked;
    return cancel_asks(tx, row, blank, now, ended);
  });
  if (!stored) co_return fail(stored.error());
  for (const trust::Grant& grant : grants) calls_.grant_changed(grant);
  calls_.stop_changed(row);
  for (const std::string& id : ended) calls_.approval_changed(id);
  co_return json::canonical(bj::value(to_json(row)));
}

DeskAnswer People::lift(Person person, std::string id, std::string reason) {
  if (auto allowed = must_have(person, Role::operator_); !allowed) co_return fail(allowed.error());
  const UnixMillis now = calls_.clock().now();
  StopRow lifted;
  auto stored = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    for (StopRow& row : tx.stops(true)) {
      if (row.id != id) continue;
      lifted = row;
      lifted.lifted = now;
      if (auto put = tx.put(lifted); !put) return put;
      trust::ReceiptBody body = calls_.receipt(trust::ReceiptKind::stop);
      body.event = trust::EventRecord{"lifted", person.id, reason, target_of(lifted), {}, {}, {}};
      auto appended = tx.append(std::move(body));
      if (!appended) return fail(appended.error());
      return {};
    }
    return fail(ErrorCode::not_found, "there is no stop `" + id + "` in force");
  });
  if (!stored) co_return fail(stored.error());
  calls_.stop_changed(lifted);
  co_return json::canonical(bj::value(to_json(lifted)));
}

}  // namespace sallyport::gateway::calls
