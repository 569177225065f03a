// How asks end, and what is told of it: whatever happens at the same moment, a person's no is a no, and nobody is told
// that something was denied, expired or void that was not.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <set>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kNote =
    R"({"name":"note","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}})";

RigOptions options() {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"],"grants":true},"rules":[{"id":"notes","ask":{"server":"desk","tool":"note"}}]})";
  options.trust = R"({"servers":{"desk":{"tools":{"note":{"effect":"file","destructive":false,"scope":"notes"}}}}})";
  options.servers["desk"].tools = {kNote};
  options.servers["desk"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  return options;
}

std::string note(const std::string& text) { return R"({"text":")" + text + R"("})"; }

boost::json::object page(Rig& rig, const std::string& approval, const Person& who) {
  return boost::json::parse(*rig.await(rig.people->approval(who, approval))).as_object();
}
boost::json::object page(Rig& rig, const std::string& approval) { return page(rig, approval, rig.person("user:dana")); }

// Held no time at all: the approval that the call waits for.
std::string asked(Rig& rig, const std::shared_ptr<ClientContext>& client, const std::string& text) {
  client->hold = Millis(0);
  const CallView told = view(rig.call(client, "desk__note", note(text)));
  EXPECT_EQ(told.code, "APPROVAL_PENDING") << told.text;
  return told.approval;
}

CallView waited(Rig& rig, const std::shared_ptr<ClientContext>& client, const std::string& id) {
  client->hold = std::chrono::seconds(45);
  return view(rig.call(client, "sallyport_wait", R"({"id":")" + id + R"("})"));
}

// A grant for the first call would answer the second too, which is denied at that moment: whichever the store takes
// first holds, and a denial that was taken is never run.
TEST(AskEnds, ADenialIsNotOvertakenByAGrant) {
  Rig rig(options());
  for (int round = 0; round < 20; ++round) {
    const auto client = rig.client();
    const std::size_t sent = rig.all_calls.size();
    const auto first = rig.send(client, "desk__note", note("a" + std::to_string(round)));
    const std::string one = rig.pending_approval();
    const auto second = rig.send(client, "desk__note", note("b" + std::to_string(round)));
    std::string other;
    rig.run_until([&] {
      for (const auto& row : rig.operations({OperationState::waiting}))
        if (!row.approval.empty() && row.approval != one) other = row.approval;
      return !other.empty();
    });
    Vote yes{
        true, std::string(page(rig, one).at("shown").as_string()), {}, R"({"run":true,"arguments":{"text":{}}})", {}};
    std::optional<bool> granted, denied;
    const auto both = [&]() -> asio::awaitable<void> {
      const auto given = co_await rig.people->vote(rig.person("user:dana"), one, yes);
      granted = given.has_value();
      Vote no{false, {}, "not this one", {}, {}};
      const auto refused = co_await rig.people->vote(rig.person("user:dana"), other, std::move(no));
      denied = refused.has_value();
    };
    asio::co_spawn(rig.io, both(), asio::detached);
    rig.run_until([&] { return first->answer && second->answer && denied; });
    ASSERT_TRUE(*granted);
    const CallView told = view(*second->answer);
    if (*denied) {
      EXPECT_EQ(told.code, "APPROVAL_DENIED") << told.text;
      EXPECT_EQ(rig.all_calls.size(), sent + 1);
    } else {
      EXPECT_EQ(told.outcome, "applied") << told.text;
    }
    Rig::deliver(*first->answer);
    Rig::deliver(*second->answer);
  }
}

// The same with rules that allow the call in the moment in which a person denies it.
TEST(AskEnds, ADenialIsNotOvertakenByNewRules) {
  Rig rig(options());
  const auto client = rig.client();
  const auto pending = rig.send(client, "desk__note", note("x"));
  const std::string id = rig.pending_approval();
  std::optional<bool> denied;
  const auto no = [&]() -> asio::awaitable<void> {
    Vote vote{false, {}, "no", {}, {}};
    const auto refused = co_await rig.people->vote(rig.person("user:dana"), id, std::move(vote));
    denied = refused.has_value();
  };
  asio::co_spawn(rig.io, no(), asio::detached);
  rig.set_policy(R"({"default":"deny","rules":[{"id":"notes","allow":{"server":"desk","tool":"note"}}]})");
  rig.run_until([&] { return pending->answer && denied; });
  EXPECT_EQ(view(*pending->answer).code == "APPROVAL_DENIED", *denied) << view(*pending->answer).text;
}

// A yes, and at the same moment any of a no, a cancel, the expiry, a stop, other rules, and the voter's dismissal:
// the call runs at most once, only on the yes, and everybody is told the same as the records say.
TEST(AskEnds, WhateverComesAtOnceTheCallRunsOnlyOnAYesThatIsSpent) {
  std::set<std::string> ends;
  for (unsigned which = 0; which < 64; ++which) {
    RigOptions crowd = options();
    crowd.people.push_back({"user:eve", static_cast<unsigned>(Role::approver), {"owners"}});
    Rig rig(crowd);
    const auto pending = rig.send(rig.client(), "desk__note", note("x"));
    const std::string id = rig.pending_approval();
    const std::string shown(page(rig, id).at("shown").as_string());
    const Person dana = rig.person("user:dana"), eve = rig.person("user:eve");
    int under_way = 0;
    const auto vote = [&](Person who, bool approve) -> asio::awaitable<void> {
      Vote cast{approve, shown, {}, {}, {}};
      static_cast<void>(co_await rig.people->vote(std::move(who), id, std::move(cast)));
      --under_way;
    };
    const auto stop = [&]() -> asio::awaitable<void> {
      static_cast<void>(co_await rig.people->stop(dana, "server", "desk", {}, "now"));
      --under_way;
    };
    const auto spawn = [&](asio::awaitable<void> task) {
      ++under_way;
      asio::co_spawn(rig.io, std::move(task), asio::detached);
    };
    if ((which & 32U) != 0) spawn(vote(eve, false));
    spawn(vote(dana, true));
    if ((which & 1U) != 0) spawn(vote(eve, false));
    if ((which & 2U) != 0) pending->cancel->cancel(CancelReason::client);
    if ((which & 4U) != 0) rig.clock.advance(std::chrono::hours(2));
    if ((which & 8U) != 0) spawn(stop());
    if ((which & 16U) != 0) rig.calls->set_people({eve});
    rig.calls->configuration_changed();
    rig.run_until([&] { return pending->answer && under_way == 0 && rig.calls->in_flight() == 0; });
    const CallView told = view(*pending->answer);
    const std::string state(page(rig, id, eve).at("state").as_string());
    ends.insert(state);
    EXPECT_EQ(rig.all_calls.size(), state == "consumed" ? 1U : 0U) << which << " " << state << ": " << told.text;
    if (state == "denied") EXPECT_TRUE(told.code == "APPROVAL_DENIED" || told.code == "CANCELLED") << told.text;
    if (state == "expired") EXPECT_TRUE(told.code == "APPROVAL_EXPIRED" || told.code == "CANCELLED") << told.text;
    if (state == "consumed") EXPECT_TRUE(told.outcome != "none") << told.text;
    if (told.code == "APPROVAL_DENIED") EXPECT_EQ(state, "denied") << told.text;
    if (told.code == "APPROVAL_EXPIRED") EXPECT_EQ(state, "expired") << told.text;
    EXPECT_TRUE(rig.log_verifies()) << which;
  }
  EXPECT_TRUE(ends.contains("consumed") && ends.contains("denied") && ends.contains("expired"));
}

TEST(AskEnds, WhatWasApprovedAndNotPickedUpIsNotSaidToBeUnanswered) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = asked(rig, client, "x");
  ASSERT_TRUE(rig.approve(id));
  rig.clock.advance(std::chrono::hours(2));
  const CallView told = waited(rig, client, id);
  EXPECT_EQ(told.code, "APPROVAL_EXPIRED");
  EXPECT_NE(told.text.find("was given, but the call was not picked up"), std::string::npos) << told.text;
  EXPECT_EQ(told.text.find("Nobody"), std::string::npos) << told.text;
  EXPECT_EQ(told.text.find("refused"), std::string::npos) << told.text;
}

