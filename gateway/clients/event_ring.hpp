// EventRing: the last events of a stream, so that a client whose connection broke can read on (`Last-Event-ID`).
// Bounded: the oldest go first. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace sallyport::gateway {

class EventRing {
 public:
  EventRing(std::size_t events, std::size_t bytes) : events_(events), max_bytes_(bytes) {}

  // Its number, from 1. A single event over the bound is kept until the next one comes.
  std::uint64_t push(std::string text) {
    bytes_ += text.size();
    kept_.emplace_back(++last_, std::move(text));
    while (kept_.size() > 1 && (kept_.size() > events_ || bytes_ > max_bytes_)) {
      bytes_ -= kept_.front().second.size();
      kept_.pop_front();
    }
    return last_;
  }
  // The first kept event with a greater number; null: there is none.
  [[nodiscard]] const std::pair<std::uint64_t, std::string>* after(std::uint64_t number) const {
    if (kept_.empty() || number >= last_) return nullptr;
    const std::uint64_t first = kept_.front().first;  // numbers have no gaps
    return &kept_[number < first ? 0 : static_cast<std::size_t>(number - first + 1)];
  }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t events_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::deque<std::pair<std::uint64_t, std::string>> kept_;
};

}  // namespace sallyport::gateway
