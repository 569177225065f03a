#include "gateway/config/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "gateway/config/hidden_check.hpp"
#include "gateway/config/own_file.hpp"
#include "policy/conditions/condition.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/files/judge.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/servers/doubts.hpp"
#include "trust/servers/effective.hpp"

namespace sallyport::gateway {

namespace {

constexpr std::string_view kPolicyTag = "sallyport/policy/v1";

void append(Faults& all, Faults more) { std::move(more.begin(), more.end(), std::back_inserter(all)); }

// Faults of a file by its schema, where its reader has not said anything of the same place: readers know more words.
// True: nothing was added that refuses.
bool add_form_faults(const std::vector<OwnFile>& files, schema::FileKind kind, Faults& faults) {
  const auto place = [](const Fault& fault) {
    return std::tuple(fault.file, fault.position.line, fault.position.column);
  };
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> said;
  for (const Fault& fault : faults) said.insert(place(fault));
  const schema::Judge judge(kind);
  bool ok = true;
  for (const OwnFile& file : files) {
    for (Fault& fault : judge.judge(*file.document, file.name)) {
      if (said.contains(place(fault))) continue;
      ok = ok && fault.level != Fault::Level::error;
      faults.push_back(std::move(fault));
    }
  }
  return ok;
}

// A condition of the trust file: trust/ keeps it as text, its language belongs to policy/.
void check_condition(const trust::Raw& raw, std::string_view what, Faults& faults) {
  if (raw.text.empty()) return;
  const auto document = json::Document::parse(raw.text);
  FaultList found(raw.file);
  if (document) {
    const policy::CompileContext context{.faults = found, .place = policy::Place::loosening};
    if (policy::ArgumentConditions::compile(document->root(), context) && found.ok()) return;
  }
  const std::string why =
      document ? found.all().empty() ? "it is no object" : found.all().front().message : document.error().message;
  faults.push_back({Fault::Level::error, raw.file, {raw.line, raw.column}, {}, fmt::format("{}: {}", what, why)});
}

void check_conditions(const trust::TrustFile& trust, Faults& faults) {
  for (const auto& [id, server] : trust.servers) {
    for (const trust::Contract& contract : server.tools) {
      for (const trust::Case& one : contract.cases) check_condition(one.when, "`when`", faults);
      if (contract.lookup) check_condition(contract.lookup->applied, "`applied`", faults);
      if (contract.errors.none.result) check_condition(*contract.errors.none.result, "`result`", faults);
      if (contract.errors.transient.result) check_condition(*contract.errors.transient.result, "`result`", faults);
    }
  }
}

std::vector<std::string> names_of(const trust::AcceptedByName& accepted) {
  std::vector<std::string> names;
  for (const auto& [name, entries] : accepted) names.push_back(name);
  return names;
}

// Contracts about servers and tools that are not there. They only leave tools unrated, so they never refuse.
void check_contract_names(json::Value servers, const Settings& settings, const trust::LockFile& lock,
                          FaultList& faults) {
  std::vector<std::string> known;
  for (const auto& [id, server] : settings.servers) known.push_back(id);
  for (const json::Member member : servers.members()) {
    const std::string id = member.name();
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      const auto near = nearest(id, known);
      faults.warning(member.key,
                     near ? fmt::format("the config has no server `{}`: did you mean `{}`?", visible(id), *near)
                          : fmt::format("the config has no server `{}`: what stands here has no use", visible(id)));
      continue;
    }
    const trust::LockServer* locked = lock.server(id);
    const json::Value tools = member.value.is_object() ? member.value.find("tools") : json::Value();
    if (locked == nullptr || locked->tools.empty() || !tools || !tools.is_object()) continue;
    const std::vector<std::string> accepted = names_of(locked->tools);
    for (const json::Member tool : tools.members()) {
      const std::string name = tool.name();
      const bool found = name.ends_with('*')
                             ? std::any_of(accepted.begin(), accepted.end(),
                                           [&](const std::string& one) {
                                             return one.starts_with(std::string_view(name).substr(0, name.size() - 1));
                                           })
                             : locked->tools.contains(name);
      if (found) continue;
      const auto near = nearest(name, accepted);
      faults.warning(tool.key, near ? fmt::format("`{}` has no accepted tool `{}`: did you mean `{}`?", visible(id),
                                                  visible(name), *near)
                                    : fmt::format("`{}` has no accepted tool `{}`", visible(id), visible(name)));
    }
  }
}

// What deserves a second look, once for each entry and thought, with the first tool that it is about.
void check_contract_terms(json::Value servers, const trust::TrustFile& trust, const trust::LockFile& lock,
                          FaultList& faults) {
  for (const json::Member member : servers.members()) {
    const trust::ServerTrust* server = trust.server(member.name());
    const trust::LockServer* locked = lock.server(member.name());
    const json::Value tools = member.value.is_object() ? member.value.find("tools") : json::Value();
    if (server == nullptr || locked == nullptr || !tools || !tools.is_object()) continue;
    std::set<std::pair<std::string, std::string>> told;
    for (const auto& [name, accepted] : locked->tools) {
      const trust::Contract* contract = trust::contract_for(*server, name);
      if (contract == nullptr || accepted.empty()) continue;
      const auto hints = trust::hints_of(accepted.back().definition());
      const EffectView view = trust::effective(contract, hints, server->trust_hints, true, true);
      for (std::string& doubt : trust::doubts(*contract, view)) {
        if (!told.emplace(contract->name, doubt).second) continue;
        for (const json::Member entry : tools.members()) {
          if (entry.key.equals(contract->name))
            faults.warning(entry.key, fmt::format("`{}`: {}", visible(name), doubt));
        }
      }
    }
  }
}

trust::LoadedTrust load_trust(const Sources& sources) {
  std::vector<trust::TrustSource> roots;
  for (const OwnFile& file : sources.trust) roots.push_back({file.name, file.document->root()});
  return trust::load_trust(roots);
}

// A digest that is another whenever the rules may mean something else: the files' canonical form, and the variables if
// any of them uses one.
std::string policy_digest(const Settings& settings, const Sources& sources) {
  std::string text;
  for (const OwnFile& file : sources.policy) text += json::canonical(file.document->root()) + "\n";
  if (text.find("${") != std::string::npos) {
    for (const auto& [name, value] : settings.vars) text += fmt::format("{}:{}\n", quote(name), quote(value));
  }
  return trust::tagged_digest(kPolicyTag, text);
}

// The digests of the bytes, by name, for the receipt of a load.
std::vector<std::pair<std::string, std::string>> file_digests(const Settings& settings, const Sources& sources) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::vector<OwnFile>* files : {&sources.trust, &sources.policy}) {
    for (const OwnFile& file : *files) {
      out.emplace_back(file.name.empty() ? "inline" : file.name, trust::digest_text(file.document->text()));
    }
  }
  if (sources.lock) out.emplace_back(settings.lock_file, trust::digest_text(*sources.lock));
  std::sort(out.begin(), out.end());
  return out;
}

