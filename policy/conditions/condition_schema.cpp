// What a pinned schema proves of a condition: members it does not have, values it never lets through.
#include <algorithm>

#include "policy/conditions/condition_node.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

using Node = Condition::Node;

unsigned kinds_of_type(json::Value type) {
  const auto one = [](json::Value name) -> unsigned {
    if (!name.is_string()) return kAllKinds;
    const std::string text = name.string();
    if (text == "integer" || text == "number") return kind_bit(json::Kind::number);
    for (const json::Kind kind :
         {json::Kind::null, json::Kind::boolean, json::Kind::string, json::Kind::array, json::Kind::object}) {
      if (text == json::to_string(kind)) return kind_bit(kind);
    }
    return kAllKinds;
  };
  if (!type.is_array()) return one(type);
  unsigned out = 0;
  for (const json::Value name : type.elements()) out |= one(name);
  return out;
}

std::optional<Decimal> number_of(json::Value node, std::string_view keyword) {
  const json::Value value = node.find(keyword);
  return value && value.is_number() ? Decimal::parse(value.number()) : std::nullopt;
}

bool operand_fits(const Operand& operand, json::Value schema) {
  if (const json::Value type = schema.find("type")) {
    if ((kinds_of_type(type) & kind_bit(operand.kind)) == 0) return false;
    if (type.equals("integer") && operand.kind == json::Kind::number && !operand.number.integer()) return false;
  }
  if (operand.kind == json::Kind::number) {
    const auto low = number_of(schema, "minimum");
    const auto high = number_of(schema, "maximum");
    if ((low && operand.number < *low) || (high && operand.number > *high)) return false;
  }
  return true;
}

bool operand_is(const Operand& operand, json::Value value) {
  if (value.kind() != operand.kind) return false;
  switch (operand.kind) {
    case json::Kind::boolean:
      return value.boolean() == operand.boolean;
    case json::Kind::number: {
      const auto number = Decimal::parse(value.number());
      return !number || *number == operand.number;
    }
    case json::Kind::string:
      return value.equals(operand.text);
    default:
      return true;
  }
}

// The values that `enum` or `const` leaves; nullopt: any.
std::optional<std::vector<json::Value>> choices(json::Value schema) {
  if (const json::Value only = schema.find("const")) return std::vector<json::Value>{only};
  const json::Value list = schema.find("enum");
  if (!list || !list.is_array()) return std::nullopt;
  std::vector<json::Value> out;
  for (const json::Value value : list.elements()) out.push_back(value);
  return out;
}

std::optional<std::string> impossible_operands(const Node& node, json::Value schema) {
  const auto values = choices(schema);
  const bool some = std::ranges::any_of(node.operands, [&](const Operand& operand) {
    if (!operand_fits(operand, schema)) return false;
    return !values || std::ranges::any_of(*values, [&](json::Value value) { return operand_is(operand, value); });
  });
  if (some) return std::nullopt;
  return node.operands.size() == 1 ? "the pinned schema never lets this value through"
                                   : "the pinned schema lets none of these values through";
}

// One end of a range.
struct End {
  std::optional<Decimal> value;
  bool open = false;  // the value itself lies outside
};

// The end that leaves less: the higher of two lower ends, or the lower of two upper ones.
End narrower(const std::optional<Decimal>& closed, const std::optional<Decimal>& open, bool lower) {
  if (!open) return {closed, false};
  if (!closed) return {open, true};
  return (lower ? *open >= *closed : *open <= *closed) ? End{open, true} : End{closed, false};
}

bool apart(const End& low, const End& high) {
  if (!low.value || !high.value) return false;
  return *low.value > *high.value || (*low.value == *high.value && (low.open || high.open));
}

bool apart(const std::optional<std::uint64_t>& least, const std::optional<Decimal>& high) {
  return least && high && Decimal(static_cast<std::int64_t>(*least)) > *high;
}
bool apart(const std::optional<Decimal>& low, const std::optional<std::uint64_t>& most) {
  return low && most && Decimal(static_cast<std::int64_t>(*most)) < *low;
}

std::optional<std::string> impossible_range(const Node& node, json::Value schema) {
  const auto of = [&](std::string_view keyword) { return number_of(schema, keyword); };
  const End low = narrower(node.minimum, node.exclusive_minimum, true);
  const End high = narrower(node.maximum, node.exclusive_maximum, false);
  if (apart(low, narrower(of("maximum"), of("exclusiveMaximum"), false)) ||
      apart(narrower(of("minimum"), of("exclusiveMinimum"), true), high))
    return "the pinned schema lets no number in this range through";
  if (apart(node.min_length, of("maxLength")) || apart(of("minLength"), node.max_length))
    return "the pinned schema lets no string of this length through";
  if (apart(node.min_items, of("maxItems")) || apart(of("minItems"), node.max_items))
    return "the pinned schema lets no list of this length through";
  return std::nullopt;
}

std::string kinds_text(unsigned kinds) {
  std::string out;
  for (const json::Kind kind : {json::Kind::null, json::Kind::boolean, json::Kind::number, json::Kind::string,
                                json::Kind::array, json::Kind::object}) {
    if ((kinds & kind_bit(kind)) == 0) continue;
    out += (out.empty() ? "" : " or ") + std::string(json::to_string(kind));
  }
  return out;
}

}  // namespace

bool Condition::fits_no_choice(json::Value schema) const {
  const auto values = choices(schema);
  Work work;
  return values && std::ranges::all_of(*values, [&](json::Value value) {
           return judge(value, SchemaView(), work) == Truth::no && !work.exhausted();
         });
}

std::optional<std::string> Condition::impossible(const SchemaView& schema) const {
  const Node& node = *node_;
  if (node.kinds == 0) return std::nullopt;
  for (const json::Value declared : schema.certain()) {
    if (const json::Value type = declared.find("type")) {
      const unsigned kinds = kinds_of_type(type);
      if ((kinds & node.kinds) == 0) {
        return "the pinned schema takes " + kinds_text(kinds) + " here, and this speaks of " + kinds_text(node.kinds);
      }
    }
    auto words = node.operands.empty() ? impossible_range(node, declared) : impossible_operands(node, declared);
    if (words) return words;
    if (node.operands.empty() && fits_no_choice(declared)) {
      return "the pinned schema lets only certain values through, and none of them fulfils this";
    }
  }
  if (node.items) {
    if (auto words = node.items->impossible(schema.items())) return "of its elements: " + *words;
  }
  if (node.negated) {
    if (auto words = node.negated->impossible(schema)) return "inside `not`: " + *words;
  }
  if (node.members) {
    for (const auto& entry : node.members->entries()) {
      if (auto words = entry.condition.impossible(schema.member(entry.name)))
        return "of `" + entry.name + "`: " + *words;
    }
  }
  return std::nullopt;
}

void Condition::unknown_members(const SchemaView& schema, const std::string& pointer, std::vector<Miss>& out) const {
  const Node& node = *node_;
  if (node.items) node.items->unknown_members(schema.items(), pointer + "/*", out);
  if (node.negated) node.negated->unknown_members(schema, pointer, out);
  if (!node.members) return;
  for (const auto& entry : node.members->entries()) {
    const std::string here = pointer + "/" + pointer_step(entry.name);
    if (!schema.may_name(entry.name)) {
      const auto near = nearest(entry.name, schema.names());
      out.push_back(Miss{here, near ? "did you mean `" + *near + "`?" : ""});
      continue;
    }
    entry.condition.unknown_members(schema.member(entry.name), here, out);
  }
}

}  // namespace sallyport::policy
