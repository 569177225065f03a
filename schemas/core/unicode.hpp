// UTF-8 at the level of single code points, and folding in bounded pieces; for the sources of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport::unicode {

struct CodePoint {
  char32_t value = 0;
  std::uint32_t length = 0;  // bytes read; 0: they are no UTF-8
};

inline bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The code point at `text[0]`, one byte or more being there. No overlong forms, surrogates or values above U+10FFFF.
inline CodePoint decode(const char* text, const char* end) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  const std::size_t left = static_cast<std::size_t>(end - text);
  const unsigned char lead = p[0];
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) {
    if (left < 2 || !continues(p[1])) return {};
    return {static_cast<char32_t>((lead & 0x1FU) << 6 | (p[1] & 0x3FU)), 2};
  }
  if (lead < 0xF0) {
    if (left < 3 || !continues(p[1]) || !continues(p[2])) return {};
    const char32_t value = (lead & 0x0FU) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU);
    if (value < 0x800 || (value >= 0xD800 && value <= 0xDFFF)) return {};
    return {value, 3};
  }
  if (lead > 0xF4 || left < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3])) return {};
  const char32_t value = (lead & 0x07U) << 18 | (p[1] & 0x3FU) << 12 | (p[2] & 0x3FU) << 6 | (p[3] & 0x3FU);
  if (value < 0x10000 || value > 0x10FFFF) return {};
  return {value, 4};
}

// Appends one code point that is no surrogate.
inline void append(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_ascii(std::string_view text);

enum class Folded : std::uint8_t {
  whole,     // exactly NFKC_Casefold
  grouped,   // a run of combining marks too long to be ordered was folded in groups
  bad_utf8,  // nothing useful was appended
};

// Appends the folded form (encoding.hpp). Time and extra memory do not grow faster than the text.
Folded fold_into(std::string_view utf8, std::string& out);

// Appends the decoded text of the inside of a JSON string literal that the scanner has accepted.
void unescape_into(std::string_view inside, std::string& out);

// Appends the JSON string literal of the text, quotes included (encoding.hpp: quote).
void quote_into(std::string_view text, std::string& out);

}  // namespace sallyport::unicode
