// SchemaView: what a pinned JSON Schema declares at one place, read only as far as rules need it: which members exist,
// which types and defaults they have. It looks through local `$ref`, `allOf`, `anyOf`, `oneOf`, `then` and `else`
// (bounded). It does not validate: that is schemas/validate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::policy {

class SchemaView {
 public:
  SchemaView() = default;  // nothing is known
  explicit SchemaView(json::Value root);

  [[nodiscard]] bool known() const { return static_cast<bool>(root_); }
  [[nodiscard]] bool declared() const { return !nodes_.empty(); }  // the schema speaks of this place

  [[nodiscard]] SchemaView member(std::string_view name) const;  // of an object here
  [[nodiscard]] SchemaView items() const;                        // of an array here (`items` as one schema)
  [[nodiscard]] SchemaView at(
      const std::vector<std::string>& steps) const;  // a `*` step: every item, or every declared member

  // Whether a member of that name may be named by a rule: it is declared (`properties`, `patternProperties`, a schema
  // as `additionalProperties`), or this place declares no members at all and does not forbid them.
  [[nodiscard]] bool may_name(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;  // of `properties`; sorted, unique
  [[nodiscard]] std::vector<json::Value> defaults() const;
  [[nodiscard]] const std::vector<json::Value>& nodes() const {
    return nodes_;
  }  // the schemas that speak of this place
  // Nodes that always apply (this place's schema, through `$ref` and `allOf` only).
  [[nodiscard]] std::vector<json::Value> certain() const;

 private:
  SchemaView(json::Value root, std::vector<json::Value> seeds);
  json::Value root_;
  std::vector<json::Value> seeds_;  // as found
  std::vector<json::Value> nodes_;  // with all that they pull in
};

}  // namespace sallyport::policy
