#include "gateway/net/url.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <cctype>
#include <charconv>

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMaxUrl = 8192;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::uint16_t default_port(Url::Scheme scheme) {
  if (scheme == Url::Scheme::unix_socket) return 0;
  return scheme == Url::Scheme::https ? 443 : 80;
}

Result<Url> parse_unix(std::string_view text, std::string_view path) {
  if (path.starts_with("//")) path.remove_prefix(2);
  if (!path.starts_with('/') || path.size() < 2 || path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::invalid, fmt::format("`{}` is no socket: write unix:/path/of.sock", text));
  }
  Url url;
  url.scheme = Url::Scheme::unix_socket;
  url.socket_path = std::string(path);
  return url;
}

// The host as DNS or an address has it; anything else could be read differently by somebody else.
Result<std::string> host_of(std::string_view text, const boost::urls::url_view& view) {
  std::string host = lower(std::string_view(view.encoded_host().data(), view.encoded_host().size()));
  if (host.starts_with('[')) {
    host = host.substr(1, host.size() - 2);
    if (!is_ip_address(host)) return fail(ErrorCode::invalid, fmt::format("`{}`: `{}` is no IPv6 address", text, host));
    return host;
  }
  if (host.ends_with('.')) host.pop_back();
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; };
  if (host.empty() || host.size() > 253 || !std::ranges::all_of(host, allowed)) {
    return fail(ErrorCode::invalid, fmt::format("`{}`: the host is not a DNS name or an address", text));
  }
  return host;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrl) return fail(ErrorCode::invalid, "the URL is longer than 8,192 bytes");
  if (text.starts_with("unix:")) return parse_unix(text, text.substr(5));
  const auto parsed = boost::urls::parse_uri({text.data(), text.size()});
  if (!parsed) return fail(ErrorCode::invalid, fmt::format("`{}` is no URL: write http://… or https://…", text));
  const boost::urls::url_view view = *parsed;
  Url url;
  const std::string scheme = lower({view.scheme().data(), view.scheme().size()});
  if (scheme == "https") {
    url.scheme = Url::Scheme::https;
  } else if (scheme != "http") {
    return fail(ErrorCode::invalid, fmt::format("`{}`: the scheme must be http, https or unix", text));
  }
  if (view.has_userinfo()) {
    return fail(ErrorCode::invalid, "a URL must not hold a user or password: use an Authorization header");
  }
  if (view.has_fragment())
    return fail(ErrorCode::invalid, fmt::format("`{}`: a fragment (#…) is not sent: remove it", text));
  Result<std::string> host = host_of(text, view);
  if (!host) return fail(host.error());
  url.host = std::move(*host);
  url.port = default_port(url.scheme);
  if (view.has_port() && !view.port().empty()) {
    const std::string_view digits(view.port().data(), view.port().size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || end != digits.data() + digits.size() || url.port == 0) {
      return fail(ErrorCode::invalid, fmt::format("`{}`: the port must be 1 to 65535", text));
    }
  }
  const auto target = view.encoded_target();
  url.target.assign(target.data(), target.size());
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

std::string Url::host_header() const {
  if (scheme == Scheme::unix_socket) return "localhost";
  const bool v6 = host.find(':') != std::string::npos;
  std::string out = v6 ? fmt::format("[{}]", host) : host;
  if (port != default_port(scheme)) out += fmt::format(":{}", port);
  return out;
}

std::string Url::origin() const {
  if (scheme == Scheme::unix_socket) return "unix:" + socket_path;
  return fmt::format("{}://{}", scheme == Scheme::https ? "https" : "http", host_header());
}

std::string Url::text() const { return scheme == Scheme::unix_socket ? origin() : origin() + target; }

bool is_ip_address(std::string_view host) {
  std::array<unsigned char, sizeof(in6_addr)> out{};
  const std::string text(host);
  return ::inet_pton(AF_INET, text.c_str(), out.data()) == 1 || ::inet_pton(AF_INET6, text.c_str(), out.data()) == 1;
}

bool is_loopback(std::string_view host) {
  const std::string text = lower(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return text == "localhost" || text.ends_with(".localhost");
}

}  // namespace sallyport::gateway
