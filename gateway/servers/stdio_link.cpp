#include "gateway/servers/stdio_link.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <csignal>

#include "gateway/base/log.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {

StdioLink::StdioLink(std::shared_ptr<LinkContext> context, const ServerSettings& settings, std::string program)
    : Link(std::move(context), settings),
      program_(std::move(program)),
      stderr_(settings.id),
      queue_changed_(context_->loop),
      changed_(context_->loop) {}

asio::awaitable<Status> StdioLink::start(Deadline deadline) {
  ChildSpec spec;
  spec.program = program_;
  spec.arguments.push_back(settings().command);
  spec.arguments.insert(spec.arguments.end(), settings().args.begin(), settings().args.end());
  spec.environment = child_environment(context_->environment, settings().env);
  spec.cwd = settings().cwd;
  auto child = ChildProcess::spawn(context_->loop, spec);
  if (!child) {
    gone_ = true;
    finish(child.error().message, false);
    co_return fail(ErrorCode::unavailable, child.error().message, ErrorSource::server, RetryClass::not_sent);
  }
  child_ = std::move(*child);
  log::info("server.started", {{"server", id()}, {"pid", child_->pid()}, {"program", program_}});
  const Self self = std::static_pointer_cast<StdioLink>(shared_from_this());
  context_->tasks.spawn(fmt::format("write {}", id()), write_frames(self));
  context_->tasks.spawn(fmt::format("read {}", id()), read_frames(self));
  context_->tasks.spawn(fmt::format("stderr {}", id()), drain_stderr(self));
  context_->tasks.spawn(fmt::format("exit {}", id()), watch_exit(self));
  context_->tasks.spawn(fmt::format("supervise {}", id()), supervise(self));
  Status accepted = co_await shake_hands(deadline);
  if (!accepted) {
    Error error = std::move(accepted.error());
    error.message = with_stderr(std::move(error.message));
    error.retry = RetryClass::not_sent;
    stop(error.message, false);
    co_return fail(std::move(error));
  }
  if (!is_modern()) send_note(mcp::notification("notifications/initialized", {}), false);
  co_return Status{};
}

std::string StdioLink::with_stderr(std::string reason) const {
  if (!first_noise_.empty()) reason += "; its stdout began with " + quote(first_noise_);
  const std::string tail = stderr_.tail();
  if (!tail.empty()) reason += "; its stderr ends with " + quote(tail);
  return reason;
}

std::string StdioLink::closed_stdin() const { return fmt::format("server `{}` has closed its stdin", id()); }

// ---- what goes out

void StdioLink::begin(std::shared_ptr<Exchange> exchange, Outgoing outgoing) {
  if (stdin_broken_) {
    exchange->answer.set(not_sent_answer(closed_stdin()));
    return;
  }
  const bool full = !queue_.empty() && (queue_.size() >= context_->options.queue_frames ||
                                        queued_bytes_ + outgoing.text.size() > context_->options.queue_bytes);
  if (full) {
    exchange->answer.set(not_sent_answer(
        fmt::format("server `{}` does not read its input: {} messages are waiting for it", id(), queue_.size())));
    return;
  }
  Frame frame{std::move(exchange), std::move(outgoing.text)};
  frame.bytes += '\n';
  queue(std::move(frame), false);
}

void StdioLink::send_note(std::string text, bool urgent) {
  if (state_ == State::ended || stdin_broken_ || queue_.size() >= 2 * context_->options.queue_frames) return;
  Frame frame{nullptr, std::move(text)};
  frame.bytes += '\n';
  queue(std::move(frame), urgent);
}

void StdioLink::queue(Frame frame, bool urgent) {
  queued_bytes_ += frame.bytes.size();
  if (urgent) {
    queue_.push_front(std::move(frame));
  } else {
    queue_.push_back(std::move(frame));
  }
  queue_changed_.notify();
}

asio::awaitable<void> StdioLink::write_frames(Self self) {
  while (self->state_ != State::ended) {
    if (self->queue_.empty()) {
      co_await self->queue_changed_.wait(Deadline::never());
      continue;
    }
    Frame frame = std::move(self->queue_.front());
    self->queue_.pop_front();
    self->queued_bytes_ -= frame.bytes.size();
    const bool going = co_await self->write_frame(frame);
    if (!going) break;
  }
  for (const Frame& frame : self->queue_) {
    if (frame.exchange) frame.exchange->answer.set(unanswered(*frame.exchange, self->closed_stdin()));
  }
  self->queue_.clear();
  self->queued_bytes_ = 0;
}

// A frame that was begun is finished even if nobody waits for its answer any more: half a line would make the server
// take the next request for its rest.
asio::awaitable<bool> StdioLink::write_frame(Frame& frame) {
  std::string_view rest = frame.bytes;
  Deadline given_up = Deadline::never();
  while (!rest.empty()) {
    if (frame.exchange && frame.exchange->withdrawn) co_return state_ != State::ended;
    const bool begun = rest.size() < frame.bytes.size();
    // Set before the bytes are handed out, so that no end of this frame can leave it unset.
    const bool was_sent = frame.exchange && std::exchange(frame.exchange->sent, true);
    const Result<std::size_t> took = child_->write_some(rest);
    if (frame.exchange && !begun && (!took || *took == 0)) frame.exchange->sent = was_sent;
    if (!took) {
      // Answers to earlier requests may still be on their way.
      if (frame.exchange) frame.exchange->answer.set(unanswered(*frame.exchange, closed_stdin()));
      stdin_broken_ = true;
      changed_.notify();
      co_return false;
    }
    rest.remove_prefix(*took);
    if (*took > 0) continue;
    // Whoever computes and does not read is not broken, as long as somebody waits for it.
    const bool awaited = frame.exchange && !frame.exchange->given_up;
    if (begun && !awaited && given_up.is_never()) given_up = Deadline::after(context_->options.write_grace);
    if (given_up.passed()) {
      stop("it does not read its input: a message could be written only in part", false);
      co_return false;
    }
    const Deadline turn = earlier(given_up, Deadline::after(std::chrono::seconds(1)));
    co_await child_->wait_writable(turn);
    if (state_ == State::ended) co_return false;
  }
  co_return true;
}

