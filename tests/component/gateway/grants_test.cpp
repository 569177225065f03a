// Grants: a standing answer to one rule, for one tool, under conditions that only narrow what was shown; never for what
// promise 6 keeps for people.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kNote =
    R"({"name":"note","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}})";
constexpr const char* kNoteChanged =
    R"({"name":"note","description":"other","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}})";
constexpr const char* kPay = R"({"name":"pay","inputSchema":{"type":"object"}})";

RigOptions options() {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"],"grants":true},"rules":[)"
      R"({"id":"notes","ask":{"server":"desk","tool":"note"}},{"id":"money","ask":{"server":"desk","tool":"pay"}}]})";
  options.trust =
      R"({"servers":{"desk":{"tools":{"note":{"effect":"file","destructive":false,"scope":"notes","says":"Write {/path}"},)"
      R"("pay":{"effect":"external","destructive":false,"labels":["money"]}}}}})";
  options.servers["desk"].tools = {kNote, kPay};
  options.servers["desk"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  return options;
}

std::string shown_of(Rig& rig, const std::string& approval) {
  const auto page = rig.await(rig.people->approval(rig.person("user:dana"), approval));
  return std::string(boost::json::parse(*page).at("shown").as_string());
}

Result<std::string> grant(Rig& rig, const std::string& approval, const std::string& wish,
                          const std::string& who = "user:dana") {
  Vote vote{true, shown_of(rig, approval), "fine", wish, {}};
  return rig.await(rig.people->vote(rig.person(who), approval, std::move(vote)));
}

boost::json::array grants(Rig& rig, bool all = false) {
  const auto listed = rig.await(rig.people->grants(rig.person("user:dana"), all));
  return boost::json::parse(*listed).at("grants").as_array();
}

std::set<std::string> asked_so_far(Rig& rig) {
  std::set<std::string> ids;
  for (const auto& row : rig.operations()) ids.insert(row.approval);
  return ids;
}

// The ask that is not among those before.
std::string new_ask(Rig& rig, const std::set<std::string>& before) {
  std::string id;
  rig.run_until([&] {
    for (const auto& row : rig.operations({OperationState::waiting})) {
      if (!row.approval.empty() && !before.contains(row.approval)) id = row.approval;
    }
    return !id.empty();
  });
  return id;
}

// One call, answered with a grant; the grant's id.
std::string granted(Rig& rig, const std::shared_ptr<ClientContext>& client, const std::string& wish,
                    const std::string& arguments = R"({"path":"/notes/a","text":"x"})") {
  const std::set<std::string> before = asked_so_far(rig);
  const auto pending = rig.send(client, "desk__note", arguments);
  const auto given = grant(rig, new_ask(rig, before), wish);
  if (!given) throw std::runtime_error(given.error().message);
  rig.run_until([&] { return pending->answer.has_value(); });
  Rig::deliver(*pending->answer);
  return std::string(boost::json::parse(*given).at("grants").at(0).at("id").as_string());
}

bool asks(Rig& rig, const std::shared_ptr<ClientContext>& client, const std::string& arguments) {
  client->hold = Millis(0);
  const Answer answer = rig.call(client, "desk__note", arguments);
  Rig::deliver(answer);
  return view(answer).code == "APPROVAL_PENDING";
}

constexpr const char* kAnyText = R"({"run":true,"arguments":{"path":{"pathWithin":"/notes"},"text":{}}})";

TEST(Grants, AnswerTheLikeOfItInTheRunAndNothingElse) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = granted(rig, client, kAnyText);
  EXPECT_FALSE(asks(rig, client, R"({"path":"/notes/b","text":"y"})"));
  EXPECT_TRUE(asks(rig, client, R"({"path":"/etc/b","text":"y"})")) << "outside the condition";
  EXPECT_TRUE(asks(rig, client, R"({"path":"/notes/../etc/b","text":"y"})")) << "undetermined is no yes";
  EXPECT_TRUE(asks(rig, client, R"({"path":"/notes/b"})")) << "a member is missing";
  EXPECT_TRUE(asks(rig, client, R"({"path":"/notes/b","text":"y","n":1})")) << "a member that nobody saw";
  EXPECT_TRUE(asks(rig, rig.client(), R"({"path":"/notes/c","text":"y"})")) << "another run";
  EXPECT_TRUE(asks(rig, rig.client("agent:other"), R"({"path":"/notes/c","text":"y"})")) << "another client";
  const auto listed = grants(rig);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(std::string(listed[0].at("id").as_string()), id);
  EXPECT_EQ(listed[0].at("used"), 1);
  EXPECT_EQ(listed[0].at("conditions").at(0), R"(`path` is a path within "/notes")");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Grants, StandInEveryReceiptThatTheyAllow) {
  Rig rig(options());
  const auto client = rig.client();
  const std::string id = granted(rig, client, kAnyText);
  EXPECT_FALSE(asks(rig, client, R"({"path":"/notes/b","text":"y"})"));
  const auto receipt = boost::json::parse(rig.receipts("intent").back().payload).at("predicate");
  EXPECT_EQ(std::string(receipt.at("approval").at("id").as_string()), id);
  EXPECT_EQ(receipt.at("approval").at("form"), "grant");
  EXPECT_EQ(receipt.at("approval").at("votes").at(0).at("by"), "user:dana");
  EXPECT_EQ(receipt.at("decision").at("verdict"), "ask");
  const auto given = boost::json::parse(rig.receipts("approval").back().payload).at("predicate");
  EXPECT_EQ(given.at("event").at("action"), "granted");
  EXPECT_EQ(given.at("event").at("details").at("rule"), "notes");
  for (const auto& row : rig.receipts()) EXPECT_EQ(row.payload.find("/notes"), std::string::npos) << row.payload;
}

