#include "gateway/ports/snapshot.hpp"

namespace sallyport::gateway {

std::string_view to_string(ToolState state) {
  switch (state) {
    case ToolState::unpinned:
      return "not accepted";
    case ToolState::pinned:
      return "accepted";
    case ToolState::drifted:
      return "changed";
    case ToolState::quarantined:
      return "quarantined";
  }
  return "";
}

const Tool* Snapshot::find(std::string_view mount_server, std::string_view name) const {
  if (mount_server.empty()) {
    const auto it = exposed.find(std::string(name));
    return it == exposed.end() ? nullptr : it->second.get();
  }
  const auto server = servers.find(mount_server);
  if (server == servers.end()) return nullptr;
  const auto tool = server->second.tools.find(name);
  return tool == server->second.tools.end() ? nullptr : tool->second.get();
}

}  // namespace sallyport::gateway
