// The keywords of the five dialects: which dialect knows which, of which vocabulary, and where subschemas stand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/core/json.hpp"
#include "schemas/validate/schema.hpp"

namespace sallyport::schema {

enum class Keyword : std::uint8_t {
  // core
  id,
  schema,
  ref,
  dynamic_ref,
  recursive_ref,
  anchor,
  dynamic_anchor,
  recursive_anchor,
  vocabulary,
  defs,
  definitions,
  // applicators
  all_of,
  any_of,
  one_of,
  not_,
  if_,
  then_,
  else_,
  dependent_schemas,
  dependencies,
  properties,
  pattern_properties,
  additional_properties,
  property_names,
  items,
  prefix_items,
  additional_items,
  contains,
  unevaluated_items,
  unevaluated_properties,
  // assertions
  type,
  enum_,
  const_,
  multiple_of,
  maximum,
  exclusive_maximum,
  minimum,
  exclusive_minimum,
  max_length,
  min_length,
  pattern,
  max_items,
  min_items,
  unique_items,
  max_contains,
  min_contains,
  max_properties,
  min_properties,
  required,
  dependent_required,
  format,
  // no keywords of a schema: what a fault may name besides
  false_schema,
  lookalike,
  limit,
};
inline constexpr std::size_t kKeywords = static_cast<std::size_t>(Keyword::false_schema);

enum class Vocabulary : std::uint8_t { core, applicator, unevaluated, validation, format };
using VocabularySet = std::uint8_t;  // a bit each
[[nodiscard]] constexpr VocabularySet bit(Vocabulary v) {
  return static_cast<VocabularySet>(1U << static_cast<unsigned>(v));
}
inline constexpr VocabularySet kAllVocabularies = 0x1F;

enum class Shape : std::uint8_t {
  plain,  // holds no subschema
  schema,
  schema_or_boolean,  // boolean even where draft-04 knows no boolean schemas
  schema_list,
  schema_or_list,  // `items` before 2020-12
  schema_map,
  schema_or_names_map,  // `dependencies`
};

struct KeywordInfo {
  Keyword keyword;
  std::string_view name;
  Shape shape;
  Vocabulary vocabulary;
  Dialect first;
  Dialect last;
};

// The keyword of that name in a dialect, or nothing: then it is an annotation.
[[nodiscard]] const KeywordInfo* find_keyword(std::string_view name, Dialect dialect);
[[nodiscard]] std::string_view to_string(Keyword keyword);

// The dialect of a `$schema`, an empty fragment ignored.
[[nodiscard]] std::optional<Dialect> dialect_of(std::string_view schema_uri);

// A schema object's keywords by number; absent ones are absent values. The first name that stands twice, if any.
struct KeywordValues {
  std::array<json::Value, kKeywords> values;
  std::optional<Keyword> twice;
  [[nodiscard]] json::Value operator[](Keyword keyword) const { return values[static_cast<std::size_t>(keyword)]; }
};
[[nodiscard]] KeywordValues keyword_values(json::Value object, Dialect dialect, VocabularySet vocabularies);

}  // namespace sallyport::schema
