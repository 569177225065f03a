// Framing by the byte 0x0A: one message per line. One CR before it is dropped; nothing else is changed.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/net/byte_stream.hpp"

namespace sallyport::gateway {

// Incremental and pure. At most `max_line` bytes of an unfinished line are held; the rest of a longer one is skipped.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}
  struct Line {
    std::string text;  // without the line end; of an overlong line its first `max_line` bytes
    bool overlong = false;
    bool unterminated = false;  // only from finish()
  };
  void feed(std::string_view bytes);
  std::optional<Line> next();
  std::optional<Line> finish();  // at the end of the stream: what follows the last line end, if anything

 private:
  void end_line();
  std::size_t max_line_;
  std::string partial_;
  bool overlong_ = false;
  std::deque<Line> ready_;
};

// Lines of a stream, which it borrows. Empty lines are delivered (as empty texts).
class LineReader {
 public:
  LineReader(ByteStream& stream, std::size_t max_line) : stream_(stream), splitter_(max_line) {}
  // nullopt: the stream ended after a whole line. Errors after which reading goes on: limit (the line was longer than
  // max_line and was skipped). Errors that end it: protocol (the stream ended inside a line), and those of read_some;
  // timeout may be tried again.
  asio::awaitable<Result<std::optional<std::string>>> next(Deadline deadline);

 private:
  ByteStream& stream_;
  LineSplitter splitter_;
  std::vector<char> chunk_ = std::vector<char>(16U << 10);  // what one read fills
  bool ended_ = false;
};

// `line` and one LF in one write. `line` must not contain LF (invalid).
asio::awaitable<Status> write_line(ByteStream& stream, std::string line, Deadline deadline);

}  // namespace sallyport::gateway
