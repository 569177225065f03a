#include "gateway/config/check.hpp"

#include <gtest/gtest.h>

#include "gateway/config/starter.hpp"
#include "tests/unit/gateway/config/fake_files.hpp"

namespace sallyport::gateway {
namespace {

// A lock with these tools accepted, as the machine writes it.
std::string lock_of(const std::map<std::string, std::vector<std::string>>& servers) {
  trust::LockFile lock;
  for (const auto& [id, tools] : servers) {
    trust::LockServer& server = lock.servers[id];
    server.identity = {
        .kind = trust::Identity::Kind::command, .command = "/bin/" + id, .digest = "sha256:" + std::string(64, 'd')};
    server.era = "2025-11-25";
    for (const std::string& tool : tools) {
      auto document = json::Document::parse(tool);
      if (!document) throw std::runtime_error(document.error().message);
      auto accepted = trust::make_accepted(document->root(), {}, "owner", 1000);
      if (!accepted) throw std::runtime_error(accepted.error().message);
      server.tools[document->root().find("name").string()].push_back(std::move(*accepted));
    }
  }
  return trust::print(lock);
}

std::string tool(const std::string& name, const std::string& properties, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "inputSchema": {"type": "object", "properties": {)" + properties + "}}" + more +
         "}";
}

std::string design_lock() {
  const std::string text = R"("type": "string")";
  return lock_of({{"files",
                   {tool("read_file", R"("path": {)" + text + "}", R"(, "annotations": {"readOnlyHint": true})"),
                    tool("write_file", R"("path": {)" + text + R"(}, "content": {)" + text + "}"),
                    tool("edit_file", R"("path": {)" + text + R"(}, "dryRun": {"type": "boolean"})")}},
                  {"orders",
                   {tool("get_order", R"("request_id": {)" + text + "}"),
                    tool("create_order", R"("customer_id": {)" + text +
                                             R"(}, "amount": {"type": "number"}, "request_id": {)" + text + "}"),
                    tool("refund", R"("order_id": {)" + text + R"(}, "amount": {"type": "number"}, "currency": {)" +
                                       text + R"(}, "note": {)" + text + "}")}},
                  {"export",
                   {tool("check_config", "",
                         R"(, "outputSchema": {"type": "object", "properties": {"passed": {"type": "boolean"}}})"),
                    tool("queue_export", "")}}});
}

constexpr std::string_view kConfig = R"({
  "mcpServers": { "files": { "command": "npx" }, "orders": { "url": "https://orders.example/mcp" }, "export": { "command": "export-worker" } },
  "vars": { "project": "/home/me/project" },
  "clients": [ { "id": "agent:ci", "tokenSha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "groups": ["agents", "support"] } ],
  "people": [ { "id": "user:dana", "tokenSha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "roles": ["approver"], "groups": ["owners", "payments"] } ],
  "trust": "trust.jsonc", "policy": "policy.jsonc", "state": "state" })";

// trust.jsonc of design section 4.
constexpr std::string_view kTrust = R"({ "servers": {
  "files": { "trustHints": { "permission": ["readOnlyHint"], "retry": ["idempotentHint"] },
    "tools": {
      "*":          { "paths": ["/path", "/paths/*", "/source", "/destination"], "errors": "none" },
      "write_file": { "effect": "file", "paths": ["/path"], "scope": "{/path}", "errors": "none" },
      "edit_file":  { "effect": "file", "paths": ["/path"], "scope": "{/path}", "errors": "none", "cases": [ { "when": { "dryRun": true }, "effect": "read" } ] } } },
  "orders": { "passes": ["elicitation"], "onDrift": "quarantine",
    "tools": {
      "get_*": "read",
      "create_order": {
        "effect": "record", "destructive": false, "labels": ["money"], "scope": "orders/{/customer_id}",
        "repeat": "keyed", "idempotencyKey": { "argument": "/request_id" }, "retention": "24h",
        "deadline": "10s", "attempts": 3, "errors": { "none": { "http": [401, 403, 429], "codes": [-32601] }, "transient": { "http": [503] } },
        "lookup": { "tool": "get_order", "arguments": { "request_id": { "from": "key" } }, "applied": { "status": ["paid", "open"] }, "notFound": "unknown" },
        "says": "Order for customer {/customer_id}", "record": { "arguments": ["/customer_id", "/amount"], "result": ["/id"] } } } } } })";

