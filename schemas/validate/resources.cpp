#include "schemas/validate/resources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/uri.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kMaxUri = 4'096;          // bytes of one resource's URI
constexpr std::size_t kMaxUriBytes = 4U << 20;  // of all of them: each short `$id` may stand on a long base
constexpr std::uint32_t kSmallContainer = 16;   // is searched as it is

std::string shown(std::string_view text) {
  std::string out = visible(text.substr(0, 200));
  if (text.size() > 200) out += "…";
  return out;
}

bool anchor_form(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool first = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool later = (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
    if (!first && (i == 0 || !later)) return false;
  }
  return !name.empty();
}

std::optional<Vocabulary> vocabulary_of(std::string_view name, Dialect dialect) {
  if (name == "core") return Vocabulary::core;
  if (name == "applicator") return Vocabulary::applicator;
  if (name == "validation") return Vocabulary::validation;
  if (dialect == Dialect::draft2019_09) return name == "format" ? std::optional(Vocabulary::format) : std::nullopt;
  if (name == "unevaluated") return Vocabulary::unevaluated;
  if (name == "format-annotation" || name == "format-assertion") return Vocabulary::format;
  return std::nullopt;
}

}  // namespace

std::unexpected<Error> fail_at(ErrorCode code, json::Value where, std::string_view message) {
  const std::string pointer = where.pointer();
  return fail(code, fmt::format("at {}: {}", pointer.empty() ? "the root" : shown(pointer), message));
}

std::uint32_t Resources::document_of(json::Value node) const {
  const auto found = std::ranges::find(documents_, node.document(), [](const auto& d) { return d.get(); });
  return static_cast<std::uint32_t>(found - documents_.begin());
}

std::uint32_t Resources::resource_of(json::Value node) const { return locations_[document_of(node)][node.index()]; }

std::vector<json::Value> Resources::root_schemas() const {
  std::vector<json::Value> found;
  // Only containers and booleans can be schemas; a walk in order of the text visits each once.
  std::vector<json::Value> open{documents_.front()->root()};
  while (!open.empty()) {
    const json::Value value = open.back();
    open.pop_back();
    if (locations_.front()[value.index()] != kNoResource) found.push_back(value);
    if (value.is_object()) {
      for (const auto [key, child] : value.members()) open.push_back(child);
    } else if (value.is_array()) {
      for (const json::Value child : value.elements()) open.push_back(child);
    }
  }
  std::ranges::sort(found, {}, &json::Value::index);
  return found;
}

const Resource* Resources::find_resource(std::string_view uri) const {
  const auto found = by_uri_.find(uri);
  return found == by_uri_.end() ? nullptr : &resources_[found->second];
}

Status Resources::add_root(json::Value schema) {
  auto added = add_document(schema.raw(), "", options_.default_dialect);
  if (!added) return fail(std::move(added.error()));
  return {};
}

Result<std::uint32_t> Resources::add_document(std::string_view text, std::string uri, Dialect fallback) {
  if (text.size() > options_.bytes) {
    return fail(ErrorCode::limit, fmt::format("the schema has {} bytes, more than {}", text.size(), options_.bytes));
  }
  auto parsed = json::Document::parse(std::string(text), {.bytes = options_.bytes, .depth = options_.depth});
  if (!parsed) return fail(std::move(parsed.error()));
  documents_.push_back(std::make_unique<json::Document>(std::move(*parsed)));
  locations_.emplace_back(documents_.back()->node_count(), kNoResource);
  const json::Value root = documents_.back()->root();
  json::Value named;
  if (root.is_object()) named = root.find("$schema");
  auto meta = meta_of(named, fallback);
  if (!meta) return fail(std::move(meta.error()));
  auto resource = add_resource(root, std::move(uri), *meta);
  if (!resource) return resource;
  if (auto indexed = index(root, *resource); !indexed) return fail(std::move(indexed.error()));
  return resource;
}

Result<std::uint32_t> Resources::add_resource(json::Value root, std::string uri, const Meta& meta) {
  const auto number = static_cast<std::uint32_t>(resources_.size());
  uri_bytes_ += uri.size();
  if (uri_bytes_ > kMaxUriBytes)
    return fail_at(ErrorCode::limit, root, fmt::format("the URIs of all `$id`s take more than {} bytes", kMaxUriBytes));
  if (!by_uri_.emplace(uri, number).second) {
    return fail_at(ErrorCode::invalid, root, fmt::format("two schemas have the `$id` `{}`", shown(uri)));
  }
  resources_.push_back(
      {std::move(uri), document_of(root), root, meta.dialect, meta.vocabularies, meta.assert_formats, false, {}});
  return number;
}

