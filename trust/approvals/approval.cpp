#include "trust/approvals/approval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

using State = ApprovalState;

constexpr std::array<std::string_view, 8> kStates{"pending",   "approved",    "denied",   "expired",
                                                  "cancelled", "invalidated", "consumed", "revoked"};

std::unexpected<Error> conflict(const Approval& approval, std::string_view why) {
  return fail(ErrorCode::conflict, fmt::format("approval {} {}", visible(approval.id), why));
}

std::unexpected<Error> wrong_state(const Approval& approval) {
  return conflict(approval, fmt::format("is {} already", to_string(approval.state)));
}

std::unexpected<Error> past(const Approval& approval) {
  return conflict(approval, fmt::format("expired at {}", to_utc(approval.expires)));
}

Approval ended(const Approval& approval, State state, std::string by, std::string reason, UnixMillis now) {
  Approval out = approval;
  out.state = state;
  out.ended_by = std::move(by);
  out.reason = std::move(reason);
  out.ended = now;
  return out;
}

bool takes_session_user(const ApprovalTerms& terms) { return terms.session_user && terms.quorum == 1; }

bool counts_for(const Vote& vote, std::size_t ask) {
  return vote.approve && std::ranges::find(vote.asks, ask) != vote.asks.end();
}

// What every vote has in common, whoever casts it.
Result<Approval> cast(const Approval& approval, Vote vote, UnixMillis now) {
  if (vote.asks.empty()) {
    return fail(ErrorCode::forbidden,
                fmt::format("`{}` may not answer approval {}", visible(vote.by), visible(approval.id)));
  }
  if (vote.approve && vote.seen != approval.shown) {  // a denial is safe whatever was looked at
    return fail(ErrorCode::invalid,
                fmt::format("the vote names {} as what was seen, but approval {} shows {}: look again",
                            vote.seen.empty() ? "nothing" : visible(vote.seen), visible(approval.id), approval.shown));
  }
  if (std::ranges::find(approval.votes, vote.by, &Vote::by) != approval.votes.end()) {
    return conflict(approval, fmt::format("has a vote of `{}` already", visible(vote.by)));
  }
  vote.at = now;
  const bool denied = !vote.approve;
  Approval out = approval;
  out.votes.push_back(std::move(vote));
  if (denied) return ended(out, State::denied, out.votes.back().by, out.votes.back().reason, now);
  if (satisfied(out)) out.state = State::approved;
  return out;
}

class Machine {
 public:
  Machine(const Approval& approval, UnixMillis now) : approval_(approval), now_(now) {}

  Result<Approval> operator()(const event::Voted& voted) const {
    if (auto open = votable(); !open) return fail(open.error());
    Vote vote{voted.person.id, voted.approve, voted.seen, voted.reason, now_, {}};
    for (std::size_t i = 0; i < approval_.asks.size(); ++i) {
      if (may_answer(voted.person, approval_.asks[i], approval_.requester, approval_.requester_owner))
        vote.asks.push_back(i);
    }
    return cast(approval_, std::move(vote), now_);
  }

  Result<Approval> operator()(const event::SessionUserAnswered& answered) const {
    if (auto open = votable(); !open) return fail(open.error());
    Vote vote{std::string(kSessionUser), answered.approve, answered.seen, {}, now_, {}};
    for (std::size_t i = 0; i < approval_.asks.size(); ++i) {
      if (takes_session_user(approval_.asks[i])) vote.asks.push_back(i);
    }
    return cast(approval_, std::move(vote), now_);
  }

  Result<Approval> operator()(const event::Expired&) const {
    if (is_final(approval_.state)) return wrong_state(approval_);
    if (!is_due(approval_, now_))
      return conflict(approval_, fmt::format("expires only at {}", to_utc(approval_.expires)));
    return ended(approval_, State::expired, {}, {}, now_);
  }

  // Only while it waits: what was approved is revoked by a person or invalidated.
  Result<Approval> operator()(const event::Cancelled& cancelled) const {
    if (approval_.state != State::pending) return wrong_state(approval_);
    return ended(approval_, State::cancelled, cancelled.by, cancelled.reason, now_);
  }

  Result<Approval> operator()(const event::Invalidated& invalidated) const {
    if (is_final(approval_.state)) return wrong_state(approval_);
    return ended(approval_, State::invalidated, {}, invalidated.reason, now_);
  }

  Result<Approval> operator()(const event::Consumed& consumed) const {
    if (approval_.state == State::pending) return conflict(approval_, "is still pending");
    if (approval_.state != State::approved) return wrong_state(approval_);
    if (is_due(approval_, now_)) return past(approval_);
    if (consumed.binding != approval_.binding)
      return conflict(approval_, "is bound to another call than the one at hand");
    return ended(approval_, State::consumed, {}, {}, now_);
  }

