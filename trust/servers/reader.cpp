#include "trust/servers/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "schemas/core/encoding.hpp"

namespace sallyport::trust {
namespace {

std::string suggestion(std::string_view name, Words known) {
  const std::vector<std::string> list(known.begin(), known.end());
  const auto near = nearest(name, list);
  return near ? fmt::format("; did you mean `{}`?", *near) : fmt::format("; known: {}", fmt::join(known, ", "));
}

}  // namespace

std::string one_of(Words words) { return fmt::format("one of {}", fmt::join(words, ", ")); }

ObjectReader::ObjectReader(json::Value value, std::string_view what, FaultList& faults, Words known)
    : value_(value), faults_(faults) {
  if (!value.is_object()) {
    faults.error(value, fmt::format("{} is an object", what));
    return;
  }
  std::set<std::string, std::less<>> seen;
  for (const auto member : value.members()) {
    const auto name = member.name();
    if (!seen.insert(name).second) {
      faults.error(member.key, fmt::format("`{}` stands here twice; remove one", visible(name)));
    } else if (std::ranges::find(known, std::string_view(name)) == known.end()) {
      faults.error(member.key, fmt::format("{} has no member `{}`{}", what, visible(name), suggestion(name, known)));
    }
  }
}

std::optional<std::string> ObjectReader::text(std::string_view name) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  if (!value.is_string() || value.raw().size() == 2) {
    faults_.error(value, fmt::format("`{}` is a text that is not empty", name));
    return std::nullopt;
  }
  return value.string();
}

std::optional<bool> ObjectReader::flag(std::string_view name) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  if (!value.is_bool()) {
    faults_.error(value, fmt::format("`{}` is true or false", name));
    return std::nullopt;
  }
  return value.boolean();
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  const auto number = value.is_number() ? value.integer() : std::nullopt;
  if (!number || *number < low || *number > high) {
    faults_.error(value, fmt::format("`{}` is an integer from {} to {}", name, low, high));
    return std::nullopt;
  }
  return number;
}

std::optional<Millis> ObjectReader::duration(std::string_view name) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  const auto time = value.is_string() ? parse_duration(value.string()) : std::nullopt;
  if (!time)
    faults_.error(value, fmt::format("`{}` is a duration like \"300ms\", \"45s\", \"10m\", \"24h\" or \"7d\"", name));
  return time;
}

std::optional<std::size_t> ObjectReader::word(std::string_view name, Words words) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  return read_word(value, words, fmt::format("`{}`", name), faults_);
}

std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view name) const {
  const auto value = get(name);
  if (!value) return std::nullopt;
  if (!value.is_array()) {
    faults_.error(value, fmt::format("`{}` is a list of texts", name));
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (const auto item : value.elements()) {
    if (item.is_string() && item.raw().size() > 2) {
      out.push_back(item.string());
    } else {
      faults_.error(item, fmt::format("`{}` holds texts that are not empty", name));
    }
  }
  return out;
}

std::vector<std::string> ObjectReader::pointers(std::string_view name) const {
  const auto value = get(name);
  if (!value) return {};
  if (!value.is_array()) {
    faults_.error(value, fmt::format("`{}` is a list of JSON Pointers like \"/path\"", name));
    return {};
  }
  std::vector<std::string> out;
  for (const auto item : value.elements()) {
    if (check_pointer(item, faults_)) out.push_back(item.string());
  }
  return out;
}

std::optional<std::string> ObjectReader::pointer(std::string_view name) const {
  const auto value = get(name);
  if (!value || !check_pointer(value, faults_)) return std::nullopt;
  return value.string();
}

std::optional<std::size_t> read_word(json::Value value, Words words, std::string_view what, FaultList& faults) {
  if (value.is_string()) {
    const auto text = value.string();
    const auto* found = std::ranges::find(words, std::string_view(text));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    const std::vector<std::string> list(words.begin(), words.end());
    const auto near = nearest(text, list);
    faults.error(value, fmt::format("{} is {}, not `{}`{}", what, one_of(words), visible(text),
                                    near ? fmt::format("; did you mean `{}`?", *near) : ""));
    return std::nullopt;
  }
  faults.error(value, fmt::format("{} is {}", what, one_of(words)));
  return std::nullopt;
}

bool check_pointer(json::Value where, FaultList& faults) {
  if (where.is_string()) {
    const auto text = where.string();
    if (!text.empty() && pointer_steps(text)) return true;
    faults.error(where,
                 text.starts_with("/") || text.empty()
                     ? fmt::format("`{}` is no JSON Pointer", visible(text))
                     : fmt::format("`{}` is no JSON Pointer; did you mean `/{}`?", visible(text), visible(text)));
    return false;
  }
  faults.error(where, "a JSON Pointer is a text like \"/path\"");
  return false;
}

}  // namespace sallyport::trust
