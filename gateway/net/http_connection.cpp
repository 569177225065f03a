#include "gateway/net/http_connection.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <utility>

#include "gateway/base/log.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::chrono::seconds kLinger{2};
constexpr std::size_t kLingerBytes = 1U << 20;
constexpr std::size_t kWritePiece = 64U << 10;

HttpResponse plain_response(int status, std::string message) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(message) + "\n";
  return response;
}

enum class Expectation : unsigned char { none, proceed, unknown };

Expectation expectation(const HttpRequest& head) {
  const auto expect = head.headers.get("Expect");
  if (!expect || head.http_1_0) return Expectation::none;
  return media_type(*expect) == "100-continue" ? Expectation::proceed : Expectation::unknown;
}

constexpr std::size_t kSmallBody = 64U << 10;  // always taken
constexpr std::size_t kBodies = 64;            // of the largest size, that all connections together may be sending

// What one connection has of a body, among those of all.
class BodyCount {
 public:
  explicit BodyCount(HttpServerShared& shared) : shared_(shared) {}
  BodyCount(const BodyCount&) = delete;
  BodyCount& operator=(const BodyCount&) = delete;
  ~BodyCount() { shared_.bodies -= bytes_; }
  // False: it is one too many.
  bool fits(std::size_t bytes) {
    shared_.bodies += bytes - bytes_;
    bytes_ = bytes;
    return bytes <= kSmallBody || shared_.bodies <= kBodies * shared_.limits.body_bytes;
  }

 private:
  HttpServerShared& shared_;
  std::size_t bytes_ = 0;
};

// Host and Origin of a head, so far as they can be told: for the refusal of one that is not understood.
HttpHeaders where_from(std::string_view head) {
  HttpHeaders found;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    for (const std::string_view name : {"Host", "Origin"}) {
      const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
      if (!std::ranges::equal(line.substr(0, colon), name, same)) continue;
      std::string_view value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      found.add(std::string(name), std::string(value));
    }
  }
  return found;
}

void log_failure(const std::string& server, std::string_view reason) {
  log::error("http.handler_failed", {{"server", server}, {"reason", reason}});
}

// Reads while a handler runs, so that a client's leaving is noticed and pipelined requests are taken in, up to a bound.
asio::awaitable<void> read_ahead(std::shared_ptr<HttpInput> input, std::size_t bound) {
  while (input->want_ahead && input->buffer.size() < bound) {
    const Result<std::size_t> got = co_await input->stream->read_some(input->chunk, Deadline::never());
    if (!got || *got == 0) {
      input->ended = true;
      break;
    }
    input->took(*got);
    input->arrived.notify();
  }
  input->reading_ahead = false;
  input->arrived.notify();
  const std::function<void()> on_end = input->ended ? std::exchange(input->on_end, nullptr) : nullptr;
  if (on_end) on_end();
}

}  // namespace

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpServerShared> shared, std::unique_ptr<ByteStream> stream)
    : shared_(std::move(shared)),
      input_(std::make_shared<HttpInput>(std::move(stream), shared_->tasks.loop())),
      number_(next_number()) {}

void HttpConnection::drain() {
  if (!busy_) input_->stream->close();
}

HttpConnection::~HttpConnection() {
  input_->on_end = nullptr;  // it belongs to the handler, which is gone
  input_->want_ahead = false;
  input_->stream->close();
}

asio::awaitable<void> HttpConnection::run() {
  bool more = true;
  while (more && !shared_->draining) {
    Next next = co_await read_request();
    more = next.go_on;
    if (next.request) more = co_await answer(std::move(*next.request));
    busy_ = false;
  }
  if (input_->stream->is_open()) co_await linger();
}

asio::awaitable<Result<bool>> HttpConnection::fill(Deadline deadline) {
  HttpInput& input = *input_;
  const std::size_t before = input.buffer.size();
  while (input.reading_ahead && !input.ended && input.buffer.size() == before) {
    const bool notified = co_await input.arrived.wait(deadline);
    if (!notified) co_return fail(ErrorCode::timeout, "no data came in time");
  }
  if (input.buffer.size() > before) co_return true;
  if (input.ended) co_return false;
  const Result<std::size_t> got = co_await input.stream->read_some(input.chunk, deadline);
  if (!got) co_return fail(got.error());
  if (*got == 0) input.ended = true;
  input.took(*got);
  co_return *got > 0;
}

