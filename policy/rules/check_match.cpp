// What config, trust and lock say of a match: names that do not exist, arguments that the pinned schema does not have,
// conditions it makes impossible, matches that no tool can fulfil.
#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "policy/rules/reader.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

template <class T, class Projection>
std::vector<std::string> names_of(const std::vector<T>& list, Projection projection) {
  std::vector<std::string> out;
  for (const T& item : list) out.push_back(item.*projection);
  return out;
}

bool speaks(const Match& match, Method method) {
  return std::ranges::find(match.methods, method) != match.methods.end();
}

bool names_server(const Match& match, const VocabularyServer& server) {
  return match.servers.empty() || std::ranges::binary_search(match.servers, server.id);
}

// Where the name stands: the string itself, or the element of the list.
json::Value place_of(json::Value list, std::string_view text) {
  if (!list.is_array()) return list;
  for (const json::Value item : list.elements()) {
    if (item.equals(text)) return item;
  }
  return list;
}

bool effect_fits(const Match& match, const Effect& effect) {
  if (!match.effects.empty()) {
    const bool listed = std::ranges::find(match.effects, effect.category) != match.effects.end();
    const bool unrated = effect.category == EffectCategory::unrated && match.place == Place::tightening;
    if (!listed && !unrated) return false;
  }
  if (match.destructive && *match.destructive != effect.destructive) return false;
  return match.labels.empty() ||
         std::ranges::any_of(match.labels, [&](const std::string& label) { return effect.has_label(label); });
}

bool effect_fits(const Match& match, const VocabularyTool& tool) {
  return effect_fits(match, tool.effect) ||
         std::ranges::any_of(tool.case_effects, [&](const Effect& effect) { return effect_fits(match, effect); });
}

}  // namespace

void Reader::note_unaccepted(json::Value where, const std::string& server) {
  if (!noted_.insert(server).second) return;
  faults_.note(where, "server `" + visible(server) +
                          "` has no accepted definitions yet: what is said of its tools was not checked; "
                          "run `sallyport trust accept " +
                          visible(server) + "`");
}

void Reader::check_servers(const Match& match, json::Value source) {
  const json::Value list = source.find("server");
  for (const std::string& id : match.servers) {
    const VocabularyServer* server = vocabulary_.server(id);
    if (server == nullptr) {
      unknown(place_of(list, id), "server", id, names_of(vocabulary_.servers, &VocabularyServer::id),
              "add it to the config, or take the rule out");
    } else if (!server->accepted) {
      note_unaccepted(place_of(list, id), id);
    }
  }
}

void Reader::check_tool_names(const Match& match, json::Value source) {
  if (!match.tools) return;
  const bool calls = speaks(match, Method::tools_call);
  const bool prompts = speaks(match, Method::prompts_get) || speaks(match, Method::completion_complete);
  for (const VocabularyServer& server : vocabulary_.servers) {
    if (!names_server(match, server)) continue;
    if (!server.accepted || (prompts && server.prompts.empty())) return;  // noted, where a server is named
  }
  const auto is_known = [&](const std::string& name) {
    const auto offers = [&](const Offered& one) { return names_server(match, *one.server); };
    if (calls && std::ranges::any_of(offered(name), offers)) return true;
    return prompts && std::ranges::any_of(vocabulary_.servers, [&](const VocabularyServer& server) {
             return names_server(match, server) && std::ranges::find(server.prompts, name) != server.prompts.end();
           });
  };
  std::vector<std::string> unknown_names;
  std::ranges::copy_if(match.tools->exact, std::back_inserter(unknown_names),
                       [&](const std::string& name) { return !is_known(name); });
  if (unknown_names.empty() && match.tools->prefixes.empty()) return;
  std::vector<std::string_view> known;
  for (const VocabularyServer& server : vocabulary_.servers) {
    if (!names_server(match, server)) continue;
    for (const VocabularyTool& tool : server.tools) {
      if (calls) known.emplace_back(tool.name);
    }
    if (prompts) known.insert(known.end(), server.prompts.begin(), server.prompts.end());
  }
  const json::Value list = source.find("tool");
  for (const std::string& name : unknown_names) {
    unknown(place_of(list, name), "tool", name, std::vector<std::string>(known.begin(), known.end()),
            match.servers.size() == 1 ? "server `" + visible(match.servers[0]) +
                                            "` has no accepted tool of that name; names are case-sensitive"
                                      : "no accepted tool has that name; names are case-sensitive");
  }
  for (const std::string& prefix : match.tools->prefixes) {
    if (std::ranges::any_of(known, [&](std::string_view name) { return name.starts_with(prefix); })) continue;
    idle(place_of(list, prefix + "*"), "no accepted tool begins with `" + visible(prefix) + "`: this can never matter");
  }
}

