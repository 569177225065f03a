// Names as a careless reader sees them. The library orders combining marks by insertion, which is quadratic in a run of
// them, and needs four bytes for every code point of its result: so long texts are folded in pieces, cut where Unicode
// allows it (before a letter that joins with nothing before it) or, in an absurd run of marks, wherever the piece is
// full.
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport {
namespace unicode {
namespace {

constexpr std::size_t kPiece = 48;      // bytes before a cut is looked for
constexpr std::size_t kMaxPiece = 128;  // bytes before one is forced
constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                         UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
// The longest folded form of a code point is that of U+FDFA: 18 code points for three bytes.
constexpr std::size_t kRoom = kMaxPiece * 6;

using Buffer = std::array<utf8proc_int32_t, kRoom + 1>;

// Whether nothing before `c` can join with it or move past it.
bool begins_anew(char32_t c) {
  if (c < 0x80) return true;
  std::array<utf8proc_int32_t, 32> parts;
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             static_cast<utf8proc_ssize_t>(parts.size()), kOptions, &boundary);
  if (count <= 0) return false;  // ignored characters too: what follows them may join with what stands before
  const auto* property = utf8proc_get_property(parts[0]);
  const bool mark = property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC ||
                    property->category == UTF8PROC_CATEGORY_ME;
  const bool inner_jamo = parts[0] >= 0x1160 && parts[0] <= 0x11FF;
  return property->combining_class == 0 && !mark && !inner_jamo;
}

// The size of the first piece; 0: no UTF-8. `forced`: cut where nothing allows it.
std::size_t piece(std::string_view text, bool& forced) {
  const char* end = text.data() + text.size();
  std::size_t size = 0;
  while (size < text.size()) {
    const auto c = decode(text.data() + size, end);
    if (c.length == 0) return 0;
    if (size >= kPiece && begins_anew(c.value)) return size;
    if (size + c.length > kMaxPiece) {
      forced = true;
      return size;
    }
    size += c.length;
  }
  return size;
}

void fold_piece(std::string_view text, Buffer& buffer, std::string& out) {
  const auto count = utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                        static_cast<utf8proc_ssize_t>(text.size()), buffer.data(),
                                        static_cast<utf8proc_ssize_t>(kRoom), kOptions);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(kRoom)) return;
  const auto size = utf8proc_reencode(buffer.data(), count, kOptions);  // in place, as bytes
  if (size > 0) out.append(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(size));
}

}  // namespace

Folded fold_into(std::string_view utf8, std::string& out) {
  if (is_ascii(utf8)) {
    const auto begin = out.size();
    out.append(utf8);
    std::transform(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                   out.begin() + static_cast<std::ptrdiff_t>(begin),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
    return Folded::whole;
  }
  Buffer buffer;
  bool forced = false;
  while (!utf8.empty()) {
    const auto size = piece(utf8, forced);
    if (size == 0) return Folded::bad_utf8;
    fold_piece(utf8.substr(0, size), buffer, out);
    utf8.remove_prefix(size);
  }
  return forced ? Folded::grouped : Folded::whole;
}

}  // namespace unicode

std::optional<std::string> fold(std::string_view utf8) {
  std::string out;
  if (unicode::fold_into(utf8, out) == unicode::Folded::bad_utf8) return std::nullopt;
  return out;
}

}  // namespace sallyport
