#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>

#include "gateway/net/byte_stream.hpp"
#include "gateway/net/memory_stream.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::chrono::milliseconds;
using testing::Loop;
using testing::read_to_end;
using testing::soon;

struct Ends {
  std::unique_ptr<ByteStream> ours;
  std::unique_ptr<ByteStream> theirs;
};

Ends sockets(Loop& loop) {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {adopt_fds(loop.executor(), fds[0], fds[0], "ours"), adopt_fds(loop.executor(), fds[1], fds[1], "theirs")};
}

Ends pipes(Loop& loop) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  EXPECT_EQ(::pipe2(there.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(back.data(), O_CLOEXEC), 0);
  return {adopt_fds(loop.executor(), back[0], there[1], "ours"),
          adopt_fds(loop.executor(), there[0], back[1], "theirs")};
}

Ends memory(Loop& loop) {
  MemoryStreamPair pair = make_memory_streams(loop.executor());
  return {std::move(pair.first), std::move(pair.second)};
}

// What every ByteStream promises.
class EveryStream : public ::testing::TestWithParam<Ends (*)(Loop&)> {
 protected:
  Loop loop_;
  Ends ends_ = GetParam()(loop_);
};

asio::awaitable<void> write_and_end(ByteStream& stream, std::string text, Status& result) {
  result = co_await stream.write_all(text, soon());
  if (result) result = co_await stream.shutdown_write(soon());
}

TEST_P(EveryStream, CarriesMoreThanItsBuffersHold) {
  loop_.run([](Ends& ends, asio::any_io_executor loop) -> asio::awaitable<void> {
    const std::string big(2'000'000, 'x');
    TaskGroup tasks(loop);
    Status result;
    tasks.spawn("writer", write_and_end(*ends.ours, big, result));
    const std::string got = co_await read_to_end(*ends.theirs);
    EXPECT_EQ(got.size(), big.size());
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended && result);
    // The other direction still works.
    tasks.spawn("writer", write_and_end(*ends.theirs, "back", result));
    const std::string back = co_await read_to_end(*ends.ours);
    EXPECT_EQ(back, "back");
  }(ends_, loop_.executor()));
}

TEST_P(EveryStream, TimesOutAndThenGoesOnReading) {
  loop_.run([](Ends& ends) -> asio::awaitable<void> {
    std::array<char, 10> chunk{};
    const Result<std::size_t> nothing = co_await ends.ours->read_some(chunk, Deadline::after(milliseconds(2)));
    EXPECT_TRUE(!nothing && nothing.error().code == ErrorCode::timeout);
    EXPECT_TRUE(ends.ours->quiet());
    const Status written = co_await ends.theirs->write_all("late", soon());
    EXPECT_TRUE(written);
    const Result<std::size_t> got = co_await ends.ours->read_some(chunk, soon());
    EXPECT_TRUE(got && *got == 4);
    const std::string full(5'000'000, 'x');
    const Status stuck = co_await ends.ours->write_all(full, Deadline::after(milliseconds(2)));
    EXPECT_TRUE(!stuck && stuck.error().code == ErrorCode::timeout);
  }(ends_));
}

asio::awaitable<void> read_once(ByteStream& stream, std::optional<Result<std::size_t>>& out) {
  std::array<char, 10> chunk{};
  out = co_await stream.read_some(chunk, Deadline::never());
}

TEST_P(EveryStream, WakesAReaderWhenItIsClosed) {
  loop_.run([](Ends& ends, asio::any_io_executor loop) -> asio::awaitable<void> {
    TaskGroup tasks(loop);
    std::optional<Result<std::size_t>> out;
    tasks.spawn("reader", read_once(*ends.ours, out));
    for (int i = 0; i < 5; ++i) co_await asio::post(loop, asio::use_awaitable);
    ends.ours->close();
    EXPECT_FALSE(ends.ours->is_open());
    EXPECT_FALSE(ends.ours->quiet());
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended);
    EXPECT_TRUE(out && !*out && out->error().code == ErrorCode::cancelled);
    const Status written = co_await ends.ours->write_all("x", soon());
    EXPECT_TRUE(!written && written.error().code == ErrorCode::cancelled);
  }(ends_, loop_.executor()));
}

TEST_P(EveryStream, GivesAnErrorWhenThePeerIsGone) {
  loop_.run([](Ends& ends) -> asio::awaitable<void> {
    ends.theirs.reset();
    EXPECT_FALSE(ends.ours->quiet());
    Status written;
    for (int i = 0; i < 3 && written; ++i) written = co_await ends.ours->write_all("x", soon());
    EXPECT_TRUE(!written && written.error().code == ErrorCode::io);
    const std::string got = co_await read_to_end(*ends.ours);
    EXPECT_TRUE(got.empty() || got.starts_with("<")) << got;
  }(ends_));
}

TEST_P(EveryStream, EndsTasksThatAreCancelled) {
  loop_.run([](Ends& ends, asio::any_io_executor loop) -> asio::awaitable<void> {
    TaskGroup tasks(loop);
    std::optional<Result<std::size_t>> out;
    tasks.spawn("reader", read_once(*ends.ours, out));
    for (int i = 0; i < 5; ++i) co_await asio::post(loop, asio::use_awaitable);
    tasks.cancel();
    const bool ended = co_await tasks.wait_empty(soon());
    EXPECT_TRUE(ended);
  }(ends_, loop_.executor()));
}

std::string stream_name(const ::testing::TestParamInfo<Ends (*)(Loop&)>& info) {
  static const std::vector<std::string> kNames = {"Sockets", "Pipes", "Memory"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(Streams, EveryStream, ::testing::Values(sockets, pipes, memory), stream_name);

// Our own stdin and stdout are shared with whoever started us.
TEST(StdioStream, LeavesTheOpenFilesBlocking) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  ASSERT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  std::fflush(stdout);
  const int saved_in = ::dup(0);
  const int saved_out = ::dup(1);
  ::dup2(in[0], 0);
  ::dup2(out[1], 1);
  Loop loop;
  Result<std::unique_ptr<ByteStream>> stdio = adopt_stdio(loop.executor());
  ::dup2(saved_in, 0);
  ::dup2(saved_out, 1);
  ::close(saved_in);
  ::close(saved_out);
  ASSERT_TRUE(stdio);
  EXPECT_EQ(::fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
  ::close(in[0]);
  ::close(out[1]);
  std::unique_ptr<ByteStream> far = adopt_fds(loop.executor(), out[0], in[1], "far");
  loop.run([](ByteStream& here, ByteStream& there, asio::any_io_executor executor) -> asio::awaitable<void> {
    const std::string big(500'000, 'y');
    TaskGroup tasks(executor);
    Status result;
    tasks.spawn("writer", write_and_end(here, big, result));
    const std::string got = co_await read_to_end(there);
    EXPECT_EQ(got.size(), big.size());
    tasks.spawn("writer", write_and_end(there, big, result));
    const std::string back = co_await read_to_end(here);
    EXPECT_EQ(back.size(), big.size());
  }(**stdio, *far, loop.executor()));
}

}  // namespace
}  // namespace sallyport::gateway