void Reader::check_principals(const Match& match, json::Value source) {
  if (match.principals) {
    const json::Value list = source.find("principal");
    for (const std::string& id : match.principals->exact) {
      if (id == "gateway") {
        idle(place_of(list, id),
             "what the gateway reads for itself is named by the trust file and no rule is asked: "
             "this can never matter");
      }
      if (vocabulary_.knows_principal(id)) continue;
      if (vocabulary_.knew_principal(id)) {
        gone(place_of(list, id), "principal", id);
        continue;
      }
      unknown(place_of(list, id), "principal", id, names_of(vocabulary_.principals, &Principal::id),
              "add it to `clients` of the config, or take it out");
    }
    for (const std::string& prefix : match.principals->prefixes) {
      if (vocabulary_.knows_principals_of(prefix)) continue;
      const auto known = names_of(vocabulary_.principals, &Principal::id);
      const auto near = nearest(prefix, known);
      idle(place_of(list, prefix + "*"), "no client of the config begins with `" + visible(prefix) +
                                             "`: this can never matter" +
                                             (near ? "; did you mean `" + visible(*near) + "`?" : ""));
    }
  }
  for (const std::string& group : match.groups) {
    if (vocabulary_.knows_group(group)) continue;
    if (vocabulary_.knew_group(group)) {
      gone(place_of(source.find("group"), group), "group", group);
      continue;
    }
    std::vector<std::string> known = vocabulary_.groups;
    for (const Principal& principal : vocabulary_.principals) {
      known.insert(known.end(), principal.groups.begin(), principal.groups.end());
    }
    unknown(place_of(source.find("group"), group), "group", group, known, "no client of the config is in it");
  }
}

std::vector<const VocabularyTool*> Reader::concerned(const Match& match, bool& all_known) const {
  std::vector<const VocabularyTool*> out;
  all_known = true;
  const bool exact = match.tools && match.tools->prefixes.empty();
  for (const VocabularyServer& server : vocabulary_.servers) {
    if (!names_server(match, server)) continue;
    all_known = all_known && server.accepted;
    if (exact) continue;
    for (const VocabularyTool& tool : server.tools) {
      if (!match.tools || match.tools->matches(tool.name)) out.push_back(&tool);
    }
  }
  if (!exact) return out;
  for (const std::string& name : match.tools->exact) {
    for (const Offered& one : offered(name)) {
      if (names_server(match, *one.server)) out.push_back(one.tool);
    }
  }
  return out;
}

namespace {

// In a closed place every argument that the schema demands must be named, or no valid call can match.
std::vector<std::string> required_but_unnamed(const Match& match, const VocabularyTool& tool) {
  std::vector<std::string> out;
  if (!match.arguments->closed() || !tool.input_schema) return out;
  const auto& entries = match.arguments->entries();
  for (const json::Value node : SchemaView(tool.input_schema).certain()) {
    const json::Value required = node.find("required");
    if (!required) continue;
    for (const json::Value name : required.elements()) {
      if (!name.is_string()) continue;
      std::string text = name.string();
      if (!std::ranges::binary_search(entries, text, {}, &ArgumentConditions::Entry::name))
        out.push_back(std::move(text));
    }
  }
  return out;
}

std::string always_has(const VocabularyTool& tool, const std::string& name) {
  return "`" + visible(tool.name) + "` always has `" + visible(name) +
         "`, which is not named here, and what is not named must not be there: this can never match; add `\"" +
         visible(name) + "\": {}` if any value will do";
}

}  // namespace

