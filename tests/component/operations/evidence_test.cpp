// Evidence is of a state: ours, which every write moves, and the server's own, where the contract of the evidence's
// tool says how to read it.
#include <gtest/gtest.h>

#include <fstream>

#include <boost/json.hpp>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kPolicy = R"({"default":"deny","rules":[
  {"id":"all","allow":{"server":"s"}},
  {"id":"checked","require":{"server":"s","tool":"ship"},"evidence":{"tool":"check","result":{"passed":true}}}]})";
constexpr const char* kTrust = R"({"servers":{"s":{"tools":{
  "state":"read",
  "check":{"effect":"read","scope":"work/{/part}","revision":{"tool":"state","arguments":{"part":{"from":"/part"}},"at":"/etag"}},
  "write":{"effect":"record","destructive":false,"scope":"work/{/part}"},
  "ship":{"effect":"record","destructive":false,"scope":"ship"}}}}})";
constexpr const char* kPart = R"({"part":"secret-part"})";

struct Work {
  std::string etag = "\"one\"";
  bool moves_while_checked = false, moves_before_it_is_sent = false;
  int shipped = 0, states = 0;

  RigOptions options() {
    RigOptions options;
    options.policy = kPolicy;
    options.trust = kTrust;
    options.run_evidence = std::vector<std::string>{"checked"};
    for (const char* name : {"state", "check", "write", "ship"})
      options.servers["s"].tools.push_back(std::string(R"({"name":")") + name +
                                           R"(","inputSchema":{"type":"object"}})");
    options.servers["s"].on_call = [this](Dispatched& call) { answer(call); };
    return options;
  }

  void answer(Dispatched& call) {
    if (call.tool == "state") {
      ++states;
      call.result(R"({"content":[],"structuredContent":{"etag":)" + etag + "}}");
      if (moves_before_it_is_sent && states == 2) etag = "\"moved\"";
      return;
    }
    if (call.tool == "check" && moves_while_checked) etag = "\"two\"";
    if (call.tool == "ship") ++shipped;
    call.result(R"({"content":[],"structuredContent":{"passed":true}})");
  }
};

std::string status(const Answer& answer) {
  return std::string(boost::json::parse(answer.result).at("structuredContent").at("status").as_string());
}

TEST(ServersRevision, EvidenceOfAnOlderOneIsStale) {
  Work work;
  Rig rig(work.options());
  const auto client = rig.client();
  rig.call(client, "s__check", kPart);
  EXPECT_EQ(status(rig.call(client, "sallyport_finish", "{}")), "complete");
  EXPECT_EQ(view(rig.call(client, "s__ship", "{}")).code, "");
  work.etag = "2";  // by somebody whom the gateway does not see
  const CallView refused = view(rig.call(client, "s__ship", R"({"n":2})"));
  EXPECT_EQ(refused.code, "EVIDENCE_REQUIRED");
  EXPECT_NE(refused.text.find("check"), std::string::npos) << refused.text;
  EXPECT_EQ(status(rig.call(client, "sallyport_finish", "{}")), "completion_rejected");
  EXPECT_EQ(work.shipped, 1);
  rig.call(client, "s__check", kPart);
  EXPECT_EQ(view(rig.call(client, "s__ship", R"({"n":3})")).code, "");
  EXPECT_EQ(work.shipped, 2);
  EXPECT_TRUE(rig.log_verifies());
}

TEST(ServersRevision, MovedWhileItWasCheckedOrBeforeItIsSentIsStale) {
  for (const bool checked : {true, false}) {
    Work work;
    work.moves_while_checked = checked;
    work.moves_before_it_is_sent = !checked;
    Rig rig(work.options());
    rig.call(rig.client(), "s__check", kPart);
    EXPECT_EQ(view(rig.call(rig.client(), "s__ship", "{}")).code, "EVIDENCE_REQUIRED") << checked;
    EXPECT_EQ(work.shipped, 0);
  }
}

TEST(ServersRevision, ThatCannotBeReadIsNoEvidence) {
  for (const bool at_first : {true, false}) {
    Work work;
    if (at_first) work.etag = "null";
    Rig rig(work.options());
    rig.call(rig.client(), "s__check", kPart);
    work.etag = "null";
    EXPECT_EQ(view(rig.call(rig.client(), "s__ship", "{}")).code, "EVIDENCE_REQUIRED") << at_first;
    EXPECT_EQ(work.shipped, 0);
  }
}

TEST(ServersRevision, HoldsOverARestartAndShowsNoArgumentOnDisk) {
  TempDir dir;
  Work work;
  RigOptions options = work.options();
  options.state = dir.file("state");
  {
    Rig rig(options);
    rig.call(rig.client(), "s__check", kPart);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.file("state"))) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find(R"("part":"secret-part")"), std::string::npos) << entry.path();
  }
  Rig rig(options);
  EXPECT_EQ(view(rig.call(rig.client(), "s__ship", "{}")).code, "");
  work.etag = "9";
  EXPECT_EQ(view(rig.call(rig.client(), "s__ship", R"({"n":2})")).code, "EVIDENCE_REQUIRED");
}

}  // namespace
}  // namespace sallyport::test
