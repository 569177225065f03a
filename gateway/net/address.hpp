// Socket addresses as text. Internal to net.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"

namespace sallyport::gateway {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

[[nodiscard]] std::optional<SocketAddress> numeric_address(std::string_view host, std::uint16_t port);
Result<SocketAddress> unix_address(std::string_view path);        // invalid: too long (107 bytes), empty or with NUL
[[nodiscard]] std::string to_text(const SocketAddress& address);  // "127.0.0.1:80", "[::1]:80", "unix"
[[nodiscard]] std::uint16_t port_of(const SocketAddress& address);

}  // namespace sallyport::gateway
