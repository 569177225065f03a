// Outline: what a file schema says at a place of a document, in words for faults. The schemas of schemas/files speak
// without anyOf, oneOf or patterns, so every place has one schema node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::schema {

class Outline {
 public:
  explicit Outline(json::Value root) : root_(root) {}

  // The schema of the member or element that is one step below `node`; absent: nothing is said of it.
  [[nodiscard]] json::Value step(json::Value node, std::string_view name, bool element) const;
  [[nodiscard]] json::Value root() const { return resolve(root_); }

  // Whether a member of that name may stand at `node`.
  [[nodiscard]] static bool allows(json::Value node, std::string_view name);
  // Members that a person may write there, without those that are only suffered.
  [[nodiscard]] static std::vector<std::string> names(json::Value node);
  // `a string or a list`.
  [[nodiscard]] static std::string types(json::Value node);
  // Of an unknown member: what to do.
  [[nodiscard]] static std::string remedy(json::Value node, std::string_view name);
  // Values that may stand there; empty: any.
  [[nodiscard]] static std::vector<std::string> choices(json::Value node);

 private:
  [[nodiscard]] json::Value resolve(json::Value node) const;
  json::Value root_;
};

// `a`, `b` or `c`, at most `most` of them.
[[nodiscard]] std::string listed(const std::vector<std::string>& names, std::size_t most = 12);
[[nodiscard]] std::string type_name(json::Kind kind);

}  // namespace sallyport::schema
