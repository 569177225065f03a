#include "schemas/validate/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schemas/core/encoding.hpp"

namespace sallyport::schema {
namespace {

std::uint8_t type_bit(json::Kind kind) {
  switch (kind) {
    case json::Kind::null:
      return kNullBit;
    case json::Kind::boolean:
      return kBooleanBit;
    case json::Kind::number:
      return kNumberBit;
    case json::Kind::string:
      return kStringBit;
    case json::Kind::array:
      return kArrayBit;
    case json::Kind::object:
      return kObjectBit;
  }
  return 0;
}

constexpr std::uint64_t kNamedForms = 20;      // in what is said of `oneOf`
constexpr std::uint64_t kContainerSteps = 16;  // to compare two arrays or objects, however small

}  // namespace

bool Evaluator::quick(json::Value instance) { return enter(program_.root, instance) && stop_ == Stop::none; }

bool Evaluator::collect(json::Value instance) {
  collecting_ = true;
  sink_ = &faults_;
  const bool ok = enter(program_.root, instance);
  return ok && stop_ == Stop::none && lookalikes_.empty();
}

bool Evaluator::fault(const Sub& sub, Keyword keyword, json::Value at, std::string_view text, std::uint64_t a,
                      std::uint64_t b) {
  // After a stop nothing more is known, so nothing more is said.
  if (sink_ == nullptr || stop_ != Stop::none) return false;
  if (sink_->size() < kMaxFaults) sink_->push_back({id_of(sub), keyword, at, std::string(text), {}, a, b});
  return true;
}

bool Evaluator::enter(SubId id, json::Value value) {
  const Sub& sub = program_.subs[id];
  if (sub.name_table != kNone && value.is_object() && !check_lookalikes(sub, value)) return false;
  return eval(id, value, nullptr);
}

bool Evaluator::eval(SubId id, json::Value value, Marks* marks) {
  if (!step() || stop_ != Stop::none) return false;
  if (frames_ >= kMaxFrames) {
    stop_at_ = value;
    stop_sub_ = id;
    stop(Stop::depth);
    return false;
  }
  const Sub& sub = program_.subs[id];
  ++frames_;
  bool ok = false;
  if (scope_ == nullptr || scope_->resource != sub.resource) {
    const Scope scope{sub.resource, scope_};
    scope_ = &scope;
    ok = eval_scoped(sub, value, marks);
    scope_ = scope.outer;
  } else {
    ok = eval_scoped(sub, value, marks);
  }
  --frames_;
  return ok;
}

bool Evaluator::eval_scoped(const Sub& sub, json::Value value, Marks* marks) {
  const bool marking = (sub.unevaluated_properties != kNone && value.is_object()) ||
                       (sub.unevaluated_items != kNone && value.is_array());
  return marking ? eval_marking(sub, value, marks) : eval_keywords(sub, value, marks);
}

// unevaluated* come last, and look at what all others of the same schema have judged.
bool Evaluator::eval_marking(const Sub& sub, json::Value value, Marks* marks) {
  Marks own;
  bool ok = eval_keywords(sub, value, &own);
  // After a fault it is not known what would have been judged; more faults would be guesses.
  if (!ok) return false;
  ok = value.is_object() ? unevaluated_properties(sub, value, own) : unevaluated_items(sub, value, own);
  if (ok && marks != nullptr) marks->set_all();
  return ok;
}

bool Evaluator::eval_keywords(const Sub& sub, json::Value value, Marks* marks) {
  if (sub.never) {
    fault(sub, Keyword::false_schema, value);
    return false;
  }
  bool ok = true;
  if (sub.types != kAnyType && !type(sub, value)) {
    ok = false;
    if (!fault(sub, Keyword::type, value)) return false;
  }
  for (const Instruction& each : Program::slice(program_.instructions, sub.instructions)) {
    if (instruction(sub, each, value, marks)) continue;
    ok = false;
    if (sink_ == nullptr) return false;
  }
  switch (value.kind()) {
    case json::Kind::number:
      return (sub.number == kNone || number(sub, program_.numbers[sub.number], value)) && ok;
    case json::Kind::string:
      return (sub.string == kNone || string(sub, program_.strings[sub.string], value)) && ok;
    case json::Kind::array:
      return (sub.array == kNone || array(sub, program_.arrays[sub.array], value, marks)) && ok;
    case json::Kind::object:
      return (sub.object == kNone || object(sub, program_.objects[sub.object], value, marks)) && ok;
    default:
      return ok;
  }
}

bool Evaluator::type(const Sub& sub, json::Value value) {
  const json::Kind kind = value.kind();
  if ((sub.types & type_bit(kind)) != 0) return true;
  if (kind != json::Kind::number || (sub.types & kIntegerBit) == 0) return false;
  const auto token = value.number();
  if (token.size() > Decimal::kMaxToken) {
    stop_at_ = value;
    stop(Stop::number);
    return false;
  }
  return sub.strict_integer ? token.find_first_of(".eE") == token.npos : is_integer_token(token);
}

bool Evaluator::instruction(const Sub& sub, const Instruction& each, json::Value value, Marks* marks) {
  switch (each.op) {
    case Op::ref:
      return eval(each.range.begin, value, marks);
    case Op::dynamic_ref:
      return dynamic_ref(program_.dynamics[each.range.begin], value, marks);
    case Op::all_of:
      return all_of(each, value, marks);
    case Op::any_of:
      return any_of(sub, each, value, marks);
    case Op::one_of:
      return one_of(sub, each, value, marks);
    case Op::if_:
      return if_then_else(each, value, marks);
    case Op::not_:
      if (!silent(each.range.begin, value, nullptr)) return stop_ == Stop::none;
      fault(sub, Keyword::not_, value);
      return false;
    case Op::enum_:
      if (enumeration(program_.enums[each.range.begin], value)) return true;
      fault(sub, Keyword::enum_, value);
      return false;
    case Op::const_:
      if (step(1 + value.raw().size() / 32) && same(program_.values[each.range.begin], value)) return true;
      fault(sub, Keyword::const_, value);
      return false;
  }
  return false;
}

// The outermost resource on the way that has a dynamic anchor of that name.
bool Evaluator::dynamic_ref(const DynamicPart& part, json::Value value, Marks* marks) {
  SubId target = part.target;
  const auto candidates = program_.targets_of(part.name);
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (!step()) return false;
    const auto found = std::ranges::lower_bound(candidates, scope->resource, {}, &DynamicTarget::resource);
    if (found != candidates.end() && found->resource == scope->resource) target = found->sub;
  }
  return eval(target, value, marks);
}

