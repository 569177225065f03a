#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/grants.hpp"
#include "gateway/calls/last_call.hpp"
#include "gateway/calls/people.hpp"
#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::uint32_t kMostListed = 1'000;
constexpr std::size_t kMostInList = 16U << 10;  // bytes of a page in a list; longer ones are there alone
constexpr std::size_t kMostAtOnce = 200;
constexpr std::uint32_t kMostDenials = 200;  // looked at for recent ones
constexpr std::size_t kMostBeside = 5;
constexpr UnixMillis kRecent = 24LL * 3600 * 1000;

// What two asks must have in common to be one group: they differ in arguments (and so in scope and sentence) only.
std::string group_of(const ApprovalRow& row) {
  const auto binding = json::Document::parse(row.binding);
  if (!binding) return row.id;
  std::string text = row.run;
  for (const char* name :
       {"server", "identity", "tool", "definition", "contract", "rules", "asks", "effect", "principal"}) {
    const json::Value member = binding->root().find(name);
    text += "\n" + (member ? std::string(member.raw()) : std::string());
  }
  return trust::digest_text(text).substr(7, 16);
}

// Values of arguments are for the approvers whom one of its asks names (design section 11): operators and auditors see
// what was asked, and an auditor opens values from a receipt, on record.
bool may_see_values(const Person& person, const trust::Approval& approval) {
  if (person.id == kGatewayReader) return true;
  return person.has(Role::approver) && std::ranges::any_of(approval.asks, [&](const ApprovalTerms& terms) {
           return trust::may_answer(person, {.by = terms.by}, {}, {});
         });
}

// The page as this person may see it.
void fill_view(Tx& tx, const Person& person, ApprovalRow& row, const trust::Approval& approval, std::size_t most) {
  if (!may_see_values(person, approval)) return;
  std::string whole = whole_view(tx, row);
  if (whole.size() <= most) row.view = std::move(whole);
}

bj::object entry_of(const Person& person, const ApprovalRow& row, const trust::Approval& approval) {
  bj::object entry = to_json(row, approval);
  if (!may_see_values(person, approval)) entry["withheld"] = true;
  const bool pending = approval.state == trust::ApprovalState::pending;
  const bool voted = std::ranges::any_of(approval.votes, [&](const trust::Vote& vote) { return vote.by == person.id; });
  entry["mayAnswer"] = pending && !voted && trust::may_answer(person, approval);
  entry["group"] = group_of(row);
  return entry;
}

// Beside the page, not part of what is bound: what else this client left open or was refused lately.
bj::object beside_of(Tx& tx, const ApprovalRow& row, UnixMillis now) {
  bj::array denials, unknowns;
  for (const ApprovalRow& other : tx.approvals("denied", kMostDenials)) {
    if (other.principal != row.principal || other.id == row.id || other.updated < now - kRecent) continue;
    auto approval = approval_from(other);
    if (!approval) continue;
    bj::object entry{{"approval", other.id},     {"at", to_utc(approval->ended)},
                     {"by", approval->ended_by}, {"same", other.fingerprint == row.fingerprint},
                     {"server", other.server},   {"tool", visible(other.tool)}};
    if (!approval->reason.empty()) entry["reason"] = visible(approval->reason);
    denials.emplace_back(std::move(entry));
    if (denials.size() == kMostBeside) break;
  }
  OperationFilter filter;
  filter.principal = row.principal;
  filter.states = {OperationState::unknown, OperationState::reconciling};
  filter.limit = kMostBeside;
  for (const OperationRow& open : tx.operations(filter)) unknowns.emplace_back(to_json(open));
  return {{"denials", std::move(denials)}, {"unknowns", std::move(unknowns)}};
}

