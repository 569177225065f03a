// What the rules say of a call. Made by policy/evaluate, carried by the gateway, written into receipts.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/time.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/reason.hpp"

namespace sallyport {

enum class RuleKind : std::uint8_t { deny, require, ask, allow, hook };
[[nodiscard]] std::string_view to_string(RuleKind kind);

// Who answers an ask, and how (design sections 4 and 5).
struct ApprovalTerms {
  std::vector<std::string> by;  // groups or person ids; empty: every approver
  Millis expires = std::chrono::hours(1);
  unsigned quorum = 1;
  bool not_owner = false;
  bool revision = false;
  bool grants = false;
  bool session_user = false;
  friend auto operator<=>(const ApprovalTerms&, const ApprovalTerms&) = default;
};

struct MatchedRule {
  std::string id;
  RuleKind kind;
  Verdict verdict;                        // what this rule says of this call (an ask whose allowIf holds says allow)
  std::string message;                    // the author's; may be empty
  std::optional<ApprovalTerms> approval;  // of an ask
  friend bool operator==(const MatchedRule&, const MatchedRule&) = default;
};

// Evidence that a require rule wants: a receipt of that tool, same principal, with that result, at the scope's
// revision.
struct EvidenceWanted {
  std::string rule;
  std::string server;
  std::string tool;
  std::string message;
};

// A hook to be asked (only if no deny matched).
struct HookWanted {
  std::string rule;
  std::string url;
  Millis timeout = std::chrono::milliseconds(300);
};

// The second half of step 7: the verdict and everything that led to it, in order of the rules.
struct Decision {
  Verdict verdict = Verdict::deny;
  bool by_default = false;  // no allow, ask or deny matched
  std::vector<MatchedRule> rules;
  std::vector<Reason> reasons;      // of a deny, an unmet require, a failed rule or hook
  std::vector<ApprovalTerms> asks;  // each must be satisfied; of a defaulted ask: the policy's own terms
};

}  // namespace sallyport
