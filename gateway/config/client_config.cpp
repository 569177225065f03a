#include "gateway/config/client_config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gateway/config/client_entry.hpp"
#include "gateway/config/own_file.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

struct Block {
  json::Value servers;
  std::string client;
  EntryShape shape = EntryShape::common;
  std::string project;
};

json::Value object_at(json::Value value, std::string_view pointer) {
  if (!value || !value.is_object()) return {};
  const json::Value found = value.at(pointer);
  return found && found.is_object() ? found : json::Value();
}

// Who writes files of that name.
std::string client_of(std::string_view file) {
  struct Known {
    std::string_view end, client;
  };
  static constexpr std::array<Known, 10> kKnown{{{"claude_desktop_config.json", "Claude Desktop"},
                                                 {"/.mcp.json", "Claude Code"},
                                                 {"/.claude.json", "Claude Code"},
                                                 {"/.claude/settings.json", "Claude Code"},
                                                 {"/.cursor/mcp.json", "Cursor"},
                                                 {"/mcp_config.json", "Windsurf"},
                                                 {"/cline_mcp_settings.json", "Cline"},
                                                 {"/.gemini/settings.json", "Gemini CLI"},
                                                 {"/.vscode/mcp.json", "VS Code"},
                                                 {"/User/mcp.json", "VS Code"}}};
  for (const Known& known : kKnown) {
    if (file.ends_with(known.end)) return std::string(known.client);
  }
  return "an MCP client";
}

// The project that a file in it speaks for; empty: a file of the user.
std::string project_of(const std::string& file, const std::string& home) {
  const std::string folder = folder_of(file);
  std::string project;
  if (file.ends_with("/.mcp.json")) project = folder;
  for (const std::string_view end : {"/.cursor/mcp.json", "/.vscode/mcp.json", "/.vscode/settings.json"}) {
    if (file.ends_with(end)) project = folder_of(folder);
  }
  return project == home ? std::string() : project;
}

std::vector<Block> blocks_of(json::Value root, const std::string& file, const std::string& home) {
  std::vector<Block> blocks;
  const std::string client = client_of(file);
  const std::string project = project_of(file, home);
  if (const json::Value servers = object_at(root, "/mcpServers")) {
    blocks.push_back({servers, client, EntryShape::common, project});
  }
  if (const json::Value projects = object_at(root, "/projects")) {
    for (const json::Member member : projects.members()) {
      const json::Value servers = object_at(member.value, "/mcpServers");
      if (servers && servers.size() > 0) blocks.push_back({servers, "Claude Code", EntryShape::common, member.name()});
    }
  }
  if (const json::Value servers = object_at(root, "/servers")) {
    blocks.push_back({servers, "VS Code", EntryShape::common, project});
  }
  if (const json::Value servers = object_at(root, "/context_servers")) {
    blocks.push_back({servers, "Zed", EntryShape::zed, {}});
  }
  if (const json::Value mcp = object_at(root, "/mcp")) {
    const json::Value servers = object_at(mcp, "/servers");
    if (servers) {
      blocks.push_back({servers, "VS Code", EntryShape::common, project});
    } else if (!mcp.find("servers")) {
      blocks.push_back({mcp, "OpenCode", EntryShape::opencode, {}});
    }
  }
  return blocks;
}

void add_servers(const Block& block, ClientConfig& config) {
  for (const json::Member member : block.servers.members()) {
    if (!member.value.is_object()) continue;
    ClientServer server;
    server.id = member.name();
    server.raw = std::string(member.value.raw());
    server.project = block.project;
    server.position = member.key.position();
    server.pointer = member.value.pointer();
    const std::string base = block.project.empty() ? folder_of(config.file) : block.project;
    TakenEntry taken = take_entry(member.value, block.shape, base, !block.project.empty());
    server.entry = std::move(taken.entry);
    server.notes = std::move(taken.notes);
    server.is_gateway = taken.is_gateway;
    if (taken.needs_workspace) config.vars.emplace("workspaceFolder", literal_text(base));
    if (taken.needs_home) config.vars.emplace("userHome", "${HOME}");
    config.servers.push_back(std::move(server));
  }
}

}  // namespace

Result<ClientConfig> read_client_config(std::string text, const std::string& file, const std::string& home) {
  Faults faults;
  const auto own = parse_own(std::move(text), file, faults);
  if (!own) return fail(ErrorCode::invalid, to_text(faults.front()));
  ClientConfig config;
  config.file = file;
  const std::vector<Block> blocks = blocks_of(own->document->root(), file, home);
  for (const Block& block : blocks) {
    if (config.client.empty()) config.client = block.client;
    add_servers(block, config);
  }
  if (blocks.empty()) {
    return fail(ErrorCode::not_found, fmt::format("`{}` has no block of MCP servers: `mcpServers`, `servers` or "
                                                  "`context_servers` is looked for",
                                                  visible(file)));
  }
  return config;
}

std::vector<std::string> known_client_files(const Environment& environment, const FileReader& files) {
  std::vector<std::string> found;
  const auto home = environment("HOME");
  if (!home || !home->starts_with('/')) return found;
  const auto configured = environment("XDG_CONFIG_HOME");
  const std::string config = configured && configured->starts_with('/') ? *configured : resolve_path(*home, ".config");
  const auto look = [&](const std::string& path) {
    if (files.kind(path) == FileReader::Kind::file) found.push_back(path);
  };
  look(resolve_path(config, "Claude/claude_desktop_config.json"));
  look(resolve_path(*home, ".claude.json"));
  look(resolve_path(*home, ".cursor/mcp.json"));
  look(resolve_path(config, "Code/User/mcp.json"));
  look(resolve_path(config, "Code/User/settings.json"));
  look(resolve_path(*home, ".codeium/windsurf/mcp_config.json"));
  look(resolve_path(*home, ".gemini/settings.json"));
  look(resolve_path(config, "zed/settings.json"));
  look(resolve_path(config, "opencode/opencode.json"));
  return found;
}

}  // namespace sallyport::gateway
