// Small files of the state folder, written so that a crash leaves the old content or the new one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::gateway {

// Closes when it goes.
class FileHandle {
 public:
  explicit FileHandle(int fd = -1) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(other.release()) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();

 private:
  int fd_;
};

// Errors say `{what} \`{path}\`: {reason of errno}`.
[[nodiscard]] std::unexpected<Error> fail_errno(std::string_view what, const std::string& path);

[[nodiscard]] bool file_exists(const std::string& path);
// Written beside, synced, moved into place, and the folder synced.
Status write_file(const std::string& path, std::string_view bytes, mode_t mode);
// An empty one (0600), if there is none.
Status make_private_file(const std::string& path);
Status sync_folder(const std::string& path);
// Refuses what is no plain file of ours, what others can read or write, and more than 64 KiB. ErrorCode::not_found if
// there is none.
Result<Secret> read_private_file(const std::string& path);

// Disk space set aside for outcomes in hand (design section 12): given back when the disk is full, so that what is
// known can still be written.
class DiskReserve {
 public:
  // Makes sure that `bytes` are set aside in this file; ErrorCode::io if the disk has no room for them. 0: none.
  static Result<DiskReserve> take(std::string path, std::uint64_t bytes);
  // True if something was given back (once).
  bool release();

 private:
  DiskReserve(std::string path, bool held) : path_(std::move(path)), held_(held) {}
  std::string path_;
  bool held_;
};

}  // namespace sallyport::gateway
