#include "gateway/cli/render.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace sallyport::gateway::cli {
namespace {

constexpr UnixMillis kNow = 1'796'030'042'118;  // 2026-11-30T09:14:02.118Z

constexpr std::string_view kAsk =
    R"({"id":"ap_1","state":"pending","operation":"op_1","principal":"agent:ci","server":"orders",
 "tool":"create_order","shown":"sha256:90ab","created":"2026-11-30T09:14:02.118Z","expires":"2026-11-30T10:14:02.118Z",
 "missing":[1],"mayAnswer":true,"votes":[{"by":"user:kim","vote":"approve","at":"2026-11-30T09:14:05.000Z","reason":"fine"}],
 "view":{"approval":"ap_1","arguments":["{","  \"amount\": 40,","  \"note\": \"a\\u{202E}b\"","}"],
  "asks":[{"by":["payments"],"quorum":2,"notOwner":true,"expires":3600000}],"claimed":"claude-code 2.1","definition":"changed",
  "changed":[{"pointer":"/description","before":"\"old\"","after":"\"new\""}],
  "effect":{"declared":{"readOnlyHint":true},"assigned":"record","effective":{"category":"record","destructive":false,"repeat":"keyed","labels":["money"]},"source":"contract"},
  "identity":"sha256:5f21","rules":[{"id":"refunds","verdict":"ask","message":"Refunds are looked at."}],"scope":"orders/customer-7",
  "says":"Order for customer 7","unknowns":[{"operation":"op_0","summary":"Order for customer 7","created":"2026-11-30T08:00:00.000Z"}],
  "somethingNew":{"a":1}}})";

TEST(RenderApproval, ShowsAllThatIsBoundOnOnePage) {
  EXPECT_EQ(render_approval(kAsk, kNow),
            "approval ap_1  pending\n"
            "  asks for      Order for customer 7\n"
            "  server        orders\n"
            "  identity      sha256:5f21\n"
            "  tool          create_order  (definition changed)\n"
            "  from          agent:ci\n"
            "  claims        claude-code 2.1\n"
            "  effect        record, not destructive, repeat keyed, labels money\n"
            "  assigned      record (by the contract)\n"
            "  declared      readOnly (the server's own words)\n"
            "  rules         refunds (ask): Refunds are looked at.\n"
            "  scope         orders/customer-7\n"
            "  answered by   payments, 2 of them, not the client's owner (1 missing)\n"
            "  votes         user:kim approve at 2026-11-30T09:14:05.000Z: fine\n"
            "  operation     op_1\n"
            "  expires       2026-11-30T10:14:02.118Z (in 60m)\n"
            "  somethingNew  {\"a\":1}\n"
            "  arguments\n"
            "    {\n"
            "      \"amount\": 40,\n"
            "      \"note\": \"a\\u{202E}b\"\n"
            "    }\n"
            "  the definition has changed since it was accepted\n"
            "    /description\n"
            "      - \"old\"\n"
            "      + \"new\"\n"
            "  open unknowns here (settle them with `sallyport operations resolve`)\n"
            "    op_0  2026-11-30T08:00:00.000Z  Order for customer 7\n"
            "  shown         sha256:90ab\n");
}

TEST(RenderApproval, WithoutAContractSaysUnrated) {
  const std::string page = render_approval(
      R"({"id":"ap_2","state":"denied","server":"s","tool":"t","ended":"2026-11-30T09:15:00.000Z","endedBy":"user:dana","reason":"no",
          "view":{"tool":"t","server":"s","rules":[],"effect":{"declared":{},"effective":{"category":"unrated","destructive":true,"repeat":"never","labels":[]},"source":"none"}}})",
      kNow);
  EXPECT_TRUE(page.contains("t of s (unrated)\n")) << page;
  EXPECT_TRUE(page.contains("nothing: no contract speaks of it")) << page;
  EXPECT_TRUE(page.contains("none: the policy's default")) << page;
  EXPECT_TRUE(page.contains("ended by")) << page;
}

TEST(RenderApproval, HostileTextStaysOnItsLineAndVisible) {
  const std::string page = render_approval(
      "{\"id\":\"ap_3\",\"state\":\"pending\",\"tool\":\"x\\n  shown sha256:00\\u001b[2J\\u202e\",\"server\":\"s\","
      "\"view\":{\"arguments\":[\"a\\nb\\u0007\"]}}",
      kNow);
  for (const char c : page) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_FALSE(page.contains("\xE2\x80\xAE"));
  EXPECT_TRUE(page.contains("\\u{202E}"));
  EXPECT_EQ(page.find("\n  shown sha256:00"), std::string::npos);
}

