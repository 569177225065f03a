#include "gateway/app/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/schema.hpp"
#include "trust/definitions/definition.hpp"
#include "trust/servers/effective.hpp"
#include "trust/servers/text_scan.hpp"

namespace sallyport::gateway {
namespace {

using Level = LintFinding::Level;

constexpr std::string_view kReserved = "sallyport_";
constexpr std::string_view kHints[] = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"};
constexpr std::size_t kMostDifferences = 5;  // named, of one tool

std::string name_of(json::Value tool) {
  const json::Value name = tool.is_object() ? tool.find("name") : json::Value();
  return name && name.is_string() ? name.string() : std::string();
}

std::string step(std::string_view name) { return "/" + pointer_step(name); }

// Findings of one tool.
class ToolLint {
 public:
  ToolLint(json::Value tool, LintFindings& out) : tool_(tool), name_(name_of(tool)), out_(out) {}

  void run() {
    if (auto digest = trust::definition_digest(tool_); !digest) {
      add(Level::error, "ambiguous", "", digest.error().message);
      return;  // members that stand twice: what follows would judge one of them
    }
    names();
    hints();
    input_schema();
    output_schema();
    const json::Value tasks = tool_.at("/execution/taskSupport");
    if (tasks && tasks.equals("required"))
      add(Level::error, "task-only", "/execution/taskSupport",
          "it can only be called as a task, which gateways and most clients do not offer");
  }

 private:
  void add(Level level, std::string code, std::string pointer, std::string message) {
    const json::Value at = pointer.empty() ? tool_ : tool_.at(pointer);
    out_.push_back(
        {level, std::move(code), name_, std::move(pointer), std::move(message), (at ? at : tool_).position()});
  }

  void names() {
    for (const trust::TextFinding& finding : trust::scan_definition(tool_)) {
      add(Level::error, std::string(trust::to_string(finding.kind)), finding.pointer, finding.message);
    }
    if (name_.starts_with(kReserved))
      add(Level::error, "reserved-name", "/name", "names beginning with `sallyport_` are the gateway's own");
  }

  void hints() {
    const json::Value annotations = tool_.find("annotations");
    for (const std::string_view name : kHints) {
      const json::Value hint = annotations ? annotations.find(name) : json::Value();
      if (hint && !hint.is_bool())
        add(Level::error, "hint-type", "/annotations" + step(name),
            fmt::format("`{}` must be a boolean, not {}; as it is, nobody reads it", name,
                        json::to_string(hint.kind())));
    }
    const Hints declared = trust::hints_of(tool_);
    if (declared.read_only == true && declared.destructive == true) {
      add(Level::error, "hints-contradict", "/annotations",
          "`readOnlyHint` and `destructiveHint` are both true, so neither is believed");
    } else if (!declared.read_only) {
      add(Level::warning, "hints-missing", annotations ? "/annotations" : "",
          "it has no `readOnlyHint`, so it counts as a write");
    } else if (!*declared.read_only && !declared.destructive) {
      add(Level::warning, "hints-missing", "/annotations",
          "it writes and has no `destructiveHint`, so it counts as destructive");
    }
  }

  void input_schema() {
    const json::Value input = tool_.find("inputSchema");
    if (!input || !input.is_object()) {
      add(Level::error, "input-schema", input ? "/inputSchema" : "",
          input ? fmt::format("`inputSchema` must be an object, not {}", json::to_string(input.kind()))
                : "it has no `inputSchema`; for no arguments write {\"type\": \"object\"}");
      return;
    }
    const auto schema = schema::Schema::compile(input);
    if (!schema) {
      add(Level::error, "input-schema", "/inputSchema", schema.error().message);
      return;
    }
    if (const json::Value type = input.find("type"); !type || !type.equals("object"))
      add(Level::error, "input-schema", type ? "/inputSchema/type" : "/inputSchema",
          "`type` must be \"object\": clients refuse every tool of a list in which one has another");
    for (const json::Value required : input.find("required").elements()) {
      const std::string name = required.string();
      const auto standing = schema->property(step(name)).standing;
      if (standing == schema::Property::Standing::impossible) {
        add(Level::error, "required-impossible", "/inputSchema/required",
            fmt::format("`{}` is required and forbidden: no call can be valid", visible(name)));
      } else if (standing == schema::Property::Standing::unknown) {
        add(Level::warning, "required-undeclared", "/inputSchema/required",
            fmt::format("`{}` is required, and no property describes it", visible(name)));
      }
    }
  }

  void output_schema() {
    const json::Value output = tool_.find("outputSchema");
    if (!output) return;
    if (const auto schema = schema::Schema::compile(output); !schema) {
      add(Level::error, "output-schema", "/outputSchema", schema.error().message);
    } else if (const json::Value type = output.find("type"); !type || !type.equals("object")) {
      add(Level::warning, "output-schema", type ? "/outputSchema/type" : "/outputSchema",
          "`type` is not \"object\", which clients of 2025-11-25 and before demand");
    }
  }

