// Sessions: every client session of both fronts: how many there may be, whose they are, when they end, and what all of
// them are told. On the loop; outlives the fronts.
//
// Bounds: limits.sessions in all, and half of that (at least one) for one principal; all anonymous ones together count
// as one. An HTTP session without open request or stream ends after `idle`; a stdio session ends with its connection.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "gateway/base/clock.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/clients/authenticate.hpp"
#include "gateway/clients/modern.hpp"
#include "gateway/clients/session.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

struct SessionsOptions {
  std::string version;               // of this build, for serverInfo
  std::string boundary = "service";  // or "client-started"
  LimitSettings limits;
  Millis idle = std::chrono::minutes(30);
  Millis sweep_every = std::chrono::minutes(1);
  Millis debounce{100};                              // list changes within it are told once
  std::string state_key;                             // what states of modern clients are sealed with; see RequestStates
  std::function<Deadline::Clock::time_point()> now;  // for idleness; empty: the steady clock
  std::function<void(std::size_t)> on_count;         // for metrics; may be empty
};

class Sessions {
 public:
  enum class Transport : unsigned char { http, stdio };

  // `front`, `clock` and `entropy` outlive this.
  Sessions(asio::any_io_executor loop, Front& front, Clock& clock, Entropy& entropy, SessionsOptions options);
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // limit: too many in all (source gateway) or of this principal (source client).
  Result<std::shared_ptr<Session>> open(const Identity& identity, Mount mount, Transport transport);
  // By Mcp-Session-Id. Null if there is none of that id that this client opened at this mount: nobody learns which.
  [[nodiscard]] std::shared_ptr<Session> find(std::string_view token, const Identity& identity, const Mount& mount);
  void close(const std::shared_ptr<Session>& session, CancelReason reason);
  void sweep();  // ends idle sessions; also done by itself
  // Ends the sessions of all others: their credential is gone, or they are somebody else now.
  void keep(const std::function<bool(const Principal&)>& may_stay);

  // Tells every initialized session that sees `server` (empty: all of them), soon and once.
  void changed(std::string method, std::string server);
  // What a server says of its own accord, to those of the link's principal that see the server; of a link that all
  // share, to nobody, because it cannot be told whose it is.
  void log(const LinkKey& from, std::string_view params_raw);
  void elicitation_complete(const LinkKey& from, std::string_view params_raw);
  void tell(const std::string& session, std::string_view method, std::string_view params_raw);
  // The lowest log level that a session of the principal (empty: of anybody) asked for; empty: none.
  [[nodiscard]] std::string_view log_level(const std::string& principal) const;
  // Before a session begins: until it is known what the servers offer, or for a bound of time.
  asio::awaitable<void> prepare(Mount mount) { return services_->front.prepare(std::move(mount)); }
  void close_streams(Transport transport);
  // The session with this public id (`se_…`), or null.
  [[nodiscard]] std::shared_ptr<Session> by_id(std::string_view id) const;

  // No new sessions; waits for open requests until half of the time is over, then cancels them and waits for the rest
  // of it. True: all ended. May be called by several at once.
  asio::awaitable<bool> drain(Deadline deadline);
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::size_t count() const { return by_id_.size(); }
  // Clients that speak the modern era and have no session.
  [[nodiscard]] Modern& modern() { return modern_; }
  [[nodiscard]] const SessionsOptions& options() const { return options_; }

 private:
  static asio::awaitable<void> sweep_forever(Sessions& self);
  static asio::awaitable<void> tell_later(Sessions& self);
  void tell_changes();
  void counted();

  std::shared_ptr<SessionServices> services_;
  Entropy& entropy_;
  SessionsOptions options_;
  Modern modern_;
  std::map<std::string, std::shared_ptr<Session>, std::less<>> by_id_;
  std::unordered_map<std::string, std::shared_ptr<Session>> by_token_;
  std::map<std::string, std::size_t, std::less<>> per_principal_;
  // (method, server) that wait to be told, and since when: a session that began later has seen nothing older.
  std::map<std::pair<std::string, std::string>, Deadline::Clock::time_point> changes_;
  bool telling_ = false;
  bool draining_ = false;
  TaskGroup chores_;  // last: they use the rest
};

}  // namespace sallyport::gateway