Result<Resources::Meta> Resources::meta_of(json::Value keyword, Dialect fallback) {
  if (!keyword) return Meta{fallback, kAllVocabularies, false};
  if (!keyword.is_string())
    return fail_at(ErrorCode::invalid, keyword, "`$schema` must be a string, the URI of a dialect");
  const std::string uri = keyword.string();
  if (const auto dialect = dialect_of(uri)) return Meta{*dialect, kAllVocabularies, false};
  return custom_meta(keyword, split_fragment(uri).uri);
}

Result<Resources::Meta> Resources::custom_meta(json::Value where, std::string_view uri) {
  const auto found = std::ranges::find(options_.externals, uri, &External::uri);
  if (found == options_.externals.end() || !found->schema.is_object()) {
    return fail_at(
        ErrorCode::unsupported, where,
        fmt::format("the dialect `{}` is not known; known are 2020-12, 2019-09, draft-07, draft-06 and draft-04",
                    shown(uri)));
  }
  const json::Value base = found->schema.find("$schema");
  const auto dialect = base && base.is_string() ? dialect_of(base.string()) : std::optional(options_.default_dialect);
  if (!dialect) {
    return fail_at(ErrorCode::unsupported, where,
                   fmt::format("the meta-schema `{}` is of no known dialect", shown(uri)));
  }
  return read_vocabularies(found->schema, *dialect, uri);
}

Result<Resources::Meta> Resources::read_vocabularies(json::Value meta_schema, Dialect dialect, std::string_view name) {
  const json::Value list = meta_schema.find("$vocabulary");
  if (!list || dialect < Dialect::draft2019_09) return Meta{dialect, kAllVocabularies, false};
  Meta meta{dialect, bit(Vocabulary::core), false};
  const std::string prefix = fmt::format("https://json-schema.org/draft/{}/vocab/", to_string(dialect));
  for (const auto [key, required] : list.members()) {
    const std::string uri = key.string();
    const std::string_view part = uri.starts_with(prefix) ? std::string_view(uri).substr(prefix.size()) : "";
    const auto vocabulary = vocabulary_of(part, dialect);
    if (vocabulary) meta.vocabularies |= bit(*vocabulary);
    meta.assert_formats |= part == "format-assertion";
    if (vocabulary == Vocabulary::applicator && dialect == Dialect::draft2019_09) {
      meta.vocabularies |= bit(Vocabulary::unevaluated);  // still part of it there
    }
    const bool annotates = part == "meta-data" || part == "content";
    if (!vocabulary && !annotates && required.is_bool() && required.boolean()) {
      return fail(ErrorCode::unsupported,
                  fmt::format("the meta-schema `{}` requires the vocabulary `{}`, which is not known", shown(name),
                              shown(uri)));
    }
  }
  return meta;
}

Status Resources::index(json::Value node, std::uint32_t resource, bool boolean_allowed) {
  auto& locations = locations_[document_of(node)];
  if (locations[node.index()] != kNoResource) return {};
  if (++count_ > options_.subschemas) {
    return fail_at(ErrorCode::limit, node, fmt::format("more than {} subschemas", options_.subschemas));
  }
  if (node.is_bool()) {
    if (resources_[resource].dialect == Dialect::draft4 && !boolean_allowed) {
      return fail_at(ErrorCode::invalid, node, "a schema must be an object; draft-04 has no boolean schemas");
    }
    locations[node.index()] = resource;
    return {};
  }
  if (!node.is_object()) {
    return fail_at(ErrorCode::invalid, node,
                   fmt::format("a schema must be an object or a boolean, not {}", to_string(node.kind())));
  }
  auto entered = enter(node, resource);
  if (!entered) return fail(std::move(entered.error()));
  locations_[document_of(node)][node.index()] = *entered;
  if (auto added = add_anchors(node, *entered); !added) return added;
  return index_children(node, *entered);
}

// A subschema with `$id` begins a resource of its own.
Result<std::uint32_t> Resources::enter(json::Value node, std::uint32_t resource) {
  const auto dialect = resources_[resource].dialect;
  const json::Value id = node.find(dialect == Dialect::draft4 ? "id" : "$id");
  if (!id || (dialect <= Dialect::draft7 && node.find("$ref"))) return resource;
  return enter_id(node, id, resource);
}

