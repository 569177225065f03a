#include "trust/approvals/approval.hpp"

#include <map>

#include "tests/unit/trust/helpers.hpp"
#include "trust/approvals/stored.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

using State = ApprovalState;

const std::string kBinding = digest_text("binding");
const std::string kShown = digest_text("shown");
constexpr UnixMillis kNow = 1'000'000;
constexpr UnixMillis kHour = 3'600'000;

Person person(std::string id, std::vector<std::string> groups = {},
              unsigned roles = static_cast<unsigned>(Role::approver)) {
  return {std::move(id), roles, std::move(groups)};
}
const Person kDana = person("user:dana", {"owners", "payments"});
const Person kKim = person("user:kim", {"payments"});
const Person kLee = person("user:lee");

ApprovalTerms terms(std::vector<std::string> by = {}, unsigned quorum = 1) {
  ApprovalTerms out;
  out.by = std::move(by);
  out.quorum = quorum;
  return out;
}

Approval opened(std::vector<ApprovalTerms> asks = {terms()}) {
  const Principal requester{"agent:ci", {}, "user:dana", false};
  return open_approval("ap_1", "op_1", requester, std::move(asks), kBinding, kShown, kNow).value();
}

Result<Approval> vote(const Approval& approval, const Person& who, bool approve = true,
                      const std::string& seen = kShown) {
  return apply(approval, event::Voted{who, approve, seen, "because"}, kNow + 1);
}

Approval in_state(State state) {
  const auto pending = opened();
  const auto approved = vote(pending, kDana).value();
  switch (state) {
    case State::pending:
      return pending;
    case State::approved:
      return approved;
    case State::denied:
      return vote(pending, kDana, false).value();
    case State::expired:
      return apply(pending, event::Expired{}, kNow + kHour).value();
    case State::cancelled:
      return apply(pending, event::Cancelled{"agent:ci", "gone"}, kNow).value();
    case State::invalidated:
      return apply(approved, event::Invalidated{"policy"}, kNow).value();
    case State::consumed:
      return apply(approved, event::Consumed{kBinding}, kNow + 2).value();
    case State::revoked:
      return apply(approved, event::Revoked{kDana, "no"}, kNow + 2).value();
  }
  throw std::logic_error("state");
}

constexpr State kAllStates[] = {State::pending,   State::approved,    State::denied,   State::expired,
                                State::cancelled, State::invalidated, State::consumed, State::revoked};

// The whole table: what each event makes of each state before and after the expiry; absent pairs are conflicts.
TEST(Approval, MovesOnlyAsTheTableSays) {
  struct Named {
    std::string name;
    ApprovalEvent event;
    std::map<State, State> early;
    std::map<State, State> late;
  };
  const std::map<State, State> none;
  const std::map<State, State> invalid{{State::pending, State::invalidated}, {State::approved, State::invalidated}};
  const std::map<State, State> cancel{{State::pending, State::cancelled}};
  const Named events[] = {
      {"approve", event::Voted{kKim, true, kShown, ""}, {{State::pending, State::approved}}, none},
      {"deny", event::Voted{kKim, false, kShown, ""}, {{State::pending, State::denied}}, none},
      {"expire", event::Expired{}, none, {{State::pending, State::expired}, {State::approved, State::expired}}},
      {"cancel", event::Cancelled{"agent:ci", "x"}, cancel, cancel},
      {"invalidate", event::Invalidated{"x"}, invalid, invalid},
      {"consume", event::Consumed{kBinding}, {{State::approved, State::consumed}}, none},
      {"revoke", event::Revoked{kKim, "x"}, {{State::approved, State::revoked}}, none},
  };
  for (const auto& [name, event, early, late] : events) {
    for (const auto state : kAllStates) {
      const auto before = in_state(state);
      EXPECT_EQ(before.state, state);
      for (const bool is_late : {false, true}) {
        const auto& table = is_late ? late : early;
        const auto after = apply(before, event, is_late ? kNow + kHour : kNow + 10);
        const auto expected = table.find(state);
        if (expected == table.end()) {
          ASSERT_FALSE(after) << name << " of " << to_string(state) << (is_late ? " late" : "");
          EXPECT_EQ(after.error().code, ErrorCode::conflict) << name << " of " << to_string(state);
        } else {
          ASSERT_TRUE(after) << name << " of " << to_string(state) << ": " << after.error().message;
          EXPECT_EQ(after->state, expected->second);
          EXPECT_EQ(after->ended != 0, is_final(after->state));
        }
      }
    }
  }
}

