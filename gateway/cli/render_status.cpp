#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/render.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

std::string_view word(Fault::Level level) {
  switch (level) {
    case Fault::Level::error:
      return "error";
    case Fault::Level::warning:
      return "warning";
    case Fault::Level::note:
      return "note";
  }
  return "";
}

// Text of a tool: lines stay lines, everything else is made visible.
std::string lines_of(const bj::string& text) {
  std::string out;
  std::string_view rest(text.data(), text.size());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    out += visible(rest.substr(0, end)) + "\n";
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return out;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string render_status(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  Page page;
  page.heading("sallyport " + text(*root, "version"));
  page.others(*root, {"servers", "version"});
  std::string out = page.take();
  std::vector<std::vector<std::string>> rows;
  for (const bj::value& value : list(*root, "servers")) {
    const auto* one = value.if_object();
    if (one == nullptr) continue;
    rows.push_back({"  " + text(*one, "id"), text(*one, "state"), text(*one, "tools"), text(*one, "reason")});
  }
  if (!rows.empty()) out += "\n" + render_table({"  SERVER", "STATE", "TOOLS", "REASON"}, rows);
  return out;
}

std::string render_me(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  const std::string roles = joined(list(*root, "roles"));
  const std::string groups = joined(list(*root, "groups"));
  return fmt::format("{}, roles: {}{}\n", text(*root, "id"), roles.empty() ? "none" : roles,
                     groups.empty() ? "" : ", groups: " + groups);
}

std::string render_call(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::string out;
  for (const bj::value& value : list(*root, "content")) {
    const auto* block = value.if_object();
    if (block == nullptr) continue;
    const auto* words = block->if_contains("text");
    if (text(*block, "type") == "text" && words != nullptr && words->is_string()) {
      out += lines_of(words->get_string());
    } else {
      out += visible(bj::serialize(*block)) + "\n";
    }
  }
  if (out.empty() && root->contains("structuredContent")) out = shown(root->at("structuredContent")) + "\n";
  return out;
}

std::string render_call_note(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return {};
  const bj::object& said = child(child(*root, "_meta"), "dev.sallyport/call");
  if (said.empty()) return {};
  std::string out;
  for (const std::string_view name : {"code", "verdict", "outcome", "retry", "operation", "approval", "receipt"}) {
    const std::string value = text(said, name);
    if (!value.empty()) out += fmt::format("{}{}: {}", out.empty() ? "" : "  ", name, value);
  }
  return out + "\n";
}

std::string render_policy(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  std::string out;
  for (const bj::value& fault : list(*root, "faults")) out += shown(fault) + "\n";
  if (const std::string why = text(*root, "refused"); !why.empty()) out += "refused: " + why + "\n";
  const bj::object& waiting = child(*root, "waiting");
  if (!waiting.empty()) {
    out += fmt::format("waits for an operator, since {}:\n", text(waiting, "since"));
    for (const bj::value& line : list(waiting, "looser")) out += "  looser: " + shown(line) + "\n";
    const bj::array& stricter = list(waiting, "stricter");
    for (const bj::value& line : stricter) out += "  stricter: " + shown(line) + "\n";
    if (!stricter.empty())
      out +=
          "  The files are taken as a whole, so what is stricter waits too; `sallyport stop` holds calls up at once.\n";
    out += fmt::format("  digest: {}\n", text(waiting, "digest"));
  }
  return out + fmt::format("in force now: policy {}, trust {}\n", text(*root, "policy"), text(*root, "trust"));
}

std::string render_faults(const Faults& faults) {
  std::string out;
  std::size_t errors = 0, warnings = 0;
  for (const Fault& fault : faults) {
    out += to_text(fault) + "\n";
    errors += fault.level == Fault::Level::error ? 1 : 0;
    warnings += fault.level == Fault::Level::warning ? 1 : 0;
  }
  if (errors + warnings == 0) return out;
  return out + (errors > 0 ? counted(errors, "error") : "") + (errors > 0 && warnings > 0 ? ", " : "") +
         (warnings > 0 ? counted(warnings, "warning") : "") + "\n";
}

std::string faults_json(const Faults& faults) {
  bj::array list;
  for (const Fault& fault : faults) {
    bj::object one{{"file", fault.file}, {"level", bj::string_view(word(fault.level))}, {"message", fault.message}};
    if (fault.position.line > 0) {
      one["line"] = fault.position.line;
      one["column"] = fault.position.column;
    }
    if (!fault.pointer.empty()) one["pointer"] = fault.pointer;
    list.emplace_back(std::move(one));
  }
  return bj::serialize(bj::object{{"faults", std::move(list)}}) + "\n";
}

}  // namespace sallyport::gateway::cli