// policy.jsonc of design section 4.
constexpr std::string_view kPolicy =
    R"({ "default": "ask", "approval": { "by": ["owners"], "expires": "1h", "quorum": 1 },
  "rules": [
    { "id": "reads",    "allow":   { "effect": "read" } },
    { "id": "no-env",   "deny":    { "server": "files", "paths": { "pattern": "(.*/)?\\.env.*" } }, "message": "Files named .env are off limits." },
    { "id": "project",  "allow":   { "server": "files", "effect": "file", "paths": { "pathWithin": "${project}" } } },
    { "id": "refunds",  "ask":     { "server": "orders", "tool": "refund" }, "approval": { "by": ["payments"], "notOwner": true },
                        "allowIf": [ { "group": "support", "arguments": { "order_id": {}, "amount": { "exclusiveMinimum": 0, "maximum": 50 }, "currency": "EUR", "note?": {} } } ] },
    { "id": "other",    "allow":   { "server": "files", "method": ["resources/read", "prompts/get", "completion/complete"] } },
    { "id": "fresh",    "require": { "server": "export", "tool": "queue_export" }, "evidence": { "tool": "check_config", "result": { "passed": true } } },
    { "id": "hooked",   "hook":    { "server": "orders" }, "url": "http://127.0.0.1:8181/v1/data/sallyport", "timeout": "300ms" } ],
  "budgets": [ { "id": "run", "per": "run", "requests": 50, "attempts": 60, "deadline": "10m" }, { "id": "refunds", "per": "principal", "window": "1h", "match": { "server": "orders", "tool": "refund" }, "sum": "/amount", "max": 500 }, { "id": "rate", "per": "principal", "rate": "10/s", "burst": 20 } ],
  "redact":  [ "/password" ],
  "tests":   [ { "call": { "principal": "agent:ci", "server": "files", "tool": "write_file", "arguments": { "path": "/home/me/project/a", "content": "x" } }, "verdict": "allow", "rules": ["project"] } ] })";

class CheckConfig : public testing::Test {
 protected:
  void SetUp() override {
    files_.files["/c/sallyport.jsonc"] = kConfig;
    files_.files["/c/trust.jsonc"] = kTrust;
    files_.files["/c/policy.jsonc"] = kPolicy;
    files_.files["/c/trust.lock.json"] = design_lock();
  }
  LoadedConfig load(bool strict = false, Former former = {}) {
    SettingsRequest request;
    request.former = std::move(former);
    request.file = "/c/sallyport.jsonc";
    request.default_state = "/state";
    return load_config(request, environment_of({}), files_, {.strict = strict});
  }
  static std::string text(const LoadedConfig& config) {
    std::string text;
    for (const Fault& fault : config.faults) text += to_text(fault) + "\n";
    return text;
  }
  void change(const std::string& file, std::string_view from, std::string_view to) {
    std::string& text = files_.files["/c/" + file];
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }

  FakeFiles files_;
};

TEST_F(CheckConfig, TakesTheFilesOfTheDesignTogether) {
  const LoadedConfig config = load(true);
  EXPECT_TRUE(config.ok()) << text(config);
  EXPECT_FALSE(has_errors(config.faults)) << text(config);
  ASSERT_TRUE(config.book);
  EXPECT_EQ(config.book->policy->rules.size(), 7U);
  EXPECT_EQ(config.book->trust->servers.size(), 2U);
  EXPECT_EQ(config.book->lock->servers.size(), 3U);
  EXPECT_TRUE(config.book->policy_digest.starts_with("sha256:"));
  EXPECT_TRUE(config.book->trust_digest.starts_with("sha256:"));
}

