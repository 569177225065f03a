// AES-256-GCM for rows on disk (design section 12). The nonce comes from the caller and must never repeat under one
// key. The associated data says what the row is, so that a sealed row cannot be moved to another place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"

namespace sallyport::trust {

using SealKey = std::array<std::uint8_t, 32>;
using Nonce = std::array<std::uint8_t, 12>;

// nonce || ciphertext || tag (28 bytes more than the plain text).
[[nodiscard]] std::string seal(const SealKey& key, const Nonce& nonce, std::string_view plain,
                               std::string_view associated);
// ErrorCode::corrupt if it is too short or does not authenticate under that key and associated data.
[[nodiscard]] Result<std::string> open(const SealKey& key, std::string_view sealed, std::string_view associated);

// Overwrites memory in a way that the compiler does not drop.
void wipe(void* memory, std::size_t size);

}  // namespace sallyport::trust
