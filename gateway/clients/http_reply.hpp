// HttpReply: the way back of one POST. Notes and the answer wait here until the handler of the exchange takes them;
// once the handler is gone, they go nowhere. On the loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gateway/clients/outbox.hpp"
#include "gateway/clients/reply.hpp"

namespace sallyport::gateway {

class HttpReply final : public Reply {
 public:
  // `takes_notes`: the client accepts an event stream; else notes are dropped.
  HttpReply(asio::any_io_executor loop, bool takes_notes) : notes_(std::move(loop)), takes_notes_(takes_notes) {}

  // What is kept for a client that is away and may come back.
  static constexpr std::size_t kAway = 256U << 10;

  void note(std::string message, bool droppable) override {
    if (away_ && notes_.bytes() + message.size() > kAway) return;
    if (takes_notes_ && open()) notes_.note(std::move(message), droppable);
  }
  bool ask(std::string message) override {
    if (!takes_notes_ || !open() || (away_ && notes_.bytes() + message.size() > kAway)) return false;
    return notes_.question(std::move(message));
  }
  [[nodiscard]] bool open() const override { return (!left_ || resumable_) && !notes_.abandoned() && !finished_; }
  [[nodiscard]] bool takes_notes() const override { return takes_notes_ && open(); }
  void finish(Finished finished) override {
    if (notes_.abandoned()) return;  // with its promise: undelivered
    if (away_ && finished.message.size() > kAway) return abandon();
    gone_ = nullptr;
    finished_ = std::move(finished);
    notes_.changed().notify();
  }
  void on_gone(std::function<void()> callback) override {
    gone_ = std::move(callback);
    if (left_ || notes_.abandoned()) tell_gone();
  }

  void client_left() {  // it ended its side; whether it still reads is not known
    left_ = true;
    tell_gone();
  }
  void abandon() {  // the exchange is over
    notes_.abandon();
    tell_gone();
  }
  void set_resumable() { resumable_ = true; }  // the client may come back for what it has missed
  void set_away(bool away) { away_ = away; }
  [[nodiscard]] bool has_note() const { return !notes_.empty(); }
  [[nodiscard]] bool left() const { return left_; }
  [[nodiscard]] bool finished() const { return finished_.has_value(); }
  [[nodiscard]] std::optional<Outbox::Item> take_note() { return notes_.take(); }
  [[nodiscard]] Finished take() { return *std::exchange(finished_, std::nullopt); }
  Signal& changed() { return notes_.changed(); }

 private:
  void tell_gone() {
    if (const auto gone = std::exchange(gone_, nullptr)) gone();
  }

  Outbox notes_;
  std::function<void()> gone_;
  std::optional<Finished> finished_;
  bool takes_notes_;
  bool left_ = false;
  bool resumable_ = false;
  bool away_ = false;
};

}  // namespace sallyport::gateway
