// A match: names first, then the conditions; then what its parts say of each other.
#include <algorithm>

#include "policy/rules/reader.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::vector<std::string> effect_names() {
  std::vector<std::string> out;
  for (const auto category : {EffectCategory::read, EffectCategory::file, EffectCategory::record,
                              EffectCategory::external, EffectCategory::unrated}) {
    out.emplace_back(to_string(category));
  }
  return out;
}

std::vector<std::string> method_names() {
  return {"tools/call", "resources/read", "prompts/get", "completion/complete"};
}

template <class T>
void sort_unique(std::vector<T>& list) {
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
}

}  // namespace

std::optional<NameTest> Reader::names(json::Value value, std::string_view what) {
  if (!value) return std::nullopt;
  NameTest out;
  for (auto& [where, text] : words(value, what)) {
    const std::size_t star = text.find('*');
    if (star == std::string::npos) {
      out.exact.push_back(std::move(text));
    } else if (star + 1 == text.size()) {
      out.prefixes.push_back(text.substr(0, star));
    } else {
      faults_.error(where, "a `*` can only stand at the end: `" + visible(text) +
                               "` would match nothing; list the names instead");
    }
  }
  sort_unique(out.exact);
  sort_unique(out.prefixes);
  return out;
}

void Reader::read_effect(Match& match, json::Value value) {
  for (const auto& [where, text] : words(value.find("effect"), "`effect`")) {
    const auto category = parse_effect_category(text);
    if (!category) {
      unknown(where, "effect", text, effect_names(), "effects are read, file, record, external and unrated");
    } else if (*category == EffectCategory::unrated && match.place == Place::loosening) {
      faults_.error(
          where, "an unrated tool has no effect where a rule loosens: rate it in the trust file, or name its server");
    } else {
      match.effects.push_back(*category);
    }
  }
  sort_unique(match.effects);
}

void Reader::read_methods(Match& match, json::Value value, std::span<const Method> inherited) {
  const json::Value source = value.find("method");
  if (!source) {
    if (!inherited.empty()) match.methods.assign(inherited.begin(), inherited.end());
    return;
  }
  match.methods.clear();
  for (const auto& [where, text] : words(source, "`method`")) {
    if (const auto method = parse_method(text)) {
      match.methods.push_back(*method);
    } else {
      unknown(where, "method", text, method_names(),
              "methods are tools/call, resources/read, prompts/get and completion/complete");
    }
  }
  sort_unique(match.methods);
}

bool Reader::read_conditions(Match& match, json::Value value, bool closed) {
  bool good = true;
  if (const json::Value source = value.find("arguments")) {
    match.arguments = ArgumentConditions::compile(source, context(match.place, closed));
    good = match.arguments.has_value();
    match.conditions_text += "arguments:" + meaning(source) + "\n";
  }
  if (const json::Value source = value.find("paths")) {
    match.paths = Condition::compile(source, context(match.place, closed));
    good = good && match.paths;
    match.conditions_text += "paths:" + meaning(source) + "\n";
    if (match.paths && !match.paths->speaks_of(json::Kind::string)) {
      faults_.error(source, "paths are strings: nothing can fulfil this");
    }
  }
  if (const json::Value source = value.find("anyArgument")) {
    match.any_argument = Condition::compile(source, context(match.place, closed));
    good = good && match.any_argument;
    match.conditions_text += "anyArgument:" + meaning(source) + "\n";
    if (match.place == Place::loosening) {
      faults_.error(
          source,
          "`anyArgument` cannot stand in what loosens, because one good value does not prove a call safe: use "
          "`arguments`");
    }
    const auto scalar = [&](json::Kind kind) { return match.any_argument && match.any_argument->speaks_of(kind); };
    if (match.any_argument && !scalar(json::Kind::null) && !scalar(json::Kind::boolean) &&
        !scalar(json::Kind::number) && !scalar(json::Kind::string)) {
      faults_.error(source,
                    "`anyArgument` looks at strings, numbers, true, false and null only: nothing can fulfil this");
    }
  }
  return good;
}

void Reader::check_shape(const Match& match, json::Value source) {
  const auto speaks = [&](Method method) { return std::ranges::find(match.methods, method) != match.methods.end(); };
  if (match.uris && !speaks(Method::resources_read) && !speaks(Method::completion_complete)) {
    faults_.error(source.find("uri"),
                  "only `resources/read` and `completion/complete` have a uri: add `\"method\": \"resources/read\"`");
  }
  if (match.methods == std::vector{Method::resources_read}) {
    for (const std::string_view name : {"tool", "arguments", "paths", "anyArgument"}) {
      if (const json::Value value = source.find(name))
        faults_.error(value, "a resource has no `" + std::string(name) + "`: use `uri`");
    }
  }
  if (match.paths && !speaks(Method::tools_call)) {
    faults_.error(source.find("paths"), "only tool calls have arguments that a contract calls paths");
  }
  if (!speaks(Method::tools_call) && !match.methods.empty() && !match.effects.empty()) {
    const bool read = std::ranges::find(match.effects, EffectCategory::read) != match.effects.end();
    if (!read) faults_.error(source.find("effect"), "what is no tool call has the effect `read`: this matches nothing");
  }
}

std::optional<Match> Reader::match(json::Value value, Place place, bool closed, std::span<const Method> inherited) {
  if (!object(value, "a match")) return std::nullopt;
  only(value,
       {"server", "tool", "principal", "group", "effect", "destructive", "labels", "pinned", "method", "uri",
        "arguments", "paths", "anyArgument"},
       "a match");
  const std::size_t before = faults_.all().size();
  Match out;
  out.place = place;
  for (auto& [where, text] : words(value.find("server"), "`server`")) {
    if (text.find('*') != std::string::npos) {
      faults_.error(where, "a server is named exactly: list them, or leave `server` out for any");
    }
    out.servers.push_back(std::move(text));
  }
  sort_unique(out.servers);
  out.tools = names(value.find("tool"), "`tool`");
  out.principals = names(value.find("principal"), "`principal`");
  out.uris = names(value.find("uri"), "`uri`");
  for (auto& word : words(value.find("group"), "`group`")) out.groups.push_back(std::move(word.text));
  for (auto& word : words(value.find("labels"), "`labels`")) out.labels.push_back(std::move(word.text));
  sort_unique(out.groups);
  sort_unique(out.labels);
  read_effect(out, value);
  read_methods(out, value, inherited);
  out.destructive = boolean(value.find("destructive"), "`destructive`");
  out.pinned = boolean(value.find("pinned"), "`pinned`");
  const bool good = read_conditions(out, value, closed);
  if (!good || has_errors(Faults(faults_.all().begin() + static_cast<std::ptrdiff_t>(before), faults_.all().end())))
    return std::nullopt;
  check_shape(out, value);
  return out;
}

}  // namespace sallyport::policy
