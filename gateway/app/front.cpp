#include "gateway/app/front.hpp"

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kFirstListing =
    std::chrono::seconds(20);  // servers may take that long to start before a list goes without them

}  // namespace

AppFront::AppFront(calls::Calls& calls, catalogue::Catalogue& catalogue)
    : calls_(calls), catalogue_(catalogue), tools_(catalogue, calls::Calls::own_tools()) {}

asio::awaitable<Answer> AppFront::handle(Inbound inbound) {
  const bool call = inbound.method == "tools/call";
  if (!call && inbound.method != "tools/list") {
    co_return Answer::fail(mcp::code::kMethodNotFound, "Method not found: " + visible(inbound.method.substr(0, 100)));
  }
  co_await catalogue_.ready(Deadline::after(kFirstListing));
  if (!call) co_return tools_.list(inbound);
  Answer answer = co_await calls_.tools_call(std::move(inbound));
  co_return answer;
}

std::string AppFront::capabilities(const ClientContext&) const {
  return R"({"tools":{"listChanged":true},"logging":{}})";
}

std::string AppFront::instructions(const ClientContext&) const {
  return "Tools behind the Sallyport gateway. A refused call says so and says what to do; a call that waits for a "
         "person is continued with "
         "sallyport_wait.";
}

}  // namespace sallyport::gateway