asio::awaitable<std::optional<std::string>> HttpConnection::read_head() {
  const HttpLimits& limits = shared_->limits;
  std::string& buffer = input_->buffer;
  std::size_t from = 0;
  Deadline deadline = Deadline::after(limits.idle_wait);
  for (;;) {
    // An empty line before a request is passed over, as RFC 9112 2.2 has it; one, for that is all that is needed.
    if (!busy_ && buffer.size() >= 2) {
      busy_ = true;
      deadline = Deadline::after(limits.header_wait);
      if (buffer.starts_with("\r\n")) buffer.erase(0, 2);
    }
    const std::size_t end = find_head_end(buffer, from);
    HttpFault too_large(431, "the headers are too large");
    if (end == std::string::npos && buffer.size() > limits.target_bytes + kRequestLineExtra && !buffer.contains('\n')) {
      too_large = HttpFault(414, "the request line is too long");
    }
    if ((end == std::string::npos ? buffer.size() : end) > limits.header_bytes || too_large.status == 414) {
      co_await refuse(std::move(too_large));
      co_return std::nullopt;
    }
    if (end != std::string::npos) {
      std::string head = buffer.substr(0, end);
      buffer.erase(0, end);
      co_return head;
    }
    const Result<bool> more = co_await fill(deadline);
    if (more && *more) continue;
    const bool slow = !more && more.error().code == ErrorCode::timeout;
    if (slow && !buffer.empty()) co_await refuse(HttpFault(408, "the headers did not come in time"));
    if (more && !buffer.empty()) co_await refuse(HttpFault(400, "the request was cut off"));
    co_return std::nullopt;
  }
}

asio::awaitable<HttpConnection::Next> HttpConnection::read_request() {
  Next next;
  std::optional<std::string> head = co_await read_head();
  if (!head) co_return next;
  std::optional<HttpFault> fault = check_request_head(*head, shared_->limits);
  HttpMessageReader reader(HttpMessageReader::Kind::request, shared_->limits.header_bytes + 1,
                           shared_->limits.body_bytes);
  if (!fault) fault = reader.put(*head);
  if (!fault && !reader.head_done()) fault = HttpFault(400, "the headers are not understood");
  if (fault) {
    const HttpHeaders from = where_from(*head);
    co_await refuse(std::move(*fault), &from);
    co_return next;
  }
  HttpRequest request = reader.take_request();
  keep_alive_ = reader.keep_alive() && !request.http_1_0;
  std::optional<HttpResponse> refusal;
  if (shared_->precheck) refusal = shared_->precheck(request, *input_->stream);
  if (refusal) {
    keep_alive_ = keep_alive_ && reader.done();  // a body that is still to come stays unread
    next.go_on = co_await refuse_by(std::move(*refusal), request.method == "HEAD", request.http_1_0);
    co_return next;
  }
  const bool whole = co_await read_body(reader, request);
  if (!whole) co_return next;
  request.body = std::move(reader.body());
  next.request = std::move(request);
  co_return next;
}

asio::awaitable<bool> HttpConnection::refuse_by(HttpResponse response, bool is_head, bool http_1_0) {
  HttpExchange::State state(*this, is_head, http_1_0, keep_alive_);
  HttpExchange exchange(state);
  const Status sent = co_await exchange.respond(std::move(response));
  if (!sent) input_->stream->close();
  co_return sent&& state.keep_alive;
}

