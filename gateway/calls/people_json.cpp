#include "gateway/calls/people_json.hpp"

#include <boost/json.hpp>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/definition.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

void text(bj::object& out, const char* name, const std::string& value) {
  if (!value.empty()) out[name] = visible(value);
}

void time(bj::object& out, const char* name, UnixMillis value) {
  if (value != 0) out[name] = to_utc(value);
}

// A view or payload of ours; what cannot be read stands as text.
bj::value parsed(const std::string& json) {
  boost::system::error_code ec;
  bj::value value = bj::parse(json, ec);
  return ec ? bj::value(json) : value;
}

bj::object hints_json(const Hints& hints) {
  bj::object out;
  if (hints.read_only) out["readOnlyHint"] = *hints.read_only;
  if (hints.destructive) out["destructiveHint"] = *hints.destructive;
  if (hints.idempotent) out["idempotentHint"] = *hints.idempotent;
  if (hints.open_world) out["openWorldHint"] = *hints.open_world;
  return out;
}

}  // namespace

bj::object to_json(const EffectView& view) {
  bj::array labels;
  for (const auto& label : view.effective.labels) labels.emplace_back(label);
  bj::object effective{{"category", to_string(view.effective.category)},
                       {"destructive", view.effective.destructive},
                       {"labels", std::move(labels)},
                       {"repeat", to_string(view.effective.repeat)}};
  bj::object out{
      {"declared", hints_json(view.declared)}, {"effective", std::move(effective)}, {"source", to_string(view.source)}};
  if (view.assigned) out["assigned"] = to_string(*view.assigned);
  return out;
}

bj::array visible_lines(json::Value value) {
  const std::string text = value ? json::pretty(value) : std::string("{}");
  bj::array lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(visible(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

bj::array differences_json(json::Value before, json::Value after) {
  bj::array out;
  for (const auto& difference : trust::member_diff(before, after)) {
    bj::object entry{{"pointer", difference.pointer}};
    if (difference.before) entry["before"] = *difference.before;
    if (difference.after) entry["after"] = *difference.after;
    out.emplace_back(std::move(entry));
  }
  return out;
}

bj::object to_json(const OperationRow& row) {
  bj::object out{{"attempts", row.attempts},
                 {"id", row.id},
                 {"outcome", to_string(row.outcome)},
                 {"principal", visible(row.principal)},
                 {"state", to_string(row.state)}};
  text(out, "server", row.server);
  text(out, "tool", row.tool);
  text(out, "summary", row.summary);
  text(out, "effect", row.effect);
  text(out, "scope", row.scope);
  text(out, "basis", row.basis);
  text(out, "reason", row.reason);
  text(out, "idempotencyKey", row.key);
  text(out, "approval", row.approval);
  text(out, "receipt", row.receipt);
  text(out, "run", row.run);
  if (row.unknown != Unknown::no) out["unknown"] = row.unknown == Unknown::lost ? "lost" : "answered";
  time(out, "created", row.created);
  time(out, "updated", row.updated);
  return out;
}

bj::object to_json(const ApprovalRow& row, const trust::Approval& approval) {
  bj::array votes;
  for (const trust::Vote& vote : approval.votes) {
    bj::object entry{{"at", to_utc(vote.at)}, {"by", vote.by}, {"vote", vote.approve ? "approve" : "deny"}};
    text(entry, "reason", vote.reason);
    votes.emplace_back(std::move(entry));
  }
  bj::array missing;
  for (const unsigned count : trust::missing_votes(approval)) missing.emplace_back(count);
  bj::object out{{"id", row.id},
                 {"missing", missing},
                 {"operation", row.operation},
                 {"principal", visible(row.principal)},
                 {"server", row.server},
                 {"shown", approval.shown},
                 {"state", row.state},
                 {"tool", visible(row.tool)},
                 {"view", parsed(row.view)},
                 {"votes", votes}};
  text(out, "reason", approval.reason);
  text(out, "endedBy", approval.ended_by);
  time(out, "created", row.created);
  time(out, "expires", row.expires);
  time(out, "ended", approval.ended);
  return out;
}

bj::object to_json(const StopRow& row) {
  bj::object out{{"by", row.by}, {"id", row.id}, {"kind", row.kind}, {"reason", visible(row.reason)}};
  text(out, "value", row.value);
  text(out, "tool", row.tool);
  time(out, "created", row.created);
  time(out, "lifted", row.lifted);
  return out;
}

bj::object to_json(const ReceiptRow& row) {
  return {{"id", row.id},
          {"kind", row.kind},
          {"receipt", parsed(row.payload)},
          {"seq", row.seq},
          {"time", to_utc(row.time)}};
}

}  // namespace sallyport::gateway::calls
