// Judging: three values, bounded work, and where it first went wrong.
#include "policy/conditions/condition.hpp"

#include <algorithm>

#include "policy/conditions/condition_node.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

using Node = Condition::Node;

// Words are made only where somebody reads them: most conditions are judged for the verdict alone.
void say(Miss* miss, std::string_view words) {
  if (miss != nullptr && miss->words.empty()) miss->words = words;
}
void say(Miss* miss, std::string_view words, auto detail) {
  if (miss != nullptr && miss->words.empty()) miss->words = std::string(words) + detail();
}

Truth judge_operands(const Node& node, json::Value value, Miss* miss) {
  const json::Kind kind = value.kind();
  const bool only_null = node.kinds == kind_bit(json::Kind::null);
  if ((node.kinds & kind_bit(kind)) == 0 && !only_null) {
    say(miss, "cannot be judged: it is of another type ",
        [&] { return "(" + std::string(json::to_string(kind)) + ")"; });
    return Truth::undetermined;
  }
  std::optional<Decimal> number;
  if (kind == json::Kind::number) {
    number = Decimal::parse_safe(value.number());
    if (!number) {
      say(miss, "cannot be judged: not every reader takes this number for the same value");
      return Truth::undetermined;
    }
  }
  for (const Operand& operand : node.operands) {
    if (operand.kind != kind) continue;
    const bool equal = kind == json::Kind::null ||
                       (kind == json::Kind::boolean && operand.boolean == value.boolean()) ||
                       (kind == json::Kind::number && operand.number == *number) ||
                       (kind == json::Kind::string && value.equals(operand.text));
    if (equal) return Truth::yes;
  }
  say(miss, std::string_view(node.operands.size() == 1 ? "is not the value that the rule names"
                                                       : "is none of the values that the rule names"));
  return Truth::no;
}

Truth judge_number(const Node& node, json::Value value, Miss* miss) {
  const auto number = Decimal::parse_safe(value.number());
  if (!number) {
    say(miss, "cannot be judged: not every reader takes this number for the same value");
    return Truth::undetermined;
  }
  const auto fails = [&](const std::optional<Decimal>& bound, bool failed, std::string_view keyword) {
    if (bound && failed) say(miss, "fails `", [&] { return std::string(keyword) + "` " + bound->text(); });
    return bound && failed;
  };
  const bool failed =
      fails(node.minimum, node.minimum && *number < *node.minimum, "minimum") ||
      fails(node.maximum, node.maximum && *number > *node.maximum, "maximum") ||
      fails(node.exclusive_minimum, node.exclusive_minimum && *number <= *node.exclusive_minimum, "exclusiveMinimum") ||
      fails(node.exclusive_maximum, node.exclusive_maximum && *number >= *node.exclusive_maximum, "exclusiveMaximum");
  return failed ? Truth::no : Truth::yes;
}

Truth judge_folders(const Node& node, std::string_view text, Miss* miss) {
  const auto path = path_components(text);
  if (!path) {
    say(miss, "cannot be judged: it is no plain absolute path");
    return Truth::undetermined;
  }
  if (std::ranges::any_of(node.folders, [&](const auto& folder) { return is_within(*path, folder); }))
    return Truth::yes;
  say(miss, "is not within the folders that `pathWithin` names");
  return Truth::no;
}

// A host without a port means every port where it tightens, and only the scheme's own where it loosens.
Truth judge_hosts(const Node& node, std::string_view text, Miss* miss) {
  const auto url = url_host(text);
  if (!url) {
    say(miss, "cannot be judged: it is no URL that every reader reads alike");
    return Truth::undetermined;
  }
  const bool any_port = node.place == Place::tightening;
  const auto same_host = [&](const HostPort& host) {
    return host.host == url->host && (host.port ? host.port == url->port : any_port || url->default_port);
  };
  if (std::ranges::any_of(node.hosts, same_host)) return Truth::yes;
  say(miss, "is at none of the hosts that `hostIn` names");
  return Truth::no;
}

Truth judge_string(const Node& node, json::Value value, Work& work, Miss* miss) {
  const std::string text = value.string();
  if (!work.take(1 + text.size() / 256)) return Truth::undetermined;
  Truth out = Truth::yes;
  if (node.min_length || node.max_length) {
    const std::size_t length = code_points(text);
    if (node.min_length && length < *node.min_length) {
      say(miss, "fails `minLength` ", [&] { return std::to_string(*node.min_length); });
      return Truth::no;
    }
    if (node.max_length && length > *node.max_length) {
      say(miss, "fails `maxLength` ", [&] { return std::to_string(*node.max_length); });
      return Truth::no;
    }
  }
  if (!node.folders.empty()) out = both(out, judge_folders(node, text, miss));
  if (out != Truth::no && !node.hosts.empty()) out = both(out, judge_hosts(node, text, miss));
  if (out != Truth::no && node.pattern) {
    const Truth matched = node.pattern->matches(text, work);
    if (matched == Truth::no) say(miss, "does not match `pattern`");
    if (matched == Truth::undetermined) say(miss, "cannot be judged: the pattern ran into its bound");
    out = both(out, matched);
  }
  return out;
}

