// Subscriptions: which session wants to hear of which resource. Each session's own; the server is subscribed once per
// link, which is held open meanwhile and subscribed anew after it was lost. On the loop.
//
// Bounds: kMost per session, kAll in all and a quarter of that for one principal, kLongest bytes a URI.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/task_group.hpp"
#include "gateway/relay/sources.hpp"

namespace sallyport::gateway::relay {

class Subscriptions {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kAll = 20'000;
  static constexpr std::size_t kLongest = 2'048;
  using Tell = std::function<void(const std::string& session, std::string_view method, std::string_view params_raw)>;

  // Whether this client may read that now. What may not be read is not told of either, though it be a part of what was
  // subscribed to.
  using MayRead = std::function<bool(const std::shared_ptr<const ClientContext>& client, const std::string& server,
                                     const std::string& uri)>;

  // `sources` outlives this; `tell` reaches a session by its public id, if it is still there.
  Subscriptions(asio::any_io_executor loop, Sources& sources, Tell tell, MayRead may_read)
      : sources_(sources), tell_(std::move(tell)), may_read_(std::move(may_read)), tasks_(std::move(loop)) {}

  // The server's refusal is the client's.
  asio::awaitable<Answer> subscribe(Inbound inbound, std::string server, std::string uri);
  // Ends it at whatever server it was made: where the resource belongs now may be another.
  asio::awaitable<Answer> unsubscribe(Inbound inbound, std::string uri);
  void session_ended(const std::string& session);
  void on_updated(const LinkKey& from, std::string_view params_raw);
  // Subscribes anew where a link was lost; called by a timer.
  void sweep();
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct One {
    std::string server, uri;
    std::shared_ptr<const ClientContext> client;
    std::shared_ptr<ServerLink> link;
  };
  struct Feed {  // what one link is subscribed to
    std::map<std::string, std::size_t> uris;
  };
  [[nodiscard]] bool has_room(const ClientContext& client, std::string_view uri) const;
  void counted(const ClientContext& client, bool more);
  void add(const std::shared_ptr<const ClientContext>& client, std::string server, std::string uri,
           std::shared_ptr<ServerLink> link);
  void attach(const One& one);
  // True: nobody else of that link wants it, and the server should hear so.
  bool detach(const One& one);
  static asio::awaitable<ServerAnswer> say(std::shared_ptr<ServerLink> link, std::string method, std::string uri,
                                           std::shared_ptr<Cancel> cancel);
  static asio::awaitable<void> leave(std::shared_ptr<ServerLink> link, std::string uri);
  static asio::awaitable<void> renew(Subscriptions& self, std::string session, std::string server, std::string uri);

  Sources& sources_;
  Tell tell_;
  MayRead may_read_;
  std::map<std::string, std::vector<One>, std::less<>> by_session_;
  std::map<const ServerLink*, Feed> feeds_;
  std::map<std::string, std::size_t, std::less<>> per_principal_;
  std::size_t count_ = 0;
  TaskGroup tasks_;  // last: they use the rest
};

}  // namespace sallyport::gateway::relay
