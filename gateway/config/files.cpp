#include "gateway/config/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace sallyport::gateway {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_words(int error) { return std::generic_category().message(error); }

std::unexpected<Error> io_error(const std::string& path, std::string_view what) {
  const int error = errno;
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
  return fail(code, fmt::format("{} `{}`: {}", what, path, system_words(error)));
}

// A user's private group (of the same number's primary group, with no other member): writable by it is writable by him.
bool is_private_group(uid_t owner, gid_t group) {
  std::string buffer(16384, '\0');
  passwd user{};
  passwd* found_user = nullptr;
  if (::getpwuid_r(owner, &user, buffer.data(), buffer.size(), &found_user) != 0 || found_user == nullptr) return false;
  if (user.pw_gid != group) return false;
  const std::string name = user.pw_name;
  ::group entry{};
  ::group* found_group = nullptr;
  if (::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found_group) != 0 || found_group == nullptr)
    return false;
  if (name != entry.gr_name) return false;  // a shared group like `users`
  for (char** member = entry.gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

std::string who_may_write(const struct stat& facts, bool folder) {
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return fmt::format("belongs to another user (uid {}): change its owner", facts.st_uid);
  }
  // In a folder with the sticky bit only its owner can replace a file.
  if (folder && (facts.st_mode & S_ISVTX) != 0) return {};
  if ((facts.st_mode & S_IWOTH) != 0) return "may be written by everybody: `chmod go-w` it";
  if ((facts.st_mode & S_IWGRP) != 0 && facts.st_gid != 0 && !is_private_group(facts.st_uid, facts.st_gid)) {
    return fmt::format("may be written by the group {}: `chmod g-w` it", facts.st_gid);
  }
  return {};
}

// Whoever may write the folder may put another file in the place of this one, or another link where there is one.
std::string folder_writers(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error) return "lies in a folder that cannot be looked at";
  for (const std::string& folder : {folder_of(path), real.parent_path().string()}) {
    struct stat facts{};
    if (::stat(folder.c_str(), &facts) != 0) return "lies in a folder that cannot be looked at";
    const std::string words = who_may_write(facts, true);
    if (!words.empty()) return fmt::format("lies in the folder `{}`, which {}", folder, words);
  }
  return {};
}

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(path, "cannot write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return io_error(path, "cannot write");
  return {};
}

}  // namespace

Result<FileReader::Text> SystemFiles::read(const std::string& path, std::size_t max_bytes) const {
  // O_NONBLOCK: a FIFO at that place must not hang the start.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return io_error(path, "cannot read");
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return io_error(path, "cannot read");
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::io, fmt::format("cannot read `{}`: it is no regular file", path));
  Text text;
  text.others_may_write = who_may_write(facts, false);
  if (text.others_may_write.empty()) text.others_may_write = folder_writers(path);
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error(path, "cannot read");
    if (count == 0) break;
    text.bytes.append(buffer, static_cast<std::size_t>(count));
    if (text.bytes.size() > max_bytes) {
      return fail(ErrorCode::limit, fmt::format("`{}` is larger than {} bytes", path, max_bytes));
    }
  }
  return text;
}

FileReader::Kind SystemFiles::kind(const std::string& path) const {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return Kind::missing;
  return S_ISDIR(facts.st_mode) ? Kind::folder : Kind::file;
}

Result<std::vector<std::string>> SystemFiles::list(const std::string& folder) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return io_error(folder, "cannot list");
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(entries.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return io_error(folder, "cannot list");
  std::sort(names.begin(), names.end());
  return names;
}

Status atomic_write(const std::string& path, std::string_view text, unsigned mode) {
  std::string target = path;
  if (char* real = ::realpath(path.c_str(), nullptr)) {
    target = real;
    std::free(real);
  }
  std::string beside = target + ".XXXXXX";
  const Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (file.get() < 0) return io_error(path, "cannot write");
  Status status = write_all(file.get(), text, path);
  if (status && ::fchmod(file.get(), mode) != 0) status = io_error(path, "cannot write");
  if (status && ::rename(beside.c_str(), target.c_str()) != 0) status = io_error(path, "cannot write");
  if (!status) {
    ::unlink(beside.c_str());
    return status;
  }
  const Descriptor folder(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return io_error(path, "cannot sync the folder of");
  return {};
}

std::string resolve_path(std::string_view base, std::string_view path) {
  std::filesystem::path whole(path);
  if (whole.is_relative()) whole = std::filesystem::path(base) / whole;
  std::string text = whole.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::string folder_of(std::string_view path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace sallyport::gateway
