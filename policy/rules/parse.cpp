#include "policy/rules/parse.hpp"

#include <algorithm>
#include <unordered_map>

#include "policy/rules/reader.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxFaults = 500;  // errors of one file; what follows would only repeat them
constexpr std::size_t kMaxBudgets = 10'000;
constexpr std::size_t kMaxTests = 100'000;

std::string_view words_of(json::Ambiguity what) {
  switch (what) {
    case json::Ambiguity::duplicate_name:
      return "this name stands twice in one object: which one counts would be a guess; keep one";
    case json::Ambiguity::lookalike_name:
      return "two names in one object differ only by case, width or normalisation: keep one";
    case json::Ambiguity::unsafe_number:
      return "this number is beyond what every reader can hold: write a smaller or shorter one";
  }
  return "";
}

// One parse over all sources.
class Builder {
 public:
  Builder(const Vocabulary& vocabulary, bool idle_is_error) : vocabulary_(vocabulary), idle_is_error_(idle_is_error) {}

  void read_terms(const Source& source);
  void read_rest(const Source& source);
  [[nodiscard]] Parsed finish();

 private:
  bool full(FaultList& faults, json::Value where);
  void append(FaultList& faults) {
    Faults taken = faults.take();
    faults_.insert(faults_.end(), std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
  }
  template <class F>
  void each(FaultList& faults, json::Value list, std::string_view what, std::size_t limit, F read);

  const Vocabulary& vocabulary_;
  bool idle_is_error_;
  Policy policy_;
  Faults faults_;
  bool has_default_ = false;
  bool has_approval_ = false;
  std::unordered_map<std::string, std::string> ids_;  // to where it stands
};

bool Builder::full(FaultList& faults, json::Value where) {
  if (faults.errors() < kMaxFaults) return false;
  faults.error(where, "too many faults: the rest of this file was not looked at");
  return true;
}

// What other members inherit: over all files first, so that their order does not matter.
void Builder::read_terms(const Source& source) {
  if (!source.root.is_object()) return;
  FaultList faults(source.file);
  Reader reader(vocabulary_, faults, source.file, idle_is_error_);
  if (const json::Value value = source.root.find("default")) {
    const auto text = reader.text(value, "`default`");
    if (text && *text == "deny") {
      policy_.default_verdict = Verdict::deny;
    } else if (text && *text == "allow") {
      faults.error(value, "`default` cannot be allow: what no rule speaks of would pass; it is ask or deny");
    } else if (text && *text != "ask") {
      faults.error(value, "`default` is ask or deny");
    }
    if (has_default_) faults.error(value, "`default` is said in another file too: keep one");
    has_default_ = true;
  }
  if (const json::Value value = source.root.find("testedAllows")) {
    policy_.tested_allows = reader.boolean(value, "`testedAllows`").value_or(false) || policy_.tested_allows;
  }
  if (const json::Value value = source.root.find("approval")) {
    if (const auto terms = reader.approval(value, ApprovalTerms{})) policy_.approval = *terms;
    if (has_approval_) faults.error(value, "`approval` is said in another file too: keep one");
    has_approval_ = true;
  }
  append(faults);
}

template <class F>
void Builder::each(FaultList& faults, json::Value list, std::string_view what, std::size_t limit, F read) {
  if (!list) return;
  if (!list.is_array()) {
    faults.error(list, "`" + std::string(what) + "` must be a list");
    return;
  }
  if (list.size() > limit) {
    faults.error(list, "`" + std::string(what) + "` has more than " + std::to_string(limit));
    return;
  }
  std::size_t index = 0;
  for (const json::Value item : list.elements()) {
    if (full(faults, item)) return;
    read(item, index++);
  }
}

void Builder::read_rest(const Source& source) {
  FaultList faults(source.file);
  const json::Value root = source.root;
  if (const auto mark = root.ambiguity()) {
    faults_.push_back(Fault{Fault::Level::error, source.file, root.document()->position(mark->offset), mark->pointer,
                            std::string(words_of(mark->what))});
  }
  if (!root.is_object()) {
    faults.error(root, "a policy is an object: `{\"rules\": […]}`");
    append(faults);
    return;
  }
  Reader reader(vocabulary_, faults, source.file, idle_is_error_);
  reader.only(root, {"$schema", "default", "approval", "rules", "budgets", "redact", "tests", "testedAllows"},
              "a policy");
  each(faults, root.find("rules"), "rules", kMaxRules, [&](json::Value value, std::size_t) {
    auto rule = reader.rule(value, policy_.approval);
    if (!rule) return;
    const auto where = rule->position;
    const auto [found, added] = ids_.emplace("r:" + rule->id, std::to_string(where.line));
    if (!added) {
      faults.error(value.find("id"), "the id `" + visible(rule->id) + "` is taken by the rule in line " +
                                         found->second + ": ids are unique over all files");
    }
    policy_.rules.push_back(std::move(*rule));
  });
  each(faults, root.find("budgets"), "budgets", kMaxBudgets, [&](json::Value value, std::size_t) {
    auto budget = reader.budget(value);
    if (!budget) return;
    const auto [found, added] = ids_.emplace("b:" + budget->budget.id, std::to_string(budget->position.line));
    if (!added) {
      faults.error(value.find("id"),
                   "the id `" + visible(budget->budget.id) + "` is taken by the budget in line " + found->second);
    }
    policy_.budgets.push_back(std::move(*budget));
  });
  each(faults, root.find("redact"), "redact", 10'000, [&](json::Value value, std::size_t) {
    auto pointer = reader.pointer(value, "a member of `redact`");
    if (!pointer) return;
    reader.check_redact(*pointer, value);
    policy_.redact.push_back(std::move(*pointer));
  });
  each(faults, root.find("tests"), "tests", kMaxTests, [&](json::Value value, std::size_t index) {
    if (auto test = reader.test(value, index)) policy_.tests.push_back(std::move(*test));
  });
  append(faults);
}

Parsed Builder::finish() {
  Parsed out;
  // Tests name rules of any file, so only now.
  for (const PolicyTest& test : policy_.tests) {
    const auto check = [&](const std::string& id, std::string_view what) {
      if (ids_.contains("r:" + id)) return;
      faults_.push_back(
          Fault{Fault::Level::error, test.file, test.position, test.pointer,
                "the test names a rule in `" + std::string(what) + "` that does not exist: `" + visible(id) + "`"});
    };
    for (const std::string& id : test.evidence) check(id, "evidence");
    if (test.rules) {
      for (const std::string& id : *test.rules) check(id, "rules");
    }
  }
  if (policy_.rules.size() > kMaxRules) {
    faults_.push_back(Fault{
        Fault::Level::error, {}, {}, {}, "more than " + std::to_string(kMaxRules) + " rules in all files together"});
  }
  std::ranges::sort(policy_.redact);
  policy_.redact.erase(std::ranges::unique(policy_.redact).begin(), policy_.redact.end());
  out.faults = std::move(faults_);
  if (has_errors(out.faults)) return out;
  policy_.index = RuleIndex(policy_.rules);
  out.policy = std::move(policy_);
  return out;
}

}  // namespace

Parsed parse(std::span<const Source> sources, const Vocabulary& vocabulary, bool idle_is_error) {
  Builder builder(vocabulary, idle_is_error);
  for (const Source& source : sources) builder.read_terms(source);
  for (const Source& source : sources) builder.read_rest(source);
  return builder.finish();
}

}  // namespace sallyport::policy