Result<std::uint32_t> Resources::enter_id(json::Value node, json::Value id, std::uint32_t resource) {
  const Dialect dialect = resources_[resource].dialect;
  if (!id.is_string()) return fail_at(ErrorCode::invalid, id, "`$id` must be a string, a URI reference");
  const std::string text = id.string();
  const auto [reference, fragment] = split_fragment(text);
  if (!fragment.empty() && dialect >= Dialect::draft2019_09) {
    return fail_at(ErrorCode::invalid, id, "`$id` must have no fragment; `$anchor` gives a name");
  }
  std::uint32_t entered = resource;
  if (!reference.empty()) {
    const bool is_root =
        resources_[resource].root.index() == node.index() && resources_[resource].document == document_of(node);
    std::string uri = resolve_uri(resources_[resource].uri, reference);
    if (uri.size() > kMaxUri)
      return fail_at(ErrorCode::limit, id, fmt::format("the URI of the `$id` takes more than {} bytes", kMaxUri));
    if (is_root) {
      // The retrieval URI stays a second name of the document.
      if (uri != resources_[resource].uri && !by_uri_.emplace(uri, resource).second) {
        return fail_at(ErrorCode::invalid, id, fmt::format("two schemas have the `$id` `{}`", shown(uri)));
      }
      resources_[resource].uri = std::move(uri);
    } else {
      auto meta = Result<Meta>(Meta{dialect, resources_[resource].vocabularies, resources_[resource].assert_formats});
      if (const json::Value named = node.find("$schema")) meta = meta_of(named, dialect);
      if (!meta) return fail(std::move(meta.error()));
      auto added = add_resource(node, std::move(uri), *meta);
      if (!added) return added;
      entered = *added;
    }
  }
  if (!fragment.empty()) {
    auto added = add_anchor(id, std::string(fragment), {node}, entered);
    if (!added) return fail(std::move(added.error()));
  }
  return entered;
}

Status Resources::add_anchors(json::Value node, std::uint32_t resource) {
  const Dialect dialect = resources_[resource].dialect;
  if (dialect < Dialect::draft2019_09) return {};
  for (const bool dynamic : {false, true}) {
    if (dynamic && dialect < Dialect::draft2020_12) continue;
    const std::string_view keyword = dynamic ? "$dynamicAnchor" : "$anchor";
    const json::Value name = node.find(keyword);
    if (!name) continue;
    if (!name.is_string() || !anchor_form(name.string())) {
      return fail_at(ErrorCode::invalid, name,
                     fmt::format("`{}` must be a name: a letter or `_`, then letters, digits, `-`, `_`, `.`", keyword));
    }
    if (auto added = add_anchor(name, name.string(), {node, dynamic}, resource); !added) return added;
  }
  if (dialect == Dialect::draft2019_09) {
    const json::Value recursive = node.find("$recursiveAnchor");
    if (recursive && !recursive.is_bool())
      return fail_at(ErrorCode::invalid, recursive, "`$recursiveAnchor` must be a boolean");
    if (recursive && recursive.boolean() && resources_[resource].root.index() == node.index()) {
      resources_[resource].recursive_anchor = true;
    }
  }
  return {};
}

Status Resources::add_anchor(json::Value where, std::string name, Anchor anchor, std::uint32_t resource) {
  auto [at, fresh] = resources_[resource].anchors.emplace(std::move(name), anchor);
  if (fresh) return {};
  if (at->second.node.index() == anchor.node.index()) {  // both `$anchor` and `$dynamicAnchor`
    at->second.dynamic |= anchor.dynamic;
    return {};
  }
  return fail_at(ErrorCode::invalid, where, fmt::format("the name `{}` is given to two subschemas", shown(at->first)));
}

Status Resources::index_children(json::Value node, std::uint32_t resource) {
  const Dialect dialect = resources_[resource].dialect;
  const bool reference_only =
      dialect <= Dialect::draft7 && node.find("$ref").operator bool() && node.find("$ref").is_string();
  for (const auto [key, value] : node.members()) {
    const auto* info = find_keyword(key.string(), dialect);
    if (info == nullptr || info->shape == Shape::plain) continue;
    if (reference_only && info->keyword != Keyword::definitions) continue;
    if ((resources_[resource].vocabularies & bit(info->vocabulary)) == 0) continue;
    if (auto done = index_child(*info, value, resource); !done) return done;
  }
  return {};
}

