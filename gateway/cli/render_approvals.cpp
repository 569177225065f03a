#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/render.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

// `in 58m`, `3m ago`.
std::string relative(const std::string& utc, UnixMillis now) {
  const auto time = from_utc(utc);
  if (!time) return {};
  const UnixMillis seconds = (*time > now ? *time - now : now - *time) / 1000;
  std::string span;
  if (seconds < 90)
    span = fmt::format("{}s", seconds);
  else if (seconds < 90 * 60)
    span = fmt::format("{}m", seconds / 60);
  else if (seconds < 48 * 3600)
    span = fmt::format("{}h", seconds / 3600);
  else
    span = fmt::format("{}d", seconds / 86'400);
  return *time > now ? "in " + span : span + " ago";
}

// The contract's line, or the tool's name and that nobody has rated it.
std::string says(const bj::object& view) {
  if (std::string line = text(view, "says"); !line.empty()) return line;
  const std::string category = text(child(child(view, "effect"), "effective"), "category");
  return fmt::format("{} of {} ({})", text(view, "tool"), text(view, "server"),
                     category.empty() ? "unrated" : category);
}

std::vector<std::string> rules_text(const bj::object& view) {
  std::vector<std::string> out;
  for (const bj::value& value : list(view, "rules")) {
    const auto* rule = value.if_object();
    if (rule == nullptr) continue;
    const std::string message = text(*rule, "message");
    out.push_back(
        fmt::format("{} ({}){}", text(*rule, "id"), text(*rule, "verdict"), message.empty() ? "" : ": " + message));
  }
  if (out.empty()) out.emplace_back("none: the policy's default");
  return out;
}

std::vector<std::string> asked_text(const bj::object& approval, const bj::object& view) {
  std::vector<std::string> out;
  const bj::array& missing = list(approval, "missing");
  std::size_t index = 0;
  for (const bj::value& value : list(view, "asks")) {
    const auto* terms = value.if_object();
    if (terms == nullptr) continue;
    const std::string by = joined(list(*terms, "by"));
    std::string one = by.empty() ? "any approver" : by;
    if (const std::string quorum = text(*terms, "quorum"); !quorum.empty() && quorum != "1")
      one += ", " + quorum + " of them";
    if (flag(*terms, "notOwner")) one += ", not the client's owner";
    if (index < missing.size()) {
      const std::string left = shown(missing[index]);
      if (text(approval, "state") == "pending") one += left == "0" ? " (satisfied)" : " (" + left + " missing)";
    }
    ++index;
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> votes_text(const bj::object& approval) {
  std::vector<std::string> out;
  for (const bj::value& value : list(approval, "votes")) {
    const auto* vote = value.if_object();
    if (vote == nullptr) continue;
    const std::string reason = text(*vote, "reason");
    out.push_back(fmt::format("{} {} at {}{}", text(*vote, "by"), text(*vote, "vote"), text(*vote, "at"),
                              reason.empty() ? "" : ": " + reason));
  }
  return out;
}

void changes(Page& page, const bj::array& differences, std::string_view title) {
  if (differences.empty()) return;
  page.heading("  " + std::string(title));
  for (const bj::value& value : differences) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string pointer = text(*one, "pointer");
    page.line("    " + (pointer.empty() ? std::string("(the whole)") : pointer));
    if (one->contains("before")) page.line("      - " + text(*one, "before"));
    if (one->contains("after")) page.line("      + " + text(*one, "after"));
  }
}

// What the same client left open or was refused lately.
void beside(Page& page, const bj::object& beside) {
  if (!list(beside, "unknowns").empty()) page.heading("  open unknowns of this client");
  for (const bj::value& value : list(beside, "unknowns")) {
    if (const auto* one = value.if_object())
      page.line(fmt::format("    {}  {}  {}", text(*one, "id"), text(*one, "created"), text(*one, "summary")));
  }
  if (!list(beside, "denials").empty()) page.heading("  refused to this client in the last day");
  for (const bj::value& value : list(beside, "denials")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string reason = text(*one, "reason");
    page.line(fmt::format("    {}  {}/{} by {}{}{}", text(*one, "at"), text(*one, "server"), text(*one, "tool"),
                          text(*one, "by"), reason.empty() ? "" : ": " + reason,
                          flag(*one, "same") ? "  (the very same call)" : ""));
  }
}

void effects(Page& page, const bj::object& effect) {
  page.row("effect", effect_text(effect));
  if (effect.empty()) return;
  const std::string assigned = text(effect, "assigned");
  const std::string declared = declared_text(effect);
  page.row("assigned", assigned.empty() ? "nothing: no contract speaks of it" : assigned + " (by the contract)");
  page.row("declared", declared.empty() ? "nothing" : declared + " (the server's own words)");
}

}  // namespace

std::string render_approval(std::string_view json, UnixMillis now) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  const bj::object& view = child(*root, "view");
  const std::string state = text(*root, "state");
  Page page;
  page.heading(fmt::format("approval {}  {}", text(*root, "id"), state));
  page.row("asks for", says(view));
  page.row("server", text(*root, "server"));
  page.row("identity", text(view, "identity"));
  const std::string definition = text(view, "definition");
  page.row("tool", text(*root, "tool") + (definition.empty() ? "" : "  (definition " + definition + ")"));
  page.row("from", text(*root, "principal"));
  page.row("claims", text(view, "claimed"));
  effects(page, child(view, "effect"));
  page.rows("rules", rules_text(view));
  page.row("scope", text(view, "scope"));
  page.row("key", text(view, "idempotencyKey"));
  page.rows("answered by", asked_text(*root, view));
  page.rows("votes", votes_text(*root));
  page.row("operation", text(*root, "operation"));
  page.row("asked", text(view, "created"));
  const std::string expires = text(*root, "expires").empty() ? text(view, "expires") : text(*root, "expires");
  const bool open = (state == "pending" || state == "approved") && !expires.empty();
  page.row("expires", open ? expires + " (" + relative(expires, now) + ")" : expires);
  page.row("ended", text(*root, "ended"));
  page.row("ended by", text(*root, "endedBy"));
  page.row("reason", text(*root, "reason"));
  page.others(view, {"salt",     "approval",   "arguments",  "asks",   "changed", "claimed",
                     "created",  "definition", "difference", "effect", "expires", "idempotencyKey",
                     "identity", "operation",  "principal",  "rules",  "says",    "scope",
                     "server",   "tool",       "unknowns",   "last",   "grants",  "heading"});
  page.heading("  arguments");
  if (view.contains("arguments"))
    page.block(list(view, "arguments"));
  else if (flag(*root, "withheld"))
    page.line("    their values are for those who may answer this");
  else
    page.line("    no longer kept: the operation is closed");
  const bj::object& last = child(view, "last");
  if (!last.empty()) {
    const std::string which = text(last, "operation") + " at " + text(last, "at");
    changes(page, list(view, "difference"), "differs from the last call of this tool here (" + which + ")");
    if (list(view, "difference").empty())
      page.line("  the same arguments as the last call of this tool here: " + which);
  }
  changes(page, list(view, "changed"), "the definition has changed since it was accepted");
  if (!list(view, "unknowns").empty()) {
    page.heading("  open unknowns here (settle them with `sallyport operations resolve`)");
    for (const bj::value& value : list(view, "unknowns")) {
      if (const auto* one = value.if_object()) {
        page.line(fmt::format("    {}  {}  {}", text(*one, "operation"), text(*one, "created"), text(*one, "summary")));
      }
    }
  }
  beside(page, child(*root, "beside"));
  if (!child(view, "grants").empty()) page.row("grants", "on offer: --this-run or --until TIME, under conditions");
  page.row("shown", text(*root, "shown"));
  return page.take();
}