TEST(AskEnds, DeniedAndRevokedOnesDoNotCountAmongThoseThatWait) {
  RigOptions few = options();
  few.limits.waiting_approvals = 4;  // one for each principal
  Rig rig(few);
  for (const std::string text : {"1", "2", "3", "4"}) {
    const auto client = rig.client();
    const auto pending = rig.send(client, "desk__note", note(text));
    const std::string id = rig.pending_approval();
    ASSERT_TRUE(rig.deny(id));
    rig.run_until([&] { return pending->answer.has_value(); });
    EXPECT_EQ(view(*pending->answer).code, "APPROVAL_DENIED") << view(*pending->answer).text;
  }
  const auto client = rig.client();
  const std::string id = asked(rig, client, "5");
  ASSERT_TRUE(rig.approve(id));
  ASSERT_TRUE(rig.await(rig.people->revoke(rig.person("user:dana"), id, "no")));
  EXPECT_EQ(waited(rig, client, id).code, "APPROVAL_DENIED");
  rig.run_until([&] { return rig.calls->in_flight() == 0 && rig.receipts("refusal").size() == 5; });
  rig.io.poll();
  asked(rig, client, "6");
}

TEST(AskEnds, ARevocationHoldsForTheRunAlsoOverARestart) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  std::shared_ptr<ClientContext> client;
  {
    Rig rig(with_state);
    client = rig.client();
    const std::string id = asked(rig, client, "x");
    ASSERT_TRUE(rig.approve(id));
    ASSERT_TRUE(rig.await(rig.people->revoke(rig.person("user:dana"), id, "not today")));
  }
  Rig rig(with_state);
  const CallView told = view(rig.call(client, "desk__note", note("x")));
  EXPECT_EQ(told.code, "APPROVAL_DENIED") << told.text;
  EXPECT_NE(told.text.find("not today"), std::string::npos);
}