bool Evaluator::all_of(const Instruction& each, json::Value value, Marks* marks) {
  bool ok = true;
  for (const SubId sub : Program::slice(program_.lists, each.range)) {
    if (eval(sub, value, marks)) continue;
    ok = false;
    if (sink_ == nullptr) return false;
  }
  return ok;
}

bool Evaluator::silent(SubId id, json::Value value, Marks* marks) {
  Sink* const sink = std::exchange(sink_, nullptr);
  const bool ok = eval(id, value, marks);
  sink_ = sink;
  return ok && stop_ == Stop::none;
}

bool Evaluator::branch(SubId id, json::Value value, Marks* marks, Sink& faults) {
  Sink* const sink = std::exchange(sink_, &faults);
  const bool ok = eval(id, value, marks);
  sink_ = sink;
  return ok;
}

// How many branches match, counting to `enough`; those that failed leave no marks.
std::uint64_t Evaluator::branches(const Instruction& each, json::Value value, Marks* marks, std::uint64_t enough,
                                  std::string& matched) {
  std::uint64_t count = 0;
  std::uint64_t place = 0;
  for (const SubId sub : Program::slice(program_.lists, each.range)) {
    ++place;
    if (marks != nullptr) {
      Marks own;
      if (!silent(sub, value, &own)) continue;
      marks->add(own);
    } else if (!silent(sub, value, nullptr)) {
      continue;
    }
    ++count;
    if (collecting_ && count <= kNamedForms) matched += fmt::format("{}{}", count == 1 ? "" : ", ", place);
    if (count == enough) break;
  }
  return count;
}

