#include "gateway/servers/pool_events.hpp"

#include <algorithm>

#include "gateway/base/log.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr double kLogBurst = 200;
constexpr double kLogsPerSecond = 50;

}  // namespace

void PoolEvents::on_tools_changed(const std::string& server) {
  bool& pending = change_pending_[server];
  if (pending || target_ == nullptr) return;
  pending = true;
  tasks_.spawn("tools changed " + server, tell_changed(shared_from_this(), server));
}

asio::awaitable<void> PoolEvents::tell_changed(std::shared_ptr<PoolEvents> self, std::string server) {
  co_await sleep_until(Deadline::after(self->quiet_));
  self->change_pending_[server] = false;
  if (self->target_ != nullptr) self->target_->on_tools_changed(server);
}

void PoolEvents::on_state(const ServerStatus& status) {
  if (target_ != nullptr) target_->on_state(status);
}

void PoolEvents::on_late_answer(LateAnswer late) {
  if (target_ != nullptr) target_->on_late_answer(std::move(late));
}

void PoolEvents::on_log(const std::string& server, std::string_view params_raw) {
  if (target_ == nullptr) return;
  const auto now = Deadline::Clock::now();
  Rate& rate = rates_.try_emplace(server, Rate{kLogBurst, now, 0}).first->second;
  rate.tokens =
      std::min(kLogBurst, rate.tokens + std::chrono::duration<double>(now - rate.refilled).count() * kLogsPerSecond);
  rate.refilled = now;
  if (rate.tokens < 1) {
    ++rate.dropped;
    return;
  }
  rate.tokens -= 1;
  if (rate.dropped > 0) log::warning("server.log_dropped", {{"server", server}, {"messages", rate.dropped}});
  rate.dropped = 0;
  target_->on_log(server, params_raw);
}

}  // namespace sallyport::gateway::servers