TEST(Grants, CanOnlyNarrowWhatWasShown) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "desk__note", R"({"path":"/notes/a","n":5})");
  const std::string approval = rig.pending_approval();
  for (const char* wish : {R"({"run":true,"arguments":{"path":{}}})",                    // a member left out
                           R"({"run":true,"arguments":{"path":{},"n":{},"text":{}}})",   // one more than was shown
                           R"({"run":true,"arguments":{"path":{},"n?":{}}})",            // may be absent: wider
                           R"({"run":true,"arguments":{"path":{},"n":{"maximum":4}}})",  // not even this call
                           R"({"run":true,"arguments":{"path":{"pathWithin":"/etc"},"n":{}}})",  // not even this call
                           R"({"run":true,"arguments":{"path":{"nothing":1},"n":{}}})",          // no condition
                           R"({"arguments":{"path":{},"n":{}}})",  // neither run nor until
                           R"({"run":true,"until":"2036-01-01T00:00:00Z","arguments":{"path":{},"n":{}}})",
                           R"({"until":"2001-01-01T00:00:00Z","arguments":{"path":{},"n":{}}})",  // over
                           R"({"until":"2999-01-01T00:00:00Z","arguments":{"path":{},"n":{}}})",  // too long
                           R"({"run":true,"uses":0})", R"({"run":true,"forever":true})", "[]"}) {
    const auto given = grant(rig, approval, wish);
    ASSERT_FALSE(given) << wish;
    EXPECT_EQ(given.error().code, ErrorCode::invalid) << wish;
  }
  EXPECT_FALSE(pending->answer) << "a wish that is refused answers nothing";
  EXPECT_TRUE(grant(rig, approval, R"({"run":true,"uses":2,"arguments":{"path":"/notes/a","n":{"maximum":5}}})"));
}

TEST(Grants, SayOfEachArgumentWhatItMayBe) {
  Rig rig(options());
  const auto pending = rig.send(rig.client(), "desk__note", R"({"path":"/notes/a","text":"x"})");
  const std::string approval = rig.pending_approval();
  const auto given = grant(rig, approval, R"({"run":true})");
  ASSERT_FALSE(given) << "left out is not anything";
  EXPECT_EQ(given.error().code, ErrorCode::invalid);
  EXPECT_FALSE(pending->answer);
}

// What goes to the server beside the arguments may mean as much as they do.
TEST(Grants, CoverNothingBesideTheArgumentsThatWasNotShown) {
  Rig rig(options());
  const auto client = rig.client();
  client->hold = Millis(0);
  const auto call = [&](const std::string& text, const std::string& meta) {
    const Answer answer = rig.call(client, "desk__note", R"({"path":"/notes/a","text":")" + text + R"("})", meta);
    Rig::deliver(answer);
    return view(answer);
  };
  const auto answer = [&](const CallView& asked, const std::string& wish) {
    ASSERT_EQ(asked.code, "APPROVAL_PENDING") << asked.text;
    const auto given = grant(rig, asked.approval, wish);
    ASSERT_TRUE(given) << given.error().message;
    const Answer done = rig.call(client, "sallyport_wait", R"({"id":")" + asked.approval + R"("})");
    Rig::deliver(done);
  };
  answer(call("1", ""), kAnyText);
  EXPECT_EQ(call("2", "").outcome, "applied");
  EXPECT_EQ(call("3", R"({"progressToken":7})").outcome, "applied") << "that one stays on the client's leg";
  EXPECT_EQ(call("3b", R"({"io.modelcontextprotocol/clientInfo":{"name":"a"}})").outcome, "applied") << "and that";
  answer(call("4", R"({"x/use":"u1"})"), kAnyText);
  EXPECT_EQ(call("5", R"({"x/use":"u2"})").outcome, "applied") << "its name was shown";
  EXPECT_EQ(call("6", R"({"x/use":"u3","x/admin":true})").code, "APPROVAL_PENDING");
  const auto words = boost::json::serialize(grants(rig));
  EXPECT_NE(words.find("`_meta` may hold `x/use`, with any value"), std::string::npos) << words;
}

