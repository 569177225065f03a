// From the text of a condition to its compiled form, with every fault named.
#include <algorithm>
#include <array>

#include "policy/conditions/condition_node.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr int kMaxDepth = 32;  // of nested conditions
constexpr std::size_t kMaxOperands = 10'000;

constexpr std::array<std::string_view, 14> kKeywords{
    "minimum", "maximum",  "exclusiveMinimum", "exclusiveMaximum", "minLength",  "maxLength", "pattern",
    "items",   "minItems", "maxItems",         "members",          "pathWithin", "hostIn",    "not"};

std::optional<Decimal> read_number(json::Value value, std::string_view keyword, const CompileContext& context) {
  if (!value.is_number()) {
    context.faults.error(value, "`" + std::string(keyword) + "` needs a number");
    return std::nullopt;
  }
  auto number = Decimal::parse_safe(value.number());
  if (!number)
    context.faults.error(value, "this number cannot be held exactly by every reader: write one with fewer digits");
  return number;
}

std::optional<std::uint64_t> read_count(json::Value value, std::string_view keyword, const CompileContext& context) {
  const auto number = value.is_number() ? value.integer() : std::nullopt;
  if (!number || *number < 0) {
    context.faults.error(value, "`" + std::string(keyword) + "` needs a whole number, 0 or more");
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*number);
}

std::optional<Operand> read_operand(json::Value value, const CompileContext& context) {
  Operand out;
  out.kind = value.kind();
  switch (value.kind()) {
    case json::Kind::null:
      return out;
    case json::Kind::boolean:
      out.boolean = value.boolean();
      return out;
    case json::Kind::number: {
      const auto number = read_number(value, "equals", context);
      if (!number) return std::nullopt;
      out.number = *number;
      return out;
    }
    case json::Kind::string:
      out.text = expand(value, context);
      return out;
    default:
      context.faults.error(value,
                           "a list says `one of` and holds strings, numbers, true, false or null: name members with "
                           "`{\"members\": {…}}`, elements with `{\"items\": …}`");
      return std::nullopt;
  }
}

// A string or a list of them, at least one.
std::vector<std::pair<json::Value, std::string>> read_strings(json::Value value, std::string_view keyword,
                                                              const CompileContext& context) {
  std::vector<std::pair<json::Value, std::string>> out;
  const auto add = [&](json::Value item) {
    if (!item.is_string()) {
      context.faults.error(item, "`" + std::string(keyword) + "` needs a string or a list of strings");
    } else {
      out.emplace_back(item, expand(item, context));
    }
  };
  if (value.is_array()) {
    if (value.size() == 0) context.faults.error(value, "an empty list matches nothing: name at least one");
    for (const json::Value item : value.elements()) add(item);
  } else {
    add(value);
  }
  return out;
}

bool read_folders(Condition::Node& node, json::Value value, const CompileContext& context) {
  for (const auto& [item, text] : read_strings(value, "pathWithin", context)) {
    auto folder = path_components(text);
    if (!folder) {
      context.faults.error(
          item,
          "`pathWithin` needs absolute paths without `..`, `~`, `%`, backslash or scheme, not `" + visible(text) + "`");
      return false;
    }
    node.folders.push_back(std::move(*folder));
  }
  return !node.folders.empty();
}

bool read_hosts(Condition::Node& node, json::Value value, const CompileContext& context) {
  for (const auto& [item, text] : read_strings(value, "hostIn", context)) {
    auto host = host_operand(text);
    if (!host) {
      context.faults.error(item, "`hostIn` needs plain host names or addresses, with `:port` if need be, not `" +
                                     visible(text) + "`: no scheme, no `*`, ASCII only");
      return false;
    }
    node.hosts.push_back(std::move(*host));
  }
  return !node.hosts.empty();
}

bool read_pattern(Condition::Node& node, json::Value value, const CompileContext& context) {
  if (!value.is_string()) {
    context.faults.error(value, "`pattern` needs a string");
    return false;
  }
  auto pattern = Pattern::compile(expand(value, context, true));
  if (!pattern) {
    context.faults.error(value, "the pattern does not compile: " + pattern.error().message);
    return false;
  }
  node.pattern = std::move(*pattern);
  return true;
}

