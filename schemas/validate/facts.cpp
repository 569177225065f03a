// What a schema says of one place, whatever the instance: for the checks of rules and for look-ups of defaults.
#include <algorithm>
#include <charconv>
#include <optional>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/program.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kMaxSubs = 4'096;           // that apply to one place
constexpr std::uint64_t kPatternSteps = 200'000;  // of all patterns that one look-up asks

class Facts {
 public:
  Facts(const Program& program, std::uint64_t& pattern_steps) : program_(&program), pattern_steps_(&pattern_steps) {}

  // All that always applies where `id` does, itself first.
  void add(SubId id) {
    if (subs_.size() >= kMaxSubs || std::ranges::find(subs_, id) != subs_.end()) return;
    subs_.push_back(id);
    const Sub& sub = program_->subs[id];
    for (const Instruction& each : Program::slice(program_->instructions, sub.instructions)) {
      if (each.op == Op::ref) add(each.range.begin);
      if (each.op != Op::all_of) continue;
      for (const SubId part : Program::slice(program_->lists, each.range)) add(part);
    }
  }

  [[nodiscard]] const std::vector<SubId>& subs() const { return subs_; }
  [[nodiscard]] bool never() const {
    return std::ranges::any_of(subs_,
                               [&](SubId id) { return program_->subs[id].never || program_->subs[id].types == 0; });
  }

  // The facts of a member or element. `impossible` if no valid instance has it.
  [[nodiscard]] Facts step(std::string_view name, bool& impossible, bool& required) const {
    Facts next(*program_, *pattern_steps_);
    bool object = true;
    bool array = true;
    required = false;
    for (const SubId id : subs_) {
      object = object && (program_->subs[id].types & kObjectBit) != 0;
      array = array && (program_->subs[id].types & kArrayBit) != 0;
    }
    const auto index = place(name);
    array = array && index.has_value();
    for (const SubId id : subs_) {
      const Sub& sub = program_->subs[id];
      if (object && sub.object != kNone) member(sub, name, next, required);
      if (array && !object && sub.array != kNone) element(program_->arrays[sub.array], *index, next);
    }
    required = required && !array;
    impossible = (!object && !array) || (next.never() && !(object && array)) || (object && !array && closed(name));
    if (object && array) next.subs_.clear();  // which of the two is not known
    return next;
  }

 private:
  static std::optional<std::size_t> place(std::string_view name) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error != std::errc() || end != name.data() + name.size() || (name.size() > 1 && name[0] == '0'))
      return std::nullopt;
    return index;
  }

  void member(const Sub& sub, std::string_view name, Facts& next, bool& required) const {
    const ObjectPart& part = program_->objects[sub.object];
    bool covered = false;
    for (const Name& known : Program::slice(program_->names, part.names)) {
      if (known.text != name) continue;
      required = required || known.required != kNone;
      if (known.sub == kNone) continue;
      next.add(known.sub);
      covered = true;
    }
    Matcher matcher;
    for (const PatternProperty& pattern : Program::slice(program_->pattern_properties, part.patterns)) {
      // Where the steps are spent it may match.
      if (matcher.match(program_->patterns[pattern.pattern], name, *pattern_steps_, kPatternSteps) ==
          Matcher::Outcome::no_match)
        continue;
      next.add(pattern.sub);
      covered = true;
    }
    if (!covered && part.additional != kNone) next.add(part.additional);
  }

  void element(const ArrayPart& part, std::size_t index, Facts& next) const {
    const auto prefix = Program::slice(program_->lists, part.prefix);
    const SubId id = index < prefix.size() ? prefix[index] : part.items;
    if (id != kNone) next.add(id);
  }

  // `unevaluatedProperties: false` closes an object if nothing but what always applies can judge the member.
  [[nodiscard]] bool closed(std::string_view name) const {
    bool closing = false;
    for (const SubId id : subs_) {
      const Sub& sub = program_->subs[id];
      closing = closing || (sub.unevaluated_properties != kNone && program_->subs[sub.unevaluated_properties].never);
      for (const Instruction& each : Program::slice(program_->instructions, sub.instructions)) {
        const bool plain = each.op == Op::ref || each.op == Op::all_of || each.op == Op::enum_ ||
                           each.op == Op::const_ || each.op == Op::not_;
        if (!plain) return false;
      }
      if (sub.object != kNone && program_->objects[sub.object].dependents.count != 0) return false;
    }
    if (!closing) return false;
    Facts next(*program_, *pattern_steps_);
    bool required = false;
    for (const SubId id : subs_) {
      if (program_->subs[id].object != kNone) member(program_->subs[id], name, next, required);
    }
    return next.subs_.empty();
  }

  const Program* program_;
  std::uint64_t* pattern_steps_;  // spent
  std::vector<SubId> subs_;
};

}  // namespace

json::Value Property::keyword(std::string_view name) const {
  for (const json::Value schema : schemas) {
    if (!schema.is_object()) continue;
    if (const json::Value value = schema.find(name)) return value;
  }
  return {};
}

Property Schema::property(std::string_view pointer) const {
  Property property;
  const auto steps = pointer_steps(pointer);
  if (!steps) return property;
  std::uint64_t pattern_steps = 0;
  Facts facts(*program_, pattern_steps);
  facts.add(program_->root);
  property.required = true;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    bool impossible = false;
    bool required = false;
    facts = facts.step((*steps)[i], impossible, required);
    property.required = property.required && required;
    if (impossible) {
      property.standing = Property::Standing::impossible;
      property.required = false;
      return property;
    }
    if (facts.subs().empty()) {
      property.required = property.required && i + 1 == steps->size();
      return property;
    }
  }
  property.standing = facts.never() ? Property::Standing::impossible : Property::Standing::declared;
  for (const SubId id : facts.subs()) property.schemas.push_back(program_->subs[id].node);
  return property;
}

}  // namespace sallyport::schema
