#include "schemas/core/ids.hpp"

#include <algorithm>

namespace sallyport {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // Crockford's
constexpr std::size_t kLength = 26;

}  // namespace

std::string make_id(std::string_view prefix, std::uint64_t unix_ms, const Random80& random) {
  std::string id;
  id.reserve(prefix.size() + 1 + kLength);
  id.append(prefix).append("_");
  for (int shift = 45; shift >= 0; shift -= 5) id += kAlphabet[(unix_ms & 0xFFFFFFFFFFFF) >> shift & 31];
  // Five bytes are eight digits.
  for (std::size_t half = 0; half < random.size(); half += 5) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 5; ++i) bits = bits << 8 | random[half + i];
    for (int shift = 35; shift >= 0; shift -= 5) id += kAlphabet[bits >> shift & 31];
  }
  return id;
}

bool is_id(std::string_view text, std::string_view prefix) {
  if (text.size() != prefix.size() + 1 + kLength || !text.starts_with(prefix) || text[prefix.size()] != '_')
    return false;
  const auto ulid = text.substr(prefix.size() + 1);
  return ulid[0] <= '7' &&
         std::ranges::all_of(ulid, [](char c) { return kAlphabet.find(c) != std::string_view::npos; });
}

}  // namespace sallyport
