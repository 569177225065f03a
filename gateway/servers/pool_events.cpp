#include "gateway/servers/pool_events.hpp"

#include <algorithm>

#include "gateway/base/log.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr double kLogBurst = 200;
constexpr double kLogsPerSecond = 50;

}  // namespace

void PoolEvents::on_list_changed(const std::string& server, ListKind kind) {
  bool& pending = change_pending_[{server, kind}];
  if (pending || target_ == nullptr) return;
  pending = true;
  tasks_.spawn("list changed " + server, tell_changed(shared_from_this(), server, kind));
}

asio::awaitable<void> PoolEvents::tell_changed(std::shared_ptr<PoolEvents> self, std::string server, ListKind kind) {
  co_await sleep_until(Deadline::after(self->quiet_));
  self->change_pending_[{server, kind}] = false;
  if (self->target_ != nullptr) self->target_->on_list_changed(server, kind);
}

std::string PoolEvents::client_capabilities(const std::string& server) {
  return target_ == nullptr ? "{}" : target_->client_capabilities(server);
}

std::optional<std::string> PoolEvents::why_foreign(const std::string& server, const std::string& identity) {
  return target_ ? target_->why_foreign(server, identity) : std::nullopt;
}

std::string PoolEvents::log_level(const LinkKey& link) {
  return target_ == nullptr ? std::string() : target_->log_level(link);
}

void PoolEvents::on_state(const ServerStatus& status) {
  if (target_ != nullptr) target_->on_state(status);
}

void PoolEvents::on_late_answer(LateAnswer late) {
  if (target_ != nullptr) target_->on_late_answer(std::move(late));
}

void PoolEvents::on_log(const LinkKey& from, std::string_view params_raw) {
  if (target_ != nullptr && within_rate(from.server)) target_->on_log(from, params_raw);
}

void PoolEvents::on_resource_updated(const LinkKey& from, std::string_view params_raw) {
  if (target_ != nullptr && within_rate(from.server)) target_->on_resource_updated(from, params_raw);
}

void PoolEvents::on_elicitation_complete(const LinkKey& from, std::string_view params_raw) {
  if (target_ != nullptr && within_rate(from.server)) target_->on_elicitation_complete(from, params_raw);
}

// Of what a server says of its own accord.
bool PoolEvents::within_rate(const std::string& server) {
  const auto now = Deadline::Clock::now();
  Rate& rate = rates_.try_emplace(server, Rate{kLogBurst, now, 0}).first->second;
  rate.tokens =
      std::min(kLogBurst, rate.tokens + std::chrono::duration<double>(now - rate.refilled).count() * kLogsPerSecond);
  rate.refilled = now;
  if (rate.tokens < 1) {
    ++rate.dropped;
    return false;
  }
  rate.tokens -= 1;
  if (rate.dropped > 0) log::warning("server.notes_dropped", {{"server", server}, {"messages", rate.dropped}});
  rate.dropped = 0;
  return true;
}

}  // namespace sallyport::gateway::servers
