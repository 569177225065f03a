#include "gateway/base/known_secrets.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kShortestWord = 12;  // of a value in several words

// What of a value would be a leak by itself.
std::vector<std::string> parts_of(const std::string& value) {
  std::vector<std::string> parts{value};
  if (const auto space = value.rfind(' '); space != std::string::npos && value.size() - space > kShortestWord) {
    parts.push_back(value.substr(space + 1));
  }
  if (const auto scheme = value.find("://"); scheme != std::string::npos) {
    const std::string_view rest = std::string_view(value).substr(scheme + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    const auto sign = authority.rfind('@');
    const auto colon = authority.find(':');
    if (sign != std::string_view::npos && colon < sign)
      parts.emplace_back(authority.substr(colon + 1, sign - colon - 1));
  }
  // A key of several lines is printed line by line, and its frame is no secret.
  for (std::size_t at = 0; value.find('\n') != std::string::npos && at < value.size();) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    std::string line = value.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() >= kShortestWord && !line.starts_with("-----")) parts.push_back(std::move(line));
    at = end + 1;
  }
  // As it stands in JSON, in a log line, and in a URL or scope.
  for (std::size_t i = 0, count = parts.size(); i < count; ++i) {
    const std::string quoted = quote(parts[i]);
    for (std::string& form :
         std::array{quoted.substr(1, quoted.size() - 2), visible(parts[i]), percent_encode(parts[i])}) {
      if (form != parts[i]) parts.push_back(std::move(form));
    }
  }
  std::erase_if(parts, [](const std::string& part) { return part.size() < kShortestSecret; });
  return parts;
}

}  // namespace

void KnownSecrets::add(const Secret& secret, bool passing) {
  const std::scoped_lock lock(mutex_);
  auto next = std::make_shared<std::vector<Secret>>(*secrets_);
  for (std::string& part : parts_of(secret.reveal())) {
    if (std::ranges::any_of(*next, [&](const Secret& known) { return known.reveal() == part; })) continue;
    if (passing) passing_.push_back(part);
    next->emplace_back(std::move(part));
    if (next->size() <= most_ || passing_.empty()) continue;
    std::erase_if(*next, [&](const Secret& known) { return known.reveal() == passing_.front(); });
    passing_.pop_front();
  }
  // Longer ones first, so that a part does not spoil the whole.
  std::ranges::sort(*next, std::greater<>{}, [](const Secret& known) { return known.reveal().size(); });
  secrets_ = std::move(next);
}

std::shared_ptr<const std::vector<Secret>> KnownSecrets::all() const {
  const std::scoped_lock lock(mutex_);
  return secrets_;
}

std::size_t KnownSecrets::hide(std::string& text) const { return mask(text, *all()); }

KnownSecrets& known_secrets() {
  static KnownSecrets instance;
  return instance;
}

}  // namespace sallyport::gateway
