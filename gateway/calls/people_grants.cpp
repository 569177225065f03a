#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/grants.hpp"
#include "gateway/calls/people.hpp"
#include "schemas/core/canonical.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::uint32_t kMostListed = 1'000;

}  // namespace

DeskAnswer People::grants(Person person, bool all) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  const UnixMillis now = calls_.clock().now();
  bj::array list;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    list.clear();
    for (const GrantRow& row : tx.grants(!all, kMostListed)) {
      auto grant = grant_from(tx, row);
      if (!grant) return fail(grant.error());
      if (all || trust::in_force(*grant, now)) list.emplace_back(to_json(*grant, now));
    }
    return {};
  });
  if (!read) co_return fail(read.error());
  co_return json::canonical(bj::value(bj::object{{"grants", std::move(list)}}));
}

// Taking back only tightens, so every approver may, and every operator; but not whom it serves.
DeskAnswer People::revoke_grant(Person person, std::string id, std::string reason) {
  if (!person.has(Role::approver) && !person.has(Role::operator_)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role approver nor operator", person.id));
  }
  const UnixMillis now = calls_.clock().now();
  const trust::ReceiptBody blank = calls_.receipt(trust::ReceiptKind::approval);
  trust::Grant ended;
  auto stored = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    const auto row = tx.grant(id);
    if (!row) return fail(ErrorCode::not_found, "there is no grant `" + id + "`");
    auto grant = grant_from(tx, *row);
    if (!grant) return fail(grant.error());
    if (!trust::in_force(*grant, now))
      return fail(ErrorCode::conflict, fmt::format("grant {} is {} already", id, trust::state_of(*grant, now)));
    grant->revoked = now;
    grant->revoked_by = person.id;
    grant->reason = reason;
    if (auto put = put_grant(tx, *grant, now); !put) return put;
    auto appended = tx.append(grant_receipt(blank, *grant, "revoked", person.id, reason));
    if (!appended) return fail(appended.error());
    ended = std::move(*grant);
    return {};
  });
  if (!stored) co_return fail(stored.error());
  calls_.grant_changed(ended);
  co_return json::canonical(bj::value(to_json(ended, now)));
}

}  // namespace sallyport::gateway::calls