asio::awaitable<bool> HttpConnection::read_body(HttpMessageReader& reader, const HttpRequest& head) {
  const Expectation expected = expectation(head);
  if (expected == Expectation::unknown) {
    HttpFault fault(417, "the only expectation is 100-continue");
    co_await refuse(std::move(fault), &head.headers);
    co_return false;
  }
  if (expected == Expectation::proceed && reader.expects_body() && input_->buffer.empty()) {
    const Status asked = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!asked) co_return false;
  }
  BodyCount count(*shared_);
  const Deadline deadline = Deadline::after(shared_->limits.body_wait);
  for (;;) {
    std::optional<HttpFault> fault = reader.put(input_->buffer);
    if (!fault && reader.done()) co_return true;
    if (!fault && !count.fits(reader.body().size()))
      fault = HttpFault(503, "too many large requests come at once: try again later");
    if (!fault) {
      const Result<bool> more = co_await fill(deadline);
      if (more && *more) continue;
      if (!more && more.error().code != ErrorCode::timeout) co_return false;
      fault = more ? HttpFault(400, "the body was cut off") : HttpFault(408, "the body did not come in time");
    }
    co_await refuse(std::move(*fault), &head.headers);
    co_return false;
  }
}

HttpResponse HttpConnection::refusal(int status, std::string message, const HttpHeaders* head) const {
  return shared_->refuse ? shared_->refuse(status, message, head) : plain_response(status, std::move(message));
}

asio::awaitable<bool> HttpConnection::answer(HttpRequest request) {
  HttpHeaders from;  // what a refusal may need of the head
  for (const std::string name : {"Host", "Origin"}) {
    if (const auto value = request.headers.get(name)) from.add(name, std::string(*value));
  }
  HttpExchange::State state(*this, request.method == "HEAD", request.http_1_0, keep_alive_);
  HttpExchange exchange(state);
  bool threw = false;
  try {
    co_await shared_->handler(std::move(request), exchange);
  } catch (const boost::system::system_error& e) {
    threw = true;  // cancellation comes this way; the next wait goes on with it
    if (e.code() != asio::error::operation_aborted) log_failure(shared_->name, e.what());
  } catch (const std::exception& e) {
    threw = true;
    log_failure(shared_->name, e.what());
  }
  input_->want_ahead = false;
  input_->on_end = nullptr;
  if (!state.started && !state.failed) {
    if (!threw) log::error("http.no_answer", {{"server", shared_->name}});
    state.keep_alive = false;
    HttpResponse failed = refusal(500, "internal error", &from);
    const Status sent = co_await exchange.respond(std::move(failed));
    if (!sent) input_->stream->close();
    co_return false;
  }
  // An answer that was begun and not ended is cut, so that nobody takes it for whole.
  if (!state.ended || state.failed) input_->stream->close();
  co_return state.ended && !state.failed && state.keep_alive;
}

// The connection ends after it: run() and the server linger.
asio::awaitable<void> HttpConnection::refuse(HttpFault fault, const HttpHeaders* head) {
  log::debug("http.refused", {{"server", shared_->name},
                              {"peer", input_->stream->peer()},
                              {"status", fault.status},
                              {"reason", fault.message}});
  HttpExchange::State state(*this, false, false, false);
  HttpExchange exchange(state);
  HttpResponse response = refusal(fault.status, std::move(fault.message), head);
  const Status sent = co_await exchange.respond(std::move(response));
  if (!sent) input_->stream->close();
}

// A close with unread bytes would make the kernel reset the connection, and the client might never see the answer.
asio::awaitable<void> HttpConnection::linger() {
  const Deadline deadline = Deadline::after(kLinger);
  const Status ended = co_await input_->stream->shutdown_write(deadline);
  std::size_t drained = 0;
  while (ended && drained < kLingerBytes) {
    input_->buffer.clear();
    const Result<bool> more = co_await fill(deadline);
    if (!more || !*more) break;
    drained += input_->buffer.size();
  }
  input_->stream->close();
}

asio::awaitable<Status> HttpConnection::write(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Deadline deadline = Deadline::after(shared_->limits.write_wait);
    const Status written = co_await input_->stream->write_all(rest.substr(0, kWritePiece), deadline);
    if (!written) co_return written;
    rest.remove_prefix(std::min(kWritePiece, rest.size()));
  }
  co_return Status{};
}

