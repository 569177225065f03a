// The compiled form of a Condition; private to policy/conditions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "policy/conditions/condition.hpp"
#include "policy/conditions/decimal.hpp"
#include "policy/conditions/pattern.hpp"
#include "policy/conditions/places.hpp"

namespace sallyport::policy {

constexpr unsigned kind_bit(json::Kind kind) { return 1U << static_cast<unsigned>(kind); }
inline constexpr unsigned kAllKinds = 0x3f;

// One value to be equal to.
struct Operand {
  json::Kind kind = json::Kind::null;
  bool boolean = false;
  Decimal number;
  std::string text;
};

struct Condition::Node {
  Place place = Place::tightening;
  bool closed = false;
  unsigned kinds = 0;  // what its operands or keywords speak of; 0: `{}`

  std::vector<Operand> operands;  // equals, one of; then no keyword is set
  std::optional<Decimal> minimum, maximum, exclusive_minimum, exclusive_maximum;
  std::optional<std::uint64_t> min_length, max_length, min_items, max_items;
  std::optional<Pattern> pattern;
  std::vector<std::vector<std::string>> folders;
  std::vector<HostPort> hosts;
  std::optional<Condition> items;
  std::optional<ArgumentConditions> members;
  std::optional<Condition> negated;

  [[nodiscard]] bool needs_schema() const { return items || members || negated; }
};

}  // namespace sallyport::policy
