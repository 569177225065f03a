// A client's own config file, for `init`: which servers stand in it, as they stand there. Nothing is started or
// written.
//
// Known blocks: `mcpServers` (Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini CLI), per project in
// ~/.claude.json, `servers` (VS Code's mcp.json), `mcp` / `servers` (VS Code's settings.json), `context_servers` (Zed),
// `mcp` (OpenCode). JSON with comments.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"
#include "schemas/core/fault.hpp"

namespace sallyport::gateway {

struct ClientServer {
  std::string id;
  std::string raw;      // the entry's exact text
  std::string project;  // folder of the project it belongs to; empty: the user's
  json::Position position;
  std::string pointer;
  bool is_gateway = false;  // it starts Sallyport already

  // As an entry of sallyport.jsonc: the raw text wherever its members are known to us, else rewritten; what was left
  // out or changed is said in `notes`. Empty: it cannot be taken over.
  std::string entry;
  std::vector<std::string> notes;
};

struct ClientConfig {
  std::string file;
  std::string client;  // "Claude Desktop", "VS Code", …; by the file's name and block
  std::vector<ClientServer> servers;
  std::map<std::string, std::string> vars;  // `vars` that the entries need, like workspaceFolder
};

// `file`: absolute path; `home`: the user's folder, whose own files belong to no project. Relative paths of entries
// count from its project and become absolute. ErrorCode::invalid: it is no JSON; not_found: it has no block of servers.
[[nodiscard]] Result<ClientConfig> read_client_config(std::string text, const std::string& file,
                                                      const std::string& home);

// Files where clients usually keep their servers, that are there.
[[nodiscard]] std::vector<std::string> known_client_files(const Environment& environment, const FileReader& files);

}  // namespace sallyport::gateway