TEST(RenderApprovals, ListsOneALine) {
  const std::string list = render_approvals("{\"approvals\":[" + std::string(kAsk) + "]}", kNow);
  EXPECT_EQ(list,
            "ID    STATE    FROM      TOOL                 EXPIRES  WAITS FOR  ASKS FOR\n"
            "ap_1  pending  agent:ci  orders/create_order  in 60m   you        Order for customer 7\n");
  EXPECT_EQ(render_approvals(R"({"approvals":[]})", kNow), "nothing\n");
}

TEST(RenderOperation, TellsItsStoryAndWhatToDoWhenUnknown) {
  const std::string page = render_operation(
      R"({"id":"op_1","state":"unknown","outcome":"unknown","unknown":"lost","basis":"timeout","principal":"agent:ci","server":"orders",
          "tool":"create_order","summary":"Order for customer 7","scope":"orders/customer-7","attempts":1,"created":"2026-11-30T09:14:02.118Z",
          "receipts":[{"id":"rc_1","kind":"intent","seq":17,"time":"2026-11-30T09:14:03.000Z","receipt":{"predicate":
            {"decision":{"verdict":"ask"},"approval":{"id":"ap_1","votes":[{"by":"user:dana","vote":"approve"}]},"outcome":{"value":"unknown","basis":"intent"}}}}]})");
  EXPECT_TRUE(page.starts_with("operation op_1  unknown\n")) << page;
  EXPECT_TRUE(page.contains("  outcome   unknown (lost), because: timeout\n")) << page;
  EXPECT_TRUE(
      page.contains("  2026-11-30T09:14:03.000Z  intent  rc_1     ask, by approval, approve by user:dana, outcome "
                    "unknown (intent)\n"))
      << page;
  EXPECT_TRUE(page.contains("sallyport operations resolve op_1 applied|none --reason")) << page;
}

TEST(RenderOperations, IsATable) {
  EXPECT_EQ(
      render_operations(
          R"({"operations":[{"id":"op_1","state":"applied","outcome":"applied","principal":"a","server":"s","tool":"t","scope":"s","created":"T"}]})"),
      "ID    CREATED  STATE    OUTCOME  FROM  TOOL  SCOPE\n"
      "op_1  T        applied  applied  a     s/t   s\n");
}

TEST(RenderReceipts, SayInAFewWordsWhatHappened) {
  const std::string list = render_receipts(
      R"({"receipts":[{"id":"rc_2","seq":2,"kind":"refusal","time":"T2","receipt":{"predicate":{"principal":"agent:ci","server":{"id":"s"},"tool":"t",
            "decision":{"verdict":"deny","reasons":[{"code":"POLICY_DENIED"}]},"count":3}}},
          {"id":"rc_1","seq":1,"kind":"stop","time":"T1","receipt":{"predicate":{"event":{"action":"stopped","by":"user:dana","reason":"x","target":"all"}}}}]})");
  EXPECT_EQ(list,
            "SEQ  TIME  KIND     FROM      ABOUT  ID    SAYS\n"
            "2    T2    refusal  agent:ci  s/t    rc_2  deny, POLICY_DENIED, 3 times\n"
            "1    T1    stop               all    rc_1  stopped by user:dana: x\n");
}

TEST(RenderReceipt, ShowsEveryMember) {
  const std::string page = render_receipt(
      R"({"id":"rc_1","seq":1,"kind":"call","time":"T","receipt":{"predicate":{"principal":"a","scope":{"name":"s","revision":4},"times":{"received":"R"}}},
          "envelope":{"signatures":[{"keyid":"77aa","sig":"…"}]}})");
  for (const char* part : {"scope.name", "scope.revision  4", "times.received", "signed by key   77aa"})
    EXPECT_TRUE(page.contains(part)) << part << page;
}

TEST(RenderTools, ShowsDeclaredAssignedAndEffective) {
  const std::string table = render_tools(
      R"({"tools":[{"server":"files","tool":"read","state":"accepted","effect":{"declared":{"readOnlyHint":true},"effective":{"category":"read","destructive":false,"repeat":"safe","labels":[]}}},
                   {"server":"x","tool":"y","state":"quarantined","reason":"bad schema","effect":{}}],
          "problems":[{"server":"x","reason":"no such command"}]})");
  EXPECT_EQ(table,
            "TOOL        DECLARED  ASSIGNED  EFFECTIVE                           DEFINITION\n"
            "files/read  readOnly  -         read, not destructive, repeat safe  accepted\n"
            "x/y         -         -         -                                   quarantined: bad schema\n"
            "server x is set aside: no such command\n");
  EXPECT_FALSE(render_tools(R"({"tools":[{"server":"a","tool":"b"},{"server":"c","tool":"d"}]})", "a").contains("c/d"));
}

