// Approvals as a pure state machine (design section 5). Stores keep an Approval and write what apply() returns, inside
// the transaction that also writes the receipt; time comes as an argument; nobody here knows a clock or a store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"
#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::trust {

// pending -> approved | denied | expired | cancelled | invalidated
// approved -> consumed | expired | revoked | invalidated
enum class ApprovalState : std::uint8_t {
  pending,
  approved,
  denied,
  expired,
  cancelled,
  invalidated,
  consumed,
  revoked
};
[[nodiscard]] std::string_view to_string(ApprovalState state);
[[nodiscard]] std::optional<ApprovalState> parse_approval_state(std::string_view text);
[[nodiscard]] inline bool is_final(ApprovalState s) {
  return s != ApprovalState::pending && s != ApprovalState::approved;
}

struct Vote {
  std::string by;  // a person id; kSessionUser for a session-user answer
  bool approve = false;
  std::string seen;    // the shown digest that the vote named
  std::string reason;  // may be empty
  UnixMillis at = 0;
  std::vector<std::size_t> asks;  // indexes of the asks it counts for (as the person's groups were then)
  friend bool operator==(const Vote&, const Vote&) = default;
};
inline constexpr std::string_view kSessionUser = "session-user";

struct Approval {
  std::string id;         // ap_…
  std::string operation;  // op_…
  ApprovalState state = ApprovalState::pending;
  std::string requester;            // principal id
  std::string requester_owner;      // person id, or empty
  std::vector<ApprovalTerms> asks;  // each must be satisfied by its own people; at least one
  std::string binding;              // digest of all that it is bound to
  std::string shown;                // digest of exactly what approvers see
  UnixMillis created = 0;
  UnixMillis expires = 0;
  std::vector<Vote> votes;
  std::string reason;    // of the end: why denied, cancelled, invalidated, revoked
  std::string ended_by;  // person, principal or empty (time, gateway)
  UnixMillis ended = 0;  // 0: not ended
  friend bool operator==(const Approval&, const Approval&) = default;
};

// A pending approval. Expires when the shortest of its asks does. ErrorCode::invalid without an ask or with a quorum of
// 0.
[[nodiscard]] Result<Approval> open_approval(std::string id, std::string operation, const Principal& requester,
                                             std::vector<ApprovalTerms> asks, std::string binding, std::string shown,
                                             UnixMillis now);

namespace event {
struct Voted {
  Person person;
  bool approve = false;
  std::string seen;
  std::string reason;
};
// The client's own user answered (MRTR, elicitation): counts as one vote for asks with `sessionUser`; the caller has
// checked weaker_form_allowed().
struct SessionUserAnswered {
  bool approve = false;
  std::string seen;
};
struct Expired {};
struct Cancelled {
  std::string by;
  std::string reason;
};
struct Invalidated {
  std::string reason;
};
struct Consumed {
  std::string binding;  // as it is at the moment of spending
};
struct Revoked {
  Person person;
  std::string reason;
};
}  // namespace event
using ApprovalEvent = std::variant<event::Voted, event::SessionUserAnswered, event::Expired, event::Cancelled,
                                   event::Invalidated, event::Consumed, event::Revoked>;

// The approval after the event. Never changes what it refuses:
// conflict: the state does not allow it, it is past its expiry (only Expired, Cancelled and Invalidated still do), a
// second vote of one person, or a binding that differs (then the caller invalidates it); forbidden: the person may not
// answer; invalid: the vote names another `seen` than `shown`. Expired before its time is a conflict.
[[nodiscard]] Result<Approval> apply(const Approval& approval, const ApprovalEvent& event, UnixMillis now);
[[nodiscard]] inline bool is_due(const Approval& a, UnixMillis now) { return !is_final(a.state) && now >= a.expires; }

// How many more approvals each ask wants.
[[nodiscard]] std::vector<unsigned> missing_votes(const Approval& approval);
[[nodiscard]] bool satisfied(const Approval& approval);  // none

// Has the role, stands in `by` (person or group; empty: every approver), is not the requester, nor (notOwner) its
// owner.
[[nodiscard]] bool may_answer(const Person& person, const ApprovalTerms& terms, std::string_view requester,
                              std::string_view requester_owner);
// Of at least one ask.
[[nodiscard]] bool may_answer(const Person& person, const Approval& approval);
// Whether every ask can still reach its quorum among these people, and the client's own user where `session_user`.
[[nodiscard]] bool anyone_can_answer(std::span<const Person> people, std::span<const ApprovalTerms> asks,
                                     const Principal& requester, bool session_user = false);

// Promise 6: grants and session-user answers never serve for destructive tools, `money`, `credentials` or a quorum
// above one.
[[nodiscard]] bool weaker_form_allowed(const Effect& effect, const ApprovalTerms& terms);

}  // namespace sallyport::trust