TEST_F(CheckConfig, NamesFiveFaultsOfFourFilesAtOnceInOrder) {
  change("sallyport.jsonc", "\"state\": \"state\"", "\"stat\": \"state\"");
  change("trust.jsonc", "\"onDrift\": \"quarantine\"", "\"onDrift\": \"quarantin\"");
  change("policy.jsonc", "\"pathWithin\"", "\"pathwithin\"");
  change("policy.jsonc", "\"tool\": \"refund\" }, \"approval\"", "\"tool\": \"refnd\" }, \"approval\"");
  files_.files["/c/more.jsonc"] = "{ \"default\": \"ask\",, }";
  change("sallyport.jsonc", "\"policy\": \"policy.jsonc\"", "\"policy\": [\"policy.jsonc\", \"more.jsonc\"]");
  const LoadedConfig config = load();
  EXPECT_FALSE(config.ok());
  EXPECT_FALSE(config.book);
  const std::string all = text(config);
  EXPECT_NE(all.find("sallyport.jsonc:6:69: error: unknown member `stat`: did you mean `state`?"), std::string::npos)
      << all;
  EXPECT_NE(all.find("trust.jsonc:7:53: error"), std::string::npos) << all;
  EXPECT_NE(all.find("policy.jsonc:5:86: error: unknown keyword `pathwithin`"), std::string::npos) << all;
  EXPECT_NE(all.find("policy.jsonc:6:66: error: unknown tool `refnd`"), std::string::npos) << all;
  EXPECT_NE(all.find("/c/more.jsonc:1:20: error: "), std::string::npos) << all;
  EXPECT_EQ(all.find("warning"), std::string::npos) << all;
  EXPECT_TRUE(std::is_sorted(config.faults.begin(), config.faults.end(),
                             [](const Fault& a, const Fault& b) { return a.file < b.file; }));
}

TEST_F(CheckConfig, SaysEachFaultOnce) {
  change("policy.jsonc", "\"rules\": [\n", "\"rulez\": [],\n \"rules\": [\n");
  const LoadedConfig config = load();
  std::size_t errors = 0;
  for (const Fault& fault : config.faults) errors += fault.level == Fault::Level::error ? 1 : 0;
  EXPECT_EQ(errors, 1U) << text(config);
}

TEST_F(CheckConfig, GoesOnWithoutTrustPolicyAndLock) {
  files_.files["/c/sallyport.jsonc"] = R"({"mcpServers": {"a": {"command": "x"}}})";
  files_.files.erase("/c/trust.lock.json");
  const LoadedConfig config = load();
  ASSERT_TRUE(config.ok()) << text(config);
  EXPECT_EQ(config.book->policy->default_verdict, Verdict::ask);
  EXPECT_TRUE(config.book->trust->servers.empty());
  EXPECT_TRUE(config.book->lock->empty());
}

TEST_F(CheckConfig, RefusesAFileThatIsNamedAndMissing) {
  files_.files.erase("/c/policy.jsonc");
  const LoadedConfig config = load();
  EXPECT_FALSE(config.book);
  EXPECT_NE(text(config).find("/c/policy.jsonc"), std::string::npos);
}

TEST_F(CheckConfig, KeepsTheBookWhenOnlyATestFails) {
  change("policy.jsonc", "\"verdict\": \"allow\"", "\"verdict\": \"deny\"");
  const LoadedConfig config = load();
  EXPECT_TRUE(config.book);
  EXPECT_FALSE(config.tests_ok);
  EXPECT_FALSE(config.ok());
  EXPECT_TRUE(has_errors(config.faults));
}

