// Relay: everything of MCP that is neither a call nor the session's own: lists and subscriptions; and where a resource,
// a prompt or a completion belongs, before it goes the way of a call. On the loop.
#pragma once

#include <string>

#include "gateway/relay/lists.hpp"
#include "gateway/relay/subscriptions.hpp"

namespace sallyport::gateway::relay {

class Relay {
 public:
  // `servers`, `snapshots` and `definitions` outlive this.
  Relay(asio::any_io_executor loop, Servers& servers, const Snapshots& snapshots, Definitions& definitions,
        Subscriptions::Tell tell, Subscriptions::MayRead may_read)
      : sources_(servers, snapshots),
        lists_(loop, sources_, definitions),
        subscriptions_(std::move(loop), sources_, std::move(tell), std::move(may_read)) {}

  [[nodiscard]] static bool knows(std::string_view method);
  asio::awaitable<Answer> handle(Inbound inbound);
  // Of resources/read, prompts/get, completion/complete and subscriptions.
  asio::awaitable<Target> resolve(const Inbound& inbound);
  // Raw JSON of what the servers of a mount let us declare to a client.
  [[nodiscard]] std::string capabilities(const Mount& mount, mcp::Era era) const;

  void list_changed(const std::string& server, ListKind kind) {
    sources_.forget(server, kind);
    lists_.forget(server, kind);
  }
  void resource_updated(const LinkKey& from, std::string_view params_raw) {
    subscriptions_.on_updated(from, params_raw);
  }
  void session_ended(const std::string& session) { subscriptions_.session_ended(session); }
  void sweep() { subscriptions_.sweep(); }

 private:
  Sources sources_;
  Lists lists_;
  Subscriptions subscriptions_;
};

}  // namespace sallyport::gateway::relay
