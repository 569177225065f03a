// The meta-schemas of the five dialects, in short: what they demand, without titles, comments and defaults. They are
// here for schemas that refer to them; the compiler checks keywords itself.
#include <array>
#include <utility>

#include "schemas/validate/resources.hpp"

namespace sallyport::schema {
namespace {

constexpr std::string_view kDraft4 = R"json({
"id":"http://json-schema.org/draft-04/schema#","$schema":"http://json-schema.org/draft-04/schema#","type":"object",
"definitions":{
 "schemaArray":{"type":"array","minItems":1,"items":{"$ref":"#"}},
 "positiveInteger":{"type":"integer","minimum":0},
 "positiveIntegerDefault0":{"allOf":[{"$ref":"#/definitions/positiveInteger"},{"default":0}]},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}},
"properties":{
 "id":{"type":"string"},"$schema":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"default":{},
 "multipleOf":{"type":"number","minimum":0,"exclusiveMinimum":true},
 "maximum":{"type":"number"},"exclusiveMaximum":{"type":"boolean"},"minimum":{"type":"number"},"exclusiveMinimum":{"type":"boolean"},
 "maxLength":{"$ref":"#/definitions/positiveInteger"},"minLength":{"$ref":"#/definitions/positiveIntegerDefault0"},
 "pattern":{"type":"string","format":"regex"},
 "additionalItems":{"anyOf":[{"type":"boolean"},{"$ref":"#"}]},
 "items":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/schemaArray"}]},
 "maxItems":{"$ref":"#/definitions/positiveInteger"},"minItems":{"$ref":"#/definitions/positiveIntegerDefault0"},
 "uniqueItems":{"type":"boolean"},
 "maxProperties":{"$ref":"#/definitions/positiveInteger"},"minProperties":{"$ref":"#/definitions/positiveIntegerDefault0"},
 "required":{"$ref":"#/definitions/stringArray"},
 "additionalProperties":{"anyOf":[{"type":"boolean"},{"$ref":"#"}]},
 "definitions":{"type":"object","additionalProperties":{"$ref":"#"}},
 "properties":{"type":"object","additionalProperties":{"$ref":"#"}},
 "patternProperties":{"type":"object","additionalProperties":{"$ref":"#"}},
 "dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/stringArray"}]}},
 "enum":{"type":"array","minItems":1,"uniqueItems":true},
 "type":{"anyOf":[{"$ref":"#/definitions/simpleTypes"},
  {"type":"array","items":{"$ref":"#/definitions/simpleTypes"},"minItems":1,"uniqueItems":true}]},
 "format":{"type":"string"},
 "allOf":{"$ref":"#/definitions/schemaArray"},"anyOf":{"$ref":"#/definitions/schemaArray"},
 "oneOf":{"$ref":"#/definitions/schemaArray"},"not":{"$ref":"#"}},
"dependencies":{"exclusiveMaximum":["maximum"],"exclusiveMinimum":["minimum"]}})json";

constexpr std::string_view kDraft6 = R"json({
"$schema":"http://json-schema.org/draft-06/schema#","$id":"http://json-schema.org/draft-06/schema#","type":["object","boolean"],
"definitions":{
 "schemaArray":{"type":"array","minItems":1,"items":{"$ref":"#"}},
 "nonNegativeInteger":{"type":"integer","minimum":0},
 "nonNegativeIntegerDefault0":{"allOf":[{"$ref":"#/definitions/nonNegativeInteger"},{"default":0}]},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true}},
