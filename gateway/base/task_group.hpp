// Every coroutine that is not awaited belongs to a TaskGroup: it has a name, its exceptions are logged, and the group
// can be waited for. Lives on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/deadline.hpp"

namespace sallyport::gateway {

namespace asio = boost::asio;

class TaskGroup {
 public:
  explicit TaskGroup(asio::any_io_executor loop);
  ~TaskGroup();  // cancels (terminal) what is still running; the frames are destroyed with the loop at the latest
  void spawn(std::string name, asio::awaitable<void> task);  // starts in a later turn of the loop
  void cancel();                                             // terminal cancellation for all tasks
  asio::awaitable<bool> wait_empty(Deadline deadline);       // true: all ended
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::vector<std::string> names() const;  // for shutdown logs
  [[nodiscard]] asio::any_io_executor loop() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // running tasks hold it until they end
};

// Sleep on the loop; false if cancelled.
asio::awaitable<bool> sleep_until(Deadline deadline);

}  // namespace sallyport::gateway
