// The verbs against a real ControlServer, over its port and its socket.
#include "gateway/cli/commands.hpp"

#include <sys/stat.h>

#include <fstream>

#include "gateway/cli/control_client.hpp"
#include "schemas/core/encoding.hpp"
#include "tests/component/control/fixture.hpp"
#include "trust/approvals/binding.hpp"

namespace sallyport::gateway::testing {
namespace {

using cli::parse_command_line;

class FixedClock final : public Clock {
 public:
  [[nodiscard]] UnixMillis now() const override { return 1'796'030'042'118; }
};

const std::string kView = R"({"approval":"ap_1","arguments":["{}"],"server":"s","tool":"t"})";
std::string ask(const std::string& state = "pending", const std::string& shown = trust::shown_digest(kView)) {
  return R"({"id":"ap_1","mayAnswer":true,"operation":"op_1","server":"s","shown":")" + shown + R"(","state":")" +
         state + R"(","tool":"t","view":)" + kView + "}";
}

class Commands : public ::testing::Test {
 protected:
  int run(std::vector<std::string> words) {
    terminal.printed.clear();
    terminal.said.clear();
    const cli::Parsed parsed = parse_command_line(std::move(words));
    if (!parsed.invocation) {
      ADD_FAILURE() << parsed.err;
      return -1;
    }
    EXPECT_TRUE(cli::is_remote(parsed.invocation->command));
    const cli::RemoteContext context{rig.socket(), variables(), terminal, clock};
    return cli::run_remote(*parsed.invocation, context);
  }
  cli::GetVariable variables() {
    return [this](std::string_view name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    };
  }
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = rig.dir().file(name);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  ControlRig rig;
  FakeTerminal terminal;
  FixedClock clock;
  std::map<std::string, std::string, std::less<>> environment{{"SALLYPORT_CONTROL_TOKEN", "dana-token"}};
};

TEST_F(Commands, EveryVerbAsksItsRoute) {
  rig.desk.answer("call", R"({"content":[{"type":"text","text":"hi"}]})");
  rig.desk.answer("explain", R"({"verdict":"allow"})");
  rig.desk.answer("trust_review", R"({"digest":"sha256:aa","open":0,"servers":[]})");
  const std::vector<std::pair<std::vector<std::string>, std::string>> table{
      {{"approvals", "list"}, "approvals|pending|50"},
      {{"approvals", "list", "--only", "all", "--limit", "2"}, "approvals||2"},
      {{"approvals", "show", "ap_1"}, "approval|ap_1"},
      {{"approvals", "deny", "ap_1", "--reason", "no \"x\""}, "deny|ap_1|no \"x\""},
      {{"approvals", "revoke", "ap_1"}, "revoke|ap_1|"},
      {{"grants", "list"}, "grants|"},
      {{"grants", "list", "--only", "all"}, "grants|all"},
      {{"grants", "revoke", "gr_1", "--reason", "r"}, "revoke grant|gr_1|r"},
      {{"operations", "list", "--only", "open"}, "operations|open|50"},
      {{"operations", "show", "op_1"}, "operation|op_1"},
      {{"operations", "resolve", "op_1", "applied", "--reason", "seen"}, "resolve|op_1|applied|seen"},
      {{"receipts", "list", "--principal", "a&b=c", "--limit", "1"}, R"(receipts|{"limit":1,"principal":"a&b=c"})"},
      {{"receipts", "show", "rc_1"}, "receipt|rc_1"},
      {{"show", "rc_1"}, "receipt|rc_1"},
      {{"show", "op_1"}, "operation|op_1"},
      {{"stop"}, "stops"},
      {{"stop", "--server", "s", "--tool", "t", "--reason", "r"}, "stop|tool|s|t|r"},
      {{"stop", "--all", "--reason", "r"}, "stop|all|||r"},
      {{"status"}, "status"},
      {{"tools"}, "tools"},
      {{"explain", "s", "t", R"({"a":1.0})", "--principal", "agent:ci"},
       R"(explain|{"principal":"agent:ci","server":"s","tool":"t","arguments":{"a":1.0}})"},
      {{"call", "s", "t", R"({"a":1e2})"}, R"(call|s|t|{"a":1e2})"},
      {{"trust", "diff", "s", "t"}, "trust_review|s|t"},
      {{"reload"}, "reload"},
      {{"policy", "accept"}, "reload"},
      {{"policy", "diff"}, "reload"},
  };
  for (const auto& [words, expected] : table) {
    EXPECT_EQ(run(words), 0) << words[0] << terminal.said;
    EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|" + expected});
    EXPECT_TRUE(terminal.printed.ends_with('\n')) << words[0];
    std::vector<std::string> json = words;
    json.emplace_back("--json");
    json.insert(json.end(), {"--url", rig.url()});
    EXPECT_EQ(run(json), 0) << words[0];
    EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|" + expected}) << "over TCP";
    EXPECT_TRUE(terminal.printed.starts_with('{')) << terminal.printed;
  }
}

