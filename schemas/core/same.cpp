#include <algorithm>
#include <forward_list>
#include <utility>

#include "schemas/core/json.hpp"
#include "schemas/core/number.hpp"

namespace sallyport::json {
namespace {

using Pairs = std::vector<std::pair<Value, Value>>;

bool same_text(Value a, Value b) {
  if (const auto plain = a.plain_string()) return b.equals(*plain);
  if (const auto plain = b.plain_string()) return a.equals(*plain);
  return a.raw() == b.raw() || a.string() == b.string();
}

bool same_number(std::string_view a, std::string_view b) { return a == b || equal(Decimal(a), Decimal(b)); }

// Scalars are compared now, containers later.
bool same_or_later(Value a, Value b, Pairs& later) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  switch (a.kind()) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return a.boolean() == b.boolean();
    case Kind::number:
      return same_number(a.number(), b.number());
    case Kind::string:
      return same_text(a, b);
    case Kind::array:
    case Kind::object:
      if (a.size() > 0) later.emplace_back(a, b);
      return true;
  }
  return false;
}

bool same_elements(Value a, Value b, Pairs& later) {
  auto theirs = b.elements().begin();
  for (const Value element : a.elements()) {
    if (!same_or_later(element, *theirs, later)) return false;
    ++theirs;
  }
  return true;
}

struct Named {
  std::string_view name;
  Value value;
};

// Sorted by decoded name, equal names in the order of the text.
std::vector<Named> by_name(Value object, std::forward_list<std::string>& decoded) {
  std::vector<Named> members;
  members.reserve(object.size());
  for (const auto [key, value] : object.members()) {
    const auto plain = key.plain_string();
    members.push_back({plain ? *plain : std::string_view(decoded.emplace_front(key.string())), value});
  }
  std::ranges::sort(members, [](const Named& a, const Named& b) {
    return a.name == b.name ? a.value.index() < b.value.index() : a.name < b.name;
  });
  return members;
}

bool same_members(Value a, Value b, Pairs& later) {
  // As long as the orders agree nothing needs sorting.
  const std::size_t mark = later.size();
  auto theirs = b.members().begin();
  bool in_order = true;
  for (const auto [key, value] : a.members()) {
    const Member other = *theirs;
    in_order = same_text(key, other.key);
    if (!in_order) break;
    if (!same_or_later(value, other.value, later)) return false;
    ++theirs;
  }
  if (in_order) return true;
  later.resize(mark);
  std::forward_list<std::string> decoded;
  const auto mine = by_name(a, decoded);
  const auto others = by_name(b, decoded);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].name != others[i].name || !same_or_later(mine[i].value, others[i].value, later)) return false;
  }
  return true;
}

}  // namespace

bool same(Value a, Value b) {
  if (!a || !b) return !a && !b;
  Pairs later;
  if (!same_or_later(a, b, later)) return false;
  while (!later.empty()) {
    const auto [left, right] = later.back();
    later.pop_back();
    if (!(left.is_object() ? same_members(left, right, later) : same_elements(left, right, later))) return false;
  }
  return true;
}

}  // namespace sallyport::json
