// JSON string literals and UTF-8 as a whole.
#include <algorithm>
#include <cstring>

#include "schemas/core/encoding.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport {
namespace {

std::uint32_t hex4(const char* p) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    value = value << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

// The text up to the first byte that a JSON string literal cannot hold as it is.
std::size_t plain_prefix(std::string_view text) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) break;
  }
  return i;
}

void escape_into(unsigned char c, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += kHex[c >> 4];
  out += kHex[c & 15];
}

}  // namespace

namespace unicode {

bool is_ascii(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080) != 0) return false;
  }
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void unescape_into(std::string_view inside, std::string& out) {
  out.reserve(out.size() + inside.size());
  while (!inside.empty()) {
    const auto plain = std::min(inside.find('\\'), inside.size());
    out.append(inside.substr(0, plain));
    inside.remove_prefix(plain);
    if (inside.empty()) return;
    std::size_t length = 2;
    switch (inside[1]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        length = 6;
        std::uint32_t c = hex4(inside.data() + 2);
        if (c >= 0xD800 && c <= 0xDFFF) {  // the scanner saw its other half
          c = 0x10000 + ((c - 0xD800) << 10) + (hex4(inside.data() + 8) - 0xDC00);
          length = 12;
        }
        append(out, c);
        break;
      }
      default:
        out += inside[1];
        break;
    }
    inside.remove_prefix(length);
  }
}

void quote_into(std::string_view text, std::string& out) {
  out.reserve(out.size() + text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const auto plain = plain_prefix(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto lead = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    if (lead < 0x80) {
      escape_into(lead, out);
    } else if (const auto c = decode(text.data(), text.data() + text.size()); c.length > 0) {
      length = c.length;
      out.append(text.substr(0, length));
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace unicode

std::string quote(std::string_view text) {
  std::string out;
  unicode::quote_into(text, out);
  return out;
}

bool valid_utf8(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p != end) {
    std::uint64_t word = 0;
    if (end - p >= 8) {
      std::memcpy(&word, p, 8);
      if ((word & 0x8080808080808080) == 0) {
        p += 8;
        continue;
      }
    }
    const auto length = unicode::decode(p, end).length;
    if (length == 0) return false;
    p += length;
  }
  return true;
}

std::size_t code_points(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return !unicode::continues(static_cast<unsigned char>(c)); }));
}

}  // namespace sallyport
