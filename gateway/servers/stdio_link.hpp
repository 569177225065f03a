// StdioLink: a ServerLink over a child process. One writer sends whole frames, one reader takes lines, one supervisor
// owns the child's end; all are tasks of the pool's group that hold the link.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "gateway/servers/child_process.hpp"
#include "gateway/servers/frames.hpp"
#include "gateway/servers/link.hpp"
#include "gateway/servers/stderr_drain.hpp"

namespace sallyport::gateway::servers {

class StdioLink final : public Link {
 public:
  // `program`: the file that settings.command means.
  StdioLink(std::shared_ptr<LinkContext> context, const ServerSettings& settings, std::string program);

  asio::awaitable<Status> start(Deadline deadline) override;
  asio::awaitable<void> close(Deadline deadline) override;
  void abandon() noexcept override;

 protected:
  void begin(std::shared_ptr<Exchange> exchange, Outgoing outgoing) override;
  void send_note(std::string text, bool urgent) override;

 private:
  using Self = std::shared_ptr<StdioLink>;
  struct Frame {
    std::shared_ptr<Exchange> exchange;  // null: a note
    std::string bytes;                   // with the line end
  };
  enum class Stop : unsigned char { no, stdin_closed, terminated, killed };

  static asio::awaitable<void> write_frames(Self self);
  static asio::awaitable<void> read_frames(Self self);
  static asio::awaitable<void> drain_stderr(Self self);
  static asio::awaitable<void> watch_exit(Self self);
  static asio::awaitable<void> supervise(Self self);

  asio::awaitable<bool> write_frame(Frame& frame);  // false: nothing can be written any more
  void queue(Frame frame, bool urgent);
  void take_frame(FrameReader::Frame frame);
  void noise(std::string_view text);
  // The child is of no further use: everything open ends now, then the child.
  void stop(const std::string& reason, bool well);
  void escalate();
  [[nodiscard]] std::string closed_stdin() const;
  [[nodiscard]] std::string with_stderr(std::string reason) const;

  std::string program_;
  std::unique_ptr<ChildProcess> child_;
  StderrDrain stderr_;
  std::deque<Frame> queue_;
  std::size_t queued_bytes_ = 0;
  Signal queue_changed_;
  std::uint64_t noise_lines_ = 0;
  std::string first_noise_;
  // The child's end.
  Signal changed_;  // any of the following
  Stop stop_ = Stop::no;
  Deadline next_step_;
  Deadline broken_until_;  // a child that closed a pipe is about to end, which then is the better reason
  bool exited_ = false;
  bool stdin_broken_ = false;
  bool stdout_ended_ = false;
  bool stderr_ended_ = false;
  bool gone_ = false;
};

}  // namespace sallyport::gateway::servers
