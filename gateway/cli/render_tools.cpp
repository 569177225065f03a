#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/render.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

std::string dash(std::string value) { return value.empty() ? "-" : value; }

void changes(Page& page, const bj::array& differences) {
  for (const bj::value& value : differences) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string pointer = text(*one, "pointer");
    page.line("      " + (pointer.empty() ? std::string("(the whole)") : pointer));
    if (one->contains("before")) page.line("        - " + text(*one, "before"));
    if (one->contains("after")) page.line("        + " + text(*one, "after"));
  }
}

// `prompt greet`, `instructions`; of a tool its name alone.
std::string kind_and_name(const bj::object& definition) {
  const std::string kind = text(definition, "kind"), name = text(definition, "name");
  return kind.empty() || kind == "tool" ? name : name.empty() ? kind : kind + " " + name;
}

void reviewed(Page& page, const bj::object& tool, bool all) {
  const bool settled = flag(tool, "settled");
  const bool replaces = !list(tool, "replaces").empty();
  if (settled && !all && !replaces) return;
  const std::string reason = text(tool, "reason");
  page.line(fmt::format("  {}  {}{}", kind_and_name(tool), text(tool, "state"), reason.empty() ? "" : ": " + reason));
  page.line("    digest " + text(tool, "digest"));
  if (text(tool, "state") == "gone")
    page.line("    not offered any more: accepting takes it out of the lock, --also keeps it");
  for (const bj::value& digest : list(tool, "replaces"))
    page.line("    accepted beside it: " + shown(digest) + "; accepting drops that, --also keeps it");
  for (const bj::value& finding : list(tool, "findings")) page.line("    look: " + shown(finding));
  if (!list(tool, "changes").empty()) {
    page.line("    changed since it was accepted:");
    changes(page, list(tool, "changes"));
  }
  if (!list(tool, "definition").empty()) {
    page.line("    as the server says now:");
    for (const bj::value& one : list(tool, "definition")) page.line("      " + shown(one));
  }
}

// Inline code in Markdown, whatever stands in it: all that a server says goes in like this, and is never markup.
std::string code(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // a line end would end it
  }
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return longest == 0 ? fence + text + fence : fence + " " + text + " " + fence;
}

// `foreign`: of a server that is another now, which is said once, above.
std::string reported(const bj::object& tool, bool foreign) {
  const std::string kind = text(tool, "kind"), name = text(tool, "name");
  const std::string heading = name.empty() ? kind : kind == "tool" ? code(name) : kind + " " + code(name);
  std::string out = fmt::format("## {}: {}\n\n", heading, text(tool, "state"));
  if (const std::string reason = text(tool, "reason"); !reason.empty() && !foreign) out += code(reason) + "\n\n";
  for (const bj::value& finding : list(tool, "findings")) out += "- Found: " + code(shown(finding)) + "\n";
  for (const bj::value& value : list(tool, "changes")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    const std::string pointer = text(*one, "pointer");
    out += "- " + (pointer.empty() ? std::string("the whole") : code(pointer)) + "\n";
    out += "  - accepted: " + (one->contains("before") ? code(text(*one, "before")) : std::string("absent")) + "\n";
    out += "  - now: " + (one->contains("after") ? code(text(*one, "after")) : std::string("absent")) + "\n";
  }
  if (text(tool, "state") == "gone") return out + "- Accepted, and not offered any more\n\n";
  if (list(tool, "changes").empty()) out += "- Never accepted; digest " + code(text(tool, "digest")) + "\n";
  return out + "\n";
}

}  // namespace

std::string render_tools(std::string_view json, std::string_view only_server) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::vector<std::vector<std::string>> rows;
  std::string notes;
  for (const bj::value& value : list(*root, "tools")) {
    const auto* one = value.if_object();
    if (one == nullptr || (!only_server.empty() && text(*one, "server") != only_server)) continue;
    const bj::object& effect = child(*one, "effect");
    std::string reason = text(*one, "reason").empty() ? text(*one, "note") : text(*one, "reason");
    if (reason.empty() && !list(*one, "findings").empty()) reason = shown(list(*one, "findings").front());
    rows.push_back({text(*one, "server") + "/" + text(*one, "tool"), dash(declared_text(effect)),
                    dash(text(effect, "assigned")), dash(effect_text(effect)),
                    text(*one, "state") + (reason.empty() ? "" : ": " + reason)});
  }
  for (const bj::value& value : list(*root, "others")) {
    const auto* one = value.if_object();
    if (one == nullptr || (!only_server.empty() && text(*one, "server") != only_server)) continue;
    const std::string state = text(*one, "state"), reason = text(*one, "reason");
    if (state == "accepted") continue;
    notes += fmt::format("{} of {}: {}{}\n", kind_and_name(*one), text(*one, "server"), state,
                         reason.empty() ? "" : ": " + reason);
  }
  for (const bj::value& value : list(*root, "problems")) {
    const auto* one = value.if_object();
    if (one == nullptr || (!only_server.empty() && text(*one, "server") != only_server)) continue;
    notes += fmt::format("server {} is set aside: {}\n", text(*one, "server"), text(*one, "reason"));
  }
  for (const bj::value& value : list(*root, "unpinned")) {
    const auto* one = value.if_object();
    if (one == nullptr || (!only_server.empty() && text(*one, "server") != only_server)) continue;
    notes += fmt::format("server {} is not tied down: {}\n", text(*one, "server"), text(*one, "reason"));
  }
  for (const bj::value& value : list(*root, "collisions")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    std::string who;
    for (const bj::value& tool : list(*one, "tools")) who += (who.empty() ? "" : ", ") + shown(tool);
    notes += fmt::format("{} would be the name of {}: none of them is offered at /mcp\n", text(*one, "name"), who);
  }
  const std::string table =
      rows.empty() ? "no tools\n" : render_table({"TOOL", "DECLARED", "ASSIGNED", "EFFECTIVE", "DEFINITION"}, rows);
  return table + notes;
}

