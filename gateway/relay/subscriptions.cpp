#include "gateway/relay/subscriptions.hpp"

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::relay {
namespace {

constexpr auto kWait = std::chrono::seconds(30);
constexpr std::string_view kUpdated = "notifications/resources/updated";

// Itself, or a part of it: what is below it, a query or a fragment of it. `a://one-more` is no part of `a://one`.
bool covers(std::string_view subscribed, std::string_view changed) {
  if (subscribed.empty() || !changed.starts_with(subscribed)) return false;
  return changed.size() == subscribed.size() || subscribed.ends_with('/') ||
         std::string_view("/?#").find(changed[subscribed.size()]) != std::string_view::npos;
}

std::string uri_params(const std::string& uri) { return "{\"uri\":" + quote(uri) + "}"; }

}  // namespace

bool Subscriptions::has_room(const ClientContext& client, std::string_view uri) const {
  const auto own = by_session_.find(client.session);
  const auto share = per_principal_.find(client.principal.id);
  return uri.size() <= kLongest && count_ < kAll && (own == by_session_.end() || own->second.size() < kMost) &&
         (share == per_principal_.end() || share->second < kAll / 4);
}

void Subscriptions::counted(const ClientContext& client, bool more) {
  std::size_t& share = per_principal_[client.principal.id];
  count_ += more ? 1 : -1;
  share += more ? 1 : -1;
  if (share == 0) per_principal_.erase(client.principal.id);
}

void Subscriptions::attach(const One& one) {
  Feed& feed = feeds_[one.link.get()];
  if (feed.uris.empty()) one.link->hold(1);
  ++feed.uris[one.uri];
}

bool Subscriptions::detach(const One& one) {
  const auto feed = feeds_.find(one.link.get());
  if (feed == feeds_.end()) return false;
  const auto uri = feed->second.uris.find(one.uri);
  if (uri == feed->second.uris.end() || --uri->second > 0) return false;
  feed->second.uris.erase(uri);
  if (feed->second.uris.empty()) {
    one.link->hold(-1);
    feeds_.erase(feed);
  }
  return one.link->alive();
}

asio::awaitable<ServerAnswer> Subscriptions::say(std::shared_ptr<ServerLink> link, std::string method, std::string uri,
                                                 std::shared_ptr<Cancel> cancel) {
  CallControl control;
  control.deadline = Deadline::after(kWait);
  control.cancel = cancel.get();
  std::string params = uri_params(uri);
  ServerAnswer answer = co_await link->relay(std::move(method), std::move(params), std::move(control));
  co_return answer;
}

asio::awaitable<Answer> Subscriptions::subscribe(Inbound inbound, std::string server, std::string uri) {
  const std::shared_ptr<const ClientContext> client = inbound.client;
  if (!has_room(*client, uri)) {
    co_return Answer::fail(mcp::code::kRefused, "there are as many subscriptions as there may be: end some first",
                           R"({"code":"LIMIT_REACHED","outcome":"none","retry":"later"})");
  }
  auto link = co_await sources_.link(server, client, Deadline::after(kWait));
  if (!link) co_return unavailable(server, link.error().message);
  const ServerAnswer answer = co_await say(*link, "resources/subscribe", uri, inbound.cancel);
  if (auto error = error_of(answer)) co_return Answer{{}, std::move(error), {}};
  if (answer.kind != ServerAnswer::Kind::result) co_return unavailable(server, answer.detail);
  if (inbound.cancel && inbound.cancel->reason()) {  // its session may have ended meanwhile
    tasks_.spawn("unsubscribe " + server, leave(*link, uri));
    co_return Answer::fail(mcp::code::kRefused, "the subscription was cancelled");
  }
  add(client, std::move(server), std::move(uri), *link);
  co_return Answer::of(mcp::splice_call_meta(answer.result, {}));
}

// Once per session, server and resource, on the newest link: one that was lost is not subscribed beside its successor.
void Subscriptions::add(const std::shared_ptr<const ClientContext>& client, std::string server, std::string uri,
                        std::shared_ptr<ServerLink> link) {
  std::vector<One>& own = by_session_[client->session];
  const auto same = std::ranges::find_if(own, [&](const One& one) { return one.server == server && one.uri == uri; });
  if (same == own.end()) {
    own.push_back({std::move(server), std::move(uri), client, std::move(link)});
    attach(own.back());
    counted(*client, true);
  } else if (same->link != link) {
    if (detach(*same)) tasks_.spawn("unsubscribe " + server, leave(same->link, uri));
    same->link = std::move(link);
    attach(*same);
  }
}

asio::awaitable<Answer> Subscriptions::unsubscribe(Inbound inbound, std::string uri) {
  const auto own = by_session_.find(inbound.client->session);
  if (own == by_session_.end()) co_return Answer::of("{}");
  std::vector<One> ended;
  std::erase_if(own->second, [&](One& one) {
    if (one.uri != uri) return false;
    ended.push_back(std::move(one));
    return true;
  });
  if (own->second.empty()) by_session_.erase(own);
  std::erase_if(ended, [&](const One& one) {
    counted(*one.client, false);
    return !detach(one);
  });
  Answer answer = Answer::of("{}");
  for (const One& one : ended) {
    const ServerAnswer said = co_await say(one.link, "resources/unsubscribe", uri, inbound.cancel);
    if (auto error = error_of(said)) answer = Answer{{}, std::move(error), {}};
  }
  co_return answer;  // whatever the servers made of it, this session hears no more
}

asio::awaitable<void> Subscriptions::leave(std::shared_ptr<ServerLink> link, std::string uri) {
  const ServerAnswer answer = co_await say(link, "resources/unsubscribe", std::move(uri), std::make_shared<Cancel>());
  static_cast<void>(answer);
}

void Subscriptions::session_ended(const std::string& session) {
  const auto own = by_session_.extract(session);
  if (!own) return;
  for (const One& one : own.mapped()) {
    counted(*one.client, false);
    if (detach(one)) tasks_.spawn("unsubscribe " + one.server, leave(one.link, one.uri));
  }
}

void Subscriptions::on_updated(const LinkKey& from, std::string_view params_raw) {
  const auto params = json::Document::parse(std::string(params_raw));
  const json::Value uri = params ? params->root().find("uri") : json::Value();
  if (!uri.is_string()) return;
  const std::string changed = uri.string();
  for (const auto& [session, all] : by_session_) {
    const auto concerns = [&](const One& one) {
      const bool owner = from.principal.empty() || from.principal == one.client->principal.id;
      return owner && (from.session.empty() || from.session == session) && one.server == from.server &&
             covers(one.uri, changed);
    };
    const auto one = std::ranges::find_if(all, concerns);
    if (one != all.end() && may_read_(one->client, one->server, changed)) tell_(session, kUpdated, params_raw);
  }
}

void Subscriptions::sweep() {
  for (const auto& [session, all] : by_session_) {
    for (const One& one : all) {
      if (!one.link->alive()) tasks_.spawn("subscribe " + one.server, renew(*this, session, one.server, one.uri));
    }
  }
}

asio::awaitable<void> Subscriptions::renew(Subscriptions& self, std::string session, std::string server,
                                           std::string uri) {
  const auto find = [&]() -> One* {
    const auto own = self.by_session_.find(session);
    if (own == self.by_session_.end()) return nullptr;
    const auto one = std::ranges::find_if(
        own->second, [&](const One& each) { return each.server == server && each.uri == uri && !each.link->alive(); });
    return one == own->second.end() ? nullptr : &*one;
  };
  const One* one = find();
  if (one == nullptr) co_return;
  const std::shared_ptr<const ClientContext> client = one->client;
  auto link = co_await self.sources_.link(server, client, Deadline::after(kWait));
  if (!link) co_return;  // the next sweep tries again
  const ServerAnswer answer = co_await say(*link, "resources/subscribe", uri, std::make_shared<Cancel>());
  if (answer.kind != ServerAnswer::Kind::result) co_return;
  One* now = find();
  if (now == nullptr) {  // it was ended meanwhile, or renewed by another
    const auto feed = self.feeds_.find(link->get());
    if (feed == self.feeds_.end() || !feed->second.uris.contains(uri)) co_await leave(*link, std::move(uri));
    co_return;
  }
  self.detach(*now);
  now->link = *link;
  self.attach(*now);
  // It may have changed while nobody listened.
  if (self.may_read_(client, server, uri)) self.tell_(session, kUpdated, uri_params(uri));
}

}  // namespace sallyport::gateway::relay