// The grants that a yes gives beside: one for each rule whose ask it counted for.
Result<std::vector<trust::Grant>> grants_of(Tx& tx, const std::string& wish_json, const ApprovalRow& row,
                                            const trust::Approval& approval, UnixMillis now,
                                            const std::vector<std::string>& ids) {
  boost::system::error_code ec;
  const bj::value view = bj::parse(whole_view(tx, row), ec);
  const auto* offer = ec || !view.is_object() ? nullptr : view.as_object().if_contains("grants");
  if (offer == nullptr) return fail(ErrorCode::forbidden, "this ask offers no grant: approve it once");
  auto params = tx.sealed(row.operation, "params");
  if (!params) return fail(ErrorCode::conflict, "the call that was shown is no longer kept");
  const auto document = json::Document::parse(*params, json::Limits{.bytes = params->size(), .depth = 10'000});
  if (!document) return fail(ErrorCode::corrupt, "the stored call cannot be read");
  auto wish = read_wish(wish_json, offer->as_object(), document->root().find("arguments"), now);
  if (!wish) return fail(wish.error());
  const auto binding = json::Document::parse(row.binding);
  if (!binding) return fail(ErrorCode::corrupt, "the stored binding cannot be read");
  const auto bound = [&](const char* name) {
    const json::Value member = binding->root().find(name);
    return member.is_string() ? member.string() : std::string();
  };
  std::vector<trust::Grant> out;
  for (const bj::value& entry : offer->as_object().at("rules").as_array()) {
    const auto ask = static_cast<std::size_t>(entry.at("ask").to_number<std::int64_t>());
    const auto& counted = approval.votes.back().asks;
    if (std::ranges::find(counted, ask) == counted.end() || out.size() == ids.size()) continue;
    trust::Grant grant;
    grant.id = ids[out.size()];
    grant.rule = entry.at("id").as_string();
    grant.tool = {row.server, row.tool};
    grant.identity = bound("identity");
    grant.definition = bound("definition");
    grant.contract = bound("contract");
    grant.principal = row.principal;
    if (wish->run) grant.run = row.run;
    grant.conditions = wish->conditions;
    grant.meta = wish->meta;
    grant.by = approval.votes.back().by;
    grant.approval = row.id;
    grant.shown = approval.shown;
    grant.created = now;
    grant.expires = wish->run ? now + kLongestRun.count() : wish->until;
    grant.most = wish->uses;
    out.push_back(std::move(grant));
  }
  if (out.empty()) return fail(ErrorCode::forbidden, "your answer counts for no ask that takes a grant");
  return out;
}

bj::object error_json(const Error& error) { return {{"code", to_string(error.code)}, {"message", error.message}}; }

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
  bj::array list;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    list.clear();
    for (ApprovalRow& row : tx.approvals(state, std::min(limit, kMostListed))) {
      auto approval = approval_from(row);
      if (!approval) return fail(approval.error());
      fill_view(tx, person, row, *approval, kMostInList);
      list.emplace_back(entry_of(person, row, *approval));
    }
    return {};
  });
  if (!read) co_return fail(read.error());
  co_return json::canonical(bj::value(bj::object{{"approvals", std::move(list)}}));
}

DeskAnswer People::approval(Person person, std::string id) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  bj::object entry;
  const UnixMillis now = calls_.clock().now();
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    auto row = tx.approval(id);
    if (!row) return fail(ErrorCode::not_found, "there is no approval `" + id + "`");
    auto approval = approval_from(*row);
    if (!approval) return fail(approval.error());
    fill_view(tx, person, *row, *approval, std::string::npos);
    entry = entry_of(person, *row, *approval);
    entry["beside"] = beside_of(tx, *row, now);
    return {};
  });
  if (!read) co_return fail(read.error());
  co_return json::canonical(bj::value(std::move(entry)));
}

Status People::may_settle(const Person& person, const Vote& vote) const {
  if (vote.settle.empty()) return {};
  if (auto allowed = must_have(person, Role::operator_); !allowed) return allowed;
  if (vote.reason.empty()) return fail(ErrorCode::invalid, "say how you know what became of it, with a reason");
  for (const auto& settled : vote.settle) {
    if (settled.outcome != "applied" && settled.outcome != "none")
      return fail(ErrorCode::invalid, "the outcome must be `applied` or `none`");
  }
  return {};
}

DeskAnswer People::vote(Person person, std::string id, Vote vote) {
  if (auto allowed = must_have(person, Role::approver); !allowed) co_return fail(allowed.error());
  if (auto allowed = may_settle(person, vote); !allowed) co_return fail(allowed.error());
  if (!vote.approve && !vote.grant.empty()) co_return fail(ErrorCode::invalid, "a denial gives no grant");
  trust::ApprovalEvent event = trust::event::Voted{person, vote.approve, std::move(vote.shown), vote.reason};
  Beside beside{std::move(vote.grant), {}};
  for (const auto& settled : vote.settle) {
    auto settling = calls_.prepare(settlement_of(person, settled.operation, settled.outcome, vote.reason));
    if (!settling) co_return fail(settling.error());
    beside.settle.push_back(std::move(*settling));
  }
  auto answer = co_await act(person, std::move(id), std::move(event), std::move(beside));
  co_return answer;
}

