// The keywords of numbers, strings and arrays.
#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/evaluator.hpp"

namespace sallyport::schema {
namespace {

// An instance's number: as an int64 where it is one, else exact.
class Exact {
 public:
  explicit Exact(json::Value value) : token_(value.number()), small_(value.integer()) {}
  int compare(const Decimal& bound) {
    if (small_ && bound.small()) return *small_ < *bound.small() ? -1 : static_cast<int>(*small_ > *bound.small());
    return decimal().compare(bound);
  }
  bool multiple_of(const Decimal& step) {
    if (small_ && step.small()) return *step.small() == 1 || *small_ % *step.small() == 0;
    return decimal().multiple_of(step);
  }

 private:
  const Decimal& decimal() {
    if (!decimal_) decimal_.emplace(token_);
    return *decimal_;
  }
  std::string_view token_;
  std::optional<std::int64_t> small_;
  std::optional<Decimal> decimal_;
};

constexpr int kHashLevels = 8;  // of nesting; what lies deeper is told apart by comparing

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::uint64_t scalar_hash(json::Value value) {
  constexpr std::uint64_t kSeed = 0xCBF29CE484222325;
  const auto kind = static_cast<std::uint64_t>(value.kind()) + 1;
  switch (value.kind()) {
    case json::Kind::boolean:
      return kSeed * (kind + (value.boolean() ? 16 : 0));
    case json::Kind::number: {
      const double exact = value.real();
      const double real = exact == 0 ? 0.0 : exact;  // one zero
      return mix(kSeed * kind, {reinterpret_cast<const char*>(&real), sizeof(real)});
    }
    case json::Kind::string:
      return mix(kSeed * kind, NameText(value).view());
    default:
      return kSeed * kind + value.size();
  }
}

// Equal for equal values, whatever the order of members.
std::uint64_t hash_of(json::Value value, int levels) {
  std::uint64_t hash = scalar_hash(value);
  if (levels == 0) return hash;
  for (const json::Value element : value.elements()) hash = hash * 31 + hash_of(element, levels - 1);
  for (const auto [key, child] : value.members()) hash += (scalar_hash(key) | 1) * hash_of(child, levels - 1);
  return hash;
}

}  // namespace

bool Evaluator::number(const Sub& sub, const NumberPart& part, json::Value value) {
  if (value.number().size() > Decimal::kMaxToken) {
    stop_at_ = value;
    stop(Stop::number);
    return false;
  }
  // Long division is work: in proportion to the number's length, and to the square of the divisor's.
  constexpr std::size_t kLong = 18;
  constexpr std::size_t kLongDivision = 500;
  if (part.multiple_of != kNone) {
    const std::size_t divisor = program_.decimals[part.multiple_of].digits();
    const std::size_t work = (value.number().size() > kLong ? value.number().size() : 0) +
                             (divisor > kLong ? kLongDivision + divisor * divisor / 32 : 0);
    if (work != 0 && !step(work)) return false;
  }
  Exact exact(value);
  bool ok = true;
  const auto check = [&](std::uint32_t bound, Keyword keyword, auto holds) {
    if (bound == kNone || holds(program_.decimals[bound])) return true;
    ok = false;
    return fault(sub, keyword, value);
  };
  return check(part.minimum, Keyword::minimum, [&](const Decimal& d) { return exact.compare(d) >= 0; }) &&
         check(part.maximum, Keyword::maximum, [&](const Decimal& d) { return exact.compare(d) <= 0; }) &&
         check(part.exclusive_minimum, sub.strict_integer ? Keyword::minimum : Keyword::exclusive_minimum,
               [&](const Decimal& d) { return exact.compare(d) > 0; }) &&
         check(part.exclusive_maximum, sub.strict_integer ? Keyword::maximum : Keyword::exclusive_maximum,
               [&](const Decimal& d) { return exact.compare(d) < 0; }) &&
         check(part.multiple_of, Keyword::multiple_of, [&](const Decimal& d) { return exact.multiple_of(d); }) && ok;
}

bool Evaluator::matches(std::uint32_t pattern, std::string_view text, json::Value at) {
  const std::uint64_t before = steps_;
  const auto outcome = matcher_.match(program_.patterns[pattern], text, steps_, program_.steps);
  if (outcome == Matcher::Outcome::limit) {
    // Whoever took the most of the steps is the reason: this pattern, or all that came before it.
    const bool all_used = steps_ > program_.steps;
    stop_at_ = at;
    stop(all_used && before > program_.steps / 2 ? Stop::steps : Stop::pattern);
  }
  return outcome == Matcher::Outcome::match;
}

bool Evaluator::string(const Sub& sub, const StringPart& part, json::Value value) {
  const NameText text(value);
  const std::size_t size = text.view().size();
  if (!step(size / 64)) return false;
  bool ok = true;
  // A code point has one to four bytes: most lengths need no counting.
  if (size > part.max_length || size / 4 < part.min_length) {
    const std::uint64_t length = code_points(text.view());
    if (length < part.min_length) {
      ok = false;
      if (!fault(sub, Keyword::min_length, value, {}, length)) return false;
    }
    if (length > part.max_length) {
      ok = false;
      if (!fault(sub, Keyword::max_length, value, {}, length)) return false;
    }
  }
  if (part.pattern != kNone && !matches(part.pattern, text.view(), value)) {
    ok = false;
    if (!fault(sub, Keyword::pattern, value)) return false;
  }
  if (part.format != Format::none && !has_format(part.format, text.view())) {
    ok = false;
    if (!fault(sub, Keyword::format, value)) return false;
  }
  return ok;
}

bool Evaluator::array(const Sub& sub, const ArrayPart& part, json::Value value, Marks* marks) {
  const std::size_t size = value.size();
  bool ok = true;
  if (size < part.min_items) {
    ok = false;
    if (!fault(sub, Keyword::min_items, value, {}, size)) return false;
  }
  if (size > part.max_items) {
    ok = false;
    if (!fault(sub, Keyword::max_items, value, {}, size)) return false;
  }
  if ((part.prefix.count != 0 || part.items != kNone) && !elements(sub, part, value)) {
    ok = false;
    if (sink_ == nullptr) return false;
  }
  if (marks != nullptr) {
    marks->set_prefix(part.prefix.count);
    if (part.items != kNone) marks->set_all();
  }
  if (part.contains != kNone && !contains(sub, part, value, marks)) {
    ok = false;
    if (sink_ == nullptr) return false;
  }
  if (part.unique && !unique(sub, value)) ok = false;
  return ok;
}

bool Evaluator::elements(const Sub& sub, const ArrayPart& part, json::Value value) {
  const auto prefix = Program::slice(program_.lists, part.prefix);
  bool ok = true;
  std::size_t place = 0;
  for (const json::Value element : value.elements()) {
    const bool in_prefix = place < prefix.size();
    const SubId id = in_prefix ? prefix[place] : part.items;
    ++place;
    if (id == kNone) break;
    if (!in_prefix && program_.subs[id].never && !prefix.empty()) {
      fault(sub, part.items_keyword, element, {}, place, prefix.size());
      return false;  // one fault for all that are too many
    }
    if (enter(id, element)) continue;
    ok = false;
    if (sink_ == nullptr || stop_ != Stop::none) return false;
  }
  return ok;
}

bool Evaluator::contains(const Sub& sub, const ArrayPart& part, json::Value value, Marks* marks) {
  std::uint64_t count = 0;
  std::size_t place = 0;
  const bool all = (part.contains_marks && marks != nullptr) || part.max_contains != kUnbounded;
  Sink* const sink = std::exchange(sink_, nullptr);
  for (const json::Value element : value.elements()) {
    if (!all && count >= part.min_contains) break;
    if (enter(part.contains, element)) {
      ++count;
      if (part.contains_marks && marks != nullptr) marks->set(place);
    }
    if (stop_ != Stop::none) break;
    ++place;
  }
  sink_ = sink;
  if (stop_ != Stop::none) return false;
  if (count < part.min_contains) {
    fault(sub, part.min_contains == 1 ? Keyword::contains : Keyword::min_contains, value, {}, count);
    return false;
  }
  if (count > part.max_contains) {
    fault(sub, Keyword::max_contains, value, {}, count);
    return false;
  }
  return true;
}

bool Evaluator::unique(const Sub& sub, json::Value value) {
  struct Hashed {
    std::uint64_t hash;
    std::size_t place;
    json::Value element;
  };
  if (value.size() < 2) return true;
  if (!step(value.raw().size() / 16)) return false;
  std::vector<Hashed> hashed;
  hashed.reserve(value.size());
  for (const json::Value element : value.elements())
    hashed.push_back({hash_of(element, kHashLevels), hashed.size(), element});
  std::ranges::sort(
      hashed, [](const Hashed& a, const Hashed& b) { return a.hash != b.hash ? a.hash < b.hash : a.place < b.place; });
  for (std::size_t i = 0; i < hashed.size(); ++i) {
    for (std::size_t j = i + 1; j < hashed.size() && hashed[j].hash == hashed[i].hash; ++j) {
      // Equal hashes are mostly equal values, and one equal pair ends it: only made ones pay often.
      if (!step(16 + hashed[i].element.raw().size() / 4)) return false;
      if (!same(hashed[i].element, hashed[j].element)) continue;
      fault(sub, Keyword::unique_items, hashed[j].element, {}, hashed[i].place, hashed[j].place);
      return false;
    }
  }
  return true;
}

bool Evaluator::unevaluated_items(const Sub& sub, json::Value value, const Marks& marks) {
  if (marks.all()) return true;
  bool ok = true;
  std::size_t place = 0;
  for (const json::Value element : value.elements()) {
    const bool judged = marks.test(place);
    ++place;
    if (judged) continue;
    if (program_.subs[sub.unevaluated_items].never) {
      fault(sub, Keyword::unevaluated_items, element, {}, place);
      return false;
    }
    if (enter(sub.unevaluated_items, element)) continue;
    ok = false;
    if (sink_ == nullptr || stop_ != Stop::none) return false;
  }
  return ok;
}

}  // namespace sallyport::schema
