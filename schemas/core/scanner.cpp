#include "schemas/core/scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "schemas/core/encoding.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport::json {
namespace {

constexpr std::size_t kMaxBytes = 0xFFFFFFFE;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What stands at `at`, for an error message.
std::string found(const char* at, const char* end) {
  if (at == end) return ", but the text ends";
  const auto c = unicode::decode(at, end);
  return fmt::format(", found `{}`", visible({at, c.length == 0 ? 1 : c.length}));
}

}  // namespace

Scanner::Scanner(Document& document, const Limits& limits)
    : document_(document),
      nodes_(document.nodes_),
      limits_(limits),
      begin_(document.text_.data()),
      end_(begin_ + document.text_.size()),
      p_(begin_) {}

Status Scanner::run() {
  const std::size_t size = document_.text_.size();
  const std::size_t most = std::min(limits_.bytes, kMaxBytes);
  if (size > most) return fail(ErrorCode::limit, fmt::format("a text of {} bytes, {} are allowed", size, most));
  nodes_.reserve(std::min<std::size_t>(size / 8, 1U << 16) + 8);
  if (document_.text_.starts_with("\xEF\xBB\xBF")) {
    refuse("the text begins with a byte order mark, which JSON does not allow", p_);
    return fail(std::move(error_));
  }
  skip_space();
  Next next = Next::value;
  while (next != Next::done) {
    switch (next) {
      case Next::value:
        next = scan_value();
        break;
      case Next::key:
        next = scan_key();
        break;
      case Next::after:
        next = scan_after();
        break;
      case Next::done:
        break;
      case Next::refused:
        return fail(std::move(error_));
    }
  }
  // A growing vector may hold twice what it needs.
  if (nodes_.capacity() > nodes_.size() + nodes_.size() / 4 + 1024) nodes_.shrink_to_fit();
  return {};
}

Scanner::Next Scanner::scan_value() {
  bool ok = false;
  switch (*p_) {
    case '{':
      return open(Kind::object);
    case '[':
      return open(Kind::array);
    case '"':
      ok = string();
      break;
    case 't':
      ok = literal("true", Kind::boolean, Document::kTrue);
      break;
    case 'f':
      ok = literal("false", Kind::boolean, 0);
      break;
    case 'n':
      ok = literal("null", Kind::null, 0);
      break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      ok = number();
      break;
    default:
      ok = !bad_space_ && expected("a value");
      break;
  }
  return ok ? Next::after : Next::refused;
}

// At the first byte of what should be a name, with its object open.
Scanner::Next Scanner::scan_key() {
  if (*p_ != '"') {
    if (!bad_space_) expected("a member name in double quotes");
    return Next::refused;
  }
  if (!string()) return Next::refused;
  ++nodes_[parent_].count;
  skip_space();
  if (*p_ != ':') {
    if (!bad_space_) expected("`:` after the member name");
    return Next::refused;
  }
  ++p_;
  skip_space();
  return Next::value;
}

// Behind a whole value.
Scanner::Next Scanner::scan_after() {
  skip_space();
  if (parent_ == kNone) {
    if (p_ == end_ && !bad_space_) return Next::done;
    if (!bad_space_) expected("the end of the text");
    return Next::refused;
  }
  const bool object = nodes_[parent_].kind == Kind::object;
  const char closing = object ? '}' : ']';
  if (!object) ++nodes_[parent_].count;
  if (*p_ == ',') {
    ++p_;
    skip_space();
    if (*p_ == closing && limits_.comments) return close();
    return object ? Next::key : Next::value;
  }
  if (*p_ == closing) return close();
  if (!bad_space_) expected(object ? "`,` or `}` after the member" : "`,` or `]` after the element");
  return Next::refused;
}

Scanner::Next Scanner::open(Kind kind) {
  if (depth_ >= limits_.depth) {
    refuse_limit(fmt::format("nested deeper than the {} levels allowed", limits_.depth), p_);
    return Next::refused;
  }
  ++depth_;
  add(kind, p_, 0);
  nodes_.back().next = parent_;
  parent_ = static_cast<std::uint32_t>(nodes_.size() - 1);
  ++p_;
  skip_space();
  if (kind == Kind::object) return *p_ == '}' ? close() : Next::key;
  return *p_ == ']' ? close() : Next::value;
}

// At the closing bracket of the innermost container.
Scanner::Next Scanner::close() {
  ++p_;
  Node& node = nodes_[parent_];
  parent_ = node.next;
  --depth_;
  node.end = offset(p_);
  node.next = static_cast<std::uint32_t>(nodes_.size());
  if (node.kind == Kind::object && node.count > 1) check_names(node);
  if (parent_ != kNone) nodes_[parent_].flags |= node.flags & Document::kMarkWithin;
  return Next::after;
}

bool Scanner::literal(std::string_view word, Kind kind, std::uint8_t flags) {
  if (static_cast<std::size_t>(end_ - p_) < word.size() || std::memcmp(p_, word.data(), word.size()) != 0) {
    return expected("a value");
  }
  const char* begin = p_;
  p_ += word.size();
  add(kind, begin, flags);
  return true;
}

void Scanner::add(Kind kind, const char* begin, std::uint8_t flags) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  // Made in place: a copy would read back, at once and in wider pieces, what has just been written (a third of the
  // scan).
  nodes_.emplace_back(offset(begin), offset(p_), index + 1, 0U, kind, flags);
}

inline void Scanner::skip_space() {
  if (static_cast<unsigned char>(*p_) > '/') return;  // most tokens follow at once
  for (;;) {
    while (is_space(*p_)) ++p_;
    if (*p_ != '/' || !limits_.comments) return;
    if (!skip_comment()) {
      // No state accepts a slash, so the next one ends the scan with the refusal kept here.
      bad_space_ = true;
      return;
    }
  }
}

bool Scanner::skip_comment() {
  const std::string_view rest(p_, static_cast<std::size_t>(end_ - p_));
  std::size_t size = 0;
  if (rest.starts_with("//")) {
    size = std::min(rest.find('\n'), rest.size());
  } else if (rest.starts_with("/*")) {
    size = rest.find("*/", 2);
    if (size == std::string_view::npos) return refuse("expected `*/` to end the comment, but the text ends", p_);
    size += 2;
  } else {
    return refuse("expected `//` or `/*` to begin a comment", p_);
  }
  if (!valid_utf8(rest.substr(0, size))) return refuse("a comment that is no UTF-8", p_);
  p_ += size;
  return true;
}

bool Scanner::expected(std::string_view what) {
  return refuse(fmt::format("expected {}{}", what, found(p_, end_)), p_);
}

bool Scanner::refuse(std::string message, const char* at) {
  const auto [line, column] = document_.position(offset(at));
  error_ = {ErrorCode::invalid, fmt::format("{} at line {}, column {}", message, line, column)};
  return false;
}

bool Scanner::refuse_limit(std::string message, const char* at) {
  refuse(std::move(message), at);
  error_.code = ErrorCode::limit;
  return false;
}

}  // namespace sallyport::json
