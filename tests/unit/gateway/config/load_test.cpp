#include "gateway/config/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"
#include "tests/unit/gateway/config/fake_files.hpp"

namespace sallyport::gateway {
namespace {

const std::string kHashA(64, 'a');
const std::string kHashB(64, 'b');
const std::string kHashC(64, 'c');

// The config of design section 4, with digests that have their form.
std::string whole_config() {
  return R"({
  "mcpServers": {                      // the block of the clients
    "files":  { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "${project}"], "sallyport": { "shared": false, "era": "auto" } },
    "orders": { "type": "http", "url": "https://orders.example/mcp", "headers": { "Authorization": { "file": "orders.token" } } },
    "export": { "command": "export-worker" }
  },
  "vars":    { "project": "/home/me/project" },
  "listen":  { "address": "127.0.0.1", "port": 8720 },   // clients
  "control": { "address": "127.0.0.1", "port": 8721 },   // people
  "clients": [ { "id": "agent:ci", "tokenSha256": ")" +
         kHashA + R"(", "groups": ["agents", "support"], "owner": "user:dana", "hold": "45s" } ],
  "people":  [ { "id": "user:dana", "tokenSha256": ")" +
         kHashB + R"(", "roles": ["approver", "operator"], "groups": ["owners", "payments"] },
               { "id": "user:kim", "tokenSha256": ")" +
         kHashC + R"(", "roles": ["approver"], "groups": ["payments"] } ],
  "trust": "trust.jsonc", "policy": "policy.jsonc", "state": "state", "receipts": { "anchor": { "file": "/mnt/other/anchor" }, "retention": "400d" },
  "limits": { "messageBytes": 4194304, "resultBytes": 33554432, "depth": 128, "sessions": 10000, "children": 64, "waitingApprovals": 1000 },
})";
}

class LoadSettings : public testing::Test {
 protected:
  LoadedSettings load(std::string text) {
    SettingsRequest request;
    request.file = "/etc/sp/sallyport.jsonc";
    request.default_state = "/var/lib/sallyport";
    files_.files[request.file] = std::move(text);
    return load_settings(request, environment_of(environment_), files_);
  }
  std::vector<std::string> lines(const LoadedSettings& loaded) {
    std::vector<std::string> lines;
    for (const Fault& fault : loaded.faults) lines.push_back(to_text(fault));
    return lines;
  }
  std::string all_lines(const LoadedSettings& loaded) {
    std::string text;
    for (const std::string& line : lines(loaded)) text += line + "\n";
    return text;
  }
  // The settings of a text that must be without errors.
  Settings good(std::string text) {
    LoadedSettings loaded = load(std::move(text));
    EXPECT_TRUE(loaded.settings) << all_lines(loaded);
    return loaded.settings ? *loaded.settings : Settings();
  }
  // The one error of a text.
  std::string error(std::string text) {
    const LoadedSettings loaded = load(std::move(text));
    EXPECT_FALSE(loaded.settings);
    std::string found;
    for (const Fault& fault : loaded.faults) {
      if (fault.level == Fault::Level::error) found += (found.empty() ? "" : "\n") + fault.message;
    }
    return found;
  }

  FakeFiles files_;
  std::map<std::string, std::string> environment_{{"HOME", "/home/me"}, {"KEY", "s3cret"}, {"EMPTY", ""}};
};

TEST_F(LoadSettings, TakesTheExampleOfTheDesign) {
  const Settings settings = good(whole_config());
  ASSERT_EQ(settings.servers.size(), 3U);
  const ServerSettings& files = settings.servers.at("files");
  EXPECT_EQ(files.transport, ServerSettings::Transport::stdio);
  EXPECT_EQ(files.command, "npx");
  EXPECT_EQ(files.args.back(), "/home/me/project");
  const ServerSettings& orders = settings.servers.at("orders");
  EXPECT_EQ(orders.transport, ServerSettings::Transport::http);
  EXPECT_EQ(orders.headers.at("Authorization").kind, SecretSource::Kind::file);
  EXPECT_EQ(orders.headers.at("Authorization").path, "/etc/sp/orders.token");
  ASSERT_EQ(settings.clients.size(), 1U);
  EXPECT_EQ(settings.clients[0].owner, "user:dana");
  EXPECT_EQ(settings.clients[0].hold, std::chrono::seconds(45));
  ASSERT_EQ(settings.people.size(), 2U);
  EXPECT_TRUE(settings.people[0].person.has(Role::operator_));
  EXPECT_FALSE(settings.people[1].person.has(Role::operator_));
  EXPECT_EQ(settings.trust_files, std::vector<std::string>{"/etc/sp/trust.jsonc"});
  EXPECT_EQ(settings.policy_files, std::vector<std::string>{"/etc/sp/policy.jsonc"});
  EXPECT_EQ(settings.lock_file, "/etc/sp/trust.lock.json");
  EXPECT_EQ(settings.state_dir, "/etc/sp/state");
  EXPECT_EQ(settings.anchor_file, "/mnt/other/anchor");
  EXPECT_EQ(settings.retention, std::chrono::hours(400 * 24));
  EXPECT_FALSE(settings.anonymous);
}

