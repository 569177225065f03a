// Grants in force: which of them answer a call, and when they are void.
#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/grants.hpp"
#include "policy/rules/policy.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

struct Bound {
  std::string_view identity, definition, contract;
};

Bound bound_of(const Tool& tool, const ServerView& server) {
  return {server.identity_digest, tool.current_digest,
          tool.contract ? std::string_view(tool.contract->digest) : std::string_view()};
}

}  // namespace

// One grant for every rule that asks, or none at all.
std::vector<trust::Grant> Calls::find_grants(const Call& call) const {
  if (grants_.empty() || call.judged.decision.verdict != Verdict::ask) return {};
  if (call.request.method != Method::tools_call || forwards_more(call.request)) return {};
  const std::vector<GrantableRule> rules = grantable_rules(call.judged);
  const Judgement& judged = call.judged;
  const Principal& principal = call.request.client->principal;
  const UnixMillis now = clock_.now();
  std::vector<trust::Grant> out;
  for (const GrantableRule& rule : rules) {
    const Bound bound = bound_of(*judged.tool, *judged.server);
    const trust::GrantUse use{rule.id,        judged.tool->ref, bound.identity, bound.definition,
                              bound.contract, principal.id,     call.row.run,   forwarded_names(call.request)};
    const json::Value schema = judged.tool->input ? judged.tool->input->document().root() : json::Value();
    const auto found = std::ranges::find_if(grants_, [&](const Granted& one) {
      if (!trust::covers(one.grant, use, now)) return false;
      // Whoever gave it must still be one who may.
      const auto giver = std::ranges::find(options_.people, one.grant.by, &Person::id);
      return giver != options_.people.end() && trust::may_answer(*giver, rule.terms, principal.id, principal.owner) &&
             one.conditions->judge(call.request.arguments, schema) == policy::Truth::yes;
    });
    if (found == grants_.end()) return {};
    out.push_back(found->grant);
  }
  return out;
}

void Calls::grant_changed(const trust::Grant& grant) {
  std::erase_if(grants_, [&](const Granted& known) { return known.grant.id == grant.id; });
  if (trust::in_force(grant, clock_.now())) {
    if (auto granted = make_granted(grant)) grants_.push_back(std::move(*granted));
  }
}

void Calls::grant_made(const trust::Grant& grant) {
  grant_changed(grant);
  configuration_changed();  // what waits may be answered by it
}

Status Calls::load_grants(Tx& tx) {
  grants_.clear();
  for (const GrantRow& row : tx.grants(true, kMostGrants)) {
    auto grant = grant_from(tx, row);
    if (!grant) return fail(grant.error());
    auto granted = make_granted(std::move(*grant));
    if (!granted) return fail(granted.error());
    grants_.push_back(std::move(*granted));
  }
  return {};
}

// A grant for another definition, identity or contract than the one in force is void for good, with its receipt; one
// whose time is over is forgotten.
asio::awaitable<void> Calls::void_grants() {
  const UnixMillis now = clock_.now();
  const auto snapshot = snapshots_.current();
  std::vector<trust::Grant> ended;
  for (const Granted& one : grants_) {
    trust::Grant grant = one.grant;
    const auto server = snapshot->servers.find(grant.tool.server);
    const bool listed = server != snapshot->servers.end() && server->second.listed;
    const auto tool = listed ? server->second.tools.find(grant.tool.tool) : decltype(server->second.tools.find("")){};
    if (trust::state_of(grant, now) == "expired") {
      ended.push_back(grant);
    } else if (listed && tool != server->second.tools.end()) {
      const Bound bound = bound_of(*tool->second, server->second);
      const bool same = bound.definition == grant.definition && bound.contract == grant.contract &&
                        bound.identity == grant.identity && tool->second->state == ToolState::pinned;
      if (same) continue;
      grant.revoked = now;
      grant.reason = "the tool is no longer what it was given for";
      ended.push_back(grant);
    }
  }
  for (const trust::Grant& grant : ended) co_await end_grant(grant);
}

asio::awaitable<void> Calls::end_grant(trust::Grant grant) {
  const UnixMillis now = clock_.now();
  const trust::ReceiptBody blank = receipt(trust::ReceiptKind::approval);
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    const auto row = tx.grant(grant.id);
    if (!row || !row->open) return {};
    if (auto put = put_grant(tx, grant, now); !put) return put;
    if (grant.revoked == 0) return {};
    auto appended = tx.append(grant_receipt(blank, grant, "void", {}, grant.reason));
    if (!appended) return fail(appended.error());
    return {};
  });
  if (!stored) log::warning("grant.not_ended", {{"grant", grant.id}, {"reason", stored.error().message}});
  grant_changed(grant);
}

}  // namespace sallyport::gateway::calls
