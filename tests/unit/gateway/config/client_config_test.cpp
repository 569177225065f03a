#include "gateway/config/client_config.hpp"

#include <gtest/gtest.h>

#include "gateway/config/load.hpp"
#include "tests/unit/gateway/config/fake_files.hpp"

namespace sallyport::gateway {
namespace {

ClientConfig read(const std::string& text, const std::string& file) {
  auto config = read_client_config(text, file, "/home/me");
  if (!config) throw std::runtime_error(config.error().message);
  return std::move(config).value();
}

// Every entry that was taken over must load without an error in a config of ours.
LoadedSettings load_taken(const ClientConfig& config) {
  std::string text = "{\"mcpServers\": {";
  for (const ClientServer& server : config.servers) {
    if (!server.entry.empty()) text += "\"" + server.id + "\": " + server.entry + ",\n";
  }
  text += "}, \"vars\": {";
  for (const auto& [name, value] : config.vars) text += "\"" + name + "\": \"" + value + "\",";
  text += "}}";
  SettingsRequest request;
  request.text = text;
  request.base = "/elsewhere";
  request.default_state = "/state";
  return load_settings(request, environment_of({{"HOME", "/home/me"}, {"KEY", "k"}, {"api-key", "a"}}), FakeFiles());
}

void expect_loads(const ClientConfig& config) {
  const LoadedSettings loaded = load_taken(config);
  EXPECT_TRUE(loaded.settings);
  for (const Fault& fault : loaded.faults) EXPECT_NE(fault.level, Fault::Level::error) << to_text(fault);
}

TEST(ClientConfig, KeepsTheEntriesOfClaudeDesktopByteForByte) {
  const ClientConfig config = read(R"({"theme": "dark", "mcpServers": {
    "files": { "command": "npx",  "args": ["-y", "srv"] /* mine */, "env": {"K": "${KEY}"} },
    "web": {"type": "http", "url": "https://a.example/mcp"} }})",
                                   "/home/me/.config/Claude/claude_desktop_config.json");
  EXPECT_EQ(config.client, "Claude Desktop");
  ASSERT_EQ(config.servers.size(), 2U);
  EXPECT_EQ(config.servers[0].id, "files");
  EXPECT_EQ(config.servers[0].entry,
            R"({ "command": "npx",  "args": ["-y", "srv"] /* mine */, "env": {"K": "${KEY}"} })");
  EXPECT_EQ(config.servers[0].entry, config.servers[0].raw);
  EXPECT_TRUE(config.servers[0].notes.empty());
  EXPECT_EQ(config.servers[0].position.line, 2U);
  expect_loads(config);
}

TEST(ClientConfig, FindsTheProjectsOfClaudeCode) {
  const ClientConfig config = read(R"({"mcpServers": {"a": {"command": "x"}}, "projects": {
    "/p/one": {"mcpServers": {"b": {"command": "./tool", "args": ["."]}}, "history": []}, "/p/two": {"mcpServers": {}}}})",
                                   "/home/me/.claude.json");
  ASSERT_EQ(config.servers.size(), 2U);
  EXPECT_EQ(config.servers[0].project, "");
  EXPECT_EQ(config.servers[1].project, "/p/one");
  EXPECT_EQ(config.servers[1].entry, R"({"command": "/p/one/tool", "args": ["."], "cwd": "/p/one"})");
  EXPECT_EQ(config.servers[1].notes.size(), 2U);
  expect_loads(config);
}

TEST(ClientConfig, UnderstandsVsCodesBlockInputsAndFolders) {
  const ClientConfig config = read(R"({"inputs": [{"id": "api-key", "type": "promptString"}], "servers": {
    "a": {"type": "stdio", "command": "run", "args": ["${workspaceFolder}/x"], "env": {"K": "${input:api-key}"}, "dev": {}}}})",
                                   "/work/p/.vscode/mcp.json");
  EXPECT_EQ(config.client, "VS Code");
  ASSERT_EQ(config.servers.size(), 1U);
  EXPECT_EQ(config.servers[0].project, "/work/p");
  EXPECT_EQ(config.vars.at("workspaceFolder"), "/work/p");
  EXPECT_NE(config.servers[0].entry.find("${api-key}"), std::string::npos);
  EXPECT_EQ(config.servers[0].entry.find("dev"), std::string::npos);
  const LoadedSettings loaded = load_taken(config);
  ASSERT_TRUE(loaded.settings);
  EXPECT_EQ(loaded.settings->servers.at("a").args.front(), "/work/p/x");
  EXPECT_EQ(loaded.settings->servers.at("a").env.at("K").reveal(), "a");
}

