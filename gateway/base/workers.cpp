#include "gateway/base/workers.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sallyport::gateway {

struct Workers::State {
  explicit State(std::size_t threads) : pool(threads) {}
  asio::thread_pool pool;
};

Workers::Workers(std::size_t threads) : state_(std::make_unique<State>(threads == 0 ? 1 : threads)) {}
Workers::~Workers() { join(); }

void Workers::join() { state_->pool.join(); }

// The wait cannot be cancelled: the job may use what the caller's frame owns, so the frame stays until the job has
// ended.
asio::awaitable<void> Workers::run(std::function<void()> job) {
  asio::thread_pool& pool = state_->pool;
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  auto start = [&pool, loop](auto handler, std::function<void()> work) {
    auto guard = asio::make_work_guard(loop);
    asio::post(pool, [handler = std::move(handler), work = std::move(work), guard = std::move(guard)]() mutable {
      work();
      asio::post(guard.get_executor(), std::move(handler));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable, std::move(job));
}

}  // namespace sallyport::gateway
