// Reply: the way back of one request, as its transport gives it to a session; and Delivery, the promise to say once
// whether an answer reached the transport. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace sallyport::gateway {

// Calls `delivered` exactly once: with what done() says, or with false when it goes. Says nothing any more once `alive`
// is gone: then those who wanted to know are gone too.
class Delivery {
 public:
  Delivery() = default;
  Delivery(std::function<void(bool)> delivered, std::weak_ptr<const void> alive)
      : delivered_(std::move(delivered)), alive_(std::move(alive)) {}
  Delivery(Delivery&& other) noexcept
      : delivered_(std::exchange(other.delivered_, nullptr)), alive_(other.alive_), held_(std::move(other.held_)) {}
  Delivery& operator=(Delivery&& other) noexcept {
    if (this != &other) {
      done(false);
      delivered_ = std::exchange(other.delivered_, nullptr);
      alive_ = other.alive_;
      held_ = std::move(other.held_);
    }
    return *this;
  }
  ~Delivery() { done(false); }
  // Kept until it is done: what counts the bytes of the answer.
  void hold(std::shared_ptr<void> held) { held_ = std::move(held); }
  void done(bool taken) {
    held_ = nullptr;
    const auto delivered = std::exchange(delivered_, nullptr);
    if (delivered && !alive_.expired()) delivered(taken);
  }

 private:
  std::function<void(bool)> delivered_;
  std::weak_ptr<const void> alive_;
  std::shared_ptr<void> held_;
};

struct Finished {
  std::string message;     // a JSON-RPC answer, or an array of them for a batch
  bool cancelled = false;  // the client cancelled the request and expects no answer
  std::int64_t error = 0;  // the number of the JSON-RPC error that it is; 0: a result
  Delivery delivery;
};

// Kept alive by the session until finish() returned.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  virtual ~Reply() = default;
  virtual void note(std::string message, bool droppable) = 0;  // a notification that belongs to this request
  // A question of a server, or that it is withdrawn: no note, and never dropped for one. False: it has no place.
  virtual bool ask(std::string message) = 0;
  [[nodiscard]] virtual bool open() const = 0;                       // the client can still get the answer
  [[nodiscard]] virtual bool takes_notes() const { return open(); }  // and what comes before it
  virtual void finish(Finished finished) = 0;                        // exactly once; no note after it
  // Called once when the client went away before finish(). Where that cannot be told of one request: never.
  virtual void on_gone(std::function<void()> /*callback*/) {}
};

}  // namespace sallyport::gateway
