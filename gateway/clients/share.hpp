// Share: how many bytes all requests of one principal together make us hold, over every session and connection: of
// requests that are open, and of answers that nobody has read. What goes beyond is refused, so that neither many
// requests nor a reader that does not read fill the memory (promise 11). One alone always passes. On the loop.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "schemas/model/principal.hpp"

namespace sallyport::gateway {

// In whose name bounds count: all anonymous clients together are one.
inline const std::string& share_of(const Principal& principal) {
  static const std::string kAnonymous = "anonymous";
  return principal.anonymous ? kAnonymous : principal.id;
}

class Share {
 public:
  struct Bounds {
    std::size_t requests = 64U << 20;
    std::size_t answers = 128U << 20;
  };
  explicit Share(Bounds bounds) : bounds_(bounds) {}

  // Counted as long as what is returned lives; null: it does not fit.
  using Held = std::shared_ptr<void>;
  static Held hold_request(const std::shared_ptr<Share>& share, std::size_t bytes) {
    return hold(share, &Share::requests_, share->bounds_.requests, bytes);
  }
  static Held hold_answer(const std::shared_ptr<Share>& share, std::size_t bytes) {
    return hold(share, &Share::answers_, share->bounds_.answers, bytes);
  }
  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] std::size_t answers() const { return answers_; }

 private:
  static Held hold(const std::shared_ptr<Share>& share, std::size_t Share::* used, std::size_t bound,
                   std::size_t bytes) {
    if (share.get()->*used > 0 && share.get()->*used + bytes > bound) return nullptr;
    share.get()->*used += bytes;
    return {share.get(), [share, used, bytes](void*) { share.get()->*used -= bytes; }};
  }
  Bounds bounds_;
  std::size_t requests_ = 0;
  std::size_t answers_ = 0;
};

// The shares of those who have something open.
class Shares {
 public:
  explicit Shares(Share::Bounds bounds) : bounds_(bounds) {}
  std::shared_ptr<Share> of(const Principal& principal) {
    if (open_.size() > kTidy) std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Share>& known = open_[share_of(principal)];
    std::shared_ptr<Share> share = known.lock();
    if (!share) known = share = std::make_shared<Share>(bounds_);
    return share;
  }

 private:
  static constexpr std::size_t kTidy = 64;
  Share::Bounds bounds_;
  std::map<std::string, std::weak_ptr<Share>> open_;
};

}  // namespace sallyport::gateway