// What the keywords say of each other.
void check_ranges(const Condition::Node& node, json::Value source, const CompileContext& context) {
  const auto above = [](const std::optional<Decimal>& low, const std::optional<Decimal>& high, bool strict) {
    return low && high && (strict ? *low >= *high : *low > *high);
  };
  if (above(node.minimum, node.maximum, false) || above(node.exclusive_minimum, node.maximum, true) ||
      above(node.minimum, node.exclusive_maximum, true) ||
      above(node.exclusive_minimum, node.exclusive_maximum, true)) {
    context.faults.error(source, "no number is in this range");
  }
  if (node.min_length && node.max_length && *node.min_length > *node.max_length) {
    context.faults.error(source, "no string is that long: `minLength` is above `maxLength`");
  }
  if (node.min_items && node.max_items && *node.min_items > *node.max_items) {
    context.faults.error(source, "no list is that long: `minItems` is above `maxItems`");
  }
}

void unknown_keyword(const json::Member& member, const CompileContext& context) {
  const std::string name = member.name();
  const std::vector<std::string> known(kKeywords.begin(), kKeywords.end());
  const auto near = nearest(name, known);
  context.faults.error(member.key, "unknown keyword `" + visible(name) + "`" +
                                       (near ? ": did you mean `" + *near + "`?"
                                             : ": for the members of an object write `{\"members\": {…}}`"));
}

unsigned kinds_of(std::string_view keyword) {
  if (keyword == "members") return kind_bit(json::Kind::object);
  if (keyword == "items" || keyword == "minItems" || keyword == "maxItems") return kind_bit(json::Kind::array);
  if (keyword.ends_with("imum")) return kind_bit(json::Kind::number);
  return kind_bit(json::Kind::string);
}

std::string kind_words(unsigned kinds) {
  for (const json::Kind kind : {json::Kind::number, json::Kind::string, json::Kind::array, json::Kind::object}) {
    if (kinds == kind_bit(kind)) return std::string(json::to_string(kind));
  }
  return "other value";
}

}  // namespace

std::optional<Condition> Condition::compile(json::Value source, const CompileContext& context) {
  const std::size_t before = context.faults.all().size();
  auto out = compile_at(source, context, 0);
  if (context.faults.all().size() != before) out.reset();
  return out;
}

bool Condition::compile_keyword(Node& node, const json::Member& member, const CompileContext& context, int depth) {
  const std::string name = member.name();
  const json::Value value = member.value;
  if (name == "minimum") return (node.minimum = read_number(value, name, context)).has_value();
  if (name == "maximum") return (node.maximum = read_number(value, name, context)).has_value();
  if (name == "exclusiveMinimum") return (node.exclusive_minimum = read_number(value, name, context)).has_value();
  if (name == "exclusiveMaximum") return (node.exclusive_maximum = read_number(value, name, context)).has_value();
  if (name == "minLength") return (node.min_length = read_count(value, name, context)).has_value();
  if (name == "maxLength") return (node.max_length = read_count(value, name, context)).has_value();
  if (name == "minItems") return (node.min_items = read_count(value, name, context)).has_value();
  if (name == "maxItems") return (node.max_items = read_count(value, name, context)).has_value();
  if (name == "pattern") return read_pattern(node, value, context);
  if (name == "pathWithin") return read_folders(node, value, context);
  if (name == "hostIn") return read_hosts(node, value, context);
  if (name == "items") return (node.items = compile_at(value, context, depth + 1)).has_value();
  if (name == "members") return (node.members = ArgumentConditions::compile_at(value, context, depth + 1)).has_value();
  if (context.place == Place::loosening) {
    context.faults.error(member.key, "`not` cannot stand in what loosens: say what is good, not what is bad");
    return false;
  }
  // Inside `not` true and false change places, so there it must be sure of what it says.
  const CompileContext inside{context.faults, Place::loosening, true, context.variables};
  return (node.negated = compile_at(value, inside, depth + 1)).has_value();
}

