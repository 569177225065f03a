#include "gateway/storage/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace sallyport::gateway {
namespace {

constexpr off_t kMaxKeyFile = 64 << 10;

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno("cannot write", path);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

int FileHandle::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

std::unexpected<Error> fail_errno(std::string_view what, const std::string& path) {
  const int code = errno;
  const ErrorCode kind = code == ENOENT ? ErrorCode::not_found : code == EACCES ? ErrorCode::forbidden : ErrorCode::io;
  return fail(kind, fmt::format("{} `{}`: {}", what, path, std::system_category().message(code)));
}

bool file_exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

Status make_private_file(const std::string& path) {
  if (file_exists(path)) return {};
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno("cannot create", path);
  return {};
}

Status sync_folder(const std::string& path) {
  const FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return fail_errno("cannot open the folder", path);
  if (::fsync(folder.get()) != 0) return fail_errno("cannot sync the folder", path);
  return {};
}

Status write_file(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string beside = path + ".new";
  ::unlink(beside.c_str());  // left by a crash
  const FileHandle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.valid()) return fail_errno("cannot create", beside);
  if (Status wrote = write_all(file.get(), bytes, beside); !wrote) return wrote;
  if (::fchmod(file.get(), mode) != 0) return fail_errno("cannot set the mode of", beside);
  if (::fsync(file.get()) != 0) return fail_errno("cannot sync", beside);
  if (::rename(beside.c_str(), path.c_str()) != 0) return fail_errno("cannot put in place", path);
  return sync_folder(parent_of(path));
}

Result<Secret> read_private_file(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return fail_errno("cannot read", path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot read", path);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::invalid, fmt::format("`{}` is no plain file", path));
  if (info.st_uid != ::geteuid()) {
    return fail(ErrorCode::forbidden, fmt::format("`{}` belongs to another user (uid {})", path, info.st_uid));
  }
  if ((info.st_mode & 077) != 0) {
    return fail(
        ErrorCode::forbidden,
        fmt::format("others can read or write `{}`: `chmod 600` it, and replace the key if they may have", path));
  }
  if (info.st_size > kMaxKeyFile) return fail(ErrorCode::limit, fmt::format("`{}` is too long for a key", path));
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return Secret(std::move(bytes));
}

Result<DiskReserve> DiskReserve::take(std::string path, std::uint64_t bytes) {
  if (bytes == 0) {
    ::unlink(path.c_str());
    return DiskReserve(std::move(path), false);
  }
  const FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno("cannot create", path);
  const int code = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (code != 0) {
    ::unlink(path.c_str());
    return fail(ErrorCode::io, fmt::format("cannot set aside {} bytes in `{}` for outcomes: {}", bytes, path,
                                           std::system_category().message(code)));
  }
  return DiskReserve(std::move(path), true);
}

bool DiskReserve::release() {
  if (!held_) return false;
  held_ = false;
  return ::unlink(path_.c_str()) == 0;
}

}  // namespace sallyport::gateway
