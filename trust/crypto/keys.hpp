// Ed25519 keys (OpenSSL). No file access: callers read and write the PEM texts. keyid = hex SHA-256 of the DER
// SubjectPublicKeyInfo (design section 6).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::trust {

using Signature = std::array<std::uint8_t, 64>;
using Seed = std::array<std::uint8_t, 32>;

[[nodiscard]] inline std::string_view bytes_of(const Signature& signature) {
  return {reinterpret_cast<const char*>(signature.data()), signature.size()};
}

// A value; copies share the key. verify() is safe from several threads.
class PublicKey {
 public:
  // Refuse with ErrorCode::invalid whatever is no Ed25519 key.
  [[nodiscard]] static Result<PublicKey> from_der(std::string_view der);
  [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);
  [[nodiscard]] static Result<PublicKey> from_raw(std::span<const std::uint8_t, 32> raw);

  [[nodiscard]] bool verify(std::string_view message,
                            std::string_view signature) const;  // false for any other length too
  [[nodiscard]] const std::string& der() const;                 // SubjectPublicKeyInfo
  [[nodiscard]] std::string pem() const;                        // the same, in PEM
  [[nodiscard]] const std::string& keyid() const;               // 64 hex digits
  [[nodiscard]] const Seed& raw() const;                        // the 32 bytes of the key itself

 private:
  friend class SigningKey;
  struct Parts;
  explicit PublicKey(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// Move-only; the key's memory is wiped when it goes. sign() keeps a context and so belongs to one thread at a time.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> from_seed(const Seed& seed);
  [[nodiscard]] static Result<SigningKey> from_pem(const Secret& pem);  // PKCS#8, not encrypted
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  [[nodiscard]] Signature sign(std::string_view message);
  [[nodiscard]] Secret pem() const;  // PKCS#8
  [[nodiscard]] const PublicKey& public_key() const;
  [[nodiscard]] const std::string& keyid() const { return public_key().keyid(); }

 private:
  struct Parts;
  explicit SigningKey(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sallyport::trust