TEST_F(LoadSettings, HasTheDefaultsOfTheDesign) {
  const Settings settings = good("{}");
  EXPECT_EQ(settings.listen.address, "127.0.0.1");
  EXPECT_EQ(settings.listen.port, 8720);
  EXPECT_EQ(settings.control.port, 8721);
  EXPECT_EQ(settings.state_dir, "/var/lib/sallyport");
  EXPECT_EQ(settings.retention, std::chrono::hours(400 * 24));
  EXPECT_EQ(settings.limits.message_bytes, 4U << 20);
  EXPECT_TRUE(settings.trust_files.empty());
}

TEST_F(LoadSettings, NamesFiveFaultsAtOnceWithTheirPlaces) {
  const LoadedSettings loaded = load(R"({
  "mcpServers": { "a": { "comand": "x", "command": "y" },
                  "b": { "url": "http://orders.example/mcp" } },
  "listen": { "adress": "127.0.0.1" },
  "clients": [ { "id": "agent:ci", "tokenSha256": "my-token" } ],
  "receipts": { "retention": "10 years" }
})");
  EXPECT_FALSE(loaded.settings);
  const auto all = lines(loaded);
  ASSERT_EQ(all.size(), 5U) << all_lines(loaded);
  EXPECT_EQ(all[0], "/etc/sp/sallyport.jsonc:2:26: error: unknown member `comand`: did you mean `command`?");
  EXPECT_EQ(all[1].find(
                "/etc/sp/sallyport.jsonc:3:33: error: `http://orders.example/mcp` goes over the network in plain http"),
            0U);
  EXPECT_EQ(all[2], "/etc/sp/sallyport.jsonc:4:15: error: unknown member `adress`: did you mean `address`?");
  EXPECT_EQ(all[3].find("/etc/sp/sallyport.jsonc:5:51: error: this is no SHA-256"), 0U);
  EXPECT_EQ(all[3].find("my-token"), std::string::npos);
  EXPECT_EQ(all[4].find("/etc/sp/sallyport.jsonc:6:30: error: `10 years` is no duration"), 0U);
}

// Every member of the whole example, one at a time.
void each_member(json::Value value, const std::function<void(json::Member)>& visit) {
  for (const json::Member member : value.members()) {
    visit(member);
    each_member(member.value, visit);
  }
  for (const json::Value one : value.elements()) each_member(one, visit);
}

TEST_F(LoadSettings, RefusesEveryMisspeltMemberWithASuggestion) {
  const std::string text = whole_config();
  const auto document = json::Document::parse(text, {.comments = true}).value();
  int tried = 0;
  each_member(document.root(), [&](json::Member member) {
    const std::string pointer = member.value.pointer();
    const bool free_name =
        pointer.starts_with("/vars/") || pointer.ends_with("/Authorization") ||
        (pointer.starts_with("/mcpServers/") && std::count(pointer.begin(), pointer.end(), '/') == 2);
    if (free_name) return;
    std::string name = member.name();
    std::string changed = text;
    name.insert(name.size() / 2, "q");
    changed.replace(member.key.offset(), member.key.raw().size(), quote(name));
    const LoadedSettings loaded = load(changed);
    EXPECT_FALSE(loaded.settings) << pointer;
    const std::string wanted = "unknown member `" + name + "`: did you mean `" + member.name() + "`?";
    EXPECT_NE(all_lines(loaded).find(wanted), std::string::npos) << pointer << "\n" << all_lines(loaded);
    ++tried;
  });
  EXPECT_GT(tried, 35);
}

