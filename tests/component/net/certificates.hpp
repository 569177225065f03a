// Certificates made on the spot, for tests of TLS.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace sallyport::gateway::testing {

struct Authority {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
};

// `subject_alt`: "DNS:example.test,IP:127.0.0.1"; signed by `issuer`, or by itself. `days` may be negative (expired).
inline Authority make_certificate(const std::string& name, const std::string& subject_alt, const Authority* issuer,
                                  int days = 10) {
  Authority made;
  made.key = {EVP_EC_gen("P-256"), &EVP_PKEY_free};
  made.certificate = {X509_new(), &X509_free};
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -20L * 86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86400L);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, issuer != nullptr ? X509_get_subject_name(issuer->certificate.get()) : subject);
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer != nullptr ? issuer->certificate.get() : certificate, certificate, nullptr, nullptr,
                 0);
  const auto extend = [&](int id, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!subject_alt.empty()) extend(NID_subject_alt_name, subject_alt);
  X509_sign(certificate, issuer != nullptr ? issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sallyport-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void write_pem(const Authority& what, const std::string& certificate_file, const std::string& key_file) {
  const auto write = [](const std::string& path, auto put) {
    FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) std::abort();
    put(file);
    std::fclose(file);
  };
  write(certificate_file, [&](FILE* file) { PEM_write_X509(file, what.certificate.get()); });
  if (key_file.empty()) return;
  write(key_file,
        [&](FILE* file) { PEM_write_PrivateKey(file, what.key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace sallyport::gateway::testing
