// Webhooks: tells chat rooms and programs that an ask waits or was answered (design section 5, "Channels"). One way: an
// answer comes through the console, where the link leads. On the loop.
//
// - Each delivery is signed: `Sallyport-Signature: v1=` + hex HMAC-SHA256 over `v1:TIMESTAMP:BODY`, with
//   `Sallyport-Timestamp` in seconds; receivers refuse what is older than five minutes.
// - `Sallyport-Delivery` is the same in every repetition. Repeated with growing pauses, six times; then it is logged.
// - Values of arguments are not in it unless the config says so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/net/http_client.hpp"
#include "gateway/ports/desk.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

struct Webhook {
  NotifySettings settings;
  Url url;
  Secret secret;
};

class Webhooks {
 public:
  // `desk` outlives this.
  Webhooks(asio::any_io_executor loop, std::vector<Webhook> hooks, Desk& desk, Clock& clock);

  void set_address(std::string console) { address_ = std::move(console); }  // for links; before the first tell()
  void start();                                                             // tells what waits already
  void tell(const std::string& approval);                                   // an ask is new or has changed
  asio::awaitable<void> stop();

 private:
  asio::awaitable<void> tell_all();
  asio::awaitable<void> tell_one(std::string approval);
  asio::awaitable<void> deliver(const Webhook& hook, std::string approval, std::string state, std::string body);
  [[nodiscard]] bool is_stale(const std::string& approval, const std::string& state) const;
  asio::awaitable<Status> send(const Webhook& hook, const std::string& id, const std::string& body);

  std::vector<Webhook> hooks_;
  Desk& desk_;
  Clock& clock_;
  HttpClient client_;
  std::string address_;
  std::map<std::string, std::string> told_;  // of those that wait: the state that was told last
  TaskGroup tasks_;
};

// The body for one ask as the API shows it; empty: it cannot be read. Pure.
[[nodiscard]] std::string webhook_body(const NotifySettings& hook, const std::string& ask_json,
                                       const std::string& console);
[[nodiscard]] std::string webhook_signature(const std::string& secret, const std::string& timestamp,
                                            const std::string& body);

}  // namespace sallyport::gateway