TEST(RenderTools, NamesWhatIsNotTiedDownAndWhatCollides) {
  const std::string table = render_tools(
      R"({"tools":[],"unpinned":[{"server":"s","reason":"the version of `x` is `latest`"}],
          "collisions":[{"name":"a__b_c","tools":["a/b.c","a/b c"]}]})");
  EXPECT_EQ(table,
            "no tools\n"
            "server s is not tied down: the version of `x` is `latest`\n"
            "a__b_c would be the name of a/b.c, a/b c: none of them is offered at /mcp\n");
}

TEST(RenderExplanation, MatchedFirstThenWhyNot) {
  EXPECT_EQ(
      render_explanation(
          R"({"verdict":"ask","state":"accepted","scope":"s/7","rules":[{"id":"r1","kind":"deny","matched":false,"words":"the amount is 40","pointer":"/amount"},
                                   {"id":"r2","kind":"ask","matched":true,"words":"by server"}],"notes":["n"],"reasons":[{"code":"C","message":"m"}]})"),
      "verdict: ask\n"
      "definition: accepted\n"
      "scope: s/7\n"
      "reason: C: m\n"
      "matched:\n"
      "  r2 (ask): by server\n"
      "did not match:\n"
      "  r1 (deny): the amount is 40 [/amount]\n"
      "note: n\n");
}

TEST(RenderTrustReview, ShowsWhatIsNewAndWhatChanged) {
  constexpr std::string_view kReview =
      R"({"digest":"sha256:aa","open":1,"servers":[{"id":"orders","identity":"npx orders@1","identityChanged":"another package","definitions":[
          {"kind":"tool","name":"refund","state":"changed","settled":false,"digest":"sha256:bb","definition":["{","}"],"changes":[{"pointer":"/description","before":"a","after":"b"}],"findings":["hidden characters"]},
          {"kind":"prompt","name":"get","state":"accepted","settled":true,"digest":"sha256:cc"}]}]})";
  const std::string review = render_trust_review(kReview);
  EXPECT_EQ(review,
            "server orders  1 of 2 accepted as they are\n"
            "  identity npx orders@1\n"
            "  IDENTITY HAS CHANGED: another package\n"
            "  refund  changed\n"
            "    digest sha256:bb\n"
            "    look: hidden characters\n"
            "    changed since it was accepted:\n"
            "      /description\n"
            "        - a\n"
            "        + b\n"
            "    as the server says now:\n"
            "      {\n"
            "      }\n"
            "1 not accepted as they are now.\n"
            "review sha256:aa\n");
  EXPECT_TRUE(render_trust_review(kReview, true).contains("  prompt get  accepted\n"));
  const std::string leaving = render_trust_review(
      R"({"digest":"sha256:aa","open":2,"servers":[{"id":"s","accepted":false,"definitions":[
          {"kind":"tool","name":"old","state":"gone","settled":false,"digest":"sha256:bb"},
          {"kind":"tool","name":"t","state":"accepted","settled":true,"digest":"sha256:cc","replaces":["sha256:dd"]}]}]})");
  EXPECT_TRUE(leaving.contains("nothing of it was accepted yet")) << leaving;
  EXPECT_TRUE(leaving.contains("  old  gone\n")) << leaving;
  EXPECT_TRUE(leaving.contains("accepting takes it out of the lock")) << leaving;
  EXPECT_TRUE(leaving.contains("accepted beside it: sha256:dd")) << leaving;
  EXPECT_EQ(render_accepted(R"({"accepted":["s/t"],"leftOut":["s/u: why"]})"), "accepted s/t\nleft out s/u: why\n");
}

// The report goes to others, often into a page that renders it.
TEST(RenderTrustReport, TakesNothingThatAServerSaysForMarkup) {
  const std::string hostile = "x`](http://evil.example) <img src=x>\\n\\n# Heading\\n- **item** ![i](u)";
  const std::string report = render_trust_report(
      R"({"servers":[{"id":"s","identity":")" + hostile + R"(","identityChanged":")" + hostile +
      R"(","definitions":[{"kind":"tool","name":")" + hostile +
      R"(","state":"quarantined","settled":false,"reason":")" + hostile + R"(","findings":[")" + hostile +
      R"("],"changes":[{"pointer":")" + hostile + R"(","before":")" + hostile + R"(","after":")" + hostile +
      R"("}]}]},{"id":"t","definitions":[{"kind":"tool","name":"u","state":"quarantined",
      "settled":false,"digest":"sha256:aa","reason":")" +
      hostile + R"("}]}]})");
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.starts_with("# Heading") || line.starts_with("- **item")) << line;
    // What is left of a line once its spans of code are taken out is ours.
    std::string rest;
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t ticks = line.find_first_not_of('`', i) == std::string::npos ? line.size() - i
                                : line[i] == '`'                                    ? line.find_first_not_of('`', i) - i
                                                                                    : 0;
      const std::size_t end = ticks == 0 ? std::string::npos : line.find(std::string(ticks, '`'), i + ticks);
      if (end == std::string::npos) {
        rest += line[i++];
      } else {
        i = end + ticks;
      }
    }
    EXPECT_EQ(rest.find("evil"), std::string::npos) << line;
    EXPECT_EQ(rest.find('<'), std::string::npos) << line;
  }
}

