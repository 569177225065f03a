// Tasks: a modern client that declared them is not held by what takes long, be it a person or the server. The task is
// the operation: in the store, its principal's alone, decided again when it goes on, run once, told the same to who
// asks again.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kTool = R"({"name":"order","inputSchema":{"type":"object"}})";
constexpr const char* kRead = R"({"name":"look","inputSchema":{"type":"object"}})";
constexpr const char* kDone = R"({"content":[{"type":"text","text":"ordered"}]})";
constexpr const char* kAsks =
    R"({"default":"deny","rules":[{"id":"some","ask":{"server":"shop"},"approval":{"by":["owners"]}}]})";
constexpr const char* kAllow = R"({"default":"deny","rules":[{"id":"all","allow":{"server":"shop"}}]})";

RigOptions options(const char* policy) {
  RigOptions options;
  options.policy = policy;
  options.trust =
      R"({"servers":{"shop":{"tools":{"look":"read","order":{"effect":"record","destructive":false,"scope":"orders"}}}}})";
  options.servers["shop"].tools = {kTool, kRead};
  options.servers["shop"].on_call = [](Dispatched& call) { call.result(kDone); };
  return options;
}

class Tasks : public ::testing::Test {
 protected:
  void begin(RigOptions options) {
    rig_.reset();
    rig_ = std::make_unique<Rig>(std::move(options));
    client_ = client("agent:test");
  }
  std::shared_ptr<ClientContext> client(const std::string& id) {
    auto client = rig_->client(id);
    client->era = mcp::Era::modern;
    client->takes_tasks = true;
    return client;
  }
  // The id of the task that a call became.
  std::string become_task(const std::string& tool = "shop__order", const std::string& arguments = "{}") {
    const Answer answer = rig_->call(client_, tool, arguments);
    EXPECT_EQ(answer.result_type, "task") << answer.result;
    const auto task = boost::json::parse(answer.result).as_object();
    EXPECT_EQ(task.at("status"), "working");
    EXPECT_EQ(task.at("_meta").at("dev.sallyport/call").at("operation"), task.at("taskId"));
    Rig::deliver(answer);
    return std::string(task.at("taskId").as_string());
  }
  Answer ask(const std::string& method, const std::string& id, std::shared_ptr<ClientContext> who = nullptr) {
    return rig_->ask(who ? who : client_, method, R"({"taskId":")" + id + R"("})");
  }
  boost::json::object get(const std::string& id) {
    const Answer answer = ask("tasks/get", id);
    EXPECT_FALSE(answer.error) << answer.error->message;
    Rig::deliver(answer);
    return boost::json::parse(answer.result).as_object();
  }
  static std::string code(const boost::json::object& task) {
    return std::string(task.at("result").at("_meta").at("dev.sallyport/call").at("code").as_string());
  }

  std::unique_ptr<Rig> rig_;
  std::shared_ptr<ClientContext> client_;
};

TEST_F(Tasks, AnAskIsATaskThatRunsOnceAfterItsApproval) {
  begin(options(kAsks));
  const std::string id = become_task();
  EXPECT_EQ(get(id).at("status"), "working");
  EXPECT_TRUE(rig_->all_calls.empty());
  ASSERT_TRUE(rig_->approve(rig_->pending_approval()));
  boost::json::object task = get(id);
  for (int i = 0; i < 5 && task.at("status") == "working"; ++i) task = get(id);
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_EQ(task.at("result").at("resultType"), "complete");
  EXPECT_EQ(task.at("result").at("content").at(0).at("text"), "ordered");
  EXPECT_EQ(task.at("result").at("_meta").at("dev.sallyport/call").at("outcome"), "applied");
  EXPECT_EQ(rig_->all_calls.size(), 1U);
  EXPECT_EQ(rig_->all_calls.front().operation, id);
  // Handed over: whoever polls again is told the same, and the same call is another.
  EXPECT_EQ(get(id).at("result").at("content"), task.at("result").at("content"));
  EXPECT_NE(become_task(), id);
  EXPECT_EQ(rig_->all_calls.size(), 1U);
  EXPECT_EQ(rig_->receipts("intent").size(), 1U);
  EXPECT_TRUE(rig_->log_verifies());
}

TEST_F(Tasks, AreTheirPrincipalsAlone) {
  begin(options(kAsks));
  const std::string id = become_task();
  const auto other = client("agent:other");
  for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
    const Answer foreign = ask(method, id, other);
    const Answer unknown = ask(method, "op_01KB9Z3W9Q8V5M0F7T2N6R4XHC", other);
    ASSERT_TRUE(foreign.error && unknown.error) << method;
    EXPECT_EQ(foreign.error->code, mcp::code::kInvalidParams);
    EXPECT_EQ(foreign.error->message, unknown.error->message);
    EXPECT_TRUE(ask(method, "nonsense", other).error);
  }
  EXPECT_EQ(get(id).at("status"), "working");
}

TEST_F(Tasks, ADenialEndsOneAsItsResult) {
  begin(options(kAsks));
  const std::string id = become_task();
  ASSERT_TRUE(rig_->deny(rig_->pending_approval(), "user:dana", "too much"));
  const auto task = get(id);
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_EQ(task.at("result").at("isError"), true);
  EXPECT_EQ(code(task), "APPROVAL_DENIED");
  EXPECT_TRUE(rig_->all_calls.empty());
}

TEST_F(Tasks, OneThatWaitsIsCancelledAndNeverRuns) {
  begin(options(kAsks));
  const std::string id = become_task();
  const std::string approval = rig_->pending_approval();
  EXPECT_EQ(ask("tasks/cancel", id).result, "{}");
  EXPECT_EQ(get(id).at("status"), "cancelled");
  EXPECT_FALSE(rig_->approve(approval));
  EXPECT_EQ(get(id).at("status"), "cancelled");
  EXPECT_TRUE(rig_->all_calls.empty());
}