Truth judge_array(const Node& node, json::Value value, const SchemaView& schema, Work& work, Miss* miss) {
  if (node.min_items && value.size() < *node.min_items) {
    say(miss, "fails `minItems` ", [&] { return std::to_string(*node.min_items); });
    return Truth::no;
  }
  if (node.max_items && value.size() > *node.max_items) {
    say(miss, "fails `maxItems` ", [&] { return std::to_string(*node.max_items); });
    return Truth::no;
  }
  if (!node.items) return Truth::yes;
  const SchemaView inner = schema.items();
  Truth out = Truth::yes;
  std::size_t index = 0;
  Miss first;
  for (const json::Value element : value.elements()) {
    Miss here;
    const Truth truth = node.items->judge(element, inner, work, miss != nullptr ? &here : nullptr);
    if (truth < out) {
      out = truth;
      first = Miss{"/" + std::to_string(index) + here.pointer, std::move(here.words)};
    }
    if (out == Truth::no || work.exhausted()) break;
    ++index;
  }
  if (miss != nullptr && out != Truth::yes && miss->words.empty()) *miss = std::move(first);
  return out;
}

}  // namespace

bool Condition::anything() const { return node_->kinds == 0 && node_->operands.empty() && !node_->negated; }

bool Condition::speaks_of(json::Kind kind) const { return node_->kinds == 0 || (node_->kinds & kind_bit(kind)) != 0; }

Truth Condition::judge(json::Value value, const SchemaView& schema, Work& work, Miss* miss) const {
  const Node& node = *node_;
  if (!work.take()) {
    say(miss, "cannot be judged: the bound on work was reached");
    return Truth::undetermined;
  }
  if (!node.operands.empty()) return judge_operands(node, value, miss);
  if (node.kinds == 0) return Truth::yes;
  const json::Kind kind = value.kind();
  if ((node.kinds & kind_bit(kind)) == 0) {
    say(miss, "cannot be judged: it is of another type ",
        [&] { return "(" + std::string(json::to_string(kind)) + ")"; });
    return Truth::undetermined;
  }
  Truth out = Truth::yes;
  switch (kind) {
    case json::Kind::number:
      out = judge_number(node, value, miss);
      break;
    case json::Kind::string:
      out = judge_string(node, value, work, miss);
      break;
    case json::Kind::array:
      out = judge_array(node, value, schema, work, miss);
      break;
    case json::Kind::object:
      if (node.members) out = node.members->judge(value, schema, work, miss);
      break;
    default:
      break;
  }
  if (out != Truth::no && node.negated) {
    const Truth inner = negate(node.negated->judge(value, schema, work));
    if (inner == Truth::no) say(miss, "is what `not` excludes");
    if (inner == Truth::undetermined) say(miss, "cannot be judged: `not` of what cannot be judged");
    out = both(out, inner);
  }
  return out;
}

Truth Condition::judge_absent(const SchemaView& schema, Work& work, Miss* miss) const {
  const std::vector<json::Value> defaults = schema.defaults();
  if (!defaults.empty()) {
    // Several branches may name several defaults; only what all of them say is sure.
    std::optional<Truth> out;
    for (const json::Value value : defaults) {
      const Truth truth = judge(value, schema, work, miss);
      out = !out || *out == truth ? truth : Truth::undetermined;
    }
    if (*out != Truth::yes && miss != nullptr) miss->words = "is absent, and its default: " + miss->words;
    return *out;
  }
  say(miss, "is absent");
  if (!work.take()) return Truth::undetermined;
  if (anything()) return Truth::no;
  if (!schema.known()) return Truth::undetermined;
  return schema.declared() ? Truth::undetermined : Truth::no;
}

Truth ArgumentConditions::judge_entry(const Entry& entry, json::Value value, const SchemaView& schema, Work& work,
                                      Miss* miss) const {
  if (value) {
    if (!entry.condition.node_->needs_schema()) return entry.condition.judge(value, SchemaView(), work, miss);
    return entry.condition.judge(value, schema.member(entry.name), work, miss);
  }
  if (!work.spend(16)) return Truth::undetermined;
  const SchemaView declared = schema.member(entry.name);
  if (declared.defaults().empty()) {
    if (entry.optional) return Truth::yes;
    if (place_ == Place::loosening) {
      say(miss, "is absent");
      return Truth::no;
    }
  }
  return entry.condition.judge_absent(declared, work, miss);
}

Truth ArgumentConditions::judge(json::Value object, const SchemaView& schema, Work& work, Miss* miss) const {
  if (!work.take()) return Truth::undetermined;
  if (object && !object.is_object()) {
    say(miss, "cannot be judged: it is no object");
    return Truth::undetermined;
  }
  Truth out = Truth::yes;
  Miss first;
  for (const Entry& entry : entries_) {
    if (!work.spend(object ? object.size() / 8 : 0)) return Truth::undetermined;
    Miss here;
    const json::Value value = object ? object.find(entry.name) : json::Value();
    const Truth truth = judge_entry(entry, value, schema, work, miss != nullptr ? &here : nullptr);
    if (truth < out) {
      out = truth;
      if (miss != nullptr) first = Miss{"/" + pointer_step(entry.name) + here.pointer, std::move(here.words)};
    }
    if (out == Truth::no || work.exhausted()) break;
  }
  if (closed_ && object && out != Truth::no) {
    for (const json::Member member : object.members()) {
      const std::string name = member.name();
      if (!work.take()) return Truth::undetermined;
      if (std::ranges::binary_search(entries_, name, {}, &Entry::name)) continue;
      out = Truth::no;
      if (miss != nullptr)
        first = Miss{"/" + pointer_step(name), "is not named by the rule, so the rule does not answer for it"};
      break;
    }
  }
  if (miss != nullptr && out != Truth::yes && miss->words.empty()) *miss = std::move(first);
  return out;
}

Truth ArgumentConditions::judge(json::Value object, json::Value schema) const {
  Work work;
  const Truth out = judge(object, schema ? SchemaView(schema) : SchemaView(), work);
  return work.exhausted() ? Truth::undetermined : out;
}

}  // namespace sallyport::policy
