#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/render.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

std::string tool_of(const bj::object& row) {
  const std::string server = text(row, "server");
  const std::string tool = text(row, "tool");
  return tool.empty() ? server : server + "/" + tool;
}

// `lost` blocks what overlaps, `answered` does not: people must see which it is.
std::string outcome_of(const bj::object& operation) {
  const std::string unknown = text(operation, "unknown");
  return text(operation, "outcome") + (unknown.empty() ? "" : " (" + unknown + ")");
}

const bj::object& predicate_of(const bj::object& row) { return child(child(row, "receipt"), "predicate"); }

std::string target_of(const bj::object& predicate) {
  const std::string server = text(child(predicate, "server"), "id");
  const std::string tool = text(predicate, "tool").empty() ? text(predicate, "uri") : text(predicate, "tool");
  if (server.empty()) return text(child(predicate, "event"), "target");
  return tool.empty() ? server : server + "/" + tool;
}

// What this receipt says, in a few words.
std::string gist(const bj::object& predicate) {
  std::string out = text(child(predicate, "decision"), "verdict");
  const auto add = [&out](const std::string& more) {
    if (!more.empty()) out += (out.empty() ? "" : ", ") + more;
  };
  for (const bj::value& reason : list(child(predicate, "decision"), "reasons")) {
    if (const auto* one = reason.if_object()) add(text(*one, "code"));
  }
  const bj::object& approval = child(predicate, "approval");
  if (!approval.empty()) add(text(approval, "state").empty() ? "by approval" : text(approval, "state"));
  for (const bj::value& vote : list(approval, "votes")) {
    if (const auto* one = vote.if_object()) add(text(*one, "vote") + " by " + text(*one, "by"));
  }
  const bj::object& outcome = child(predicate, "outcome");
  if (!outcome.empty()) add("outcome " + text(outcome, "value") + " (" + text(outcome, "basis") + ")");
  const bj::object& event = child(predicate, "event");
  if (!event.empty()) {
    const std::string by = text(event, "by");
    const std::string reason = text(event, "reason");
    add(text(event, "action") + (by.empty() ? "" : " by " + by) + (reason.empty() ? "" : ": " + reason));
  }
  if (const std::string count = text(predicate, "count"); !count.empty()) add(count + " times");
  return out;
}

// Members and sub-members, one a line, as `a.b`; the depth of a receipt is bounded by its form.
void flatten(Page& page, const bj::object& object, const std::string& prefix, unsigned depth) {
  for (const auto& member : object) {
    const std::string name = prefix + std::string(member.key());
    const auto* inner = member.value().if_object();
    if (inner != nullptr && depth < 6)
      flatten(page, *inner, name + ".", depth + 1);
    else
      page.row(name, shown(member.value()));
  }
}

}  // namespace

std::string render_operations(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(*root, "operations")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    rows.push_back({text(*one, "id"), text(*one, "created"), text(*one, "state"), outcome_of(*one),
                    text(*one, "principal"), tool_of(*one), text(*one, "scope")});
  }
  if (rows.empty()) return "nothing\n";
  return render_table({"ID", "CREATED", "STATE", "OUTCOME", "FROM", "TOOL", "SCOPE"}, rows);
}