TEST_F(CheckConfig, ChecksTheConditionsOfTheTrustFile) {
  change("trust.jsonc", "\"dryRun\": true", "\"dryRun\": { \"minimun\": 1 }");
  change("trust.jsonc", "\"status\": [\"paid\", \"open\"]", "\"status\": { \"maxLength\": \"x\" }");
  const LoadedConfig config = load();
  EXPECT_FALSE(config.book);
  EXPECT_NE(text(config).find("trust.jsonc:6:120: error: `when`: "), std::string::npos) << text(config);
  EXPECT_NE(text(config).find("error: `applied`: "), std::string::npos) << text(config);
}

TEST_F(CheckConfig, WarnsOfContractsAboutWhatIsNotThere) {
  change("trust.jsonc", "\"write_file\"", "\"write_fle\"");
  change("trust.jsonc", "\"orders\": {", "\"ordrs\": {");
  change("policy.jsonc", "\"verdict\": \"allow\", \"rules\": [\"project\"]", "\"verdict\": \"ask\"");
  const LoadedConfig config = load();
  EXPECT_TRUE(config.book) << text(config);
  EXPECT_NE(text(config).find("warning: `files` has no accepted tool `write_fle`: did you mean `write_file`?"),
            std::string::npos)
      << text(config);
  EXPECT_NE(text(config).find("warning: the config has no server `ordrs`: did you mean `orders`?"), std::string::npos)
      << text(config);
}

TEST_F(CheckConfig, TakesCasesIntoAccountInTests) {
  change("policy.jsonc", "\"tests\":   [",
         R"("tests": [ { "call": { "principal": "agent:ci", "server": "files", "tool": "edit_file",
    "arguments": { "path": "/etc/x", "dryRun": true } }, "verdict": "allow", "rules": ["reads"] },)");
  const LoadedConfig config = load();
  EXPECT_TRUE(config.ok()) << text(config);
}

TEST_F(CheckConfig, ChangesThePolicyDigestWithTheVariablesThatItUses) {
  const std::string before = load().book->policy_digest;
  EXPECT_EQ(load().book->policy_digest, before);
  change("sallyport.jsonc", "/home/me/project", "/home/me/other");
  change("policy.jsonc", "/home/me/project/a", "/home/me/other/a");
  const LoadedConfig changed = load();
  ASSERT_TRUE(changed.book) << text(changed);
  EXPECT_NE(changed.book->policy_digest, before);
}

TEST_F(CheckConfig, TakesInlineRulesAndNamesTheirPlaceInTheConfig) {
  files_.files["/c/sallyport.jsonc"] = R"({ "mcpServers": { "a": { "command": "x" } },
  "trust": { "servers": { "a": { "tools": { "*": "read" } } } },
  "policy": { "rules": [ { "id": "r", "allow": { "efect": "read" } } ] } })";
  const LoadedConfig config = load();
  EXPECT_FALSE(config.book);
  EXPECT_NE(text(config).find("/c/sallyport.jsonc:3:50: error: "), std::string::npos) << text(config);
}