TEST(AskEnds, AStopIsSaidToBeAStop) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string given = asked(rig, client, "given");
  ASSERT_TRUE(rig.approve(given));
  const std::string open = asked(rig, client, "open");
  const auto held = rig.send(rig.client(), "desk__note", note("held"));
  rig.run_until([&] { return rig.operations({OperationState::waiting}).size() == 3; });
  ASSERT_TRUE(rig.await(rig.people->stop(rig.person("user:dana"), "server", "desk", {}, "look first")));
  rig.run_until([&] { return held->answer.has_value(); });
  for (const CallView& told : {view(*held->answer), waited(rig, client, given), waited(rig, client, open)}) {
    EXPECT_EQ(told.code, "STOPPED") << told.text;
    EXPECT_EQ(told.retry, "never");
    EXPECT_NE(told.text.find("look first"), std::string::npos) << told.text;
  }
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(AskEnds, TheYesOfWhoMayNoLongerAnswerIsVoid) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = asked(rig, client, "x");
  ASSERT_TRUE(rig.approve(id));
  Person dana = rig.person("user:dana");
  dana.groups = {"others"};
  rig.calls->set_people({dana, rig.person("user:kim")});
  const CallView told = waited(rig, client, id);
  EXPECT_EQ(told.code, "APPROVAL_INVALIDATED") << told.text;
  EXPECT_NE(told.text.find("user:dana"), std::string::npos) << told.text;
  EXPECT_TRUE(rig.all_calls.empty());
  EXPECT_EQ(page(rig, id).at("state"), "invalidated");
}

TEST(AskEnds, AnAskThatNobodyIsLeftForEndsAtOnce) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "desk__note", note("x"));
  rig.pending_approval();
  rig.calls->set_people({rig.person("user:kim")});
  rig.calls->configuration_changed();
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).code, "NO_APPROVER") << view(*pending->answer).text;
}

// What is settled with a vote and the vote itself are one act: either all of it is true or none.
TEST(AskEnds, AVoteThatSettlesWhatIsNotUnknownCountsForNothing) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = asked(rig, client, "x");
  const std::string operation(page(rig, id).at("operation").as_string());
  for (const bool approve : {true, false}) {
    Vote vote{approve, std::string(page(rig, id).at("shown").as_string()), "I looked", {}, {{operation, "applied"}}};
    const auto refused = rig.await(rig.people->vote(rig.person("user:dana"), id, std::move(vote)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict) << refused.error().message;
    EXPECT_EQ(page(rig, id).at("state"), "pending");
    EXPECT_TRUE(page(rig, id).at("votes").as_array().empty());
  }
}

TEST(AskEnds, APendingAnswerSaysWhoseAnswersItWants) {
  RigOptions two = options();
  two.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"notes","ask":{"server":"desk","tool":"note"}},)"
      R"({"id":"more","ask":{"server":"desk"},"approval":{"by":["payments","user:kim"]}}]})";
  Rig rig(two);
  const auto client = rig.client();
  client->hold = Millis(0);
  const CallView told = view(rig.call(client, "desk__note", note("x")));
  EXPECT_NE(told.text.find("owners and one of payments, user:kim"), std::string::npos) << told.text;
  EXPECT_NE(told.text.find("sallyport_wait"), std::string::npos);
}

// Section 11: an approver sees the asks of their groups, an operator and an auditor no values.
TEST(AskEnds, ValuesAreForThoseWhomAnAskNames) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = asked(rig, client, "the secret plan");
  const Person operator_only{"user:ops", static_cast<unsigned>(Role::operator_), {"owners"}};
  const Person auditor{"user:ada", static_cast<unsigned>(Role::auditor), {"owners"}};
  EXPECT_NE(boost::json::serialize(page(rig, id)).find("the secret plan"), std::string::npos);
  for (const Person& who : {operator_only, auditor, rig.person("user:kim")}) {
    const auto seen = page(rig, id, who);
    EXPECT_TRUE(seen.at("withheld").as_bool());
    EXPECT_EQ(boost::json::serialize(seen).find("the secret plan"), std::string::npos) << who.id;
    const auto list = rig.await(rig.people->approvals(who, "pending", 10));
    EXPECT_EQ(list->find("the secret plan"), std::string::npos) << who.id;
    EXPECT_NE(list->find(id), std::string::npos) << "that it waits is no secret";
  }
  ASSERT_TRUE(rig.approve(id));
  const auto revoked = rig.await(rig.people->revoke(operator_only, id, "wait"));
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_EQ(revoked->find("the secret plan"), std::string::npos);
}

}  // namespace
}  // namespace sallyport::test
