// SHA-256 and HMAC-SHA-256 (OpenSSL). Digests in texts are `sha256:` and 64 hex digits (design section 2).
// Thread-safe; a failure of the library is a broken process and throws std::runtime_error.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::trust {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
[[nodiscard]] Sha256 sha256(std::initializer_list<std::string_view> parts);  // of their concatenation

[[nodiscard]] inline std::string_view bytes_of(const Sha256& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}
[[nodiscard]] std::string hex(const Sha256& hash);              // bare, lower case
[[nodiscard]] std::string sha256_hex(std::string_view bytes);   // bare, lower case
[[nodiscard]] std::string digest_text(const Sha256& hash);      // `sha256:…`
[[nodiscard]] std::string digest_text(std::string_view bytes);  // `sha256:…` over the bytes
[[nodiscard]] bool is_digest(std::string_view text);            // exactly `sha256:` and 64 lower-case hex digits
[[nodiscard]] std::optional<Sha256> parse_digest(std::string_view text);

// `sha256:…` over tag, a newline and the bytes, so that a digest of one kind never stands for another.
[[nodiscard]] std::string tagged_digest(std::string_view tag, std::string_view bytes);
[[nodiscard]] Sha256 tagged_hash(std::string_view tag, std::string_view bytes);

inline constexpr std::string_view kDefinitionTag = "sallyport/definition/v1";
inline constexpr std::string_view kActionTag = "sallyport/action/v1";
inline constexpr std::string_view kIdentityTag = "sallyport/identity/v1";
inline constexpr std::string_view kContractTag = "sallyport/contract/v1";
inline constexpr std::string_view kTrustTag = "sallyport/trust/v1";
inline constexpr std::string_view kBindingTag = "sallyport/binding/v1";
inline constexpr std::string_view kShownTag = "sallyport/shown/v1";

[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

}  // namespace sallyport::trust
