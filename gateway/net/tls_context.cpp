#include "gateway/net/tls_context.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstring>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kAlpn{"\x08http/1.1", 9};

int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return 0;
}  // never ask at a terminal

int choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned in_size, void* /*user*/) {
  unsigned char* chosen = nullptr;
  const auto* ours = reinterpret_cast<const unsigned char*>(kAlpn.data());
  if (SSL_select_next_proto(&chosen, out_size, ours, kAlpn.size(), in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

SslContext make_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  if (!context) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  return context;
}

std::string name_text(const X509_NAME* name) {
  std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::vector<std::string> dns_names(X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    const unsigned char* data = ASN1_STRING_get0_data(name->d.dNSName);
    names.emplace_back(reinterpret_cast<const char*>(data),
                       static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(all);
  return names;
}

std::string spki_sha256(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const int done = EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), &length, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  if (done != 1) return {};
  return to_hex({reinterpret_cast<const char*>(digest.data()), length});
}

}  // namespace

std::string openssl_reasons() {
  std::string out;
  for (unsigned long code = ERR_get_error(); code != 0; code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    if (!out.empty()) out += ": ";
    if (ERR_SYSTEM_ERROR(code)) {
      out += std::strerror(ERR_GET_REASON(code));  // NOLINT(concurrency-mt-unsafe): the loop's thread alone
    } else {
      out += reason != nullptr ? std::string(reason) : fmt::format("error {:#x}", code);
    }
  }
  return out.empty() ? "no reason given" : out;
}

TlsPeer describe_peer(SSL* ssl) {
  TlsPeer peer;
  peer.protocol = SSL_get_version(ssl);
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return peer;
  peer.subject = name_text(X509_get_subject_name(certificate));
  peer.issuer = name_text(X509_get_issuer_name(certificate));
  peer.dns_names = dns_names(certificate);
  peer.spki_sha256 = spki_sha256(certificate);
  return peer;
}

Status OpensslServerContext::reload() {
  ERR_clear_error();
  SslContext fresh = make_context(TLS_server_method());
  if (!fresh) return fail(ErrorCode::internal, "OpenSSL: " + openssl_reasons());
  SSL_CTX_set_alpn_select_cb(fresh.get(), choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(fresh.get(), certificate_file_.c_str()) != 1) {
    return fail(ErrorCode::invalid, fmt::format("certificate `{}`: {}", certificate_file_, openssl_reasons()));
  }
  if (SSL_CTX_use_PrivateKey_file(fresh.get(), key_file_.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(ErrorCode::invalid,
                fmt::format("key `{}` of certificate `{}`: {}", key_file_, certificate_file_, openssl_reasons()));
  }
  context_ = std::move(fresh);
  return {};
}

Result<std::shared_ptr<TlsServerContext>> TlsServerContext::load(std::string certificate_file, std::string key_file) {
  auto context = std::make_shared<OpensslServerContext>(std::move(certificate_file), std::move(key_file));
  if (Status loaded = context->reload(); !loaded) return fail(std::move(loaded.error()));
  return context;
}

Result<std::shared_ptr<TlsClientContext>> TlsClientContext::load(std::string ca_file) {
  ERR_clear_error();
  SslContext context = make_context(TLS_client_method());
  if (!context) return fail(ErrorCode::internal, "OpenSSL: " + openssl_reasons());
  if (ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
      return fail(ErrorCode::io, "the system's certificates: " + openssl_reasons());
    }
  } else if (SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) != 1) {
    return fail(ErrorCode::invalid, fmt::format("certificates `{}`: {}", ca_file, openssl_reasons()));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // 0 means success here.
  if (SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(kAlpn.data()), kAlpn.size()) != 0) {
    return fail(ErrorCode::internal, "OpenSSL: " + openssl_reasons());
  }
  return std::make_shared<OpensslClientContext>(std::move(context));
}

}  // namespace sallyport::gateway
