// ChildProcess: one server as a child in a process group of its own, with pipes on stdin, stdout and stderr, no other
// descriptor, the signal dispositions of a fresh program and exactly the environment it is given (design section 12).
//
// Lives on the loop. The destructor kills the whole group and reaps; nothing outlives the object, except what left the
// group on purpose (setsid). If the gateway itself is killed, the child sees the end of its stdin.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/descriptor.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::servers {

struct ChildSpec {
  std::string program;                             // the file to run
  std::vector<std::string> arguments;              // argv, argv[0] included
  std::map<std::string, std::string> environment;  // all of it
  std::string cwd;                                 // empty: ours
};

class ChildProcess {
 public:
  // Errors: unavailable, with the operating system's reason.
  static Result<std::unique_ptr<ChildProcess>> spawn(const asio::any_io_executor& loop, const ChildSpec& spec);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] ByteStream& out() { return *out_; }
  [[nodiscard]] ByteStream& err() { return *err_; }

  // What the pipe takes now: 0 if it is full (then wait_writable), else a count. Errors: io (the child closed its
  // stdin), cancelled (we did).
  Result<std::size_t> write_some(std::string_view bytes);
  asio::awaitable<Status> wait_writable(Deadline deadline);
  void close_in() noexcept;

  // True: the first process of the group has ended (it stays a zombie until the group was killed, so that the number of
  // the group cannot be anyone else's).
  asio::awaitable<bool> wait_exit(Deadline deadline);
  void signal_group(int signal) const;                                      // nothing happens once it was buried
  [[nodiscard]] std::optional<int> exit_status() const { return status_; }  // after bury(), if it ended by itself
  // After the end: TERM and after `grace` KILL to what is left of the group, then reaps. Says how the child ended.
  asio::awaitable<std::string> bury(Millis grace);

 private:
  ChildProcess(const asio::any_io_executor& loop, pid_t pid, int pidfd, int in, int out, int err);
  void reap();

  pid_t pid_;
  bool reaped_ = false;
  std::string how_;
  std::optional<int> status_;
  Descriptor exit_;
  Descriptor in_;
  std::unique_ptr<ByteStream> out_;
  std::unique_ptr<ByteStream> err_;
};

}  // namespace sallyport::gateway::servers
