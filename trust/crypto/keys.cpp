#include "trust/crypto/keys.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <stdexcept>

#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Bio = std::unique_ptr<BIO, FreeBio>;

[[noreturn]] void broken(const char* what) { throw std::runtime_error(std::string("OpenSSL failed to ") + what); }

std::unexpected<Error> refuse(const char* message) {
  ERR_clear_error();
  return fail(ErrorCode::invalid, message);
}

bool is_ed25519(const EVP_PKEY* key) { return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519; }

Bio reader(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

constexpr std::size_t kMaxKeyText = 16 << 10;  // far above any Ed25519 key; also keeps sizes within int

// OpenSSL asks on the terminal for the passphrase of an encrypted key unless told not to.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

struct PublicKey::Parts {
  Key key;
  std::string der;
  std::string keyid;
  Seed raw;

  static std::shared_ptr<const Parts> make(Key key) {
    unsigned char* bytes = nullptr;
    const int size = i2d_PUBKEY(key.get(), &bytes);
    if (size <= 0) broken("encode a public key");
    auto parts = std::make_shared<Parts>();
    parts->der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    parts->keyid = sha256_hex(parts->der);
    std::size_t raw_size = parts->raw.size();
    if (EVP_PKEY_get_raw_public_key(key.get(), parts->raw.data(), &raw_size) != 1 || raw_size != parts->raw.size()) {
      broken("read a public key");
    }
    parts->key = std::move(key);
    return parts;
  }
};

Result<PublicKey> PublicKey::from_der(std::string_view der) {
  if (der.size() > kMaxKeyText) return refuse("the public key is too long");
  const auto* position = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const begin = position;
  Key key(d2i_PUBKEY(nullptr, &position, static_cast<long>(der.size())));
  if (!key || position != begin + der.size()) return refuse("this is no public key in DER form");
  if (!is_ed25519(key.get())) return refuse("the public key is not of the kind Ed25519");
  return PublicKey(Parts::make(std::move(key)));
}

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  if (pem.size() > kMaxKeyText) return refuse("the public key is too long");
  const Bio bio = reader(pem);
  Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return refuse("this is no public key in PEM form (`-----BEGIN PUBLIC KEY-----`)");
  if (!is_ed25519(key.get())) return refuse("the public key is not of the kind Ed25519");
  return PublicKey(Parts::make(std::move(key)));
}

Result<PublicKey> PublicKey::from_raw(std::span<const std::uint8_t, 32> raw) {
  Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), raw.size()));
  if (!key) return refuse("these bytes are no Ed25519 public key");
  return PublicKey(Parts::make(std::move(key)));
}

bool PublicKey::verify(std::string_view message, std::string_view signature) const {
  if (signature.size() != sizeof(Signature)) return false;
  const Context context(EVP_MD_CTX_new());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, parts_->key.get()) != 1) {
    broken("prepare a verification");
  }
  const int ok =
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size());
  if (ok != 1) ERR_clear_error();
  return ok == 1;
}

const std::string& PublicKey::der() const { return parts_->der; }
const std::string& PublicKey::keyid() const { return parts_->keyid; }
const Seed& PublicKey::raw() const { return parts_->raw; }

std::string PublicKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PUBKEY(bio.get(), parts_->key.get()) != 1) broken("print a public key");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

struct SigningKey::Parts {
  Key key;
  Context context;  // set up once; Ed25519 signs in one shot and leaves it as it was
  PublicKey public_key;
};

namespace {

PublicKey public_half(const EVP_PKEY* key) {
  Seed raw;
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1) broken("read a public key");
  auto made = PublicKey::from_raw(raw);
  if (!made) broken("derive a public key");
  return std::move(*made);
}

Context signing_context(EVP_PKEY* key) {
  Context context(EVP_MD_CTX_new());
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1) broken("prepare a signature");
  return context;
}

}  // namespace

SigningKey::SigningKey(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;  // EVP_PKEY_free wipes the private half

Result<SigningKey> SigningKey::from_seed(const Seed& seed) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  if (!key) broken("make a signing key");
  Context context = signing_context(key.get());
  PublicKey half = public_half(key.get());
  return SigningKey(std::make_unique<Parts>(Parts{std::move(key), std::move(context), std::move(half)}));
}

Result<SigningKey> SigningKey::from_pem(const Secret& pem) {
  if (pem.reveal().size() > kMaxKeyText) return refuse("the signing key is too long");
  const Bio bio = reader(pem.reveal());
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return refuse("this is no private key in PEM form (`-----BEGIN PRIVATE KEY-----`, not encrypted)");
  if (!is_ed25519(key.get())) return refuse("the signing key is not of the kind Ed25519");
  Context context = signing_context(key.get());
  PublicKey half = public_half(key.get());
  return SigningKey(std::make_unique<Parts>(Parts{std::move(key), std::move(context), std::move(half)}));
}

Signature SigningKey::sign(std::string_view message) {
  Signature out;
  std::size_t size = out.size();
  if (EVP_DigestSign(parts_->context.get(), out.data(), &size, reinterpret_cast<const unsigned char*>(message.data()),
                     message.size()) != 1 ||
      size != out.size()) {
    broken("sign");
  }
  return out;
}

Secret SigningKey::pem() const {
  const Bio bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), parts_->key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    broken("print a signing key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return Secret(std::string(data, static_cast<std::size_t>(size)));
}

const PublicKey& SigningKey::public_key() const { return parts_->public_key; }

}  // namespace sallyport::trust