  Result<Approval> operator()(const event::Revoked& revoked) const {
    if (approval_.state == State::pending) return conflict(approval_, "is still pending: deny it");
    if (approval_.state != State::approved) return wrong_state(approval_);
    if (is_due(approval_, now_)) return past(approval_);
    const bool operates = revoked.person.has(Role::operator_) && revoked.person.id != approval_.requester;
    if (!operates && !may_answer(revoked.person, approval_)) {
      return fail(ErrorCode::forbidden,
                  fmt::format("`{}` may not revoke approval {}", visible(revoked.person.id), visible(approval_.id)));
    }
    return ended(approval_, State::revoked, revoked.person.id, revoked.reason, now_);
  }

 private:
  Status votable() const {
    if (approval_.state != State::pending) return wrong_state(approval_);
    if (is_due(approval_, now_)) return past(approval_);
    return {};
  }

  const Approval& approval_;
  UnixMillis now_;
};

}  // namespace

std::string_view to_string(State state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<State> parse_approval_state(std::string_view text) {
  const auto* found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<State>(found - kStates.begin());
}

Result<Approval> open_approval(std::string id, std::string operation, const Principal& requester,
                               std::vector<ApprovalTerms> asks, std::string binding, std::string shown,
                               UnixMillis now) {
  if (asks.empty()) return fail(ErrorCode::invalid, "an approval needs an ask");
  if (!is_digest(binding) || !is_digest(shown)) return fail(ErrorCode::invalid, "an approval is bound to digests");
  if (std::ranges::any_of(asks,
                          [](const ApprovalTerms& terms) { return terms.quorum == 0 || terms.expires.count() <= 0; })) {
    return fail(ErrorCode::invalid, "an ask has a quorum of 0 or no time");
  }
  const auto shortest = std::ranges::min(asks, {}, &ApprovalTerms::expires).expires;
  Approval out;
  out.id = std::move(id);
  out.operation = std::move(operation);
  out.requester = requester.id;
  out.requester_owner = requester.owner;
  out.asks = std::move(asks);
  out.binding = std::move(binding);
  out.shown = std::move(shown);
  out.created = now;
  out.expires = now + shortest.count();
  return out;
}

Result<Approval> apply(const Approval& approval, const ApprovalEvent& event, UnixMillis now) {
  return std::visit(Machine(approval, now), event);
}

std::vector<unsigned> missing_votes(const Approval& approval) {
  std::vector<unsigned> out;
  for (std::size_t i = 0; i < approval.asks.size(); ++i) {
    const auto have = std::ranges::count_if(approval.votes, [i](const Vote& vote) { return counts_for(vote, i); });
    const auto quorum = approval.asks[i].quorum;
    out.push_back(static_cast<unsigned>(have) >= quorum ? 0 : quorum - static_cast<unsigned>(have));
  }
  return out;
}

bool satisfied(const Approval& approval) {
  const auto missing = missing_votes(approval);
  return std::ranges::all_of(missing, [](unsigned count) { return count == 0; });
}

bool may_answer(const Person& person, const ApprovalTerms& terms, std::string_view requester,
                std::string_view requester_owner) {
  if (person.id.empty() || !person.has(Role::approver)) return false;
  if (person.id == requester) return false;
  if (terms.not_owner && person.id == requester_owner) return false;
  return terms.by.empty() || std::ranges::any_of(terms.by, [&](const std::string& who) {
           return who == person.id || person.in_group(who);
         });
}

bool may_answer(const Person& person, const Approval& approval) {
  return std::ranges::any_of(approval.asks, [&](const ApprovalTerms& terms) {
    return may_answer(person, terms, approval.requester, approval.requester_owner);
  });
}

bool anyone_can_answer(std::span<const Person> people, std::span<const ApprovalTerms> asks, const Principal& requester,
                       bool session_user) {
  return std::ranges::all_of(asks, [&](const ApprovalTerms& terms) {
    if (session_user && takes_session_user(terms)) return true;
    std::vector<std::string_view> able;  // one id is one person, however often it is listed
    for (const auto& person : people) {
      if (may_answer(person, terms, requester.id, requester.owner) &&
          std::ranges::find(able, person.id) == able.end()) {
        able.push_back(person.id);
      }
    }
    return able.size() >= terms.quorum;
  });
}

bool weaker_form_allowed(const Effect& effect, const ApprovalTerms& terms) {
  return !effect.destructive && !effect.has_label("money") && !effect.has_label("credentials") && terms.quorum == 1;
}

}  // namespace sallyport::trust
