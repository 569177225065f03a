// LockTurn: who writes trust.lock.json reads it first and writes it before anybody else does. One holder at a time on
// this machine, in this process and in others.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "gateway/base/task_group.hpp"
#include "gateway/config/files.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway {

class LockTurn {
 public:
  // Of the file at that path, which need not exist; its folder must. conflict: somebody else has it, at once or still
  // at the deadline. The first is for the loop.
  static asio::awaitable<Result<LockTurn>> wait(std::string path, Deadline deadline);
  static Result<LockTurn> now(const std::string& path);

  // The file as it is now; empty where there is none. Blocks.
  [[nodiscard]] Result<trust::LockFile> read(const FileReader& files) const;
  [[nodiscard]] Status write(const trust::LockFile& lock) const;

 private:
  explicit LockTurn(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Result<bool> take();  // false: somebody else has it

  std::string path_;
  std::shared_ptr<const int> held_;  // the folder's descriptor, closed with the last copy
};

}  // namespace sallyport::gateway
