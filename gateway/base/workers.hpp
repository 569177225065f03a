// A small pool for what blocks or takes long (files, validation of huge input). The loop never blocks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>

namespace sallyport::gateway {

namespace asio = boost::asio;

class Workers {
 public:
  explicit Workers(std::size_t threads);
  ~Workers();  // joins
  // Runs what is queued and ends the threads: for an owner, before it destroys what its jobs use. What comes later is
  // never run.
  void join();
  // Runs `job` on a pool thread and completes on the caller's executor. The job must not throw.
  asio::awaitable<void> run(std::function<void()> job);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sallyport::gateway
