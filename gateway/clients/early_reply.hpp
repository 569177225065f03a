// EarlyReply: the reply of a request that may be answered before its call is over. On the loop.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gateway/clients/reply.hpp"

namespace sallyport::gateway {

// The reply of a request that may be answered before its call is over: what comes after that goes nowhere.
class EarlyReply final : public Reply {
 public:
  EarlyReply(std::shared_ptr<Reply> to, std::string id) : to_(std::move(to)), id_(std::move(id)) {}
  void note(std::string message, bool droppable) override {
    if (to_) to_->note(std::move(message), droppable);
  }
  bool ask(std::string message) override { return to_ && to_->ask(std::move(message)); }
  [[nodiscard]] bool open() const override { return to_ && to_->open(); }
  [[nodiscard]] bool takes_notes() const override { return to_ && to_->takes_notes(); }
  void finish(Finished finished) override {
    if (const auto to = std::exchange(to_, nullptr)) to->finish(std::move(finished));
  }
  void on_gone(std::function<void()> callback) override {
    if (to_) to_->on_gone(std::move(callback));
  }
  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  std::shared_ptr<Reply> to_;
  std::string id_;
};

}  // namespace sallyport::gateway
