#include "gateway/net/http_server.hpp"

#include <algorithm>
#include <list>

#include "gateway/base/log.hpp"
#include "gateway/net/http_connection.hpp"

namespace sallyport::gateway {

struct HttpServer::State {
  State(asio::any_io_executor loop, std::string name, HttpLimits limits, Handler handler, Precheck precheck,
        Refuse refuse)
      : shared(std::make_shared<HttpServerShared>(loop, std::move(name), limits, std::move(handler),
                                                  std::move(precheck), std::move(refuse))),
        changed(std::move(loop)) {}
  static asio::awaitable<void> serve(std::shared_ptr<State> state, std::unique_ptr<ByteStream> stream);

  std::shared_ptr<HttpServerShared> shared;
  std::list<HttpConnection*> connections;
  Signal changed;

 private:
  // Lists a connection for as long as its coroutine runs, also when that ends by cancellation.
  class Listed {
   public:
    Listed(State& state, HttpConnection& connection)
        : state_(state), place_(state.connections.insert(state.connections.end(), &connection)) {}
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    ~Listed() {
      state_.connections.erase(place_);
      state_.changed.notify();
    }

   private:
    State& state_;
    std::list<HttpConnection*>::iterator place_;
  };
};

asio::awaitable<void> HttpServer::State::serve(std::shared_ptr<State> state, std::unique_ptr<ByteStream> stream) {
  const bool full = state->connections.size() >= state->shared->limits.connections;
  HttpConnection connection(state->shared, std::move(stream));
  const Listed listed(*state, connection);
  if (!full) {
    co_await connection.run();
    co_return;
  }
  log::warning("http.connections_full",
               {{"server", state->shared->name}, {"bound", state->shared->limits.connections}});
  HttpFault fault(503, "too many connections: try again later");
  co_await connection.refuse(std::move(fault));
  co_await connection.linger();
}

HttpServer::HttpServer(asio::any_io_executor loop, std::string name, HttpLimits limits, Handler handler,
                       Precheck precheck, Refuse refuse)
    : state_(std::make_shared<State>(std::move(loop), std::move(name), limits, std::move(handler), std::move(precheck),
                                     std::move(refuse))) {}

HttpServer::~HttpServer() { state_->shared->tasks.cancel(); }

void HttpServer::accept(std::unique_ptr<ByteStream> stream) {
  // Refusals take a connection for a moment too; far beyond the bound there is not even that.
  if (state_->shared->draining || state_->connections.size() >= 2 * state_->shared->limits.connections) return;
  state_->shared->tasks.spawn(state_->shared->name + ".connection", State::serve(state_, std::move(stream)));
}

asio::awaitable<void> HttpServer::serve(std::unique_ptr<ByteStream> stream) {
  if (!state_->shared->draining) co_await State::serve(state_, std::move(stream));
}

asio::awaitable<bool> HttpServer::stop(Deadline deadline) {
  const std::shared_ptr<State> state = state_;
  state->shared->draining = true;
  for (HttpConnection* connection : state->connections) connection->drain();
  while (!state->connections.empty()) {
    const bool notified = co_await state->changed.wait(deadline);
    if (!notified) break;
  }
  const bool clean = state->connections.empty();
  state->shared->tasks.cancel();
  co_return clean;
}

std::size_t HttpServer::connections() const { return state_->connections.size(); }

}  // namespace sallyport::gateway
