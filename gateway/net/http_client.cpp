#include "gateway/net/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "gateway/net/http_codec.hpp"
#include "gateway/net/http_pool.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kOneWrite = 64U << 10;    // a body up to this size goes out with its head
constexpr int kMaxInterim = 8;                  // 1xx answers before the final one
constexpr std::chrono::seconds kTurn{1};        // of waiting past the deadline
constexpr std::chrono::seconds kLateAnswer{2};  // what a server said before it stopped taking the request

std::unexpected<Error> failed(ErrorCode code, std::string message, RetryClass retry) {
  return fail(code, std::move(message), ErrorSource::server, retry);
}

asio::awaitable<Result<std::size_t>> fill(HttpPooled& connection, Deadline deadline) {
  const Result<std::size_t> got = co_await connection.stream->read_some(connection.piece, deadline);
  if (got) connection.buffer.append(connection.piece.data(), *got);
  co_return got;
}

// The head of the final answer.
asio::awaitable<Result<HttpMessageReader>> read_head(HttpPooled& connection, std::size_t limit, bool is_head,
                                                     Deadline deadline, const std::function<bool()>& go_on) {
  const auto kind = is_head ? HttpMessageReader::Kind::response_to_head : HttpMessageReader::Kind::response;
  for (int interim = 0; interim <= kMaxInterim; ++interim) {
    std::size_t from = 0;
    std::size_t end = find_head_end(connection.buffer, from);
    while (end == std::string::npos && connection.buffer.size() <= limit) {
      const Result<std::size_t> got = co_await fill(connection, deadline);
      if (!got && got.error().code == ErrorCode::timeout && go_on && go_on()) {
        deadline = Deadline::after(kTurn);
        continue;
      }
      if (!got) co_return failed(got.error().code, got.error().message, RetryClass::never);
      if (*got == 0) {
        const bool begun = !connection.buffer.empty();
        co_return failed(
            ErrorCode::protocol,
            begun ? "the connection ended inside the headers of the answer" : "the connection ended before the answer",
            RetryClass::never);
      }
      end = find_head_end(connection.buffer, from);
    }
    if (std::min(end, connection.buffer.size()) > limit) {
      co_return failed(ErrorCode::limit, "the headers of the answer are larger than the limit", RetryClass::never);
    }
    std::string head = connection.buffer.substr(0, end);
    connection.buffer.erase(0, end);
    std::optional<HttpFault> fault = check_response_head(head);
    HttpMessageReader reader(kind, limit + 1, UINT64_MAX);
    if (!fault) fault = reader.put(head);
    if (!fault && !reader.head_done()) fault = HttpFault(400, "the headers are not understood");
    if (fault) co_return failed(ErrorCode::protocol, "the answer: " + fault->message, RetryClass::never);
    if (reader.status() >= 200) co_return reader;
    if (reader.status() == 101) break;
  }
  co_return failed(ErrorCode::protocol, "the answer never came to a final status", RetryClass::never);
}

// The connection of a request whose head is waited for, for whoever gives it up meanwhile.
class Abortable {
 public:
  explicit Abortable(ByteStream* stream) : stream_(std::make_shared<ByteStream*>(stream)) {}
  Abortable(const Abortable&) = delete;
  Abortable& operator=(const Abortable&) = delete;
  ~Abortable() { *stream_ = nullptr; }
  [[nodiscard]] std::function<void()> abort() const {
    return [stream = stream_] {
      if (*stream != nullptr) (*stream)->close();
    };
  }

 private:
  std::shared_ptr<ByteStream*> stream_;
};

}  // namespace

struct HttpClientResponse::State {
  State(HttpPool::Lease held, HttpMessageReader head) : lease(std::move(held)), reader(std::move(head)) {
    status = reader.status();
    headers = reader.take_headers();
  }
  // The body is complete: the connection goes back, if it can be used again.
  void settle() {
    if (!lease.connection) return;
    if (const TlsPeer* seen = lease.connection->stream->tls_peer(); seen != nullptr) peer = *seen;
    const bool reusable = whole_request && reader.keep_alive() && lease.connection->buffer.empty();
    HttpPool::Lease finished = std::move(lease);
    if (reusable) finished.keep();
  }
  HttpPool::Lease lease;
  HttpMessageReader reader;
  int status = 0;
  HttpHeaders headers;
  std::optional<TlsPeer> peer;  // once the connection is gone
  bool whole_request = true;    // it was sent to its last byte
  bool closed = false;
};

struct HttpClient::State : HttpPool {
  using HttpPool::HttpPool;
};

HttpClient::HttpClient(asio::any_io_executor loop, HttpClientOptions options)
    : state_(std::make_shared<State>(std::move(loop), std::move(options))) {}

HttpClient::~HttpClient() { state_->close_idle(); }

void HttpClient::close_idle() { state_->close_idle(); }