TEST_F(CheckConfig, TakesWhatInitWrites) {
  Starter starter;
  starter.vars["project"] = "/p";
  starter.servers.push_back(
      {.id = "files", .entry = "{ \"command\": \"npx\",\r\n  \"args\": [] }", .comment = "from\nClaude"});
  starter.servers.back().tools = {{.name = "read_file",
                                   .description = "Reads.\n} evil",
                                   .declared = {.read_only = true},
                                   .effect = EffectCategory::read},
                                  {.name = "write_file", .description = "\xE2\x80\xAEx", .declared = {}},
                                  {.name = "edit_file",
                                   .description = std::string(500, 'y'),
                                   .declared = {.destructive = true},
                                   .effect = EffectCategory::file}};
  starter.servers.push_back({.id = "orders", .entry = "{ \"url\": \"https://orders.example/mcp\" }"});
  starter.people.push_back(
      {.person = {.id = "owner", .roles = 15, .groups = {"owners"}}, .token_sha256 = std::string(64, 'a')});
  starter.clients.push_back(
      {.id = "client:local", .token_sha256 = std::string(64, 'b'), .groups = {"agents"}, .owner = "owner"});
  files_.files["/c/sallyport.jsonc"] = starter_settings(starter);
  files_.files["/c/trust.jsonc"] = starter_trust(starter);
  files_.files["/c/policy.jsonc"] = starter_policy(starter);
  const LoadedConfig config = load(true);
  EXPECT_TRUE(config.ok()) << text(config) << files_.files["/c/sallyport.jsonc"] << files_.files["/c/trust.jsonc"];
  EXPECT_FALSE(has_errors(config.faults));
  ASSERT_TRUE(config.settings);
  EXPECT_EQ(config.settings->people.size(), 1U);
  EXPECT_EQ(config.book->trust->server("files")->tools.size(), 2U);
  EXPECT_EQ(config.book->policy->rules.size(), 1U);
  EXPECT_TRUE(config.book->policy->approval.grants);
  EXPECT_EQ(files_.files["/c/trust.jsonc"].find("\xE2\x80\xAE"), std::string::npos);
}

TEST_F(CheckConfig, WritesAPolicyThatLoadsWhenNothingIsRated) {
  Starter starter;
  starter.servers.push_back({.id = "files", .entry = "{\"command\": \"x\"}", .tools = {{.name = "write_file"}}});
  files_.files["/c/sallyport.jsonc"] = starter_settings(starter);
  files_.files["/c/trust.jsonc"] = starter_trust(starter);
  files_.files["/c/policy.jsonc"] = starter_policy(starter);
  const LoadedConfig config = load(true);
  EXPECT_TRUE(config.ok()) << text(config);
  EXPECT_TRUE(config.book->policy->rules.empty());
}

// The schema and the reader of a file know the same members: with each misspelt in turn there is one error, and it
// suggests.
TEST_F(CheckConfig, RefusesEveryMisspeltMemberWithASuggestion) {
  for (const std::string file : {"trust.jsonc", "policy.jsonc"}) {
    const std::string whole = files_.files["/c/" + file];
    const auto document = json::Document::parse(whole, {.comments = true}).value();
    int tried = 0;
    std::vector<json::Value> open{document.root()};
    while (!open.empty()) {
      const json::Value value = open.back();
      open.pop_back();
      for (const json::Value one : value.elements()) open.push_back(one);
      for (const json::Member member : value.members()) {
        open.push_back(member.value);
        const std::string parent = value.pointer();
        const bool free_name = parent == "/servers" || parent.ends_with("/tools") || parent.ends_with("/arguments") ||
                               parent.ends_with("/when") || parent.ends_with("/applied") ||
                               parent.ends_with("/result") || parent.ends_with("/request_id");
        if (free_name) continue;
        std::string name = member.name();
        name.insert(name.size() / 2, "q");
        std::string changed = whole;
        changed.replace(member.key.offset(), member.key.raw().size(), "\"" + name + "\"");
        files_.files["/c/" + file] = changed;
        const LoadedConfig config = load();
        EXPECT_FALSE(config.ok());
        const std::string wanted = "`" + name + "`";
        const std::string all = text(config);
        const auto at = all.find(wanted);
        EXPECT_NE(at, std::string::npos) << member.value.pointer() << "\n" << all;
        EXPECT_NE(all.find("did you mean `" + member.name() + "`", at), std::string::npos)
            << member.value.pointer() << "\n"
            << all;
        ++tried;
      }
    }
    EXPECT_GT(tried, 20);
    files_.files["/c/" + file] = whole;
  }
}