std::optional<Condition> Condition::compile_at(json::Value source, const CompileContext& context, int depth) {
  if (depth > kMaxDepth) {
    context.faults.error(source, "conditions nest deeper than " + std::to_string(kMaxDepth));
    return std::nullopt;
  }
  auto node = std::make_shared<Node>();
  node->place = context.place;
  node->closed = context.closed;
  bool good = true;
  if (!source.is_object()) {
    if (source.is_array() && source.size() == 0) {
      context.faults.error(source, "an empty list matches nothing: list at least one value");
      good = false;
    }
    if (source.size() > kMaxOperands) {
      context.faults.error(source, "more than " + std::to_string(kMaxOperands) + " values");
      return std::nullopt;
    }
    const auto add = [&](json::Value value) {
      auto operand = read_operand(value, context);
      good = good && operand;
      if (!operand) return;
      node->kinds |= kind_bit(operand->kind);
      node->operands.push_back(std::move(*operand));
    };
    if (source.is_array()) {
      for (const json::Value value : source.elements()) add(value);
    } else {
      add(source);
    }
    if (!good) return std::nullopt;
    return Condition(std::move(node));
  }
  for (const json::Member member : source.members()) {
    const std::string name = member.name();
    if (std::ranges::find(kKeywords, name) == kKeywords.end()) {
      unknown_keyword(member, context);
      good = false;
      continue;
    }
    good = compile_keyword(*node, member, context, depth) && good;
    const unsigned kinds = name == "not" ? (node->negated ? node->negated->node_->kinds : 0) : kinds_of(name);
    if (kinds != 0 && node->kinds != 0 && (kinds & node->kinds) == 0) {
      context.faults.error(member.key, "`" + name + "` speaks of another type than the keywords before it (" +
                                           kind_words(node->kinds) + "): nothing can fulfil both");
      good = false;
    }
    if (kinds != 0) node->kinds = node->kinds == 0 ? kinds : node->kinds & kinds;
  }
  if (node->closed && (node->min_items || node->max_items) && !node->items) {
    context.faults.error(source, "where this loosens, say what each element may be too: `\"items\": {}` for anything");
    good = false;
  }
  if (node->negated && node->negated->anything()) {
    context.faults.error(source, "`not` of anything is nothing");
    good = false;
  }
  if (good) check_ranges(*node, source, context);
  if (!good) return std::nullopt;
  return Condition(std::move(node));
}

std::optional<ArgumentConditions> ArgumentConditions::compile(json::Value source, const CompileContext& context) {
  const std::size_t before = context.faults.all().size();
  auto out = compile_at(source, context, 0);
  if (context.faults.all().size() != before) out.reset();
  return out;
}

std::optional<ArgumentConditions> ArgumentConditions::compile_at(json::Value source, const CompileContext& context,
                                                                 int depth) {
  if (!source.is_object()) {
    context.faults.error(source, "names and what their values must be are expected here: `{\"name\": …}`");
    return std::nullopt;
  }
  if (depth > kMaxDepth) {
    context.faults.error(source, "conditions nest deeper than " + std::to_string(kMaxDepth));
    return std::nullopt;
  }
  ArgumentConditions out;
  out.closed_ = context.closed;
  out.place_ = context.place;
  bool good = true;
  for (const json::Member member : source.members()) {
    std::string name = member.name();
    const bool optional = name.size() > 1 && name.ends_with('?');
    if (optional) name.pop_back();
    auto condition = Condition::compile_at(member.value, context, depth + 1);
    good = good && condition;
    if (condition) out.entries_.push_back(Entry{std::move(name), optional, std::move(*condition)});
  }
  std::ranges::sort(out.entries_, {}, &Entry::name);
  const auto twice = std::ranges::adjacent_find(out.entries_, {}, &Entry::name);
  if (twice != out.entries_.end()) {
    context.faults.error(source, "`" + visible(twice->name) + "` is named twice, with and without `?`: keep one");
    good = false;
  }
  if (!good) return std::nullopt;
  return out;
}

}  // namespace sallyport::policy