TEST(Approval, IsNeverAnsweredByItsRequester) {
  const Principal self{"user:kim", {}, "", false};
  const auto own = open_approval("ap_1", "op_1", self, {terms()}, kBinding, kShown, kNow).value();
  EXPECT_EQ(vote(own, kKim).error().code, ErrorCode::forbidden);
  EXPECT_EQ(vote(own, kKim, false).error().code, ErrorCode::forbidden);
  EXPECT_TRUE(vote(own, kDana));
  auto by_other = vote(own, kDana).value();
  const auto operator_self = person("user:kim", {}, static_cast<unsigned>(Role::operator_));
  EXPECT_EQ(apply(by_other, event::Revoked{operator_self, ""}, kNow + 2).error().code, ErrorCode::forbidden);
}

TEST(Approval, IsAnsweredByTheOwnerUnlessTheRuleForbidsIt) {
  EXPECT_TRUE(vote(opened(), kDana));
  auto strict = terms();
  strict.not_owner = true;
  EXPECT_EQ(vote(opened({strict}), kDana).error().code, ErrorCode::forbidden);
  EXPECT_TRUE(vote(opened({strict}), kKim));
}

TEST(Approval, WantsTheRoleAndTheGroup) {
  EXPECT_EQ(vote(opened(), person("user:x", {"owners"}, static_cast<unsigned>(Role::operator_))).error().code,
            ErrorCode::forbidden);
  EXPECT_EQ(vote(opened({terms({"owners"})}), kKim).error().code, ErrorCode::forbidden);
  EXPECT_TRUE(vote(opened({terms({"owners"})}), kDana));
  EXPECT_TRUE(vote(opened({terms({"user:kim"})}), kKim));
  EXPECT_EQ(vote(opened({terms({"payments"})}), person("payments")).value().state,
            State::approved);  // an id of that name
  EXPECT_EQ(vote(opened(), person("")).error().code, ErrorCode::forbidden);
}

TEST(Approval, CountsOnePersonOnce) {
  const auto once = vote(opened({terms({}, 2)}), kDana).value();
  EXPECT_EQ(once.state, State::pending);
  EXPECT_EQ(missing_votes(once), std::vector<unsigned>{1});
  EXPECT_EQ(vote(once, kDana).error().code, ErrorCode::conflict);
  EXPECT_EQ(vote(once, kDana, false).error().code, ErrorCode::conflict);
  EXPECT_EQ(vote(once, kKim)->state, State::approved);
}

TEST(Approval, WantsEachAskSatisfiedByItsOwnPeople) {
  const auto both = opened({terms({"owners"}), terms({"payments"}, 2)});
  const auto first = vote(both, kKim).value();
  EXPECT_EQ(missing_votes(first), (std::vector<unsigned>{1, 1}));
  const auto second = vote(first, kDana).value();  // in both groups
  EXPECT_EQ(second.state, State::approved);
  EXPECT_EQ(second.votes[1].asks, (std::vector<std::size_t>{0, 1}));
  const auto apart = opened({terms({"owners"}), terms({"user:lee"})});
  EXPECT_EQ(vote(apart, kDana)->state, State::pending);
  EXPECT_EQ(vote(vote(apart, kDana).value(), kLee)->state, State::approved);
}

