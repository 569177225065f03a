// A non-blocking file descriptor on the loop: the one place where readiness is waited for. Internal to net.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "gateway/base/deadline.hpp"
#include "gateway/net/byte_stream.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

class Descriptor {
 public:
  enum class Ready : unsigned char { read, write };
  Descriptor(asio::any_io_executor loop, int fd);  // owns fd
  ~Descriptor();                                   // closes
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int fd() const;  // -1 when closed
  // Success: try the operation again now. Errors: timeout (the message says what was waited for), cancelled (closed).
  asio::awaitable<Status> wait(Ready ready, Deadline deadline);
  void close() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// "EPIPE" and the like as text; thread-safe.
[[nodiscard]] std::string system_error_text(int error);

// A connected, non-blocking socket as a stream. `slot` is dropped when the stream has closed.
std::unique_ptr<ByteStream> adopt_socket(asio::any_io_executor loop, int fd, std::string peer,
                                         std::shared_ptr<void> slot = {});
void tune_tcp(int fd);  // no delay, keep-alive, a peer that vanished is found within two minutes

}  // namespace sallyport::gateway
