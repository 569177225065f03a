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
  [[nodiscard]] bool declared() const { return opaque_ || !seeds_.empty(); }  // the schema speaks of this place

  [[nodiscard]] SchemaView member(std::string_view name) const;  // of an object here
  [[nodiscard]] SchemaView items() const;                        // of an array here, all `items` and `prefixItems`
  // A `*` step: every item, and every declared member.
  [[nodiscard]] SchemaView at(const std::vector<std::string>& steps) const;

  // Whether a rule may name a member here: it is declared (`properties`, `patternProperties`, a schema as
  // `additionalProperties`), or this place declares no members at all and does not forbid them.
  [[nodiscard]] bool may_name(std::string_view name) const;
  // The same of a whole way down from here; behind a place that says nothing of what is in it, anything may be.
  [[nodiscard]] bool may_hold(const std::vector<std::string>& steps) const;
  [[nodiscard]] std::vector<std::string> names() const;  // of `properties`; sorted, unique
  [[nodiscard]] std::vector<json::Value> defaults() const;
  // The schema objects that speak of this place, whether or not they always apply.
  [[nodiscard]] std::vector<json::Value> nodes() const { return expand(true); }
  // Those that always apply (through `$ref` and `allOf` only).
  [[nodiscard]] std::vector<json::Value> certain() const { return expand(false); }

 private:
  [[nodiscard]] std::vector<json::Value> expand(bool branches) const;
  void seed(json::Value schema);
  json::Value root_;
  std::vector<json::Value> seeds_;  // objects and `true`
  bool opaque_ = false;             // something that cannot be followed may speak of this place
};

}  // namespace sallyport::policy