TEST_F(Commands, ApproveShowsThePageAndNamesWhatItShowed) {
  rig.desk.answer("approval", ask());
  rig.desk.answer("approve", ask("approved"));
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes", "--reason", "ok"}), 0) << terminal.said;
  EXPECT_EQ(rig.desk.taken(),
            (std::vector<std::string>{"user:dana|approval|ap_1",
                                      "user:dana|approve|ap_1|" + trust::shown_digest(kView) + "|ok"}));
  EXPECT_TRUE(terminal.said.contains("t of s (unrated)")) << "shown before it is sent: " << terminal.said;
  EXPECT_EQ(terminal.printed, "ap_1 is approved\n");
}

TEST_F(Commands, ApproveWithoutAPersonNeedsTheDigestOrYes) {
  rig.desk.answer("approval", ask());
  EXPECT_EQ(run({"approvals", "approve", "ap_1"}), 2);
  EXPECT_TRUE(terminal.said.contains("--shown " + trust::shown_digest(kView))) << terminal.said;
  EXPECT_EQ(rig.desk.taken().size(), 1U) << "only looked";
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--shown", "sha256:other"}), 1);
  EXPECT_EQ(rig.desk.taken().size(), 1U);
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--shown", trust::shown_digest(kView)}), 0);
  EXPECT_EQ(rig.desk.taken().size(), 2U);
}

TEST_F(Commands, ApproveAsksThePersonWhoIsThere) {
  rig.desk.answer("approval", ask());
  terminal.is_interactive = true;
  for (const char* line : {"", "n", "maybe"}) {
    terminal.lines = {line};
    EXPECT_EQ(run({"approvals", "approve", "ap_1"}), 1) << line;
    EXPECT_EQ(rig.desk.taken().size(), 1U) << line;
  }
  terminal.lines = {"y"};
  EXPECT_EQ(run({"approvals", "approve", "ap_1"}), 0);
  EXPECT_EQ(rig.desk.taken().size(), 2U);
}

TEST_F(Commands, ApproveRefusesAPageThatIsNotWhatItsDigestSays) {
  rig.desk.answer("approval", ask("pending", "sha256:" + std::string(64, '0')));
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes"}), 2);
  EXPECT_TRUE(terminal.said.contains("does not fit its digest")) << terminal.said;
  EXPECT_EQ(rig.desk.taken().size(), 1U);
  rig.desk.answer("approval", ask("denied"));
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes"}), 1);
  EXPECT_TRUE(terminal.said.contains("is denied already"));
}

TEST_F(Commands, WatchShowsEachAskOnceAndTakesTheAnswer) {
  rig.desk.answer("approvals", R"({"approvals":[{"id":"ap_1","state":"pending"}]})");
  rig.desk.answer("approval", ask());
  rig.desk.answer("approve", ask("approved"));
  terminal.is_interactive = true;
  terminal.lines = {"x", "a", "n", "a", "y"};  // no key, then a yes that is taken back, then one that is meant
  std::thread later([&] {
    EXPECT_TRUE(rig.desk.wait_for("|approve|"));
    // The end of the credential ends the watch.
    rig.set_people({});
    rig.approval_changed("ap_1");
  });
  EXPECT_EQ(run({"approvals", "watch"}), 2);
  later.join();
  EXPECT_TRUE(terminal.printed.starts_with("approval ap_1  pending\n")) << terminal.printed;
  EXPECT_TRUE(terminal.printed.ends_with("ap_1 is approved\n")) << terminal.printed;
}

