// StdioFront: MCP as lines of JSON over a ByteStream, for the bridges that connect to `client.sock`. The first line is
// a hello (hello.hpp). One session per connection. On the loop.
//
// A client that does not read holds up only itself: nothing more of it is read while `high_water` bytes wait for it,
// and it is given up when a write makes no headway for `write_wait`. When the client ends its side, its open requests
// have `end_grace` to finish, are then cancelled (disconnect), and the session ends.
#pragma once

#include <functional>
#include <memory>

#include "gateway/base/task_group.hpp"
#include "gateway/clients/authenticate.hpp"
#include "gateway/clients/sessions.hpp"
#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway {

struct StdioFrontOptions {
  LimitSettings limits;
  std::function<bool(std::string_view)> knows_server;
  std::size_t connections = 1024;  // more are refused in the hello's answer
  std::size_t high_water = 1U << 20;
  Millis hello_wait{10'000};
  Millis write_wait{30'000};  // for each 64 KiB
  Millis end_grace{1'000};
  Millis cancel_wait{2'000};  // for the answers of cancelled requests
};

class StdioFront {
 public:
  // `sessions` outlives this.
  StdioFront(asio::any_io_executor loop, Sessions& sessions, std::shared_ptr<const Authenticator> authenticator,
             StdioFrontOptions options);
  ~StdioFront();
  StdioFront(const StdioFront&) = delete;
  StdioFront& operator=(const StdioFront&) = delete;

  void accept(std::unique_ptr<ByteStream> stream);                             // serves it in the background
  void set_authenticator(std::shared_ptr<const Authenticator> authenticator);  // for whoever comes from now on
  // Takes no more lines, finishes or cancels what is open (Sessions::drain), closes the connections. True: nothing was
  // cut.
  asio::awaitable<bool> shutdown(Deadline deadline);
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sallyport::gateway
