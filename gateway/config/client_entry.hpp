// One server entry of a client's file as an entry of ours. Private to gateway/config (client_config.hpp is the door).
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::gateway {

enum class EntryShape : std::uint8_t { common, zed, opencode };

struct TakenEntry {
  std::string entry;  // JSON text; empty: cannot be taken over
  std::vector<std::string> notes;
  bool is_gateway = false;
  bool needs_workspace = false;  // uses ${workspaceFolder}
  bool needs_home = false;       // uses ${userHome}
};

// `base`: folder that its relative paths count from. `in_project`: the client starts it in that folder.
[[nodiscard]] TakenEntry take_entry(json::Value entry, EntryShape shape, const std::string& base, bool in_project);

}  // namespace sallyport::gateway
