// Results against `outputSchema` (design section 3, step 12): what does not fit never passes as good. And secrets of
// arguments and results in what is said of their faults.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/rig.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::test {
namespace {

namespace bj = boost::json;

constexpr const char* kSchema =
    R"({"type":"object","properties":{"id":{"type":"string"},"total":{"type":"number"},"pin":{"type":"string","maxLength":4}},"required":["id","total"]})";

std::string tool(const std::string& name, const std::string& output) {
  return "{\"name\":\"" + name +
         R"(","inputSchema":{"type":"object","properties":{"pin":{"type":"string","maxLength":4}}},"outputSchema":)" +
         output + "}";
}

// Tools that differ in what their contract says of results; `put` writes. All answer with `result`.
RigOptions options(const std::string& result, const std::string& output = kSchema) {
  RigOptions options;
  options.policy = R"({"default":"deny","approval":{"by":["owners"]},"redact":["/pin"],"rules":[
    {"id":"reads","allow":{"effect":"read"}},{"id":"puts","allow":{"server":"s","tool":"put","arguments":{"pin?":{}}}}]})";
  options.trust = R"({"servers":{"s":{"tools":{"plain":"read","warned":{"effect":"read","output":"warn"},
    "enforced":{"effect":"read","output":"enforce"},"free":{"effect":"read","output":"off"},
    "put":{"effect":"record","destructive":false,"output":"enforce"}}}}})";
  for (const char* name : {"plain", "warned", "enforced", "free", "put"}) {
    options.servers["s"].tools.push_back(tool(name, output));
  }
  options.servers["s"].on_call = [result](Dispatched& call) { call.result(result); };
  return options;
}

constexpr const char* kGood = R"({"content":[],"structuredContent":{"id":"o-1","total":19.90}})";
constexpr const char* kBad =
    R"({"content":[{"type":"text","text":"fine"}],"structuredContent":{"id":7,"total":"free"}})";

// `code message` of each reason, a line each.
std::string reasons(const Answer& answer) {
  std::string out;
  for (const auto& reason : bj::parse(answer.result).at_pointer("/_meta/dev.sallyport~1call/reasons").as_array()) {
    out += std::string(reason.at("code").as_string()) + " " + std::string(reason.at("message").as_string()) + "\n";
  }
  return out;
}

std::string marks(const ReceiptRow& row) {
  const auto payload = bj::parse(row.payload);
  const auto* result = payload.at("predicate").as_object().if_contains("result");
  const auto* found = result == nullptr ? nullptr : result->as_object().if_contains("marks");
  return found == nullptr ? "none" : bj::serialize(*found);
}

TEST(Output, WhatFitsPassesUnmarkedInEveryMode) {
  Rig rig(options(kGood));
  for (const char* name : {"s__plain", "s__warned", "s__enforced", "s__free", "s__put"}) {
    const Answer answer = rig.call(rig.client(), name, "{}");
    EXPECT_FALSE(view(answer).is_error) << name << answer.result;
    EXPECT_EQ(reasons(answer), "") << name;
  }
  for (const auto& row : rig.receipts("call")) EXPECT_EQ(marks(row), "none") << row.tool;
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Output, WarnIsTheDefaultPassesOnAndSaysSo) {
  Rig rig(options(kBad));
  for (const char* name : {"s__plain", "s__warned"}) {
    const Answer answer = rig.call(rig.client(), name, "{}");
    EXPECT_FALSE(view(answer).is_error) << answer.result;
    EXPECT_EQ(view(answer).outcome, "applied");
    EXPECT_NE(answer.result.find(R"("structuredContent":{"id":7,"total":"free"})"), std::string::npos);
    EXPECT_NE(reasons(answer).find("does not fit the outputSchema: at `/id`: "), std::string::npos) << answer.result;
  }
  const auto rows = rig.receipts("call");
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) EXPECT_EQ(marks(row), R"(["output-schema"])") << row.payload;
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Output, EnforceWithholdsTheResultAndKeepsWhatIsKnownOfTheEffect) {
  Rig rig(options(kBad));
  for (const char* name : {"s__enforced", "s__put"}) {
    const Answer answer = rig.call(rig.client(), name, "{}");
    const CallView seen = view(answer);
    EXPECT_TRUE(seen.is_error) << answer.result;
    EXPECT_EQ(seen.code, "RESULT_WITHHELD");
    EXPECT_EQ(seen.outcome, "applied") << "the tool ran, whatever it answered";
    EXPECT_NE(seen.text.find("`/id`"), std::string::npos) << seen.text;
    EXPECT_EQ(answer.result.find("fine"), std::string::npos);
    EXPECT_EQ(answer.result.find("structuredContent"), std::string::npos);
  }
  EXPECT_EQ(marks(rig.receipts("call").at(0)), R"(["withheld"])");
  EXPECT_EQ(marks(rig.receipts("outcome").at(0)), R"(["withheld"])");
  EXPECT_TRUE(rig.operations({OperationState::unknown}).empty());
  EXPECT_TRUE(rig.log_verifies());
}

TEST(Output, WhatIsPromisedAndNotThereIsAFaultToo) {
  Rig rig(options(R"({"content":[{"type":"text","text":"fine"}]})"));
  EXPECT_EQ(view(rig.call(rig.client(), "s__enforced", "{}")).code, "RESULT_WITHHELD");
  EXPECT_NE(reasons(rig.call(rig.client(), "s__plain", "{}")).find("promises structuredContent"), std::string::npos);
}

