#include "gateway/calls/grants.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "policy/conditions/words.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/approvals/stored.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostShown = 16U << 10;       // bytes of arguments that a person can be said to have read
constexpr std::size_t kMostConditions = 16U << 10;  // bytes
constexpr std::uint64_t kMostUses = 1'000'000;

std::unexpected<Error> invalid(std::string why) { return fail(ErrorCode::invalid, std::move(why)); }

Result<policy::ArgumentConditions> compile(json::Value source) {
  FaultList faults("the grant");
  const policy::CompileContext context{faults, policy::Place::loosening, true};
  auto compiled = policy::ArgumentConditions::compile(source, context);
  if (!compiled)
    return invalid("the conditions of the grant cannot be read: " +
                   (faults.all().empty() ? std::string() : faults.all().front().message));
  return std::move(*compiled);
}

// Exactly the members of the offer, each there: a condition narrows its value, nothing widens the set.
Status check_members(json::Value conditions, const bj::object& offered) {
  for (const json::Member member : conditions.members()) {
    if (!offered.contains(member.name()))
      return invalid(fmt::format("`{}` is no member of the call that was shown", visible(member.name())));
  }
  if (conditions.size() != offered.size())
    return invalid("every member of the arguments that were shown must stand in the grant's conditions");
  return {};
}

}  // namespace

Result<Granted> make_granted(trust::Grant grant) {
  auto document = json::Document::parse(grant.conditions);
  if (!document) return fail(document.error());
  auto compiled = compile(document->root());
  if (!compiled) return fail(compiled.error());
  return Granted{std::move(grant), std::make_shared<const policy::ArgumentConditions>(std::move(*compiled))};
}

std::vector<GrantableRule> grantable_rules(const Judgement& judged) {
  std::vector<GrantableRule> out;
  if (!judged.tool || judged.tool->state != ToolState::pinned || judged.server == nullptr) return {};
  if (judged.server->identity_digest.empty() || !judged.unknowns.empty() || judged.revision || judged.server_revision)
    return {};
  for (const MatchedRule& rule : judged.decision.rules) {
    if (rule.verdict != Verdict::ask) continue;
    const ApprovalTerms terms = rule.approval.value_or(judged.snapshot->policy->approval);
    if (!terms.grants || !trust::weaker_form_allowed(judged.effect.effective, terms)) return {};
    out.push_back({rule.id, terms});
  }
  // An ask that no rule made (the default, an unknown, a changed definition) is answered each time.
  const bool all = std::ranges::all_of(judged.decision.asks, [&](const ApprovalTerms& asked) {
    return std::ranges::find(out, asked, &GrantableRule::terms) != out.end();
  });
  return all ? out : std::vector<GrantableRule>{};
}

bj::object offer_json(const Call& call, const std::vector<ApprovalTerms>& asks) {
  if (call.request.method != Method::tools_call) return {};
  const auto rules = grantable_rules(call.judged);
  const json::Value arguments = call.request.arguments;
  if (rules.empty() || (arguments && arguments.raw().size() > kMostShown) || forwards_more(call.request)) return {};
  bj::array names;
  for (const GrantableRule& rule : rules) {
    const auto ask = std::ranges::find(asks, rule.terms);
    names.emplace_back(bj::object{{"ask", ask - asks.begin()}, {"id", rule.id}});
  }
  bj::object members;
  if (arguments) {
    for (const json::Member member : arguments.members()) {
      // Such a name would mean something else as a condition.
      if (member.name().ends_with('?') || has_hidden(member.name())) return {};
      members[member.name()] = bj::object{};
    }
  }
  bj::object offer{{"arguments", std::move(members)}, {"rules", std::move(names)}};
  bj::array beside;
  for (const std::string& name : forwarded_names(call.request)) {
    if (has_hidden(name)) return {};
    beside.emplace_back(name);
  }
  if (!beside.empty()) offer["meta"] = std::move(beside);
  return offer;
}

Result<GrantWish> read_wish(const std::string& wish_json, const bj::object& offer, json::Value arguments,
                            UnixMillis now) {
  auto document = json::Document::parse(wish_json);
  if (!document || !document->root().is_object()) return invalid("the grant must be a JSON object");
  if (wish_json.size() > kMostConditions) return invalid("the conditions of the grant are too long");
  const json::Value root = document->root();
  GrantWish wish;
  for (const json::Member member : root.members()) {
    const std::string name = member.name();
    if (name == "run" && member.value.is_bool()) {
      wish.run = member.value.boolean();
    } else if (name == "until" && member.value.is_string()) {
      wish.until = from_utc(member.value.string()).value_or(0);
      if (wish.until <= now) return invalid("`until` must be a time to come: 2026-11-30T17:00:00Z");
      if (wish.until > now + kLongestGrant.count()) return invalid("a grant lasts 30 days at most");
    } else if (name == "uses" && member.value.is_number()) {
      const auto uses = member.value.integer().value_or(0);
      if (uses < 1 || static_cast<std::uint64_t>(uses) > kMostUses)
        return invalid("`uses` must be a whole number from 1 to 1000000");
      wish.uses = static_cast<std::uint64_t>(uses);
    } else if (name != "arguments" || !member.value.is_object()) {
      return invalid(fmt::format("`{}` is not known in a grant, or has another type", visible(name)));
    }
  }
  if (wish.run == (wish.until != 0)) return invalid("a grant is either for `run` or `until` a time");
  const bj::object& offered = offer.at("arguments").as_object();
  const json::Value given = root.find("arguments");
  if (!given && !offered.empty()) return invalid("say with `arguments` what each of them may be; `{}` is anything");
  wish.conditions = given ? std::string(given.raw()) : std::string("{}");
  if (const auto* beside = offer.if_contains("meta")) {
    for (const bj::value& name : beside->as_array()) wish.meta.emplace_back(name.as_string());
  }
  auto conditions = json::Document::parse(wish.conditions);
  if (!conditions || conditions->root().ambiguity()) return invalid("the grant's `arguments` can be read in two ways");
  if (auto narrower = check_members(conditions->root(), offered); !narrower) return fail(narrower.error());
  auto compiled = compile(conditions->root());
  if (!compiled) return fail(compiled.error());
  if (compiled->judge(arguments) != policy::Truth::yes)
    return invalid("the conditions of the grant do not hold for the very call that was shown");
  return wish;
}