TEST(Approval, EndsWithAnyDenial) {
  const auto once = vote(opened({terms({}, 3)}), kDana).value();
  const auto denied = vote(once, kLee, false).value();
  EXPECT_EQ(denied.state, State::denied);
  EXPECT_EQ(denied.ended_by, "user:lee");
  EXPECT_EQ(denied.reason, "because");
  EXPECT_EQ(vote(denied, kKim).error().code, ErrorCode::conflict);
}

TEST(Approval, WantsTheDigestOfWhatWasShown) {
  EXPECT_EQ(vote(opened(), kDana, true, digest_text("other")).error().code, ErrorCode::invalid);
  EXPECT_EQ(vote(opened(), kDana, true, "").error().code, ErrorCode::invalid);
  EXPECT_EQ(vote(opened(), kDana, false, "")->state, State::denied);
}

TEST(Approval, IsSpentOnlyOnWhatItIsBoundTo) {
  const auto approved = in_state(State::approved);
  EXPECT_EQ(apply(approved, event::Consumed{digest_text("other")}, kNow + 2).error().code, ErrorCode::conflict);
  EXPECT_EQ(apply(approved, event::Consumed{kBinding}, kNow + kHour - 1)->state, State::consumed);
  EXPECT_EQ(apply(approved, event::Consumed{kBinding}, kNow + kHour).error().code, ErrorCode::conflict);
}

