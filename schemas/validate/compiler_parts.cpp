// The keywords of numbers, strings, arrays and objects.
#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/compiler.hpp"

namespace sallyport::schema {
namespace {

Status must_be(json::Value value, Keyword keyword, std::string_view what) {
  return fail_at(ErrorCode::invalid, value,
                 fmt::format("`{}` must be {}, not {}", to_string(keyword), what, to_string(value.kind())));
}

template <class T>
std::uint32_t add(std::vector<T>& all, T&& item) {
  all.push_back(std::forward<T>(item));
  return static_cast<std::uint32_t>(all.size() - 1);
}

bool any(const KeywordValues& keywords, std::initializer_list<Keyword> wanted) {
  return std::ranges::any_of(wanted, [&](Keyword keyword) { return keywords[keyword].operator bool(); });
}

std::string cut(std::string_view text) { return visible(text.substr(0, 80)); }

}  // namespace

// A count such as minLength: an integer that is not negative, 2.0 too; beyond 2^63 all are the same.
Status Compiler::count(json::Value value, Keyword keyword, std::uint64_t& out) {
  if (!value) return {};
  if (!value.is_number()) return must_be(value, keyword, "an integer that is not negative");
  if (const auto integer = value.integer(); integer && *integer >= 0) {
    out = static_cast<std::uint64_t>(*integer);
    return {};
  }
  const Decimal exact(value.number());
  if (exact.negative() || !exact.is_integer()) {
    return fail_at(
        ErrorCode::invalid, value,
        fmt::format("`{}` must be an integer that is not negative, not {}", to_string(keyword), cut(value.raw())));
  }
  out = kUnbounded - 1;
  return {};
}

Result<std::uint32_t> Compiler::decimal(json::Value value, std::string_view keyword) {
  if (!value.is_number()) {
    return fail_at(ErrorCode::invalid, value,
                   fmt::format("`{}` must be a number, not {}", keyword, to_string(value.kind())));
  }
  if (value.number().size() > Decimal::kMaxToken) {
    return fail_at(ErrorCode::limit, value,
                   fmt::format("`{}` has more than {} characters", keyword, Decimal::kMaxToken));
  }
  return add(program_->decimals, Decimal(value.number()));
}

Status Compiler::number(Sub& sub, const KeywordValues& keywords) {
  if (!any(keywords, {Keyword::minimum, Keyword::maximum, Keyword::exclusive_minimum, Keyword::exclusive_maximum,
                      Keyword::multiple_of})) {
    return {};
  }
  NumberPart part;
  const bool draft4 = resources_.all()[sub.resource].dialect == Dialect::draft4;
  std::pair<Keyword, std::uint32_t*> bounds[] = {{Keyword::minimum, &part.minimum},
                                                 {Keyword::maximum, &part.maximum},
                                                 {Keyword::multiple_of, &part.multiple_of},
                                                 {Keyword::exclusive_minimum, &part.exclusive_minimum},
                                                 {Keyword::exclusive_maximum, &part.exclusive_maximum}};
  for (const auto& [keyword, slot] : std::span(bounds).first(draft4 ? 3 : 5)) {
    const json::Value value = keywords[keyword];
    if (!value) continue;
    if (value.is_bool()) {
      return fail_at(ErrorCode::invalid, value,
                     fmt::format("`{}` must be a number; the boolean form is draft-04's", to_string(keyword)));
    }
    auto exact = decimal(value, to_string(keyword));
    if (!exact) return fail(std::move(exact.error()));
    *slot = *exact;
  }
  if (part.multiple_of != kNone) {
    const auto& step = program_->decimals[part.multiple_of];
    if (step.is_zero() || step.negative()) {
      return fail_at(
          ErrorCode::invalid, keywords[Keyword::multiple_of],
          fmt::format("`multipleOf` must be more than 0, not {}", cut(keywords[Keyword::multiple_of].raw())));
    }
  }
  if (draft4) {
    if (auto done = draft4_bounds(part, keywords); !done) return done;
  }
  sub.number = add(program_->numbers, std::move(part));
  return {};
}

// draft-04: `exclusiveMinimum: true` changes the meaning of `minimum`.
Status Compiler::draft4_bounds(NumberPart& part, const KeywordValues& keywords) {
  struct Bound {
    Keyword keyword, of;
    std::uint32_t *from, *to;
  };
  for (const Bound& bound :
       {Bound{Keyword::exclusive_minimum, Keyword::minimum, &part.minimum, &part.exclusive_minimum},
        Bound{Keyword::exclusive_maximum, Keyword::maximum, &part.maximum, &part.exclusive_maximum}}) {
    const json::Value flag = keywords[bound.keyword];
    if (!flag) continue;
    if (!flag.is_bool()) return must_be(flag, bound.keyword, "a boolean in draft-04");
    if (!keywords[bound.of]) {
      return fail_at(ErrorCode::invalid, flag,
                     fmt::format("`{}` needs `{}` beside it", to_string(bound.keyword), to_string(bound.of)));
    }
    if (flag.boolean()) std::swap(*bound.from, *bound.to);
  }
  return {};
}

Status Compiler::string(Sub& sub, const KeywordValues& keywords) {
  if (!any(keywords, {Keyword::min_length, Keyword::max_length, Keyword::pattern, Keyword::format})) return {};
  StringPart part;
  if (auto done = count(keywords[Keyword::min_length], Keyword::min_length, part.min_length); !done) return done;
  if (auto done = count(keywords[Keyword::max_length], Keyword::max_length, part.max_length); !done) return done;
  if (const json::Value value = keywords[Keyword::pattern]) {
    if (!value.is_string()) return must_be(value, Keyword::pattern, "a string, a regular expression");
    auto compiled = pattern(value, program_->text(value));
    if (!compiled) return fail(std::move(compiled.error()));
    part.pattern = *compiled;
  }
  if (const json::Value value = keywords[Keyword::format]) {
    if (!value.is_string()) return must_be(value, Keyword::format, "a string, the name of a format");
    const Resource& resource = resources_.all()[sub.resource];
    if (options_.assert_formats || resource.assert_formats) part.format = format_of(value.string());
  }
  sub.string = add(program_->strings, std::move(part));
  return {};
}

Status Compiler::array(Sub& sub, const KeywordValues& keywords) {
  if (!any(keywords, {Keyword::min_items, Keyword::max_items, Keyword::unique_items, Keyword::contains, Keyword::items,
                      Keyword::prefix_items, Keyword::min_contains, Keyword::max_contains})) {
    return {};
  }
  ArrayPart part;
  for (const auto& [keyword, slot] : {std::pair{Keyword::min_items, &part.min_items},
                                      {Keyword::max_items, &part.max_items},
                                      {Keyword::min_contains, &part.min_contains},
                                      {Keyword::max_contains, &part.max_contains}}) {
    if (auto done = count(keywords[keyword], keyword, *slot); !done) return done;
  }
  if (const json::Value unique = keywords[Keyword::unique_items]) {
    if (!unique.is_bool()) return must_be(unique, Keyword::unique_items, "a boolean");
    part.unique = unique.boolean();
  }
  if (const json::Value contains = keywords[Keyword::contains]) {
    part.contains = sub_of(contains);
    part.contains_marks = resources_.all()[sub.resource].dialect == Dialect::draft2020_12;
  }
  if (auto done = array_items(part, keywords); !done) return done;
  sub.array = add(program_->arrays, std::move(part));
  return {};
}

Status Compiler::array_items(ArrayPart& part, const KeywordValues& keywords) {
  const json::Value items = keywords[Keyword::items];
  json::Value prefix = keywords[Keyword::prefix_items];
  json::Value rest = items;
  if (items && items.is_array()) {  // before 2020-12
    prefix = items;
    rest = keywords[Keyword::additional_items];
    part.prefix_keyword = Keyword::items;
    part.items_keyword = Keyword::additional_items;
  }
  if (prefix) {
    std::vector<SubId> subs;
    for (const json::Value element : prefix.elements()) subs.push_back(sub_of(element));
    part.prefix = list(subs);
  }
  if (rest) part.items = sub_of(rest);
  return {};
}

Status Compiler::object(Sub& sub, const KeywordValues& keywords) {
  if (!any(keywords,
           {Keyword::properties, Keyword::required, Keyword::pattern_properties, Keyword::additional_properties,
            Keyword::property_names, Keyword::min_properties, Keyword::max_properties, Keyword::dependencies,
            Keyword::dependent_required, Keyword::dependent_schemas})) {
    return {};
  }
  ObjectPart part;
  if (auto done = count(keywords[Keyword::min_properties], Keyword::min_properties, part.min_properties); !done)
    return done;
  if (auto done = count(keywords[Keyword::max_properties], Keyword::max_properties, part.max_properties); !done)
    return done;
  if (auto done = names(part, keywords); !done) return done;
  if (const json::Value map = keywords[Keyword::pattern_properties]) {
    if (auto done = patterns(part, map); !done) return done;
  }
  if (auto done = dependents(part, keywords); !done) return done;
  if (const json::Value value = keywords[Keyword::additional_properties]) part.additional = sub_of(value);
  if (const json::Value value = keywords[Keyword::property_names]) part.property_names = sub_of(value);
  sub.object = add(program_->objects, std::move(part));
  return {};
}

// One table of `properties` and `required`, so that a member is looked up once.
Status Compiler::names(ObjectPart& part, const KeywordValues& keywords) {
  std::vector<Name> found;
  if (const json::Value map = keywords[Keyword::properties]) {
    for (const auto [key, value] : map.members()) found.push_back({program_->text(key), sub_of(value), kNone});
  }
  if (const json::Value required = keywords[Keyword::required]) {
    if (required.is_bool()) {
      return fail_at(ErrorCode::invalid, required,
                     "`required` must be an array of names beside `properties`, not a boolean in one");
    }
    auto words = word_list(required, Keyword::required, false);
    if (!words) return fail(std::move(words.error()));
    for (const auto word : Program::slice(program_->words, *words)) found.push_back({word, kNone, part.required++});
  }
  std::ranges::sort(found, [](const Name& a, const Name& b) {
    return a.text != b.text ? ByLength()(a.text, b.text) : a.sub != kNone && b.sub == kNone;
  });
  // A name that is declared and required makes one entry; twice declared is ambiguous.
  std::vector<Name> merged;
  for (const Name& name : found) {
    if (merged.empty() || merged.back().text != name.text) {
      merged.push_back(name);
    } else if (name.sub != kNone) {
      return fail_at(ErrorCode::invalid, keywords[Keyword::properties],
                     fmt::format("the member `{}` stands twice", cut(name.text)));
    } else {
      merged.back().required = name.required;
    }
  }
  part.names = {static_cast<std::uint32_t>(program_->names.size()), static_cast<std::uint32_t>(merged.size())};
  program_->names.insert(program_->names.end(), merged.begin(), merged.end());
  return {};
}

Result<Range> Compiler::word_list(json::Value value, Keyword keyword, bool sorted) {
  if (!value.is_array()) {
    return fail_at(ErrorCode::invalid, value,
                   fmt::format("`{}` must be an array of names, not {}", to_string(keyword), to_string(value.kind())));
  }
  std::vector<std::string_view> words;
  for (const json::Value word : value.elements()) {
    if (!word.is_string()) {
      return fail_at(ErrorCode::invalid, word,
                     fmt::format("`{}` must hold names, not {}", to_string(keyword), to_string(word.kind())));
    }
    words.push_back(program_->text(word));
  }
  auto ordered = words;
  std::ranges::sort(ordered, ByLength());
  if (const auto twice = std::ranges::adjacent_find(ordered); twice != ordered.end()) {
    return fail_at(ErrorCode::invalid, value, fmt::format("`{}` names `{}` twice", to_string(keyword), cut(*twice)));
  }
  if (sorted) words = std::move(ordered);
  const auto begin = static_cast<std::uint32_t>(program_->words.size());
  program_->words.insert(program_->words.end(), words.begin(), words.end());
  return Range{begin, static_cast<std::uint32_t>(words.size())};
}

Status Compiler::patterns(ObjectPart& part, json::Value map) {
  std::vector<PatternProperty> found;
  for (const auto [key, value] : map.members()) {
    auto compiled = pattern(value, program_->text(key));
    if (!compiled) return fail(std::move(compiled.error()));
    found.push_back({*compiled, sub_of(value)});
  }
  part.patterns = {static_cast<std::uint32_t>(program_->pattern_properties.size()),
                   static_cast<std::uint32_t>(found.size())};
  program_->pattern_properties.insert(program_->pattern_properties.end(), found.begin(), found.end());
  return {};
}

Status Compiler::dependents(ObjectPart& part, const KeywordValues& keywords) {
  std::vector<Dependent> found;
  for (const Keyword keyword : {Keyword::dependencies, Keyword::dependent_schemas, Keyword::dependent_required}) {
    const json::Value map = keywords[keyword];
    if (!map) continue;
    if (!map.is_object()) return must_be(map, keyword, "an object");
    for (const auto [key, value] : map.members()) {
      Dependent dependent{program_->text(key), kNone, {}, keyword};
      if (keyword == Keyword::dependent_required || (keyword == Keyword::dependencies && value.is_array())) {
        auto words = word_list(value, keyword, false);
        if (!words) return fail(std::move(words.error()));
        dependent.required = *words;
      } else {
        dependent.sub = sub_of(value);
      }
      found.push_back(dependent);
    }
  }
  part.dependents = {static_cast<std::uint32_t>(program_->dependents.size()), static_cast<std::uint32_t>(found.size())};
  program_->dependents.insert(program_->dependents.end(), found.begin(), found.end());
  return {};
}

}  // namespace sallyport::schema
