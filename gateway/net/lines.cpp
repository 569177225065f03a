#include "gateway/net/lines.hpp"

#include <algorithm>

namespace sallyport::gateway {

void LineSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    // One byte more than a line may have: it may be the CR of the line's end.
    const std::size_t room = max_line_ + 1 - std::min(max_line_ + 1, partial_.size());
    if (piece.size() > room) overlong_ = true;
    partial_.append(piece.substr(0, room));
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::end_line() {
  if (!overlong_ && partial_.ends_with('\r')) partial_.pop_back();
  Line line;
  line.overlong = overlong_ || partial_.size() > max_line_;
  if (line.overlong) partial_.resize(max_line_);
  line.text = std::move(partial_);
  partial_ = {};
  overlong_ = false;
  ready_.push_back(std::move(line));
}

std::optional<LineSplitter::Line> LineSplitter::next() {
  if (ready_.empty()) return std::nullopt;
  Line line = std::move(ready_.front());
  ready_.pop_front();
  return line;
}

std::optional<LineSplitter::Line> LineSplitter::finish() {
  if (partial_.empty()) return std::nullopt;
  Line line;
  line.overlong = overlong_ || partial_.size() > max_line_;
  if (line.overlong) partial_.resize(max_line_);
  line.unterminated = true;
  line.text = std::move(partial_);
  partial_ = {};
  overlong_ = false;
  return line;
}

asio::awaitable<Result<std::optional<std::string>>> LineReader::next(Deadline deadline) {
  for (;;) {
    if (std::optional<LineSplitter::Line> line = splitter_.next()) {
      if (line->overlong) co_return fail(ErrorCode::limit, "a line is longer than the limit");
      co_return std::optional<std::string>(std::move(line->text));
    }
    if (ended_) co_return std::optional<std::string>();
    const Result<std::size_t> got = co_await stream_.read_some(chunk_, deadline);
    if (!got) co_return fail(got.error());
    if (*got > 0) {
      splitter_.feed(std::string_view(chunk_.data(), *got));
      continue;
    }
    ended_ = true;
    if (splitter_.finish()) co_return fail(ErrorCode::protocol, "the stream ended inside a line");
  }
}

asio::awaitable<Status> write_line(ByteStream& stream, std::string line, Deadline deadline) {
  if (line.find('\n') != std::string::npos) co_return fail(ErrorCode::invalid, "a line must not contain a line end");
  line += '\n';
  const Status written = co_await stream.write_all(line, deadline);
  co_return written;
}

}  // namespace sallyport::gateway
