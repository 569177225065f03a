// TLS as a filter over a ByteStream: OpenSSL works on two memory buffers, we carry their bytes.
#include "gateway/net/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>
#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/net/tls_context.hpp"
#include "gateway/net/url.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kPiece = 16U << 10;

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class Raised {  // a flag that is true for a scope, also when the scope is left by cancellation
 public:
  explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> transport, SSL_CTX* context)
      : transport_(std::move(transport)), ssl_(SSL_new(context)), flushed_(transport_->loop()) {
    if (ssl_ == nullptr) throw std::bad_alloc();
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    if (in_ == nullptr || out_ == nullptr) throw std::bad_alloc();
    SSL_set_bio(ssl_.get(), in_, out_);  // owns both from here
  }

  void be_server() { SSL_set_accept_state(ssl_.get()); }

  Status be_client_of(const std::string& name) {
    SSL_set_connect_state(ssl_.get());
    SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool set = is_ip_address(name) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name.c_str()) == 1
                                         : SSL_set1_host(ssl_.get(), name.c_str()) == 1 &&
                                               SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
    if (!set) return fail(ErrorCode::invalid, fmt::format("`{}` cannot be a TLS server's name", name));
    return {};
  }

  asio::awaitable<Status> handshake(Deadline deadline) {
    for (;;) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
      std::string reason = why == SSL_ERROR_SSL ? handshake_reason() : std::string();
      const Status sent = co_await flush(deadline, Flush::all);  // an alert, too
      if (!reason.empty()) co_return fail(ErrorCode::unavailable, std::move(reason));
      if (!sent) co_return fail(sent.error());
      if (why == SSL_ERROR_NONE) break;
      if (why != SSL_ERROR_WANT_READ) co_return fail(ErrorCode::protocol, "the TLS handshake failed");
      const Result<std::size_t> got = co_await take_in(deadline);
      if (!got) co_return fail(got.error());
      if (*got == 0) co_return fail(ErrorCode::unavailable, "the peer ended the connection inside the TLS handshake");
    }
    if (SSL_is_server(ssl_.get()) == 0) tls_peer_ = describe_peer(ssl_.get());
    co_return Status{};
  }

  asio::awaitable<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override {
    for (;;) {
      if (!is_open()) co_return fail(ErrorCode::cancelled, described("the connection was closed"));
      ERR_clear_error();
      std::size_t got = 0;
      const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
      const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
      const std::string reason = why == SSL_ERROR_SSL ? openssl_reasons() : std::string();
      // Reading may leave something to send (a key update). A writer that is under way sends it for us.
      const Status sent = co_await flush(deadline, Flush::unless_busy);
      if (why == SSL_ERROR_NONE) co_return got;
      if (why == SSL_ERROR_ZERO_RETURN) co_return std::size_t{0};
      if (why != SSL_ERROR_WANT_READ) co_return fail(ErrorCode::io, described("TLS: " + reason));
      if (!sent) co_return fail(sent.error());
      const Result<std::size_t> more = co_await take_in(deadline);
      if (!more) co_return fail(more.error());
      if (*more == 0) co_return fail(ErrorCode::io, described("the connection was cut (no TLS close_notify)"));
    }
  }

  asio::awaitable<Status> write_all(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      if (broken_) co_return fail(ErrorCode::io, described("an earlier write failed"));
      if (!is_open()) co_return fail(ErrorCode::cancelled, described("the connection was closed"));
      ERR_clear_error();
      std::size_t took = 0;
      const int done = SSL_write_ex(ssl_.get(), bytes.data(), std::min(bytes.size(), kPiece), &took);
      if (done != 1) co_return fail(ErrorCode::io, described("TLS: " + openssl_reasons()));
      bytes.remove_prefix(took);
      if (!bytes.empty() && static_cast<std::size_t>(BIO_pending(out_)) < 4 * kPiece) continue;
      const Status sent = co_await flush(deadline, Flush::all);
      if (!sent) co_return fail(sent.error());
    }
    co_return Status{};
  }

  asio::awaitable<Status> shutdown_write(Deadline deadline) override {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());  // makes the close_notify; the peer's is not waited for
    const Status sent = co_await flush(deadline, Flush::all);
    if (!sent) co_return fail(sent.error());
    const Status ended = co_await transport_->shutdown_write(deadline);
    co_return ended;
  }

  void close() noexcept override { transport_->close(); }
  [[nodiscard]] bool is_open() const override { return transport_->is_open(); }
  [[nodiscard]] bool quiet() override {
    return !broken_ && SSL_has_pending(ssl_.get()) == 0 && BIO_pending(in_) == 0 && transport_->quiet();
  }
  [[nodiscard]] asio::any_io_executor loop() const override { return transport_->loop(); }
  [[nodiscard]] const std::string& peer() const override { return transport_->peer(); }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const override { return transport_->peer_uid(); }
  [[nodiscard]] const TlsPeer* tls_peer() const override { return tls_peer_ ? &*tls_peer_ : nullptr; }
  [[nodiscard]] bool is_tls() const override { return true; }

 private:
  enum class Flush : unsigned char { all, unless_busy };

  // Carries what OpenSSL wants to send. One at a time; whoever is at it goes on until nothing is left.
  asio::awaitable<Status> flush(Deadline deadline, Flush how) {
    while (flushing_) {
      if (how == Flush::unless_busy) co_return Status{};
      const bool notified = co_await flushed_.wait(deadline);
      if (!notified) co_return fail(ErrorCode::timeout, described("no data was taken in time"));
    }
    if (BIO_pending(out_) == 0)
      co_return broken_ ? fail(ErrorCode::io, described("an earlier write failed")) : Status{};
    const Raised busy(flushing_);
    while (BIO_pending(out_) > 0) {
      std::string bytes(static_cast<std::size_t>(BIO_pending(out_)), '\0');
      const int size = BIO_read(out_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
      bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
      const Status sent = co_await transport_->write_all(bytes, deadline);
      if (sent) continue;
      broken_ = true;  // part of a record may be out
      flushed_.notify();
      co_return fail(sent.error());
    }
    flushed_.notify();
    co_return Status{};
  }

  asio::awaitable<Result<std::size_t>> take_in(Deadline deadline) {
    const Result<std::size_t> got = co_await transport_->read_some(buffer_, deadline);
    if (got && *got > 0) BIO_write(in_, buffer_.data(), static_cast<int>(*got));
    co_return got;
  }

  [[nodiscard]] std::string handshake_reason() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    const std::string reasons = openssl_reasons();
    if (verified == X509_V_OK) return "TLS: " + reasons;
    return fmt::format("the certificate was refused: {}", X509_verify_cert_error_string(verified));
  }
  [[nodiscard]] std::string described(std::string_view what) const { return fmt::format("{}: {}", peer(), what); }

  std::unique_ptr<ByteStream> transport_;
  std::unique_ptr<SSL, SslFree> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  Signal flushed_;
  bool flushing_ = false;
  bool broken_ = false;
  std::optional<TlsPeer> tls_peer_;
  std::vector<char> buffer_ = std::vector<char>(kPiece + 1024);
};

