// StderrDrain: what a child writes to stderr is always read (a child whose pipe is full hangs), logged line by line
// with the server's name, within a rate, and the last lines are kept as the reason of a failure.
#pragma once

#include <deque>
#include <string>

#include "gateway/base/rate_limit.hpp"
#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway::servers {

class StderrDrain {
 public:
  explicit StderrDrain(std::string server);
  asio::awaitable<void> run(ByteStream& stream);  // until the stream ends
  [[nodiscard]] std::string tail() const;         // the last lines, joined by ` | `; may be empty

 private:
  void line(std::string text);
  std::string server_;
  std::deque<std::string> last_;
  RateLimit rate_;
};

}  // namespace sallyport::gateway::servers