TEST(ClientConfig, ReadsVsCodesSettingsAndTheUsersOwnFiles) {
  EXPECT_EQ(read(R"({"editor.x": 1, "mcp": {"servers": {"a": {"command": "x"}}}, // c
  })",
                 "/home/me/.config/Code/User/settings.json")
                .servers.size(),
            1U);
  EXPECT_EQ(read(R"({"mcpServers": {"a": {"command": "x"}}})", "/home/me/.cursor/mcp.json").servers[0].project, "");
  EXPECT_EQ(read(R"({"mcpServers": {"a": {"command": "x"}}})", "/home/me/p/.cursor/mcp.json").servers[0].project,
            "/home/me/p");
}

TEST(ClientConfig, RewritesWhatOtherClientsCallDifferently) {
  const ClientConfig windsurf =
      read(R"({"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "disabledTools": ["t"]},
    "b": {"command": "x", "alwaysAllow": ["t"]}}})",
           "/home/me/.codeium/windsurf/mcp_config.json");
  EXPECT_EQ(windsurf.servers[0].entry, R"({"url": "https://a.example/mcp"})");
  EXPECT_EQ(windsurf.servers[0].notes.size(), 2U);
  EXPECT_EQ(windsurf.servers[1].entry, R"({"command": "x"})");
  expect_loads(windsurf);
  const ClientConfig zed =
      read(R"({"context_servers": {"a": {"source": "custom", "command": "x", "args": ["y"], "env": {}},
    "b": {"command": {"path": "./z", "args": ["q"]}}, "c": {"settings": {}}}})",
           "/home/me/.config/zed/settings.json");
  EXPECT_EQ(zed.client, "Zed");
  EXPECT_EQ(zed.servers[0].entry, R"({"command": "x", "args": ["y"], "env": {}})");
  EXPECT_EQ(zed.servers[1].entry, R"({"command": "/home/me/.config/zed/z", "args": ["q"]})");
  EXPECT_EQ(zed.servers[2].entry, "");
  expect_loads(zed);
  const ClientConfig opencode = read(
      R"({"mcp": {"a": {"type": "local", "command": ["npx", "-y", "s"], "environment": {"A": "1"}, "enabled": false},
    "b": {"type": "remote", "url": "https://b.example"}}})",
      "/home/me/.config/opencode/opencode.json");
  EXPECT_EQ(opencode.servers[0].entry,
            R"({"command": "npx", "args": ["-y", "s"], "env": {"A": "1"}, "disabled": true})");
  EXPECT_EQ(opencode.servers[1].entry, R"({"url": "https://b.example"})");
  expect_loads(opencode);
}

TEST(ClientConfig, KnowsItself) {
  const ClientConfig config = read(
      R"({"mcpServers": {"a": {"command": "/usr/bin/sallyport", "args": ["stdio"]}, "b": {"command": "x"}}})", "/f");
  EXPECT_TRUE(config.servers[0].is_gateway);
  EXPECT_FALSE(config.servers[1].is_gateway);
}

TEST(ClientConfig, SaysWhatIsNoClientConfig) {
  EXPECT_EQ(read_client_config("{}", "/f", "/home/me").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_client_config("[1]", "/f", "/home/me").error().code, ErrorCode::not_found);
  const auto broken = read_client_config("{\n \"a\" 1}", "/f", "/home/me");
  EXPECT_EQ(broken.error().code, ErrorCode::invalid);
  EXPECT_NE(broken.error().message.find("/f:2:6"), std::string::npos) << broken.error().message;
  EXPECT_TRUE(read(R"({"mcpServers": {"a": 1, "b": []}})", "/f").servers.empty());
}

TEST(ClientConfig, LooksWhereClientsKeepTheirFiles) {
  FakeFiles files;
  files.files["/home/me/.claude.json"] = "{}";
  files.files["/home/me/.config/Code/User/mcp.json"] = "{}";
  EXPECT_EQ(known_client_files(environment_of({{"HOME", "/home/me"}}), files),
            (std::vector<std::string>{"/home/me/.claude.json", "/home/me/.config/Code/User/mcp.json"}));
  EXPECT_TRUE(known_client_files(environment_of({}), files).empty());
}

}  // namespace
}  // namespace sallyport::gateway