bool Evaluator::any_of(const Sub& sub, const Instruction& each, json::Value value, Marks* marks) {
  std::string matched;
  // Whoever asks for marks needs those of every branch that matches.
  if (branches(each, value, marks, marks == nullptr ? 1 : kUnbounded, matched) > 0) return true;
  if (sink_ != nullptr) closest_branch(sub, each, value);
  return false;
}

bool Evaluator::one_of(const Sub& sub, const Instruction& each, json::Value value, Marks* marks) {
  std::string matched;
  const auto count = branches(each, value, marks, sink_ == nullptr ? 2 : kUnbounded, matched);
  if (count == 1) return stop_ == Stop::none;
  if (sink_ == nullptr) return false;
  if (count == 0) {
    closest_branch(sub, each, value);
  } else {
    if (count > kNamedForms) matched += fmt::format(" and {} more", count - kNamedForms);
    fault(sub, Keyword::one_of, value, matched, 0, each.range.count);
  }
  return false;
}

bool Evaluator::only_value(SubId id) const {
  const json::Value node = program_.subs[id].node;
  return node.is_object() && node.find("enum").size() == 1;
}

// A lower number is closer: the wrong type of the whole value or a wrong discriminator says that another branch was
// meant, however much is missing of this one (a sink holds few faults, so each rank outweighs all of those below it).
std::uint32_t Evaluator::closeness(const Sink& faults, json::Value at) const {
  std::uint32_t score = 0;
  for (const RawFault& fault : faults) {
    const bool here = fault.at.index() == at.index();
    switch (fault.keyword) {
      case Keyword::type:
        score += here ? 100'000 : 20;
        break;
      case Keyword::const_:
        score += here ? 20'000 : 1'000;
        break;
      case Keyword::enum_:
        score += here ? 20'000 : only_value(fault.sub) ? 1'000 : 100;
        break;
      case Keyword::false_schema:
        score += here ? 200'000 : 10;
        break;
      case Keyword::required:
      case Keyword::additional_properties:
      case Keyword::unevaluated_properties:
        score += 10;
        break;
      default:
        score += 5;
        break;
    }
  }
  return score;
}

void Evaluator::closest_branch(const Sub& sub, const Instruction& each, json::Value value) {
  Sink closest;
  std::uint32_t best = 0;
  std::uint64_t best_place = 0;
  std::uint64_t place = 0;
  for (const SubId id : Program::slice(program_.lists, each.range)) {
    ++place;
    Sink faults;
    branch(id, value, nullptr, faults);
    if (stop_ != Stop::none) return;
    const std::uint32_t score = closeness(faults, value);
    if (best_place != 0 && score >= best) continue;
    best = score;
    best_place = place;
    closest = std::move(faults);
  }
  fault(sub, each.keyword, value, {}, best_place, each.range.count);
  for (RawFault& each_fault : closest) {
    if (sink_->size() < kMaxFaults) sink_->push_back(std::move(each_fault));
  }
}

bool Evaluator::if_then_else(const Instruction& each, json::Value value, Marks* marks) {
  const auto subs = Program::slice(program_.lists, each.range);
  Marks own;
  const bool matched = silent(subs[0], value, marks == nullptr ? nullptr : &own);
  if (stop_ != Stop::none) return false;
  if (matched && marks != nullptr) marks->add(own);
  const SubId next = matched ? subs[1] : subs[2];
  return next == kNone || eval(next, value, marks);
}

bool Evaluator::enumeration(const EnumPart& part, json::Value value) {
  if (value.is_string()) {
    const NameText text(value);
    const auto words = Program::slice(program_.words, part.strings);
    return step(1 + text.view().size() / 64) && std::ranges::binary_search(words, text.view(), ByLength());
  }
  for (const json::Value other : Program::slice(program_.values, part.others)) {
    const std::size_t bytes = std::min(value.raw().size(), other.raw().size());
    if (!step(bytes / 32 + (other.kind() == value.kind() && value.size() > 0 ? kContainerSteps : 1))) return false;
    if (same(other, value)) return true;
  }
  return false;
}

}  // namespace sallyport::schema
