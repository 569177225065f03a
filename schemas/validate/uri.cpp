#include "schemas/validate/uri.hpp"

#include <cstdint>

namespace sallyport::schema {
namespace {

struct Parts {
  std::string_view scheme, authority, path, query, fragment;
  bool has_scheme = false, has_authority = false, has_query = false, has_fragment = false;
};

bool is_scheme(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (i == 0 || !other)) return false;
  }
  return true;
}

Parts parse(std::string_view text) {
  Parts parts;
  if (const auto hash = text.find('#'); hash != text.npos) {
    parts.fragment = text.substr(hash + 1);
    parts.has_fragment = true;
    text = text.substr(0, hash);
  }
  if (const auto mark = text.find('?'); mark != text.npos) {
    parts.query = text.substr(mark + 1);
    parts.has_query = true;
    text = text.substr(0, mark);
  }
  if (const auto colon = text.find(':'); colon != text.npos && is_scheme(text.substr(0, colon))) {
    parts.scheme = text.substr(0, colon);
    parts.has_scheme = true;
    text = text.substr(colon + 1);
  }
  if (text.starts_with("//")) {
    text = text.substr(2);
    const auto slash = text.find('/');
    parts.authority = text.substr(0, slash);
    parts.has_authority = true;
    text = slash == text.npos ? std::string_view() : text.substr(slash);
  }
  parts.path = text;
  return parts;
}

std::string remove_dot_segments(std::string_view path) {
  std::string out;
  const auto drop_last = [&out] {
    const auto slash = out.rfind('/');
    out.resize(slash == std::string::npos ? 0 : slash);
  };
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../")) {
      path.remove_prefix(3);
      drop_last();
    } else if (path == "/..") {
      path = "/";
      drop_last();
    } else if (path == "." || path == "..") {
      path = {};
    } else {
      const auto end = path.find('/', 1);
      out += path.substr(0, end);
      path = end == path.npos ? std::string_view() : path.substr(end);
    }
  }
  return out;
}

std::string merge(const Parts& base, std::string_view path) {
  if (base.has_authority && base.path.empty()) return "/" + std::string(path);
  const auto slash = base.path.rfind('/');
  if (slash == base.path.npos) return std::string(path);
  return std::string(base.path.substr(0, slash + 1)) + std::string(path);
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
  const Parts ref = parse(reference);
  const Parts base = parse(base_text);
  Parts target = ref;
  std::string path;
  if (ref.has_scheme || ref.has_authority) {
    path = remove_dot_segments(ref.path);
  } else {
    target.authority = base.authority;
    target.has_authority = base.has_authority;
    if (ref.path.empty()) {
      path = base.path;
      if (!ref.has_query) {
        target.query = base.query;
        target.has_query = base.has_query;
      }
    } else {
      path = remove_dot_segments(ref.path.front() == '/' ? std::string(ref.path) : merge(base, ref.path));
    }
  }
  if (!ref.has_scheme) {
    target.scheme = base.scheme;
    target.has_scheme = base.has_scheme;
  }
  std::string out;
  if (target.has_scheme) out.append(target.scheme).append(":");
  if (target.has_authority) out.append("//").append(target.authority);
  out += path;
  if (target.has_query) out.append("?").append(target.query);
  if (ref.has_fragment) out.append("#").append(ref.fragment);
  return out;
}

SplitUri split_fragment(std::string_view uri) {
  const auto hash = uri.find('#');
  if (hash == uri.npos) return {uri, {}};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace sallyport::schema
