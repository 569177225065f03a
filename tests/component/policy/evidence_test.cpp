// Evidence: at the scope's present revision, of that principal, for what the rule wants now.
#include <set>

#include "tests/component/policy/shop_rig.hpp"

namespace sallyport::test {
namespace {

constexpr const char* kRequire =
    R"(,{"id":"fresh","require":{"server":"s","tool":"queue"},"evidence":{"tool":"check","result":{"passed":true}}}]})";

TEST(Evidence, AQueueWithoutACurrentCheckIsRefusedAndSaysWhatToDo) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  const CallView refused = view(rig.call(client, "s__queue", "{}"));
  EXPECT_EQ(refused.code, "EVIDENCE_REQUIRED");
  EXPECT_EQ(refused.retry, "after_evidence");
  EXPECT_NE(refused.text.find("check"), std::string::npos) << refused.text;
  EXPECT_EQ(view(rig.call(client, "s__check", "{}")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).outcome, "applied");
}

TEST(Evidence, AWriteInTheScopeMakesItStaleAlsoByAnotherPrincipal) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  rig.call(client, "s__check", "{}");
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "s__write", R"({"text":"x"})")).outcome, "applied");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Evidence, ItBelongsToThePrincipalThatGotIt) {
  Rig rig(options(kRequire));
  rig.call(rig.client(), "s__check", "{}");
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Evidence, ABadResultAndOneThatBreaksItsSchemaAreNone) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  for (const char* result : {R"({"content":[],"structuredContent":{"passed":false}})",
                             R"({"content":[],"structuredContent":{"passed":"true"}})",
                             R"({"content":[{"type":"text","text":"{\"passed\":true}"}]})"}) {
    rig.servers["s"].on_call = [result](Dispatched& call) { call.result(result); };
    rig.call(client, "s__check", "{}");
    EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED") << result;
  }
}

TEST(Evidence, IsJudgedWhereOtherResultsAreNot) {
  auto unjudged = options(kRequire);
  unjudged.trust =
      R"({"servers":{"s":{"tools":{"check":{"effect":"read","output":"off"},"queue":{"effect":"record","errors":"none"}}}}})";
  unjudged.servers["s"].tools[0] =
      R"({"name":"check","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"passed":{"type":"boolean"},"left":{"type":"integer"}}}})";
  Rig rig(unjudged);
  const auto client = rig.client();
  for (const auto& [left, code] : {std::pair{"\"many\"", "EVIDENCE_REQUIRED"}, {"0", ""}}) {
    const std::string result = std::string(R"({"content":[],"structuredContent":{"passed":true,"left":)") + left + "}}";
    rig.servers["s"].on_call = [result](Dispatched& call) { call.result(result); };
    EXPECT_FALSE(view(rig.call(client, "s__check", "{}")).is_error);
    EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, code) << left;
  }
}

TEST(Evidence, ACheckDuringAnOpenWriteProvesNothing) {
  Rig rig(options(kRequire));
  rig.servers["s"].on_call = {};
  const auto client = rig.client();
  const auto writing = rig.send(rig.client("agent:other"), "s__write", R"({"text":"x"})");
  rig.run_until([&] { return rig.open_calls.size() == 1; });
  const auto checking = rig.send(client, "s__check", "{}");
  rig.run_until([&] { return rig.open_calls.size() == 2; });
  rig.open_calls[1].result(R"({"content":[],"structuredContent":{"passed":true}})");
  rig.run_until([&] { return checking->answer.has_value(); });
  rig.open_calls[0].result(R"({"content":[]})");
  rig.run_until([&] { return writing->answer.has_value(); });
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
}

TEST(Evidence, ARuleThatWantsMoreNowIsNotSatisfiedByWhatWasEnoughBefore) {
  Rig rig(options(kRequire));
  const auto client = rig.client();
  rig.call(client, "s__check", "{}");
  rig.set_policy(
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}},)"
      R"({"id":"fresh","require":{"server":"s","tool":"queue"},"evidence":{"tool":"check","result":{"passed":true,"lines":{"minimum":5}}}}]})");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).code, "EVIDENCE_REQUIRED");
  rig.servers["s"].on_call = [](Dispatched& call) {
    call.result(R"({"content":[],"structuredContent":{"passed":true,"lines":7}})");
  };
  rig.call(client, "s__check", "{}");
  EXPECT_EQ(view(rig.call(client, "s__queue", "{}")).outcome, "applied");
}

TEST(Evidence, OneCheckServesOneOfTwoThatRaceForTheSameScope) {
  RigOptions racing = options(kRequire);
  racing.trust = R"({"servers":{"s":{"tools":{"check":"read","queue":{"effect":"record","errors":"none"}}}}})";
  Rig rig(racing);
  const auto client = rig.client();
  rig.call(client, "s__check", "{}");
  const auto first = rig.send(client, "s__queue", R"({"amount":1})");
  const auto second = rig.send(client, "s__queue", R"({"amount":2})");
  rig.run_until([&] { return first->answer && second->answer; });
  const std::set<std::string> codes{view(*first->answer).code, view(*second->answer).code};
  EXPECT_TRUE(codes.contains("EVIDENCE_REQUIRED")) << "the first write made the check stale";
  EXPECT_TRUE(codes.contains(""));
}

}  // namespace
}  // namespace sallyport::test
