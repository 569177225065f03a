#include "gateway/mcp/param_headers.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "gateway/mcp/modern.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::mcp {
namespace {

constexpr std::string_view kDeclaration = "x-mcp-header";
// Under these keywords a schema applies to what no chain of property names reaches.
constexpr std::array<std::string_view, 14> kOneSchema{"items",
                                                      "prefixItems",
                                                      "contains",
                                                      "additionalProperties",
                                                      "unevaluatedProperties",
                                                      "unevaluatedItems",
                                                      "propertyNames",
                                                      "oneOf",
                                                      "anyOf",
                                                      "allOf",
                                                      "not",
                                                      "if",
                                                      "then",
                                                      "else"};
constexpr std::array<std::string_view, 4> kNamedSchemas{"patternProperties", "dependentSchemas", "$defs",
                                                        "definitions"};

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.contains(c);
  });
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

struct Place {
  json::Value schema;
  std::vector<std::string> path;
  bool reachable = true;
};

std::string words(const Place& place) {
  std::string out = "inputSchema";
  for (const std::string& step : place.path) out += "/" + visible(step);
  return out;
}

// The schemas one step below.
void descend(const Place& place, std::vector<Place>& next) {
  const auto unreachable = [&](json::Value schema) {
    if (schema.is_object()) next.push_back({schema, place.path, false});
  };
  for (const json::Member property : place.schema.find("properties").members()) {
    Place below{property.value, place.path, place.reachable};
    below.path.push_back(property.name());
    next.push_back(std::move(below));
  }
  for (const std::string_view keyword : kOneSchema) {
    const json::Value below = place.schema.find(keyword);
    unreachable(below);
    for (const json::Value one : below.elements()) unreachable(one);
  }
  for (const std::string_view keyword : kNamedSchemas) {
    for (const json::Member one : place.schema.find(keyword).members()) unreachable(one.value);
  }
}

Result<ParamHeader> read(const Place& place, json::Value declared) {
  const auto refuse = [&](std::string_view problem) {
    return fail(ErrorCode::invalid, words(place) + ": x-mcp-header " + std::string(problem), ErrorSource::server);
  };
  if (!place.reachable || place.path.empty()) {
    return refuse("may only stand on what `properties` alone lead to");
  }
  if (!declared.is_string() || !is_token(declared.string())) return refuse("must be a header name (RFC 9110 token)");
  const json::Value type = place.schema.find("type");
  const bool numeric = type.equals("integer");  // not `number`: one has many texts
  if (!numeric && !type.equals("string") && !type.equals("boolean")) {
    return refuse("may only stand on a string, an integer or a boolean");
  }
  return ParamHeader{declared.string(), place.path, numeric};
}

json::Value argument(const ParamHeader& declared, json::Value arguments) {
  for (const std::string& step : declared.path) arguments = arguments.find(step);
  return arguments;
}

std::string text_of(json::Value value) {
  if (value.is_string()) return value.string();
  if (!value.is_number()) return std::string(value.raw());
  const auto integer = value.integer();
  return integer ? std::to_string(*integer) : std::string(value.number());
}

bool equal_numbers(std::string_view header, json::Value body) {
  const auto number = json::Document::parse(std::string(header), {.bytes = 1024, .depth = 1});
  // Only plain decimals: nobody should read `1e3` for another where it decides something.
  const bool decimal = header.find_first_not_of("-.0123456789") == std::string_view::npos;
  return number && decimal && json::same(number->root(), body);
}

}  // namespace

Result<std::vector<ParamHeader>> param_headers(json::Value input_schema) {
  std::vector<ParamHeader> found;
  std::set<std::string> names;
  std::vector<Place> open{{input_schema, {}, true}};
  while (!open.empty()) {
    const Place place = std::move(open.back());
    open.pop_back();
    if (!place.schema.is_object()) continue;
    if (const json::Value declared = place.schema.find(kDeclaration)) {
      Result<ParamHeader> header = read(place, declared);
      if (!header) return fail(header.error());
      if (!names.insert(lower(header->name)).second) {
        return fail(ErrorCode::invalid, words(place) + ": the x-mcp-header " + quote(header->name) + " occurs twice",
                    ErrorSource::server);
      }
      found.push_back(std::move(*header));
    }
    descend(place, open);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> param_values(const std::vector<ParamHeader>& declared,
                                                              json::Value arguments) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const ParamHeader& header : declared) {
    const json::Value value = argument(header, arguments);
    if (!value || value.is_null() || value.is_object() || value.is_array()) continue;
    out.emplace_back(std::string(header::kParamPrefix) + header.name, encode_header(text_of(value)));
  }
  return out;
}

std::optional<std::string> param_mismatch(const std::vector<ParamHeader>& declared, json::Value arguments,
                                          const HeaderLookup& find) {
  for (const ParamHeader& header : declared) {
    const json::Value value = argument(header, arguments);
    if (!value || value.is_null() || value.is_object() || value.is_array()) continue;
    const std::string name = std::string(header::kParamPrefix) + header.name;
    const auto sent = find(name);
    if (!sent) return "the header " + name + " is missing, though the body has that argument";
    const auto decoded = decode_header(*sent);
    if (!decoded) return "the header " + name + " is not in the base64 form that it claims";
    if (header.numeric && value.is_number() && equal_numbers(*decoded, value)) continue;
    if (*decoded != text_of(value)) return "the header " + name + " does not match its argument in the body";
  }
  return std::nullopt;
}

}  // namespace sallyport::gateway::mcp
