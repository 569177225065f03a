#include "schemas/core/encoding.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>

namespace sallyport {
namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> reverse(std::string_view alphabet) {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}

constexpr auto kFromStandard = reverse(kStandard);
constexpr auto kFromUrl = reverse(kUrl);

std::uint32_t byte(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

std::string encode64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t three = byte(bytes, i) << 16 | byte(bytes, i + 1) << 8 | byte(bytes, i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) out += alphabet[three >> shift & 63];
  }
  const std::size_t rest = bytes.size() - i;
  if (rest == 0) return out;
  const std::uint32_t last = byte(bytes, i) << 16 | (rest == 2 ? byte(bytes, i + 1) << 8 : 0);
  out += alphabet[last >> 18 & 63];
  out += alphabet[last >> 12 & 63];
  if (rest == 2) out += alphabet[last >> 6 & 63];
  if (pad) out.append(3 - rest, '=');
  return out;
}

// `text` without padding. Bits that stand for nothing must be zero, so each byte string has one form.
std::optional<std::string> decode64(std::string_view text, const std::array<std::int8_t, 256>& table) {
  if (text.size() % 4 == 1) return std::nullopt;
  const auto value = [&](std::size_t i) { return std::int32_t{table[static_cast<unsigned char>(text[i])]}; };
  std::string out(text.size() / 4 * 3 + (text.size() % 4 == 0 ? 0 : text.size() % 4 - 1), '\0');
  char* to = out.data();
  std::int32_t wrong = 0;  // negative once a character is none of the alphabet
  std::size_t i = 0;
  for (; i + 4 <= text.size(); i += 4, to += 3) {
    const std::int32_t a = value(i), b = value(i + 1), c = value(i + 2), d = value(i + 3);
    wrong |= a | b | c | d;
    const auto bits = static_cast<std::uint32_t>(a << 18 | b << 12 | c << 6 | d);
    to[0] = static_cast<char>(bits >> 16);
    to[1] = static_cast<char>(bits >> 8);
    to[2] = static_cast<char>(bits);
  }
  const std::size_t rest = text.size() - i;
  if (rest > 0) {
    const std::int32_t a = value(i), b = value(i + 1), c = rest == 3 ? value(i + 2) : 0;
    wrong |= a | b | c;
    if (wrong >= 0) {
      const auto bits = static_cast<std::uint32_t>(a << 18 | b << 12 | c << 6);
      if ((bits & (rest == 3 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
      to[0] = static_cast<char>(bits >> 16);
      if (rest == 3) to[1] = static_cast<char>(bits >> 8);
    }
  }
  if (wrong < 0) return std::nullopt;
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const auto lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

constexpr std::size_t kMaxSlip = 64;  // names longer than this are not compared

// Edit distance with swaps of neighbours (optimal string alignment); anything above `most` may be returned as most + 1.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  // Only what lies within `most` of the diagonal can end below it.
  using Row = std::array<std::size_t, kMaxSlip + 2>;
  std::array<Row, 3> rows;
  for (std::size_t j = 0; j <= b.size() + 1; ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Row& row = rows[i % 3];
    const Row& above = rows[(i + 2) % 3];
    const Row& before = rows[(i + 1) % 3];
    const std::size_t low = i > most ? i - most : 1;
    const std::size_t high = std::min(b.size(), i + most);
    row[low - 1] = low == 1 ? i : most + 1;
    std::size_t least = row[low - 1];
    for (std::size_t j = low; j <= high; ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (least > most) return most + 1;
    row[high + 1] = most + 1;
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out += kDigits[byte(bytes, i) >> 4];
    out += kDigits[byte(bytes, i) & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string to_base64(std::string_view bytes) { return encode64(bytes, kStandard, true); }
std::string to_base64url(std::string_view bytes) { return encode64(bytes, kUrl, false); }

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return decode64(text, kFromStandard);
}

std::optional<std::string> from_base64url(std::string_view text) { return decode64(text, kFromUrl); }

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += c;
      continue;
    }
    out += '%';
    out += kDigits[byte(text, i) >> 4];
    out += kDigits[byte(text, i) & 15];
  }
  return out;
}

std::string pointer_step(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::vector<std::string>> pointer_steps(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  if (pointer[0] != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      steps.emplace_back();
    } else if (pointer[i] == '~') {
      ++i;
      if (i == pointer.size() || (pointer[i] != '0' && pointer[i] != '1')) return std::nullopt;
      steps.back() += pointer[i] == '0' ? '~' : '/';
    } else {
      steps.back() += pointer[i];
    }
  }
  return steps;
}

bool equal_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known) {
  if (name.empty() || name.size() > kMaxSlip) return std::nullopt;
  // One slip in a short word, three in a long one; and never so many that nothing of the word is left.
  std::size_t most = name.size() < 4 ? 1 : name.size() < 8 ? 2 : 3;
  most = std::min(most, name.size() - 1);
  const std::string* best = nullptr;
  for (const auto& candidate : known) {
    if (candidate.empty() || candidate.size() > kMaxSlip) continue;
    const std::size_t edits = distance(name, candidate, most);
    if (edits > most || (best != nullptr && edits == most)) continue;
    best = &candidate;
    most = edits;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace sallyport
