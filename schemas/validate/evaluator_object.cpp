// The keywords of objects, and names that are taken for one another.
#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/evaluator.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kFewNames = 8;

// Most names differ in length or in their first byte; only the rest is worth a call.
bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || (a.front() == b.front() && a.back() == b.back() && a == b));
}

const Name* find_name(std::span<const Name> names, std::string_view text) {
  if (names.size() <= kFewNames) {
    for (const Name& name : names) {
      if (equal(name.text, text)) return &name;
    }
    return nullptr;
  }
  const auto found = std::ranges::lower_bound(names, text, ByLength(), &Name::text);
  return found != names.end() && found->text == text ? &*found : nullptr;
}

bool has_word(std::span<const std::string_view> words, std::string_view text) {
  if (words.size() <= kFewNames)
    return std::ranges::any_of(words, [&](std::string_view word) { return equal(word, text); });
  return std::ranges::binary_search(words, text, ByLength());
}

}  // namespace

bool Evaluator::object(const Sub& sub, const ObjectPart& part, json::Value value, Marks* marks) {
  const std::size_t size = value.size();
  bool ok = true;
  if (size < part.min_properties) {
    ok = false;
    if (!fault(sub, Keyword::min_properties, value, {}, size)) return false;
  }
  if (size > part.max_properties) {
    ok = false;
    if (!fault(sub, Keyword::max_properties, value, {}, size)) return false;
  }
  const auto names = Program::slice(program_.names, part.names);
  Marks seen;  // places in `required`
  std::size_t place = 0;
  for (const json::Member each : value.members()) {
    const NameText name(each.key);
    if (!step(1 + name.view().size() / 64)) return false;
    const Name* known = find_name(names, name.view());
    if (known != nullptr && known->required != kNone) seen.set(known->required);
    bool covered = false;
    if (!member(sub, part, each.value, name.view(), known == nullptr ? kNone : known->sub, covered)) ok = false;
    if (part.property_names != kNone && !property_name(sub, part, each, name.view())) ok = false;
    if (stop_ != Stop::none || (!ok && sink_ == nullptr)) return false;
    if (marks != nullptr && covered) marks->set(place);
    ++place;
  }
  if (part.required != 0 && !required(sub, part, value, seen)) {
    ok = false;
    if (sink_ == nullptr) return false;
  }
  return (part.dependents.count == 0 || dependents(sub, part, value, marks)) && ok;
}

bool Evaluator::member(const Sub& sub, const ObjectPart& part, json::Value value, std::string_view name, SubId known,
                       bool& covered) {
  bool ok = true;
  if (known != kNone) {
    covered = true;
    ok = enter(known, value);
  }
  for (const PatternProperty& pattern : Program::slice(program_.pattern_properties, part.patterns)) {
    if (!step() || !matches(pattern.pattern, name, value)) continue;
    covered = true;
    ok = enter(pattern.sub, value) && ok;
  }
  if (covered || part.additional == kNone) return ok;
  covered = true;
  if (!program_.subs[part.additional].never) return enter(part.additional, value);
  fault(sub, Keyword::additional_properties, value, name);
  return false;
}

bool Evaluator::required(const Sub& sub, const ObjectPart& part, json::Value value, const Marks& seen) {
  if (seen.all_below(part.required)) return true;
  bool ok = true;
  for (const Name& name : Program::slice(program_.names, part.names)) {
    if (name.required == kNone || seen.test(name.required)) continue;
    if (!step()) return false;
    ok = false;
    if (!fault(sub, Keyword::required, value, name.text)) return false;
  }
  return ok;
}

bool Evaluator::dependents(const Sub& sub, const ObjectPart& part, json::Value value, Marks* marks) {
  bool ok = true;
  for (const Dependent& dependent : Program::slice(program_.dependents, part.dependents)) {
    if (!step(1 + value.size() / 8)) return false;
    if (!value.find(dependent.name)) continue;
    if (dependent.sub != kNone && !eval(dependent.sub, value, marks)) {
      ok = false;
      if (sink_ == nullptr) return false;
    }
    for (const std::string_view name : Program::slice(program_.words, dependent.required)) {
      if (!step(1 + value.size() / 8)) return false;
      if (value.find(name)) continue;
      ok = false;
      const bool room = sink_ != nullptr && sink_->size() < kMaxFaults;
      if (!fault(sub, dependent.keyword, value, name)) return false;
      if (room) sink_->back().other = dependent.name;
    }
  }
  return ok;
}

bool Evaluator::property_name(const Sub& sub, const ObjectPart& part, const json::Member& member,
                              std::string_view name) {
  Sink faults;
  const bool ok = sink_ == nullptr ? eval(part.property_names, member.key, nullptr)
                                   : branch(part.property_names, member.key, nullptr, faults);
  if (ok || sink_ == nullptr) return ok;
  fault(sub, Keyword::property_names, member.value, name);
  // The reasons, at the member whose name it is.
  for (RawFault& each : faults) {
    if (sink_->size() < kMaxFaults) sink_->push_back(std::move(each));
  }
  return false;
}

bool Evaluator::unevaluated_properties(const Sub& sub, json::Value value, const Marks& marks) {
  bool ok = true;
  std::size_t place = 0;
  for (const json::Member each : value.members()) {
    if (marks.test(place++)) continue;
    if (program_.subs[sub.unevaluated_properties].never) {
      ok = false;
      if (!fault(sub, Keyword::unevaluated_properties, each.value, NameText(each.key).view())) return false;
    } else if (!enter(sub.unevaluated_properties, each.value)) {
      ok = false;
      if (sink_ == nullptr || stop_ != Stop::none) return false;
    }
  }
  return ok;
}

// Promise 10: a name that some parser would take for a declared one refuses the whole instance, whatever else holds.
bool Evaluator::check_lookalikes(const Sub& sub, json::Value value) {
  const NameTable& table = program_.name_tables[sub.name_table];
  const auto words = Program::slice(program_.words, table.names);
  for (const json::Member each : value.members()) {
    const NameText name(each.key);
    if (!step(1 + name.view().size() / 64)) return false;
    if (has_word(words, name.view())) continue;
    const auto folded = fold(name.view());
    if (!folded || !step(1 + name.view().size() / 16)) return false;
    const auto all = Program::slice(program_.folded, table.folded);
    const auto found = std::ranges::lower_bound(all, std::string_view(*folded), ByLength(), &FoldedName::folded);
    if (found == all.end() || found->folded != *folded) continue;
    if (!collecting_) {
      stop(Stop::lookalike);
      return false;
    }
    if (lookalikes_.size() < kMaxFaults) {
      lookalikes_.push_back({id_of(sub), Keyword::lookalike, each.value, std::string(name.view()), found->name});
    }
  }
  return true;
}

}  // namespace sallyport::schema
