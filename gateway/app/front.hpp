// The Front: sends each request of a client to the part that answers it.
#pragma once

#include "gateway/calls/calls.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/inbound.hpp"
#include "gateway/relay/tool_list.hpp"

namespace sallyport::gateway {

class AppFront final : public Front {
 public:
  AppFront(calls::Calls& calls, catalogue::Catalogue& catalogue);

  asio::awaitable<Answer> handle(Inbound inbound) override;
  [[nodiscard]] std::string capabilities(const ClientContext& client) const override;
  [[nodiscard]] std::string instructions(const ClientContext& client) const override;

 private:
  calls::Calls& calls_;
  catalogue::Catalogue& catalogue_;
  relay::ToolList tools_;
};

}  // namespace sallyport::gateway
