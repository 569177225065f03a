// Connections of the HTTP client, by origin. Internal to net; lives on the loop.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/http_client.hpp"

namespace sallyport::gateway {

struct HttpPooled {
  std::unique_ptr<ByteStream> stream;
  std::string buffer;                                      // bytes of an answer that were not parsed yet
  std::vector<char> piece = std::vector<char>(32U << 10);  // what one read fills
  Deadline::Clock::time_point idle_since;
};

class HttpPool : public std::enable_shared_from_this<HttpPool> {
  struct Origin;

 public:
  HttpPool(asio::any_io_executor loop, HttpClientOptions options);

  // A connection and its place among its origin's; closed and given back when it goes, unless it was kept.
  class Lease {
   public:
    Lease(std::shared_ptr<HttpPool> pool, std::shared_ptr<Origin> origin)
        : pool_(std::move(pool)), origin_(std::move(origin)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { release(); }
    void keep();  // for the next request; closed after all if enough of them are idle
    std::unique_ptr<HttpPooled> connection;

   private:
    void release();
    std::shared_ptr<HttpPool> pool_;
    std::shared_ptr<Origin> origin_;  // null: nothing to give back
  };

  // One that is idle and quiet, or a new one, as soon as there is room. All errors are not_sent.
  asio::awaitable<Result<Lease>> lease(Url url, Deadline deadline);
  void close_idle();
  [[nodiscard]] const HttpClientOptions& options() const { return options_; }

 private:
  struct Origin {
    explicit Origin(const asio::any_io_executor& loop) : freed(loop), cleared(loop) {}
    std::list<std::unique_ptr<HttpPooled>> idle;  // the one used last in front
    std::size_t open = 0;                         // in use and idle
    std::size_t waiting = 0;
    bool reaping = false;
    Signal freed;
    Signal cleared;  // idle was emptied
  };
  std::shared_ptr<Origin> origin_of(const std::string& name);
  asio::awaitable<Status> connect(Url url, Deadline deadline, HttpPooled& out);
  static asio::awaitable<void> reap(std::shared_ptr<Origin> origin, Millis keep);

  asio::any_io_executor loop_;
  HttpClientOptions options_;
  std::map<std::string, std::shared_ptr<Origin>> origins_;
  TaskGroup tasks_;
};

}  // namespace sallyport::gateway