"properties":{
 "$id":{"type":"string","format":"uri-reference"},"$schema":{"type":"string","format":"uri"},
 "$ref":{"type":"string","format":"uri-reference"},"title":{"type":"string"},"description":{"type":"string"},
 "default":{},"examples":{"type":"array","items":{}},
 "multipleOf":{"type":"number","exclusiveMinimum":0},
 "maximum":{"type":"number"},"exclusiveMaximum":{"type":"number"},"minimum":{"type":"number"},"exclusiveMinimum":{"type":"number"},
 "maxLength":{"$ref":"#/definitions/nonNegativeInteger"},"minLength":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "pattern":{"type":"string","format":"regex"},"additionalItems":{"$ref":"#"},
 "items":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/schemaArray"}]},
 "maxItems":{"$ref":"#/definitions/nonNegativeInteger"},"minItems":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "uniqueItems":{"type":"boolean"},"contains":{"$ref":"#"},
 "maxProperties":{"$ref":"#/definitions/nonNegativeInteger"},
 "minProperties":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "required":{"$ref":"#/definitions/stringArray"},"additionalProperties":{"$ref":"#"},
 "definitions":{"type":"object","additionalProperties":{"$ref":"#"}},
 "properties":{"type":"object","additionalProperties":{"$ref":"#"}},
 "patternProperties":{"type":"object","additionalProperties":{"$ref":"#"}},
 "dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/stringArray"}]}},
 "propertyNames":{"$ref":"#"},"const":{},"enum":{"type":"array"},
 "type":{"anyOf":[{"$ref":"#/definitions/simpleTypes"},
  {"type":"array","items":{"$ref":"#/definitions/simpleTypes"},"minItems":1,"uniqueItems":true}]},
 "format":{"type":"string"},
 "allOf":{"$ref":"#/definitions/schemaArray"},"anyOf":{"$ref":"#/definitions/schemaArray"},
 "oneOf":{"$ref":"#/definitions/schemaArray"},"not":{"$ref":"#"}}})json";

constexpr std::string_view kDraft7 = R"json({
"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://json-schema.org/draft-07/schema#","type":["object","boolean"],
"definitions":{
 "schemaArray":{"type":"array","minItems":1,"items":{"$ref":"#"}},
 "nonNegativeInteger":{"type":"integer","minimum":0},
 "nonNegativeIntegerDefault0":{"allOf":[{"$ref":"#/definitions/nonNegativeInteger"},{"default":0}]},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true}},
"properties":{
 "$id":{"type":"string","format":"uri-reference"},"$schema":{"type":"string","format":"uri"},
 "$ref":{"type":"string","format":"uri-reference"},"$comment":{"type":"string"},"title":{"type":"string"},
 "description":{"type":"string"},"default":true,"readOnly":{"type":"boolean"},"writeOnly":{"type":"boolean"},
 "examples":{"type":"array","items":true},
 "multipleOf":{"type":"number","exclusiveMinimum":0},
 "maximum":{"type":"number"},"exclusiveMaximum":{"type":"number"},"minimum":{"type":"number"},"exclusiveMinimum":{"type":"number"},
 "maxLength":{"$ref":"#/definitions/nonNegativeInteger"},"minLength":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "pattern":{"type":"string","format":"regex"},"additionalItems":{"$ref":"#"},
 "items":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/schemaArray"}]},
 "maxItems":{"$ref":"#/definitions/nonNegativeInteger"},"minItems":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "uniqueItems":{"type":"boolean"},"contains":{"$ref":"#"},
 "maxProperties":{"$ref":"#/definitions/nonNegativeInteger"},
 "minProperties":{"$ref":"#/definitions/nonNegativeIntegerDefault0"},
 "required":{"$ref":"#/definitions/stringArray"},"additionalProperties":{"$ref":"#"},
 "definitions":{"type":"object","additionalProperties":{"$ref":"#"}},
 "properties":{"type":"object","additionalProperties":{"$ref":"#"}},
 "patternProperties":{"type":"object","additionalProperties":{"$ref":"#"},"propertyNames":{"format":"regex"}},
 "dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/stringArray"}]}},
 "propertyNames":{"$ref":"#"},"const":true,"enum":{"type":"array","items":true},
 "type":{"anyOf":[{"$ref":"#/definitions/simpleTypes"},
  {"type":"array","items":{"$ref":"#/definitions/simpleTypes"},"minItems":1,"uniqueItems":true}]},
 "format":{"type":"string"},"contentMediaType":{"type":"string"},"contentEncoding":{"type":"string"},
 "if":{"$ref":"#"},"then":{"$ref":"#"},"else":{"$ref":"#"},
 "allOf":{"$ref":"#/definitions/schemaArray"},"anyOf":{"$ref":"#/definitions/schemaArray"},
 "oneOf":{"$ref":"#/definitions/schemaArray"},"not":{"$ref":"#"}}})json";

constexpr std::string_view k2019 = R"json({
"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://json-schema.org/draft/2019-09/schema",
"$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/core":true,"https://json-schema.org/draft/2019-09/vocab/applicator":true,
 "https://json-schema.org/draft/2019-09/vocab/validation":true,"https://json-schema.org/draft/2019-09/vocab/meta-data":true,
 "https://json-schema.org/draft/2019-09/vocab/format":false,"https://json-schema.org/draft/2019-09/vocab/content":true},