TEST_F(Commands, WatchDeniesWithAReasonAndNotWithoutOne) {
  rig.desk.answer("approvals", R"({"approvals":[{"id":"ap_1","state":"pending"}]})");
  rig.desk.answer("approval", ask());
  rig.desk.answer("deny", ask("denied"));
  terminal.is_interactive = true;
  terminal.lines = {"d", "", "d", "wrong customer"};
  std::thread later([&] {
    EXPECT_TRUE(rig.desk.wait_for("user:dana|deny|ap_1|wrong customer"));
    rig.set_people({});
    rig.approval_changed("ap_1");
  });
  EXPECT_EQ(run({"approvals", "watch"}), 2);
  later.join();
}

TEST_F(Commands, ApproveWithAGrantSendsExactlyWhatWasShownAsItsConditions) {
  const std::string view = R"({"arguments":["{","  \"n\": 1e2,","  \"path\": \"/a\"","}"],"tool":"t"})";
  rig.desk.answer("approval", R"({"id":"ap_1","mayAnswer":true,"server":"s","shown":")" + trust::shown_digest(view) +
                                  R"(","state":"pending","tool":"t","view":)" + view + "}");
  rig.desk.answer("approve", R"({"id":"ap_1","state":"approved","grants":[{"id":"gr_1","state":"granted"}]})");
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes", "--this-run", "--uses", "3"}), 0) << terminal.said;
  EXPECT_EQ(rig.desk.taken().back(), "user:dana|approve|ap_1|" + trust::shown_digest(view) +
                                         R"(||{"arguments":{"n":1e2,"path":"/a"},"uses":3,"run":true})");
  EXPECT_TRUE(terminal.printed.contains("grant gr_1")) << terminal.printed;
  EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes", "--this-run", "--where", "[]"}), 2);
}

TEST_F(Commands, LoginMakesACodeWithItsLinkAndPicture) {
  environment = {{"HOME", rig.dir().file("home")}};
  terminal.lines = {"kim-token"};
  EXPECT_EQ(run({"login", "--url", rig.url()}), 0) << terminal.said;
  EXPECT_TRUE(terminal.printed.contains(rig.url() + "/#code=")) << terminal.printed;
  EXPECT_TRUE(terminal.printed.contains("\u2588\u2588\u2588\u2588"));
  const std::size_t at = terminal.printed.find("#code=") + 6;
  const std::string code = terminal.printed.substr(at, 9);
  EXPECT_EQ(rig.ask("POST", "/api/v1/login", "", R"({"code":")" + code + R"("})").status, 200);
}

TEST_F(Commands, TrustAcceptShowsTheReviewAndNamesIt) {
  rig.desk.answer(
      "trust_review",
      R"({"digest":"sha256:aa","open":1,"servers":[{"id":"s","definitions":[{"kind":"tool","name":"t","state":"new","settled":false,"digest":"sha256:bb"}]}]})");
  rig.desk.answer("trust_accept", R"({"accepted":["s/t"]})");
  EXPECT_EQ(run({"trust", "accept", "s"}), 2) << "nobody to ask";
  EXPECT_EQ(run({"trust", "accept", "s", "--shown", "sha256:zz"}), 1);
  EXPECT_EQ(rig.desk.taken().size(), 2U);
  EXPECT_EQ(run({"trust", "accept", "s", "--yes"}), 0);
  EXPECT_EQ(rig.desk.taken().back(), "user:dana|trust_accept|s||sha256:aa");
  EXPECT_EQ(terminal.printed, "accepted s/t\n");
  EXPECT_TRUE(terminal.said.contains("  t  new\n"));
  EXPECT_EQ(run({"trust", "diff"}), 1) << "something is open";
}

