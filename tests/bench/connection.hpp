// One kept-alive HTTP connection of the load generator: a request out, an answer in, without waiting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport::bench {

class Connection {
 public:
  // Connects, blocking. Throws std::runtime_error.
  Connection(const std::string& host, std::uint16_t port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The whole request; loopback takes it at once. Throws std::runtime_error where the peer is gone.
  void send(std::string_view request);
  // Takes what is there; true: an answer is complete in answer(). Throws std::runtime_error.
  bool receive();
  void receive_all();  // blocking
  [[nodiscard]] std::string_view answer() const { return std::string_view(buffer_).substr(0, length_); }
  [[nodiscard]] std::string_view body() const { return answer().substr(head_); }
  [[nodiscard]] int status() const;
  // The value of a header of the answer; the name as the server spells it, case ignored.
  [[nodiscard]] std::string header(std::string_view name) const;

 private:
  bool complete();

  int descriptor_ = -1;
  std::string buffer_;
  std::size_t head_ = 0;    // length of the head; 0: not here yet
  std::size_t length_ = 0;  // of head and body
};

}  // namespace sallyport::bench
