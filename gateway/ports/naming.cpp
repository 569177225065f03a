#include "gateway/ports/naming.hpp"

#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kLongest = 48;
constexpr std::size_t kKept = 37;
constexpr std::size_t kDigits = 10;

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string exposed_name(std::string_view server, std::string_view tool) {
  std::string name(server);
  name += "__";
  name += tool;
  bool changed = false;
  for (char& c : name) {
    if (fits(c)) continue;
    c = '-';
    changed = true;
  }
  if (!changed && name.size() <= kLongest) return name;
  const std::string digest = trust::hex(trust::sha256({server, std::string_view("\0", 1), tool}));
  return name.substr(0, kKept) + "_" + digest.substr(0, kDigits);
}

}  // namespace sallyport::gateway