Status put_grant(Tx& tx, const trust::Grant& grant, UnixMillis now) {
  GrantRow row;
  row.id = grant.id;
  row.open = trust::in_force(grant, now);
  trust::Grant kept = grant;
  kept.conditions.clear();
  row.body = trust::print(kept);
  if (auto put = tx.put(row); !put) return put;
  return row.open ? tx.put_sealed(grant.id, "conditions", grant.conditions) : tx.drop_sealed(grant.id, "conditions");
}

Result<trust::Grant> grant_from(Tx& tx, const GrantRow& row) {
  auto grant = trust::parse_grant(row.body);
  if (!grant) return grant;
  if (auto conditions = tx.sealed(row.id, "conditions")) grant->conditions = std::move(*conditions);
  return grant;
}

Result<trust::ApprovalRecord> spend_grants(Tx& tx, std::vector<trust::Grant>& grants, UnixMillis now) {
  trust::ApprovalRecord record;
  record.form = "grant";
  for (trust::Grant& used : grants) {
    const auto row = tx.grant(used.id);
    if (!row) return fail(ErrorCode::conflict, "the grant is gone");
    auto grant = grant_from(tx, *row);
    if (!grant) return fail(grant.error());
    if (!trust::in_force(*grant, now)) return fail(ErrorCode::conflict, "the grant is no longer in force");
    grant->used += 1;
    if (auto put = put_grant(tx, *grant, now); !put) return fail(put.error());
    used = *grant;
    if (record.id.empty()) {
      record.id = grant->id;
      record.shown = grant->shown;
      record.expires = grant->expires;
    }
    record.votes.push_back({grant->by, "approve", grant->shown, "grant " + grant->id, grant->created});
  }
  return record;
}

trust::ReceiptBody grant_receipt(trust::ReceiptBody blank, const trust::Grant& grant, const std::string& action,
                                 const std::string& by, const std::string& reason) {
  trust::ReceiptBody body = std::move(blank);
  body.kind = trust::ReceiptKind::approval;
  body.principal = grant.principal;
  body.server_id = grant.tool.server;
  body.tool = grant.tool.tool;
  body.definition = grant.definition;
  trust::ApprovalRecord record;
  record.id = grant.id;
  record.form = "grant";
  record.state = action;
  record.shown = grant.shown;
  record.expires = grant.expires;
  record.votes.push_back({grant.by, "approve", grant.shown, {}, grant.created});
  body.approval = std::move(record);
  body.event = trust::EventRecord{action, by, reason, grant.id, {}, {}, {{"rule", grant.rule}}};
  if (!grant.approval.empty()) body.event->details.emplace_back("approval", grant.approval);
  if (!grant.run.empty()) body.event->details.emplace_back("run", grant.run);
  if (grant.most > 0) body.event->details.emplace_back("uses", std::to_string(grant.most));
  return body;
}

bj::object to_json(const trust::Grant& grant, UnixMillis now) {
  bj::object out{{"by", grant.by},
                 {"created", to_utc(grant.created)},
                 {"expires", to_utc(grant.expires)},
                 {"for", grant.run.empty() ? "until" : "run"},
                 {"id", grant.id},
                 {"principal", visible(grant.principal)},
                 {"rule", grant.rule},
                 {"server", grant.tool.server},
                 {"state", trust::state_of(grant, now)},
                 {"tool", visible(grant.tool.tool)},
                 {"used", grant.used}};
  if (grant.most > 0) out["uses"] = grant.most;
  if (!grant.run.empty()) out["run"] = grant.run;
  if (!grant.approval.empty()) out["approval"] = grant.approval;
  if (grant.revoked != 0) out["ended"] = to_utc(grant.revoked);
  if (!grant.revoked_by.empty()) out["endedBy"] = grant.revoked_by;
  if (!grant.reason.empty()) out["reason"] = visible(grant.reason);
  if (auto conditions = json::Document::parse(grant.conditions)) {
    bj::array words;
    for (const std::string& line : policy::in_words(conditions->root())) words.emplace_back(line);
    if (words.empty()) words.emplace_back("the call has no arguments");
    for (const std::string& name : grant.meta)
      words.emplace_back(fmt::format("`_meta` may hold `{}`, with any value", visible(name)));
    out["conditions"] = std::move(words);
  }
  return out;
}

}  // namespace sallyport::gateway::calls
