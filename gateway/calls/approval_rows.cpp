#include "gateway/calls/approval_rows.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "gateway/calls/grants.hpp"
#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/approvals/stored.hpp"
#include "trust/servers/contract.hpp"
#include "trust/servers/scope.hpp"

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

bj::array rules_json(const Decision& decision) {
  bj::array rules;
  for (const MatchedRule& rule : decision.rules) {
    bj::object entry{{"id", rule.id}, {"verdict", to_string(rule.verdict)}};
    if (!rule.message.empty()) entry["message"] = visible(rule.message);
    rules.emplace_back(std::move(entry));
  }
  return rules;
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
}

std::string view_of(const Call& call, const trust::Approval& approval, std::span<const OperationRow> unknowns,
                    const LastCall& last, std::string salt) {
  const Judgement& judged = call.judged;
  const ClientContext& client = *call.request.client;
  bj::array asks;
  for (const auto& terms : approval.asks) asks.emplace_back(terms_json(terms));
  bj::object view{{"approval", approval.id},
                  {"arguments", visible_lines(call.request.arguments)},
                  {"asks", asks},
                  {"created", to_utc(approval.created)},
                  {"definition", to_string(judged.tool->state)},
                  {"effect", to_json(judged.effect)},
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
  if (judged.tool->contract && !judged.tool->contract->says.empty()) {
    view["says"] = call.row.summary;
    view["heading"] = trust::says_heading(judged.tool->contract->says);
  }
  if (!judged.server->identity_digest.empty()) view["identity"] = judged.server->identity_digest;
  if (!judged.key.empty()) view["idempotencyKey"] = judged.key;
  if (!client.claimed_name.empty()) view["claimed"] = visible(client.claimed_name + " " + client.claimed_version);
  if (judged.tool->state == ToolState::drifted)
    view["changed"] = differences_json(judged.tool->definition->root(), judged.tool->current->root());
  if (auto open = unknowns_json(call, unknowns); !open.empty()) view["unknowns"] = std::move(open);
  if (!last.operation.empty()) {
    view["last"] = bj::object{{"at", to_utc(last.at)}, {"operation", last.operation}};
    const auto before = json::Document::parse(last.arguments, {.bytes = last.arguments.size(), .depth = 10'000});
    const auto none = json::Document::parse("{}");
    const json::Value now = call.request.arguments ? call.request.arguments : none->root();
    if (before) view["difference"] = differences_json(before->root(), now);
  }
  if (auto offer = offer_json(call, approval.asks); !offer.empty()) view["grants"] = std::move(offer);
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

trust::ReceiptBody receipt_about(trust::ReceiptBody blank, const ApprovalRow& row, const trust::Approval& approval) {
  blank.operation = row.operation;
  blank.principal = row.principal;
  blank.server_id = row.server;
  blank.tool = row.tool;
  blank.approval = record_of(approval);
  return blank;
}

}  // namespace sallyport::gateway::calls
