#include "gateway/servers/pool_events.hpp"

#include "gateway/base/log.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr double kLogBurst = 200;
constexpr double kLogsPerSecond = 50;
constexpr std::size_t kMostRates = 1'000;  // then those that are idle go

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
  if (target_ != nullptr && within_rate(from)) target_->on_log(from, params_raw);
}

void PoolEvents::on_resource_updated(const LinkKey& from, std::string_view params_raw) {
  if (target_ != nullptr && within_rate(from)) target_->on_resource_updated(from, params_raw);
}

void PoolEvents::on_elicitation_complete(const LinkKey& from, std::string_view params_raw) {
  if (target_ != nullptr && within_rate(from)) target_->on_elicitation_complete(from, params_raw);
}

// Of what a server says of its own accord.
bool PoolEvents::within_rate(const LinkKey& from) {
  const auto now = Deadline::Clock::now();
  if (rates_.size() >= kMostRates) std::erase_if(rates_, [&](const auto& entry) { return entry.second.is_idle(now); });
  const std::string key = from.server + "\n" + from.principal + "\n" + from.session;
  RateLimit& rate = rates_.try_emplace(key, kLogBurst, kLogsPerSecond, now).first->second;
  const auto left_out = rate.admit(now);
  if (left_out && *left_out > 0)
    log::warning("server.notes_dropped", {{"server", from.server}, {"messages", *left_out}});
  return left_out.has_value();
}

}  // namespace sallyport::gateway::servers
