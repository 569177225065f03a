#include "gateway/net/memory_stream.hpp"

#include <algorithm>

#include "gateway/base/signal.hpp"

namespace sallyport::gateway {
namespace {

// One direction.
struct Channel {
  explicit Channel(const asio::any_io_executor& loop) : changed(loop) {}
  Signal changed;
  std::string bytes;
  bool ended = false;  // the writer will write no more
  bool reader_gone = false;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(asio::any_io_executor loop, MemoryStreamOptions options, std::shared_ptr<Channel> in,
               std::shared_ptr<Channel> out)
      : loop_(std::move(loop)), options_(std::move(options)), in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryStream() override { close(); }

  asio::awaitable<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override {
    const std::shared_ptr<Channel> channel = in_;
    const std::shared_ptr<bool> open = open_;
    const std::size_t chunk = std::min(options_.read_chunk, into.size());
    while (*open && channel->bytes.empty() && !channel->ended) {
      const bool notified = co_await channel->changed.wait(deadline);
      if (!notified) co_return fail(ErrorCode::timeout, "reading from memory: no data came in time");
    }
    if (!*open) co_return fail(ErrorCode::cancelled, "reading from memory: the connection was closed");
    const std::size_t size = std::min(chunk, channel->bytes.size());
    channel->bytes.copy(into.data(), size);
    channel->bytes.erase(0, size);
    channel->changed.notify();
    co_return size;
  }

  asio::awaitable<Status> write_all(std::string_view bytes, Deadline deadline) override {
    const std::shared_ptr<Channel> channel = out_;
    const std::shared_ptr<bool> open = open_;
    const std::size_t capacity = options_.capacity;
    while (!bytes.empty()) {
      if (!*open) co_return fail(ErrorCode::cancelled, "writing to memory: the connection was closed");
      if (channel->reader_gone || channel->ended) co_return fail(ErrorCode::io, "writing to memory: Broken pipe");
      if (channel->bytes.size() < capacity) {
        const std::size_t size = std::min(capacity - channel->bytes.size(), bytes.size());
        channel->bytes.append(bytes.substr(0, size));
        bytes.remove_prefix(size);
        channel->changed.notify();
        continue;
      }
      const bool notified = co_await channel->changed.wait(deadline);
      if (!notified) co_return fail(ErrorCode::timeout, "writing to memory: no data was taken in time");
    }
    co_return Status{};
  }

  asio::awaitable<Status> shutdown_write(Deadline /*deadline*/) override {
    out_->ended = true;
    out_->changed.notify();
    co_return Status{};
  }

  void close() noexcept override {
    if (!*open_) return;
    *open_ = false;
    out_->ended = true;
    in_->reader_gone = true;
    in_->changed.notify();
    out_->changed.notify();
  }
  [[nodiscard]] bool is_open() const override { return *open_; }
  [[nodiscard]] bool quiet() override { return *open_ && in_->bytes.empty() && !in_->ended; }
  [[nodiscard]] asio::any_io_executor loop() const override { return loop_; }
  [[nodiscard]] const std::string& peer() const override { return options_.peer; }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const override { return options_.peer_uid; }

 private:
  asio::any_io_executor loop_;
  MemoryStreamOptions options_;
  std::shared_ptr<Channel> in_;
  std::shared_ptr<Channel> out_;
  std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
};

}  // namespace

MemoryStreamPair make_memory_streams(asio::any_io_executor loop, MemoryStreamOptions options) {
  auto there = std::make_shared<Channel>(loop);
  auto back = std::make_shared<Channel>(loop);
  MemoryStreamPair pair;
  pair.first = std::make_unique<MemoryStream>(loop, options, back, there);
  pair.second = std::make_unique<MemoryStream>(loop, options, there, back);
  return pair;
}

}  // namespace sallyport::gateway
