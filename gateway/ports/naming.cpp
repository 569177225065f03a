#include "gateway/ports/naming.hpp"

#include <algorithm>
#include <vector>

#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kLongest = 48;
constexpr std::size_t kKept = 37;
constexpr std::size_t kDigits = 10;

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::vector<std::string_view> literals_of(std::string_view uri_template) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t open = uri_template.find('{', begin);
    parts.push_back(uri_template.substr(begin, open == std::string_view::npos ? open : open - begin));
    if (open == std::string_view::npos) return parts;
    const std::size_t close = uri_template.find('}', open);
    if (close == std::string_view::npos) return parts;
    begin = close + 1;
  }
}

}  // namespace

bool may_be_of(std::string_view server, std::string_view exposed) {
  std::string begin(server);
  begin += "__";
  begin.resize(std::min(begin.size(), kKept));
  std::ranges::replace_if(begin, [](char c) { return !fits(c); }, '-');
  return exposed.starts_with(begin);
}

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

std::size_t literal_size(std::string_view uri_template) {
  std::size_t size = 0;
  for (const std::string_view part : literals_of(uri_template)) size += part.size();
  return size;
}

bool fits_template(std::string_view uri_template, std::string_view uri) {
  const auto parts = literals_of(uri_template);
  if (parts.size() == 1) return uri_template == uri;
  if (!uri.starts_with(parts.front())) return false;
  std::string_view rest = uri.substr(parts.front().size());
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = rest.find(parts[i]);
    if (at == std::string_view::npos) return false;
    rest.remove_prefix(at + parts[i].size());
  }
  return rest.ends_with(parts.back());
}

}  // namespace sallyport::gateway