Status Resources::index_child(const KeywordInfo& info, json::Value value, std::uint32_t resource) {
  const auto each_element = [&]() -> Status {
    if (value.size() == 0 && info.keyword != Keyword::items) {
      return fail_at(ErrorCode::invalid, value, fmt::format("`{}` must not be empty", info.name));
    }
    for (const json::Value element : value.elements()) {
      if (auto done = index(element, resource); !done) return done;
    }
    return {};
  };
  switch (info.shape) {
    case Shape::plain:
      return {};
    case Shape::schema:
      if (info.keyword == Keyword::items && value.is_array()) {
        return fail_at(ErrorCode::invalid, value,
                       "`items` must be one schema in 2020-12; a list of them is `prefixItems`");
      }
      return index(value, resource);
    case Shape::schema_or_boolean:
      return index(value, resource, true);
    case Shape::schema_or_list:
      return value.is_array() ? each_element() : index(value, resource);
    case Shape::schema_list:
      if (!value.is_array()) {
        return fail_at(ErrorCode::invalid, value, fmt::format("`{}` must be an array of schemas", info.name));
      }
      return each_element();
    case Shape::schema_map:
    case Shape::schema_or_names_map:
      if (!value.is_object()) {
        return fail_at(ErrorCode::invalid, value,
                       fmt::format("`{}` must be an object, not {}", info.name, to_string(value.kind())));
      }
      for (const auto [key, child] : value.members()) {
        if (info.shape == Shape::schema_or_names_map && child.is_array()) continue;
        if (auto done = index(child, resource); !done) return done;
      }
      return {};
  }
  return {};
}

Result<std::uint32_t> Resources::load(std::string_view uri, Dialect fallback) {
  if (const auto found = by_uri_.find(uri); found != by_uri_.end()) return found->second;
  const auto external = std::ranges::find(options_.externals, uri, &External::uri);
  if (external != options_.externals.end()) return add_document(external->schema.raw(), std::string(uri), fallback);
  if (const auto text = bundled_schema(uri); !text.empty()) return add_document(text, std::string(uri), fallback);
  return fail(ErrorCode::not_found, "");
}

Result<json::Value> Resources::resolve(std::uint32_t from, std::string_view reference) {
  const std::string absolute = resolve_uri(resources_[from].uri, reference);
  const auto [uri, fragment] = split_fragment(absolute);
  auto resource = load(uri, resources_[from].dialect);
  if (!resource) {
    if (resource.error().code != ErrorCode::not_found)
      return fail_in(fmt::format("in `{}`", shown(uri)), std::move(resource.error()));
    return fail(ErrorCode::invalid,
                fmt::format("`{}` is not in this schema, and nothing is ever fetched", shown(reference)));
  }
  if (fragment.empty()) return resources_[*resource].root;
  const auto decoded = percent_decode(fragment);
  if (!decoded) return fail(ErrorCode::invalid, fmt::format("`{}` has a broken percent escape", shown(reference)));
  if (decoded->front() == '/') return by_pointer(*resource, *decoded, reference);
  const auto anchor = resources_[*resource].anchors.find(*decoded);
  if (anchor == resources_[*resource].anchors.end()) {
    return fail(ErrorCode::invalid, fmt::format("`{}` names no subschema of this schema", shown(reference)));
  }
  return anchor->second.node;
}

json::Value Resources::child(json::Value node, std::string_view step) {
  if (node.size() <= kSmallContainer) return node.at("/" + pointer_step(step));
  const auto [at, fresh] = children_.try_emplace({document_of(node), node.index()});
  if (fresh) {
    std::size_t place = 0;
    for (const json::Value element : node.elements()) at->second.emplace(std::to_string(place++), element);
    for (const auto [key, value] : node.members()) at->second.emplace(key.string(), value);
  }
  const auto found = at->second.find(step);
  return found == at->second.end() ? json::Value() : found->second;
}

// A pointer may lead into what no keyword makes a schema; its base is that of the nearest schema around it.
Result<json::Value> Resources::by_pointer(std::uint32_t resource, std::string_view pointer,
                                          std::string_view reference) {
  const auto steps = pointer_steps(pointer);
  json::Value node = resources_[resource].root;
  std::uint32_t around = resource;
  for (std::size_t i = 0; steps && node && i < steps->size(); ++i) {
    node = child(node, (*steps)[i]);
    if (node && resource_of(node) != kNoResource) around = resource_of(node);
  }
  if (!steps || !node) return fail(ErrorCode::invalid, fmt::format("`{}` points at nothing", shown(reference)));
  if (!node.is_object() && !node.is_bool()) {
    return fail(ErrorCode::invalid,
                fmt::format("`{}` points at {}, which is no schema", shown(reference), to_string(node.kind())));
  }
  if (auto indexed = index(node, around); !indexed) return fail(std::move(indexed.error()));
  return node;
}

}  // namespace sallyport::schema
