#include "schemas/validate/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/shown_place.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kShown = 80;          // bytes of a value
constexpr std::size_t kShownList = 400;     // bytes of a list of values or names
constexpr std::size_t kKnownNames = 2'000;  // names that are searched for a near one

std::string cut(std::string_view text, std::size_t limit = kShown) {
  if (text.size() <= limit) return visible(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80) --limit;
  return visible(text.substr(0, limit)) + "…";
}

std::string_view article(json::Kind kind) {
  switch (kind) {
    case json::Kind::null:
      return "null";
    case json::Kind::boolean:
      return "a boolean";
    case json::Kind::number:
      return "a number";
    case json::Kind::string:
      return "a string";
    case json::Kind::array:
      return "an array";
    case json::Kind::object:
      return "an object";
  }
  return "";
}

std::string types(json::Value type) {
  const auto one = [](const std::string& name) {
    if (name == "null") return name;
    return (name == "array" || name == "object" || name == "integer" ? "an " : "a ") + name;
  };
  if (type.is_string()) return one(type.string());
  std::string out;
  std::size_t place = 0;
  for (const json::Value name : type.elements()) {
    if (place != 0) out += place + 1 == type.size() ? " or " : ", ";
    out += one(name.string());
    ++place;
  }
  return out;
}

std::string list(json::Value array) {
  std::string out;
  std::size_t place = 0;
  for (const json::Value value : array.elements()) {
    if (out.size() > kShownList) return fmt::format("{} and {} more", out, array.size() - place);
    out += (place == 0 ? "" : ", ") + cut(value.raw());
    ++place;
  }
  return out;
}

std::string names_list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (out.size() > kShownList) return fmt::format("{} and {} more", out, names.size() - i);
    out += fmt::format("{}`{}`", i == 0 ? "" : ", ", cut(names[i]));
  }
  return out;
}

std::string plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string plural(std::string_view count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == "1" ? "" : "s");
}

bool under(std::string_view place, std::string_view pointer) {
  return place.starts_with(pointer) && (place.size() == pointer.size() || place[pointer.size()] == '/');
}

}  // namespace

std::string shown_place(std::string_view pointer, std::span<const std::string> redact) {
  std::string cut_off = nearest_place(pointer);
  const std::string folded = fold(cut_off).value_or(cut_off);
  for (const std::string& hidden : redact) {
    if (under(cut_off, hidden) || under(folded, fold(hidden).value_or(hidden))) return hidden;
  }
  return cut_off;
}

Explainer::Explainer(const Program& program, json::Value instance, std::span<const std::string> redact)
    : program_(program), prefix_(instance.pointer().size()), redact_(redact.begin(), redact.end()) {
  for (const auto& pointer : redact) folded_.push_back(fold(pointer).value_or(pointer));
}

// A lookalike of a hidden name holds what the name would have held; and text where an object with a hidden member
// should stand is often that object, written as a string.
Explainer::Place Explainer::place_of(json::Value value) const {
  Place place;
  const std::string pointer = value.pointer().substr(prefix_);
  place.shown = nearest_place(pointer);
  place.long_ = place.shown.size() != pointer.size();
  if (redact_.empty()) return place;
  if (place.long_) {  // names as long as that are not looked into
    place.secret = place.within = true;
    place.shown = shown_place(pointer, redact_);
    return place;
  }
  const std::string folded = fold(pointer).value_or(pointer);
  const bool scalar = !value.is_object() && !value.is_array();
  for (std::size_t i = 0; i < redact_.size(); ++i) {
    if (under(pointer, redact_[i]) || under(folded, folded_[i])) {
      place.secret = true;
      place.within = redact_[i].size() < pointer.size();
      place.shown = redact_[i];
      return place;
    }
    place.secret = place.secret || (scalar && (under(redact_[i], pointer) || under(folded_[i], folded)));
  }
  return place;
}

std::string Explainer::schema_pointer(SubId id, Keyword keyword) const {
  const Sub& sub = program_.subs[id];
  std::string pointer = sub.node.pointer();
  if (keyword != Keyword::false_schema && keyword != Keyword::limit && keyword != Keyword::lookalike) {
    const auto& resource = program_.resources[sub.resource];
    if (!(keyword == Keyword::id && resource.dialect == Dialect::draft4))
      pointer += "/" + pointer_step(to_string(keyword));
  }
  pointer = nearest_place(pointer);
  if (sub.node.document() == program_.documents.front().get()) return pointer;
  return program_.resources[sub.resource].uri + "#" + pointer;
}

json::Value Explainer::stated(const RawFault& fault, Keyword keyword) const {
  const json::Value node = program_.subs[fault.sub].node;
  return node.is_object() ? node.find(to_string(keyword)) : json::Value();
}