TEST_F(Commands, TrustAcceptKeepsWhatIsAcceptedWhereAlsoIsSaid) {
  rig.desk.answer("trust_review", R"({"digest":"sha256:aa","open":1,"servers":[]})");
  rig.desk.answer("trust_accept_also", R"({"accepted":["s/t"]})");
  EXPECT_EQ(run({"trust", "accept", "s", "t", "--yes", "--also"}), 0);
  EXPECT_EQ(rig.desk.taken().back(), "user:dana|trust_accept_also|s|t|sha256:aa");
}

TEST_F(Commands, TrustDiffReportsInMarkdownThatTextsCannotBreak) {
  rig.desk.answer("trust_review",
                  R"({"digest":"sha256:aa","open":2,"servers":[{"id":"s","identity":"/bin/s","definitions":[
      {"kind":"tool","name":"t","state":"changed","settled":false,"digest":"sha256:bb","findings":["odd"],
       "changes":[{"pointer":"/description","before":"\"a\"","after":"\"a `b` ``c``\""},{"pointer":"/x","after":"1"}]},
      {"kind":"prompt","name":"new","state":"new","settled":false,"digest":"sha256:cc"},
      {"name":"old","state":"accepted","settled":true,"digest":"sha256:dd"}]}]})");
  EXPECT_EQ(run({"trust", "diff", "--report"}), 1);
  EXPECT_EQ(
      terminal.printed,
      "# Definitions of `s`\n\nServer: `/bin/s`\n\n"
      "## `t`: changed\n\n- Found: `odd`\n- `/description`\n  - accepted: `\"a\"`\n  - now: ``` \"a `b` ``c``\" ```\n"
      "- `/x`\n  - accepted: absent\n  - now: `1`\n\n"
      "## prompt `new`: new\n\n- Never accepted; digest `sha256:cc`\n");
}

TEST_F(Commands, LiftFindsTheStopByWhatItStops) {
  rig.desk.answer(
      "stops",
      R"({"stops":[{"id":"st_1","kind":"server","value":"s","lifted":"T"},{"id":"st_2","kind":"server","value":"s"},{"id":"st_3","kind":"all"}]})");
  EXPECT_EQ(run({"stop", "--lift", "--server", "s", "--reason", "over"}), 0);
  EXPECT_EQ(rig.desk.taken(), (std::vector<std::string>{"user:dana|stops", "user:dana|lift|st_2|over"}));
  EXPECT_EQ(run({"stop", "--lift", "st_3"}), 0);
  EXPECT_EQ(rig.desk.taken().back(), "user:dana|lift|st_3|");
  EXPECT_EQ(run({"stop", "--lift", "st_1"}), 1) << "lifted already";
}

TEST_F(Commands, AStopOfWhatNobodyKnowsIsANoUnlessToldSo) {
  rig.desk.answer("stop", R"({"id":"st_1","kind":"server","value":"od","unknown":"no server `od` is known"})");
  EXPECT_EQ(run({"stop", "--server", "od", "--reason", "r"}), 1);
  EXPECT_TRUE(terminal.said.contains("no server `od` is known; the stop is in force all the same")) << terminal.said;
  EXPECT_TRUE(terminal.printed.contains("st_1")) << terminal.printed;
  EXPECT_EQ(run({"stop", "--server", "od", "--reason", "r", "--yes"}), 0);
}

// As `--since` takes them, but to come.
TEST_F(Commands, AGrantLastsUntilATimeInEveryForm) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  rig.desk.answer("approval", ask());  // at 2026-11-30T09:14:02.118Z
  const std::vector<std::pair<std::string, std::string>> forms{{"2h", "2026-11-30T11:14:02.118Z"},
                                                               {"17:30", "2026-11-30T17:30:00.000Z"},
                                                               {"08:00", "2026-12-01T08:00:00.000Z"},
                                                               {"2026-12-02", "2026-12-02T00:00:00.000Z"},
                                                               {"2026-11-30T17:00:00Z", "2026-11-30T17:00:00.000Z"},
                                                               {"2026-11-30 17:00+01:00", "2026-11-30T16:00:00.000Z"}};
  for (const auto& [written, meant] : forms) {
    EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes", "--until", written}), 0) << written << terminal.said;
    const std::string voted = rig.desk.taken().back();
    EXPECT_TRUE(voted.contains(R"("until":")" + meant + R"(")")) << written << " " << voted;
  }
  for (const char* past : {"yesterday", "now", "2026-11-30T09:00:00Z", "0s", "soon"}) {
    EXPECT_EQ(run({"approvals", "approve", "ap_1", "--yes", "--until", past}), 2) << past;
    EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|approval|ap_1"}) << past;
  }
}

