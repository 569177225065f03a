// Pool: the implementation behind make_server_pool. Internal to servers; lives on the loop.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gateway/servers/identify.hpp"
#include "gateway/servers/link.hpp"
#include "gateway/servers/pool_events.hpp"
#include "gateway/servers/server_pool.hpp"

namespace sallyport::gateway::servers {

class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(std::shared_ptr<LinkContext> context, std::shared_ptr<PoolEvents> events,
       std::map<std::string, ServerSettings> servers);
  void run();  // starts the housekeeping
  void abandon() noexcept;

  [[nodiscard]] std::vector<ServerStatus> status() const;
  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline deadline);
  [[nodiscard]] std::string spoken(const std::string& server) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<ServerLink>>> open_links(
      const std::string& principal) const;
  asio::awaitable<void> shutdown(Deadline deadline);

 private:
  // server, principal (empty: shared), session (empty: not isolated; `!`: a legacy server that may ask nothing)
  using SlotKey = std::tuple<std::string, std::string, std::string>;
  struct Slot {
    Slot(const asio::any_io_executor& loop, SlotKey slot_key) : key(std::move(slot_key)), changed(loop) {}
    SlotKey key;
    std::shared_ptr<Link> link;      // up
    std::shared_ptr<Link> starting;  // not yet
    bool busy = false;               // a start is under way
    Signal changed;
    unsigned failures = 0;       // in a row
    unsigned failed_starts = 0;  // ever
    Error last_error;
    Deadline not_before = Deadline::at({});
    Deadline::Clock::time_point up_since;
  };
  using SlotPtr = std::shared_ptr<Slot>;
  using Self = std::shared_ptr<Pool>;

  static asio::awaitable<void> start_slot(Self self, SlotPtr slot);
  static asio::awaitable<void> close_link(Self self, std::shared_ptr<Link> link, Deadline deadline);
  static asio::awaitable<void> close_when_idle(Self self, std::shared_ptr<Link> link);
  static asio::awaitable<void> keep_house(Self self);
  static asio::awaitable<void> set_level(std::shared_ptr<Link> link, std::string level);

  [[nodiscard]] static LinkKey owner_of(const SlotKey& key);
  [[nodiscard]] SlotKey slot_key(const ServerSettings& server, const LinkKey& key) const;
  asio::awaitable<Status> start_link(SlotPtr slot);
  // Of a child, what it would be if it were started now.
  [[nodiscard]] Result<std::string> program_of(const ServerSettings& server) const;
  asio::awaitable<Result<Identifier::Found>> find_child(const ServerSettings& server);
  // Error: this link is not for a call, because it is not the accepted server. False: another is to be started.
  asio::awaitable<Result<bool>> may_use(const ServerSettings& server, std::shared_ptr<Link> link, bool to_look);
  // Error: what would be started is not the accepted server.
  asio::awaitable<Status> may_start(const ServerSettings& server);
  void replace(Slot& slot);
  asio::awaitable<Status> bring_up(SlotPtr slot, std::shared_ptr<Link> link, Link::Speak how, Deadline deadline);
  [[nodiscard]] Link::Speak era_for(const ServerSettings& server) const;
  asio::awaitable<Status> make_room(const ServerSettings& server, std::string principal);
  [[nodiscard]] std::shared_ptr<Link> idle_victim(bool children) const;
  [[nodiscard]] std::size_t held_by(const std::string& principal, bool children) const;
  [[nodiscard]] std::size_t running(bool children) const;
  Result<std::shared_ptr<Link>> make_link(const ServerSettings& server, const std::string& program);
  void failed(Slot& slot, Error error);
  void on_link_end(const SlotPtr& slot);
  void end_idle();
  void publish(const std::string& server);
  [[nodiscard]] ServerStatus status_of(const ServerSettings& server) const;

  std::shared_ptr<LinkContext> context_;
  std::shared_ptr<PoolEvents> events_;
  std::map<std::string, ServerSettings> servers_;
  std::map<SlotKey, SlotPtr> slots_;
  std::set<std::shared_ptr<Link>> live_;       // started and not yet gone
  std::map<std::string, std::string> spoken_;  // protocol versions
  std::map<std::string, mcp::Era> eras_;       // proven, or told by the lock and not yet refuted
  std::map<std::string, ServerStatus> published_;
  Identifier identifier_;
  Signal gone_;  // a link left live_
  bool closing_ = false;
};

}  // namespace sallyport::gateway::servers
