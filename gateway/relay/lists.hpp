// `prompts/list`, `resources/list`, `resources/templates/list`: on a server's own mount the server's pages as they
// come; on /mcp all servers' pages one after the other, prompts under exposed names. A cursor of ours is base64url of
// kind, server and the server's own cursor. Prompts and templates are judged like tools: one that changed since it was
// accepted stands there as accepted, a quarantined one not at all. On the loop.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gateway/ports/definitions.hpp"
#include "gateway/relay/routes.hpp"
#include "gateway/relay/sources.hpp"

namespace sallyport::gateway::relay {

class Lists {
 public:
  // All outlive this.
  Lists(Sources& sources, Routes& routes, Definitions& definitions)
      : sources_(sources), routes_(routes), definitions_(definitions) {}

  asio::awaitable<Answer> list(Inbound inbound, Kind kind);
  // Where it belongs; asks the servers' lists where the tables do not know it.
  asio::awaitable<Target> resolve(std::shared_ptr<const ClientContext> client, std::string prompt, std::string uri);
  void forget(const std::string& server, ListKind kind);

 private:
  asio::awaitable<void> fill(std::shared_ptr<const ClientContext> client, Kind kind);
  asio::awaitable<Answer> list_one(Inbound inbound, Kind kind, std::string cursor);
  asio::awaitable<Answer> list_all(Inbound inbound, Kind kind, std::string server, std::string cursor);
  void learn(const std::string& server, Kind kind, const Page& page);
  // The item as this client may see it: the server's bytes, or the accepted definition where it changed. Null: not at
  // all. What it points into is owned by `owner` or by the page.
  struct Shown {
    json::Value item;
    std::shared_ptr<const Tool> owner;
  };
  [[nodiscard]] std::optional<Shown> shown(const ClientContext& client, const std::string& server, Kind kind,
                                           json::Value item) const;

  Sources& sources_;
  Routes& routes_;
  Definitions& definitions_;
  std::map<std::pair<std::string, Kind>, Deadline> filled_;  // by principal: not again before
};

}  // namespace sallyport::gateway::relay
