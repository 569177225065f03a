// Subscriber: one `subscriptions/listen` of a modern client, until its stream ends. On the loop; owned by its task.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/mcp/protocol.hpp"
#include "gateway/ports/inbound.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

// A notification's params with the id of the listener that it is for, in the place of any other.
inline std::string labelled(std::string_view params_raw, const std::string& id) {
  const auto params = json::Document::parse(std::string(params_raw.empty() ? "{}" : params_raw));
  std::string meta = "{" + quote(mcp::meta::kSubscriptionId) + ":" + id;
  if (!params || !params->root().is_object()) return "{\"_meta\":" + meta + "}}";
  for (const json::Member member : params->root().find("_meta").members()) {
    const std::string name = member.name();
    if (name == mcp::meta::kSubscriptionId || fold(name).value_or(name).starts_with(mcp::kOwnPrefix)) continue;
    meta.append(",").append(member.key.raw()).append(":").append(member.value.raw());
  }
  return mcp::replace_value(params->root(), "_meta", meta + "}");
}

struct Subscriber {
  static constexpr std::size_t kWaiting = 64;  // notes before it was acknowledged

  Subscriber(const asio::any_io_executor& loop, std::string raw_id, ClientChannel* to,
             std::shared_ptr<const ClientContext> who)
      : id(std::move(raw_id)), channel(to), client(std::move(who)), changed(loop) {}

  void note(std::string_view method, std::string_view params_raw) {
    if (acknowledged) {
      channel->notify(method, labelled(params_raw, id));
    } else if (waiting.size() < kWaiting) {
      waiting.emplace_back(method, params_raw);
    }
  }
  void acknowledge(std::string_view params_raw) {
    acknowledged = true;
    note("notifications/subscriptions/acknowledged", params_raw);
    for (const auto& [method, params] : std::exchange(waiting, {})) note(method, params);
  }

  std::string id;  // of the request: the id of the subscription
  ClientChannel* channel;
  std::shared_ptr<const ClientContext> client;
  std::set<std::string, std::less<>> lists;  // list changes to tell of
  bool acknowledged = false;                 // nothing may come before that
  std::vector<std::pair<std::string, std::string>> waiting;
  bool over = false;
  Signal changed;
  Deadline::Clock::time_point since;
};

}  // namespace sallyport::gateway
