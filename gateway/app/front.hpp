// The Front: sends each request of a client to the part that answers it.
#pragma once

#include <functional>

#include "gateway/calls/calls.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/inbound.hpp"
#include "gateway/relay/relay.hpp"
#include "gateway/relay/tool_list.hpp"

namespace sallyport::gateway {

class AppFront final : public Front {
 public:
  // What concerns all links of a principal; the owner knows the pool and the sessions.
  struct Told {
    std::function<void(const ClientContext&)> level_changed, roots_changed;
  };
  AppFront(calls::Calls& calls, catalogue::Catalogue& catalogue, relay::Relay& relay, Told told);

  asio::awaitable<Answer> handle(Inbound inbound) override;
  [[nodiscard]] std::string capabilities(const ClientContext& client) const override;
  [[nodiscard]] std::string instructions(const ClientContext& client) const override;
  void over_limit(const Inbound& inbound) override;
  asio::awaitable<void> prepare(Mount mount) override;
  [[nodiscard]] std::optional<std::string> header_fault(const ClientContext& client, json::Value params,
                                                        const mcp::HeaderLookup& find) const override {
    return tools_.header_fault(client, params, find);
  }
  void level_changed(const ClientContext& client) override;
  void roots_changed(const ClientContext& client) override;
  void session_ended(const ClientContext& client) override;

 private:
  // Of which servers it must be known what they offer before this can be answered.
  [[nodiscard]] catalogue::Catalogue::Concerns concerned(const Inbound& inbound) const;

  calls::Calls& calls_;
  catalogue::Catalogue& catalogue_;
  relay::Relay& relay_;
  relay::ToolList tools_;
  Told told_;
};

}  // namespace sallyport::gateway
