// Two ByteStreams joined in memory, for tests and for parts of one process that talk to each other. Bounded: a writer
// waits while `capacity` bytes are unread. Lives on the loop.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway {

struct MemoryStreamOptions {
  std::size_t capacity = 64U << 10;   // unread bytes per direction
  std::size_t read_chunk = SIZE_MAX;  // a read_some returns at most so many bytes
  std::string peer = "memory";
  std::optional<std::uint32_t> peer_uid;
};

struct MemoryStreamPair {
  std::unique_ptr<ByteStream> first;
  std::unique_ptr<ByteStream> second;
};

MemoryStreamPair make_memory_streams(asio::any_io_executor loop, MemoryStreamOptions options = {});

}  // namespace sallyport::gateway
