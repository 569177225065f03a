// A modern server that wants to know something first: legs of one call, judged and recorded like calls, and what is
// known of a write whose last leg is missing.
#include <gtest/gtest.h>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kTool = R"({"name":"order","inputSchema":{"type":"object"}})";
constexpr const char* kRead = R"({"name":"look","inputSchema":{"type":"object"}})";
constexpr const char* kAllow = R"({"default":"deny","rules":[{"id":"all","allow":{"server":"shop"}}]})";
constexpr const char* kDone = R"({"resultType":"complete","content":[{"type":"text","text":"ordered"}]})";
constexpr const char* kColour =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"Colour?","requestedSchema":{"type":"object","properties":{}}}})";

// Asks `rounds` times, then does it.
class Shop {
 public:
  explicit Shop(int rounds = 1, std::string question = kColour) : rounds_(rounds), question_(std::move(question)) {}
  [[nodiscard]] RigOptions options(const std::string& policy = kAllow, const std::string& passes = R"("elicitation")",
                                   const std::string& contract = {}) {
    RigOptions options;
    options.policy = policy;
    options.trust = R"({"servers":{"shop":{"passes":[)" + passes +
                    R"(],"tools":{"look":"read","order":{"effect":"external","destructive":false)" +
                    (contract.empty() ? "" : "," + contract) + "}}}}}";
    options.servers["shop"].tools = {kTool, kRead};
    options.servers["shop"].on_call = [this](Dispatched& call) { answer(call); };
    return options;
  }
  int done = 0;
  int asked = 0;
  std::string then = kDone;  // after the questions
  std::vector<std::string> seen;

 private:
  void answer(Dispatched& call) {
    seen.push_back(call.params);
    if (asked < rounds_) {
      ++asked;
      call.result(R"({"resultType":"input_required","inputRequests":{"q":)" + question_ + R"(},"requestState":"s-)" +
                  std::to_string(asked) + "\"}");
      return;
    }
    ++done;
    call.result(then);
  }
  int rounds_;
  std::string question_;
};

ClientReply accept(const std::string& content = R"({"colour":"red"})") {
  return ClientReply{R"({"action":"accept","content":)" + content + "}", std::nullopt};
}

ClientReply unable(const ServerQuestion&) {
  return ClientReply::fail(mcp::code::kMethodNotFound, "this client cannot be asked");
}

std::shared_ptr<ClientContext> modern(Rig& rig) {
  auto client = rig.client();
  client->era = mcp::Era::modern;
  client->protocol_version = "2026-07-28";
  client->capabilities = R"({"elicitation":{"form":{}}})";
  return client;
}

std::shared_ptr<const InputGiven> given(const InputNeeded& needed, const std::string& responses, int leg = 0) {
  auto out = std::make_shared<InputGiven>();
  out->operation = needed.operation;
  out->leg = leg == 0 ? needed.leg : leg;
  out->state = needed.state;
  auto document = json::Document::parse(responses);
  out->document = std::make_shared<const json::Document>(std::move(*document));
  out->responses = out->document->root();
  return out;
}

std::string state_of(Rig& rig) {
  const auto rows = rig.operations();
  return rows.size() == 1 ? std::string(to_string(rows.front().state)) : std::to_string(rows.size()) + " operations";
}

TEST(Input, ALegacyClientIsAskedAndTheAnswerGoesWithTheServersState) {
  Shop shop;
  Rig rig(shop.options());
  std::vector<std::string> questions;
  rig.on_question = [&](const ServerQuestion& question) {
    questions.emplace_back(question.method + " " + std::string(question.params.find("message").string()));
    EXPECT_EQ(state_of(rig), "awaiting-input");
    return accept();
  };
  const CallView seen = view(rig.call(rig.client(), "shop__order", R"({"n":1})"));
  EXPECT_FALSE(seen.is_error) << seen.text;
  EXPECT_EQ(seen.outcome, "applied");
  EXPECT_EQ(questions, std::vector<std::string>{"elicitation/create [shop] Colour?"});
  ASSERT_EQ(shop.seen.size(), 2U);
  EXPECT_EQ(shop.seen[0], R"("name":"order","arguments":{"n":1})");
  EXPECT_EQ(
      shop.seen[1],
      R"("name":"order","arguments":{"n":1},"inputResponses":{"q":{"action":"accept","content":{"colour":"red"}}},"requestState":"s-1")");
  ASSERT_EQ(rig.all_calls.size(), 2U);
  EXPECT_EQ(rig.all_calls[0].operation, rig.all_calls[1].operation);
  EXPECT_EQ(state_of(rig), "applied");
  const auto intents = rig.receipts("intent");
  ASSERT_EQ(intents.size(), 2U);
  // The answers are committed to like arguments.
  const auto committed = [](const ReceiptRow& row) { return row.payload.substr(row.payload.find("\"hmac\""), 80); };
  EXPECT_NE(committed(intents[0]), committed(intents[1]));
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Input, NothingOfTheModernEraReachesALegacyClient) {
  Shop shop;
  shop.then = R"({"resultType":"complete","ttlMs":5,"cacheScope":"public","content":[],"structuredContent":7,"z":1.0})";
  Rig rig(shop.options());
  rig.on_question = [](const ServerQuestion&) { return accept(); };
  const Answer answer = rig.call(rig.client(), "shop__order", "{}");
  for (const char* word : {"resultType", "ttlMs", "cacheScope", "structuredContent"}) {
    EXPECT_EQ(answer.result.find(word), std::string::npos) << answer.result;
  }
  EXPECT_NE(answer.result.find(R"("z":1.0)"), std::string::npos) << answer.result;
}

