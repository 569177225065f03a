#include "policy/evaluate/load.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

Fault fault_at(Fault::Level level, const Rule& rule, std::string message) {
  return Fault{level, rule.file, rule.position, {}, std::move(message)};
}

bool unconditional(const Rule& deny) { return deny.kind == RuleKind::deny && deny.unless.empty(); }

// What a rule says of one thing, as keys: a deny that covers it must stand under one of them.
std::vector<std::string> keys_of_names(std::string_view kind, const NameTest& names) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view how, std::string_view name) {
    out.push_back(std::string(kind) + std::string(how) + std::string(name));
  };
  for (const std::string& name : names.exact) add("=", name);
  for (const std::string& prefix : names.prefixes) add("*", prefix);
  return out;
}

// Under which keys a deny that speaks of this name could stand: the name itself, and everything that it begins with.
std::vector<std::string> keys_above(std::string_view kind, const NameTest& names) {
  const bool exact = !names.exact.empty();
  const std::string& name = exact ? names.exact.front() : names.prefixes.front();
  std::vector<std::string> out;
  if (exact) out.push_back(std::string(kind) + "=" + name);
  for (std::size_t length = 0; length <= name.size(); ++length)
    out.push_back(std::string(kind) + "*" + name.substr(0, length));
  return out;
}

std::vector<std::string> keys_of_list(std::string_view kind, const std::vector<std::string>& list) {
  std::vector<std::string> out;
  for (const std::string& item : list) out.push_back(std::string(kind) + "=" + item);
  return out;
}

// Denies that could cover a rule, found by one of the things that they name: what covers must name at least as much.
class Denies {
 public:
  explicit Denies(const Policy& policy) {
    for (const Rule& rule : policy.rules) {
      if (!unconditional(rule)) continue;
      for (std::string& key : keys(rule.match)) by_key_[std::move(key)].push_back(&rule);
    }
  }

  // False: so many rules might cover each other that not all could be looked at.
  [[nodiscard]] bool complete() const { return left_ > 0; }

  [[nodiscard]] const Rule* covering(const Rule& rule) {
    const Match& match = rule.match;
    std::vector<std::string> wanted{"any"};
    const auto want = [&](std::vector<std::string> more) {
      wanted.insert(wanted.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    if (match.has_conditions()) wanted.push_back("c" + match.conditions_text);
    if (match.tools) want(keys_above("t", *match.tools));
    if (match.principals) want(keys_above("p", *match.principals));
    if (match.uris) want(keys_above("u", *match.uris));
    if (!match.labels.empty()) wanted.push_back("l=" + match.labels.front());
    if (!match.groups.empty()) wanted.push_back("g=" + match.groups.front());
    if (!match.servers.empty()) wanted.push_back("s=" + match.servers.front());
    for (const std::string& key : wanted) {
      const auto list = by_key_.find(key);
      if (list == by_key_.end()) continue;
      for (const Rule* deny : list->second) {
        if (left_ == 0) return nullptr;
        --left_;
        if (covers(deny->match, match)) return deny;
      }
    }
    return nullptr;
  }

 private:
  // The most telling of the things that it names.
  static std::vector<std::string> keys(const Match& match) {
    if (match.has_conditions()) return {"c" + match.conditions_text};
    if (match.tools) return keys_of_names("t", *match.tools);
    if (match.principals) return keys_of_names("p", *match.principals);
    if (match.uris) return keys_of_names("u", *match.uris);
    if (!match.labels.empty()) return keys_of_list("l", match.labels);
    if (!match.groups.empty()) return keys_of_list("g", match.groups);
    if (!match.servers.empty()) return keys_of_list("s", match.servers);
    return {"any"};
  }

  std::unordered_map<std::string, std::vector<const Rule*>> by_key_;
  std::uint64_t left_ = 5'000'000;  // comparisons: where many denies name the same thing
};

// Rules that can never matter whatever is called.
void find_idle(const Policy& policy, Fault::Level level, Faults& faults) {
  Denies denies(policy);
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
  if (!denies.complete()) {
    faults.push_back(Fault{Fault::Level::note,
                           {},
                           {},
                           {},
                           "so many denies name the same things that not every rule was compared with all of them"});
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

// What opens something without that a test shows what: an error where the policy says so.
void find_untested(const Policy& policy, const Vocabulary& vocabulary, const std::vector<TestResult>& results,
                   LoadedPolicy& out) {
  std::set<std::string> reached;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (policy.tests[i].verdict == Verdict::allow) reached.insert(results[i].touched.begin(), results[i].touched.end());
  }
  for (const Rule& rule : policy.rules) {
    const bool opens = rule.kind == RuleKind::allow || !rule.allow_if.empty();
    const bool known = std::ranges::all_of(rule.match.servers, [&](const std::string& id) {
      const VocabularyServer* server = vocabulary.server(id);
      return server != nullptr && server->accepted;
    });
    if (!opens || !known || reached.contains(rule.id)) continue;
    out.faults.push_back(fault_at(
        Fault::Level::error, rule,
        "no test reaches `" + visible(rule.id) + "` with the verdict allow, and `testedAllows` wants one: write it"));
    out.tests_ok = false;
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
    const std::vector<TestResult> results = run_tests(policy, vocabulary);
    add_test_faults(policy, results, out);
    if (policy.tested_allows) find_untested(policy, vocabulary, results, out);
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
