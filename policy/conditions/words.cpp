#include "policy/conditions/words.hpp"

#include <fmt/format.h>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string raw(json::Value value) { return visible(value.raw()); }

std::string listed(json::Value list) {
  std::string out;
  for (const json::Value item : list.elements()) out += (out.empty() ? "" : ", ") + raw(item);
  return out;
}

std::string words_of(json::Value condition);

std::string members_words(json::Value members) {
  std::string out;
  for (const json::Member member : members.members())
    out += fmt::format("{}`{}` {}", out.empty() ? "" : ", ", visible(member.name()), words_of(member.value));
  return "an object where " + (out.empty() ? std::string("nothing stands") : out) + " and nothing else stands";
}

std::string keyword_words(std::string_view name, json::Value value) {
  if (name == "minimum") return "at least " + raw(value);
  if (name == "maximum") return "at most " + raw(value);
  if (name == "exclusiveMinimum") return "more than " + raw(value);
  if (name == "exclusiveMaximum") return "less than " + raw(value);
  if (name == "minLength") return fmt::format("{} characters or longer", raw(value));
  if (name == "maxLength") return fmt::format("no longer than {} characters", raw(value));
  if (name == "minItems") return fmt::format("{} elements or more", raw(value));
  if (name == "maxItems") return fmt::format("no more than {} elements", raw(value));
  if (name == "pattern") return "a text that fits the pattern " + raw(value);
  if (name == "pathWithin") return "a path within " + (value.is_array() ? listed(value) : raw(value));
  if (name == "hostIn") return "a URL at " + (value.is_array() ? listed(value) : raw(value));
  if (name == "items") return "a list, each " + words_of(value);
  if (name == "members") return members_words(value);
  return fmt::format("{} {}", name, raw(value));
}

std::string words_of(json::Value condition) {
  if (condition.is_array()) return "is one of " + listed(condition);
  if (!condition.is_object()) return "is exactly " + raw(condition);
  std::string out;
  for (const json::Member keyword : condition.members())
    out += (out.empty() ? "is " : " and ") + keyword_words(keyword.name(), keyword.value);
  return out.empty() ? "may be anything" : out;
}

}  // namespace

std::vector<std::string> in_words(json::Value conditions) {
  std::vector<std::string> out;
  for (const json::Member member : conditions.members()) {
    std::string name = member.name();
    const bool optional = name.ends_with('?');
    if (optional) name.pop_back();
    out.push_back(fmt::format("`{}` {}{}", visible(name), words_of(member.value), optional ? ", or is not there" : ""));
  }
  return out;
}

}  // namespace sallyport::policy