// ---- what comes in

asio::awaitable<void> StdioLink::read_frames(Self self) {
  std::vector<char> chunk(64U << 10);
  FrameReader reader(self->message_limit());
  for (;;) {
    const Result<std::size_t> got = co_await self->child_->out().read_some(chunk, Deadline::never());
    if (!got || *got == 0) break;
    reader.feed(std::string_view(chunk.data(), *got),
                [&self](FrameReader::Frame frame) { self->take_frame(std::move(frame)); });
  }
  self->stdout_ended_ = true;
  self->changed_.notify();
}

void StdioLink::take_frame(FrameReader::Frame frame) {
  if (frame.overlong) {
    conversation_.overlong(frame.text, frame.tail);
    return;
  }
  const std::size_t begin = frame.text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return;
  const char first = frame.text[begin];
  if (first != '{' && first != '[') {
    noise(frame.text);
    return;
  }
  std::string shown = frame.text.substr(0, 200);
  std::vector<std::string> replies;
  const auto taken = conversation_.receive(std::move(frame.text), {}, replies);
  if (taken == Conversation::Taken::noise) {
    noise(shown);
  } else {
    heard();
  }
  for (std::string& reply : replies) send_note(std::move(reply), true);
}

void StdioLink::noise(std::string_view text) {
  ++noise_lines_;
  const std::string_view shown = text.substr(0, 200);
  if (first_noise_.empty()) first_noise_ = visible(shown);
  if (noise_lines_ <= 5 || std::has_single_bit(noise_lines_)) {
    log::warning("server.noise", {{"server", id()}, {"text", shown}, {"lines", noise_lines_}});
  }
  // LSP's framing: no line of it will ever be a message, and the server waits for headers from us.
  if (state_ == State::starting && text.starts_with("Content-Length:")) {
    stop("it frames messages by `Content-Length` headers, which is not MCP's stdio transport", false);
  }
}

asio::awaitable<void> StdioLink::drain_stderr(Self self) {
  co_await self->stderr_.run(self->child_->err());
  self->stderr_ended_ = true;
  self->changed_.notify();
}

// ---- how it ends

asio::awaitable<void> StdioLink::watch_exit(Self self) {
  const bool exited = co_await self->child_->wait_exit(Deadline::never());
  self->exited_ = exited;
  self->changed_.notify();
}

void StdioLink::stop(const std::string& reason, bool well) {
  finish(reason, well);
  queue_changed_.notify();
  if (stop_ != Stop::no || !child_ || gone_) return;
  child_->close_in();
  stop_ = Stop::stdin_closed;
  next_step_ = Deadline::after(context_->options.close_wait);
  changed_.notify();
}

void StdioLink::escalate() {
  if (stop_ == Stop::stdin_closed) {
    child_->signal_group(SIGTERM);
    stop_ = Stop::terminated;
    next_step_ = Deadline::after(context_->options.close_wait);
  } else {
    child_->signal_group(SIGKILL);
    stop_ = Stop::killed;
    next_step_ = Deadline::after(std::chrono::seconds(1));
  }
}

asio::awaitable<void> StdioLink::supervise(Self self) {
  while (!self->exited_) {
    const bool broken = self->stdout_ended_ || self->stdin_broken_;
    if (broken && self->broken_until_.is_never())
      self->broken_until_ = Deadline::after(self->context_->options.exit_drain);
    if (self->stop_ == Stop::no && self->broken_until_.passed()) {
      self->stop(self->stdout_ended_ ? "it closed its stdout" : "it closed its stdin", false);
    }
    const Deadline wait = self->stop_ == Stop::no ? self->broken_until_ : self->next_step_;
    const bool notified = co_await self->changed_.wait(wait);
    if (!notified && self->stop_ != Stop::no && self->next_step_.passed()) self->escalate();
  }
  // Answers that were written before the end still count.
  const Deadline drained = Deadline::after(self->context_->options.exit_drain);
  while (!(self->stdout_ended_ && self->stderr_ended_) && !drained.passed()) {
    co_await self->changed_.wait(drained);
  }
  const std::string how = co_await self->child_->bury(self->context_->options.group_grace);
  self->finish(self->with_stderr(how), false);
  self->queue_changed_.notify();
  log::info("server.ended",
            {{"server", self->id()}, {"pid", self->child_->pid()}, {"how", how}, {"reason", self->end_reason()}});
  self->gone_ = true;
  self->changed_.notify();
}

asio::awaitable<void> StdioLink::close(Deadline deadline) {
  const std::shared_ptr<Link> self = shared_from_this();
  if (!child_) {
    finish("it was ended", true);
    co_return;
  }
  stop("it was ended", true);
  while (!gone_) {
    if (deadline.passed() && stop_ != Stop::killed) {
      stop_ = Stop::terminated;
      escalate();
      changed_.notify();
    }
    const Deadline wait = stop_ == Stop::killed ? next_step_ : deadline;
    const bool notified = co_await changed_.wait(wait);
    if (!notified && stop_ == Stop::killed && next_step_.passed()) break;
  }
}

void StdioLink::abandon() noexcept {
  finish("the gateway is ending", true);
  queue_changed_.notify();
  if (child_) child_->signal_group(SIGKILL);
}

}  // namespace sallyport::gateway::servers