// Whatever is cut out or put in, loading answers; and it says where, whenever it refuses.
TEST_F(LoadSettings, SurvivesEveryMemberDroppedAndEveryValueReplaced) {
  const std::string text = whole_config();
  const auto document = json::Document::parse(text, {.comments = true}).value();
  const std::vector<std::string> others{"null",
                                        "0",
                                        "-1",
                                        "1e400",
                                        "\"\"",
                                        "\"${NOT_SET}\"",
                                        "\"\\u0000\"",
                                        "[]",
                                        "{}",
                                        "[[]]",
                                        "[{}]",
                                        "{\"a\": {}}",
                                        "99999999999999999999",
                                        "true",
                                        "\"\xF0\x9F\x92\xA3\""};
  std::size_t turn = 0;
  each_member(document.root(), [&](json::Member member) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::string changed = text;
      changed.replace(member.value.offset(), member.value.raw().size(), others[turn++ % others.size()]);
      const LoadedSettings loaded = load(changed);
      EXPECT_EQ(loaded.settings.has_value(), !has_errors(loaded.faults));
    }
    std::string dropped = text;
    const std::size_t end = member.value.offset() + member.value.raw().size();
    std::fill(dropped.begin() + static_cast<std::ptrdiff_t>(member.key.offset()),
              dropped.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    const LoadedSettings loaded = load(dropped);
    EXPECT_EQ(loaded.settings.has_value(), !has_errors(loaded.faults));
  });
}

TEST_F(LoadSettings, SurvivesTextCutAnywhere) {
  const std::string text = whole_config();
  for (std::size_t size = 0; size < text.size() - 3; size += 7) {
    const LoadedSettings loaded = load(text.substr(0, size));
    ASSERT_FALSE(loaded.settings);
    ASSERT_EQ(loaded.faults.size(), 1U);
  }
}

TEST_F(LoadSettings, SaysWhereTheTextBreaks) {
  const auto all = lines(load("{\n  \"listen\": {]\n}"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].find("/etc/sp/sallyport.jsonc:2:14: error: "), 0U) << all[0];
}

TEST_F(LoadSettings, TakesAByteOrderMarkAndNamesOtherEncodings) {
  good("\xEF\xBB\xBF{}");
  EXPECT_EQ(error(std::string("\xFF\xFE{\0}\0", 6)), "the file is UTF-16: save it as UTF-8");
  EXPECT_EQ(error(" \n"), "the file is empty: write at least {}");
}

TEST_F(LoadSettings, RefusesAFileThatOthersMayWrite) {
  files_.writers["/etc/sp/sallyport.jsonc"] = "may be written by everybody: `chmod go-w` it";
  EXPECT_EQ(error("{}"), "the file may be written by everybody: `chmod go-w` it");
}

TEST_F(LoadSettings, RefusesAMissingFile) {
  SettingsRequest request;
  request.file = "/nowhere";
  const LoadedSettings loaded = load_settings(request, environment_of({}), files_);
  EXPECT_FALSE(loaded.settings);
  EXPECT_EQ(loaded.faults.size(), 1U);
}

TEST_F(LoadSettings, RefusesDuplicateMembers) {
  EXPECT_NE(error(R"({"listen": {"port": 1}, "listen": {"port": 2}})").find("stands twice"), std::string::npos);
}

TEST_F(LoadSettings, ReplacesVariablesOfTheFileThenOfTheEnvironment) {
  const Settings settings = good(R"({"vars": {"HOME": "/v", "p": "${HOME}/x"},
    "mcpServers": {"a": {"command": "run", "args": ["${HOME}", "${env:HOME}", "${p}", "${NONE:-d}", "${EMPTY:-e}", "$HOME $${HOME} 5$"],
                         "env": {"TOKEN": "${KEY}"}}}})");
  const ServerSettings& server = settings.servers.at("a");
  EXPECT_EQ(server.args, (std::vector<std::string>{"/v", "/home/me", "/home/me/x", "d", "e", "$HOME ${HOME} 5$"}));
  EXPECT_EQ(server.env.at("TOKEN").reveal(), "s3cret");
  EXPECT_TRUE(server.problem.empty());
}