// A handshake's error: nothing of the application was sent.
Error not_sent(Error error, std::string_view with) {
  error.message = fmt::format("{}: {}", with, error.message);
  error.retry = RetryClass::not_sent;
  return error;
}

}  // namespace

asio::awaitable<Result<std::unique_ptr<ByteStream>>> tls_accept(std::unique_ptr<ByteStream> transport,
                                                                std::shared_ptr<TlsServerContext> context,
                                                                Deadline deadline) {
  const auto& ours = static_cast<const OpensslServerContext&>(*context);  // there is no other implementation
  auto stream = std::make_unique<TlsStream>(std::move(transport), ours.get());
  stream->be_server();
  const Status done = co_await stream->handshake(deadline);
  if (!done) co_return fail(not_sent(done.error(), stream->peer()));
  co_return stream;
}

asio::awaitable<Result<std::unique_ptr<ByteStream>>> tls_connect(std::unique_ptr<ByteStream> transport,
                                                                 std::shared_ptr<TlsClientContext> context,
                                                                 std::string server_name, Deadline deadline) {
  const auto& ours = static_cast<const OpensslClientContext&>(*context);
  auto stream = std::make_unique<TlsStream>(std::move(transport), ours.get());
  const Status named = stream->be_client_of(server_name);
  if (!named) co_return fail(not_sent(named.error(), "TLS"));
  const Status done = co_await stream->handshake(deadline);
  if (!done) co_return fail(not_sent(done.error(), fmt::format("TLS with `{}`", server_name)));
  co_return stream;
}

}  // namespace sallyport::gateway
