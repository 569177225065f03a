// HTTP/1.1 server over ByteStreams. One request of a connection is handled at a time (pipelined ones wait in a bounded
// buffer). Whatever is unclear about where a message ends is refused before Beast's parser sees it, and the connection
// is closed. Lives on the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/http.hpp"

namespace sallyport::gateway {

// One request's answer. Made by the server, used by the handler, gone when the handler returned.
class HttpExchange {
 public:
  struct State;
  explicit HttpExchange(State& state) : state_(state) {}
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The whole answer. Success: the transport took its last byte ("delivered"). Once only; invalid headers are an error
  // of ours (internal) and the client gets 500.
  asio::awaitable<Status> respond(HttpResponse response);

  // An answer in pieces (SSE): chunked for HTTP/1.1, to the end of the connection for 1.0. Each write is flushed.
  asio::awaitable<Status> start_stream(int status, HttpHeaders headers);
  asio::awaitable<Status> write_chunk(std::string data);
  asio::awaitable<Status> end();  // success: the last byte was taken

  // Called once, on the loop, when the client has ended its side or the connection failed; at once if it already has.
  // (A client may end its side and still read: an answer is sent all the same.) Replaces an earlier callback; dropped
  // when the handler returns. Reading ahead starts with the first registration.
  void on_disconnect(std::function<void()> callback);
  [[nodiscard]] bool disconnected() const;  // known so far; meaningful after on_disconnect or a failed write
  [[nodiscard]] bool started() const;       // status line handed to the transport

  [[nodiscard]] const std::string& peer() const;
  [[nodiscard]] std::uint64_t connection() const;  // tells its connection from all others of this process
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const;
  [[nodiscard]] bool is_tls() const;
  [[nodiscard]] asio::any_io_executor loop() const;

 private:
  State& state_;
};

class HttpServer {
 public:
  using Handler = std::function<asio::awaitable<void>(HttpRequest, HttpExchange&)>;
  // Sees the head before the body is read (and before `100 Continue`): an answer refuses the request and the body stays
  // unread. For credentials, Host, Origin, method and path.
  using Precheck = std::function<std::optional<HttpResponse>(const HttpRequest& head, const ByteStream& stream)>;

  // How what is wrong with a message is said; `head`: of the request, where it could be read. Empty: in plain text.
  using Refuse = std::function<HttpResponse(int status, const std::string& message, const HttpHeaders* head)>;

  // `name` stands in logs. An exception of the handler is logged and answered 500; no answer likewise.
  HttpServer(asio::any_io_executor loop, std::string name, HttpLimits limits, Handler handler, Precheck precheck = {},
             Refuse refuse = {});
  ~HttpServer();  // ends what still runs

  void accept(std::unique_ptr<ByteStream> stream);                  // serves it in the background
  asio::awaitable<void> serve(std::unique_ptr<ByteStream> stream);  // serves it until it ends
  // Idle connections are closed, those with a request finish it first; at the deadline all are ended. True: none was
  // cut.
  asio::awaitable<bool> stop(Deadline deadline);
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sallyport::gateway
