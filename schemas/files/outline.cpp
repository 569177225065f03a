#include "schemas/files/outline.hpp"

#include <fmt/core.h>

#include "schemas/core/encoding.hpp"

namespace sallyport::schema {

json::Value Outline::resolve(json::Value node) const {
  // A bound instead of a cycle check: our own schemas refer at most twice in a row.
  for (int hops = 0; node && node.is_object() && hops < 8; ++hops) {
    const json::Value ref = node.find("$ref");
    if (!ref || !ref.is_string()) return node;
    const std::string text = ref.string();
    node = text.starts_with("#") ? root_.at(std::string_view(text).substr(1)) : json::Value();
  }
  return node;
}

json::Value Outline::step(json::Value node, std::string_view name, bool element) const {
  if (!node || !node.is_object()) return {};
  json::Value next;
  if (element) {
    next = node.find("items");
  } else {
    if (const json::Value properties = node.find("properties")) next = properties.find(name);
    if (!next) next = node.find("additionalProperties");
  }
  return next && next.is_object() ? resolve(next) : json::Value();
}

bool Outline::allows(json::Value node, std::string_view name) {
  if (!node || !node.is_object()) return true;
  const json::Value properties = node.find("properties");
  if (properties && properties.find(name)) return true;
  const json::Value additional = node.find("additionalProperties");
  return !additional || !additional.is_bool() || additional.boolean();
}

std::vector<std::string> Outline::names(json::Value node) {
  std::vector<std::string> names;
  const json::Value properties = node ? node.find("properties") : json::Value();
  if (!properties) return names;
  for (const json::Member member : properties.members()) {
    const json::Value deprecated = member.value.find("deprecated");
    const std::string name = member.name();
    if (!deprecated && name != "$schema") names.push_back(name);
  }
  return names;
}

std::string type_name(json::Kind kind) {
  switch (kind) {
    case json::Kind::null:
      return "null";
    case json::Kind::boolean:
      return "true or false";
    case json::Kind::number:
      return "a number";
    case json::Kind::string:
      return "a string";
    case json::Kind::array:
      return "a list";
    case json::Kind::object:
      return "an object";
  }
  return "something else";
}

std::string Outline::types(json::Value node) {
  const auto word = [](const json::Value& type) -> std::string {
    if (type.equals("string")) return "a string";
    if (type.equals("integer")) return "a whole number";
    if (type.equals("number")) return "a number";
    if (type.equals("boolean")) return "true or false";
    if (type.equals("array")) return "a list";
    if (type.equals("object")) return "an object";
    return "null";
  };
  const json::Value type = node ? node.find("type") : json::Value();
  if (!type) return "another value";
  if (!type.is_array()) return word(type);
  std::string text;
  std::size_t index = 0;
  for (const json::Value one : type.elements()) {
    if (index > 0) text += index + 1 == type.size() ? " or " : ", ";
    text += word(one);
    ++index;
  }
  return text;
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += fmt::format("`{}`", names[i]);
  }
  if (names.size() > most) text += fmt::format(" or one of {} more", names.size() - most);
  return text;
}

std::string Outline::remedy(json::Value node, std::string_view name) {
  if (const json::Value remedies = node ? node.find("x-remedy") : json::Value()) {
    if (const json::Value remedy = remedies.find(name)) return remedy.string();
  }
  const std::vector<std::string> known = names(node);
  if (const auto near = nearest(name, known)) return fmt::format("did you mean `{}`?", *near);
  if (known.empty()) return "leave it out";
  return fmt::format("known here: {}", listed(known, 24));
}

std::vector<std::string> Outline::choices(json::Value node) {
  std::vector<std::string> choices;
  const json::Value values = node ? node.find("enum") : json::Value();
  if (!values) return choices;
  for (const json::Value one : values.elements())
    choices.push_back(one.is_string() ? one.string() : std::string(one.raw()));
  return choices;
}

}  // namespace sallyport::schema
