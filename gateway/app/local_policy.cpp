// `policy test` and `policy diff` of two files: what needs no owner and no log.
#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <set>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/policy_files.hpp"
#include "gateway/cli/commands.hpp"
#include "gateway/cli/render.hpp"
#include "policy/evaluate/compare.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

std::string_view word(policy::TestResult::Outcome outcome) {
  using enum policy::TestResult::Outcome;
  return outcome == passed ? "passed" : outcome == failed ? "failed" : "skipped";
}

// Rules that no test touched, in order of the files.
std::vector<std::string> untouched(const policy::Policy& policy, const std::vector<policy::TestResult>& results) {
  std::set<std::string> touched;
  for (const policy::TestResult& result : results) touched.insert(result.touched.begin(), result.touched.end());
  std::vector<std::string> out;
  for (const policy::Rule& rule : policy.rules) {
    if (!touched.contains(rule.id)) out.push_back(rule.id);
  }
  return out;
}

bj::array array_of(const std::vector<std::string>& words) {
  bj::array out;
  for (const std::string& one : words) out.emplace_back(visible(one));
  return out;
}

}  // namespace

int policy_test_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  const VocabularyOwner words(*config->settings, *config->book->trust, *config->book->lock);
  const policy::Policy& policy = *config->book->policy;
  const std::vector<policy::TestResult> results = policy::run_tests(policy, words.vocabulary());
  std::size_t failed = 0, skipped = 0, passed = 0;
  bj::array list;
  std::string text;
  for (const policy::TestResult& test : results) {
    using Outcome = policy::TestResult::Outcome;
    (test.outcome == Outcome::passed ? passed : test.outcome == Outcome::failed ? failed : skipped) += 1;
    list.emplace_back(
        bj::object{{"name", visible(test.name)}, {"outcome", word(test.outcome)}, {"words", visible(test.words)}});
    text += fmt::format("{:8}{}{}\n", word(test.outcome), visible(test.name),
                        test.words.empty() ? "" : ": " + visible(test.words));
  }
  text += fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  bj::object out{{"failed", failed}, {"passed", passed}, {"skipped", skipped}, {"tests", std::move(list)}};
  std::vector<std::string> open;
  if (invocation.coverage) {
    open = untouched(policy, results);
    for (const std::string& rule : open) text += fmt::format("no test touches the rule `{}`\n", visible(rule));
    text +=
        fmt::format("{} of {} rules are touched by a test\n", policy.rules.size() - open.size(), policy.rules.size());
    out["rules"] = policy.rules.size();
    out["untouched"] = array_of(open);
  }
  terminal.out(invocation.json ? json::canonical(bj::value(std::move(out))) + "\n" : text);
  return failed == 0 && open.empty() ? cli::kYes : cli::kNo;
}

int policy_diff_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  auto before = load_policy_file(*config, invocation.files.front());
  if (!before) return cli::complain(terminal, before.error().message);
  auto after = invocation.files.size() > 1 ? load_policy_file(*config, invocation.files.back())
                                           : Result<std::shared_ptr<const policy::Policy>>(config->book->policy);
  if (!after) return cli::complain(terminal, after.error().message);
  const policy::Loosening found = policy::compare(**before, **after);
  std::string text;
  for (const std::string& line : found.looser) text += "looser: " + visible(line) + "\n";
  for (const std::string& line : found.stricter) text += "stricter: " + visible(line) + "\n";
  if (text.empty()) text = "nothing differs\n";
  if (found.may_loosen) text += "It may loosen: a reload waits for an operator.\n";
  const bj::object out{
      {"looser", array_of(found.looser)}, {"mayLoosen", found.may_loosen}, {"stricter", array_of(found.stricter)}};
  terminal.out(invocation.json ? json::canonical(bj::value(out)) + "\n" : text);
  return found.may_loosen ? cli::kNo : cli::kYes;
}

}  // namespace sallyport::gateway