std::string render_grants(std::string_view json, UnixMillis now) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  bj::array grants = list(*root, "grants");
  if (!root->contains("grants")) grants.emplace_back(*root);
  Page page;
  for (const bj::value& value : grants) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    page.heading(fmt::format("grant {}  {}", text(*one, "id"), text(*one, "state")));
    page.row("for",
             text(*one, "principal") + (text(*one, "run").empty() ? "" : ", this run (" + text(*one, "run") + ")"));
    page.row("tool", text(*one, "server") + "/" + text(*one, "tool"));
    page.row("answers rule", text(*one, "rule"));
    std::vector<std::string> words;
    for (const bj::value& line : list(*one, "conditions")) words.push_back(shown(line));
    page.rows("where", words);
    const std::string most = text(*one, "uses");
    page.row("used", text(*one, "used") + (most.empty() ? "" : " of " + most));
    page.row("given by", text(*one, "by") + (text(*one, "approval").empty() ? "" : " with " + text(*one, "approval")));
    page.row("expires", text(*one, "expires") + " (" + relative(text(*one, "expires"), now) + ")");
    page.row("ended", text(*one, "ended"));
    page.row("ended by", text(*one, "endedBy"));
    page.row("reason", text(*one, "reason"));
  }
  const std::string out = page.take();
  return out.empty() ? "no grants\n" : out;
}

std::string render_approvals(std::string_view json, UnixMillis now) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(*root, "approvals")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string state = text(*one, "state");
    const std::string expires = text(*one, "expires");
    rows.push_back({text(*one, "id"), state, text(*one, "principal"), text(*one, "server") + "/" + text(*one, "tool"),
                    state == "pending" || state == "approved" ? relative(expires, now) : "",
                    flag(*one, "mayAnswer") ? "you" : "", says(child(*one, "view"))});
  }
  if (rows.empty()) return "nothing\n";
  return render_table({"ID", "STATE", "FROM", "TOOL", "EXPIRES", "WAITS FOR", "ASKS FOR"}, rows);
}

}  // namespace sallyport::gateway::cli
