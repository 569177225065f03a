// Match: which calls a rule speaks of (design section 4, second bullet). Typed and compiled; immutable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions/condition.hpp"
#include "schemas/model/call_facts.hpp"

namespace sallyport::policy {

// Exact names or prefixes (written with one trailing `*`), compared byte by byte.
struct NameTest {
  std::vector<std::string> exact;     // sorted
  std::vector<std::string> prefixes;  // without the `*`, sorted

  [[nodiscard]] bool matches(std::string_view name) const;
  [[nodiscard]] bool covers(const NameTest& other) const;  // matches whatever other matches
  friend bool operator==(const NameTest&, const NameTest&) = default;
};

struct Match {
  Place place = Place::tightening;
  std::vector<std::string> servers;  // exact; empty: any
  std::optional<NameTest> tools;
  std::optional<NameTest> principals;
  std::optional<NameTest> uris;
  std::vector<std::string> groups;      // the principal is in one of them; empty: any
  std::vector<EffectCategory> effects;  // one of; empty: any
  std::optional<bool> destructive;
  std::vector<std::string> labels;  // has one of; empty: any
  std::optional<bool> pinned;
  std::vector<Method> methods{Method::tools_call};
  std::optional<ArgumentConditions> arguments;
  std::optional<Condition> paths;
  std::optional<Condition> any_argument;
  std::string conditions_text;  // canonical text of arguments, paths and anyArgument with variables replaced

  [[nodiscard]] bool has_conditions() const { return arguments || paths || any_argument; }
};

// Whether all but the conditions match. `miss` says the first thing that does not.
[[nodiscard]] bool match_names(const Match& match, const CallFacts& facts, Miss* miss = nullptr);
// The conditions; yes if there are none.
// `schema`: of facts.input_schema, made once for many rules.
[[nodiscard]] Truth judge_conditions(const Match& match, const CallFacts& facts, const SchemaView& schema, Work& work,
                                     Miss* miss = nullptr);
// Both, for the place of the match.
[[nodiscard]] bool matches(const Match& match, const CallFacts& facts, Work& work, Miss* miss = nullptr);

// Structural: every call that `narrow` matches is matched by `wide` too. False proves nothing.
[[nodiscard]] bool covers(const Match& wide, const Match& narrow);

}  // namespace sallyport::policy
