// TLS over any ByteStream, by OpenSSL with memory buffers. TLS 1.2 and 1.3, ALPN http/1.1. Contexts are shared by
// connections and immutable, except that a server's certificate can be loaded again. Lives on the loop.
#pragma once

#include <memory>
#include <string>

#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway {

class TlsServerContext {
 public:
  // PEM files: certificate chain and its private key. Errors name the file and the reason.
  static Result<std::shared_ptr<TlsServerContext>> load(std::string certificate_file, std::string key_file);
  virtual ~TlsServerContext() = default;
  // Reads the files again; new connections use them. On an error the old certificate stays.
  virtual Status reload() = 0;
};

class TlsClientContext {
 public:
  // `ca_file`: PEM; empty: the system's store. With a file, only what it holds is trusted.
  static Result<std::shared_ptr<TlsClientContext>> load(std::string ca_file = {});
  virtual ~TlsClientContext() = default;
};

// Handshakes. On failure the stream is gone; errors: unavailable (verification failed, with OpenSSL's reason and the
// name), protocol, timeout, io. Nothing of the application was sent, so they are RetryClass::not_sent.
asio::awaitable<Result<std::unique_ptr<ByteStream>>> tls_accept(std::unique_ptr<ByteStream> transport,
                                                                std::shared_ptr<TlsServerContext> context,
                                                                Deadline deadline);
// `server_name`: sent as SNI (unless it is an address) and verified against the certificate.
asio::awaitable<Result<std::unique_ptr<ByteStream>>> tls_connect(std::unique_ptr<ByteStream> transport,
                                                                 std::shared_ptr<TlsClientContext> context,
                                                                 std::string server_name, Deadline deadline);

}  // namespace sallyport::gateway