"$recursiveAnchor":true,
"allOf":[{"$ref":"meta/core"},{"$ref":"meta/applicator"},{"$ref":"meta/validation"},{"$ref":"meta/meta-data"},
 {"$ref":"meta/format"},{"$ref":"meta/content"}],
"type":["object","boolean"],
"properties":{"definitions":{"type":"object","additionalProperties":{"$recursiveRef":"#"}},
 "dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$recursiveRef":"#"},
  {"$ref":"meta/validation#/$defs/stringArray"}]}}}})json";

constexpr std::string_view k2019Core = R"json({
"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://json-schema.org/draft/2019-09/meta/core",
"$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/core":true},"$recursiveAnchor":true,"type":["object","boolean"],
"properties":{"$id":{"type":"string","format":"uri-reference","pattern":"^[^#]*#?$"},"$schema":{"type":"string","format":"uri"},
 "$anchor":{"type":"string","pattern":"^[A-Za-z][-A-Za-z0-9.:_]*$"},"$ref":{"type":"string","format":"uri-reference"},
 "$recursiveRef":{"type":"string","format":"uri-reference"},"$recursiveAnchor":{"type":"boolean"},
 "$vocabulary":{"type":"object","propertyNames":{"type":"string","format":"uri"},"additionalProperties":{"type":"boolean"}},
 "$comment":{"type":"string"},"$defs":{"type":"object","additionalProperties":{"$recursiveRef":"#"}}}})json";

constexpr std::string_view k2019Applicator = R"json({
"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://json-schema.org/draft/2019-09/meta/applicator",
"$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/applicator":true},"$recursiveAnchor":true,"type":["object","boolean"],
"properties":{"additionalItems":{"$recursiveRef":"#"},"unevaluatedItems":{"$recursiveRef":"#"},
 "items":{"anyOf":[{"$recursiveRef":"#"},{"$ref":"#/$defs/schemaArray"}]},"contains":{"$recursiveRef":"#"},
 "additionalProperties":{"$recursiveRef":"#"},"unevaluatedProperties":{"$recursiveRef":"#"},
 "properties":{"type":"object","additionalProperties":{"$recursiveRef":"#"}},
 "patternProperties":{"type":"object","additionalProperties":{"$recursiveRef":"#"},"propertyNames":{"format":"regex"}},
 "dependentSchemas":{"type":"object","additionalProperties":{"$recursiveRef":"#"}},"propertyNames":{"$recursiveRef":"#"},
 "if":{"$recursiveRef":"#"},"then":{"$recursiveRef":"#"},"else":{"$recursiveRef":"#"},
 "allOf":{"$ref":"#/$defs/schemaArray"},"anyOf":{"$ref":"#/$defs/schemaArray"},"oneOf":{"$ref":"#/$defs/schemaArray"},
 "not":{"$recursiveRef":"#"}},
"$defs":{"schemaArray":{"type":"array","minItems":1,"items":{"$recursiveRef":"#"}}}})json";

// The validation vocabulary is the same in both; only names differ.
#define SALLYPORT_VALIDATION(draft, anchor)                                                                        \
  "{\"$schema\":\"https://json-schema.org/draft/" draft "/schema\",\"$id\":\"https://json-schema.org/draft/" draft \
  "/meta/validation\",\"$vocabulary\":{\"https://json-schema.org/draft/" draft "/vocab/validation\":true}," anchor \
  R"json(,"type":["object","boolean"],
"properties":{"multipleOf":{"type":"number","exclusiveMinimum":0},"maximum":{"type":"number"},"exclusiveMaximum":{"type":"number"},
 "minimum":{"type":"number"},"exclusiveMinimum":{"type":"number"},"maxLength":{"$ref":"#/$defs/nonNegativeInteger"},
 "minLength":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},"pattern":{"type":"string","format":"regex"},
 "maxItems":{"$ref":"#/$defs/nonNegativeInteger"},"minItems":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},
 "uniqueItems":{"type":"boolean"},"maxContains":{"$ref":"#/$defs/nonNegativeInteger"},
 "minContains":{"$ref":"#/$defs/nonNegativeInteger"},"maxProperties":{"$ref":"#/$defs/nonNegativeInteger"},
 "minProperties":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},"required":{"$ref":"#/$defs/stringArray"},
 "dependentRequired":{"type":"object","additionalProperties":{"$ref":"#/$defs/stringArray"}},"const":true,
 "enum":{"type":"array","items":true},
 "type":{"anyOf":[{"$ref":"#/$defs/simpleTypes"},
  {"type":"array","items":{"$ref":"#/$defs/simpleTypes"},"minItems":1,"uniqueItems":true}]}},
