#include "trust/crypto/hash.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

#include "schemas/core/encoding.hpp"

namespace sallyport::trust {
namespace {

constexpr std::string_view kPrefix = "sha256:";

void check(int ok) {
  if (ok != 1) throw std::runtime_error("OpenSSL failed to hash");
}

// Fetched once: an implicit fetch costs more than hashing a short text.
const EVP_MD* sha256_method() {
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> method(EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                                      EVP_MD_free);
  if (!method) throw std::runtime_error("OpenSSL has no SHA-256");
  return method.get();
}

EVP_MD_CTX* scratch() {
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  return context.get();
}

EVP_MAC_CTX* mac_scratch() {
  struct Free {
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  thread_local const std::unique_ptr<EVP_MAC_CTX, Free> context = [] {
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    if (mac == nullptr) throw std::runtime_error("OpenSSL has no HMAC");
    std::unique_ptr<EVP_MAC_CTX, Free> made(EVP_MAC_CTX_new(mac));
    EVP_MAC_free(mac);
    if (!made) throw std::bad_alloc();
    std::string name = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), name.size()),
                                     OSSL_PARAM_construct_end()};
    check(EVP_MAC_CTX_set_params(made.get(), parameters));
    return made;
  }();
  return context.get();
}

}  // namespace

Sha256 sha256(std::initializer_list<std::string_view> parts) {
  Sha256 out;
  EVP_MD_CTX* context = scratch();
  check(EVP_DigestInit_ex2(context, sha256_method(), nullptr));
  for (const auto part : parts) check(EVP_DigestUpdate(context, part.data(), part.size()));
  check(EVP_DigestFinal_ex(context, out.data(), nullptr));
  return out;
}

Sha256 sha256(std::string_view bytes) { return sha256({bytes}); }

std::string hex(const Sha256& hash) { return to_hex(bytes_of(hash)); }
std::string sha256_hex(std::string_view bytes) { return hex(sha256(bytes)); }
std::string digest_text(const Sha256& hash) { return std::string(kPrefix) + hex(hash); }
std::string digest_text(std::string_view bytes) { return digest_text(sha256(bytes)); }

std::optional<Sha256> parse_digest(std::string_view text) {
  if (text.size() != kPrefix.size() + 64 || !text.starts_with(kPrefix)) return std::nullopt;
  Sha256 out{};
  for (std::size_t i = 0; i < 64; ++i) {
    const char c = text[kPrefix.size() + i];
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    out[i / 2] = static_cast<std::uint8_t>((out[i / 2] << 4U) | digit);
  }
  return out;
}

bool is_digest(std::string_view text) { return parse_digest(text).has_value(); }

Sha256 tagged_hash(std::string_view tag, std::string_view bytes) { return sha256({tag, "\n", bytes}); }
std::string tagged_digest(std::string_view tag, std::string_view bytes) { return digest_text(tagged_hash(tag, bytes)); }

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  std::size_t size = 0;
  EVP_MAC_CTX* context = mac_scratch();
  // A null key would mean "the key of before".
  const char* key_data = key.data() != nullptr ? key.data() : "";
  check(EVP_MAC_init(context, reinterpret_cast<const unsigned char*>(key_data), key.size(), nullptr));
  check(EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
  check(EVP_MAC_final(context, out.data(), &size, out.size()));
  return out;
}

}  // namespace sallyport::trust
