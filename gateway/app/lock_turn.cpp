#include "gateway/app/lock_turn.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace sallyport::gateway {
namespace {

constexpr std::chrono::milliseconds kPause{50};

Error taken() {
  return {ErrorCode::conflict, "somebody else is accepting definitions right now; try again", ErrorSource::gateway,
          RetryClass::later};
}

}  // namespace

Result<bool> LockTurn::take() {
  const std::string folder = folder_of(path_);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorCode::io, fmt::format("`{}` cannot be opened: {}", folder, std::strerror(errno)));
  held_ = std::shared_ptr<const int>(new int(fd), [](const int* held) {
    ::close(*held);
    delete held;
  });
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  const int error = errno;
  held_ = nullptr;
  if (error == EWOULDBLOCK || error == EINTR) return false;
  return fail(ErrorCode::io, fmt::format("`{}` cannot be locked: {}", folder, std::strerror(error)));
}

asio::awaitable<Result<LockTurn>> LockTurn::wait(std::string path, Deadline deadline) {
  LockTurn turn(std::move(path));
  for (;;) {
    auto has = turn.take();
    if (!has) co_return fail(has.error());
    if (*has) co_return turn;
    if (deadline.passed()) co_return fail(taken());
    const bool slept = co_await sleep_until(Deadline::after(kPause));
    if (!slept) co_return fail(taken());
  }
}

Result<LockTurn> LockTurn::now(const std::string& path) {
  LockTurn turn(path);
  const auto has = turn.take();
  if (!has) return fail(has.error());
  if (!*has) return fail(taken());
  return turn;
}

Result<trust::LockFile> LockTurn::read(const FileReader& files) const {
  if (files.kind(path_) == FileReader::Kind::missing) return trust::LockFile{};
  auto text = files.read(path_, kMaxLockBytes);
  if (!text) return fail(text.error());
  return trust::parse_lock(std::move(text->bytes));
}

Status LockTurn::write(const trust::LockFile& lock) const { return atomic_write(path_, trust::print(lock), 0644); }

}  // namespace sallyport::gateway