TEST(Input, ErrorsThatSpeakOfOurOwnLegAreNotTheClients) {
  for (const auto& [code, told] : {std::pair(-32021, -32603), std::pair(-32602, -32602)}) {
    Shop shop;
    RigOptions options = shop.options();
    options.servers["shop"].on_call = [code](Dispatched& call) {
      auto document = json::Document::parse(R"({"code":)" + std::to_string(code) + R"(,"message":"no"})");
      ServerAnswer got;
      got.kind = ServerAnswer::Kind::error;
      got.sent = got.modern = true;
      got.document = std::make_shared<const json::Document>(std::move(*document));
      got.error = got.document->root();
      call.answer->set(std::move(got));
    };
    Rig rig(std::move(options));
    const Answer answer = rig.call(rig.client(), "shop__look", "{}");
    ASSERT_TRUE(answer.error.has_value());
    EXPECT_EQ(answer.error->code, told);
  }
}

// A modern client may declare it and call again; a capability that is not passed on would not help it.
TEST(Input, AMissingCapabilityIsToldToWhoMayDeclareIt) {
  for (const std::string kind : {"elicitation", "sampling", "tasks"}) {
    Shop shop;
    RigOptions options = shop.options();
    options.servers["shop"].on_call = [kind](Dispatched& call) {
      auto document = json::Document::parse(R"({"code":-32021,"message":"no","data":{"requiredCapabilities":{")" +
                                            kind + R"(":{}}}})");
      ServerAnswer got;
      got.kind = ServerAnswer::Kind::error;
      got.sent = got.modern = true;
      got.document = std::make_shared<const json::Document>(std::move(*document));
      got.error = got.document->root();
      call.answer->set(std::move(got));
    };
    Rig rig(std::move(options));
    auto client = modern(rig);
    client->capabilities = "{}";
    const Answer answer = rig.call(client, "shop__look", "{}");
    ASSERT_TRUE(answer.error.has_value());
    EXPECT_EQ(answer.error->code, kind == "elicitation" ? -32021 : -32603) << kind;
  }
}

TEST(Input, AClientThatCannotBeAskedGetsACleanRefusal) {
  Shop shop;
  Rig rig(shop.options());
  rig.on_question = unable;
  const CallView seen = view(rig.call(rig.client(), "shop__order", "{}"));
  EXPECT_EQ(seen.code, "OUTCOME_UNKNOWN");
  EXPECT_NE(seen.text.find("cannot be asked"), std::string::npos) << seen.text;
  EXPECT_EQ(seen.outcome, "unknown");
  EXPECT_EQ(shop.done, 0);
  EXPECT_EQ(rig.all_calls.size(), 1U);
  EXPECT_EQ(state_of(rig), "unknown");
  EXPECT_EQ(rig.operations().front().unknown, Unknown::answered);  // the server answered: it blocks nobody
}

TEST(Input, AReadThatIsNotAnsweredFailsAndIsNotUnknown) {
  Shop shop;
  Rig rig(shop.options());
  rig.on_question = unable;
  const CallView seen = view(rig.call(rig.client(), "shop__look", "{}"));
  EXPECT_TRUE(seen.is_error);
  EXPECT_EQ(seen.code, "SERVER_UNAVAILABLE");
  EXPECT_EQ(seen.outcome, "none");
}