"$defs":{"nonNegativeInteger":{"type":"integer","minimum":0},
 "nonNegativeIntegerDefault0":{"$ref":"#/$defs/nonNegativeInteger"},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true}}})json"

#define SALLYPORT_META_DATA(draft, anchor)                                                                         \
  "{\"$schema\":\"https://json-schema.org/draft/" draft "/schema\",\"$id\":\"https://json-schema.org/draft/" draft \
  "/meta/meta-data\",\"$vocabulary\":{\"https://json-schema.org/draft/" draft "/vocab/meta-data\":true}," anchor   \
  R"json(,"type":["object","boolean"],
"properties":{"title":{"type":"string"},"description":{"type":"string"},"default":true,"deprecated":{"type":"boolean"},
 "readOnly":{"type":"boolean"},"writeOnly":{"type":"boolean"},"examples":{"type":"array","items":true}}})json"

#define SALLYPORT_FORMAT(draft, name, anchor)                                                                      \
  "{\"$schema\":\"https://json-schema.org/draft/" draft "/schema\",\"$id\":\"https://json-schema.org/draft/" draft \
  "/meta/" name "\",\"$vocabulary\":{\"https://json-schema.org/draft/" draft "/vocab/" name "\":true}," anchor     \
  R"json(,"type":["object","boolean"],"properties":{"format":{"type":"string"}}})json"

#define SALLYPORT_CONTENT(draft, anchor, self)                                                                     \
  "{\"$schema\":\"https://json-schema.org/draft/" draft "/schema\",\"$id\":\"https://json-schema.org/draft/" draft \
  "/meta/content\",\"$vocabulary\":{\"https://json-schema.org/draft/" draft "/vocab/content\":true}," anchor       \
  R"json(,"type":["object","boolean"],"properties":{"contentMediaType":{"type":"string"},)json"                    \
  "\"contentEncoding\":{\"type\":\"string\"},\"contentSchema\":" self "}}"

#define SALLYPORT_2019 "\"$recursiveAnchor\":true"
#define SALLYPORT_2020 "\"$dynamicAnchor\":\"meta\""

constexpr std::string_view k2020 = R"json({
"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/schema",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,"https://json-schema.org/draft/2020-12/vocab/applicator":true,
 "https://json-schema.org/draft/2020-12/vocab/unevaluated":true,"https://json-schema.org/draft/2020-12/vocab/validation":true,
 "https://json-schema.org/draft/2020-12/vocab/meta-data":true,"https://json-schema.org/draft/2020-12/vocab/format-annotation":true,
 "https://json-schema.org/draft/2020-12/vocab/content":true},
"$dynamicAnchor":"meta",
"allOf":[{"$ref":"meta/core"},{"$ref":"meta/applicator"},{"$ref":"meta/unevaluated"},{"$ref":"meta/validation"},
 {"$ref":"meta/meta-data"},{"$ref":"meta/format-annotation"},{"$ref":"meta/content"}],
"type":["object","boolean"],
"properties":{"definitions":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}},
 "dependencies":{"type":"object","additionalProperties":{"anyOf":[{"$dynamicRef":"#meta"},
  {"$ref":"meta/validation#/$defs/stringArray"}]}},
 "$recursiveAnchor":{"$ref":"meta/core#/$defs/anchorString"},"$recursiveRef":{"$ref":"meta/core#/$defs/uriReferenceString"}}})json";

constexpr std::string_view k2020Core = R"json({
"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/meta/core",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true},"$dynamicAnchor":"meta","type":["object","boolean"],
"properties":{"$id":{"$ref":"#/$defs/uriReferenceString","pattern":"^[^#]*#?$"},"$schema":{"$ref":"#/$defs/uriString"},
 "$ref":{"$ref":"#/$defs/uriReferenceString"},"$anchor":{"$ref":"#/$defs/anchorString"},
 "$dynamicRef":{"$ref":"#/$defs/uriReferenceString"},"$dynamicAnchor":{"$ref":"#/$defs/anchorString"},
 "$vocabulary":{"type":"object","propertyNames":{"$ref":"#/$defs/uriString"},"additionalProperties":{"type":"boolean"}},
 "$comment":{"type":"string"},"$defs":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}}},
