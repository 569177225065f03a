// `prompts/list`, `resources/list`, `resources/templates/list`: on a server's own mount the server's pages as they
// come; on /mcp all servers' pages one after the other, prompts under exposed names. A cursor of ours is base64url of
// kind, server and the server's own cursor. Prompts and templates are judged like tools: one that changed since it was
// accepted stands there as accepted, a quarantined one not at all. On the loop.
//
// What a principal's own links list decides what belongs where for it alone. Bounds: kTables principals and kBytes of
// names; of those who asked longest ago it is learned again when they ask.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gateway/base/task_group.hpp"
#include "gateway/ports/definitions.hpp"
#include "gateway/relay/routes.hpp"
#include "gateway/relay/sources.hpp"

namespace sallyport::gateway::relay {

class Lists {
 public:
  static constexpr std::size_t kTables = 256;
  static constexpr std::size_t kBytes = 64U << 20;

  // All outlive this.
  Lists(asio::any_io_executor loop, Sources& sources, Definitions& definitions)
      : sources_(sources), definitions_(definitions), tasks_(std::move(loop)) {}

  asio::awaitable<Answer> list(Inbound inbound, Kind kind);
  // Where it belongs; asks the servers' lists where the tables do not know it.
  asio::awaitable<Target> resolve(std::shared_ptr<const ClientContext> client, std::string prompt, std::string uri);
  void forget(const std::string& server, ListKind kind);

 private:
  // The servers' lists of one kind, on their way into the tables: once for all who wait for it.
  struct Filling {
    Deadline again = Deadline::at({});  // not before
    std::size_t open = 0;               // servers that have not answered
  };
  struct Known {
    explicit Known(asio::any_io_executor loop) : changed(std::move(loop)) {}
    Routes routes;
    std::map<Kind, Filling> filling;
    Signal changed;
    std::uint64_t used = 0;  // by the count of uses
  };
  using KnownPtr = std::shared_ptr<Known>;
  class Open;
  KnownPtr known_of(const ClientContext& client);
  // Until `found` says that there is enough, or all servers that may matter have answered or taken too long.
  asio::awaitable<void> fill(std::shared_ptr<const ClientContext> client, Kind kind,
                             std::function<bool(const Routes&)> found);
  static asio::awaitable<void> fill_one(Lists& self, KnownPtr known, std::shared_ptr<const ClientContext> client,
                                        Kind kind, std::string server);
  asio::awaitable<Answer> list_one(Inbound inbound, Kind kind, std::string cursor);
  asio::awaitable<Answer> list_all(Inbound inbound, Kind kind, std::string server, std::string cursor);
  static void learn(Routes& routes, const std::string& server, Kind kind, const Page& page);
  // The item as this client may see it: the server's bytes, or the accepted definition where it changed. Null: not at
  // all. What it points into is owned by `owner` or by the page.
  struct Shown {
    json::Value item;
    std::shared_ptr<const Tool> owner;
  };
  [[nodiscard]] std::optional<Shown> shown(const ClientContext& client, const std::string& server, Kind kind,
                                           json::Value item) const;

  Sources& sources_;
  Definitions& definitions_;
  std::map<std::string, KnownPtr, std::less<>> known_;  // by principal
  std::uint64_t uses_ = 0;
  TaskGroup tasks_;  // last: they use the rest
};

}  // namespace sallyport::gateway::relay
