// The rules, in two pure halves (design section 3, step 7): `weigh` gives what matched and the evidence and hooks
// wanted; the caller fetches those only if nothing denied; `conclude` gives the verdict: deny, unmet require, ask,
// allow, default.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/rules/policy.hpp"
#include "schemas/model/call_facts.hpp"
#include "schemas/model/decision.hpp"

namespace sallyport::policy {

struct Weighed {
  std::vector<MatchedRule> rules;  // all that matched, in order of the files; require and hook still undecided
  std::vector<EvidenceWanted> evidence;
  std::vector<HookWanted> hooks;
  std::vector<std::string> unsure;  // asks that only might speak of this call: they do not take the default's place
  std::vector<Reason> reasons;      // of denials and failed rules
  bool denied = false;              // a deny matched or a rule failed: do not fetch evidence, do not ask hooks
  std::uint64_t conditions = 0;     // looked at, for the bound and its test
  std::uint32_t candidates = 0;     // rules looked at
};

// What the caller found for one EvidenceWanted.
struct EvidenceFound {
  std::string rule;
  bool found = false;
  std::string receipt;  // its id
  std::string words;    // why not: `there is no such receipt`, `it is older than the scope's revision 4`
};

// What a hook said. `failed`: no answer, a bad one, a time-out; `message` says which.
struct HookAnswer {
  enum class Decision : std::uint8_t { none, ask, deny, failed };
  std::string rule;
  Decision decision = Decision::failed;
  std::string message;
};

[[nodiscard]] Weighed weigh(const Policy& policy, const CallFacts& facts);

// An EvidenceWanted or HookWanted without an answer counts as not found and as failed.
[[nodiscard]] Decision conclude(const Policy& policy, const Weighed& weighed, std::span<const EvidenceFound> evidence,
                                std::span<const HookAnswer> hooks);

// Both, for calls whose rules want neither evidence nor hooks, and for tests.
[[nodiscard]] Decision evaluate(const Policy& policy, const CallFacts& facts,
                                std::span<const EvidenceFound> evidence = {}, std::span<const HookAnswer> hooks = {});

// Whether a deny with `hide` keeps this from the principal's list. `facts` without arguments.
[[nodiscard]] bool hidden(const Policy& policy, const CallFacts& facts);

// The budgets that count this call. Theirs is a tightening place: what cannot be judged is counted.
// `arguments_readable` false: no condition on arguments can be judged.
[[nodiscard]] std::vector<const BudgetRule*> budgets_for(const Policy& policy, const CallFacts& facts,
                                                         bool arguments_readable = true);

// Whether the result of an evidence tool is what the rule wants.
[[nodiscard]] bool evidence_fulfils(const Policy& policy, std::string_view rule, json::Value result,
                                    json::Value output_schema = {});

}  // namespace sallyport::policy
