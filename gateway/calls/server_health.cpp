#include "gateway/calls/server_health.hpp"

#include <algorithm>

namespace sallyport::gateway::calls {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5'000};

}  // namespace

ServerHealth::Gate ServerHealth::admit(bool is_read, Time now) {
  if (failures_ < kFailuresToOpen) return Gate::open;
  if (now < shut_until_ || now < probing_until_) return Gate::shut;
  probing_until_ = now + kProbeTakes;
  return is_read ? Gate::probe : Gate::needs_probe;
}

ServerHealth::Wait ServerHealth::rest(Time now) const {
  return std::max({Wait::zero(), shut_until_ - now, probing_until_ - now});
}

bool ServerHealth::take_retry() {
  if (tokens_ <= kTokens / 2) return false;
  tokens_ -= kRetryCosts;
  return true;
}

void ServerHealth::succeeded() {
  tokens_ = std::min(kTokens, tokens_ + kAnswerGives);
  failures_ = 0;
  rest_ = kFirstRest;
  probing_until_ = shut_until_ = {};
}

void ServerHealth::failed(Time now) {
  probing_until_ = {};
  if (++failures_ < kFailuresToOpen) return;
  failures_ = kFailuresToOpen;
  shut_until_ = now + rest_;
  rest_ = std::min<Wait>(2 * rest_, kLongestRest);
}

std::chrono::milliseconds retry_pause(int attempt, unsigned random) {
  const int doublings = std::clamp(attempt - 2, 0, 10);
  const auto most = std::min(kLongestPause, kFirstPause * (1 << doublings));
  return std::chrono::milliseconds(random % (static_cast<unsigned>(most.count()) + 1));
}

}  // namespace sallyport::gateway::calls