TEST_F(LoadSettings, SetsAsideOnlyTheServerWhoseVariableIsNotSet) {
  const LoadedSettings loaded = load(R"({"mcpServers": {"a": {"command": "x", "env": {"T": "${NOT_SET}"}},
    "b": {"command": "y"}, "c": {"url": "${NOT_SET}"}, "d": {"url": "https://x.example", "headers": {"A": "Bearer ${env:NOT_SET}"}},
    "e": {"command": "z", "args": ["${input:key}"]}, "f": {"command": "z", "cwd": "${workspaceFolder}"},
    "g": {"command": "z", "timeout": "${NOT_SET}"}}})");
  ASSERT_TRUE(loaded.settings) << all_lines(loaded);
  for (const char* id : {"a", "c", "d", "e", "f", "g"})
    EXPECT_FALSE(loaded.settings->servers.at(id).problem.empty()) << id;
  EXPECT_EQ(loaded.settings->servers.at("a").problem,
            "the variable `NOT_SET` is not set: set it under `vars` or in the environment");
  EXPECT_TRUE(loaded.settings->servers.at("b").problem.empty());
  EXPECT_EQ(loaded.faults.size(), 6U);
}

TEST_F(LoadSettings, RefusesAnUnsetVariableElsewhere) {
  EXPECT_NE(error(R"({"state": "${NOT_SET}/state"})").find("`NOT_SET` is not set"), std::string::npos);
  EXPECT_NE(error(R"({"vars": {"a": "1", "b": "${a}"}})").find("`a` is not set"), std::string::npos);
}

TEST_F(LoadSettings, NeverSaysAValueOfTheEnvironment) {
  environment_["URL"] = "ftp://user:CANARY@host/?t=CANARY";
  environment_["PLAIN"] = "http://CANARY.example/";
  environment_["BREAK"] = "CANARY\nX: y";
  const LoadedSettings loaded = load(R"({"mcpServers": {"a": {"url": "${URL}"}, "b": {"url": "${PLAIN}"},
    "c": {"url": "https://x.example/", "headers": {"A": "${BREAK}"}}, "d": {"url": "https://x.example/?k=CANARY#f"}}})");
  EXPECT_FALSE(loaded.settings);
  EXPECT_GE(loaded.faults.size(), 4U);
  EXPECT_EQ(all_lines(loaded).find("CANARY"), std::string::npos) << all_lines(loaded);
}

TEST_F(LoadSettings, TakesVsCodesBlockAndWhatClientsAdd) {
  const LoadedSettings loaded = load(R"({"inputs": [{"id": "key", "type": "promptString"}],
    "servers": {"a": {"type": "stdio", "command": "x", "gallery": true, "version": "1", "dev": {"watch": "*"}, "timeout": 60},
                "b": {"type": "streamable-http", "url": "https://b.example/mcp", "timeout": 600000},
                "c": {"type": "sse", "url": "https://c.example/sse"}}})");
  ASSERT_TRUE(loaded.settings) << all_lines(loaded);
  EXPECT_EQ(loaded.settings->servers.at("a").timeout, std::chrono::seconds(60));
  EXPECT_EQ(loaded.settings->servers.at("b").timeout, std::chrono::minutes(10));
  EXPECT_NE(loaded.settings->servers.at("c").problem.find("`sse` is not spoken here"), std::string::npos);
}

TEST_F(LoadSettings, IgnoresWhatGrantsWithAWarning) {
  const LoadedSettings loaded =
      load(R"({"mcpServers": {"a": {"command": "x", "autoApprove": ["t"], "alwaysAllow": [], "trust": true}}})");
  ASSERT_TRUE(loaded.settings);
  ASSERT_EQ(loaded.faults.size(), 3U);
  for (const Fault& fault : loaded.faults) EXPECT_EQ(fault.level, Fault::Level::warning);
}

TEST_F(LoadSettings, SaysWhatToDoAboutMembersOfClientsThatItDoesNotKnow) {
  EXPECT_EQ(error(R"({"mcpServers": {"a": {"command": "x", "disabledTools": ["t"]}}})"),
            "unknown member `disabledTools`: write a deny rule with \"hide\": true for these tools in the policy file");
  EXPECT_EQ(error(R"({"mcpServers": {"a": {"command": "x", "shared": true}}})"),
            "unknown member `shared`: write it under `sallyport`");
}

