// The vocabulary of a policy, from settings, trust file and lock.
#include <fmt/core.h>

#include "gateway/config/check.hpp"
#include "policy/conditions/condition.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/effective.hpp"

namespace sallyport::gateway {

namespace {

struct CompiledCase {
  policy::ArgumentConditions when;
  Effect effect;
};

// The first case that is true for the arguments; undetermined ones do not count.
Effect effect_of(const Effect& otherwise, const std::vector<CompiledCase>& cases, json::Value arguments) {
  for (const CompiledCase& one : cases) {
    if (one.when.judge(arguments) == policy::Truth::yes) return one.effect;
  }
  return otherwise;
}

}  // namespace

VocabularyOwner::VocabularyOwner(const Settings& settings, const trust::TrustFile& trust, const trust::LockFile& lock,
                                 const Former* former) {
  for (const auto& [id, server] : settings.servers) {
    const trust::LockServer* locked = lock.server(id);
    if (locked != nullptr) {
      add_server(id, trust.server(id), *locked);
    } else {
      vocabulary_.servers.push_back({.id = id});
    }
  }
  for (const ClientSettings& client : settings.clients) {
    vocabulary_.principals.push_back({.id = client.id, .groups = client.groups, .owner = client.owner});
  }
  for (const PersonSettings& person : settings.people) vocabulary_.people.push_back(person.person);
  if (vocabulary_.people.empty()) {
    // The person that the first start makes.
    const unsigned all = static_cast<unsigned>(Role::approver) | static_cast<unsigned>(Role::operator_) |
                         static_cast<unsigned>(Role::auditor) | static_cast<unsigned>(Role::watcher);
    vocabulary_.people.push_back({.id = "owner", .roles = all, .groups = {"owners"}});
  }
  if (former != nullptr) {
    for (const ClientSettings& client : former->clients)
      vocabulary_.former_principals.push_back({.id = client.id, .groups = client.groups, .owner = client.owner});
    for (const PersonSettings& person : former->people) vocabulary_.former_people.push_back(person.person);
  }
  vocabulary_.variables.insert(settings.vars.begin(), settings.vars.end());
}

VocabularyOwner::~VocabularyOwner() = default;

void VocabularyOwner::add_server(const std::string& id, const trust::ServerTrust* entry,
                                 const trust::LockServer& locked) {
  policy::VocabularyServer server{.id = id, .accepted = !locked.tools.empty()};
  for (const auto& [name, accepted] : locked.tools) {
    if (!accepted.empty()) add_tool(server, entry, name, accepted.back());
  }
  for (const auto& [name, accepted] : locked.prompts) server.prompts.push_back(name);
  vocabulary_.servers.push_back(std::move(server));
}

void VocabularyOwner::add_tool(policy::VocabularyServer& server, const trust::ServerTrust* entry,
                               const std::string& name, const trust::Accepted& accepted) {
  const json::Value definition = accepted.definition();
  const trust::Contract* contract = entry != nullptr ? trust::contract_for(*entry, name) : nullptr;
  const trust::TrustHints honoured = entry != nullptr ? entry->trust_hints : trust::TrustHints{};
  const EffectView view = trust::effective(contract, trust::hints_of(definition), honoured, true, true);
  policy::VocabularyTool tool;
  tool.name = name;
  tool.effect = view.effective;
  tool.input_schema = definition.find("inputSchema");
  tool.output_schema = definition.find("outputSchema");
  if (tool.input_schema) {
    if (auto compiled = schema::Schema::compile(tool.input_schema)) {
      schemas_.push_back(std::make_unique<const schema::Schema>(std::move(*compiled)));
      tool.schema = schemas_.back().get();
    } else {
      faults_.push_back({Fault::Level::warning,
                         {},
                         {0, 0},
                         {},
                         fmt::format("the tool `{}` of `{}` is set aside: its input schema cannot be used: {}",
                                     visible(name), visible(server.id), compiled.error().message)});
    }
  }
  if (contract != nullptr) {
    tool.paths = contract->paths;
    std::vector<CompiledCase> cases;
    for (const trust::Case& one : contract->cases) {
      const EffectView with = trust::apply_case(view, one.terms);
      tool.case_effects.push_back(with.effective);
      const auto text = json::Document::parse(one.when.text);
      if (!text) continue;  // reported where the trust file is checked
      FaultList ignored(one.when.file);
      auto when =
          policy::ArgumentConditions::compile(text->root(), {.faults = ignored, .place = policy::Place::loosening});
      if (when) cases.push_back({std::move(*when), with.effective});
    }
    if (!cases.empty()) {
      tool.effect_for = [otherwise = view.effective, cases = std::move(cases)](json::Value arguments) {
        return effect_of(otherwise, cases, arguments);
      };
    }
  }
  server.tools.push_back(std::move(tool));
}

}  // namespace sallyport::gateway
