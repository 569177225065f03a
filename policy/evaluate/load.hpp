// load: parse, then all that needs the rules to run: idle rules, the policy's own tests, the built-in self-test.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policy/evaluate/evaluate.hpp"
#include "policy/rules/parse.hpp"

namespace sallyport::policy {

struct LoadOptions {
  std::string digest;          // of the files, `sha256:…`; kept as Policy::digest
  bool idle_is_error = false;  // `check`: a rule that can never matter is an error; else a warning
};

struct LoadedPolicy {
  std::shared_ptr<const Policy> policy;  // set if there are no errors but failing tests
  Faults faults;                         // all, those of the tests included
  bool tests_ok = true;

  [[nodiscard]] bool ok() const { return policy && tests_ok; }  // may be put in force at start
  // At a reload a policy that only tightens (compare()) may be put in force with failing tests too.
};

[[nodiscard]] LoadedPolicy load(std::span<const Source> sources, const Vocabulary& vocabulary,
                                const LoadOptions& options = {});
[[nodiscard]] LoadedPolicy load(const json::Document& document, std::string file, const Vocabulary& vocabulary,
                                const LoadOptions& options = {});

// No policy file at all: everything asks.
[[nodiscard]] std::shared_ptr<const Policy> default_policy();

struct TestResult {
  std::string name;
  enum class Outcome : std::uint8_t { passed, failed, skipped } outcome = Outcome::skipped;
  std::string words;                 // why failed or skipped
  std::vector<std::string> touched;  // rules that matched, for coverage
  bool error = false;                // fails the load (a skipped test of an accepted server's unaccepted tool does)
};
[[nodiscard]] std::vector<TestResult> run_tests(const Policy& policy, const Vocabulary& vocabulary);

}  // namespace sallyport::policy