TEST_F(Commands, WhatMayLoosenIsShownAndAcceptedByTheDigestOfWhatWasShown) {
  const std::string waits =
      R"({"state":"waiting","policy":"sha256:aa","trust":"sha256:bb","waiting":{"digest":"sha256:cc","looser":["the deny `no` is gone."],"stricter":[],"since":"T"}})";
  rig.desk.answer("reload", waits);
  rig.desk.answer("policy", waits);
  rig.desk.answer("policy_accept", R"({"state":"in_force","policy":"sha256:dd","trust":"sha256:bb"})");
  EXPECT_EQ(run({"reload"}), 1) << "nobody is here to say yes";
  EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|reload"});
  EXPECT_TRUE(terminal.said.contains("looser: the deny `no` is gone.")) << terminal.said;
  EXPECT_TRUE(terminal.said.contains("--shown sha256:cc")) << terminal.said;
  EXPECT_EQ(run({"policy", "accept", "--shown", "sha256:ee"}), 1) << "another one was shown";
  EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|reload"}) << "what lies there now";
  EXPECT_EQ(run({"policy", "accept", "--shown", "sha256:cc"}), 0);
  EXPECT_EQ(rig.desk.taken(), (std::vector<std::string>{"user:dana|reload", "user:dana|policy_accept|sha256:cc"}));
  EXPECT_EQ(run({"reload", "--yes"}), 0);
  EXPECT_EQ(rig.desk.taken(), (std::vector<std::string>{"user:dana|reload", "user:dana|policy_accept|sha256:cc"}));
  EXPECT_TRUE(terminal.printed.contains("in force now: policy sha256:dd")) << terminal.printed;
  EXPECT_EQ(run({"policy", "diff"}), 1);
  EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|reload"});
  rig.desk.answer("reload", R"({"state":"refused","refused":"p.jsonc:1:2: error: m","policy":"a","trust":"b"})");
  EXPECT_EQ(run({"policy", "accept"}), 1);
  EXPECT_TRUE(terminal.printed.contains("refused: p.jsonc:1:2")) << terminal.printed;
}

TEST_F(Commands, ExitCodesSayYesNoOrCouldNot) {
  rig.desk.answer("explain", R"({"verdict":"deny"})");
  EXPECT_EQ(run({"explain", "s", "t"}), 1);
  rig.desk.answer("call", R"({"isError":true,"content":[{"type":"text","text":"denied"}]})");
  EXPECT_EQ(run({"call", "s", "t"}), 1);
  EXPECT_EQ(terminal.printed, "denied\n");
  rig.desk.fail_with(Error{ErrorCode::invalid, "the files have faults"});
  EXPECT_EQ(run({"reload"}), 1);
  rig.desk.fail_with(std::nullopt);
  EXPECT_EQ(run({"call", "s", "t", "[1]"}), 2);
  EXPECT_EQ(run({"call", "s", "t", "@" + rig.dir().file("none")}), 2);
  EXPECT_EQ(run({"show", "xx_1"}), 2);
  for (const char* id : {"../status", "ap_1/approve", "ap_1?state=x", "a b", "a\r\nX: y"}) {
    EXPECT_EQ(run({"approvals", "show", id}), 2) << id;
    EXPECT_TRUE(terminal.said.contains("is no id")) << terminal.said;
  }
  rig.desk.fail_with(Error{ErrorCode::forbidden, "nobody approves a call of their own"});
  EXPECT_EQ(run({"approvals", "deny", "ap_1"}), 1);
  EXPECT_EQ(terminal.said, "sallyport: nobody approves a call of their own\n");
  rig.desk.fail_with(Error{ErrorCode::io, "the disk is full"});
  EXPECT_EQ(run({"status"}), 2);
  EXPECT_EQ(terminal.printed, "");
}