asio::awaitable<Result<HttpClientResponse>> HttpClient::send(HttpClientRequest request, Deadline deadline) {
  const std::shared_ptr<HttpPool> pool = state_;
  const bool has_body = !request.body.empty() || (request.method != "GET" && request.method != "HEAD");
  Result<std::string> head = request_head(request.method, request.url.target, request.url.host_header(),
                                          request.headers, request.body.size(), has_body);
  if (!head) co_return failed(head.error().code, head.error().message, RetryClass::not_sent);
  const std::string origin = request.url.origin();
  Result<HttpPool::Lease> lease = co_await pool->lease(request.url, deadline);
  if (!lease) co_return fail(lease.error());
  HttpPooled& connection = *lease->connection;
  if (request.may_write && !request.may_write()) {
    lease->keep();
    co_return failed(ErrorCode::cancelled, "the request was given up before it was sent", RetryClass::not_sent);
  }
  const Abortable abortable(connection.stream.get());
  if (request.take_abort) request.take_abort(abortable.abort());
  // From here on something may have been sent, and nothing is ever repeated.
  if (request.body.size() <= kOneWrite) *head += std::exchange(request.body, {});
  Status written = co_await connection.stream->write_all(*head, deadline);
  if (written) written = co_await connection.stream->write_all(request.body, deadline);
  // A server may answer (413, 401 …) and stop reading before it has the whole request.
  if (!written && written.error().code != ErrorCode::io) {
    co_return failed(written.error().code, written.error().message, RetryClass::never);
  }
  if (!written) deadline = earlier(deadline, Deadline::after(kLateAnswer));
  Result<HttpMessageReader> reader =
      co_await read_head(connection, pool->options().header_bytes, request.method == "HEAD", deadline,
                         written ? request.go_on : std::function<bool()>());
  if (!reader) {
    Error error = written ? reader.error() : written.error();
    co_return failed(error.code, fmt::format("{}: {}", origin, error.message), RetryClass::never);
  }
  auto response = std::make_unique<HttpClientResponse::State>(std::move(*lease), std::move(*reader));
  response->whole_request = written.has_value();
  if (response->reader.done()) response->settle();
  co_return HttpClientResponse(std::move(response));
}

// ---- the answer ----

HttpClientResponse::HttpClientResponse(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClientResponse::HttpClientResponse(HttpClientResponse&&) noexcept = default;
HttpClientResponse& HttpClientResponse::operator=(HttpClientResponse&&) noexcept = default;
HttpClientResponse::~HttpClientResponse() = default;

int HttpClientResponse::status() const { return state_->status; }
const HttpHeaders& HttpClientResponse::headers() const { return state_->headers; }
const TlsPeer* HttpClientResponse::tls_peer() const {
  if (state_->lease.connection) return state_->lease.connection->stream->tls_peer();
  return state_->peer ? &*state_->peer : nullptr;
}
bool HttpClientResponse::complete() const { return state_->reader.done() && state_->reader.body().empty(); }

asio::awaitable<Result<std::string>> HttpClientResponse::read_some(Deadline deadline) {
  State& state = *state_;
  for (;;) {
    if (state.closed) co_return failed(ErrorCode::cancelled, "the answer was given up", RetryClass::never);
    if (!state.lease.connection) co_return std::string();
    HttpPooled& connection = *state.lease.connection;
    if (std::optional<HttpFault> fault = state.reader.put(connection.buffer)) {
      close();
      co_return failed(ErrorCode::protocol, "the answer: " + fault->message, RetryClass::never);
    }
    std::string body = std::exchange(state.reader.body(), {});
    if (state.reader.done()) state.settle();
    if (!body.empty()) co_return body;
    if (state.reader.done()) continue;
    const Result<std::size_t> got = co_await fill(connection, deadline);
    if (!got) co_return failed(got.error().code, got.error().message, RetryClass::never);
    if (*got > 0) continue;
    if (std::optional<HttpFault> fault = state.reader.put_end()) {
      close();
      co_return failed(ErrorCode::protocol, "the connection ended inside the answer", RetryClass::never);
    }
  }
}

asio::awaitable<Result<std::string>> HttpClientResponse::read_all(std::size_t max_bytes, Deadline deadline) {
  std::string body;
  for (;;) {
    Result<std::string> piece = co_await read_some(deadline);
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) co_return body;
    if (piece->size() > max_bytes - body.size()) {
      close();
      co_return failed(ErrorCode::limit, fmt::format("the answer is larger than {} bytes", max_bytes),
                       RetryClass::never);
    }
    body += *piece;
  }
}

void HttpClientResponse::close() {
  State& state = *state_;
  state.closed = state.closed || state.lease.connection != nullptr;
  // An operation under way still uses the connection: it is closed now and goes with the response.
  if (state.lease.connection) state.lease.connection->stream->close();
}

}  // namespace sallyport::gateway
