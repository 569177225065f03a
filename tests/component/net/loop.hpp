// A loop for tests of the network layer: runs one coroutine to its end, together with everything it started.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "gateway/base/deadline.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway::testing {

inline Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

class Loop {
 public:
  asio::any_io_executor executor() { return context_.get_executor(); }

  // Fails the test if the coroutine does not end within 20 seconds.
  void run(asio::awaitable<void> task) {
    bool done = false;
    std::exception_ptr failure;
    asio::co_spawn(context_, std::move(task), [&](const std::exception_ptr& error) {
      done = true;
      failure = error;
    });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    context_.restart();
    while (!done && context_.run_one_until(until) > 0) {
    }
    ASSERT_TRUE(done) << "the coroutine did not end";
    if (failure) std::rethrow_exception(failure);
  }
  // What is ready now, without waiting.
  void settle() {
    context_.restart();
    context_.poll();
  }

 private:
  asio::io_context context_;
};

// Everything until the end of the stream (or an error, which is appended in angle brackets).
inline asio::awaitable<std::string> read_to_end(ByteStream& stream) {
  std::string out;
  std::vector<char> chunk(4096);
  for (;;) {
    const Result<std::size_t> got = co_await stream.read_some(chunk, soon());
    if (!got) {
      out += "<" + std::string(to_string(got.error().code)) + ">";
      co_return out;
    }
    if (*got == 0) co_return out;
    out.append(chunk.data(), *got);
  }
}

inline asio::awaitable<std::string> read_until(ByteStream& stream, std::string mark) {
  std::string out;
  char byte = 0;
  while (!out.ends_with(mark)) {
    const Result<std::size_t> got = co_await stream.read_some(std::span(&byte, 1), soon());
    if (!got || *got == 0) co_return out + "<end>";
    out += byte;
  }
  co_return out;
}

}  // namespace sallyport::gateway::testing