// Said by `check` alone: a start would only repeat it.
TEST_F(CheckConfig, NamesContractsThatDeserveASecondLook) {
  files_.files["/c/trust.jsonc"] = R"({ "servers": { "orders": { "tools": {
    "create_*": { "effect": "record", "repeat": "safe", "scope": "x" } } } } })";
  const std::string all = text(load(true));
  EXPECT_NE(all.find("trust.jsonc:2:5: warning: `create_order`: it is destructive and repeating it is said to be safe"),
            std::string::npos)
      << all;
  EXPECT_EQ(text(load()).find("a lost answer is sent again"), std::string::npos);
}

// A value that no record may show must not be made into a name that stands in every record.
TEST_F(CheckConfig, RefusesScopesAndKeysOfWhatIsHidden) {
  for (const std::string_view hidden : {"/customer_id", "/*", "/customer_id/deep", "/request_id"}) {
    SetUp();
    change("policy.jsonc", "/password", hidden);
    const LoadedConfig config = load();
    EXPECT_TRUE(has_errors(config.faults)) << hidden;
    const bool key = hidden == "/request_id";
    EXPECT_NE(text(config).find(key ? "`idempotencyKey` names `/request_id`, which `redact` hides"
                                    : "`scope` names `/customer_id`, which `redact` hides"),
              std::string::npos)
        << text(config);
  }
  SetUp();
  change("policy.jsonc", "/password", "/amount");
  EXPECT_FALSE(has_errors(load().faults));
  EXPECT_NE(text(load(true)).find("warning: `record` names `/amount`, which `redact` hides: it is not recorded"),
            std::string::npos);
  EXPECT_EQ(text(load()).find("`record`"), std::string::npos);
  // What a server says of its own schema refuses no start.
  SetUp();
  files_.files["/c/trust.lock.json"] =
      lock_of({{"orders",
                {tool("create_order",
                      R"("customer_id": {"type": "string", "writeOnly": true}, "amount": {}, "request_id": {})"),
                 tool("get_order", R"("request_id": {})"),
                 tool("refund", R"("order_id": {}, "amount": {}, "currency": {}, "note": {})")}}});
  EXPECT_NE(text(load(true)).find("warning: `scope` names `/customer_id`, which the tool's schema"), std::string::npos)
      << text(load(true));
}

// Members that the design's examples do not use: the schema must not know more than the readers, nor they more than it.
TEST_F(CheckConfig, TakesEveryOtherMemberOfTheFormats) {
  files_.files["/c/trust.jsonc"] =
      R"({ "$schema": "x", "servers": { "files": { "onFinding": "warn", "ignore": ["/_meta/build"],
    "trustHints": { "permission": ["destructiveHint"], "retry": ["readOnlyHint"] }, "passes": ["roots", "sampling"],
    "tools": { "write_file": { "effect": "external", "repeat": "never", "output": "enforce", "maxResultBytes": 1000,
      "cases": [ { "when": { "path": { "pattern": "x" } }, "effect": "file", "destructive": true, "repeat": "safe", "labels": ["code"] } ],
      "revision": { "tool": "read_file", "arguments": { "path": { "from": "/path" } }, "at": "/rev" },
      "errors": { "none": { "result": { "code": 1 } } } } } },
    "orders": { "tools": { "refund": { "effect": "external", "idempotencyKey": { "meta": "x/key" }, "repeat": "keyed" },
      "create_order": { "effect": "record", "idempotencyKey": { "header": "Idempotency-Key" }, "repeat": "keyed" } } } } })";
  files_.files["/c/policy.jsonc"] = R"({ "$schema": "x", "default": "deny", "rules": [
    { "id": "a", "deny": { "server": ["files"], "tool": "write_*", "principal": "agent:*", "destructive": true, "labels": "code" }, "unless": { "group": ["support"] } },
    { "id": "b", "deny": { "server": "files", "tool": "edit_file" }, "hide": true },
    { "id": "c", "ask": { "server": "orders", "anyArgument": { "pattern": "x" } }, "approval": { "by": "owners", "revision": true, "grants": true } },
    { "id": "d", "ask": { "server": "orders", "tool": "get_order", "pinned": false }, "approval": { "sessionUser": true } },
    { "id": "e", "deny": { "server": "files", "method": "resources/read", "uri": "file:///etc/*" } },
    { "id": "f", "deny": { "server": "orders", "tool": "refund", "arguments": { "note?": { "not": { "minLength": 1, "maxLength": 9 } } } } } ],
    "budgets": [ { "id": "t", "per": "tool", "attempts": 5, "window": "1h" } ],
    "tests": [ { "name": "n", "call": { "principal": "x", "groups": ["support"], "method": "tools/call", "server": "files", "tool": "read_file" },
                 "verdict": "deny" } ] })";
  const LoadedConfig config = load();
  EXPECT_EQ(text(config).find("unknown member"), std::string::npos) << text(config);
  EXPECT_EQ(text(config).find("must be"), std::string::npos) << text(config);
  EXPECT_FALSE(has_errors(config.faults)) << text(config);
}

