#include "policy/rules/match.hpp"

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

template <class T>
bool contains(const std::vector<T>& list, const T& item) {
  return std::ranges::find(list, item) != list.end();
}

bool contains_name(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// Whether `wide`, a list of which one is enough and empty means any, holds wherever `narrow` does.
template <class T>
bool covers_list(const std::vector<T>& wide, const std::vector<T>& narrow) {
  if (wide.empty()) return true;
  return !narrow.empty() && std::ranges::all_of(narrow, [&](const T& item) { return contains(wide, item); });
}

bool covers_names(const std::optional<NameTest>& wide, const std::optional<NameTest>& narrow) {
  return !wide || (narrow && wide->covers(*narrow));
}

template <class T>
bool covers_value(const std::optional<T>& wide, const std::optional<T>& narrow) {
  return !wide || wide == narrow;
}

bool effect_matches(const Match& match, const Effect& effect) {
  if (match.effects.empty()) return true;
  if (effect.category == EffectCategory::unrated) return match.place == Place::tightening;
  return contains(match.effects, effect.category);
}

bool no(Miss* miss, std::string words) {
  if (miss != nullptr) *miss = Miss{{}, std::move(words)};
  return false;
}

// The values at a pointer in which `*` means every element or member.
struct Found {
  std::vector<json::Value> values;
  bool odd = false;  // a step led into a value that has nothing below it
};

void walk(json::Value value, const std::vector<std::string>& steps, std::size_t step, const SchemaView& schema,
          Work& work, Found& out);

// What a missing member stands for: the defaults that the schema names on the way to it.
void walk_absent(const std::vector<std::string>& steps, std::size_t step, const SchemaView& schema, Work& work,
                 Found& out) {
  const auto prefix = std::vector<std::string>(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step) + 1);
  const SchemaView here = schema.at(prefix);
  for (const json::Value value : here.defaults()) walk(value, steps, step + 1, SchemaView(), work, out);
  if (step + 1 < steps.size() && here.defaults().empty()) {
    for (const json::Value value : schema.at(steps).defaults()) out.values.push_back(value);
  }
}

void walk(json::Value value, const std::vector<std::string>& steps, std::size_t step, const SchemaView& schema,
          Work& work, Found& out) {
  if (!work.take()) return;
  if (step == steps.size()) {
    out.values.push_back(value);
    return;
  }
  const std::string& name = steps[step];
  if (!value.is_object() && !value.is_array()) {
    out.odd = true;
    return;
  }
  if (name == "*") {
    for (const json::Value element : value.elements()) walk(element, steps, step + 1, schema, work, out);
    for (const json::Member member : value.members()) walk(member.value, steps, step + 1, schema, work, out);
    return;
  }
  const json::Value next = value.at("/" + pointer_step(name));
  if (next) {
    walk(next, steps, step + 1, schema, work, out);
  } else {
    walk_absent(steps, step, schema, work, out);
  }
}

Truth judge_paths(const Match& match, const CallFacts& facts, const SchemaView& schema, Work& work, Miss* miss) {
  const bool tightening = match.place == Place::tightening;
  Truth out = tightening ? Truth::no : Truth::yes;
  bool some = false;
  std::optional<Miss> first;
  const auto take = [&](Truth truth, const std::string& pointer, std::string words) {
    some = true;
    out = tightening ? either(out, truth) : both(out, truth);
    if (truth != Truth::yes && !first) first = Miss{pointer, std::move(words)};
  };
  for (const std::string& pointer : facts.paths) {
    const auto steps = pointer_steps(pointer);
    Found found;
    if (steps && facts.arguments) walk(facts.arguments, *steps, 0, schema, work, found);
    if (steps && !facts.arguments && !steps->empty()) walk_absent(*steps, 0, schema, work, found);
    if (!steps || found.odd) take(Truth::undetermined, pointer, "cannot be judged: there is no path");
    for (const json::Value value : found.values) {
      Miss here;
      const Truth truth = match.paths->judge(value, SchemaView(), work, &here);
      take(truth, pointer, std::move(here.words));
    }
  }
  if (!some) {
    first = Miss{{}, "no argument of the call is a path"};
    out = Truth::no;
  }
  if (miss != nullptr && out != Truth::yes && first) *miss = std::move(*first);
  return out;
}

// Whether a default may stand in this schema or in what it refers to.
bool may_have_default(json::Value schema) {
  static constexpr std::array<std::string_view, 5> kWhere{"default", "$ref", "allOf", "anyOf", "oneOf"};
  return std::ranges::any_of(kWhere, [&](std::string_view keyword) { return static_cast<bool>(schema.find(keyword)); });
}

constexpr std::uint64_t kOneView = 16;  // steps that looking up what a schema says of one place is worth

// The defaults that the schema names for members which are not there, at any depth of what is there.
void absent_defaults(json::Value value, const SchemaView& schema, Work& work, std::vector<json::Value>& out) {
  if (!work.take()) return;
  if (value && value.is_array()) {
    const SchemaView items = schema.items();
    for (const json::Value element : value.elements()) {
      if (element.is_object() || element.is_array()) absent_defaults(element, items, work, out);
    }
  }
  if (value && !value.is_object()) return;
  for (const json::Value node : schema.nodes()) {
    const json::Value properties = node.find("properties");
    if (!properties) continue;
    for (const json::Member declared : properties.members()) {
      const std::string name = declared.name();
      const json::Value there = value ? value.find(name) : json::Value();
      const bool deeper = there && (there.is_object() || there.is_array());
      if (there ? !deeper : !may_have_default(declared.value)) continue;
      if (!work.spend(kOneView)) return;
      const SchemaView member = schema.member(name);
      if (deeper) {
        absent_defaults(there, member, work, out);
      } else {
        for (const json::Value otherwise : member.defaults()) out.push_back(otherwise);
      }
    }
  }
}