TEST(RenderCall, KeepsLinesAndShowsHiddenCharacters) {
  const std::string result =
      "{\"content\":[{\"type\":\"text\",\"text\":\"one\\ntwo\\u202e\"},{\"type\":\"image\",\"data\":\"aa\"}],"
      "\"_meta\":{\"dev.sallyport/call\":{\"verdict\":\"allow\",\"outcome\":\"applied\",\"operation\":\"op_1\"}}}";
  EXPECT_EQ(render_call(result), "one\ntwo\\u{202E}\n{\"type\":\"image\",\"data\":\"aa\"}\n");
  EXPECT_EQ(render_call_note(result), "verdict: allow  outcome: applied  operation: op_1\n");
  EXPECT_EQ(render_call(R"({"content":[],"structuredContent":{"a":1}})"), "{\"a\":1}\n");
  EXPECT_EQ(render_call_note("{}"), "");
}

TEST(RenderOthers, StatusStopsReloadAndFaults) {
  const std::string status = render_status(
      R"({"version":"0.1.0","waiting":2,"servers":[{"id":"s","state":"up","tools":3},{"id":"t","state":"down","reason":"gone"}]})");
  EXPECT_EQ(status,
            "sallyport 0.1.0\n"
            "  waiting  2\n"
            "\n"
            "  SERVER  STATE  TOOLS  REASON\n"
            "  s       up     3\n"
            "  t       down          gone\n");
  EXPECT_EQ(
      render_stops(
          R"({"stops":[{"id":"st_1","kind":"tool","value":"s","tool":"t","by":"user:dana","reason":"r","created":"T"}]})"),
      "ID    KIND  WHAT  BY         SINCE  STATE     REASON\n"
      "st_1  tool  s/t   user:dana  T      in force  r\n");
  EXPECT_EQ(render_stops(R"({"stops":[]})"), "nothing is stopped\n");
  EXPECT_EQ(
      render_policy(
          R"({"faults":["p:3:4: warning: m"],"policy":"sha256:aa","state":"waiting","trust":"sha256:bb","waiting":{"digest":"sha256:cc","looser":["rule r is gone"],"since":"T","stricter":["b"]}})"),
      "p:3:4: warning: m\nwaits for an operator, since T:\n  looser: rule r is gone\n  stricter: b\n"
      "  The files are taken as a whole, so what is stricter waits too; `sallyport stop` holds calls up at once.\n"
      "  digest: sha256:cc\nin force now: policy sha256:aa, trust sha256:bb\n");
  Fault fault{.level = Fault::Level::error, .file = "f", .position = {2, 3}, .pointer = "/a", .message = "m"};
  EXPECT_EQ(render_faults({fault}), to_text(fault) + "\n1 error\n");
  EXPECT_EQ(faults_json({fault}),
            "{\"faults\":[{\"file\":\"f\",\"level\":\"error\",\"message\":\"m\",\"line\":2,\"column\":3,\"pointer\":\"/"
            "a\"}]}\n");
  EXPECT_EQ(render_faults({}), "");
}

TEST(RenderOthers, SurviveWhatIsNotOfTheirShape) {
  const std::vector<std::string> odd{
      "",
      "x",
      "[]",
      "{}",
      "null",
      R"({"approvals":{},"operations":3,"receipts":[1,[],{}],"stops":"x","tools":[null],"servers":[4],"view":[],"content":[{}]})"};
  for (const std::string& json : odd) {
    for (const std::string& out :
         {render_approvals(json, kNow), render_approval(json, kNow), render_operations(json), render_operation(json),
          render_receipts(json), render_receipt(json), render_stops(json), render_stop(json), render_tools(json),
          render_explanation(json), render_status(json), render_policy(json), render_trust_review(json, true),
          render_accepted(json), render_me(json)}) {
      EXPECT_TRUE(out.ends_with('\n')) << json;
    }
  }
}

TEST(RenderTable, AlignsByCharactersNotBytes) {
  EXPECT_EQ(render_table({"A", "B"}, {{"\xC3\xA9\xC3\xA9", "x"}, {"abc", ""}}), "A    B\n\xC3\xA9\xC3\xA9   x\nabc\n");
}

}  // namespace
}  // namespace sallyport::gateway::cli
