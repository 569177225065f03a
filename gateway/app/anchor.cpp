#include "gateway/app/anchor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "gateway/servers/child_process.hpp"
#include "gateway/servers/environment.hpp"
#include "gateway/storage/files.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kWait = std::chrono::seconds(30);
constexpr std::size_t kMostOutput = 64U << 10;
constexpr off_t kTail = 64 << 10;

Status add_to_file(const std::string& path, std::string_view note) {
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return fail_errno("cannot open the anchor", path);
  while (!note.empty()) {
    const ssize_t wrote = ::write(file.get(), note.data(), note.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno("cannot write the anchor", path);
    note.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file.get()) != 0) return fail_errno("cannot sync the anchor", path);
  return {};
}

Result<std::string> end_of_file(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return std::string();
  if (!file.valid()) return fail_errno("cannot open the anchor", path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot read the anchor", path);
  std::string text(static_cast<std::size_t>(std::min<off_t>(info.st_size, kTail)), '\0');
  const off_t from = info.st_size - static_cast<off_t>(text.size());
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), from);
  if (got < 0) return fail_errno("cannot read the anchor", path);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

asio::awaitable<Status> Anchor::add(std::string note) {
  if (!settings_.file.empty()) {
    Status added;
    const std::function<void()> write = [&] { added = add_to_file(settings_.file, note); };
    co_await workers_.run(write);
    co_return added;
  }
  if (settings_.command.empty()) co_return Status{};
  const auto ran = co_await run(settings_.command, std::move(note));
  if (!ran) co_return fail(ran.error());
  co_return Status{};
}

asio::awaitable<Result<std::string>> Anchor::newest() {
  if (!settings_.file.empty()) {
    Result<std::string> text;
    const std::function<void()> read = [&] { text = end_of_file(settings_.file); };
    co_await workers_.run(read);
    co_return text;
  }
  if (settings_.newest.empty()) co_return std::string();
  auto printed = co_await run(settings_.newest, {});
  co_return printed;
}

asio::awaitable<Result<std::string>> Anchor::run(std::vector<std::string> command, std::string input) {
  servers::ChildSpec spec;
  spec.environment = servers::child_environment(servers::allowed_environment(), {});
  auto program = servers::resolve_command(command.front(), spec.environment, {});
  if (!program) co_return fail_in("the anchor", program.error());
  spec.program = std::move(*program);
  spec.arguments = std::move(command);
  auto spawned = servers::ChildProcess::spawn(loop_, spec);
  if (!spawned) co_return fail_in("the anchor", spawned.error());
  const std::unique_ptr<servers::ChildProcess> child = std::move(*spawned);
  const Deadline deadline = Deadline::after(kWait);
  for (std::string_view rest = input; !rest.empty();) {
    const Result<std::size_t> wrote = child->write_some(rest);
    if (!wrote) break;  // it may end without having read all; its exit code says whether that was right
    rest.remove_prefix(*wrote);
    if (*wrote > 0) continue;
    const Status writable = co_await child->wait_writable(deadline);
    if (!writable) break;
  }
  child->close_in();
  std::string text;
  std::array<char, 4096> chunk;  // NOLINT: filled by the read
  for (;;) {
    const Result<std::size_t> got = co_await child->out().read_some(chunk, deadline);
    if (!got || *got == 0) break;
    if (text.size() < kMostOutput) text.append(chunk.data(), *got);
  }
  const bool ended = co_await child->wait_exit(deadline);
  const std::string how = co_await child->bury(Millis(0));
  if (!ended)
    co_return fail(ErrorCode::timeout, fmt::format("the anchor's command `{}` did not end in time", spec.program));
  if (child->exit_status() != 0)
    co_return fail(ErrorCode::unavailable, fmt::format("the anchor's command `{}` failed: {}", spec.program, how));
  co_return text;
}

}  // namespace sallyport::gateway
