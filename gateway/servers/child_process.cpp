#include "gateway/servers/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gateway/base/task_group.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr int kReapMillis = 2000;  // after SIGKILL; a process that the kernel cannot end by then stays behind

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::unavailable, "no pipe for the child: " + system_error_text(errno));
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// posix_spawn's two attribute objects, freed whatever happens.
struct SpawnSetup {
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

int prepare(SpawnSetup& setup, const std::string& cwd, int in, int out, int err) {
  const std::array<std::pair<int, int>, 3> moves{{{in, 0}, {out, 1}, {err, 2}}};
  for (const auto& [from, to] : moves) {
    if (const int error = ::posix_spawn_file_actions_adddup2(&setup.actions, from, to)) return error;
  }
  if (const int error = ::posix_spawn_file_actions_addclosefrom_np(&setup.actions, 3)) return error;
  if (!cwd.empty()) {
    if (const int error = ::posix_spawn_file_actions_addchdir_np(&setup.actions, cwd.c_str())) return error;
  }
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&setup.attributes, &none);
  ::posix_spawnattr_setsigdefault(&setup.attributes, &all);
  ::posix_spawnattr_setpgroup(&setup.attributes, 0);
  return ::posix_spawnattr_setflags(&setup.attributes,
                                    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn_process(const ChildSpec& spec, int in, int out, int err) {
  SpawnSetup setup;
  if (const int error = prepare(setup, spec.cwd, in, out, err)) {
    return fail(ErrorCode::unavailable, "the child cannot be prepared: " + system_error_text(error));
  }
  std::vector<std::string> arguments = spec.arguments;
  std::vector<std::string> environment;
  environment.reserve(spec.environment.size());
  for (const auto& [name, value] : spec.environment) environment.push_back(fmt::format("{}={}", name, value));
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, spec.program.c_str(), &setup.actions, &setup.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) {
    const std::string where = spec.cwd.empty() ? "" : " in `" + spec.cwd + "`";
    return fail(ErrorCode::unavailable,
                fmt::format("cannot run `{}`{}: {}", spec.program, where, system_error_text(error)));
  }
  return pid;
}

std::string describe_exit(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("it ended with status {}", info.si_status);
  const char* name = ::sigabbrev_np(info.si_status);
  return fmt::format("it was ended by signal {}",
                     name != nullptr ? fmt::format("SIG{}", name) : std::to_string(info.si_status));
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::spawn(const asio::any_io_executor& loop, const ChildSpec& spec) {
  auto in = make_pipe();
  if (!in) return fail(std::move(in.error()));
  auto out = make_pipe();
  if (!out) return fail(std::move(out.error()));
  auto err = make_pipe();
  if (!err) return fail(std::move(err.error()));
  const auto pid = spawn_process(spec, in->read.get(), out->write.get(), err->write.get());
  if (!pid) return fail(pid.error());
  // No race: a child that has ended stays a zombie until we reap it.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (pidfd < 0) {
    const int error = errno;
    ::kill(-*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return fail(ErrorCode::unavailable, "the child cannot be watched: " + system_error_text(error));
  }
  ::fcntl(in->write.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  return std::unique_ptr<ChildProcess>(
      new ChildProcess(loop, *pid, pidfd, in->write.release(), out->read.release(), err->read.release()));
}

ChildProcess::ChildProcess(const asio::any_io_executor& loop, pid_t pid, int pidfd, int in, int out, int err)
    : pid_(pid),
      exit_(loop, pidfd),
      in_(loop, in),
      out_(adopt_fds(loop, out, out, fmt::format("stdout of child {}", pid))),
      err_(adopt_fds(loop, err, err, fmt::format("stderr of child {}", pid))) {}

ChildProcess::~ChildProcess() {
  if (reaped_) return;
  signal_group(SIGKILL);
  pollfd ended{exit_.fd(), POLLIN, 0};
  while (::poll(&ended, 1, kReapMillis) < 0 && errno == EINTR) {
  }
  reap();
}

Result<std::size_t> ChildProcess::write_some(std::string_view bytes) {
  if (in_.fd() < 0) return fail(ErrorCode::cancelled, "its stdin was closed");
  for (;;) {
    const ssize_t took = ::write(in_.fd(), bytes.data(), bytes.size());
    if (took >= 0) return static_cast<std::size_t>(took);
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::size_t{0};
    return fail(ErrorCode::io, "it does not take input any more: " + system_error_text(errno));
  }
}

asio::awaitable<Status> ChildProcess::wait_writable(Deadline deadline) {
  return in_.wait(Descriptor::Ready::write, deadline);
}

void ChildProcess::close_in() noexcept { in_.close(); }

asio::awaitable<bool> ChildProcess::wait_exit(Deadline deadline) {
  if (reaped_) co_return true;
  const Status status = co_await exit_.wait(Descriptor::Ready::read, deadline);
  co_return reaped_ || status.has_value();
}

void ChildProcess::signal_group(int signal) const {
  if (!reaped_) ::kill(-pid_, signal);
}

void ChildProcess::reap() {
  if (reaped_) return;
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(exit_.fd()), &info, WEXITED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  reaped_ = true;
  if (result == 0 && info.si_pid != 0 && info.si_code == CLD_EXITED) status_ = info.si_status;
  how_ = result == 0 && info.si_pid != 0 ? describe_exit(info) : "it could not be ended";
}

asio::awaitable<std::string> ChildProcess::bury(Millis grace) {
  if (!reaped_) {
    signal_group(SIGTERM);
    co_await sleep_until(Deadline::after(grace));
    signal_group(SIGKILL);
    reap();
  }
  out_->close();
  err_->close();
  in_.close();
  co_return how_;
}

}  // namespace sallyport::gateway::servers