DeskAnswer People::vote_all(Person person, std::vector<AskShown> asks, bool approve, std::string reason) {
  if (auto allowed = must_have(person, Role::approver); !allowed) co_return fail(allowed.error());
  if (asks.empty() || asks.size() > kMostAtOnce)
    co_return fail(ErrorCode::invalid, fmt::format("answer 1 to {} asks at once", kMostAtOnce));
  bj::array list;
  for (AskShown& ask : asks) {
    trust::ApprovalEvent event = trust::event::Voted{person, approve, std::move(ask.shown), reason};
    auto answer = co_await act(person, ask.id, std::move(event));
    bj::object entry{{"id", visible(ask.id)}};
    if (answer) {
      entry["state"] = bj::parse(*answer).at("state");
    } else {
      entry["error"] = error_json(answer.error());
    }
    list.emplace_back(std::move(entry));
  }
  co_return json::canonical(bj::value(bj::object{{"answered", std::move(list)}}));
}

DeskAnswer People::revoke(Person person, std::string id, std::string reason) {
  if (!person.has(Role::approver) && !person.has(Role::operator_)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role approver nor operator", person.id));
  }
  trust::ApprovalEvent event = trust::event::Revoked{person, std::move(reason)};
  auto answer = co_await act(std::move(person), std::move(id), std::move(event));
  co_return answer;
}

// In one transaction: of two at once the store takes one.
DeskAnswer People::act(Person person, std::string id, trust::ApprovalEvent event, Beside beside) {
  const std::string& wish = beside.grant;
  const UnixMillis now = calls_.time_for(id);
  const trust::ReceiptBody blank = calls_.receipt(trust::ReceiptKind::approval);
  std::vector<std::string> ids;  // of grants; at most one a rule
  for (int i = 0; i < 8 && !wish.empty(); ++i) ids.push_back(calls_.entropy().id("gr", now));
  if (!wish.empty() && calls_.grants().size() >= kMostGrants)
    co_return fail(ErrorCode::limit, "too many grants are in force");
  std::string answer;
  std::vector<trust::Grant> given;
  auto stored = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    given.clear();
    auto row = tx.approval(id);
    if (!row) return fail(ErrorCode::not_found, "there is no approval `" + id + "`");
    auto approval = approval_from(*row);
    if (!approval) return fail(approval.error());
    auto next = trust::apply(*approval, event, now);
    if (!next) return fail(next.error());
    if (!wish.empty()) {
      auto grants = grants_of(tx, wish, *row, *next, now, ids);
      if (!grants) return fail(grants.error());
      given = std::move(*grants);
    }
    for (Calls::Settling& settling : beside.settle) {
      if (auto settled = Calls::settle_in(tx, settling); !settled) return settled;
    }
    update(*row, *next, now);
    if (auto put = tx.put(*row); !put) return put;
    auto appended = tx.append(receipt_about(blank, *row, *next));
    if (!appended) return fail(appended.error());
    bj::array listed;
    for (const trust::Grant& grant : given) {
      if (auto put = put_grant(tx, grant, now); !put) return put;
      auto noted = tx.append(grant_receipt(blank, grant, "granted", grant.by, {}));
      if (!noted) return fail(noted.error());
      listed.emplace_back(to_json(grant, now));
    }
    fill_view(tx, person, *row, *next, std::string::npos);
    bj::object out = to_json(*row, *next);
    if (!listed.empty()) out["grants"] = std::move(listed);
    answer = json::canonical(bj::value(std::move(out)));
    return {};
  });
  if (!stored) co_return fail(stored.error());
  for (const Calls::Settling& settling : beside.settle) calls_.settled(settling);
  for (const trust::Grant& grant : given) calls_.grant_made(grant);
  calls_.approval_changed(id);
  co_return answer;
}

}  // namespace sallyport::gateway::calls