TEST_F(Tasks, WhoeverPollsAndGoesAwayCancelsNothing) {
  begin(options(kAsks));
  const std::string id = become_task();
  const auto poll = rig_->request(client_, "tasks/get", R"({"taskId":")" + id + R"("})");
  poll->cancel->cancel(CancelReason::disconnect);
  rig_->run_until([&] { return poll->answer.has_value(); });
  EXPECT_EQ(get(id).at("status"), "working");
}

TEST_F(Tasks, SurviveARestart) {
  TempDir dir;
  RigOptions with_state = options(kAsks);
  with_state.state = dir.file("state");
  begin(with_state);
  const std::string id = become_task();
  begin(with_state);
  EXPECT_EQ(get(id).at("status"), "working");
  ASSERT_TRUE(rig_->approve(rig_->pending_approval()));
  boost::json::object task = get(id);
  for (int i = 0; i < 5 && task.at("status") == "working"; ++i) task = get(id);
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_EQ(rig_->all_calls.size(), 1U);
}

TEST_F(Tasks, WhatAServerTakesLongOverIsOneAndItsResultIsKeptEvenOfAReads) {
  for (const char* tool : {"shop__order", "shop__look"}) {
    RigOptions slow = options(kAllow);
    slow.servers["shop"].on_call = {};
    begin(std::move(slow));
    const std::string id = become_task(tool);
    ASSERT_EQ(rig_->open_calls.size(), 1U);
    EXPECT_EQ(get(id).at("status"), "working");
    rig_->open_calls.front().result(kDone);
    EXPECT_EQ(get(id).at("status"), "completed") << tool;
    EXPECT_EQ(get(id).at("result").at("content").at(0).at("text"), "ordered") << "asked again";
    EXPECT_EQ(rig_->all_calls.size(), 1U);
    EXPECT_TRUE(rig_->log_verifies());
  }
}

TEST_F(Tasks, AnErrorOfTheServerFailsOneAndALostAnswerIsSaidToBeUnknown) {
  RigOptions slow = options(kAllow);
  slow.trust =
      R"({"servers":{"shop":{"tools":{"look":"read","order":{"effect":"record","destructive":false,"errors":"none"}}}}})";
  slow.servers["shop"].on_call = {};
  begin(slow);
  std::string id = become_task();
  rig_->open_calls.front().error(R"({"code":-32055,"message":"sold out"})");
  boost::json::object task = get(id);
  EXPECT_EQ(task.at("status"), "failed");
  EXPECT_EQ(task.at("error").at("message"), "sold out");
  EXPECT_FALSE(task.contains("result"));

  id = become_task();
  rig_->open_calls.back().lose();
  task = get(id);
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_EQ(code(task), "OUTCOME_UNKNOWN");
}

TEST_F(Tasks, ARunningWriteThatIsCancelledIsUnknown) {
  RigOptions slow = options(kAllow);
  slow.servers["shop"].on_call = {};
  begin(std::move(slow));
  const std::string id = become_task();
  EXPECT_EQ(ask("tasks/cancel", id).result, "{}");
  EXPECT_EQ(code(get(id)), "OUTCOME_UNKNOWN");
}

TEST_F(Tasks, WhatTheServerMakesOneIsRunningUntilItHasEnded) {
  RigOptions slow = options(kAllow);
  slow.servers["shop"].on_call = {};
  begin(std::move(slow));
  const std::string id = become_task();
  rig_->open_calls.front().control.task_made();
  EXPECT_EQ(get(id).at("status"), "working");
  ASSERT_EQ(rig_->operations({OperationState::running}).size(), 1U);
  rig_->open_calls.front().result(kDone);
  EXPECT_EQ(get(id).at("status"), "completed");
  EXPECT_EQ(rig_->operations({OperationState::applied}).size(), 1U);
}

TEST_F(Tasks, AServersQuestionFindsNobodyOnceItsClientHasLeft) {
  RigOptions slow = options(kAllow);
  slow.trust = R"({"servers":{"shop":{"passes":["elicitation"],"tools":{"order":"record"}}}})";
  slow.servers["shop"].on_call = {};
  begin(std::move(slow));
  const std::string id = become_task();
  rig_->open_calls.front().result(
      R"({"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}}})");
  EXPECT_EQ(code(get(id)), "OUTCOME_UNKNOWN");
}

TEST_F(Tasks, WhoAsksToWaitIsGivenNone) {
  begin(options(kAsks));
  const std::string id = become_task();
  client_->hold = Millis(1'500);
  const auto waits = rig_->send(client_, "sallyport_wait", R"({"id":")" + id + R"("})");
  ASSERT_TRUE(rig_->approve(rig_->pending_approval()));
  rig_->run_until([&] { return waits->answer.has_value(); });
  EXPECT_TRUE(waits->answer->result_type.empty());
  EXPECT_EQ(view(*waits->answer).outcome, "applied");
  client_->hold = Millis(1);
  const std::string other = become_task("shop__order", R"({"n":2})");
  EXPECT_EQ(view(rig_->call(client_, "sallyport_wait", R"({"id":")" + other + R"("})")).code, "APPROVAL_PENDING");
}

TEST_F(Tasks, WhoDeclaredNoneIsHeld) {
  begin(options(kAsks));
  client_->takes_tasks = false;
  client_->hold = Millis(1);
  const Answer answer = rig_->call(client_, "shop__order", "{}");
  EXPECT_TRUE(answer.result_type.empty());
  EXPECT_EQ(view(answer).code, "APPROVAL_PENDING");
}

}  // namespace
}  // namespace sallyport::test