// ---- the exchange ----

asio::awaitable<Status> HttpExchange::respond(HttpResponse response) {
  if (state_.started) co_return fail(ErrorCode::internal, "this request was answered already");
  if (state_.failed) co_return fail(ErrorCode::io, "the connection failed");
  const bool bodiless = response.status == 204 || response.status == 304;
  if (state_.connection.shared_->draining) state_.keep_alive = false;
  Result<std::string> head =
      response_head(response.status, response.headers, bodiless ? HttpFraming::none : HttpFraming::length,
                    response.body.size(), state_.keep_alive);
  if (!head) co_return fail(head.error());
  if (bodiless || state_.is_head) response.body.clear();
  state_.started = true;
  if (response.body.size() <= kWritePiece) *head += std::exchange(response.body, {});  // one write for most answers
  Status written = co_await state_.connection.write(std::move(*head));
  if (written) written = co_await state_.connection.write(std::move(response.body));
  state_.ended = true;
  state_.failed = !written;
  co_return written;
}

asio::awaitable<Status> HttpExchange::start_stream(int status, HttpHeaders headers) {
  if (state_.started) co_return fail(ErrorCode::internal, "this request was answered already");
  if (state_.failed) co_return fail(ErrorCode::io, "the connection failed");
  if (state_.http_1_0 || state_.connection.shared_->draining) state_.keep_alive = false;
  state_.framing = state_.http_1_0 ? HttpFraming::until_close : HttpFraming::chunked;
  Result<std::string> head = response_head(status, headers, state_.framing, 0, state_.keep_alive);
  if (!head) co_return fail(head.error());
  state_.started = true;
  state_.streaming = true;
  const Status written = co_await state_.connection.write(std::move(*head));
  state_.failed = !written;
  co_return written;
}

asio::awaitable<Status> HttpExchange::write_chunk(std::string data) {
  if (!state_.streaming || state_.ended) co_return fail(ErrorCode::internal, "no stream is open for this request");
  if (state_.failed) co_return fail(ErrorCode::io, "the connection failed");
  if (data.empty() || state_.is_head) co_return Status{};
  if (state_.framing == HttpFraming::chunked) data = chunk(data);
  const Status written = co_await state_.connection.write(std::move(data));
  if (!written) state_.failed = true;
  co_return written;
}

asio::awaitable<Status> HttpExchange::end() {
  if (!state_.streaming || state_.ended) co_return fail(ErrorCode::internal, "no stream is open for this request");
  if (state_.failed) co_return fail(ErrorCode::io, "the connection failed");
  state_.ended = true;
  if (state_.framing != HttpFraming::chunked || state_.is_head) co_return Status{};
  const Status written = co_await state_.connection.write(std::string(kLastChunk));
  if (!written) state_.failed = true;
  co_return written;
}

void HttpExchange::on_disconnect(std::function<void()> callback) {
  const std::shared_ptr<HttpInput>& input = state_.connection.input_;
  if (input->ended || state_.failed) {
    if (callback) callback();
    return;
  }
  input->on_end = std::move(callback);
  input->want_ahead = true;
  if (input->reading_ahead) return;
  input->reading_ahead = true;
  HttpServerShared& shared = *state_.connection.shared_;
  shared.tasks.spawn(shared.name + ".read_ahead", read_ahead(input, shared.limits.read_ahead));
}

bool HttpExchange::disconnected() const { return state_.connection.input_->ended || state_.failed; }
bool HttpExchange::started() const { return state_.started; }
const std::string& HttpExchange::peer() const { return state_.connection.input_->stream->peer(); }
std::optional<std::uint32_t> HttpExchange::peer_uid() const { return state_.connection.input_->stream->peer_uid(); }
std::uint64_t HttpExchange::connection() const { return state_.connection.number_; }
bool HttpExchange::is_tls() const { return state_.connection.input_->stream->is_tls(); }
asio::any_io_executor HttpExchange::loop() const { return state_.connection.input_->stream->loop(); }

}  // namespace sallyport::gateway
