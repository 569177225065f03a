// Grants (design section 5): a person's standing answer to one rule's asks, for one tool, under conditions that they
// saw in words. Never for destructive tools, money, credentials, a quorum above one (promise 6), an unproven
// definition, an open unknown, or a call that could not be shown whole.
#pragma once

#include <boost/json/fwd.hpp>
#include <memory>
#include <string>
#include <vector>

#include "gateway/calls/call.hpp"
#include "gateway/ports/store.hpp"
#include "policy/conditions/condition.hpp"
#include "trust/approvals/approval.hpp"
#include "trust/approvals/grant.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway::calls {

inline constexpr Millis kLongestGrant = std::chrono::hours(24 * 30);
inline constexpr Millis kLongestRun = std::chrono::hours(24);  // of a grant for a run
inline constexpr std::size_t kMostGrants = 10'000;             // in force

// A grant with its conditions ready to judge.
struct Granted {
  trust::Grant grant;
  std::shared_ptr<const policy::ArgumentConditions> conditions;
};
// invalid: the conditions cannot be read.
[[nodiscard]] Result<Granted> make_granted(trust::Grant grant);

// The rules that ask for this call, if a grant may answer all of them; empty: none may.
struct GrantableRule {
  std::string id;
  ApprovalTerms terms;
};
[[nodiscard]] std::vector<GrantableRule> grantable_rules(const Judgement& judged);

// What the page of an ask offers: {"rules": [{"id", "ask"}], "arguments": {name: {}}, "meta"?: [name]}; empty: no
// grant. `asks`: of the approval, for the indexes.
[[nodiscard]] boost::json::object offer_json(const Call& call, const std::vector<ApprovalTerms>& asks);

// What a person wishes beside their yes: {"run": true} or {"until": time}, "uses"?, "arguments" (a condition for
// each of the offer's). invalid: with the reason. `arguments`: of the call that was shown; the grant must cover it.
struct GrantWish {
  bool run = false;
  UnixMillis until = 0;
  std::uint64_t uses = 0;
  std::string conditions;
  std::vector<std::string> meta;  // as in the offer
};
[[nodiscard]] Result<GrantWish> read_wish(const std::string& wish_json, const boost::json::object& offer,
                                          json::Value arguments, UnixMillis now);

// Rows: the conditions hold values of arguments and are sealed, until the grant has ended.
Status put_grant(Tx& tx, const trust::Grant& grant, UnixMillis now);
[[nodiscard]] Result<trust::Grant> grant_from(Tx& tx, const GrantRow& row);

// One use of each, in the transaction that records the call. conflict: one of them is no longer in force.
[[nodiscard]] Result<trust::ApprovalRecord> spend_grants(Tx& tx, std::vector<trust::Grant>& grants, UnixMillis now);

// The receipt of what became of a grant (`granted`, `revoked`, `void`); `blank`: with gateway and time.
[[nodiscard]] trust::ReceiptBody grant_receipt(trust::ReceiptBody blank, const trust::Grant& grant,
                                               const std::string& action, const std::string& by,
                                               const std::string& reason);

// For the control side, with the conditions in words.
[[nodiscard]] boost::json::object to_json(const trust::Grant& grant, UnixMillis now);

}  // namespace sallyport::gateway::calls