TEST_F(Commands, ArgumentsMayComeFromStandardInputOrAFile) {
  rig.desk.answer("call", R"({"content":[]})");
  terminal.input = "{ \"a\": 1.0 }\n";
  EXPECT_EQ(run({"call", "s", "t", "-"}), 0);
  EXPECT_EQ(rig.desk.taken().back(), R"(user:dana|call|s|t|{ "a": 1.0 })");
  EXPECT_EQ(run({"call", "s", "t", "@" + file("a.json", R"({"b":2})")}), 0);
  EXPECT_EQ(rig.desk.taken().back(), R"(user:dana|call|s|t|{"b":2})");
}

TEST_F(Commands, MissingOwnerAndCredentialSayWhatToDo) {
  environment.clear();
  EXPECT_EQ(run({"status"}), 2);
  EXPECT_TRUE(terminal.said.contains("sallyport login")) << terminal.said;
  environment["SALLYPORT_CONTROL_TOKEN"] = "agent-token";
  EXPECT_EQ(run({"status"}), 1);
  EXPECT_TRUE(terminal.said.contains("must be a person's, not a client's")) << terminal.said;
  FakeTerminal other;
  environment["SALLYPORT_CONTROL_TOKEN"] = "dana-token";
  const cli::RemoteContext nowhere{rig.dir().file("none.sock"), variables(), other, clock};
  EXPECT_EQ(cli::run_remote(*parse_command_line({"status"}).invocation, nowhere), 2);
  EXPECT_TRUE(other.said.contains("no gateway runs here")) << other.said;
  EXPECT_TRUE(other.said.contains("sallyport serve")) << other.said;
  EXPECT_EQ(run({"status", "--url", "http://gate.example"}), 2);
  EXPECT_TRUE(terminal.said.contains("use https")) << terminal.said;
  EXPECT_EQ(run({"status", "--url", "ftp://x"}), 2);
}

TEST_F(Commands, LoginKeepsTheTokenForThatGatewayAlone) {
  environment = {{"HOME", rig.dir().file("home")}};
  terminal.lines = {"kim-token"};
  EXPECT_EQ(run({"login"}), 0) << terminal.said;
  EXPECT_TRUE(terminal.printed.starts_with("user:kim, roles: approver, groups: owners\nconsole code: "))
      << terminal.printed;
  struct stat info{};
  const std::string kept = rig.dir().file("home/.config/sallyport/credential");
  ASSERT_EQ(::stat(kept.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(run({"status"}), 0);
  EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:kim|status"});
  EXPECT_EQ(run({"status", "--url", rig.url()}), 2) << "not sent to another target";
  terminal.lines = {"wrong-token"};
  EXPECT_EQ(run({"login"}), 2);
  EXPECT_EQ(run({"status"}), 0) << "a wrong token replaces nothing";
  ::chmod(kept.c_str(), 0644);
  EXPECT_EQ(run({"status"}), 2);
  EXPECT_TRUE(terminal.said.contains("chmod 600")) << terminal.said;
}

TEST_F(Commands, TheTokenFileWins) {
  EXPECT_EQ(run({"status", "--token-file", file("t", "kim-token\n")}), 0);
  EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:kim|status"});
  EXPECT_EQ(run({"status", "--token-file", file("open", "kim-token\n", 0640)}), 2);
  EXPECT_EQ(run({"status", "--token-file", file("two", "a b\n")}), 2);
  EXPECT_EQ(run({"status", "--token-file", file("empty", "\n")}), 2);
  EXPECT_EQ(run({"status", "--token-file", rig.dir().path()}), 2);
  EXPECT_TRUE(rig.desk.taken().empty());
}

TEST_F(Commands, WhatIsNoControlSideIsSaid) {
  rig.desk.answer("status", "this is no JSON");
  EXPECT_EQ(run({"status"}), 0) << "a fault of the gateway is shown as it came";
  cli::ControlClient client(cli::ControlTarget::make(rig.url(), "").value(), Secret("dana-token"));
  const auto answer = client.get("/nothing");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::not_found);
  EXPECT_EQ(client.get("/api/v1/status", Millis(10'000)).value(), "this is no JSON");
}

}  // namespace
}  // namespace sallyport::gateway::testing
