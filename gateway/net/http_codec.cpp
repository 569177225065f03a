#include "gateway/net/http_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace sallyport::gateway {
namespace {

using Fault = std::optional<HttpFault>;

HttpFault bad(std::string message, int status = 400) { return HttpFault(status, std::move(message)); }

bool equal_name(std::string_view a, std::string_view lower_case) {
  return std::ranges::equal(a, lower_case,
                            [](char x, char y) { return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y; });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool printable(char c) { return c > ' ' && c <= '~'; }

// What the fields say about the body, and how often.
struct Framing {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  std::uint64_t length = 0;
  std::size_t fields = 0;
};

Fault check_length(std::string_view value, Framing& framing) {
  ++framing.lengths;
  const bool digits = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), framing.length);
  if (!digits || error != std::errc()) return bad("Content-Length is not a number");
  return {};
}

// One line without its CRLF. Bytes above 0x7F are let through in values of answers only.
Fault check_field(std::string_view line, bool request, Framing& framing) {
  if (line.starts_with(' ') || line.starts_with('\t')) return bad("a header is folded over several lines");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bad("a header has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return bad("a header's name holds a character that it must not");
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto allowed = [request](char c) {
    return c == '\t' || (c >= ' ' && c <= '~') || (!request && (static_cast<unsigned char>(c) & 0x80U) != 0);
  };
  if (!std::ranges::all_of(value, allowed)) return bad("a header's value holds a byte that it must not");
  ++framing.fields;
  if (equal_name(name, "content-length")) return check_length(value, framing);
  if (equal_name(name, "transfer-encoding")) {
    ++framing.encodings;
    if (!equal_name(value, "chunked")) return bad("the only Transfer-Encoding is chunked", request ? 501 : 400);
  }
  if (equal_name(name, "host")) {
    ++framing.hosts;
    if (value.find_first_of(" \t/\\@?#,") != std::string_view::npos) return bad("Host is not a host");
  }
  return {};
}

// All lines after the first.
Fault check_fields(std::string_view lines, bool request, Framing& framing) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos || end == 0 || lines[end - 1] != '\r') return bad("a line does not end in CR LF");
    const std::string_view line = lines.substr(0, end - 1);
    lines.remove_prefix(end + 1);
    if (line.empty()) break;
    if (line.find('\r') != std::string_view::npos) return bad("a CR stands inside a line");
    if (Fault fault = check_field(line, request, framing)) return fault;
  }
  if (framing.lengths > 1) return bad("there are several Content-Length headers");
  if (framing.encodings > 1) return bad("there are several Transfer-Encoding headers");
  if (framing.encodings > 0 && framing.lengths > 0) return bad("there are both Transfer-Encoding and Content-Length");
  return {};
}

Fault check_request_line(std::string_view line, const HttpLimits& limits, bool& http_1_0) {
  if (line.size() > limits.target_bytes + kRequestLineExtra) return bad("the request line is too long", 414);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad("the request line is not METHOD TARGET VERSION");
  const std::string_view version = line.substr(last + 1);
  http_1_0 = version == "HTTP/1.0";
  if (!is_token(line.substr(0, first))) return bad("the method holds a character that it must not");
  if (!http_1_0 && version != "HTTP/1.1") {
    const bool http = version.size() == 8 && version.starts_with("HTTP/");
    return http ? bad("only HTTP/1.1 and HTTP/1.0 are spoken here", 505) : bad("the request line has no HTTP version");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.size() > limits.target_bytes) return bad("the target is too long", 414);
  if (!std::ranges::all_of(target, printable) || target.contains('#'))
    return bad("the target holds a byte that it must not");
  if (!target.starts_with('/')) return bad("the target must begin with a slash");
  return {};
}

}  // namespace

std::size_t find_head_end(std::string_view bytes, std::size_t& from) {
  const std::size_t end = bytes.find("\r\n\r\n", from);
  if (end != std::string_view::npos) return end + 4;
  from = bytes.size() < 3 ? 0 : bytes.size() - 3;
  return std::string_view::npos;
}

