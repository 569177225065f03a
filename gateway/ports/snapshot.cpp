#include "gateway/ports/snapshot.hpp"

#include "gateway/ports/naming.hpp"
#include "trust/definitions/lock_file.hpp"

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

ToolsByName ServerView::* ServerView::list_of(trust::Offer offer) {
  switch (offer) {
    case trust::Offer::tool:
      return &ServerView::tools;
    case trust::Offer::prompt:
      return &ServerView::prompts;
    case trust::Offer::resource_template:
      return &ServerView::templates;
    case trust::Offer::instructions:
      return &ServerView::instructions;
  }
  return &ServerView::tools;
}

std::shared_ptr<const Tool> ServerView::template_of(std::string_view uri) const {
  const auto rank = [](const Tool& tool) {
    const bool doubtful = tool.state == ToolState::drifted || tool.state == ToolState::quarantined;
    return std::pair(doubtful ? tool.state : ToolState::unpinned, literal_size(tool.ref.tool));
  };
  std::shared_ptr<const Tool> best;
  for (const auto& [text, tool] : templates) {
    if (fits_template(text, uri) && (!best || rank(*tool) > rank(*best))) best = tool;
  }
  return best;
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
