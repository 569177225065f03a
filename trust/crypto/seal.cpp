#include "trust/crypto/seal.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace sallyport::trust {
namespace {

constexpr std::size_t kTag = 16;
constexpr std::size_t kMaxPlain = std::size_t{1} << 30U;  // EVP takes int lengths

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const EVP_CIPHER* method() {
  static const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
      EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr), EVP_CIPHER_free);
  if (!cipher) throw std::runtime_error("OpenSSL has no AES-256-GCM");
  return cipher.get();
}

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text, std::size_t from) {
  return reinterpret_cast<unsigned char*>(text.data() + from);
}

void check(int ok) {
  if (ok != 1) throw std::runtime_error("OpenSSL failed to seal");
}

}  // namespace

std::string seal(const SealKey& key, const Nonce& nonce, std::string_view plain, std::string_view associated) {
  if (plain.size() > kMaxPlain || associated.size() > kMaxPlain) throw std::length_error("too long to be sealed");
  const Context context(EVP_CIPHER_CTX_new());
  if (!context) throw std::bad_alloc();
  std::string out(nonce.size() + plain.size() + kTag, '\0');
  out.replace(0, nonce.size(), reinterpret_cast<const char*>(nonce.data()), nonce.size());
  int size = 0;
  check(EVP_EncryptInit_ex2(context.get(), method(), key.data(), nonce.data(), nullptr));
  check(EVP_EncryptUpdate(context.get(), nullptr, &size, bytes(associated), static_cast<int>(associated.size())));
  check(
      EVP_EncryptUpdate(context.get(), bytes(out, nonce.size()), &size, bytes(plain), static_cast<int>(plain.size())));
  check(EVP_EncryptFinal_ex(context.get(), bytes(out, nonce.size() + plain.size()), &size));
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag, bytes(out, nonce.size() + plain.size())));
  return out;
}

Result<std::string> open(const SealKey& key, std::string_view sealed, std::string_view associated) {
  constexpr std::size_t kOverhead = sizeof(Nonce) + kTag;
  if (sealed.size() < kOverhead || sealed.size() > kMaxPlain || associated.size() > kMaxPlain) {
    return fail(ErrorCode::corrupt, "a sealed row has an impossible length");
  }
  const auto nonce = sealed.substr(0, sizeof(Nonce));
  const auto text = sealed.substr(sizeof(Nonce), sealed.size() - kOverhead);
  std::string tag(sealed.substr(sealed.size() - kTag));
  const Context context(EVP_CIPHER_CTX_new());
  if (!context) throw std::bad_alloc();
  std::string out(text.size(), '\0');
  int size = 0;
  check(EVP_DecryptInit_ex2(context.get(), method(), key.data(), bytes(nonce), nullptr));
  check(EVP_DecryptUpdate(context.get(), nullptr, &size, bytes(associated), static_cast<int>(associated.size())));
  check(EVP_DecryptUpdate(context.get(), bytes(out, 0), &size, bytes(text), static_cast<int>(text.size())));
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()));
  unsigned char rest[kTag];
  if (EVP_DecryptFinal_ex(context.get(), rest, &size) != 1) {
    wipe(out.data(), out.size());
    return fail(ErrorCode::corrupt, "a sealed row does not authenticate under its key and place");
  }
  return out;
}

void wipe(void* memory, std::size_t size) { OPENSSL_cleanse(memory, size); }

}  // namespace sallyport::trust
