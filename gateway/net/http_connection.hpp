// One connection of the HTTP server. Internal to net.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/http_codec.hpp"
#include "gateway/net/http_server.hpp"

namespace sallyport::gateway {

// What all connections of a server share.
struct HttpServerShared {
  HttpServerShared(asio::any_io_executor loop, std::string server, HttpLimits bounds, HttpServer::Handler handle,
                   HttpServer::Precheck check, HttpServer::Refuse say)
      : name(std::move(server)),
        limits(bounds),
        handler(std::move(handle)),
        precheck(std::move(check)),
        refuse(std::move(say)),
        tasks(std::move(loop)) {}
  std::string name;
  HttpLimits limits;
  HttpServer::Handler handler;
  HttpServer::Precheck precheck;
  HttpServer::Refuse refuse;
  TaskGroup tasks;
  std::size_t bodies = 0;  // bytes of all that are being read
  bool draining = false;
};

// Bytes that came in, and who reads them: the connection itself between requests, a reader-ahead while a handler runs.
struct HttpInput {
  HttpInput(std::unique_ptr<ByteStream> from, asio::any_io_executor loop)
      : stream(std::move(from)), arrived(std::move(loop)), chunk(kSmall) {}
  // Small while little comes, because most connections only wait; larger for bodies.
  static constexpr std::size_t kSmall = 512;
  static constexpr std::size_t kLarge = 16U << 10;
  void took(std::size_t bytes) {
    buffer.append(chunk.data(), bytes);
    if (bytes == chunk.size() && bytes < kLarge) chunk.resize(kLarge);
    if (bytes < kSmall && chunk.size() > kSmall) std::vector<char>(kSmall).swap(chunk);
  }
  std::unique_ptr<ByteStream> stream;
  std::string buffer;
  bool ended = false;          // the peer ended its direction, or reading failed
  bool reading_ahead = false;  // its task is alive: nobody else may read
  bool want_ahead = false;     // it should go on after what it is reading now
  Signal arrived;
  std::vector<char> chunk;
  std::function<void()> on_end;  // called once when `ended` is set by the reader-ahead
};

class HttpConnection {
 public:
  HttpConnection(std::shared_ptr<HttpServerShared> shared, std::unique_ptr<ByteStream> stream);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  asio::awaitable<void> run();
  // Answers; nothing more is read but to be thrown away.
  asio::awaitable<void> refuse(HttpFault fault, const HttpHeaders* head = nullptr);
  asio::awaitable<void> linger();  // ends our side, waits a moment for the peer's, closes
  void drain();                    // no further request after the present one
  // True while a request is being read or answered.
  [[nodiscard]] bool busy() const { return busy_; }

 private:
  friend class HttpExchange;
  struct Next {
    std::optional<HttpRequest> request;
    bool go_on = false;  // without a request: it was refused, and the connection is as good as before
  };
  // Without a request and without go_on, the connection was answered as far as that makes sense, and ends.
  asio::awaitable<Next> read_request();
  asio::awaitable<bool> refuse_by(HttpResponse response, bool is_head, bool http_1_0);  // true: go on
  asio::awaitable<std::optional<std::string>> read_head();
  asio::awaitable<bool> read_body(HttpMessageReader& reader, const HttpRequest& head);
  [[nodiscard]] HttpResponse refusal(int status, std::string message, const HttpHeaders* head) const;
  asio::awaitable<bool> answer(HttpRequest request);      // true: another request may follow
  asio::awaitable<Result<bool>> fill(Deadline deadline);  // true: more bytes; false: the peer ended
  asio::awaitable<Status> write(std::string bytes);

  std::shared_ptr<HttpServerShared> shared_;
  std::shared_ptr<HttpInput> input_;
  bool busy_ = false;
  bool keep_alive_ = false;  // as the request has it
  const std::uint64_t number_;
};

struct HttpExchange::State {
  State(HttpConnection& owner, bool head, bool old, bool keep)
      : connection(owner), is_head(head), http_1_0(old), keep_alive(keep) {}
  HttpConnection& connection;
  bool is_head;
  bool http_1_0;
  bool keep_alive;
  bool started = false;  // the head was handed to the transport
  bool streaming = false;
  bool ended = false;   // the whole answer was
  bool failed = false;  // a write failed: nothing more can be said here
  HttpFraming framing = HttpFraming::length;
};

}  // namespace sallyport::gateway