TEST_F(LoadSettings, RefusesServersThatContradictThemselves) {
  EXPECT_NE(error(R"({"mcpServers": {"a": {}}})").find("neither `command` nor `url`"), std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x", "url": "https://a.example"}}})").find("leave one out"),
            std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x", "type": "http"}}})").find("does not go with `command`"),
            std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x", "type": "tcp"}}})").find("no type of server"),
            std::string::npos);
  EXPECT_NE(
      error(R"({"mcpServers": {"a": {"url": "https://a.example", "env": {}}}})").find("`env` does not go with `url`"),
      std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}})")
                .find("in `mcpServers` too"),
            std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a/b": {"command": "x"}}})").find("holds a `/`"), std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a*": {"command": "x"}}})").find("holds a `*`"), std::string::npos);
  EXPECT_NE(error("{\"mcpServers\": {\"a\xE2\x80\x8B\": {\"command\": \"x\"}}}").find("cannot be seen"),
            std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x", "sallyport": {"shared": true, "isolate": "session"}}}})")
                .find("contradict"),
            std::string::npos);
  EXPECT_NE(error(R"({"mcpServers": {"a": {"command": "x", "sallyport": {"spki": true}}}})").find("about certificates"),
            std::string::npos);
}

TEST_F(LoadSettings, RefusesHeadersThatAreTheGatewaysOrBreakTheFrame) {
  const auto with = [&](const std::string& header) {
    return error(R"({"mcpServers": {"a": {"url": "https://a.example", "headers": {)" + header + "}}}}");
  };
  EXPECT_NE(with(R"("Mcp-Session-Id": "x")").find("is set by the gateway"), std::string::npos);
  EXPECT_NE(with(R"("content-LENGTH": "x")").find("is set by the gateway"), std::string::npos);
  EXPECT_NE(with(R"("A b": "x")").find("is no header name"), std::string::npos);
  EXPECT_NE(with(R"("X": "x", "x": "y")").find("stands twice"), std::string::npos);
  EXPECT_NE(with(R"("X": {})").find("write one of them"), std::string::npos);
  const Settings settings =
      good(R"({"mcpServers": {"a": {"url": "http://127.0.0.1:8/mcp", "headers": {"X": {"command": ["./t", "-q"]}}}}})");
  EXPECT_EQ(settings.servers.at("a").headers.at("X").command, (std::vector<std::string>{"/etc/sp/t", "-q"}));
}

TEST_F(LoadSettings, ReadsEnvFilesAndLetsEnvWin) {
  files_.files["/etc/sp/a.env"] = "A=1\nexport B='two'\n";
  Settings settings =
      good(R"({"mcpServers": {"a": {"command": "./srv", "envFile": "a.env", "env": {"A": "9"}, "cwd": "w"}}})");
  const ServerSettings& server = settings.servers.at("a");
  EXPECT_EQ(server.env.at("A").reveal(), "9");
  EXPECT_EQ(server.env.at("B").reveal(), "two");
  EXPECT_EQ(server.command, "/etc/sp/srv");
  EXPECT_EQ(server.cwd, "/etc/sp/w");
  EXPECT_FALSE(good(R"({"mcpServers": {"a": {"command": "x", "envFile": "none"}}})").servers.at("a").problem.empty());
  files_.writers["/etc/sp/a.env"] = "may be written by everybody";
  EXPECT_FALSE(good(R"({"mcpServers": {"a": {"command": "x", "envFile": "a.env"}}})").servers.at("a").problem.empty());
}

TEST_F(LoadSettings, RefusesATokenThatOccursTwice) {
  const std::string text = R"({"clients": [{"id": "a", "tokenSha256": ")" + kHashA + R"("}],
 "people": [{"id": "p", "tokenSha256": ")" +
                           std::string(64, 'A') + R"(", "roles": ["auditor"]}]})";
  EXPECT_NE(error(text).find("this token is given to somebody else in line"), std::string::npos);
  EXPECT_NE(
      error(
          R"({"clients": [{"id": "a", "tokenSha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]})")
          .find("the empty token"),
      std::string::npos);
}

TEST_F(LoadSettings, RefusesIdsThatAreTakenReservedOrUnknown) {
  const auto client = [](const std::string& id, const std::string& hash, const std::string& more = "") {
    return R"({"id": ")" + id + R"(", "tokenSha256": ")" + hash + "\"" + more + "}";
  };
  EXPECT_NE(error("{\"clients\": [" + client("a", kHashA) + "," + client("a", kHashB) + "]}")
                .find("the id `a` is given in line 1"),
            std::string::npos);
  EXPECT_NE(error("{\"clients\": [" + client("gateway", kHashA) + "]}").find("the gateway's own"), std::string::npos);
  EXPECT_NE(error("{\"clients\": [" + client("local:0", kHashA) + "]}").find("the gateway's own"), std::string::npos);
  EXPECT_NE(
      error("{\"clients\": [" + client("a", kHashA, ", \"owner\": \"ownr\"") + "]}").find("did you mean `owner`?"),
      std::string::npos);
  EXPECT_NE(error("{\"people\": [" + client("p", kHashA, ", \"roles\": [\"auditor\"], \"groups\": [\"p\"]") + "]}")
                .find("rename the group"),
            std::string::npos);
  EXPECT_NE(error("{\"clients\": [" + client("a", kHashA, ", \"groups\": [\"g\", \"g\"]") + "]}").find("stands twice"),
            std::string::npos);
}

