// Sources: the lists of prompts, resources and resource templates, page by page, from the servers that offer them, on
// the asking client's own links. On the loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/ports/inbound.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/ports/snapshot.hpp"
#include "gateway/relay/page.hpp"
#include "gateway/relay/page_cache.hpp"

namespace sallyport::gateway::relay {

class Sources {
 public:
  // Both outlive this.
  Sources(Servers& servers, const Snapshots& snapshots) : servers_(servers), snapshots_(snapshots) {}

  // Servers of the mount that offer this kind, or of which it is not known yet; in order.
  [[nodiscard]] std::vector<std::string> offering(const Mount& mount, Kind kind) const;
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return snapshots_.current(); }

  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(std::string server,
                                                            std::shared_ptr<const ClientContext> client,
                                                            Deadline deadline);
  struct Failure {
    std::optional<mcp::RpcError> error;  // the server's own
    std::string reason;
  };
  // `cursor` is a raw token or empty. A server without such a list has an empty one. Modern servers say how long a page
  // stays fresh, and are not asked again before.
  asio::awaitable<std::expected<Page, Failure>> page(std::string server, std::shared_ptr<const ClientContext> client,
                                                     Kind kind, std::string cursor, Deadline deadline,
                                                     std::shared_ptr<Cancel> cancel);
  void forget(const std::string& server, ListKind kind) { pages_.forget(server, kind); }

 private:
  Servers& servers_;
  const Snapshots& snapshots_;
  PageCache pages_;
};

// The JSON-RPC error that a server answered; any other end of a request is none.
[[nodiscard]] std::optional<mcp::RpcError> error_of(const ServerAnswer& answer);
// What a client is told of a server that cannot be asked.
[[nodiscard]] Answer unavailable(std::string_view server, std::string_view reason);

}  // namespace sallyport::gateway::relay
