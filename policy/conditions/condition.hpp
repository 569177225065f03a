// Conditions: the one language for values (design section 4): in rules, cases, evidence, lookups and grants.
//
//   scalar           equals               [a, b]        one of (scalars)
//   {}               anything             {keywords}    all must hold; each demands its type
//   minimum maximum exclusiveMinimum exclusiveMaximum   numbers, compared exactly as decimals
//   minLength maxLength (code points) pattern pathWithin hostIn   strings
//   items (each) minItems maxItems        arrays
//   members                               objects, as ArgumentConditions
//   not                                   in tightening places only; inside it the place is a loosening, closed one
//
// A condition is immutable, owns all it needs, is cheap to copy and safe to judge from several threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions/schema_view.hpp"
#include "policy/conditions/truth.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::policy {

class ArgumentConditions;

class Condition {
 public:
  // nullopt: `context.faults` says why.
  [[nodiscard]] static std::optional<Condition> compile(json::Value source, const CompileContext& context);

  // `value` must be present. `schema` is what is declared at its place. `miss` is filled unless the result is yes.
  [[nodiscard]] Truth judge(json::Value value, const SchemaView& schema, Work& work, Miss* miss = nullptr) const;

  // Of a member that is not there: by the schema's default; without one: no if the schema does not declare it or this
  // is
  // `{}`, else undetermined.
  [[nodiscard]] Truth judge_absent(const SchemaView& schema, Work& work, Miss* miss = nullptr) const;

  [[nodiscard]] bool anything() const;                  // `{}`
  [[nodiscard]] bool speaks_of(json::Kind kind) const;  // its keywords (or operands) are about that type

  // If the schema shows that no valid value fulfils this: why, in words. nullopt proves nothing.
  [[nodiscard]] std::optional<std::string> impossible(const SchemaView& schema) const;
  // Members named below this (by `members`) that the schema does not have: pointers relative to the value.
  void unknown_members(const SchemaView& schema, const std::string& pointer, std::vector<Miss>& out) const;

  struct Node;  // condition_node.hpp

 private:
  friend class ArgumentConditions;
  [[nodiscard]] bool fits_no_choice(json::Value schema) const;  // of `enum` or `const`
  [[nodiscard]] static std::optional<Condition> compile_at(json::Value source, const CompileContext& context,
                                                           int depth);
  [[nodiscard]] static bool compile_keyword(Node& node, const json::Member& member, const CompileContext& context,
                                            int depth);
  explicit Condition(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

// An object of "name" (must be there) or "name?" (may be absent) to condition. Closed: a member that is not named makes
// it false. Used as `arguments`, `members`, `when` of cases, `applied` of lookups, `result` of evidence, and by grants.
class ArgumentConditions {
 public:
  [[nodiscard]] static std::optional<ArgumentConditions> compile(json::Value source, const CompileContext& context);

  // An absent `object` counts as `{}`; one that is no object is undetermined.
  [[nodiscard]] Truth judge(json::Value object, const SchemaView& schema, Work& work, Miss* miss = nullptr) const;
  // The same with a bound of its own; for callers outside rules (cases, lookups, evidence, grants). Exhausted:
  // undetermined.
  [[nodiscard]] Truth judge(json::Value object, json::Value schema = {}) const;

  struct Entry {
    std::string name;
    bool optional = false;
    Condition condition;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] Place place() const { return place_; }

 private:
  friend class Condition;
  [[nodiscard]] static std::optional<ArgumentConditions> compile_at(json::Value source, const CompileContext& context,
                                                                    int depth);
  [[nodiscard]] Truth judge_entry(const Entry& entry, json::Value value, const SchemaView& schema, Work& work,
                                  Miss* miss) const;
  std::vector<Entry> entries_;  // sorted by name
  bool closed_ = false;
  Place place_ = Place::tightening;
};

}  // namespace sallyport::policy
