// The documents that one compilation may refer to, with every schema resource, anchor and base URI in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "schemas/validate/keywords.hpp"
#include "schemas/validate/schema.hpp"

namespace sallyport::schema {

inline constexpr std::uint32_t kNoResource = 0xFFFFFFFF;

struct Anchor {
  json::Value node;
  bool dynamic = false;
};

// A schema with a URI of its own: the root of a document, or a subschema with `$id`.
struct Resource {
  std::string uri;  // without fragment; may be empty or relative for a root without `$id`
  std::uint32_t document = 0;
  json::Value root;
  Dialect dialect = Dialect::draft2020_12;
  VocabularySet vocabularies = kAllVocabularies;
  bool assert_formats = false;
  bool recursive_anchor = false;
  std::map<std::string, Anchor, std::less<>> anchors;
};

class Resources {
 public:
  // `documents` receives every document that is needed; they stay where they are.
  Resources(std::vector<std::unique_ptr<json::Document>>& documents, const CompileOptions& options)
      : documents_(documents), options_(options) {}

  Status add_root(json::Value schema);

  // What `reference` names, seen from a node's resource: a schema node that is indexed.
  Result<json::Value> resolve(std::uint32_t from, std::string_view reference);

  [[nodiscard]] const std::vector<Resource>& all() const { return resources_; }
  // The number of the document that a node stands in, and of its resource (kNoResource: not a known schema).
  [[nodiscard]] std::uint32_t document_of(json::Value node) const;
  [[nodiscard]] std::uint32_t resource_of(json::Value node) const;
  // Every schema of the first document, in order of its text.
  [[nodiscard]] std::vector<json::Value> root_schemas() const;
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const Resource* find_resource(std::string_view uri) const;

 private:
  struct Meta {
    Dialect dialect;
    VocabularySet vocabularies;
    bool assert_formats;
  };
  Result<std::uint32_t> add_document(std::string_view text, std::string uri, Dialect fallback);
  Result<std::uint32_t> add_resource(json::Value root, std::string uri, const Meta& meta);
  Result<Meta> meta_of(json::Value schema_keyword, Dialect fallback);
  Result<Meta> custom_meta(json::Value where, std::string_view uri);
  Result<Meta> read_vocabularies(json::Value meta_schema, Dialect dialect, std::string_view name);
  Status index(json::Value node, std::uint32_t resource, bool boolean_allowed = false);
  Status index_children(json::Value node, std::uint32_t resource);
  Status index_child(const KeywordInfo& info, json::Value value, std::uint32_t resource);
  Result<std::uint32_t> enter(json::Value node, std::uint32_t resource);
  Result<std::uint32_t> enter_id(json::Value node, json::Value id, std::uint32_t resource);
  Status add_anchors(json::Value node, std::uint32_t resource);
  Status add_anchor(json::Value where, std::string name, Anchor anchor, std::uint32_t resource);
  Result<std::uint32_t> load(std::string_view uri, Dialect fallback);
  // A member or element, looked up by the thousand in a large schema.
  json::Value child(json::Value node, std::string_view step);
  Result<json::Value> by_pointer(std::uint32_t resource, std::string_view pointer, std::string_view reference);

  std::vector<std::unique_ptr<json::Document>>& documents_;
  const CompileOptions& options_;
  std::vector<Resource> resources_;
  std::map<std::string, std::uint32_t, std::less<>> by_uri_;
  std::vector<std::vector<std::uint32_t>> locations_;  // of each document: node index to resource
  std::size_t count_ = 0;
  std::size_t uri_bytes_ = 0;
  using Children = std::map<std::string, json::Value, std::less<>>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Children> children_;  // of large containers: document and node
};

// `at /properties/a/type: …`, with the URI of a document that is not the first.
[[nodiscard]] std::unexpected<Error> fail_at(ErrorCode code, json::Value where, std::string_view message);

// The bundled meta-schema of that URI (without fragment), or empty.
[[nodiscard]] std::string_view bundled_schema(std::string_view uri);

}  // namespace sallyport::schema
