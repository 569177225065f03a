#include "schemas/validate/keywords.hpp"

#include <algorithm>

namespace sallyport::schema {
namespace {

using enum Dialect;
using enum Vocabulary;

constexpr auto kInfos = std::to_array<KeywordInfo>({
    {Keyword::id, "id", Shape::plain, core, draft4, draft4},
    {Keyword::id, "$id", Shape::plain, core, draft6, draft2020_12},
    {Keyword::schema, "$schema", Shape::plain, core, draft4, draft2020_12},
    {Keyword::ref, "$ref", Shape::plain, core, draft4, draft2020_12},
    {Keyword::dynamic_ref, "$dynamicRef", Shape::plain, core, draft2020_12, draft2020_12},
    {Keyword::recursive_ref, "$recursiveRef", Shape::plain, core, draft2019_09, draft2019_09},
    {Keyword::anchor, "$anchor", Shape::plain, core, draft2019_09, draft2020_12},
    {Keyword::dynamic_anchor, "$dynamicAnchor", Shape::plain, core, draft2020_12, draft2020_12},
    {Keyword::recursive_anchor, "$recursiveAnchor", Shape::plain, core, draft2019_09, draft2019_09},
    {Keyword::vocabulary, "$vocabulary", Shape::plain, core, draft2019_09, draft2020_12},
    {Keyword::defs, "$defs", Shape::schema_map, core, draft2019_09, draft2020_12},
    {Keyword::definitions, "definitions", Shape::schema_map, core, draft4, draft2020_12},
    {Keyword::all_of, "allOf", Shape::schema_list, applicator, draft4, draft2020_12},
    {Keyword::any_of, "anyOf", Shape::schema_list, applicator, draft4, draft2020_12},
    {Keyword::one_of, "oneOf", Shape::schema_list, applicator, draft4, draft2020_12},
    {Keyword::not_, "not", Shape::schema, applicator, draft4, draft2020_12},
    {Keyword::if_, "if", Shape::schema, applicator, draft7, draft2020_12},
    {Keyword::then_, "then", Shape::schema, applicator, draft7, draft2020_12},
    {Keyword::else_, "else", Shape::schema, applicator, draft7, draft2020_12},
    {Keyword::dependent_schemas, "dependentSchemas", Shape::schema_map, applicator, draft2019_09, draft2020_12},
    // Kept in 2019-09 and later for compatibility, as their meta-schemas do.
    {Keyword::dependencies, "dependencies", Shape::schema_or_names_map, applicator, draft4, draft2020_12},
    {Keyword::properties, "properties", Shape::schema_map, applicator, draft4, draft2020_12},
    {Keyword::pattern_properties, "patternProperties", Shape::schema_map, applicator, draft4, draft2020_12},
    {Keyword::additional_properties, "additionalProperties", Shape::schema_or_boolean, applicator, draft4,
     draft2020_12},
    {Keyword::property_names, "propertyNames", Shape::schema, applicator, draft6, draft2020_12},
    {Keyword::items, "items", Shape::schema_or_list, applicator, draft4, draft2019_09},
    {Keyword::items, "items", Shape::schema, applicator, draft2020_12, draft2020_12},
    {Keyword::prefix_items, "prefixItems", Shape::schema_list, applicator, draft2020_12, draft2020_12},
    {Keyword::additional_items, "additionalItems", Shape::schema_or_boolean, applicator, draft4, draft2019_09},
    {Keyword::contains, "contains", Shape::schema, applicator, draft6, draft2020_12},
    {Keyword::unevaluated_items, "unevaluatedItems", Shape::schema, unevaluated, draft2019_09, draft2020_12},
    {Keyword::unevaluated_properties, "unevaluatedProperties", Shape::schema, unevaluated, draft2019_09, draft2020_12},
    {Keyword::type, "type", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::enum_, "enum", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::const_, "const", Shape::plain, validation, draft6, draft2020_12},
    {Keyword::multiple_of, "multipleOf", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::maximum, "maximum", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::exclusive_maximum, "exclusiveMaximum", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::minimum, "minimum", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::exclusive_minimum, "exclusiveMinimum", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::max_length, "maxLength", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::min_length, "minLength", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::pattern, "pattern", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::max_items, "maxItems", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::min_items, "minItems", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::unique_items, "uniqueItems", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::max_contains, "maxContains", Shape::plain, validation, draft2019_09, draft2020_12},
    {Keyword::min_contains, "minContains", Shape::plain, validation, draft2019_09, draft2020_12},
    {Keyword::max_properties, "maxProperties", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::min_properties, "minProperties", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::required, "required", Shape::plain, validation, draft4, draft2020_12},
    {Keyword::dependent_required, "dependentRequired", Shape::plain, validation, draft2019_09, draft2020_12},
    {Keyword::format, "format", Shape::plain, Vocabulary::format, draft4, draft2020_12},
});

}  // namespace

std::string_view to_string(Dialect dialect) {
  switch (dialect) {
    case draft4:
      return "draft-04";
    case draft6:
      return "draft-06";
    case draft7:
      return "draft-07";
    case draft2019_09:
      return "2019-09";
    case draft2020_12:
      return "2020-12";
  }
  return "";
}

const KeywordInfo* find_keyword(std::string_view name, Dialect dialect) {
  for (const auto& info : kInfos) {
    if (info.name == name && info.first <= dialect && dialect <= info.last) return &info;
  }
  return nullptr;
}

std::string_view to_string(Keyword keyword) {
  switch (keyword) {
    case Keyword::id:
      return "$id";
    case Keyword::false_schema:
      return "false";
    case Keyword::lookalike:
      return "lookalike";
    case Keyword::limit:
      return "limit";
    default:
      break;
  }
  const auto* found = std::ranges::find(kInfos, keyword, &KeywordInfo::keyword);
  return found == kInfos.end() ? std::string_view() : found->name;
}

std::optional<Dialect> dialect_of(std::string_view uri) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  const bool secure = uri.starts_with("https://");
  if (!secure && !uri.starts_with("http://")) return std::nullopt;
  uri.remove_prefix(secure ? 8 : 7);
  if (uri == "json-schema.org/draft/2020-12/schema") return draft2020_12;
  if (uri == "json-schema.org/draft/2019-09/schema") return draft2019_09;
  if (uri == "json-schema.org/draft-07/schema") return draft7;
  if (uri == "json-schema.org/draft-06/schema") return draft6;
  if (uri == "json-schema.org/draft-04/schema") return draft4;
  return std::nullopt;
}

KeywordValues keyword_values(json::Value object, Dialect dialect, VocabularySet vocabularies) {
  KeywordValues found;
  for (const auto [key, value] : object.members()) {
    const auto plain = key.plain_string();
    const auto* info = plain ? find_keyword(*plain, dialect) : find_keyword(key.string(), dialect);
    if (info == nullptr || (vocabularies & bit(info->vocabulary)) == 0) continue;
    auto& slot = found.values[static_cast<std::size_t>(info->keyword)];
    if (slot && !found.twice) found.twice = info->keyword;
    slot = value;
  }
  // Before 2019-09 a reference stands alone: all beside it is ignored (definitions are still found by pointer).
  if (dialect <= draft7 && found[Keyword::ref] && found[Keyword::ref].is_string()) {
    for (std::size_t i = 0; i < kKeywords; ++i) {
      const auto keyword = static_cast<Keyword>(i);
      if (keyword != Keyword::ref && keyword != Keyword::definitions) found.values[i] = {};
    }
  }
  return found;
}

}  // namespace sallyport::schema