TEST(Grants, EndByUsesTimeAndRevocation) {
  Rig rig(options());
  const auto client = rig.client();
  granted(rig, client, R"({"run":true,"uses":1,"arguments":{"path":{},"text":{}}})");
  EXPECT_FALSE(asks(rig, client, R"({"path":"/a","text":"1"})"));
  EXPECT_TRUE(asks(rig, client, R"({"path":"/a","text":"2"})")) << "used up";
  const auto second = rig.client();
  const std::string until = to_utc(rig.clock.now() + 60'000);
  second->hold = Millis(45'000);
  granted(rig, second, R"({"until":")" + until + R"(","arguments":{"path":{},"text":{}}})",
          R"({"path":"/b","text":"3"})");
  EXPECT_FALSE(asks(rig, rig.client(), R"({"path":"/b","text":"4"})")) << "until a time: in every run";
  rig.clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(asks(rig, second, R"({"path":"/b","text":"5"})")) << "expired";
  const auto third = rig.client("agent:other");
  const std::string id =
      granted(rig, third, R"({"run":true,"arguments":{"path":"/c","text":{}}})", R"({"path":"/c","text":"6"})");
  EXPECT_FALSE(asks(rig, third, R"({"path":"/c","text":"7"})"));
  EXPECT_TRUE(rig.await(rig.people->revoke_grant(rig.person("user:kim"), id, "enough")));
  EXPECT_TRUE(asks(rig, third, R"({"path":"/c","text":"8"})"));
  EXPECT_FALSE(rig.await(rig.people->revoke_grant(rig.person("user:kim"), id, "twice")));
  EXPECT_FALSE(rig.await(rig.people->revoke_grant(rig.person("agent:test"), id, "a client")));
  EXPECT_TRUE(grants(rig).empty());
  EXPECT_EQ(grants(rig, true).size(), 3U);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Grants, AreVoidWhenTheToolIsAnotherNow) {
  Rig rig(options());
  const auto client = rig.client();
  granted(rig, client, kAnyText);
  rig.servers["desk"].tools = {kNoteChanged, kPay};
  rig.relist("desk");
  EXPECT_TRUE(asks(rig, client, R"({"path":"/notes/b","text":"y"})"));
  rig.calls->configuration_changed();
  rig.run_until([&] { return grants(rig).empty(); });
  rig.servers["desk"].tools = {kNote, kPay};
  rig.relist("desk");
  EXPECT_TRUE(asks(rig, client, R"({"path":"/notes/c","text":"y"})")) << "void for good, also after a revert";
  EXPECT_EQ(grants(rig, true)[0].at("state"), "void");
}

TEST(Grants, AreNotOfferedForMoneyNorWhereTheRuleDoesNotSaySo) {
  Rig rig(options());
  const auto pay = rig.send(rig.client(), "desk__pay", "{}");
  const std::string approval = rig.pending_approval();
  const auto page = boost::json::parse(*rig.await(rig.people->approval(rig.person("user:dana"), approval)));
  EXPECT_FALSE(page.at("view").as_object().contains("grants"));
  const auto given = grant(rig, approval, R"({"run":true})");
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::forbidden);
  RigOptions without = options();
  without.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"notes","ask":{"server":"desk","tool":"note"}}]})";
  Rig plain(without);
  const auto note = plain.send(plain.client(), "desk__note", R"({"path":"/a"})");
  EXPECT_FALSE(grant(plain, plain.pending_approval(), R"({"run":true})"));
}

TEST(Grants, AnswerWhatWaitsAlready) {
  Rig rig(options());
  const auto client = rig.client();
  const auto first = rig.send(client, "desk__note", R"({"path":"/notes/1","text":"x"})");
  const std::string approval = rig.pending_approval();
  const auto second = rig.send(client, "desk__note", R"({"path":"/notes/2","text":"x"})");
  rig.run_until([&] { return rig.calls->in_flight() == 2 && rig.operations({OperationState::waiting}).size() == 2; });
  ASSERT_TRUE(grant(rig, approval, kAnyText));
  rig.run_until([&] { return first->answer && second->answer; });
  EXPECT_EQ(view(*second->answer).outcome, "applied");
  EXPECT_EQ(rig.all_calls.size(), 2U);
}

TEST(Grants, SurviveARestartAndAStopRevokesThem) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  const std::string wish =
      R"({"until":")" + to_utc(1'800'000'000'000 + 3'600'000) + R"(","arguments":{"path":{},"text":{}}})";
  {
    Rig rig(with_state);
    granted(rig, rig.client(), wish);
  }
  Rig rig(with_state);
  const auto client = rig.client();
  EXPECT_FALSE(asks(rig, client, R"({"path":"/notes/b","text":"y"})"));
  ASSERT_TRUE(rig.await(rig.people->stop(rig.person("user:dana"), "server", "desk", {}, "look first")));
  EXPECT_TRUE(grants(rig).empty());
  EXPECT_EQ(grants(rig, true)[0].at("state"), "revoked");
}

TEST(Grants, OfWhomIsNoLongerAnApproverAnswerNothing) {
  Rig rig(options());
  const auto client = rig.client();
  granted(rig, client, kAnyText);
  rig.calls->set_people({rig.person("user:kim")});
  client->hold = Millis(0);
  EXPECT_EQ(view(rig.call(client, "desk__note", R"({"path":"/notes/b","text":"y"})")).code, "NO_APPROVER");
}

}  // namespace
}  // namespace sallyport::test
