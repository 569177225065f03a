// For tests of the front for lines.
#pragma once

#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {

class StdioTest : public ClientsTest {
 protected:
  static std::string cancel(std::string_view id) {
    return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + std::string(id) + "}}";
  }
  static std::int64_t error_of(const std::string& line) {
    const auto value = boost::json::parse(line);
    return value.as_object().contains("error") ? value.at("error").at("code").as_int64() : 0;
  }
  asio::awaitable<void> until_no_connection() {
    const Deadline deadline = soon();
    while (stdio_->connections() > 0 && !deadline.passed()) {
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(1)));
    }
    EXPECT_EQ(stdio_->connections(), 0U);
  }
};

}  // namespace sallyport::gateway::testing