"$defs":{"anchorString":{"type":"string","pattern":"^[A-Za-z_][-A-Za-z0-9._]*$"},"uriString":{"type":"string","format":"uri"},
 "uriReferenceString":{"type":"string","format":"uri-reference"}}})json";

constexpr std::string_view k2020Applicator = R"json({
"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/meta/applicator",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/applicator":true},"$dynamicAnchor":"meta","type":["object","boolean"],
"properties":{"prefixItems":{"$ref":"#/$defs/schemaArray"},"items":{"$dynamicRef":"#meta"},"contains":{"$dynamicRef":"#meta"},
 "additionalProperties":{"$dynamicRef":"#meta"},
 "properties":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}},
 "patternProperties":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"propertyNames":{"format":"regex"}},
 "dependentSchemas":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}},"propertyNames":{"$dynamicRef":"#meta"},
 "if":{"$dynamicRef":"#meta"},"then":{"$dynamicRef":"#meta"},"else":{"$dynamicRef":"#meta"},
 "allOf":{"$ref":"#/$defs/schemaArray"},"anyOf":{"$ref":"#/$defs/schemaArray"},"oneOf":{"$ref":"#/$defs/schemaArray"},
 "not":{"$dynamicRef":"#meta"}},
"$defs":{"schemaArray":{"type":"array","minItems":1,"items":{"$dynamicRef":"#meta"}}}})json";

constexpr std::string_view k2020Unevaluated = R"json({
"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/meta/unevaluated",
"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/unevaluated":true},"$dynamicAnchor":"meta","type":["object","boolean"],
"properties":{"unevaluatedItems":{"$dynamicRef":"#meta"},"unevaluatedProperties":{"$dynamicRef":"#meta"}}})json";

constexpr auto kBundled = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"http://json-schema.org/draft-04/schema", kDraft4},
    {"http://json-schema.org/draft-06/schema", kDraft6},
    {"http://json-schema.org/draft-07/schema", kDraft7},
    {"https://json-schema.org/draft/2019-09/schema", k2019},
    {"https://json-schema.org/draft/2019-09/meta/core", k2019Core},
    {"https://json-schema.org/draft/2019-09/meta/applicator", k2019Applicator},
    {"https://json-schema.org/draft/2019-09/meta/validation", SALLYPORT_VALIDATION("2019-09", SALLYPORT_2019)},
    {"https://json-schema.org/draft/2019-09/meta/meta-data", SALLYPORT_META_DATA("2019-09", SALLYPORT_2019)},
    {"https://json-schema.org/draft/2019-09/meta/format", SALLYPORT_FORMAT("2019-09", "format", SALLYPORT_2019)},
    {"https://json-schema.org/draft/2019-09/meta/content",
     SALLYPORT_CONTENT("2019-09", SALLYPORT_2019, "{\"$recursiveRef\":\"#\"}")},
    {"https://json-schema.org/draft/2020-12/schema", k2020},
    {"https://json-schema.org/draft/2020-12/meta/core", k2020Core},
    {"https://json-schema.org/draft/2020-12/meta/applicator", k2020Applicator},
    {"https://json-schema.org/draft/2020-12/meta/unevaluated", k2020Unevaluated},
    {"https://json-schema.org/draft/2020-12/meta/validation", SALLYPORT_VALIDATION("2020-12", SALLYPORT_2020)},
    {"https://json-schema.org/draft/2020-12/meta/meta-data", SALLYPORT_META_DATA("2020-12", SALLYPORT_2020)},
    {"https://json-schema.org/draft/2020-12/meta/format-annotation",
     SALLYPORT_FORMAT("2020-12", "format-annotation", SALLYPORT_2020)},
    {"https://json-schema.org/draft/2020-12/meta/format-assertion",
     SALLYPORT_FORMAT("2020-12", "format-assertion", SALLYPORT_2020)},
    {"https://json-schema.org/draft/2020-12/meta/content",
     SALLYPORT_CONTENT("2020-12", SALLYPORT_2020, "{\"$dynamicRef\":\"#meta\"}")},
});

#undef SALLYPORT_VALIDATION
#undef SALLYPORT_META_DATA
#undef SALLYPORT_FORMAT
#undef SALLYPORT_CONTENT
#undef SALLYPORT_2019
#undef SALLYPORT_2020

}  // namespace

std::string_view bundled_schema(std::string_view uri) {
  for (const auto& [name, text] : kBundled) {
    if (name == uri) return text;
  }
  return {};
}

}  // namespace sallyport::schema