TEST(Approval, ExpiresWithTheShortestOfItsAsks) {
  auto brief = terms({"owners"});
  brief.expires = std::chrono::minutes(5);
  EXPECT_EQ(opened({terms(), brief}).expires, kNow + 300'000);
  EXPECT_FALSE(is_due(opened({brief}), kNow + 299'999));
  EXPECT_TRUE(is_due(opened({brief}), kNow + 300'000));
}

TEST(Approval, TakesTheSessionUserOnlyWhereTheRuleDoes) {
  const event::SessionUserAnswered yes{true, kShown};
  EXPECT_EQ(apply(opened(), yes, kNow).error().code, ErrorCode::forbidden);
  auto open = terms();
  open.session_user = true;
  const auto answered = apply(opened({open}), yes, kNow).value();
  EXPECT_EQ(answered.state, State::approved);
  EXPECT_EQ(answered.votes[0].by, kSessionUser);
  EXPECT_EQ(apply(opened({open, terms()}), yes, kNow)->state, State::pending);
  EXPECT_EQ(apply(opened({open}), event::SessionUserAnswered{false, kShown}, kNow)->state, State::denied);
  open.quorum = 2;
  EXPECT_EQ(apply(opened({open}), yes, kNow).error().code, ErrorCode::forbidden);
}

TEST(Approval, IsNotOpenedWithoutAnAskOrABinding) {
  const Principal requester{"agent:ci", {}, "", false};
  EXPECT_FALSE(open_approval("ap_1", "op_1", requester, {}, kBinding, kShown, kNow));
  EXPECT_FALSE(open_approval("ap_1", "op_1", requester, {terms({}, 0)}, kBinding, kShown, kNow));
  EXPECT_FALSE(open_approval("ap_1", "op_1", requester, {terms()}, "", kShown, kNow));
}

TEST(AnyoneCanAnswer, WantsAQuorumForEveryAsk) {
  const Principal requester{"agent:ci", {}, "user:dana", false};
  const std::vector<Person> people{kDana, kKim, kKim};
  const auto can = [&](std::vector<ApprovalTerms> asks) { return anyone_can_answer(people, asks, requester); };
  EXPECT_TRUE(can({terms()}));
  EXPECT_TRUE(can({terms({"payments"}, 2)}));
  EXPECT_FALSE(can({terms({"payments"}, 3)}));
  EXPECT_FALSE(can({terms({"nobody"})}));
  EXPECT_FALSE(can({terms(), terms({"nobody"})}));
  auto strict = terms({"owners"});
  strict.not_owner = true;
  EXPECT_FALSE(can({strict}));
  EXPECT_FALSE(anyone_can_answer({}, std::vector<ApprovalTerms>{terms()}, requester));
}

TEST(WeakerForm, NeverServesForWhatMatters) {
  const Effect calm{EffectCategory::record, false, Repeat::never, {"code"}};
  EXPECT_TRUE(weaker_form_allowed(calm, terms()));
  EXPECT_FALSE(weaker_form_allowed({EffectCategory::record, true, Repeat::never, {}}, terms()));
  EXPECT_FALSE(weaker_form_allowed({EffectCategory::record, false, Repeat::never, {"money"}}, terms()));
  EXPECT_FALSE(weaker_form_allowed({EffectCategory::read, false, Repeat::safe, {"credentials"}}, terms()));
  EXPECT_FALSE(weaker_form_allowed(calm, terms({}, 2)));
}

TEST(StoredApproval, ComesBackAsItWas) {
  for (const auto state : kAllStates) {
    auto approval = in_state(state);
    approval.asks.front().by = {"owners", "user:\"x\""};
    approval.asks.front().not_owner = true;
    approval.asks.push_back(terms());
    const auto text = print(approval);
    const auto back = parse_approval(text);
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(*back, approval) << text;
  }
  EXPECT_EQ(parse_approval("{}").error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_approval("no json").error().code, ErrorCode::corrupt);
  auto text = print(in_state(State::approved));
  text.replace(text.find("\"asks\":[0]"), 10, "\"asks\":[9]");
  EXPECT_FALSE(parse_approval(text));
}

TEST(Grant, AnswersOnlyItsOwnRuleToolPrincipalAndTime) {
  Grant grant;
  grant.id = "gr_1";
  grant.rule = "orders";
  grant.tool = {"orders", "refund"};
  grant.identity = digest_text("i");
  grant.definition = digest_text("d");
  grant.principal = "agent:ci";
  grant.conditions = R"({"a":1})";
  grant.by = "user:dana";
  grant.created = 100;
  grant.expires = 200;
  const GrantUse use{"orders", {"orders", "refund"}, grant.identity, grant.definition, "", "agent:ci", "run_1"};
  EXPECT_TRUE(covers(grant, use, 100));
  EXPECT_FALSE(covers(grant, use, 99));
  EXPECT_FALSE(covers(grant, use, 200));
  for (int change = 0; change < 6; ++change) {
    auto other = use;
    if (change == 0) other.rule = "x";
    if (change == 1) other.tool.tool = "x";
    if (change == 2) other.definition = "x";
    if (change == 3) other.principal = "x";
    if (change == 4) other.identity = "x";
    if (change == 5) other.contract = "x";
    EXPECT_FALSE(covers(grant, other, 150)) << change;
  }
  auto beside = use;
  beside.meta = {"x/use"};
  EXPECT_FALSE(covers(grant, beside, 150)) << "what was not shown beside the arguments";
  auto with_meta = grant;
  with_meta.meta = {"a", "x/use"};
  EXPECT_TRUE(covers(with_meta, beside, 150));
  EXPECT_TRUE(covers(with_meta, use, 150));
  EXPECT_EQ(parse_grant(print(with_meta)), with_meta);
  auto bound = grant;
  bound.run = "run_1";
  EXPECT_TRUE(covers(bound, use, 150));
  bound.run = "run_2";
  EXPECT_FALSE(covers(bound, use, 150));
  bound = grant;
  bound.revoked = 120;
  EXPECT_FALSE(covers(bound, use, 150));
  EXPECT_EQ(parse_grant(print(bound)).value(), bound);
  bound = grant;
  bound.most = 2;
  bound.used = 1;
  EXPECT_TRUE(covers(bound, use, 150));
  bound.used = 2;
  EXPECT_FALSE(covers(bound, use, 150)) << "used up";
  EXPECT_EQ(state_of(bound, 150), "spent");
  EXPECT_EQ(parse_grant(print(bound)).value(), bound);
  EXPECT_FALSE(parse_grant("{}"));
}

}  // namespace
}  // namespace sallyport::trust
