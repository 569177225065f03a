// Made-up arguments for the tests of a drafted policy: the least that a schema demands.
#include <optional>

#include "policy/evaluate/suggest.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr int kDeepest = 8;
constexpr std::int64_t kMostRepeats = 100;

class Sampler {
 public:
  explicit Sampler(json::Value root) : root_(root) {}

  // nullopt: the schema says something that this does not follow.
  std::optional<std::string> sample(json::Value schema, int depth) {
    if (depth > kDeepest || !schema) return std::nullopt;
    if (!schema.is_object())
      return schema.kind() == json::Kind::boolean && schema.boolean() ? std::optional("{}") : std::nullopt;
    for (const std::string_view given : {"const", "default"}) {
      if (const json::Value value = schema.find(given)) return std::string(value.raw());
    }
    if (const json::Value list = schema.find("enum"); list && list.is_array() && list.size() > 0)
      return std::string((*list.elements().begin()).raw());
    if (const json::Value ref = schema.find("$ref"); ref && ref.is_string())
      return sample(target(ref.string()), depth + 1);
    for (const std::string_view choice : {"anyOf", "oneOf"}) {
      const json::Value list = schema.find(choice);
      if (!list || !list.is_array() || schema.find("type")) continue;
      for (const json::Value one : list.elements()) {
        if (auto made = sample(one, depth + 1)) return made;
      }
    }
    return by_type(schema, type_of(schema), depth);
  }

 private:
  json::Value target(const std::string& ref) {
    if (ref == "#") return root_;
    return ref.starts_with("#/") ? root_.at(ref.substr(1)) : json::Value();
  }

  static std::string type_of(json::Value schema) {
    const json::Value type = schema.find("type");
    if (type && type.is_string()) return type.string();
    if (type && type.is_array() && type.size() > 0) {
      const json::Value first = *type.elements().begin();
      if (first.is_string()) return first.string();
    }
    return schema.find("properties") || schema.find("required") ? "object" : schema.find("items") ? "array" : "string";
  }

  static std::int64_t count(json::Value schema, std::string_view name) {
    const json::Value value = schema.find(name);
    const auto number = value && value.is_number() ? value.integer() : std::nullopt;
    return number ? std::min(std::max<std::int64_t>(0, *number), kMostRepeats) : 0;
  }

  std::optional<std::string> by_type(json::Value schema, const std::string& type, int depth) {
    if (type == "boolean") return "true";
    if (type == "null") return "null";
    if (type == "integer" || type == "number") {
      const json::Value least = schema.find("minimum");
      return least && least.is_number() ? std::string(least.raw()) : "1";
    }
    if (type == "string")
      return quote(std::string(static_cast<std::size_t>(std::max<std::int64_t>(1, count(schema, "minLength"))), 'x'));
    if (type == "array") return array(schema, depth);
    return object(schema, depth);
  }

  std::optional<std::string> array(json::Value schema, int depth) {
    std::string out = "[";
    for (std::int64_t i = count(schema, "minItems"); i > 0; --i) {
      auto item = schema.find("items") ? sample(schema.find("items"), depth + 1) : std::optional<std::string>("1");
      if (!item) return std::nullopt;
      out += (out.size() == 1 ? "" : ",") + *item;
    }
    return out + "]";
  }

  std::optional<std::string> object(json::Value schema, int depth) {
    std::string out = "{";
    const json::Value required = schema.find("required");
    const json::Value properties = schema.find("properties");
    if (required && required.is_array()) {
      for (const json::Value name : required.elements()) {
        if (!name.is_string()) return std::nullopt;
        const json::Value inner = properties ? properties.find(name.string()) : json::Value();
        auto value = inner ? sample(inner, depth + 1) : std::optional<std::string>("1");
        if (!value) return std::nullopt;
        out += (out.size() == 1 ? "" : ",") + quote(name.string()) + ":" + *value;
      }
    }
    return out + "}";
  }

  json::Value root_;
};

}  // namespace

std::string sample_arguments(const VocabularyTool& tool) {
  if (!tool.input_schema || tool.schema == nullptr) return {};
  auto made = Sampler(tool.input_schema).sample(tool.input_schema, 0);
  if (!made) return {};
  const auto document = json::Document::parse(*made);
  if (!document || !document->root().is_object() || document->root().ambiguity()) return {};
  return tool.schema->validate(document->root()).valid ? *made : std::string();
}

}  // namespace sallyport::policy