// `each`: the match is about every one of the tools; else one that can match is enough.
void Reader::check_required(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools,
                            bool each) {
  std::string first;
  for (const VocabularyTool* tool : tools) {
    const std::vector<std::string> missing = required_but_unnamed(match, *tool);
    if (missing.empty() && !each) return;
    for (const std::string& name : missing) {
      if (each) faults_.error(source.find("arguments"), always_has(*tool, name));
    }
    if (first.empty() && !missing.empty()) first = always_has(*tool, missing.front());
  }
  if (!each && !first.empty()) idle(source.find("arguments"), "no tool that this names fits: " + first);
}

// A label of one's own that nothing has is a misspelled one; the usual ones may wait for their first tool.
void Reader::check_labels(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools) {
  static constexpr std::array<std::string_view, 4> kUsual{"money", "credentials", "code", "private"};
  std::vector<std::string> known(kUsual.begin(), kUsual.end());
  for (const VocabularyTool* tool : tools) {
    known.insert(known.end(), tool->effect.labels.begin(), tool->effect.labels.end());
    for (const Effect& effect : tool->case_effects)
      known.insert(known.end(), effect.labels.begin(), effect.labels.end());
  }
  for (const std::string& label : match.labels) {
    if (std::ranges::find(known, label) != known.end()) continue;
    const auto near = nearest(label, known);
    idle(place_of(source.find("labels"), label),
         "no accepted tool that this names has the label `" + visible(label) + "`: this can never matter" +
             (near ? "; did you mean `" + visible(*near) + "`?" : "; labels are given in the trust file"));
  }
}

void Reader::check_arguments(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools,
                             bool each) {
  std::unordered_map<std::string, json::Value> written;
  for (const json::Member member : source.find("arguments").members()) {
    std::string name = member.name();
    if (name.size() > 1 && name.ends_with('?')) name.pop_back();
    written.emplace(std::move(name), member.value);
  }
  for (const auto& entry : match.arguments->entries()) {
    if (faults_.full()) return;
    const json::Value where = written[entry.name];
    std::vector<std::string> known;
    std::string missing;
    std::string impossible;
    bool some = false;
    bool possible = false;
    std::vector<Miss> inner;
    for (const VocabularyTool* tool : tools) {
      const SchemaView schema = tool->input_schema ? SchemaView(tool->input_schema) : SchemaView();
      if (!schema.may_name(entry.name)) {
        missing = tool->name;
        for (std::string& name : schema.names()) known.push_back(std::move(name));
        continue;
      }
      some = true;
      const SchemaView member = schema.member(entry.name);
      if (auto words = entry.condition.impossible(member)) {
        impossible = "of `" + visible(tool->name) + "`: " + *words;
      } else {
        possible = true;
      }
      if (inner.empty()) entry.condition.unknown_members(member, "/" + pointer_step(entry.name), inner);
    }
    if (!missing.empty() && (!some || (each && !entry.optional))) {
      unknown(where, "argument", entry.name, known, "the pinned schema of `" + visible(missing) + "` does not have it");
    }
    if (!impossible.empty() && (each || !possible)) faults_.error(where, "this can never hold: " + impossible);
    for (const Miss& miss : inner) {
      faults_.error(where, "the pinned schema does not have `" + visible(miss.pointer) + "`" +
                               (miss.words.empty() ? ": take it out" : ": " + miss.words));
    }
  }
}

