// PoolEvents: what links report, on its way to the rest of the gateway: list changes told once per quiet time, log
// messages within a rate, nothing after the pool's end. Internal to servers; lives on the loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gateway/base/rate_limit.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/ports/server_link.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::servers {

class PoolEvents final : public ServerEvents, public std::enable_shared_from_this<PoolEvents> {
 public:
  PoolEvents(asio::any_io_executor loop, ServerEvents& target, Millis quiet)
      : tasks_(std::move(loop)), target_(&target), quiet_(quiet) {}
  void mute() {
    target_ = nullptr;
    tasks_.cancel();
  }
  void on_list_changed(const std::string& server, ListKind kind) override;
  void on_state(const ServerStatus& status) override;
  void on_late_answer(LateAnswer late) override;
  void on_log(const LinkKey& from, std::string_view params_raw) override;
  void on_resource_updated(const LinkKey& from, std::string_view params_raw) override;
  void on_elicitation_complete(const LinkKey& from, std::string_view params_raw) override;
  [[nodiscard]] std::string client_capabilities(const std::string& server) override;
  [[nodiscard]] std::optional<std::string> why_foreign(const std::string& server, const std::string& identity) override;
  [[nodiscard]] std::string log_level(const LinkKey& link) override;

 private:
  bool within_rate(const LinkKey& from);
  static asio::awaitable<void> tell_changed(std::shared_ptr<PoolEvents> self, std::string server, ListKind kind);
  TaskGroup tasks_;
  ServerEvents* target_;
  Millis quiet_;
  std::map<std::pair<std::string, ListKind>, bool> change_pending_;
  std::map<std::string, RateLimit> rates_;  // by link: no client's server takes the notes of another's
};

}  // namespace sallyport::gateway::servers
