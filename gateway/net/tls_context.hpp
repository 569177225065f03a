// What tls.cpp and tls_context.cpp share. Internal to net.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "gateway/net/tls.hpp"

namespace sallyport::gateway {

struct SslContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslContextFree>;

class OpensslServerContext final : public TlsServerContext {
 public:
  OpensslServerContext(std::string certificate_file, std::string key_file)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}
  Status reload() override;
  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  std::string certificate_file_;
  std::string key_file_;
  SslContext context_;  // connections hold their own reference
};

class OpensslClientContext final : public TlsClientContext {
 public:
  explicit OpensslClientContext(SslContext context) : context_(std::move(context)) {}
  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  SslContext context_;
};

// The reasons in OpenSSL's queue, which is then empty; "no reason given" if there are none.
[[nodiscard]] std::string openssl_reasons();
[[nodiscard]] TlsPeer describe_peer(SSL* ssl);

}  // namespace sallyport::gateway
