#include "policy/evaluate/load.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

Fault fault_at(Fault::Level level, const Rule& rule, std::string message) {
  return Fault{level, rule.file, rule.position, {}, std::move(message)};
}

bool unconditional(const Rule& deny) { return deny.kind == RuleKind::deny && deny.unless.empty(); }

// Denies that could cover a rule, found by server and, where one is named, tool.
class Denies {
 public:
  explicit Denies(const Policy& policy) : policy_(policy) {
    for (const Rule& rule : policy.rules) {
      if (!unconditional(rule) || (rule.match.tools && rule.match.tools->prefixes.empty())) continue;
      if (rule.match.servers.empty()) any_.push_back(&rule);
      for (const std::string& server : rule.match.servers) by_server_[server].push_back(&rule);
    }
  }

  [[nodiscard]] const Rule* covering(const Rule& rule) const {
    const std::string server = rule.match.servers.empty() ? std::string() : rule.match.servers.front();
    if (rule.match.tools && !rule.match.tools->exact.empty()) {
      for (const std::uint32_t index : policy_.index.candidates(server, rule.match.tools->exact.front())) {
        const Rule& deny = policy_.rules[index];
        if (unconditional(deny) && covers(deny.match, rule.match)) return &deny;
      }
      return nullptr;
    }
    const auto search = [&](const std::vector<const Rule*>& list) -> const Rule* {
      const auto found = std::ranges::find_if(list, [&](const Rule* deny) { return covers(deny->match, rule.match); });
      return found == list.end() ? nullptr : *found;
    };
    if (const Rule* found = search(any_)) return found;
    const auto list = by_server_.find(server);
    return list == by_server_.end() ? nullptr : search(list->second);
  }

 private:
  const Policy& policy_;
  std::vector<const Rule*> any_;
  std::unordered_map<std::string, std::vector<const Rule*>> by_server_;
};

// Rules that can never matter whatever is called.
void find_idle(const Policy& policy, Fault::Level level, Faults& faults) {
  const Denies denies(policy);
  for (const Rule& rule : policy.rules) {
    const auto idle = [&](std::string words) {
      faults.push_back(fault_at(level, rule, "rule `" + visible(rule.id) + "` can never matter: " + words));
    };
    if (rule.kind == RuleKind::allow && rule.match.pinned == false) idle("an allow holds only for pinned definitions");
    if (std::ranges::any_of(rule.unless, [&](const Match& match) { return covers(match, rule.match); }))
      idle("its `unless` takes back all that it says");
    if (rule.kind == RuleKind::deny) continue;
    if (const Rule* deny = denies.covering(rule)) idle("the deny `" + visible(deny->id) + "` covers all of it");
  }
}

// The last guard: whatever the rules say, what nobody has pinned must not pass.
void self_test(const Policy& policy, const Vocabulary& vocabulary, Faults& faults) {
  Principal everyone{.id = "self-test", .groups = vocabulary.groups, .owner = {}, .anonymous = false};
  for (const Principal& principal : vocabulary.principals) {
    everyone.groups.insert(everyone.groups.end(), principal.groups.begin(), principal.groups.end());
  }
  std::vector<std::string> servers{"self-test"};
  for (const VocabularyServer& server : vocabulary.servers) servers.push_back(server.id);
  for (const std::string& server : servers) {
    for (const auto category : {EffectCategory::unrated, EffectCategory::read}) {
      CallFacts facts;
      facts.principal = &everyone;
      facts.server = server;
      facts.tool = "self_test";
      facts.effect.category = category;
      facts.effect.destructive = category == EffectCategory::unrated;
      if (evaluate(policy, facts).verdict != Verdict::allow) continue;
      faults.push_back(
          Fault{Fault::Level::error,
                {},
                {},
                {},
                "self-test: a made-up tool of server `" + visible(server) + "` that nobody pinned would be allowed"});
    }
  }
}

void sort_faults(Faults& faults) {
  const auto key = [](const Fault& fault) {
    return std::tie(fault.file, fault.position.line, fault.position.column, fault.message);
  };
  std::ranges::sort(faults, [&](const Fault& a, const Fault& b) { return key(a) < key(b); });
}

void add_test_faults(const Policy& policy, const std::vector<TestResult>& results, LoadedPolicy& out) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TestResult& result = results[i];
    if (result.outcome == TestResult::Outcome::passed) continue;
    const auto level = result.error ? Fault::Level::error : Fault::Level::note;
    const PolicyTest& test = policy.tests[i];
    out.faults.push_back(
        Fault{level, test.file, test.position, test.pointer, "test `" + visible(result.name) + "`: " + result.words});
    if (result.error) out.tests_ok = false;
  }
}

}  // namespace

LoadedPolicy load(std::span<const Source> sources, const Vocabulary& vocabulary, const LoadOptions& options) {
  LoadedPolicy out;
  Parsed parsed = parse(sources, vocabulary, options.idle_is_error);
  out.faults = std::move(parsed.faults);
  if (parsed.policy) {
    parsed.policy->digest = options.digest;
    const Policy& policy = *parsed.policy;
    find_idle(policy, options.idle_is_error ? Fault::Level::error : Fault::Level::warning, out.faults);
    self_test(policy, vocabulary, out.faults);
    const bool good = !has_errors(out.faults);
    add_test_faults(policy, run_tests(policy, vocabulary), out);
    if (good) out.policy = std::make_shared<const Policy>(std::move(*parsed.policy));
  }
  sort_faults(out.faults);
  return out;
}

LoadedPolicy load(const json::Document& document, std::string file, const Vocabulary& vocabulary,
                  const LoadOptions& options) {
  const Source source{std::move(file), document.root()};
  return load(std::span(&source, 1), vocabulary, options);
}

std::shared_ptr<const Policy> default_policy() { return std::make_shared<const Policy>(); }

}  // namespace sallyport::policy
