// ChangeStream: what a link to a modern server hears of changes (mcp.md 1.3, `subscriptions/listen`): the lists that
// the server can tell of, and the resources that somebody subscribed to. One stream at a time counts; another set of
// resources opens a new one before the old one is left, so that nothing falls between them. Opened again, after a
// pause, whenever it ends; what may have changed meanwhile is told as changed.
//
// Shared: its tasks hold it. Lives on the loop; bound: kMost resources.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "gateway/base/signal.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/ports/server_link.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::servers {

class ChangeStream : public std::enable_shared_from_this<ChangeStream> {
 public:
  static constexpr std::size_t kMost = 1'000;
  struct Owner {
    // Sends the request and completes when it has ended.
    std::function<asio::awaitable<ServerAnswer>(std::string params, std::function<void(json::Value)> acknowledged,
                                                std::shared_ptr<Cancel> cancel)>
        open;
    std::function<void(ListKind)> list_changed;
    std::function<void(const std::string& uri)> resource_changed;
    TaskGroup& tasks;
    std::string name;  // for tasks and logs
    Millis retry_first, retry_most;
  };
  ChangeStream(asio::any_io_executor loop, Owner owner)
      : owner_(std::move(owner)), changed_(std::move(loop)), pause_(owner_.retry_first) {}

  // Once: what the server's capabilities say that it can tell.
  void begin(json::Value capabilities);
  void end();
  // Completes when the server has said whether it tells of this resource. An error answer otherwise.
  asio::awaitable<ServerAnswer> subscribe(std::string uri, Deadline deadline);
  void unsubscribe(const std::string& uri);
  // A stream is open, and the server said that it tells of the tools.
  [[nodiscard]] bool hears_tools() const { return current_ && current_->tools; }

 private:
  struct Stream {
    std::shared_ptr<Cancel> cancel = std::make_shared<Cancel>();
    std::uint64_t generation = 0;
    bool acknowledged = false, ended = false;
    bool tools = false, prompts = false, resources = false;
    std::set<std::string, std::less<>> uris;  // honoured
    std::string problem;                      // why it ended
  };
  using StreamPtr = std::shared_ptr<Stream>;
  using Self = std::shared_ptr<ChangeStream>;
  static asio::awaitable<void> keep(Self self, StreamPtr stream);
  static asio::awaitable<void> open_again(Self self, Deadline after);
  [[nodiscard]] bool wants_anything() const;
  [[nodiscard]] std::string params() const;
  void open();
  void acknowledged(const StreamPtr& stream, json::Value params);
  void tell_missed(const Stream& stream);

  Owner owner_;
  bool tools_ = false, prompts_ = false, resources_ = false, subscribe_ = false;  // what the server offers
  std::set<std::string, std::less<>> uris_;
  StreamPtr current_;  // acknowledged, and not ended
  StreamPtr newest_;
  std::uint64_t generation_ = 0;
  bool missed_ = false;  // a stream was lost: something may have changed unheard
  bool ended_ = false;
  Signal changed_;
  Millis pause_;
};

}  // namespace sallyport::gateway::servers
