// FrameReader: lines of a child's stdout, which also keeps the end of a line that is too long: most servers write the
// id last, and without it nobody could tell which call has to stop waiting. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/net/lines.hpp"

namespace sallyport::gateway::servers {

class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame) : lines_(max_frame) {}
  struct Frame {
    std::string text;  // of an overlong one its beginning
    std::string tail;  // of an overlong one its last bytes
    bool overlong = false;
  };
  // Calls `take(Frame)` for each line that ends in `bytes`.
  template <class Take>
  void feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + 1);
      bytes.remove_prefix(part.size());
      keep_tail(part);
      lines_.feed(part);
      auto line = lines_.next();
      if (!line) continue;
      Frame frame{std::move(line->text), line->overlong ? std::exchange(tail_, {}) : std::string(), line->overlong};
      tail_.clear();
      take(std::move(frame));
    }
  }

 private:
  static constexpr std::size_t kTail = 128;
  void keep_tail(std::string_view part) {
    tail_.append(part.size() > kTail ? part.substr(part.size() - kTail) : part);
    if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  }
  LineSplitter lines_;
  std::string tail_;
};

}  // namespace sallyport::gateway::servers