Fault check_request_head(std::string_view head, const HttpLimits& limits) {
  const std::size_t end = head.find("\r\n");
  bool http_1_0 = false;
  if (Fault fault = check_request_line(head.substr(0, end), limits, http_1_0)) return fault;
  Framing framing;
  if (Fault fault = check_fields(head.substr(end + 2), true, framing)) return fault;
  if (framing.fields > limits.header_fields) return bad("there are too many headers", 431);
  if (framing.hosts > 1) return bad("there are several Host headers");
  if (framing.hosts == 0 && !http_1_0) return bad("the Host header is missing");
  if (http_1_0 && framing.encodings > 0) return bad("HTTP/1.0 has no Transfer-Encoding");
  const bool bodiless = head.starts_with("GET ") || head.starts_with("HEAD ");
  if (bodiless && (framing.encodings > 0 || framing.length > 0)) return bad("a GET has no body here");
  if (framing.length > limits.body_bytes) {
    return bad(fmt::format("the body is larger than {} bytes", limits.body_bytes), 413);
  }
  return {};
}

Fault check_response_head(std::string_view head) {
  const std::size_t end = head.find("\r\n");
  const std::string_view line = head.substr(0, end);
  const bool version = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const bool digits =
      line.size() >= 12 && std::ranges::all_of(line.substr(9, 3), [](char c) { return c >= '0' && c <= '9'; });
  if (!version || !digits || (line.size() > 12 && line[12] != ' ')) return bad("the answer is not HTTP/1.1");
  if (std::ranges::any_of(line, [](char c) { return c != '\t' && static_cast<unsigned char>(c) < ' '; })) {
    return bad("the status line holds a control byte");
  }
  Framing framing;
  if (Fault fault = check_fields(head.substr(end + 2), false, framing)) return fault;
  if (line.starts_with("HTTP/1.0") && framing.encodings > 0) return bad("HTTP/1.0 has no Transfer-Encoding");
  return {};
}

namespace {

bool owned_by_writer(std::string_view name) {
  return equal_name(name, "content-length") || equal_name(name, "transfer-encoding") ||
         equal_name(name, "connection") || equal_name(name, "date") || equal_name(name, "host") ||
         equal_name(name, "accept-encoding");
}

Status append_fields(std::string& out, const HttpHeaders& headers) {
  for (const auto& [name, value] : headers.fields()) {
    if (!is_token(name) || !is_header_value(value)) {
      return fail(ErrorCode::internal, fmt::format("the header `{}` holds a character that cannot be sent", name));
    }
    if (owned_by_writer(name)) continue;
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  return {};
}

const std::string& http_date() {
  thread_local std::time_t made = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char buffer[40];
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
    made = now;
  }
  return text;
}

}  // namespace

Result<std::string> response_head(int status, const HttpHeaders& headers, HttpFraming framing, std::size_t length,
                                  bool keep_alive) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", status, reason_phrase(status), http_date());
  if (Status added = append_fields(out, headers); !added) return fail(std::move(added.error()));
  if (framing == HttpFraming::length) out += fmt::format("Content-Length: {}\r\n", length);
  if (framing == HttpFraming::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive) out += "Connection: close\r\n";
  return out += "\r\n";
}

Result<std::string> request_head(std::string_view method, std::string_view target, std::string_view host,
                                 const HttpHeaders& headers, std::size_t length, bool has_body) {
  if (!is_token(method)) return fail(ErrorCode::invalid, "the method holds a character that cannot be sent");
  if (!target.starts_with('/') || !std::ranges::all_of(target, printable)) {
    return fail(ErrorCode::invalid, "the target holds a character that cannot be sent");
  }
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nAccept-Encoding: identity\r\n", method, target, host);
  if (Status added = append_fields(out, headers); !added) {
    added.error().code = ErrorCode::invalid;
    return fail(std::move(added.error()));
  }
  if (has_body) out += fmt::format("Content-Length: {}\r\n", length);
  return out += "\r\n";
}

std::string chunk(std::string_view data) {
  if (data.empty()) return {};
  std::string out = fmt::format("{:x}\r\n", data.size());
  out.reserve(out.size() + data.size() + 2);
  out += data;
  return out += "\r\n";
}

}  // namespace sallyport::gateway