TEST(ProposedEffect, BelievesOnlyAnUncontradictedReadOnlyHint) {
  EXPECT_EQ(proposed_effect({.read_only = true}), EffectCategory::read);
  EXPECT_EQ(proposed_effect({.read_only = true, .destructive = true}), std::nullopt);
  EXPECT_EQ(proposed_effect({}), std::nullopt);
  EXPECT_EQ(proposed_effect({.read_only = false}), std::nullopt);
}

TEST_F(CheckConfig, NamesThePlaceOfAFaultInTheLock) {
  change("trust.lock.json", "\"era\"", "\"eras\"");
  const LoadedConfig config = load();
  EXPECT_FALSE(config.book);
  EXPECT_NE(text(config).find("/c/trust.lock.json:10:7: error: unknown member `eras`"), std::string::npos)
      << text(config);
}

// Every way in which files may name who was taken away: a start refuses it, a reload says so and goes on.
TEST_F(CheckConfig, TakesSomebodyAwayInAReloadAlthoughTheFilesStillNameThem) {
  const std::string client = R"({ "id": "agent:ci", "tokenSha256": ")" + std::string(64, 'a') +
                             R"(", "groups": ["agents", "support"], "owner": "user:eve" })";
  const std::string dana = R"({ "id": "user:dana", "tokenSha256": ")" + std::string(64, 'b') +
                           R"(", "roles": ["approver"], "groups": ["owners", "payments"] })";
  const std::string eve = R"({ "id": "user:eve", "tokenSha256": ")" + std::string(64, 'c') +
                          R"(", "roles": ["approver"], "groups": ["second"] })";
  const std::string other = R"({ "id": "agent:x", "tokenSha256": ")" + std::string(64, 'd') + R"(" })";
  const auto config_of = [&](const std::string& clients, const std::string& people) {
    return R"({ "mcpServers": { "files": { "command": "npx" }, "orders": { "url": "https://orders.example/mcp" }, "export": { "command": "export-worker" } },
      "vars": { "project": "/home/me/project" }, "clients": [ )" +
           clients + R"( ], "people": [ )" + people +
           R"( ], "trust": "trust.jsonc", "policy": "policy.jsonc", "state": "state" })";
  };
  const auto policy_of = [](const std::string& rule, const std::string& tests) {
    return R"({ "default": "ask", "rules": [ { "id": "r", )" + rule + R"( } ], "tests": [ )" + tests + R"( ] })";
  };
  const auto without = [](std::string text, const std::string& part, const std::string& instead) {
    return text.replace(text.find(part), part.size(), instead);
  };
  const std::string by_two = R"("ask": { "server": "orders" }, "approval": { "quorum": 2 })";
  const std::string call = R"({ "call": { "server": "files", "tool": "read_file", "arguments": {"path": "a"}, )";
  struct Row {
    std::string clients, people, policy;
  };
  const std::string all = dana + ", " + eve;
  const std::vector<Row> rows{
      {other, all, policy_of(R"("deny": { "group": "support" })", "")},
      {other, all, policy_of(R"("deny": { "principal": "agent:ci" })", "")},
      {without(client, R"(, "support")", ""), all,
       policy_of(R"("allow": { "server": "files", "group": "support" })", "")},
      {other, all, policy_of(R"("deny": { "server": "files" }, "unless": { "group": "agents" })", "")},
      {other, all,
       policy_of(R"("deny": { "server": "orders" })", call + R"("principal": "agent:ci" }, "verdict": "ask" })")},
      {other, all,
       policy_of(R"("deny": { "server": "orders" })",
                 call + R"("principal": "x", "groups": ["support"] }, "verdict": "ask" })")},
      {client, dana, policy_of(R"("deny": { "server": "files" })", "")},  // who owned the client
      {other, dana, policy_of(R"("ask": { "server": "orders" }, "approval": { "by": "second" })", "")},
      {other, dana, policy_of(R"("ask": { "server": "orders" }, "approval": { "by": ["user:eve", "owners"] })", "")},
      {other, dana, policy_of(R"("deny": { "principal": "user:eve" })", "")},
      {other, dana, policy_of(by_two, "")},
      {other, dana + ", " + without(eve, "approver", "auditor"), policy_of(by_two, "")},
  };
  for (const Row& row : rows) {
    files_.files["/c/sallyport.jsonc"] = config_of(client + ", " + other, all);
    files_.files["/c/policy.jsonc"] = row.policy;
    const LoadedConfig before = load();
    ASSERT_TRUE(before.settings && before.book) << text(before) << row.policy;
    files_.files["/c/sallyport.jsonc"] = config_of(row.clients, row.people);
    const LoadedConfig at_start = load();
    EXPECT_FALSE(at_start.settings && at_start.book) << row.policy;
    const LoadedConfig reloaded = load(false, {before.settings->clients, before.settings->people});
    EXPECT_TRUE(reloaded.settings && reloaded.book) << text(reloaded) << row.policy;
    EXPECT_NE(text(reloaded).find("the next start refuses it"), std::string::npos) << text(reloaded) << row.policy;
  }
  // A name that nobody ever had is refused all the same.
  files_.files["/c/sallyport.jsonc"] = config_of(client, all);
  files_.files["/c/policy.jsonc"] = policy_of(R"("deny": { "group": "suport" })", "");
  const LoadedConfig misspelled = load(false, {load().settings->clients, {}});
  EXPECT_FALSE(misspelled.book);
}