// Paths are what contracts call so. A tool that plainly takes one, but whose contract does not say it, slips through a
// rule about paths.
void Reader::check_paths(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools,
                         bool all_known) {
  const json::Value where = source.find("paths");
  if (std::ranges::all_of(tools, [](const VocabularyTool* tool) { return tool->paths.empty(); })) {
    if (all_known) idle(where, "no tool that this names has `paths` in its contract: name them in the trust file");
    return;
  }
  if (match.place != Place::tightening) return;
  constexpr std::array<std::string_view, 4> kTelling{"path", "file", "dir", "folder"};
  const auto telling = [&](std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::ranges::any_of(kTelling, [&](std::string_view part) { return name.find(part) != std::string::npos; });
  };
  for (const VocabularyTool* tool : tools) {
    if (!tool->paths.empty() || !tool->input_schema) continue;
    const std::vector<std::string> names = SchemaView(tool->input_schema).names();
    const auto found = std::ranges::find_if(names, telling);
    if (found == names.end() || !slips_.insert(tool).second) continue;
    faults_.warning(where, "`" + visible(tool->name) + "` takes `" + visible(*found) +
                               "`, and its contract names no `paths`: this rule does not look at it; name them in the "
                               "trust file");
  }
}

void Reader::check_concerned(const Match& match, json::Value source, bool own_tools) {
  if (!speaks(match, Method::tools_call)) return;
  bool all_known = true;
  std::vector<const VocabularyTool*> tools = concerned(match, all_known);
  if (tools.empty()) return;  // a name that does not exist was named, an unaccepted server was noted
  const bool only_tools = match.methods.size() == 1;
  if (!match.labels.empty() && all_known && only_tools) check_labels(match, source, tools);
  std::erase_if(tools, [&](const VocabularyTool* tool) { return !effect_fits(match, *tool); });
  if (tools.empty()) {
    if (all_known && only_tools)
      idle(source, "no accepted tool that this names has such an effect: this can never matter");
    return;
  }
  // A list that the match itself gives is about each of its tools; an inherited one may be about some of them.
  const bool each = match.tools && match.tools->prefixes.empty() && (own_tools || tools.size() == 1);
  if (match.arguments && only_tools) {
    check_arguments(match, source, tools, each);
    if (each || all_known) check_required(match, source, tools, each);
  }
  if (match.paths) check_paths(match, source, tools, all_known);
}

void Reader::check_redact(const std::string& pointer, json::Value where) {
  constexpr std::size_t kMostSearched = 200'000;
  const auto steps = pointer_steps(pointer);
  if (!steps || steps->empty()) return;
  std::vector<std::string> known;
  for (const VocabularyServer& server : vocabulary_.servers) {
    if (!server.accepted || !server.prompts.empty()) return;  // nobody can tell
    for (const VocabularyTool& tool : server.tools) {
      if (!tool.input_schema || ++looked_for_ > kMostSearched) return;
      const SchemaView root(tool.input_schema);
      if (root.names().empty()) continue;  // takes nothing, or does not say what
      if (root.may_hold(*steps)) return;
      for (std::string& name : root.names()) known.push_back("/" + pointer_step(name));
    }
  }
  const auto near = nearest(pointer, known);
  faults_.warning(where, "no accepted tool declares an argument `" + visible(pointer) + "`: nothing is redacted by it" +
                             (near ? "; did you mean `" + visible(*near) + "`?" : ""));
}

void Reader::check(const Match& match, json::Value source) {
  check_servers(match, source);
  check_tool_names(match, source);
  check_principals(match, source);
  check_concerned(match, source, true);
}

void Reader::check_inner(const Match& inner, const Match& outer, json::Value source) {
  check_servers(inner, source);
  check_principals(inner, source);
  // The inner match speaks within the outer one: what it leaves unsaid is said there.
  Match whole = inner;
  if (whole.servers.empty()) whole.servers = outer.servers;
  if (!whole.tools) whole.tools = outer.tools;
  if (inner.tools) check_tool_names(whole, source);
  check_concerned(whole, source, inner.tools.has_value());
}

}  // namespace sallyport::policy
