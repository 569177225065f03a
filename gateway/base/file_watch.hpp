// FileWatch: tells when a file, or a folder of files, may have changed: written, replaced, removed, its rights changed
// (inotify). Only a hint: whoever hears it reads the files and compares. Watches folders, so that a file that is
// replaced by rename, or does not exist yet, is seen too. On the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/deadline.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

namespace asio = boost::asio;

class FileWatch {
 public:
  // `on_change` is called once for all that happens within `quiet` of the first change.
  FileWatch(asio::any_io_executor loop, std::function<void()> on_change, Millis quiet = Millis(200));
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Watches these instead of what it watched; absolute paths. Error (io): at least one cannot be watched, the others
  // are.
  Status watch(const std::vector<std::string>& paths);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sallyport::gateway