TEST_F(LoadSettings, RefusesPlainHttpOffLoopback) {
  EXPECT_NE(error(R"({"listen": {"address": "0.0.0.0"}})").find("plain http is refused"), std::string::npos);
  EXPECT_NE(error(R"({"control": {"address": "192.168.1.2"}})").find("plain http is refused"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"address": "::"}})").find("plain http is refused"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"certificate": "c.pem"}})").find("`certificate` needs `key`"), std::string::npos);
  const Settings settings = good(
      R"({"listen": {"address": "0.0.0.0", "certificate": "c.pem", "key": "/k.pem"}, "control": {"address": "[::1]"}})");
  EXPECT_EQ(settings.listen.certificate, "/etc/sp/c.pem");
  EXPECT_EQ(settings.control.address, "::1");
  EXPECT_NE(error(R"({"mcpServers": {"a": {"url": "http://10.0.0.1/mcp"}}})").find("plain http"), std::string::npos);
}

TEST_F(LoadSettings, JudgesAddressesHostsAndOrigins) {
  EXPECT_NE(error(R"({"listen": {"address": "example.org"}})").find("is no IP address"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"port": 9}, "control": {"port": 9}})").find("the same port 9"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"allowedOrigins": ["https://a.example/"]}})").find("is no origin"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"allowedOrigins": ["*"]}})").find("is no origin"), std::string::npos);
  EXPECT_NE(error(R"({"listen": {"allowedHosts": ["a.example/x"]}})").find("is no host"), std::string::npos);
  const Settings settings = good(
      R"({"listen": {"allowedOrigins": ["https://a.example", "http://localhost:3000"], "allowedHosts": ["a.example", "b.example:8443"]}})");
  EXPECT_EQ(settings.listen.allowed_origins.size(), 2U);
  EXPECT_EQ(settings.listen.allowed_hosts.size(), 2U);
}

TEST_F(LoadSettings, KeepsThePlaceOfInlineTrustAndPolicy) {
  const Settings settings = good("{\n  \"policy\": { // mine\n    \"default\": \"deny\" } }");
  EXPECT_EQ(settings.policy_inline, "\n            { // mine\n    \"default\": \"deny\" }");
  EXPECT_EQ(settings.policy_files.size(), 0U);
  EXPECT_NE(error(R"({"policy": ["a", "./a"]})").find("stands twice"), std::string::npos);
  EXPECT_NE(error(R"({"trust": "~/t"})").find("write ${HOME}"), std::string::npos);
}

TEST_F(LoadSettings, WarnsOfAnAnchorThatTheGatewayCanRewrite) {
  const LoadedSettings loaded = load(R"({"state": "s", "receipts": {"anchor": {"file": "s/anchor"}}})");
  ASSERT_TRUE(loaded.settings);
  ASSERT_EQ(loaded.faults.size(), 1U);
  EXPECT_EQ(loaded.faults[0].level, Fault::Level::warning);
  EXPECT_NE(error(R"({"receipts": {"anchor": {"file": "/a", "command": ["b"]}}})").find("write one of them"),
            std::string::npos);
}

TEST_F(LoadSettings, LetsFlagsWinAndInlineTextCountFromItsFolder) {
  SettingsRequest request;
  request.text = R"({"mcpServers": {"a": {"command": "./x"}}, "state": "s"})";
  request.base = "/work";
  request.state = "/flag/state";
  request.port = 0;
  const LoadedSettings loaded = load_settings(request, environment_of({}), files_);
  ASSERT_TRUE(loaded.settings);
  EXPECT_EQ(loaded.settings->servers.at("a").command, "/work/x");
  EXPECT_EQ(loaded.settings->state_dir, "/flag/state");
  EXPECT_EQ(loaded.settings->lock_file, "/flag/state/trust.lock.json");
  EXPECT_EQ(loaded.settings->listen.port, 0);
}

}  // namespace
}  // namespace sallyport::gateway