std::string render_explanation(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::string out = "verdict: " + text(*root, "verdict") + "\n";
  if (const std::string who = text(*root, "principal"); !who.empty())
    out += fmt::format("call: {}/{}, by {}\n", text(*root, "server"), text(*root, "tool"), who);
  if (const std::string effect = effect_text(child(*root, "effect")); !effect.empty())
    out += "effect: " + effect + "\n";
  if (const std::string state = text(*root, "state"); !state.empty()) out += "definition: " + state + "\n";
  if (const std::string scope = text(*root, "scope"); !scope.empty()) out += "scope: " + scope + "\n";
  for (const bj::value& value : list(*root, "reasons")) {
    if (const auto* one = value.if_object())
      out += "reason: " + text(*one, "code") + ": " + text(*one, "message") + "\n";
  }
  for (const bool matched : {true, false}) {
    std::string lines;
    for (const bj::value& value : list(*root, "rules")) {
      const auto* one = value.if_object();
      if (one == nullptr || flag(*one, "matched") != matched) continue;
      const std::string pointer = text(*one, "pointer");
      const std::string words = text(*one, "words");
      const std::string at = text(*one, "at");
      lines += fmt::format("  {} ({}{}): {}{}\n", text(*one, "id"), text(*one, "kind"), at.empty() ? "" : ", " + at,
                           words, pointer.empty() || words.contains(pointer) ? "" : " [" + pointer + "]");
    }
    if (!lines.empty()) out += (matched ? "matched:\n" : "did not match:\n") + lines;
  }
  for (const bj::value& note : list(*root, "notes")) out += "note: " + shown(note) + "\n";
  if (const std::string policy = text(*root, "policy"); !policy.empty()) out += "policy: " + policy + "\n";
  return out;
}

std::string render_trust_review(std::string_view json, bool all) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  Page page;
  for (const bj::value& value : list(*root, "servers")) {
    const auto* server = value.if_object();
    if (server == nullptr) continue;
    std::size_t settled = 0;
    for (const bj::value& one : list(*server, "definitions")) {
      if (one.is_object() && flag(one.get_object(), "settled")) ++settled;
    }
    const std::size_t count = list(*server, "definitions").size();
    page.heading(fmt::format("server {}  {} of {} accepted as they are", text(*server, "id"), settled, count));
    const auto say = [&page, server](const char* label, std::string_view name) {
      if (const std::string what = text(*server, name); !what.empty()) page.line("  " + std::string(label) + what);
    };
    say("identity ", "identity");
    say("identity is not pinned to one version: ", "unpinned");
    say("IDENTITY HAS CHANGED: ", "identityChanged");
    if (server->contains("accepted") && !flag(*server, "accepted")) page.line("  nothing of it was accepted yet");
    say("problem: ", "problem");
    for (const bj::value& tool : list(*server, "definitions")) {
      if (const auto* one = tool.if_object()) reviewed(page, *one, all);
    }
  }
  const std::string open = text(*root, "open");
  page.line(open == "0" ? "Everything is accepted as it is." : open + " not accepted as they are now.");
  if (const std::string digest = text(*root, "digest"); !digest.empty()) page.line("review " + digest);
  return page.take();
}

std::string render_trust_report(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::string out;
  for (const bj::value& value : list(*root, "servers")) {
    const auto* server = value.if_object();
    if (server == nullptr) continue;
    std::string tools;
    const bool foreign = server->contains("identityChanged");
    for (const bj::value& tool : list(*server, "definitions")) {
      const auto* one = tool.if_object();
      if (one != nullptr && !flag(*one, "settled")) tools += reported(*one, foreign);
    }
    out += fmt::format("# Definitions of {}\n\n", code(text(*server, "id")));
    if (const std::string identity = text(*server, "identity"); !identity.empty())
      out += "Server: " + code(identity) + "\n\n";
    if (const std::string change = text(*server, "identityChanged"); !change.empty())
      out += "**It is not the server that was accepted:** " + code(change) + "\n\n";
    out += tools.empty() ? "Every definition is the accepted one.\n\n" : tools;
  }
  out.pop_back();
  return out;
}

std::string render_accepted(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::string out;
  for (const bj::value& one : list(*root, "accepted")) out += "accepted " + shown(one) + "\n";
  for (const bj::value& one : list(*root, "leftOut")) out += "left out " + shown(one) + "\n";
  return out.empty() ? "nothing to accept\n" : out;
}

}  // namespace sallyport::gateway::cli
