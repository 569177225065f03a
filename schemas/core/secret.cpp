#include "schemas/core/secret.hpp"

#include <openssl/crypto.h>

#include <utility>

#include "schemas/core/encoding.hpp"

namespace sallyport {

// A short string is copied when it is moved, so the source is wiped too.
Secret::Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.wipe(); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  value_ = std::move(other.value_);
  other.wipe();
  return *this;
}

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  wipe();
  value_ = other.value_;
  return *this;
}

Secret::~Secret() { wipe(); }

bool Secret::equals(std::string_view other) const { return equal_secret(value_, other); }

void Secret::wipe() {
  value_.resize(value_.capacity());  // a moved-from string still holds its bytes behind its end
  OPENSSL_cleanse(value_.data(), value_.size());
  value_.clear();
}

std::size_t mask(std::string& text, std::span<const Secret> secrets) {
  constexpr std::string_view kStars = "***";
  std::size_t found = 0;
  for (const Secret& secret : secrets) {
    const std::string& value = secret.reveal();
    if (value.size() < kShortestSecret || value.size() > text.size()) continue;
    for (auto at = text.find(value); at != std::string::npos; at = text.find(value, at + kStars.size())) {
      text.replace(at, value.size(), kStars);
      ++found;
    }
  }
  return found;
}

}  // namespace sallyport