std::shared_ptr<const trust::LockFile> load_lock(const Settings& settings, const Sources& sources, Faults& faults) {
  auto lock = std::make_shared<trust::LockFile>();
  if (!sources.lock) return lock;
  auto parsed = trust::parse_lock(*sources.lock);
  if (parsed) {
    *lock = std::move(*parsed);
  } else {
    faults.push_back(file_fault(settings.lock_file, parsed.error().message));
  }
  return lock;
}

// What a policy's rules seem to do while nothing is known of effects says nothing of the policy.
void drop_consequences(Faults& faults) {
  std::erase_if(faults, [](const Fault& fault) {
    return fault.level == Fault::Level::warning || fault.message.starts_with("test `");
  });
}

// A run can only have to show what a `require` rule names.
void check_run(const Settings& settings, const policy::Policy& policy, Faults& faults) {
  for (const std::string& id : settings.run_evidence.value_or(std::vector<std::string>{})) {
    const policy::Rule* rule = policy.rule(id);
    if (rule != nullptr && rule->evidence) continue;
    faults.push_back(file_fault(
        settings.file,
        fmt::format("`run.evidence` names `{}`, and the policy has no `require` rule of that id", visible(id))));
  }
}

}  // namespace

Checked check_rules(const Settings& settings, const Sources& sources, const CheckOptions& options) {
  Checked checked;
  const auto lock = load_lock(settings, sources, checked.faults);

  trust::LoadedTrust loaded_trust = load_trust(sources);
  auto trust = std::make_shared<trust::TrustFile>();
  if (loaded_trust.file) *trust = std::move(*loaded_trust.file);
  check_conditions(*trust, loaded_trust.faults);
  add_form_faults(sources.trust, schema::FileKind::trust, loaded_trust.faults);
  for (const OwnFile& file : sources.trust) {
    const json::Value root = file.document->root();
    const json::Value servers = root.is_object() ? root.find("servers") : json::Value();
    if (!servers || !servers.is_object()) continue;
    FaultList names(file.name);
    check_contract_names(servers, settings, *lock, names);
    if (options.strict) check_contract_terms(servers, *trust, *lock, names);
    append(loaded_trust.faults, names.take());
  }

  // Without the contracts much would seem idle that is not.
  const bool trust_ok = !has_errors(loaded_trust.faults);

  const VocabularyOwner words(settings, *trust, *lock, options.former);
  std::vector<policy::Source> roots;
  for (const OwnFile& file : sources.policy) roots.push_back({file.name, file.document->root()});
  const policy::LoadOptions load_options{.digest = policy_digest(settings, sources),
                                         .idle_is_error = options.strict && trust_ok};
  policy::LoadedPolicy loaded_policy = policy::load(roots, words.vocabulary(), load_options);
  if (!trust_ok) drop_consequences(loaded_policy.faults);
  const bool policy_form = add_form_faults(sources.policy, schema::FileKind::policy, loaded_policy.faults);

  for (const OwnFile& file : sources.trust) {
    if (!loaded_policy.policy) break;
    FaultList hidden(file.name);
    check_hidden(file.document->root().find("servers"), *trust, *lock, loaded_policy.policy->redact, options.strict,
                 hidden);
    append(loaded_trust.faults, hidden.take());
  }

  // Failing tests are faults too, but a policy that only tightens may be put in force in spite of them: they do not
  // take the book away.
  const bool form_ok =
      !has_errors(loaded_trust.faults) && !has_errors(checked.faults) && policy_form && loaded_policy.policy != nullptr;
  checked.tests_ok = loaded_policy.tests_ok;
  if (form_ok) {
    checked.book = RuleBook{.trust = trust,
                            .lock = lock,
                            .policy = loaded_policy.policy,
                            .trust_digest = trust->digest,
                            .policy_digest = load_options.digest,
                            .lock_digest = sources.lock ? trust::digest_text(*sources.lock) : std::string(),
                            .files = file_digests(settings, sources)};
  }
  if (loaded_policy.policy) check_run(settings, *loaded_policy.policy, checked.faults);
  append(checked.faults, std::move(loaded_trust.faults));
  append(checked.faults, words.faults());
  append(checked.faults, std::move(loaded_policy.faults));
  sort_faults(checked.faults);
  return checked;
}

LoadedConfig load_config(const SettingsRequest& request, const Environment& environment, const FileReader& files,
                         const CheckOptions& options) {
  LoadedConfig config;
  LoadedSettings loaded = load_settings(request, environment, files);
  config.settings = std::move(loaded.settings);
  config.faults = std::move(loaded.faults);
  if (!loaded.readable) return config;
  LoadedSources sources = read_sources(*loaded.readable, files);
  const bool read = !has_errors(sources.faults);
  append(config.faults, std::move(sources.faults));
  CheckOptions with_former = options;
  with_former.former = &request.former;
  Checked checked = check_rules(*loaded.readable, sources.sources, with_former);
  append(config.faults, std::move(checked.faults));
  config.tests_ok = checked.tests_ok;
  if (read) config.book = std::move(checked.book);
  sort_faults(config.faults);
  return config;
}

}  // namespace sallyport::gateway