TEST(Input, WhatTheTrustFileDoesNotPassIsNotAsked) {
  Shop shop;
  Rig rig(shop.options(kAllow, ""));
  int asked = 0;
  rig.on_question = [&](const ServerQuestion&) {
    ++asked;
    return accept();
  };
  EXPECT_EQ(view(rig.call(rig.client(), "shop__order", "{}")).code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(asked, 0);
}

TEST(Input, QuestionsHaveEightRounds) {
  for (const int rounds : {8, 9}) {
    Shop shop(rounds);
    Rig rig(shop.options());
    int asked = 0;
    rig.on_question = [&](const ServerQuestion&) {
      ++asked;
      return accept();
    };
    const CallView seen = view(rig.call(rig.client(), "shop__order", "{}"));
    EXPECT_EQ(asked, 8);
    EXPECT_EQ(shop.done, rounds == 8 ? 1 : 0);
    EXPECT_EQ(seen.outcome, rounds == 8 ? "applied" : "unknown") << seen.text;
  }
}

TEST(Input, OnlyQuestionsThatClientsKnowArePassed) {
  for (const std::string question : {R"({"method":"tools/call","params":{"name":"order"}})", R"({"method":7})",
                                     R"("why")", R"({"method":"elicitation/create","params":[]})"}) {
    Shop shop(1, question);
    Rig rig(shop.options(kAllow, R"("elicitation","sampling","roots")"));
    int asked = 0;
    rig.on_question = [&](const ServerQuestion&) {
      ++asked;
      return accept();
    };
    EXPECT_EQ(view(rig.call(rig.client(), "shop__order", "{}")).outcome, "unknown") << question;
    EXPECT_EQ(asked, 0) << question;
  }
}

TEST(Input, AnswersAreArgumentsToTheRules) {
  Shop shop;
  Rig rig(shop.options(R"({"default":"deny","rules":[{"id":"all","allow":{"server":"shop"}},)"
                       R"({"id":"no-red","deny":{"server":"shop","anyArgument":"red"},"message":"No red."}]})"));
  rig.on_question = [](const ServerQuestion&) { return accept(); };
  const CallView seen = view(rig.call(rig.client(), "shop__order", "{}"));
  EXPECT_EQ(shop.done, 0);
  EXPECT_EQ(seen.outcome, "unknown");
  EXPECT_NE(seen.text.find("No red."), std::string::npos) << seen.text;
}

// One good value does not prove a call safe, if there are answers of which the rule says nothing.
TEST(Input, AnAllowThatNamesTheArgumentsDoesNotAllowAnswers) {
  Shop shop;
  Rig rig(shop.options(
      R"({"default":"deny","rules":[{"id":"one","allow":{"server":"shop","tool":"order","arguments":{"n":1}}}]})"));
  rig.on_question = [](const ServerQuestion&) { return accept(); };
  const CallView seen = view(rig.call(rig.client(), "shop__order", R"({"n":1})"));
  EXPECT_EQ(shop.done, 0);
  EXPECT_EQ(seen.outcome, "unknown");
}

TEST(Input, AnswersThatCanBeReadInTwoWaysAreNotSent) {
  Shop shop;
  Rig rig(shop.options());
  rig.on_question = [](const ServerQuestion&) { return accept(R"({"colour":"red","colour":"blue"})"); };
  EXPECT_EQ(view(rig.call(rig.client(), "shop__order", "{}")).outcome, "unknown");
  EXPECT_EQ(shop.done, 0);
}

// What was shown to people was the arguments.
TEST(Input, AnApprovalIsForTheArgumentsAlone) {
  Shop shop;
  Rig rig(shop.options(R"({"default":"ask"})"));
  rig.on_question = [](const ServerQuestion&) { return accept(); };
  auto pending = rig.send(rig.client(), "shop__order", "{}");
  ASSERT_TRUE(rig.approve(rig.pending_approval()).has_value());
  rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
  EXPECT_EQ(view(*pending->answer).outcome, "unknown");
  EXPECT_EQ(shop.done, 0);
}

TEST(Input, AnswersOfTheClientsOwnAccordGoNowhere) {
  Shop shop(0);
  Rig rig(shop.options());
  const auto document = json::Document::parse(
      R"({"name":"shop__order","arguments":{},"inputResponses":{"q":{}},"requestState":"forged"})");
  Inbound inbound;
  inbound.client = rig.client();
  inbound.document = std::make_shared<const json::Document>(*json::Document::parse(std::string(document->text())));
  inbound.params = inbound.document->root();
  inbound.method = "tools/call";
  class Silent final : public ClientChannel {
   public:
    void notify(std::string_view, std::string_view) override {}
    [[nodiscard]] bool open() const override { return true; }
  } channel;
  inbound.channel = &channel;
  std::optional<Answer> answer;
  const auto work = [&]() -> asio::awaitable<void> { answer = co_await rig.calls->tools_call(inbound); };
  rig.await(work());
  ASSERT_EQ(shop.seen.size(), 1U);
  EXPECT_EQ(shop.seen[0], R"("name":"order","arguments":{})");
}

TEST(Input, AModernClientGetsTheQuestionsAndComesBack) {
  Shop shop(2);
  Rig rig(shop.options());
  const auto client = modern(rig);
  const Answer first = rig.call(client, "shop__order", R"({"n":1})");
  ASSERT_TRUE(first.input);
  EXPECT_TRUE(first.result.empty());
  EXPECT_EQ(first.input->state, "\"s-1\"");
  EXPECT_EQ(first.input->leg, 1);
  EXPECT_EQ(first.input->tool, "order");
  EXPECT_TRUE(first.input->definition.starts_with("sha256:"));
  EXPECT_NE(first.input->requests.find("[shop] Colour?"), std::string::npos) << first.input->requests;
  EXPECT_EQ(state_of(rig), "awaiting-input");
  const auto again = [&](const std::string& arguments, std::shared_ptr<const InputGiven> with) {
    auto pending = rig.send(client, "shop__order", arguments, {}, std::move(with));
    rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
    return *pending->answer;
  };
  // Not for other arguments, not for another leg.
  EXPECT_TRUE(again(R"({"n":2})", given(*first.input, R"({"q":{}})")).error.has_value());
  EXPECT_TRUE(again(R"({"n":1})", given(*first.input, R"({"q":{}})", 2)).error.has_value());
  const Answer second = again(R"({"n":1})", given(*first.input, R"({"q":{"action":"accept"}})"));
  ASSERT_TRUE(second.input);
  EXPECT_EQ(second.input->leg, 2);
  // The first state was used.
  EXPECT_TRUE(again(R"({"n":1})", given(*first.input, R"({"q":{}})")).error.has_value());
  const CallView last = view(again(R"({"n":1})", given(*second.input, R"({"q":{"action":"decline"}})")));
  EXPECT_EQ(last.outcome, "applied") << last.text;
  EXPECT_EQ(shop.done, 1);
  EXPECT_EQ(shop.seen.size(), 3U);
  EXPECT_EQ(state_of(rig), "applied");
  EXPECT_TRUE(rig.log_verifies());
}

// It was sent and may have done a part of its work: nothing is complete and nothing was checked meanwhile.
TEST(Input, AWriteWhoseClientIsAskedIsOpen) {
  Shop shop;
  RigOptions options = shop.options(
      R"({"default":"deny","rules":[{"id":"all","allow":{"server":"shop"}},)"
      R"({"id":"checked","require":{"server":"shop","tool":"nothing"},"evidence":{"tool":"look","result":{"good":true}}}]})");
  options.servers["shop"].tools.emplace_back(R"({"name":"nothing","inputSchema":{"type":"object"}})");
  options.run_evidence = std::vector<std::string>{"checked"};
  options.servers["shop"].on_call = [answer = options.servers["shop"].on_call](Dispatched& call) {
    if (call.tool != "look") return answer(call);
    call.result(R"({"resultType":"complete","content":[],"structuredContent":{"good":true}})");
  };
  Rig rig(options);
  const auto client = modern(rig);
  const auto finished = [&] { return rig.call(client, "sallyport_finish", "{}").result; };
  const Answer first = rig.call(client, "shop__order", R"({"n":1})");
  ASSERT_TRUE(first.input);
  rig.call(client, "shop__look", "{}");
  EXPECT_NE(finished().find(R"("status":"unresolved")"), std::string::npos) << finished();
  auto pending = rig.send(client, "shop__order", R"({"n":1})", {}, given(*first.input, R"({"q":{"action":"accept"}})"));
  rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
  EXPECT_EQ(shop.done, 1);
  EXPECT_NE(finished().find(R"("status":"completion_rejected")"), std::string::npos) << finished();
  rig.call(client, "shop__look", R"({"n":2})");
  EXPECT_NE(finished().find(R"("status":"complete")"), std::string::npos) << finished();
}

// A key is of the operation, whatever its legs: each carries it, and a repeat is told what became of all of them.
TEST(Input, AKeyGoesWithEveryLegAndItsRepeatIsNotSent) {
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  const std::string keyed = R"("repeat":"keyed","idempotencyKey":{"meta":"x/key"})";
  for (const bool is_modern : {false, true}) {
    Shop shop;
    Rig rig(shop.options(kAllow, R"("elicitation")", keyed));
    rig.on_question = [](const ServerQuestion&) { return accept(); };
    const auto client = is_modern ? modern(rig) : rig.client();
    Answer answer = rig.call(client, "shop__order", R"({"n":1})", key);
    if (is_modern) {
      ASSERT_TRUE(answer.input);
      auto pending = rig.send(client, "shop__order", R"({"n":1})", key, given(*answer.input, R"({"q":{}})"));
      rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
      answer = *pending->answer;
    }
    EXPECT_EQ(view(answer).outcome, "applied") << view(answer).text;
    ASSERT_EQ(rig.all_calls.size(), 2U);
    for (const Dispatched& leg : rig.all_calls)
      EXPECT_NE(leg.meta.find(R"("x/key":"k-1")"), std::string::npos) << leg.meta;
    Rig::deliver(answer);
    const CallView again = view(rig.call(client, "shop__order", R"({"n":1})", key));
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.operation, view(answer).operation);
    EXPECT_EQ(view(rig.call(client, "shop__order", R"({"n":2})", key)).code, "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(shop.done, 1);
    EXPECT_EQ(rig.all_calls.size(), 2U);
  }
}

// While a leg is open, its key stands for the call that waits: the same call joins it, another one is a conflict.
TEST(Input, AKeyWhoseClientIsAskedIsInFlight) {
  const std::string key = R"({"dev.sallyport/idempotencyKey":"k-1"})";
  Shop shop;
  Rig rig(shop.options(kAllow, R"("elicitation")", R"("repeat":"keyed","idempotencyKey":{"meta":"x/key"})"));
  const auto client = modern(rig);
  const Answer first = rig.call(client, "shop__order", R"({"n":1})", key);
  const Answer same = rig.call(client, "shop__order", R"({"n":1})", key);
  ASSERT_TRUE(first.input && same.input);
  EXPECT_EQ(first.input->operation, same.input->operation);
  EXPECT_EQ(view(rig.call(client, "shop__order", R"({"n":2})", key)).code, "IDEMPOTENCY_CONFLICT");
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

TEST(Input, AModernClientThatRepeatsTheCallGetsTheSameQuestions) {
  Shop shop;
  Rig rig(shop.options());
  const auto client = modern(rig);
  const Answer first = rig.call(client, "shop__order", "{}");
  const Answer same = rig.call(client, "shop__order", "{}");
  ASSERT_TRUE(first.input && same.input);
  EXPECT_EQ(first.input->operation, same.input->operation);
  EXPECT_EQ(shop.seen.size(), 1U);
}

TEST(Input, AnotherPrincipalCannotContinueACall) {
  Shop shop;
  Rig rig(shop.options());
  const Answer first = rig.call(modern(rig), "shop__order", "{}");
  ASSERT_TRUE(first.input);
  auto other = rig.client("agent:other");
  other->era = mcp::Era::modern;
  auto pending = rig.send(other, "shop__order", "{}", {}, given(*first.input, "{}"));
  rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
  EXPECT_TRUE(pending->answer->error.has_value());
  EXPECT_EQ(shop.seen.size(), 1U);
}

TEST(Input, ALegThatNobodySendsMakesAWriteUnknown) {
  Shop shop;
  Rig rig(shop.options());
  const auto client = modern(rig);
  const Answer first = rig.call(client, "shop__order", "{}");
  ASSERT_TRUE(first.input);
  rig.clock.advance(std::chrono::minutes(11));
  rig.await(rig.calls->sweep());
  rig.run_until([&] { return state_of(rig) == "unknown"; }, "the end of the operation");
  auto pending = rig.send(client, "shop__order", "{}", {}, given(*first.input, "{}"));
  rig.run_until([&] { return pending->answer.has_value(); }, "the answer");
  EXPECT_EQ(view(*pending->answer).code, "OUTCOME_UNKNOWN");
  EXPECT_EQ(shop.seen.size(), 1U);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Input, AnEndOfTheProcessMakesAWriteThatWaitsForInputUnknown) {
  Shop shop;
  TempDir dir;
  RigOptions options = shop.options();
  options.state = dir.file("state");
  {
    Rig rig(options);
    ASSERT_TRUE(rig.call(modern(rig), "shop__order", "{}").input);
  }
  Rig rig(options);
  EXPECT_EQ(state_of(rig), "unknown");
  EXPECT_TRUE(rig.log_verifies());
}

}  // namespace
}  // namespace sallyport::test
