// EventStreams: who listens to `/api/v1/approvals/events`, and what each has not heard yet. Slow listeners cost a
// bounded set of ids; beyond it they are told to look at everything. On the loop. Internal to control.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "gateway/base/signal.hpp"
#include "gateway/net/http_server.hpp"

namespace sallyport::gateway {

class EventStreams {
 public:
  EventStreams(asio::any_io_executor loop, std::size_t most, Millis keep_alive)
      : loop_(std::move(loop)), most_(most), keep_alive_(keep_alive) {}

  // Answers the exchange with a stream until the client goes, close() is called, or `may_listen` says no (asked before
  // every event). limit: too many listen already; nothing was answered.
  asio::awaitable<Status> serve(HttpExchange& exchange, std::function<bool()> may_listen);
  void tell(const std::string& approval);
  void tell_all();  // to look at everything
  void close();
  [[nodiscard]] std::size_t count() const { return listeners_.size(); }

 private:
  struct Listener {
    explicit Listener(const asio::any_io_executor& loop) : changed(loop) {}
    Signal changed;
    std::set<std::string> ids;
    bool all = false;  // more than could be kept
    bool gone = false;
  };
  asio::awaitable<void> run(HttpExchange& exchange, std::function<bool()> may_listen, Listener& listener);

  asio::any_io_executor loop_;
  std::size_t most_;
  Millis keep_alive_;
  bool closed_ = false;
  std::list<Listener> listeners_;
};

}  // namespace sallyport::gateway