std::string Explainer::came(json::Value value) const {
  if (place_.secret) return fmt::format("{} (hidden)", article(value.kind()));
  switch (value.kind()) {
    case json::Kind::null:
      return "null";
    case json::Kind::array:
      return fmt::format("an array of {}", plural(value.size(), "element"));
    case json::Kind::object:
      return fmt::format("an object with {}", plural(value.size(), "member"));
    default:
      return fmt::format("the {} {}", to_string(value.kind()), cut(value.raw()));
  }
}

SchemaFault Explainer::explain(const RawFault& fault) {
  SchemaFault out;
  place_ = place_of(fault.at);
  out.instance = place_.shown;
  out.keyword = to_string(fault.keyword);
  out.schema = schema_pointer(fault.sub, fault.keyword);
  out.message = message(fault);
  if (place_.long_) out.message += " (somewhere inside: the pointer to it is too long to write)";
  return out;
}

SchemaFault Explainer::limit(const Evaluator& stopped) {
  SchemaFault out;
  out.keyword = to_string(Keyword::limit);
  if (stopped.stopped_at()) out.instance = place_of(stopped.stopped_at()).shown;
  switch (stopped.stopped()) {
    case Evaluator::Stop::depth:
      out.message =
          fmt::format("the schema and the value nest deeper than {} levels together; send a flatter value", kMaxFrames);
      break;
    case Evaluator::Stop::pattern:
      out.message = "a pattern of the schema took too long on this text; send a shorter or simpler one";
      break;
    case Evaluator::Stop::number:
      out.message = fmt::format("a number has more than {} characters", Decimal::kMaxToken);
      break;
    default:
      out.message = fmt::format("judging this value takes more than {} steps; send a smaller one", program_.steps);
      break;
  }
  return out;
}

std::string Explainer::message(const RawFault& fault) const {
  switch (fault.keyword) {
    case Keyword::type:
    case Keyword::enum_:
    case Keyword::const_:
    case Keyword::pattern:
    case Keyword::format:
    case Keyword::minimum:
    case Keyword::maximum:
    case Keyword::exclusive_minimum:
    case Keyword::exclusive_maximum:
    case Keyword::multiple_of:
      return value_message(fault);
    case Keyword::any_of:
    case Keyword::one_of:
    case Keyword::not_:
      return branch_message(fault);
    case Keyword::required:
    case Keyword::dependencies:
    case Keyword::dependent_required:
    case Keyword::property_names:
    case Keyword::lookalike:
    case Keyword::additional_properties:
    case Keyword::unevaluated_properties:
    case Keyword::false_schema:
      return member_message(fault);
    default:
      return size_message(fault);
  }
}

std::string Explainer::value_message(const RawFault& fault) const {
  const json::Value limit = stated(fault, fault.keyword);
  const std::string expected = limit ? cut(limit.raw()) : std::string();
  const std::string got = came(fault.at);
  const bool exclusive = stated(fault, Keyword::exclusive_minimum) || stated(fault, Keyword::exclusive_maximum);
  switch (fault.keyword) {
    case Keyword::type:
      return fmt::format("expected {}, got {}", types(limit), got);
    case Keyword::enum_:
      return enum_message(fault);
    case Keyword::const_:
      return fmt::format("expected exactly {}, got {}", expected, got);
    case Keyword::pattern:
      return fmt::format("expected a string that matches the pattern {}, got {}", expected, got);
    case Keyword::format:
      return fmt::format("expected a string of the format {}, got {}", expected, got);
    case Keyword::minimum: {
      const bool more = program_.subs[fault.sub].strict_integer && exclusive;
      return fmt::format("expected {} {}, got {}", more ? "more than" : "at least", expected, got);
    }
    case Keyword::maximum: {
      const bool less = program_.subs[fault.sub].strict_integer && exclusive;
      return fmt::format("expected {} {}, got {}", less ? "less than" : "at most", expected, got);
    }
    case Keyword::exclusive_minimum:
      return fmt::format("expected more than {}, got {}", expected, got);
    case Keyword::exclusive_maximum:
      return fmt::format("expected less than {}, got {}", expected, got);
    default:
      return fmt::format("expected a multiple of {}, got {}", expected, got);
  }
}

std::string Explainer::enum_message(const RawFault& fault) const {
  const json::Value limit = stated(fault, Keyword::enum_);
  std::string out = fmt::format("expected one of {}, got {}", list(limit), came(fault.at));
  if (!fault.at.is_string() || limit.size() > kKnownNames || place_.secret) return out;
  std::vector<std::string> known;
  for (const json::Value value : limit.elements()) {
    if (value.is_string()) known.push_back(value.string());
  }
  const std::string text = fault.at.string();
  if (text.size() > kShown) return out;
  if (const auto near = nearest(text, known)) out += fmt::format("; did you mean `{}`?", cut(*near));
  return out;
}

