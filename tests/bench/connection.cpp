#include "tests/bench/connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace sallyport::bench {

namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace

Connection::Connection(const std::string& host, std::uint16_t port) {
  descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) throw std::runtime_error("no address: " + host);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { ::close(descriptor_); }

void Connection::send(std::string_view request) {
  buffer_.clear();
  head_ = length_ = 0;
  while (!request.empty()) {
    const ssize_t count = ::send(descriptor_, request.data(), request.size(), MSG_NOSIGNAL);
    if (count < 0) fail("send");
    request.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool Connection::receive() {
  char bytes[16384];
  const ssize_t count = ::recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count == 0) throw std::runtime_error("the peer closed");
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    fail("receive");
  }
  buffer_.append(bytes, static_cast<std::size_t>(count));
  return complete();
}

void Connection::receive_all() {
  for (;;) {
    pollfd waiting{descriptor_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 30'000);
    if (ready == 0) throw std::runtime_error("no answer in 30 s");
    if (ready > 0 && receive()) return;
  }
}

bool Connection::complete() {
  if (head_ == 0) {
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    head_ = end + 4;
    length_ = head_;  // so that header() sees the head
    const std::string length = header("content-length");
    std::size_t body = 0;
    std::from_chars(length.data(), length.data() + length.size(), body);
    length_ = length.empty() && header("transfer-encoding") == "chunked" ? 0 : head_ + body;
  }
  if (length_ != 0) return buffer_.size() >= length_;
  if (!buffer_.ends_with("\r\n0\r\n\r\n")) return false;
  length_ = buffer_.size();
  return true;
}

int Connection::status() const {
  int status = 0;
  if (buffer_.size() > 12) std::from_chars(buffer_.data() + 9, buffer_.data() + 12, status);
  return status;
}

std::string Connection::header(std::string_view name) const {
  std::string_view head = std::string_view(buffer_).substr(0, head_);
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    std::string_view value = line.substr(name.size() + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    return std::string(value);
  }
  return {};
}

}  // namespace sallyport::bench
