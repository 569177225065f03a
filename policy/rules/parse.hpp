// parse: policy files to typed rules, with every fault at once (line, column, remedy). It reads and checks the text
// against the vocabulary; policy/evaluate/load.hpp adds what needs evaluation (tests, self-test, idle rules).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "policy/rules/policy.hpp"
#include "policy/rules/vocabulary.hpp"
#include "schemas/core/fault.hpp"

namespace sallyport::policy {

inline constexpr std::size_t kMaxRules = 100'000;

// One policy file, or the inline `policy` of the config. The scan (comments on) was done by the caller.
struct Source {
  std::string file;  // its name for faults; empty: inline
  json::Value root;
};

struct Parsed {
  std::optional<Policy> policy;  // only without errors
  Faults faults;
};

// `idle_is_error`: rules that can never matter are errors (`check`), else warnings.
[[nodiscard]] Parsed parse(std::span<const Source> sources, const Vocabulary& vocabulary, bool idle_is_error = false);

}  // namespace sallyport::policy