std::string Explainer::size_message(const RawFault& fault) const {
  const std::string length = place_.secret ? "" : fmt::format(", got {}", fault.a);
  const json::Value limit = stated(fault, fault.keyword);
  const std::string expected = limit ? cut(limit.raw()) : std::string();
  switch (fault.keyword) {
    case Keyword::min_length:
      return fmt::format("expected at least {}{}", plural(expected, "character"), length);
    case Keyword::max_length:
      return fmt::format("expected at most {}{}", plural(expected, "character"), length);
    case Keyword::min_items:
      return fmt::format("expected at least {}{}", plural(expected, "element"), length);
    case Keyword::max_items:
      return fmt::format("expected at most {}{}", plural(expected, "element"), length);
    case Keyword::min_properties:
      return fmt::format("expected at least {}{}", plural(expected, "member"), length);
    case Keyword::max_properties:
      return fmt::format("expected at most {}{}", plural(expected, "member"), length);
    case Keyword::unique_items:
      return fmt::format("expected different elements, but {} and {} (counting from 0) are equal", fault.a, fault.b);
    case Keyword::contains:
      return "expected at least one element of the form that `contains` asks for, got none";
    case Keyword::min_contains:
      return fmt::format("expected at least {} elements of the form that `contains` asks for, got {}", expected,
                         fault.a);
    case Keyword::max_contains:
      return fmt::format("expected at most {} elements of the form that `contains` asks for, got {}", expected,
                         fault.a);
    case Keyword::unevaluated_items:
      return fmt::format("element {} (counting from 1) is not allowed; leave it out", fault.a);
    default:  // items and additionalItems after a prefix
      return fmt::format("expected at most {}, and there are more; leave them out", plural(fault.b, "element"));
  }
}

std::string Explainer::branch_message(const RawFault& fault) const {
  if (fault.keyword == Keyword::not_) return fmt::format("{} is what the schema excludes by `not`", came(fault.at));
  if (!fault.text.empty()) {
    return fmt::format(
        "matches the forms {} of `oneOf` together (counting from 1), and exactly one is allowed; leave out what "
        "belongs to the others",
        fault.text);
  }
  const json::Value all = stated(fault, fault.keyword);
  std::string name;
  std::size_t place = 0;
  for (const json::Value branch : all.elements()) {
    if (++place != fault.a || !branch.is_object()) continue;
    const json::Value title = branch.find("title");
    if (title && title.is_string()) name = fmt::format(" (`{}`)", cut(title.string()));
  }
  return fmt::format("{} matches none of the {} allowed forms; the closest is form {}{}, and its faults follow",
                     came(fault.at), fault.b, fault.a, name);
}

std::vector<std::string> Explainer::declared(const RawFault& fault) const {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (names.size() < kKnownNames) names.emplace_back(name);
  };
  const Sub& sub = program_.subs[fault.sub];
  const json::Value properties = stated(fault, Keyword::properties);
  if (properties && properties.is_object()) {
    for (const auto [key, schema] : properties.members()) {
      if (!schema.is_bool() || schema.boolean()) add(NameText(key).view());
    }
  }
  if (names.empty() && sub.name_table != kNone) {  // unevaluatedProperties: what is declared in place
    for (const auto name : Program::slice(program_.words, program_.name_tables[sub.name_table].names)) add(name);
  }
  return names;
}

std::string Explainer::required_message(const RawFault& fault) const {
  std::string kind;
  const json::Value properties = stated(fault, Keyword::properties);
  const json::Value schema = properties && properties.is_object() ? properties.find(fault.text) : json::Value();
  if (schema && schema.is_object()) {
    const json::Value type = schema.find("type");
    if (type) kind = fmt::format(" ({})", types(type));
  }
  return fmt::format("the member `{}`{} is required and missing; add it", cut(fault.text), kind);
}

std::string Explainer::unknown_message(const RawFault& fault) const {
  if (place_.within) return "a member (hidden) is not allowed here";
  const auto known = declared(fault);
  std::string out = fmt::format("the member `{}` is not allowed", cut(fault.text));
  if (fault.text.size() <= kShown) {
    if (const auto near = nearest(fault.text, known)) return fmt::format("{}; did you mean `{}`?", out, cut(*near));
  }
  if (known.empty()) return out + "; leave it out";
  return fmt::format("{}; known are {}", out, names_list(known));
}

std::string Explainer::member_message(const RawFault& fault) const {
  const std::string name = place_.within ? "(hidden)" : cut(fault.text);
  switch (fault.keyword) {
    case Keyword::required:
      return required_message(fault);
    case Keyword::dependencies:
    case Keyword::dependent_required:
      return fmt::format("the member `{}` is required because `{}` is there; add it", cut(fault.text),
                         cut(fault.other));
    case Keyword::property_names:
      return fmt::format("`{}` is not allowed as the name of a member; the reason follows", name);
    case Keyword::lookalike:
      return fmt::format(
          "the member `{}` differs from `{}` only by case, width or normalisation; write the name exactly", name,
          cut(fault.other));
    case Keyword::false_schema:
      return fault.at ? fmt::format("nothing is allowed here, got {}; leave it out", came(fault.at)) : std::string();
    default:
      return unknown_message(fault);
  }
}

}  // namespace sallyport::schema
