#include "gateway/net/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cstring>

namespace sallyport::gateway {

std::optional<SocketAddress> numeric_address(std::string_view host, std::uint16_t port) {
  const std::string text(host);
  SocketAddress out;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.length = sizeof *v4;
    return out;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out.length = sizeof *v6;
    return out;
  }
  return std::nullopt;
}

Result<SocketAddress> unix_address(std::string_view path) {
  SocketAddress out;
  auto* address = reinterpret_cast<sockaddr_un*>(&out.storage);
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::invalid, fmt::format("`{}` is no path of a socket", path));
  }
  if (path.size() >= sizeof address->sun_path) {
    return fail(ErrorCode::invalid, fmt::format("the socket's path `{}` is longer than {} bytes: use a shorter folder",
                                                path, sizeof address->sun_path - 1));
  }
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path, path.data(), path.size());
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return out;
}

std::uint16_t port_of(const SocketAddress& address) {
  if (address.family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
  if (address.family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  return 0;
}

std::string to_text(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
    return fmt::format("{}:{}", ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size()), port_of(address));
  }
  if (address.family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    return fmt::format("[{}]:{}", ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size()), port_of(address));
  }
  return "unix";
}

}  // namespace sallyport::gateway
