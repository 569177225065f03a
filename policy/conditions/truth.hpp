// The three values of judging, and where a condition stands (design section 4, "Conditions").
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/core/fault.hpp"

namespace sallyport::policy {

// Ordered so that the lesser of two is their conjunction and the greater their disjunction.
enum class Truth : std::uint8_t { no, undetermined, yes };

// What tightens holds unless false; what loosens holds only if true.
enum class Place : std::uint8_t { tightening, loosening };

[[nodiscard]] constexpr bool holds(Truth truth, Place place) {
  return place == Place::tightening ? truth != Truth::no : truth == Truth::yes;
}
[[nodiscard]] constexpr Truth both(Truth a, Truth b) { return a < b ? a : b; }
[[nodiscard]] constexpr Truth either(Truth a, Truth b) { return a < b ? b : a; }
[[nodiscard]] constexpr Truth negate(Truth a) {
  return a == Truth::yes ? Truth::no : a == Truth::no ? Truth::yes : Truth::undetermined;
}

// Why a condition did not hold, for `explain`: where in the arguments (RFC 6901) and what was demanded there, in a few
// words. It never carries the value that was judged.
struct Miss {
  std::string pointer;
  std::string words;
};

// Counts the work of one judging and bounds it (promise 11). At the bound every further condition is undetermined and
// `exhausted()` is true; whoever judges must then refuse the call (RULE_FAILED).
class Work {
 public:
  static constexpr std::uint64_t kDefaultLimit = 4'000'000;
  explicit Work(std::uint64_t limit = kDefaultLimit) : limit_(limit) {}

  // One condition looked at, and `cost` steps for it; false at the bound.
  [[nodiscard]] bool take(std::uint64_t cost = 1) {
    ++conditions_;
    return spend(cost);
  }
  // Work that is no condition: a search in a wide object.
  [[nodiscard]] bool spend(std::uint64_t cost) {
    steps_ += cost;
    return steps_ <= limit_;
  }
  [[nodiscard]] bool exhausted() const { return steps_ > limit_; }
  [[nodiscard]] std::uint64_t conditions() const { return conditions_; }

 private:
  std::uint64_t limit_;
  std::uint64_t steps_ = 0;
  std::uint64_t conditions_ = 0;
};

using Variables = std::map<std::string, std::string, std::less<>>;  // `vars` of the config

// What compiling needs. `closed`: objects are closed at every level (`arguments` of what loosens).
struct CompileContext {
  FaultList& faults;
  Place place = Place::tightening;
  bool closed = false;
  const Variables* variables = nullptr;  // null: `${…}` stays as it is
};

// A string of a policy file with its `${name}` replaced; an unknown name is a fault. `quoted`: values are escaped for
// use inside a pattern, so that they cannot change its meaning.
[[nodiscard]] std::string expand(json::Value text, const CompileContext& context, bool quoted = false);

}  // namespace sallyport::policy
