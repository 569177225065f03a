#include "gateway/clients/bridge.hpp"

#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/connect.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kPiece = 64U << 10;

// Shared by the two directions; what one of them learns ends the other.
struct Joint {
  Joint(std::unique_ptr<ByteStream> ours, std::unique_ptr<ByteStream> theirs, asio::any_io_executor loop)
      : local(std::move(ours)), owner(std::move(theirs)), changed(std::move(loop)) {}
  std::unique_ptr<ByteStream> local;
  std::unique_ptr<ByteStream> owner;
  Signal changed;
  bool input_ended = false;   // ours
  bool output_ended = false;  // the owner's side ended, or our output broke
  bool owner_lost = false;    // before our input ended
};

asio::awaitable<bool> copy(ByteStream& from, ByteStream& to, bool& write_failed) {
  std::vector<char> piece(kPiece);
  for (;;) {
    const Result<std::size_t> got = co_await from.read_some(piece, Deadline::never());
    if (!got) co_return false;
    if (*got == 0) co_return true;
    const std::string_view bytes(piece.data(), *got);
    const Status written = co_await to.write_all(bytes, Deadline::never());
    write_failed = !written;
    if (write_failed) co_return false;
  }
}

asio::awaitable<void> send_input(std::shared_ptr<Joint> joint) {
  bool write_failed = false;
  const bool ended = co_await copy(*joint->local, *joint->owner, write_failed);
  joint->input_ended = true;
  joint->owner_lost = joint->owner_lost || write_failed;
  if (ended) co_await joint->owner->shutdown_write(Deadline::after(std::chrono::seconds(1)));
  joint->changed.notify();
}

asio::awaitable<void> receive_output(std::shared_ptr<Joint> joint, std::string first) {
  bool write_failed = false;
  Status written;
  if (!first.empty()) written = co_await joint->local->write_all(first, Deadline::never());
  write_failed = !written;
  if (!write_failed) co_await copy(*joint->owner, *joint->local, write_failed);
  if (!write_failed && !joint->input_ended) joint->owner_lost = true;
  joint->output_ended = true;
  joint->changed.notify();
}

// One line, and the bytes that came after it.
struct FirstLine {
  std::string line;
  std::string rest;
};
asio::awaitable<Result<FirstLine>> read_first_line(ByteStream& stream, Deadline deadline) {
  std::string text;
  std::vector<char> piece(4096);
  while (text.size() <= kMaxHelloBytes) {
    const std::size_t end = text.find('\n');
    if (end != std::string::npos) co_return FirstLine{text.substr(0, end), text.substr(end + 1)};
    const Result<std::size_t> got = co_await stream.read_some(piece, deadline);
    if (!got) co_return fail(got.error());
    if (*got == 0) co_return fail(ErrorCode::unavailable, "the gateway closed the connection without a word");
    text.append(piece.data(), *got);
  }
  co_return fail(ErrorCode::protocol, "the gateway's answer to the hello is too long");
}

}  // namespace

asio::awaitable<Status> run_bridge(std::unique_ptr<ByteStream> local, BridgeOptions options) {
  const asio::any_io_executor loop = local->loop();
  const Deadline connect_by = Deadline::after(options.connect_wait);
  Result<std::unique_ptr<ByteStream>> owner = co_await connect_unix(loop, options.socket_path, connect_by);
  if (!owner) co_return fail(owner.error());
  const Deadline hello_by = Deadline::after(options.hello_wait);
  std::string hello = hello_line(options.hello) + "\n";
  const Status said = co_await (*owner)->write_all(hello, hello_by);
  if (!said) co_return fail_in("the gateway did not take the hello", said.error());
  Result<FirstLine> answer = co_await read_first_line(**owner, hello_by);
  if (!answer) co_return fail(answer.error());
  const Status accepted = parse_hello_answer(std::move(answer->line));
  if (!accepted) co_return fail_in("the gateway refused", accepted.error());

  const auto joint = std::make_shared<Joint>(std::move(local), std::move(*owner), loop);
  TaskGroup tasks(loop);
  tasks.spawn("bridge.input", send_input(joint));
  tasks.spawn("bridge.output", receive_output(joint, std::move(answer->rest)));
  while (!joint->input_ended && !joint->output_ended) co_await joint->changed.wait(Deadline::never());
  const Deadline drained = Deadline::after(options.drain);
  while (!joint->output_ended) {
    const bool notified = co_await joint->changed.wait(drained);
    if (!notified) break;
  }
  joint->owner->close();
  joint->local->close();
  co_await tasks.wait_empty(Deadline::after(std::chrono::seconds(1)));
  if (joint->owner_lost) co_return fail(ErrorCode::unavailable, "the gateway went away");
  co_return Status{};
}

}  // namespace sallyport::gateway
