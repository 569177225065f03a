// The way of a call: decided, recorded, dispatched once, concluded as what is known.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "schemas/core/encoding.hpp"
#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kRead =
    R"({"name":"look","description":"Looks","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}})";
constexpr const char* kWrite =
    R"({"name":"put","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"number"}},"required":["id"]}})";
constexpr const char* kPolicy = R"({"default":"ask","approval":{"by":["owners"]},"rules":[
  {"id":"reads","allow":{"effect":"read"}},
  {"id":"free","allow":{"server":"s","tool":"put","arguments":{"id":"free","n?":{}}}},
  {"id":"never","deny":{"server":"s","tool":"drop"},"message":"Dropping is off limits."}]})";

RigOptions options() {
  RigOptions options;
  options.policy = kPolicy;
  options.trust =
      R"({"servers":{"s":{"tools":{"look":"read","put":{"effect":"record","scope":"things/{/id}"},"drop":"record"}}}})";
  options.servers["s"].tools = {kRead, kWrite, R"({"name":"drop","inputSchema":{"type":"object"}})"};
  options.servers["s"].on_call = [](Dispatched& call) {
    call.result(R"({"content":[{"type":"text","text":"done"}],"x":1.50})");
  };
  return options;
}

TEST(CallWay, AReadIsAllowedAndItsResultKeepsItsBytes) {
  Rig rig(options());
  const Answer answer = rig.call(rig.client(), "s__look", R"({"id":"a"})");
  const CallView seen = view(answer);
  EXPECT_FALSE(seen.is_error) << answer.result;
  EXPECT_EQ(seen.verdict, "allow");
  EXPECT_EQ(seen.outcome, "applied");
  EXPECT_NE(answer.result.find(R"("content":[{"type":"text","text":"done"}],"x":1.50})"), std::string::npos);
  ASSERT_EQ(rig.receipts("call").size(), 1U);
  EXPECT_EQ(rig.receipts("call").front().id, seen.receipt);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(CallWay, WhatWasLetThroughAndCancelledIsNotCalledDenied) {
  for (const std::string tool : {"s__look", "s__put"}) {
    RigOptions held = options();
    held.servers["s"].on_call = {};
    Rig rig(held);
    const auto pending = rig.send(rig.client(), tool, R"({"id":"free"})");
    rig.run_until([&] { return !rig.open_calls.empty(); });
    pending->cancel->cancel(CancelReason::client);
    rig.run_until([&] { return pending->answer.has_value(); });
    EXPECT_EQ(view(*pending->answer).verdict, "allow") << tool;
    rig.open_calls.front().lose("cancelled");
    const std::string kind = tool == "s__look" ? "call" : "outcome";
    rig.run_until([&] { return !rig.receipts(kind).empty(); });
    EXPECT_EQ(rig.receipts(kind).front().verdict, "allow") << tool;
  }
}

TEST(CallWay, C110_AnIdenticalWriteWhileTheFirstIsUnknownIsNotSentAndNamesTheFirst) {
  RigOptions loses = options();
  loses.servers["s"].on_call = [](Dispatched& call) { call.lose(); };
  Rig rig(loses);
  const auto client = rig.client();
  const CallView first = view(rig.call(client, "s__put", R"({"id":"free"})"));
  EXPECT_EQ(first.outcome, "unknown");
  const CallView second = view(rig.call(client, "s__put", R"({"id":"free"})"));
  EXPECT_EQ(second.code, "BLOCKED_BY_UNKNOWN");
  EXPECT_NE(second.text.find(first.operation), std::string::npos) << second.text;
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

// As many as there are leave one receipt and a count.
TEST(CallWay, CallsThatTheBoundOfASessionRefusedAreOnRecord) {
  Rig rig(options());
  Inbound inbound;
  inbound.client = rig.client();
  for (int i = 0; i < 300; ++i) rig.calls->over_limit(inbound, Method::tools_call);
  for (int i = 0; i < 20; ++i) rig.calls->over_limit(inbound, Method::resources_read);
  std::map<std::string, std::int64_t> counts;
  for (int turn = 0; turn < 5'000 && (counts["tools/call"] < 300 || counts["resources/read"] < 20); ++turn) {
    rig.clock.advance(std::chrono::minutes(2));
    rig.await(rig.calls->sweep());  // writes what was folded before
    counts.clear();
    for (const ReceiptRow& row : rig.receipts("refusal")) {
      const auto predicate = boost::json::parse(row.payload).at("predicate").as_object();
      EXPECT_EQ(predicate.at("principal").as_string(), "agent:test");
      EXPECT_TRUE(row.payload.contains("LIMIT_REACHED")) << row.payload;
      const auto* method = predicate.at("request").as_object().if_contains("method");
      const auto* count = predicate.if_contains("count");
      counts[method ? std::string(method->as_string()) : "tools/call"] += count ? count->as_int64() : 1;
    }
  }
  EXPECT_EQ(counts["tools/call"], 300);
  EXPECT_EQ(counts["resources/read"], 20);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(CallWay, ArgumentsGoOnAsTheBytesThatCame) {
  Rig rig(options());
  rig.call(rig.client(), "s__put", R"({"n" : 1.000e2,"id":"fr\u0065e"})");
  ASSERT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(rig.all_calls.front().params, R"("name":"put","arguments":{"n" : 1.000e2,"id":"fr\u0065e"})");
}

TEST(CallWay, EveryFaultOfTheArgumentsIsNamedAndNothingIsSent) {
  Rig rig(options());
  const Answer answer = rig.call(rig.client(), "s__look", R"({"id":5,"extra":1})");
  const CallView seen = view(answer);
  EXPECT_EQ(seen.code, "ARGUMENTS_INVALID");
  EXPECT_EQ(seen.outcome, "none");
  EXPECT_EQ(seen.retry, "now");
  const auto reasons = boost::json::parse(answer.result).at_pointer("/_meta/dev.sallyport~1call/reasons").as_array();
  EXPECT_EQ(reasons.size(), 2U) << answer.result;
  EXPECT_TRUE(rig.all_calls.empty());
  EXPECT_EQ(rig.receipts("refusal").size(), 1U);
}

TEST(CallWay, AmbiguousArgumentsAreRefused) {
  Rig rig(options());
  for (const char* arguments :
       {R"({"id":"free","id":"b"})", R"({"id":"free","ID":"b"})", R"({"id":"free","n":1e999})"}) {
    const CallView seen = view(rig.call(rig.client(), "s__put", arguments));
    EXPECT_EQ(seen.code, "ARGUMENTS_INVALID") << arguments << seen.text;
  }
  EXPECT_TRUE(rig.all_calls.empty());
}

// A secret may be a name: of a member that stands twice, resembles another, has a number that none is, or a long one.
TEST(CallWay, NamesWithinWhatIsRedactedAreKeptToThemselvesWhateverIsWrongThere) {
  RigOptions with = options();
  with.policy = R"({"default":"ask","approval":{"by":["owners"]},"redact":["/creds","/list/*/pin"],"rules":[]})";
  with.servers["s"].tools[1] =
      R"({"name":"put","inputSchema":{"type":"object","properties":{"creds":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"object","additionalProperties":false}}}}}})";
  Rig rig(with);
  const std::string far = std::string(500, 'y') + "\":{\"" + std::string(900, 'z');
  for (const std::string& arguments : std::vector<std::string>{
           R"({"creds":{"SECRETa":1,"SECRETa":2}})", R"({"creds":{"SECRETa":1,"secreta":2}})",
           R"({"Creds":{"SECRETa":{"b":1,"b":2}}})", R"({"creds":{"SECRETa":1e999}})",
           R"({"list":[{"pin":{"SECRETa":1,"SECRETa":2}}]})", R"({"creds":{"SECRETa":{")" + far + R"(":1}}}})",
           R"({"creds":{"SECRETa":{")" + far + R"(":1e999}}}})", R"({"creds":{"SECRETa":7}})"}) {
    const Answer answer = rig.call(rig.client(), "s__put", arguments);
    EXPECT_EQ(answer.result.find("SECRET"), std::string::npos) << arguments.substr(0, 60) << answer.result;
  }
  for (const ReceiptRow& row : rig.receipts("refusal")) EXPECT_EQ(row.payload.find("SECRET"), std::string::npos);
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(CallWay, ADeniedCallSaysTheAuthorsMessage) {
  Rig rig(options());
  const CallView seen = view(rig.call(rig.client(), "s__drop", "{}"));
  EXPECT_EQ(seen.code, "POLICY_DENIED");
  EXPECT_EQ(seen.verdict, "deny");
  EXPECT_NE(seen.text.find("Dropping is off limits."), std::string::npos);
  EXPECT_NE(seen.text.find("did not run"), std::string::npos);
  EXPECT_TRUE(rig.all_calls.empty());
}

TEST(CallWay, AnUnknownToolIsAProtocolErrorAndLeavesAReceipt) {
  Rig rig(options());
  const Answer answer = rig.call(rig.client(), "s__nope", "{}");
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code, -32602);
  EXPECT_EQ(rig.receipts("refusal").size(), 1U);
}

TEST(CallWay, AWriteIsOnRecordBeforeItsFirstByte) {
  Rig rig(options());
  std::size_t intents = 0;
  bool durable = false;
  rig.servers["s"].on_call = [&](Dispatched& call) {
    std::size_t count = 0;
    // Read as another process would: only what is committed counts.
    auto reader = open_read_only(rig.state());
    ASSERT_TRUE(reader) << reader.error().message;
    ASSERT_TRUE((*reader)->each_receipt({}, [&](const ReceiptRow& row) {
      count += row.kind == "intent" ? 1 : 0;
      return true;
    }));
    intents = count;
    durable = true;
    call.result(R"({"content":[]})");
  };
  const CallView seen = view(rig.call(rig.client(), "s__put", R"({"id":"free"})"));
  EXPECT_EQ(seen.outcome, "applied");
  EXPECT_TRUE(durable);
  EXPECT_EQ(intents, 1U);
  EXPECT_EQ(rig.receipts("outcome").size(), 1U);
}

// A reload judges what comes; what was sent goes on by the policy that its intent names.
TEST(CallWay, WhatWasSentKeepsThePolicyItBeganWith) {
  RigOptions held = options();
  held.servers["s"].on_call = {};
  Rig rig(std::move(held));
  const auto pending = rig.send(rig.client(), "s__put", R"({"id":"free"})");
  rig.run_until([&] { return !rig.open_calls.empty(); }, "the call");
  rig.set_policy(R"({"default":"deny","rules":[{"id":"none","deny":{"server":"s"}}]})");
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"free","n":2})")).code, "POLICY_DENIED");
  EXPECT_FALSE(pending->answer);
  rig.open_calls.front().result(R"({"content":[]})");
  rig.run_until([&] { return pending->answer.has_value(); });
  EXPECT_EQ(view(*pending->answer).outcome, "applied");
  EXPECT_EQ(view(*pending->answer).verdict, "allow");
  const auto decision = [&](const char* kind) {
    return boost::json::parse(rig.receipts(kind).front().payload).at_pointer("/predicate/decision");
  };
  EXPECT_EQ(decision("outcome"), decision("intent"));
  EXPECT_NE(decision("refusal"), decision("intent"));
}

TEST(CallWay, ALostAnswerIsUnknownAndBlocksItsScopeOnly) {
  Rig rig(options());
  rig.set_policy(R"({"default":"ask","rules":[{"id":"w","allow":{"server":"s","tool":"put"}}]})");
  rig.servers["s"].on_call = [](Dispatched& call) { call.lose(); };
  const CallView lost = view(rig.call(rig.client(), "s__put", R"({"id":"a"})"));
  EXPECT_EQ(lost.code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(lost.outcome, "unknown");
  rig.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  const CallView blocked = view(rig.call(rig.client(), "s__put", R"({"id":"a","n":2})"));
  EXPECT_EQ(blocked.code, "BLOCKED_BY_UNKNOWN");
  EXPECT_NE(blocked.text.find(lost.operation), std::string::npos);
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"b"})")).outcome, "applied");
  // A person who looked says what became of it; then the way is free.
  ASSERT_TRUE(rig.await(rig.people->resolve(rig.person("user:dana"), lost.operation, "none", "looked it up")));
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"a","n":3})")).outcome, "applied");
  EXPECT_EQ(rig.receipts("reconciliation").size(), 1U);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(CallWay, AnErrorAfterAWriteIsUnknownUnlessTheContractExplainsIt) {
  Rig rig(options());
  rig.servers["s"].on_call = [](Dispatched& call) {
    call.result(R"({"content":[{"type":"text","text":"no"}],"isError":true})");
  };
  const Answer answer = rig.call(rig.client(), "s__put", R"({"id":"free"})");
  const CallView seen = view(answer);
  EXPECT_EQ(seen.code, "OUTCOME_UNKNOWN");
  EXPECT_TRUE(seen.is_error);
  EXPECT_NE(answer.result.find(R"("text":"no")"), std::string::npos);
  // It blocks nothing; only the same again asks.
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"free","n":1})")).code, "OUTCOME_UNKNOWN");
  const auto again = rig.send(rig.client(), "s__put", R"({"id":"free"})");
  EXPECT_FALSE(rig.pending_approval().empty());
  EXPECT_FALSE(again->answer.has_value());
}

TEST(CallWay, NothingSentIsProvablyNone) {
  Rig rig(options());
  rig.servers["s"].on_call = [](Dispatched& call) { call.not_sent(); };
  const CallView seen = view(rig.call(rig.client(), "s__put", R"({"id":"free"})"));
  EXPECT_EQ(seen.code, "SERVER_UNAVAILABLE");
  EXPECT_EQ(seen.outcome, "none");
  EXPECT_TRUE(rig.operations({OperationState::unknown}).empty());
}

TEST(CallWay, AStopRefusesAtOnceSurvivesARestartAndOnlyAnOperatorLiftsIt) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  std::string stop;
  {
    Rig rig(with_state);
    auto stopped = rig.await(rig.people->stop(rig.person("user:kim"), "server", "s", "", "it misbehaves"));
    ASSERT_TRUE(stopped) << stopped.error().message;
    stop = boost::json::parse(*stopped).at("id").as_string();
    EXPECT_EQ(view(rig.call(rig.client(), "s__look", R"({"id":"a"})")).code, "STOPPED");
  }
  Rig rig(with_state);
  EXPECT_EQ(view(rig.call(rig.client(), "s__look", R"({"id":"a"})")).code, "STOPPED");
  EXPECT_FALSE(rig.await(rig.people->lift(rig.person("user:kim"), stop, "")));
  ASSERT_TRUE(rig.await(rig.people->lift(rig.person("user:dana"), stop, "mended")));
  EXPECT_EQ(view(rig.call(rig.client(), "s__look", R"({"id":"a"})")).verdict, "allow");
}

TEST(CallWay, WhatWasUnderWayAtACrashIsUnknownAtTheNextStart) {
  TempDir dir;
  RigOptions with_state = options();
  with_state.state = dir.file("state");
  with_state.servers["s"].on_call = {};
  Rig crashed(with_state);
  const auto pending = crashed.send(crashed.client(), "s__put", R"({"id":"free"})");
  crashed.run_until([&] { return crashed.open_calls.size() == 1; });
  const std::string operation = crashed.open_calls.front().operation;
  // What a crash would leave on disk: a copy of the folder at this moment.
  with_state.state = dir.file("copy");
  std::filesystem::copy(dir.file("state"), with_state.state, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(with_state.state, std::filesystem::perms::owner_all);
  Rig rig(with_state);
  const auto unknown = rig.operations({OperationState::unknown});
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown.front().id, operation);
  EXPECT_EQ(unknown.front().basis, "crash");
  EXPECT_TRUE(rig.all_calls.empty());
  EXPECT_EQ(view(rig.call(rig.client(), "s__put", R"({"id":"free","n":1})")).code, "BLOCKED_BY_UNKNOWN");
}

}  // namespace
}  // namespace sallyport::test