  json::Value tool_;
  std::string name_;
  LintFindings& out_;
};

struct Listed {
  std::map<std::string, json::Value> by_name;  // the first of each name
  std::vector<std::string> order;

  explicit Listed(std::span<const json::Value> tools) {
    for (const json::Value tool : tools) {
      order.push_back(name_of(tool));
      by_name.emplace(order.back(), tool);
    }
  }
};

void changed(const std::string& name, json::Value before, json::Value after, std::string_view when, LintFindings& out) {
  const auto differences = trust::member_diff(before, after);
  std::string where;
  for (std::size_t i = 0; i < differences.size() && i < kMostDifferences; ++i) {
    where += fmt::format("{}`{}`", i == 0 ? "" : ", ", visible(differences[i].pointer));
  }
  if (differences.empty()) return;
  if (differences.size() > kMostDifferences)
    where += fmt::format(" and {} more", differences.size() - kMostDifferences);
  out.push_back(
      {Level::error, "unstable-definition", name, differences.front().pointer,
       fmt::format("its definition is another {}: {}; whoever accepted it is asked again each time", when, where),
       before.position()});
}

}  // namespace

LintFindings lint_tools(std::span<const json::Value> tools) {
  LintFindings out;
  std::set<std::string> seen;
  std::vector<std::string> names;
  std::size_t index = 0;
  for (const json::Value tool : tools) {
    const json::Value name = tool.is_object() ? tool.find("name") : json::Value();
    ++index;
    if (!name || !name.is_string()) {
      out.push_back({Level::error,
                     "no-name",
                     {},
                     {},
                     fmt::format("the {}. tool of the list {}", index,
                                 tool.is_object() ? "has no `name` that is a string" : "is no object"),
                     tool.position()});
      continue;
    }
    if (!seen.insert(name.string()).second) {
      out.push_back({Level::error, "duplicate-name", name.string(), "/name", "another tool of the list has this name",
                     name.position()});
    }
    names.push_back(name.string());
    ToolLint(tool, out).run();
  }
  for (const trust::NameFinding& found : trust::scan_names(names)) {
    const auto at = std::ranges::find_if(tools, [&](json::Value tool) { return name_of(tool) == found.tool; });
    out.push_back({Level::warning, std::string(trust::to_string(found.finding.kind)), found.tool, found.finding.pointer,
                   found.finding.message, at->find("name").position()});
  }
  return out;
}

LintFindings lint_stability(std::span<const json::Value> first, std::span<const json::Value> second,
                            std::string_view when) {
  LintFindings out;
  const Listed before(first), after(second);
  for (const auto& [name, tool] : before.by_name) {
    const auto found = after.by_name.find(name);
    if (found == after.by_name.end()) {
      out.push_back(
          {Level::error, "unstable-list", name, {}, fmt::format("it is not listed {}", when), tool.position()});
    } else {
      changed(name, tool, found->second, when, out);
    }
  }
  for (const auto& [name, tool] : after.by_name) {
    if (!before.by_name.contains(name))
      out.push_back({Level::error, "unstable-list", name, {}, fmt::format("it is only listed {}", when), {}});
  }
  if (out.empty() && before.order != after.order)
    out.push_back({Level::warning,
                   "unstable-order",
                   {},
                   {},
                   fmt::format("the tools stand in another order {}, which spoils prompt caches", when),
                   {}});
  return out;
}

LintFindings lint_text(std::string_view text, std::string_view name) {
  LintFindings out;
  for (const trust::TextFinding& finding : trust::scan_text(text, {})) {
    out.push_back({Level::error,
                   std::string(trust::to_string(finding.kind)),
                   {},
                   {},
                   fmt::format("{}: {}", name, finding.message),
                   {}});
  }
  return out;
}

LintFindings lint_result(json::Value tool, json::Value result) {
  LintFindings out;
  const json::Value output = tool.find("outputSchema");
  const auto schema = output ? schema::Schema::compile(output) : fail(ErrorCode::not_found, "none");
  if (!schema) return out;
  const auto add = [&](std::string pointer, std::string message) {
    out.push_back({Level::error, "result", name_of(tool), std::move(pointer), std::move(message), tool.position()});
  };
  const json::Value content = result.find("structuredContent");
  if (!content) {
    add({}, "the outputSchema promises `structuredContent`, and the result has none");
  } else if (const auto mark = content.ambiguity()) {
    add(mark->pointer.substr(content.pointer().size()), "the result has members or numbers that cannot be told apart");
  } else {
    for (const schema::SchemaFault& fault : schema->validate(content).faults) add(fault.instance, fault.message);
  }
  return out;
}

bool lint_callable(json::Value tool) {
  const Hints declared = trust::hints_of(tool);
  if (declared.read_only != true || declared.destructive == true || !tool.find("outputSchema")) return false;
  const json::Value input = tool.find("inputSchema");
  if (!input || !input.is_object() || !trust::definition_digest(tool) || !trust::scan_definition(tool).empty())
    return false;
  const auto schema = schema::Schema::compile(input);
  const auto nothing = json::Document::parse("{}");
  return schema && schema->valid(nothing->root());
}

}  // namespace sallyport::gateway