std::string render_operation(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  const bj::object& one = *root;
  Page page;
  page.heading(fmt::format("operation {}  {}", text(one, "id"), text(one, "state")));
  page.row("does", text(one, "summary"));
  page.row("tool", tool_of(one));
  page.row("from", text(one, "principal"));
  page.row("effect", text(one, "effect"));
  page.row("scope", text(one, "scope"));
  const std::string basis = text(one, "basis");
  page.row("outcome", outcome_of(one) + (basis.empty() ? "" : ", because: " + basis));
  page.row("reason", text(one, "reason"));
  page.row("key", text(one, "idempotencyKey"));
  page.row("attempts", text(one, "attempts"));
  page.row("run", text(one, "run"));
  page.row("approval", text(one, "approval"));
  page.row("created", text(one, "created"));
  page.row("updated", text(one, "updated"));
  page.others(one, {"approval", "attempts",  "basis",   "created", "effect",   "id",     "idempotencyKey",
                    "outcome",  "principal", "reason",  "receipt", "receipts", "run",    "scope",
                    "server",   "state",     "summary", "tool",    "unknown",  "updated"});
  if (list(one, "receipts").empty()) page.row("receipt", text(one, "receipt"));
  std::string out = page.take();
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(one, "receipts")) {
    const auto* receipt = value.if_object();
    if (receipt == nullptr) continue;
    rows.push_back(
        {"  " + text(*receipt, "time"), text(*receipt, "kind"), text(*receipt, "id"), gist(predicate_of(*receipt))});
  }
  if (!rows.empty()) out += "\n" + render_table({"  TIME", "KIND", "RECEIPT", "SAYS"}, rows);
  if (text(one, "state") == "unknown") {
    out += "\nWhat became of it is not known. Look, then say so: sallyport operations resolve " + text(one, "id") +
           " applied|none --reason \"how you know\"\n";
  }
  return out;
}

std::string render_receipts(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(*root, "receipts")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const bj::object& predicate = predicate_of(*one);
    rows.push_back({text(*one, "seq"), text(*one, "time"), text(*one, "kind"), text(predicate, "principal"),
                    target_of(predicate), text(*one, "id"), gist(predicate)});
  }
  if (rows.empty()) return "nothing\n";
  return render_table({"SEQ", "TIME", "KIND", "FROM", "ABOUT", "ID", "SAYS"}, rows);
}

std::string render_receipt(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  const bj::object& predicate = predicate_of(*root);
  Page page;
  page.heading(
      fmt::format("receipt {}  {}  entry {} of its log", text(*root, "id"), text(*root, "kind"), text(*root, "seq")));
  page.row("says", gist(predicate));
  page.row("time", text(*root, "time"));
  flatten(page, predicate, {}, 0);
  const bj::object& envelope = child(*root, "envelope");
  for (const bj::value& value : list(envelope, "signatures")) {
    if (const auto* signature = value.if_object()) page.row("signed by key", text(*signature, "keyid"));
  }
  return page.take();
}

std::string render_opened(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  Page page;
  page.row("operation", text(*root, "operation"));
  page.row("receipt", text(*root, "receipt"));
  page.row("matches", flag(*root, "matches") ? "yes: these are the arguments that the receipt commits to"
                                             : "no: the receipt commits to other arguments");
  page.row("redacted", joined(list(*root, "redacted")));
  page.row("arguments", text(*root, "arguments"));
  return page.take();
}

std::string render_stop(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  const std::string lifted = text(*root, "lifted");
  const std::string tool = text(*root, "tool");
  Page page;
  page.heading(fmt::format("stop {}  {}", text(*root, "id"), lifted.empty() ? "in force" : "lifted"));
  page.row("stops", text(*root, "kind") + (text(*root, "value").empty() ? "" : " " + text(*root, "value")) +
                        (tool.empty() ? "" : "/" + tool));
  page.row("by", text(*root, "by"));
  page.row("reason", text(*root, "reason"));
  page.row("since", text(*root, "created"));
  page.row("lifted", lifted);
  return page.take();
}

std::string render_stops(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(*root, "stops")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string tool = text(*one, "tool");
    const std::string lifted = text(*one, "lifted");
    rows.push_back({text(*one, "id"), text(*one, "kind"), text(*one, "value") + (tool.empty() ? "" : "/" + tool),
                    text(*one, "by"), text(*one, "created"), lifted.empty() ? "in force" : "lifted " + lifted,
                    text(*one, "reason")});
  }
  if (rows.empty()) return "nothing is stopped\n";
  return render_table({"ID", "KIND", "WHAT", "BY", "SINCE", "STATE", "REASON"}, rows);
}

}  // namespace sallyport::gateway::cli
