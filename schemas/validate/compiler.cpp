#include "schemas/validate/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::schema {
namespace {

constexpr std::string_view kRecursive = "";  // the dynamic anchor of $recursiveAnchor; no other has an empty name

Status must_be(json::Value value, Keyword keyword, std::string_view what) {
  return fail_at(ErrorCode::invalid, value,
                 fmt::format("`{}` must be {}, not {}", to_string(keyword), what, to_string(value.kind())));
}

}  // namespace

Result<std::unique_ptr<Program>> Compiler::run(json::Value schema) {
  if (auto added = resources_.add_root(schema); !added) return fail(std::move(added.error()));
  program_->steps = options_.steps;
  dynamic_name(kRecursive);
  program_->root = sub_of(program_->documents.front()->root());
  for (const json::Value node : resources_.root_schemas()) sub_of(node);
  if (auto done = drain(); !done) return fail(std::move(done.error()));
  if (auto done = compile_dynamic_targets(); !done) return fail(std::move(done.error()));
  for (const auto& resource : resources_.all()) program_->resources.push_back({resource.uri, resource.dialect});
  if (auto done = check_in_place(); !done) return fail(std::move(done.error()));
  if (options_.refuse_lookalikes) {
    if (auto done = name_tables(); !done) return fail(std::move(done.error()));
  }
  return std::move(program_);
}

SubId Compiler::sub_of(json::Value node) {
  const auto document = resources_.document_of(node);
  if (subs_.size() <= document) subs_.resize(document + 1);
  const auto [at, fresh] = subs_[document].try_emplace(node.index(), static_cast<SubId>(program_->subs.size()));
  if (fresh) {
    Sub sub;
    sub.node = node;
    sub.resource = resources_.resource_of(node);
    program_->subs.push_back(sub);
    open_.push_back(at->second);
  }
  return at->second;
}

Status Compiler::drain() {
  while (!open_.empty()) {
    const SubId id = open_.back();
    open_.pop_back();
    if (auto done = emit(id); !done) return done;
  }
  return {};
}

// Every resource that could be met on the way may answer a dynamic reference.
Status Compiler::compile_dynamic_targets() {
  auto& targets = program_->dynamic_targets;
  for (std::size_t done = 0; done < resources_.all().size(); ++done) {
    const Resource& resource = resources_.all()[done];
    const auto number = static_cast<std::uint32_t>(done);
    if (resource.recursive_anchor) targets.push_back({number, dynamic_name(kRecursive), sub_of(resource.root)});
    for (const auto& [name, anchor] : resource.anchors) {
      const auto known = anchor.dynamic ? dynamic_names_.find(name) : dynamic_names_.end();
      if (known != dynamic_names_.end()) targets.push_back({number, known->second, sub_of(anchor.node)});
    }
    const auto names = dynamic_names_.size();
    if (auto drained = drain(); !drained) return drained;
    if (dynamic_names_.size() != names) {  // a new name concerns the resources before, too
      targets.clear();
      done = static_cast<std::size_t>(-1);
    }
  }
  std::ranges::sort(targets, {}, [](const DynamicTarget& target) { return std::pair(target.name, target.resource); });
  return {};
}

Status Compiler::emit(SubId id) {
  Sub sub = program_->subs[id];
  if (sub.node.is_bool()) {
    sub.never = !sub.node.boolean();
    program_->subs[id] = sub;
    return {};
  }
  const Resource& resource = resources_.all()[sub.resource];
  const auto keywords = keyword_values(sub.node, resource.dialect, resource.vocabularies);
  if (keywords.twice) {
    return fail_at(ErrorCode::invalid, sub.node,
                   fmt::format("the member `{}` stands twice", to_string(*keywords.twice)));
  }
  sub.strict_integer = resource.dialect == Dialect::draft4;
  pending_.clear();
  using Step = Status (Compiler::*)(Sub&, const KeywordValues&);
  for (const Step step : {&Compiler::types, &Compiler::values, &Compiler::references, &Compiler::applicators,
                          &Compiler::number, &Compiler::string, &Compiler::array, &Compiler::object}) {
    if (auto done = (this->*step)(sub, keywords); !done) return done;
  }
  sub.instructions = {static_cast<std::uint32_t>(program_->instructions.size()),
                      static_cast<std::uint32_t>(pending_.size())};
  program_->instructions.insert(program_->instructions.end(), pending_.begin(), pending_.end());
  program_->subs[id] = sub;
  return {};
}

