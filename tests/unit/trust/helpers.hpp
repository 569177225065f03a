// What the tests of trust share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"
#include "trust/crypto/keys.hpp"

namespace sallyport::trust::test {

inline json::Document doc(std::string text, bool comments = false) {
  json::Limits limits;
  limits.comments = comments;
  auto parsed = json::Document::parse(std::move(text), limits);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return *json::Document::parse("null");
  }
  return std::move(*parsed);
}

inline std::string unhex(std::string_view hex) { return from_hex(hex).value(); }

inline Seed seed_of(std::string_view hex) {
  Seed out{};
  const auto bytes = unhex(hex);
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

// Keys 1, 2, 3…: seeds of equal bytes.
inline SigningKey test_key(unsigned char number) {
  Seed seed;
  seed.fill(number);
  return std::move(*SigningKey::from_seed(seed));
}

}  // namespace sallyport::trust::test
