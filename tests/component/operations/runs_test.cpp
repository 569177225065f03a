// Runs: what they have to show, and what a finish tells.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/rig.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kPolicy = R"({"default":"deny","rules":[
  {"id":"all","allow":{"server":"s"}},
  {"id":"checked","require":{"server":"s","tool":"ship"},"evidence":{"tool":"check","result":{"passed":true}}}],
  "budgets":[{"id":"run","per":"run","requests":4}]})";
constexpr const char* kTrust = R"({"servers":{"s":{"tools":{
  "check":{"effect":"read","scope":"work"},
  "write":{"effect":"record","destructive":false,"scope":"work"},
  "ship":{"effect":"record","destructive":false,"scope":"work"}}}}})";

struct Work {
  bool good = true, lose = false;
  RigOptions options() {
    RigOptions options;
    options.policy = kPolicy;
    options.trust = kTrust;
    options.run_evidence = std::vector<std::string>{"checked"};
    for (const char* name : {"check", "write", "ship"})
      options.servers["s"].tools.push_back(std::string(R"({"name":")") + name +
                                           R"(","inputSchema":{"type":"object"}})");
    options.servers["s"].on_call = [this](Dispatched& call) {
      if (lose && call.tool != "check") {
        call.lose();
      } else {
        call.result(std::string(R"({"content":[],"structuredContent":{"passed":)") + (good ? "true" : "false") + "}}");
      }
    };
    return options;
  }
};

std::string status(const Answer& answer) {
  const auto root = boost::json::parse(answer.result);
  const auto* value = root.as_object().if_contains("structuredContent");
  return value == nullptr ? view(answer).code : std::string(value->at("status").as_string());
}

TEST(Runs, AreCompleteWithCurrentEvidenceAndTheReceiptNamesItsDigest) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  rig.call(client, "s__write", "{}");
  rig.call(client, "s__check", "{}");
  const Answer answer = rig.call(client, "sallyport_finish", "{}");
  EXPECT_EQ(status(answer), "complete");
  EXPECT_FALSE(view(answer).is_error);
  ASSERT_EQ(rig.receipts("run").size(), 1U);
  const ReceiptRow receipt = rig.receipts("run").front();
  EXPECT_EQ(receipt.id, view(answer).receipt);
  const auto predicate = boost::json::parse(receipt.payload).at("predicate");
  const ReceiptRow evidence = rig.receipts("call").front();
  EXPECT_EQ(predicate.at("evidence").at(0).as_string(), evidence.id);
  EXPECT_EQ(predicate.at("event").at("details").at("checked").as_string(), trust::digest_text(evidence.payload));
  EXPECT_EQ(predicate.at("event").at("action").as_string(), "complete");
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Runs, AreRejectedWithoutEvidenceOrWithAStaleOne) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  const Answer none = rig.call(client, "sallyport_finish", "{}");
  EXPECT_EQ(status(none), "completion_rejected");
  EXPECT_EQ(view(none).code, "EVIDENCE_REQUIRED");
  EXPECT_NE(view(none).text.find("`check`"), std::string::npos) << view(none).text;
  rig.call(client, "s__check", "{}");
  rig.call(rig.client("agent:other"), "s__write", "{}");  // also by another principal
  EXPECT_EQ(status(rig.call(client, "sallyport_finish", "{}")), "completion_rejected");
  EXPECT_EQ(rig.receipts("run").size(), 2U);
}

TEST(Runs, ANewerResultSpeaksInsteadOfAnOlderOne) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  rig.call(client, "s__check", "{}");
  work.good = false;
  rig.call(client, "s__check", R"({"again":1})");
  EXPECT_EQ(status(rig.call(client, "sallyport_finish", "{}")), "completion_rejected");
  EXPECT_EQ(view(rig.call(client, "s__ship", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Runs, AreUnresolvedWhileAnythingOfTheirsIsUnknown) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  work.lose = true;
  const CallView lost = view(rig.call(client, "s__write", "{}"));
  EXPECT_EQ(lost.outcome, "unknown");
  const Answer answer = rig.call(client, "sallyport_finish", "{}");
  EXPECT_EQ(status(answer), "unresolved");
  EXPECT_NE(view(answer).text.find(lost.operation), std::string::npos);
  EXPECT_EQ(status(rig.call(rig.client("agent:other"), "sallyport_finish", "{}")), "completion_rejected");
}

TEST(Runs, AFinishIsARequestAndAWaitIsNone) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  for (int i = 0; i < 3; ++i) rig.call(client, "s__check", "{}");
  rig.call(client, "sallyport_wait", R"({"id":"op_01KB9Z3W9Q8V5M0F7T2N6R4XHC"})");
  EXPECT_EQ(status(rig.call(client, "sallyport_finish", "{}")), "complete");
  EXPECT_EQ(view(rig.call(client, "sallyport_finish", "{}")).code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).code, "");  // another run has its own
}

TEST(Runs, EndAtTheirDeadline) {
  Work work;
  RigOptions options = work.options();
  options.policy =
      R"({"default":"deny","rules":[{"id":"all","allow":{"server":"s"}}],"budgets":[{"id":"run","per":"run","deadline":"10m"}]})";
  Rig rig(options);
  const auto client = rig.client();
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "");
  rig.clock.advance(std::chrono::minutes(9));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "");
  rig.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED");
  EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).code, "");
}

TEST(Runs, WithoutAContractThereIsNoFinish) {
  Work work;
  RigOptions options = work.options();
  options.run_evidence.reset();
  Rig rig(options);
  EXPECT_EQ(rig.calls->own_tools().size(), 1U);
  EXPECT_TRUE(rig.call(rig.client(), "sallyport_finish", "{}").error);
}

TEST(Runs, OfAClientWithoutASessionEndAfterHalfAnHourOfQuiet) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  client->run.clear();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "");
    rig.clock.advance(std::chrono::minutes(29));
  }
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "BUDGET_EXHAUSTED");
  rig.clock.advance(std::chrono::minutes(31));
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "");
}

TEST(Runs, OfAClientWithoutASessionGoOnOverARestart) {
  TempDir dir;
  Work work;
  RigOptions options = work.options();
  options.state = dir.file("state");
  std::string run;
  {
    Rig rig(options);
    const auto client = rig.client();
    client->run.clear();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, "");
    run = rig.operations().front().run;
  }
  for (const int minutes : {29, 61}) {
    Rig rig(options);
    const auto client = rig.client();
    client->run.clear();
    rig.clock.advance(std::chrono::minutes(minutes));
    EXPECT_EQ(view(rig.call(client, "s__check", "{}")).code, minutes < 30 ? "BUDGET_EXHAUSTED" : "") << minutes;
    EXPECT_EQ(rig.operations().front().run == run, minutes < 30);
  }
}

}  // namespace
}  // namespace sallyport::test