TEST(Output, OffJudgesNothingAndErrorsOfToolsAreNotJudged) {
  Rig off(options(kBad));
  EXPECT_EQ(reasons(off.call(off.client(), "s__free", "{}")), "");
  Rig failing(options(R"({"content":[{"type":"text","text":"no such order"}],"isError":true})"));
  const CallView seen = view(failing.call(failing.client(), "s__enforced", "{}"));
  EXPECT_TRUE(seen.is_error);
  EXPECT_EQ(seen.code, "") << "the server's own error, passed on";
  EXPECT_EQ(seen.text, "no such order");
}

TEST(Output, AmbiguousResultsAreWithheldWhateverTheMode) {
  Rig rig(options(R"({"content":[],"structuredContent":{"id":"a","ID":"b","total":1}})"));
  for (const char* name : {"s__plain", "s__free", "s__put"}) {
    const CallView seen = view(rig.call(rig.client(), name, "{}"));
    EXPECT_EQ(seen.code, "RESULT_WITHHELD") << name;
    EXPECT_EQ(seen.outcome, "applied");
    EXPECT_NE(seen.text.find("`/structuredContent/ID`"), std::string::npos) << seen.text;
  }
}

TEST(Output, ALongNameOfAServerIsNotRepeated) {
  const std::string name(100'000, 'n');
  Rig rig(options(R"({"content":[],"structuredContent":{"id":"a","total":1,")" + name + R"(":{"x":1,"X":2}}})"));
  const Answer answer = rig.call(rig.client(), "s__put", "{}");
  EXPECT_EQ(view(answer).code, "RESULT_WITHHELD");
  EXPECT_LT(answer.result.size(), 5'000U);
  const std::string arguments = "{\"" + name + R"(":{"x":1,"X":2}})";
  const Answer refused = rig.call(rig.client(), "s__put", arguments);
  EXPECT_EQ(view(refused).code, "ARGUMENTS_INVALID");
  EXPECT_LT(refused.result.size(), 5'000U);
}

TEST(Output, WhatCouldNotBeJudgedIsNotCalledInvalid) {
  auto patterns = options(kGood);
  patterns.servers["s"].tools = {
      R"({"name":"plain","inputSchema":{"type":"object","properties":{"s":{"pattern":"^(a+)+$"}}}})"};
  Rig rig(patterns);
  const CallView seen = view(rig.call(rig.client(), "s__plain", R"({"s":")" + std::string(60, 'a') + "!\"}"));
  EXPECT_EQ(seen.code, "LIMIT_REACHED");
  EXPECT_NE(seen.text.find("cannot be judged: `/s`: a pattern"), std::string::npos) << seen.text;
}

TEST(Output, TheServersWordHoldsWhereAToolsContractSaysNothing) {
  auto by_server = options(kBad);
  by_server.trust =
      R"({"servers":{"s":{"output":"enforce","tools":{"plain":"read","warned":{"effect":"read","output":"warn"},
    "enforced":"read"}}}})";
  Rig rig(by_server);
  EXPECT_EQ(view(rig.call(rig.client(), "s__plain", "{}")).code, "RESULT_WITHHELD");
  EXPECT_NE(reasons(rig.call(rig.client(), "s__warned", "{}")).find("Passed on"), std::string::npos);
  EXPECT_EQ(rig.catalogue->current()->find("", "s__put")->output_mode, trust::Output::enforce) << "no contract at all";
}

TEST(Output, FormatsRefuseOnlyWhereTheTrustFileSaysSo) {
  constexpr const char* kFormat = R"({"type":"object","properties":{"id":{"type":"string","format":"uuid"}}})";
  for (const bool asserted : {false, true}) {
    auto one = options(kGood, kFormat);
    one.trust = std::string(R"({"servers":{"s":{)") + (asserted ? R"("formats":"assert",)" : "") +
                R"("tools":{"plain":{"effect":"read","output":"enforce"}}}}})";
    Rig rig(one);
    EXPECT_EQ(view(rig.call(rig.client(), "s__plain", "{}")).code, asserted ? "RESULT_WITHHELD" : "");
  }
}

TEST(Output, ABrokenSchemaLeavesTheToolCallableAndSaysSo) {
  Rig rig(options(kBad, R"({"type":"nonsense"})"));
  const auto snapshot = rig.catalogue->current();
  for (const auto& [name, tool] : snapshot->servers.at("s").tools) {
    EXPECT_EQ(tool->state, ToolState::pinned) << name;
    EXPECT_EQ(tool->output, nullptr);
    EXPECT_EQ(tool->output_note.find("its outputSchema cannot be used, results are not judged: at /type: "), 0U)
        << tool->output_note;
  }
  const Answer answer = rig.call(rig.client(), "s__enforced", "{}");
  EXPECT_FALSE(view(answer).is_error) << answer.result;
}

TEST(Output, SecretsByRedactAreNotShownInFaults) {
  Rig rig(options(R"({"content":[],"structuredContent":{"id":"a","total":1,"pin":"hunter2-result"}})"));
  const Answer refused = rig.call(rig.client(), "s__put", R"({"pin":"hunter2-argument"})");
  EXPECT_EQ(view(refused).code, "ARGUMENTS_INVALID");
  EXPECT_NE(refused.result.find("`/pin`"), std::string::npos) << refused.result;
  EXPECT_EQ(refused.result.find("hunter2"), std::string::npos) << refused.result;
  const Answer withheld = rig.call(rig.client(), "s__put", R"({"pin":"1234"})");
  EXPECT_EQ(view(withheld).code, "RESULT_WITHHELD") << withheld.result;
  EXPECT_EQ(withheld.result.find("hunter2"), std::string::npos) << withheld.result;
  for (const auto& row : rig.receipts()) EXPECT_EQ(row.payload.find("hunter2"), std::string::npos) << row.payload;
}

}  // namespace
}  // namespace sallyport::test
