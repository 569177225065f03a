// Characters that deceive a reader.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "schemas/core/encoding.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted. What has no shape of its own, looks like a space, reorders what stands around it, or means nothing by
// agreement.
constexpr Range kHidden[] = {
    {0x00, 0x1F},         // C0 controls
    {0x7F, 0xA0},         // delete, C1 controls, no-break space
    {0xAD, 0xAD},         // soft hyphen
    {0x34F, 0x34F},       // combining grapheme joiner
    {0x61C, 0x61C},       // Arabic letter mark
    {0x115F, 0x1160},     // Hangul fillers
    {0x1680, 0x1680},     // Ogham space
    {0x17B4, 0x17B5},     // Khmer inherent vowels
    {0x180B, 0x180F},     // Mongolian variation selectors and vowel separator
    {0x2000, 0x200F},     // spaces, zero width, direction marks
    {0x2028, 0x202F},     // separators, embeddings and overrides, narrow no-break space
    {0x205F, 0x206F},     // mathematical space, word joiner, invisible operators, isolates, deprecated controls
    {0x2800, 0x2800},     // blank Braille pattern
    {0x3164, 0x3164},     // Hangul filler
    {0xE000, 0xF8FF},     // private use
    {0xFDD0, 0xFDEF},     // noncharacters
    {0xFE00, 0xFE0F},     // variation selectors
    {0xFEFF, 0xFEFF},     // byte order mark
    {0xFFA0, 0xFFA0},     // halfwidth Hangul filler
    {0xFFF0, 0xFFFC},     // interlinear annotation, object replacement
    {0x13430, 0x1343F},   // Egyptian format controls
    {0x1BCA0, 0x1BCA3},   // shorthand format controls
    {0x1D159, 0x1D159},   // null notehead
    {0x1D173, 0x1D17A},   // musical format controls
    {0xE0000, 0xE0FFF},   // tags, more variation selectors
    {0xF0000, 0x10FFFF},  // private use
};

bool hidden(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return false;
  if ((c & 0xFFFE) == 0xFFFE) return true;  // noncharacters at the end of each plane
  const auto* range = std::ranges::lower_bound(kHidden, c, {}, &Range::last);
  return range != std::end(kHidden) && c >= range->first;
}

}  // namespace

std::string visible(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  const char* end = utf8.data() + utf8.size();
  for (const char* p = utf8.data(); p != end;) {
    const auto c = unicode::decode(p, end);
    if (c.length == 0) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:02X}}}", static_cast<unsigned char>(*p));
    } else if (hidden(c.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:02X}}}", static_cast<std::uint32_t>(c.value));
    } else {
      out.append(p, c.length);
    }
    p += std::max<std::uint32_t>(c.length, 1);
  }
  return out;
}

bool has_hidden(std::string_view utf8) {
  const char* end = utf8.data() + utf8.size();
  for (const char* p = utf8.data(); p != end;) {
    const auto c = unicode::decode(p, end);
    const bool layout = c.value == '\n' || c.value == '\t' || c.value == '\r';
    if (c.length == 0 || (hidden(c.value) && !layout)) return true;
    p += c.length;
  }
  return false;
}

}  // namespace sallyport
