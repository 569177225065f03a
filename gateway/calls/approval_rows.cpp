#include "gateway/calls/approval_rows.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/approvals/stored.hpp"
#include "trust/definitions/definition.hpp"

namespace sallyport::gateway::calls {
namespace {

namespace bj = boost::json;

bj::object terms_json(const ApprovalTerms& terms) {
  bj::array by;
  for (const auto& who : terms.by) by.emplace_back(who);
  return {{"by", by},
          {"expires", terms.expires.count()},
          {"grants", terms.grants},
          {"notOwner", terms.not_owner},
          {"quorum", terms.quorum},
          {"revision", terms.revision},
          {"sessionUser", terms.session_user}};
}

bj::object hints_json(const Hints& hints) {
  bj::object out;
  if (hints.read_only) out["readOnlyHint"] = *hints.read_only;
  if (hints.destructive) out["destructiveHint"] = *hints.destructive;
  if (hints.idempotent) out["idempotentHint"] = *hints.idempotent;
  if (hints.open_world) out["openWorldHint"] = *hints.open_world;
  return out;
}

bj::object effect_json(const EffectView& view) {
  bj::array labels;
  for (const auto& label : view.effective.labels) labels.emplace_back(label);
  bj::object effective{{"category", to_string(view.effective.category)},
                       {"destructive", view.effective.destructive},
                       {"labels", labels},
                       {"repeat", to_string(view.effective.repeat)}};
  bj::object out{{"declared", hints_json(view.declared)}, {"effective", effective}, {"source", to_string(view.source)}};
  if (view.assigned) out["assigned"] = to_string(*view.assigned);
  return out;
}

bj::array rules_json(const Decision& decision) {
  bj::array rules;
  for (const MatchedRule& rule : decision.rules) {
    bj::object entry{{"id", rule.id}, {"verdict", to_string(rule.verdict)}};
    if (!rule.message.empty()) entry["message"] = visible(rule.message);
    rules.emplace_back(std::move(entry));
  }
  return rules;
}

bj::array drift_json(const Tool& tool) {
  bj::array out;
  if (tool.state != ToolState::drifted) return out;
  for (const auto& difference : trust::member_diff(tool.definition->root(), tool.current->root())) {
    bj::object entry{{"pointer", difference.pointer}};
    if (difference.before) entry["before"] = *difference.before;
    if (difference.after) entry["after"] = *difference.after;
    out.emplace_back(std::move(entry));
  }
  return out;
}

bj::array unknowns_json(const Call& call, std::span<const OperationRow> unknowns) {
  bj::array out;
  for (const auto& id : call.judged.unknowns) {
    const auto row = std::ranges::find(unknowns, id, &OperationRow::id);
    if (row == unknowns.end()) continue;
    out.emplace_back(
        bj::object{{"operation", row->id}, {"summary", visible(row->summary)}, {"created", to_utc(row->created)}});
  }
  return out;
}

// What of the client's goes to the server beside name and arguments.
bj::object forwarded_json(const Request& request) {
  bj::object out;
  for (const json::Member member : request.params.members()) {
    if (request.made) break;  // all of it is shown as the arguments
    if (member.key.equals("name") || member.key.equals("arguments") || member.key.equals("_meta") ||
        member.key.equals("task"))
      continue;
    out[visible(member.name())] = visible(member.value.raw());
  }
  if (const std::string meta = forwarded_meta(request); !meta.empty()) out["_meta"] = visible("{" + meta + "}");
  return out;
}

std::string state_name(ToolState state) {
  switch (state) {
    case ToolState::unpinned:
      return "not accepted";
    case ToolState::pinned:
      return "accepted";
    case ToolState::drifted:
      return "changed";
    case ToolState::quarantined:
      return "quarantined";
  }
  return "";
}

// Nobody has to decide any more: what the client sent is kept no longer than that.
std::string without_arguments(const std::string& view) {
  boost::system::error_code ec;
  bj::value parsed = bj::parse(view, ec);
  if (ec || !parsed.is_object()) return view;
  parsed.as_object().erase("arguments");
  parsed.as_object().erase("forwarded");
  return json::canonical(parsed);
}

}  // namespace

Result<trust::Approval> approval_from(const ApprovalRow& row) {
  auto approval = trust::parse_approval(row.body);
  if (!approval)
    return fail(ErrorCode::corrupt, "the stored approval `" + row.id + "` cannot be read: " + approval.error().message);
  return approval;
}

void update(ApprovalRow& row, const trust::Approval& approval, UnixMillis now) {
  row.state = trust::to_string(approval.state);
  row.expires = approval.expires;
  row.body = trust::print(approval);
  row.updated = now;
  if (trust::is_final(approval.state)) row.view = without_arguments(row.view);
}

std::string view_of(const Call& call, const trust::Approval& approval, std::span<const OperationRow> unknowns,
                    std::string salt) {
  const Judgement& judged = call.judged;
  const ClientContext& client = *call.request.client;
  bj::array asks;
  for (const auto& terms : approval.asks) asks.emplace_back(terms_json(terms));
  const std::string arguments = call.request.arguments ? json::pretty(call.request.arguments) : std::string("{}");
  bj::array lines;  // one text a line: line breaks are the gateway's, everything else of the client is made visible
  for (std::size_t begin = 0; begin <= arguments.size();) {
    const std::size_t end = std::min(arguments.find('\n', begin), arguments.size());
    lines.emplace_back(visible(std::string_view(arguments).substr(begin, end - begin)));
    begin = end + 1;
  }
  bj::object view{{"approval", approval.id},
                  {"arguments", lines},
                  {"asks", asks},
                  {"created", to_utc(approval.created)},
                  {"definition", state_name(judged.tool->state)},
                  {"effect", effect_json(judged.effect)},
                  {"expires", to_utc(approval.expires)},
                  {"operation", approval.operation},
                  {"principal", visible(approval.requester)},
                  {"rules", rules_json(judged.decision)},
                  {"salt", std::move(salt)},
                  {"scope", visible(judged.scope.name())},
                  {"server", judged.tool->ref.server},
                  {"tool", visible(judged.tool->ref.tool)}};
  if (call.request.method != Method::tools_call) {
    view["method"] = to_string(call.request.method);
    if (!call.request.uri.empty()) view["tool"] = visible(call.request.uri);
  }
  if (auto beside = forwarded_json(call.request); !beside.empty()) view["forwarded"] = std::move(beside);
  if (judged.tool->contract && !judged.tool->contract->says.empty()) view["says"] = call.row.summary;
  if (!judged.server->identity_digest.empty()) view["identity"] = judged.server->identity_digest;
  if (!judged.key.empty()) view["idempotencyKey"] = judged.key;
  if (!client.claimed_name.empty()) view["claimed"] = visible(client.claimed_name + " " + client.claimed_version);
  if (auto changed = drift_json(*judged.tool); !changed.empty()) view["changed"] = std::move(changed);
  if (auto open = unknowns_json(call, unknowns); !open.empty()) view["unknowns"] = std::move(open);
  return json::canonical(bj::value(std::move(view)));
}

trust::ApprovalRecord record_of(const trust::Approval& approval) {
  trust::ApprovalRecord record;
  record.id = approval.id;
  record.state = trust::to_string(approval.state);
  record.shown = approval.shown;
  record.expires = approval.expires;
  for (const trust::Vote& vote : approval.votes) {
    record.votes.push_back({vote.by, vote.approve ? "approve" : "deny", vote.seen, vote.reason, vote.at});
  }
  return record;
}

}  // namespace sallyport::gateway::calls