Status Compiler::references(Sub& sub, const KeywordValues& keywords) {
  for (const Keyword keyword : {Keyword::ref, Keyword::recursive_ref, Keyword::dynamic_ref}) {
    if (!keywords[keyword]) continue;
    if (auto done = reference(keyword, keywords[keyword], sub); !done) return done;
  }
  return {};
}

Status Compiler::reference(Keyword keyword, json::Value value, const Sub& sub) {
  if (!value.is_string()) return must_be(value, keyword, "a string, a URI reference");
  const std::string text = value.string();
  if (keyword == Keyword::recursive_ref && text != "#")
    return fail_at(ErrorCode::invalid, value, "`$recursiveRef` must be `#`");
  auto node = resources_.resolve(sub.resource, text);
  if (!node) return fail_at(node.error().code, value, node.error().message);
  const SubId target = sub_of(*node);
  if (keyword == Keyword::recursive_ref) {
    recursive_reference(sub, target);
    return {};
  }
  if (keyword == Keyword::dynamic_ref) {
    if (const auto part = dynamic_part(text, target); part != kNone) {
      instruct(Op::dynamic_ref, keyword, {part, 1});
      return {};
    }
  }
  instruct(Op::ref, keyword, {target, 1});
  return {};
}

// Dynamic only if what it first resolves to is a dynamic anchor of that name; kNone: an ordinary reference.
std::uint32_t Compiler::dynamic_part(std::string_view text, SubId target) {
  const auto hash = text.find('#');
  const std::string_view name = hash == text.npos ? "" : text.substr(hash + 1);
  const Resource& resource = resources_.all()[program_->subs[target].resource];
  const auto anchor = resource.anchors.find(name);
  if (anchor == resource.anchors.end() || !anchor->second.dynamic) return kNone;
  program_->dynamics.push_back({dynamic_name(name), target});
  return static_cast<std::uint32_t>(program_->dynamics.size() - 1);
}

void Compiler::recursive_reference(const Sub& sub, SubId target) {
  if (!resources_.all()[sub.resource].recursive_anchor) {
    instruct(Op::ref, Keyword::recursive_ref, {target, 1});
    return;
  }
  program_->dynamics.push_back({dynamic_name(kRecursive), target});
  instruct(Op::dynamic_ref, Keyword::recursive_ref, {static_cast<std::uint32_t>(program_->dynamics.size() - 1), 1});
}

std::uint32_t Compiler::dynamic_name(std::string_view name) {
  return dynamic_names_.try_emplace(std::string(name), static_cast<std::uint32_t>(dynamic_names_.size())).first->second;
}

Status Compiler::applicators(Sub& sub, const KeywordValues& keywords) {
  constexpr std::pair<Keyword, Op> kLists[] = {
      {Keyword::all_of, Op::all_of}, {Keyword::any_of, Op::any_of}, {Keyword::one_of, Op::one_of}};
  for (const auto& [keyword, op] : kLists) {
    const json::Value value = keywords[keyword];
    if (!value) continue;
    std::vector<SubId> subs;
    for (const json::Value element : value.elements()) subs.push_back(sub_of(element));
    instruct(op, keyword, list(subs));
  }
  if (const json::Value value = keywords[Keyword::not_]) instruct(Op::not_, Keyword::not_, {sub_of(value), 1});
  if (const json::Value value = keywords[Keyword::if_]) {
    const json::Value then = keywords[Keyword::then_];
    const json::Value otherwise = keywords[Keyword::else_];
    const std::vector<SubId> subs{sub_of(value), then ? sub_of(then) : kNone, otherwise ? sub_of(otherwise) : kNone};
    instruct(Op::if_, Keyword::if_, list(subs));
  }
  if (const json::Value value = keywords[Keyword::unevaluated_items]) sub.unevaluated_items = sub_of(value);
  if (const json::Value value = keywords[Keyword::unevaluated_properties]) sub.unevaluated_properties = sub_of(value);
  return {};
}

