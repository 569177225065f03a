#include "gateway/cli/command_line.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace sallyport::gateway::cli {
namespace {

using Words = std::vector<std::string>;

struct Case {
  Words words;
  Command command;
  std::function<bool(const Invocation&)> holds;
};

const std::vector<Case> kGood{
    {{"serve"}, Command::serve, [](const auto& i) { return i.log == "text" && !i.port && !i.client_started; }},
    {{"serve", "--config", "a.jsonc", "--port", "0", "--control-port", "8721", "--log", "json"},
     Command::serve,
     [](const auto& i) { return i.config == "a.jsonc" && i.port == 0 && i.control_port == 8721 && i.log == "json"; }},
    {{"--config", "serve", "serve"}, Command::serve, [](const auto& i) { return i.config == "serve"; }},
    {{"serve", "--idle-exit", "10m", "--client-started", "--wrapped", "--", "cmd", "--port", "1"},
     Command::serve,
     [](const auto& i) {
       return i.idle_exit == std::chrono::minutes(10) && i.wrapped && i.words == Words{"cmd", "--port", "1"} && !i.port;
     }},
    {{"stdio", "--server", "files", "--state", "/s", "--token-file", "t"},
     Command::stdio,
     [](const auto& i) { return i.server == "files" && i.state == "/s" && i.token_file == "t"; }},
    {{"wrap", "--", "npx", "-y", "--json", "serve", "--"},
     Command::wrap,
     [](const auto& i) { return i.words == Words{"npx", "-y", "--json", "serve", "--"} && !i.json; }},
    {{"wrap", "--json", "--", "x"}, Command::wrap, [](const auto& i) { return i.json && i.words == Words{"x"}; }},
    {{"init", "a.json", "b.json", "--folder", "d", "-y"},
     Command::init,
     [](const auto& i) { return i.files == Words{"a.json", "b.json"} && i.folder == "d" && i.yes; }},
    {{"check", "--offline", "--json"}, Command::check, [](const auto& i) { return i.offline && i.json; }},
    {{"tools", "files"}, Command::tools, [](const auto& i) { return i.server == "files"; }},
    {{"call", "files", "read", R"({"a":[1]})"},
     Command::call,
     [](const auto& i) { return i.server == "files" && i.tool == "read" && i.arguments == R"({"a":[1]})"; }},
    {{"call", "stop", "tools", "-"},
     Command::call,
     [](const auto& i) { return i.server == "stop" && i.tool == "tools" && i.arguments == "-"; }},
    {{"call", "files", "read"}, Command::call, [](const auto& i) { return i.arguments.empty(); }},
    {{"explain", "s", "t", "@f.json", "--principal", "agent:ci", "--offline"},
     Command::explain,
     [](const auto& i) { return i.arguments == "@f.json" && i.principal == "agent:ci" && i.offline; }},
    {{"fingerprint", "s", "t", "{}", "--principal", "agent:ci"},
     Command::fingerprint,
     [](const auto& i) { return i.tool == "t" && i.arguments == "{}" && i.principal == "agent:ci"; }},
    {{"trust", "accept"}, Command::trust_accept, [](const auto& i) { return i.server.empty() && !i.yes; }},
    {{"trust", "accept", "s", "t", "--yes"},
     Command::trust_accept,
     [](const auto& i) { return i.server == "s" && i.tool == "t" && i.yes; }},
    {{"trust", "diff", "s"}, Command::trust_diff, [](const auto& i) { return i.server == "s"; }},
    {{"trust", "show"}, Command::trust_show, [](const auto&) { return true; }},
    {{"policy", "test"}, Command::policy_test, [](const auto&) { return true; }},
    {{"reload", "--yes"}, Command::reload, [](const auto& i) { return i.yes; }},
    {{"policy", "test", "--coverage"}, Command::policy_test, [](const auto& i) { return i.coverage; }},
    {{"policy", "accept", "--shown", "sha256:a"},
     Command::policy_accept,
     [](const auto& i) { return i.shown == "sha256:a"; }},
    {{"policy", "diff", "old", "new"}, Command::policy_diff, [](const auto& i) { return i.files.size() == 2; }},
    {{"policy", "replay", "log", "--policy", "p"},
     Command::policy_replay,
     [](const auto& i) { return i.file == "log" && i.policy_file == "p"; }},
    {{"policy", "suggest"}, Command::policy_suggest, [](const auto& i) { return i.file.empty(); }},
    {{"approvals", "list", "--only", "all", "--limit", "3"},
     Command::approvals_list,
     [](const auto& i) { return i.state_filter == "all" && i.limit == 3; }},
    {{"--json", "approvals", "list"}, Command::approvals_list, [](const auto& i) { return i.json && i.limit == 50; }},
    {{"approvals", "--json", "watch"}, Command::approvals_watch, [](const auto& i) { return i.json; }},
    {{"approvals", "show", "ap_1"}, Command::approvals_show, [](const auto& i) { return i.id == "ap_1"; }},
    {{"approvals", "approve", "ap_1", "--shown", "sha256:x", "--reason", "ok then"},
     Command::approvals_approve,
     [](const auto& i) { return i.id == "ap_1" && i.shown == "sha256:x" && i.reason == "ok then" && !i.yes; }},
    {{"approvals", "deny", "ap_1"}, Command::approvals_deny, [](const auto& i) { return i.id == "ap_1"; }},
    {{"approvals", "approve", "ap_1", "--this-run", "--uses", "3", "--where", "{}"},
     Command::approvals_approve,
     [](const auto& i) { return i.grant_within == "run" && i.grant_uses == 3 && i.arguments == "{}"; }},
    {{"approvals", "approve", "ap_1", "--until", "2026-11-30T17:00:00Z"},
     Command::approvals_approve,
     [](const auto& i) { return i.grant_until == "2026-11-30T17:00:00Z"; }},
    {{"grants", "list", "--only", "all"}, Command::grants_list, [](const auto& i) { return i.state_filter == "all"; }},
    {{"grants", "revoke", "gr_1", "--reason", "over"},
     Command::grants_revoke,
     [](const auto& i) { return i.id == "gr_1" && i.reason == "over"; }},
    {{"approvals", "revoke", "ap_1"}, Command::approvals_revoke, [](const auto& i) { return i.id == "ap_1"; }},
    {{"operations", "list", "--only", "unknown"},
     Command::operations_list,
     [](const auto& i) { return i.state_filter == "unknown"; }},
    {{"operations", "show", "op_1"}, Command::operations_show, [](const auto& i) { return i.id == "op_1"; }},
    {{"operations", "resolve", "op_1", "none", "--reason", "looked"},
     Command::operations_resolve,
     [](const auto& i) { return i.id == "op_1" && i.outcome == "none" && i.reason == "looked"; }},
    {{"receipts", "list", "--verdict", "deny", "--principal", "agent:ci", "--kind", "refusal"},
     Command::receipts_list,
     [](const auto& i) {
       return i.query.verdict == "deny" && i.query.principal == "agent:ci" && i.query.kind == "refusal";
     }},
    {{"receipts", "show", "rc_1"}, Command::receipts_show, [](const auto& i) { return i.id == "rc_1"; }},
    {{"receipts", "verify"}, Command::receipts_verify, [](const auto& i) { return i.file.empty() && i.signatures; }},
    {{"receipts", "verify", "--key", "a", "--key", "b", "log.jsonl", "--checkpoint", "c", "--no-signatures"},
     Command::receipts_verify,
     [](const auto& i) {
       return i.file == "log.jsonl" && i.key_files == Words{"a", "b"} && i.checkpoint_files == Words{"c"} &&
              !i.signatures;
     }},
    {{"receipts", "verify", "-", "--key", "a"}, Command::receipts_verify, [](const auto& i) { return i.file == "-"; }},
    {{"receipts", "export", "--output", "o"}, Command::receipts_export, [](const auto& i) { return i.file == "o"; }},
    {{"receipts", "key"}, Command::receipts_key, [](const auto&) { return true; }},
    {{"show", "op_1"}, Command::show, [](const auto& i) { return i.id == "op_1"; }},
    {{"stop"}, Command::stop, [](const auto& i) { return i.stop_kind.empty() && !i.lift; }},
    {{"stop", "--all", "--reason", "r"},
     Command::stop,
     [](const auto& i) { return i.stop_kind == "all" && i.stop_value.empty(); }},
    {{"stop", "--principal", "agent:ci", "--reason", "r"},
     Command::stop,
     [](const auto& i) { return i.stop_kind == "principal" && i.stop_value == "agent:ci"; }},
    {{"stop", "--server", "s", "--reason", "r"},
     Command::stop,
     [](const auto& i) { return i.stop_kind == "server" && i.stop_value == "s"; }},
    {{"stop", "--server", "s", "--tool", "t", "--reason", "r"},
     Command::stop,
     [](const auto& i) { return i.stop_kind == "tool" && i.stop_value == "s" && i.tool == "t"; }},
    {{"stop", "--lift", "st_1"}, Command::stop, [](const auto& i) { return i.lift && i.id == "st_1"; }},
    {{"stop", "--lift", "--all"}, Command::stop, [](const auto& i) { return i.lift && i.stop_kind == "all"; }},
    {{"status", "--url", "https://gate.example:1", "--ca-file", "c"},
     Command::status,
     [](const auto& i) { return i.url == "https://gate.example:1" && i.ca_file == "c"; }},
    {{"login"}, Command::login, [](const auto&) { return true; }},
    {{"token", "new"}, Command::token_new, [](const auto&) { return true; }},
};

std::string line(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += " " + word;
  return out;
}

TEST(CommandLine, EveryVerbIsUnderstood) {
  for (const Case& one : kGood) {
    const Parsed parsed = parse_command_line(one.words);
    ASSERT_TRUE(parsed.invocation) << line(one.words) << ": " << parsed.err;
    EXPECT_EQ(parsed.invocation->command, one.command) << line(one.words);
    EXPECT_TRUE(one.holds(*parsed.invocation)) << line(one.words);
  }
}

TEST(CommandLine, WrongLinesAreRefusedWithARemedy) {
  const std::vector<std::pair<Words, std::string>> bad{
      {{"serv"}, "did you mean `serve`?"},
      {{"aprovals", "list"}, "did you mean `approvals`?"},
      {{"approvals", "lits"}, "did you mean `approvals list`?"},
      {{"approvals"}, "needs one of: list, watch, show, approve, deny, revoke"},
      {{"grants"}, "needs one of: list, revoke"},
      {{"doctor"}, "there is no command"},
      {{"lnt"}, "there is no command"},
      {{"policy", "rehearse"}, "there is no command"},
      {{"approvals", "show"}, "ID"},
      {{"approvals", "show", "a", "b"}, "b"},
      {{"call", "files"}, "TOOL"},
      {{"operations", "resolve", "op_1", "maybe", "--reason", "x"}, "maybe"},
      {{"operations", "resolve", "op_1", "none"}, "--reason"},
      {{"approvals", "list", "--limit", "0"}, "0"},
      {{"approvals", "list", "--only", "/var/lib/sallyport"}, "/var/lib/sallyport"},
      {{"operations", "list", "--only", "lost"}, "lost"},
      {{"approvals", "list", "--limit", "1001"}, "1001"},
      {{"serve", "--port", "70000"}, "70000"},
      {{"serve", "--log", "xml"}, "xml"},
      {{"serve", "--idle-exit", "soon"}, "no duration"},
      {{"serve", "--observe"}, "--observe"},
      {{"wrap"}, "after `--`"},
      {{"wrap", "npx"}, "npx"},
      {{"stop", "--all"}, "--reason"},
      {{"stop", "--tool", "t", "--reason", "r"}, "--server"},
      {{"stop", "--principal", "p", "--server", "s", "--reason", "r"}, "one thing"},
      {{"stop", "--all", "--server", "s", "--reason", "r"}, "nothing else"},
      {{"stop", "st_1"}, "--lift"},
      {{"stop", "--lift"}, "what to lift"},
      {{"init"}, "FILE"},
      {{"reload", "tools"}, "tools"},
      {{"status", "--unknown"}, "--unknown"},
      {{"--config"}, ""},
      {{}, "Usage"},
  };
  for (const auto& [words, expected] : bad) {
    const Parsed parsed = parse_command_line(words);
    EXPECT_FALSE(parsed.invocation) << line(words);
    EXPECT_EQ(parsed.exit_code, 2) << line(words);
    EXPECT_TRUE(parsed.out.empty()) << line(words);
    EXPECT_TRUE(parsed.err.contains(expected)) << line(words) << ": " << parsed.err;
  }
}

TEST(CommandLine, HelpOfEveryVerbHasExamples) {
  for (const Case& one : kGood) {
    Words words{one.words[0] == "--json" || one.words[0] == "--config" ? one.words[one.words[0] == "--json" ? 1 : 2]
                                                                       : one.words[0]};
    const bool group = words[0] == "trust" || words[0] == "policy" || words[0] == "approvals" || words[0] == "grants" ||
                       words[0] == "operations" || words[0] == "receipts" || words[0] == "token";
    if (group)
      words.push_back(one.words[0] == "--json" ? one.words[2] : one.words[1] == "--json" ? one.words[2] : one.words[1]);
    words.emplace_back("--help");
    const Parsed parsed = parse_command_line(words);
    EXPECT_EQ(parsed.exit_code, 0) << line(words) << parsed.err;
    EXPECT_TRUE(parsed.out.contains("Examples:\n  sallyport ")) << line(words) << parsed.out;
    EXPECT_FALSE(parsed.invocation);
  }
}

TEST(CommandLine, HelpAndVersionGoToStandardOutput) {
  const Parsed help = parse_command_line({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_TRUE(help.out.contains("approvals"));
  EXPECT_TRUE(help.out.contains("Exit codes: 0 yes, 1 no, 2 could not"));
  for (const char* absent : {"doctor", "--observe", "client-started"})
    EXPECT_FALSE(help.out.contains(absent)) << absent;
  EXPECT_TRUE(parse_command_line({"approvals", "--help"}).out.contains("watch"));
  const Parsed version = parse_command_line({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out, std::string("sallyport ") + SALLYPORT_VERSION + "\n");
}

}  // namespace
}  // namespace sallyport::gateway::cli