// Each member of both files replaced by something else: the check always answers, and says why whenever it refuses.
TEST_F(CheckConfig, SurvivesEveryMemberReplaced) {
  const std::vector<std::string> others{"null", "1e400", "\"${none}\"", "[{}]", "{\"a\": 1}"};
  std::size_t turn = 0;
  for (const std::string file : {"trust.jsonc", "policy.jsonc"}) {
    const std::string whole = files_.files["/c/" + file];
    const auto document = json::Document::parse(whole, {.comments = true}).value();
    std::vector<json::Value> open{document.root()};
    while (!open.empty()) {
      const json::Value value = open.back();
      open.pop_back();
      for (const json::Value one : value.elements()) open.push_back(one);
      for (const json::Member member : value.members()) {
        open.push_back(member.value);
        const std::string& other = others[turn++ % others.size()];
        std::string changed = whole;
        changed.replace(member.value.offset(), member.value.raw().size(), other);
        files_.files["/c/" + file] = changed;
        const LoadedConfig config = load();
        EXPECT_EQ(config.ok(), !has_errors(config.faults)) << member.value.pointer() << " " << other << "\n"
                                                           << text(config);
      }
    }
    files_.files["/c/" + file] = whole;
  }
}

}  // namespace
}  // namespace sallyport::gateway