Range Compiler::list(const std::vector<SubId>& subs) {
  const auto begin = static_cast<std::uint32_t>(program_->lists.size());
  program_->lists.insert(program_->lists.end(), subs.begin(), subs.end());
  return {begin, static_cast<std::uint32_t>(subs.size())};
}

Status Compiler::types(Sub& sub, const KeywordValues& keywords) {
  const json::Value type = keywords[Keyword::type];
  if (!type) return {};
  constexpr std::pair<std::string_view, std::uint8_t> kTypes[] = {
      {"null", kNullBit},   {"boolean", kBooleanBit}, {"number", kNumberBit},  {"string", kStringBit},
      {"array", kArrayBit}, {"object", kObjectBit},   {"integer", kIntegerBit}};
  if (!type.is_string() && !type.is_array())
    return must_be(type, Keyword::type, "the name of a type or an array of them");
  sub.types = 0;
  const auto add = [&](json::Value name) -> Status {
    if (!name.is_string()) return must_be(name, Keyword::type, "the name of a type or an array of them");
    const auto* found = std::ranges::find_if(kTypes, [&](const auto& known) { return name.equals(known.first); });
    if (found == std::end(kTypes)) {
      return fail_at(ErrorCode::invalid, name,
                     fmt::format("`{}` is no type; types are null, boolean, number, integer, string, array and object",
                                 visible(name.string().substr(0, 80))));
    }
    if ((sub.types & found->second) != 0) return fail_at(ErrorCode::invalid, name, "`type` names a type twice");
    sub.types |= found->second;
    return {};
  };
  if (type.is_string()) return add(type);
  if (type.size() == 0) return fail_at(ErrorCode::invalid, type, "`type` must name at least one type");
  for (const json::Value name : type.elements()) {
    if (auto added = add(name); !added) return added;
  }
  return {};
}

Status Compiler::values(Sub& sub, const KeywordValues& keywords) {
  if (const json::Value value = keywords[Keyword::const_]) {
    instruct(Op::const_, Keyword::const_, {static_cast<std::uint32_t>(program_->values.size()), 1});
    program_->values.push_back(value);
  }
  const json::Value list = keywords[Keyword::enum_];
  if (!list) return {};
  if (!list.is_array()) return must_be(list, Keyword::enum_, "an array");
  if (list.size() == 0 && resources_.all()[sub.resource].dialect == Dialect::draft4) {
    return fail_at(ErrorCode::invalid, list, "`enum` must not be empty");
  }
  EnumPart part;
  auto& words = program_->words;
  part.strings.begin = static_cast<std::uint32_t>(words.size());
  part.others.begin = static_cast<std::uint32_t>(program_->values.size());
  for (const json::Value value : list.elements()) {
    if (value.is_string()) {
      words.push_back(program_->text(value));
    } else {
      program_->values.push_back(value);
    }
  }
  part.strings.count = static_cast<std::uint32_t>(words.size()) - part.strings.begin;
  part.others.count = static_cast<std::uint32_t>(program_->values.size()) - part.others.begin;
  std::sort(words.begin() + part.strings.begin, words.end(), ByLength());
  instruct(Op::enum_, Keyword::enum_, {static_cast<std::uint32_t>(program_->enums.size()), 1});
  program_->enums.push_back(part);
  return {};
}

Result<std::uint32_t> Compiler::pattern(json::Value where, std::string_view text) {
  if (const auto known = patterns_.find(text); known != patterns_.end()) return known->second;
  if (text.size() > options_.pattern_bytes) {
    return fail_at(ErrorCode::limit, where,
                   fmt::format("a pattern of {} bytes, more than {}", text.size(), options_.pattern_bytes));
  }
  auto regex = Regex::compile(text);
  if (!regex) {
    return fail_at(
        regex.error().code, where,
        fmt::format("the pattern `{}` cannot be judged: {}", visible(text.substr(0, 80)), regex.error().message));
  }
  patterns_memory_ += regex->memory();
  if (patterns_memory_ > options_.patterns_memory) {
    return fail_at(ErrorCode::limit, where,
                   fmt::format("the patterns take more than {} bytes", options_.patterns_memory));
  }
  program_->patterns.push_back(std::move(*regex));
  const auto number = static_cast<std::uint32_t>(program_->patterns.size() - 1);
  patterns_.emplace(text, number);
  return number;
}

}  // namespace sallyport::schema