Truth judge_any(const Match& match, const CallFacts& facts, const SchemaView& schema, Work& work, Miss* miss) {
  Truth out = Truth::no;
  std::vector<json::Value> open;
  absent_defaults(facts.arguments, schema, work, open);
  if (facts.arguments) open.push_back(facts.arguments);
  while (!open.empty() && out != Truth::yes) {
    const json::Value value = open.back();
    open.pop_back();
    if (!work.take()) return Truth::undetermined;
    for (const json::Value element : value.elements()) open.push_back(element);
    for (const json::Member member : value.members()) open.push_back(member.value);
    if (value.is_object() || value.is_array() || !match.any_argument->speaks_of(value.kind())) continue;
    out = either(out, match.any_argument->judge(value, SchemaView(), work));
  }
  if (miss != nullptr && out != Truth::yes) {
    *miss = Miss{{},
                 out == Truth::no ? "no value in the arguments fulfils `anyArgument`"
                                  : "some value cannot be judged for `anyArgument`"};
  }
  return out;
}

}  // namespace

bool NameTest::matches(std::string_view name) const {
  if (std::ranges::binary_search(exact, name)) return true;
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

bool NameTest::covers(const NameTest& other) const {
  const auto has_prefix = [&](const std::string& text) {
    return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return text.starts_with(prefix); });
  };
  return std::ranges::all_of(other.exact, [&](const std::string& name) { return matches(name); }) &&
         std::ranges::all_of(other.prefixes, has_prefix);
}

bool match_names(const Match& match, const CallFacts& facts, Miss* miss) {
  const Effect& effect = facts.effect;
  if (!contains(match.methods, facts.method)) {
    return no(miss, "speaks of another method than `" + std::string(to_string(facts.method)) + "`");
  }
  if (!match.servers.empty() && !contains_name(match.servers, facts.server)) return no(miss, "names another server");
  if (match.tools && !match.tools->matches(facts.tool)) return no(miss, "names another tool");
  if (match.uris && !match.uris->matches(facts.uri)) return no(miss, "names another uri");
  if (match.principals && (facts.principal == nullptr || !match.principals->matches(facts.principal->id))) {
    return no(miss, "names another principal");
  }
  if (!match.groups.empty() &&
      (facts.principal == nullptr || !std::ranges::any_of(match.groups, [&](const std::string& group) {
         return facts.principal->in_group(group);
       }))) {
    return no(miss, "the principal is in none of its groups");
  }
  if (!effect_matches(match, effect)) {
    return no(miss, effect.category == EffectCategory::unrated
                        ? "names an effect, and the tool is unrated, which counts as none where a rule loosens"
                        : "names another effect than `" + std::string(to_string(effect.category)) + "`");
  }
  if (match.destructive && *match.destructive != effect.destructive) {
    return no(miss, effect.destructive ? "speaks of what is not destructive" : "speaks of what is destructive");
  }
  if (!match.labels.empty() &&
      !std::ranges::any_of(match.labels, [&](const std::string& label) { return effect.has_label(label); })) {
    return no(miss, "the tool has none of its labels");
  }
  if (match.pinned && *match.pinned != facts.pinned) {
    return no(miss, facts.pinned ? "speaks of definitions that are not pinned" : "speaks of pinned definitions");
  }
  return true;
}

Truth judge_conditions(const Match& match, const CallFacts& facts, const SchemaView& schema, Work& work, Miss* miss) {
  if (!match.has_conditions()) return Truth::yes;
  Truth out = Truth::yes;
  const auto take = [&](Truth truth, Miss&& here) {
    if (truth < out && miss != nullptr) *miss = std::move(here);
    out = both(out, truth);
  };
  if (match.arguments) {
    Miss here;
    const Truth truth = match.arguments->judge(facts.arguments, schema, work, miss != nullptr ? &here : nullptr);
    take(truth, std::move(here));
  }
  if (out != Truth::no && match.paths) {
    Miss here;
    const Truth truth = judge_paths(match, facts, schema, work, miss != nullptr ? &here : nullptr);
    take(truth, std::move(here));
  }
  if (out != Truth::no && match.any_argument) {
    Miss here;
    const Truth truth = judge_any(match, facts, schema, work, miss != nullptr ? &here : nullptr);
    take(truth, std::move(here));
  }
  return out;
}

bool matches(const Match& match, const CallFacts& facts, Work& work, Miss* miss) {
  if (!match_names(match, facts, miss)) return false;
  if (!match.has_conditions()) return true;
  const SchemaView schema = facts.input_schema ? SchemaView(facts.input_schema) : SchemaView();
  return holds(judge_conditions(match, facts, schema, work, miss), match.place);
}

bool covers(const Match& wide, const Match& narrow) {
  // What loosens is judged more narrowly than what tightens, so it cannot answer for it.
  const bool judged_as_wide = wide.place == Place::tightening || narrow.place == Place::loosening;
  if (wide.has_conditions() && (wide.conditions_text != narrow.conditions_text || !judged_as_wide)) return false;
  if (!wide.effects.empty() && !judged_as_wide) return false;
  return covers_list(wide.servers, narrow.servers) && covers_names(wide.tools, narrow.tools) &&
         covers_names(wide.principals, narrow.principals) && covers_names(wide.uris, narrow.uris) &&
         covers_list(wide.groups, narrow.groups) && covers_list(wide.effects, narrow.effects) &&
         covers_list(wide.labels, narrow.labels) && covers_list(wide.methods, narrow.methods) &&
         covers_value(wide.destructive, narrow.destructive) && covers_value(wide.pinned, narrow.pinned);
}

}  // namespace sallyport::policy
