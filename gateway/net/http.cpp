#include "gateway/net/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gateway/net/url.hpp"

namespace sallyport::gateway {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The next piece of `list` before `separator`, outside quoted strings; `list` keeps the rest.
std::string_view next_piece(std::string_view& list, char separator) {
  bool quoted = false;
  std::size_t i = 0;
  for (; i < list.size(); ++i) {
    if (quoted && list[i] == '\\') {
      ++i;
    } else if (list[i] == '"') {
      quoted = !quoted;
    } else if (list[i] == separator && !quoted) {
      break;
    }
  }
  const std::string_view piece = list.substr(0, std::min(i, list.size()));
  list.remove_prefix(std::min(i + 1, list.size()));
  return piece;
}

bool excluded(std::string_view parameters) {  // q=0, q=0.0 …
  while (!parameters.empty()) {
    const std::string_view parameter = trimmed(next_piece(parameters, ';'));
    if (parameter.size() < 2 || lower(parameter[0]) != 'q' || parameter[1] != '=') continue;
    const std::string_view weight = parameter.substr(2);
    return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
  }
  return false;
}

// How exactly `range` names `type`: 3 itself, 2 `type/*`, 1 `*/*`, 0 not.
int precision(std::string_view range, std::string_view type) {
  if (range == type) return 3;
  if (range == "*/*") return 1;
  return range.ends_with("/*") && type.starts_with(range.substr(0, range.size() - 1)) ? 2 : 0;
}

}  // namespace

std::optional<std::string_view> HttpHeaders::get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (same_name(key, name)) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> HttpHeaders::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_) {
    if (same_name(key, name)) values.emplace_back(value);
  }
  return values;
}

std::size_t HttpHeaders::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields_, [name](const auto& field) { return same_name(field.first, name); }));
}

void HttpHeaders::set(std::string name, std::string value) {
  erase(name);
  add(std::move(name), std::move(value));
}

void HttpHeaders::erase(std::string_view name) {
  std::erase_if(fields_, [name](const auto& field) { return same_name(field.first, name); });
}

std::string media_type(std::string_view value) { return lower(trimmed(value.substr(0, value.find(';')))); }

bool accepts(const HttpHeaders& headers, std::string_view type) {
  int best = 0;
  bool taken = false;
  bool any = false;
  for (std::string_view list : headers.all("Accept")) {
    while (!list.empty()) {
      std::string_view rest = next_piece(list, ',');
      const std::string range = media_type(next_piece(rest, ';'));
      if (range.empty()) continue;
      any = true;
      const int how = precision(range, type);
      if (how <= best) continue;
      best = how;
      taken = !excluded(rest);
    }
  }
  return !any || taken;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

bool is_token(std::string_view text) {
  static constexpr std::string_view kSpecial = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kSpecial.contains(c);
  });
}

bool is_header_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

std::optional<std::string_view> bearer_token(const HttpHeaders& headers) {
  if (headers.count("Authorization") != 1) return std::nullopt;
  const std::string_view value = trimmed(*headers.get("Authorization"));
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size() || !same_name(value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  const std::string_view token = trimmed(value.substr(kScheme.size()));
  if (token.empty() || token.find_first_of(" \t,") != std::string_view::npos) return std::nullopt;
  return token;
}

namespace {

struct HostPort {
  std::string host;  // no brackets
  std::string port;  // may be empty
};

std::optional<HostPort> split_host(std::string_view text) {
  HostPort out;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    out.host = lower(text.substr(1, end - 1));
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    out.host = lower(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (!rest.empty()) {
    if (rest.front() != ':') return std::nullopt;
    out.port = std::string(rest.substr(1));
    unsigned number = 0;
    const char* end = out.port.data() + out.port.size();
    const auto [stop, error] = std::from_chars(out.port.data(), end, number);
    if (error != std::errc() || stop != end || number > 65535) return std::nullopt;
  }
  if (out.host.empty()) return std::nullopt;
  return out;
}

bool host_allowed(std::string_view host, const OriginRules& rules) {
  const std::optional<HostPort> parts = split_host(host);
  if (!parts) return false;
  if (rules.loopback_names && (parts->host == "localhost" || parts->host == "127.0.0.1" || parts->host == "::1"))
    return true;
  const std::string whole = lower(host);
  const std::string name = whole.substr(0, whole.size() - (parts->port.empty() ? 0 : parts->port.size() + 1));
  return std::ranges::any_of(rules.hosts, [&](const std::string& rule) { return rule == whole || rule == name; });
}

}  // namespace

Status check_origin(const HttpHeaders& headers, const OriginRules& rules) {
  const auto hosts = headers.all("Host");
  if (hosts.size() != 1 || !host_allowed(hosts.front(), rules)) {
    return fail(ErrorCode::forbidden,
                fmt::format("this listener does not answer under the Host `{}`", hosts.empty() ? "" : hosts.front()),
                ErrorSource::client);
  }
  const auto origins = headers.all("Origin");
  if (origins.empty()) return {};
  if (origins.size() == 1) {
    if (std::ranges::find(rules.origins, origins.front()) != rules.origins.end()) return {};
    // The same origin: its host and port are exactly those of the Host header.
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (origins.front().starts_with(scheme) && lower(origins.front().substr(scheme.size())) == lower(hosts.front()))
        return {};
    }
  }
  return fail(ErrorCode::forbidden, fmt::format("requests from the Origin `{}` are not allowed", origins.front()),
              ErrorSource::client);
}

}  // namespace sallyport::gateway
