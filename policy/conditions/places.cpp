#include "policy/conditions/places.hpp"

#include <algorithm>
#include <boost/url/ipv6_address.hpp>
#include <charconv>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxPath = 65'536;
constexpr std::size_t kMaxUrl = 65'536;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// `..`, and what becomes it when blanks are trimmed away; three dots and more are a name to most, but not to all.
bool is_dotted(std::string_view component) {
  const auto dots = std::ranges::count(component, '.');
  return dots >= 2 &&
         std::ranges::all_of(component, [](char c) { return c == '.' || static_cast<unsigned char>(c) <= ' '; });
}

bool has_forbidden(std::string_view path) {
  return std::ranges::any_of(path, [](char c) { return c == '\0' || c == '\\' || c == '~' || c == '%'; });
}

// Whether compatibility forms (a full-width slash, a two-dot leader) would make another path of it.
bool folds_otherwise(std::string_view path) {
  if (is_ascii(path)) return false;
  const auto folded = fold(path);
  if (!folded) return true;
  const auto count = [](std::string_view text) {
    return std::ranges::count_if(
        text, [](char c) { return c == '/' || c == '\\' || c == '~' || c == '%' || c == '.' || c == '\0'; });
  };
  return count(*folded) != count(path);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_strict_ipv4(std::string_view host) {
  int parts = 0;
  while (true) {
    const std::size_t dot = host.find('.');
    const std::string_view part = host.substr(0, dot);
    if (part.empty() || part.size() > 3 || !std::ranges::all_of(part, is_digit)) return false;
    if ((part.size() > 1 && part[0] == '0') || std::stoi(std::string(part)) > 255) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts == 4;
    host.remove_prefix(dot + 1);
  }
}

// Letters, digits, `-`, `_` and dots between them. A last label that WHATWG would read as a number makes it an IPv4
// address, which must then be four plain decimals.
bool is_plain_name(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  std::string_view last;
  for (std::string_view rest = host;;) {
    const std::size_t dot = rest.find('.');
    last = rest.substr(0, dot);
    if (last.empty() || last.size() > 63) return false;
    const bool plain =
        std::ranges::all_of(last, [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; });
    if (!plain) return false;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  const bool number = std::ranges::all_of(last, is_digit) || last.starts_with("0x");
  return !number || is_strict_ipv4(host);
}

// `host` or `host:port`.
std::optional<HostPort> parse_authority(std::string_view authority) {
  HostPort out;
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const auto address = boost::urls::parse_ipv6_address(authority.substr(1, close - 1));
    if (!address) return std::nullopt;
    out.host = "[" + std::string(address->to_string()) + "]";
    const std::string_view rest = authority.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    if (has_port) port = authority.substr(colon + 1);
    out.host = lower(authority.substr(0, colon));
    if (!is_plain_name(out.host)) return std::nullopt;
  }
  if (has_port) {
    out.port = parse_port(port);
    if (!out.port) return std::nullopt;
  }
  return out;
}

std::optional<std::uint16_t> scheme_port(std::string_view scheme) {
  if (scheme == "http" || scheme == "ws") return 80;
  if (scheme == "https" || scheme == "wss") return 443;
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> path_components(std::string_view path) {
  if (!path.starts_with('/') || path.size() > kMaxPath || has_forbidden(path) || folds_otherwise(path))
    return std::nullopt;
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    if (is_dotted(component)) return std::nullopt;
    if (!component.empty() && component != ".") out.emplace_back(component);
    path.remove_prefix(slash);
  }
  return out;
}

bool is_within(const std::vector<std::string>& path, const std::vector<std::string>& folder) {
  return path.size() >= folder.size() && std::equal(folder.begin(), folder.end(), path.begin());
}

std::optional<HostPort> url_host(std::string_view url) {
  if (url.size() > kMaxUrl) return std::nullopt;
  for (const char c : url) {  // what one reader strips, encodes or takes for a slash
    if (c <= ' ' || static_cast<unsigned char>(c) >= 0x7f) return std::nullopt;
    if (std::string_view("\"<>\\^`{|}").find(c) != std::string_view::npos) return std::nullopt;
  }
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto usual = scheme_port(lower(url.substr(0, colon)));
  std::string_view rest = url.substr(colon + 1);
  if (!usual || !rest.starts_with("//")) return std::nullopt;
  rest.remove_prefix(2);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  auto out = parse_authority(authority);  // a user, an escape or an empty port is no plain name
  if (!out) return std::nullopt;
  if (!out->port) out->port = usual;
  out->default_port = out->port == usual;
  return out;
}

std::optional<HostPort> host_operand(std::string_view text) { return parse_authority(text); }

}  // namespace sallyport::policy
