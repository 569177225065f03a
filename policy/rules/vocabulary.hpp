// Vocabulary: what a policy may name, as config, trust and lock say it. Filled by the caller; only used while loading
// and testing, so its views need to live no longer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions/truth.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"
#include "schemas/validate/schema.hpp"

namespace sallyport::policy {

struct VocabularyTool {
  std::string name;                  // the server's own
  Effect effect;                     // effective, without cases
  std::vector<Effect> case_effects;  // those that `cases` can make of it
  // The effect for these arguments (by `cases`); null: `effect`. Used by the policy's own tests.
  std::function<Effect(json::Value arguments)> effect_for;
  std::vector<std::string> paths;  // pointers that the contract calls paths
  json::Value input_schema;        // of the accepted definition
  json::Value output_schema;       // absent: none
  const schema::Schema* schema =
      nullptr;  // the compiled input schema, to check the arguments of tests; null: not checked
};

struct VocabularyServer {
  std::string id;
  bool accepted = false;  // has accepted definitions: rules and tests about it are checked in full, else they are noted
  std::vector<VocabularyTool> tools;  // the accepted ones
  std::vector<std::string> prompts;   // names, where known

  [[nodiscard]] const VocabularyTool* tool(std::string_view name) const;
};

struct Vocabulary {
  std::vector<VocabularyServer> servers;
  std::vector<Principal> principals;  // the clients of the config, with their groups
  std::vector<std::string> groups;    // client groups that rules may name, beside those of `principals`
  std::vector<Person> people;  // as in force (with the `owner` that first start makes); for `approval.by` and `quorum`
  // Those who were in force before a reload: what still speaks of them is warned of, so that taking somebody away is in
  // force at once. Empty at a start.
  std::vector<Principal> former_principals;
  std::vector<Person> former_people;
  Variables variables;

  [[nodiscard]] const VocabularyServer* server(std::string_view id) const;
  [[nodiscard]] bool knows_group(std::string_view group) const;  // of clients
  [[nodiscard]] bool knew_group(std::string_view group) const;   // before the reload
  [[nodiscard]] bool knew_principal(std::string_view id) const;  // before the reload
  // `gateway`, `client:local`, `local:…` and `anonymous:…` are known without being listed; people are principals too.
  [[nodiscard]] bool knows_principal(std::string_view id) const;
  // Whether the id of somebody, listed or not, may begin so.
  [[nodiscard]] bool knows_principals_of(std::string_view prefix) const;
};

}  // namespace sallyport::policy
