// Strings and numbers of the scan.
#include <array>
#include <bit>
#include <cstring>

#include "schemas/core/number.hpp"
#include "schemas/core/scanner.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport::json {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

// The high bit of every byte of `word` that is zero; exact up to and including the lowest one.
constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// The first byte from `p` on that is a quote, a backslash, a control character or not ASCII. There is one: the NUL at
// `end`.
const char* skip_plain(const char* p, const char* end) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, 8);
      const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
      const std::uint64_t stop =
          control | (word & kHighs) | zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\');
      if (stop != 0) return p + (std::countr_zero(stop) >> 3);
      p += 8;
    }
  }
  for (;; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) return p;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Four hex digits, or -1. Stops at the text's NUL, which is no digit.
std::int32_t hex4(const char* p) {
  std::int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const auto lower = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      value = value << 4 | (c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value << 4 | (lower - 'a' + 10);
    } else {
      return -1;
    }
  }
  return value;
}

}  // namespace

bool Scanner::string() {
  const char* begin = p_;
  const char* p = p_ + 1;
  std::uint8_t flags = 0;
  for (;;) {
    p = skip_plain(p, end_);
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"') break;
    if (c == '\\') {
      flags |= Document::kEscapes;
      p = escape(p);
      if (p == nullptr) return false;
    } else if (c >= 0x80) {
      flags |= Document::kNotAscii;
      do {
        const auto length = unicode::decode(p, end_).length;
        if (length == 0) return refuse("bytes that are no UTF-8", p);
        p += length;
      } while (static_cast<unsigned char>(*p) >= 0x80);
    } else if (p == end_) {
      p_ = p;
      return expected("`\"` to end the string");
    } else {
      return refuse("a control character in a string, which must be escaped", p);
    }
  }
  p_ = p + 1;
  add(Kind::string, begin, flags);
  return true;
}

// Behind the escape that begins at `at`, or nullptr.
const char* Scanner::escape(const char* at) {
  switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return at + 2;
    case 'u':
      break;
    default:
      refuse("expected one of `\"\\/bfnrtu` after the backslash", at);
      return nullptr;
  }
  const std::int32_t unit = hex4(at + 2);
  if (unit < 0) {
    refuse("expected four hex digits after `\\u`", at);
    return nullptr;
  }
  if (unit < 0xD800 || unit > 0xDFFF) return at + 6;
  const bool pair = unit < 0xDC00 && at[6] == '\\' && at[7] == 'u';
  const std::int32_t low = pair ? hex4(at + 8) : -1;
  if (low < 0xDC00 || low > 0xDFFF) {
    refuse("an escaped surrogate without its other half", at);
    return nullptr;
  }
  return at + 12;
}

bool Scanner::number() {
  const char* begin = p_;
  if (*p_ == '-') ++p_;
  if (*p_ == '0') {
    ++p_;
    if (is_digit(*p_)) return refuse("a number with a zero in front", begin);
  } else {
    if (!is_digit(*p_)) return expected("a digit");
    while (is_digit(*p_)) ++p_;
  }
  if (*p_ == '.') {
    ++p_;
    if (!is_digit(*p_)) return expected("a digit after the point");
    while (is_digit(*p_)) ++p_;
  }
  bool exponent = false;
  if (*p_ == 'e' || *p_ == 'E') {
    exponent = true;
    ++p_;
    if (*p_ == '+' || *p_ == '-') ++p_;
    if (!is_digit(*p_)) return expected("a digit in the exponent");
    while (is_digit(*p_)) ++p_;
  }
  // 300 digits and no exponent cannot leave the range of doubles.
  const bool plain = !exponent && p_ - begin <= 300;
  const bool unsafe = !plain && unsafe_number({begin, static_cast<std::size_t>(p_ - begin)});
  add(Kind::number, begin, unsafe ? Document::kUnsafe : 0);
  if (unsafe && parent_ != kNone) nodes_[parent_].flags |= Document::kMarkWithin;
  return true;
}

}  // namespace sallyport::json
