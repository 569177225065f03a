#include "gateway/relay/lists.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/mcp/modern.hpp"
#include "gateway/ports/naming.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway::relay {
namespace {

constexpr auto kListing = std::chrono::seconds(30);
constexpr auto kOneServer = std::chrono::seconds(10);
constexpr auto kFillAgain = std::chrono::seconds(1);
constexpr auto kOthers = std::chrono::seconds(1);  // the other servers' lists are waited for once a name was found
constexpr std::size_t kPage = 1'000;          // few clients follow cursors; a page holds what most gateways have in all
constexpr std::size_t kPages = 200;           // of one server while the tables are filled
constexpr std::size_t kPageBytes = 1U << 20;  // beyond it no other server's page follows on this one

struct Cursor {
  std::string server;
  std::string cursor;  // raw token; empty: the first page
};

std::string print(Kind kind, const Cursor& at) {
  return quote(to_base64url(fmt::format("{}\n{}\n{}", words_of(kind).member, at.server, at.cursor)));
}

// nullopt: not one of ours.
std::optional<Cursor> parse(Kind kind, json::Value params) {
  const json::Value cursor = params.find("cursor");
  if (!cursor) return Cursor{};
  const auto text = cursor.is_string() ? from_base64url(cursor.string()) : std::nullopt;
  const std::string begin = std::string(words_of(kind).member) + "\n";
  if (!text || !text->starts_with(begin)) return std::nullopt;
  const std::size_t end = text->find('\n', begin.size());
  if (end == std::string::npos) return std::nullopt;
  Cursor out{text->substr(begin.size(), end - begin.size()), text->substr(end + 1)};
  if (out.cursor.empty()) return out;
  const auto token = json::Document::parse(out.cursor);
  if (!token || !token->root().is_string()) return std::nullopt;
  return out;
}

Answer not_ours() {
  return Answer::fail(mcp::code::kInvalidParams, "the cursor is not one of this gateway's; list from the beginning");
}

}  // namespace

std::optional<Lists::Shown> Lists::shown(const ClientContext& client, const std::string& server, Kind kind,
                                         json::Value item) const {
  const auto snapshot = sources_.snapshot();
  const std::string name = item.find(words_of(kind).name).string();
  CallFacts facts;
  facts.principal = &client.principal;
  facts.method = kind == Kind::prompts ? Method::prompts_get : Method::resources_read;
  facts.server = server;
  (kind == Kind::prompts ? facts.tool : facts.uri) = name;
  facts.effect = Effect{EffectCategory::read, false, Repeat::safe, {}};
  const auto view = snapshot->servers.find(server);
  if (view == snapshot->servers.end() || !view->second.foreign.empty()) return std::nullopt;
  facts.pinned = view->second.identity_ok;
  if (policy::hidden(*snapshot->policy, facts)) return std::nullopt;
  if (kind == Kind::resources) return Shown{item, nullptr};  // they are what a server holds, not what it says of itself
  auto judged =
      definitions_.judged(server, kind == Kind::prompts ? trust::Offer::prompt : trust::Offer::resource_template, item);
  if (!judged || judged->state == ToolState::quarantined) return std::nullopt;
  if (judged->definition != judged->current)  // changed since, be it in what does not count as a change
    return Shown{judged->definition->root(), std::move(judged)};
  return Shown{item, nullptr};
}

void Lists::learn(Routes& routes, const std::string& server, Kind kind, const Page& page) {
  for (const json::Value item : page.items) {
    const std::string name = item.find(words_of(kind).name).string();
    if (kind == Kind::prompts) routes.add_prompt(server, name);
    if (kind == Kind::resources) routes.add_resource(server, name);
    if (kind == Kind::templates) routes.add_template(server, name);
  }
}

void Lists::forget(const std::string& server, ListKind kind) {
  for (const auto& [principal, known] : known_) {
    known->routes.forget(server, kind);
    for (auto& [list, filling] : known->filling) filling.again = Deadline::at({});
  }
}

Lists::KnownPtr Lists::known_of(const ClientContext& client) {
  KnownPtr& known = known_[client.principal.id];
  if (!known) known = std::make_shared<Known>(tasks_.loop());
  known->used = ++uses_;
  const KnownPtr out = known;
  std::size_t bytes = 0;
  for (const auto& [principal, one] : known_) bytes += one->routes.bytes();
  while (known_.size() > 1 && (known_.size() > kTables || bytes > kBytes)) {
    const auto oldest = std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second->used; });
    bytes -= oldest->second->routes.bytes();
    known_.erase(oldest);
  }
  return out;
}

asio::awaitable<Answer> Lists::list(Inbound inbound, Kind kind) {
  std::optional<Cursor> at = parse(kind, inbound.params);
  if (!at) co_return not_ours();
  const bool all = inbound.client->mount.all();
  if (!all && !at->server.empty() && at->server != inbound.client->mount.server) co_return not_ours();
  Answer answer;
  if (all) {
    answer = co_await list_all(std::move(inbound), kind, std::move(at->server), std::move(at->cursor));
  } else {
    answer = co_await list_one(std::move(inbound), kind, std::move(at->cursor));
  }
  co_return answer;
}

asio::awaitable<Answer> Lists::list_one(Inbound inbound, Kind kind, std::string cursor) {
  const std::string server = inbound.client->mount.server;
  const auto page = co_await sources_.page(server, inbound.client, kind, std::move(cursor), Deadline::after(kListing),
                                           inbound.cancel);
  if (!page && page.error().error) co_return Answer{{}, page.error().error, {}};
  if (!page) co_return unavailable(server, page.error().reason);
  const KindWords& words = words_of(kind);
  if (!page->document) co_return Answer::of(fmt::format("{{\"{}\":[]}}", words.member));
  std::string shown_items;
  bool whole = page->whole;
  for (const json::Value item : page->items) {
    const auto seen = shown(*inbound.client, server, kind, item);
    if (!seen) whole = false;
    if (!seen) continue;
    const std::string text = mcp::without_own_meta(seen->item);
    whole = whole && !seen->owner && text == item.raw();
    if (!shown_items.empty()) shown_items += ',';
    shown_items += text;
  }
  std::string out = mcp::without_era_members(page->result);
  const auto change = [&](std::string_view name, const std::string& value) {
    auto document = json::Document::parse(out, {.bytes = out.size(), .depth = 10'000});
    if (document) out = mcp::replace_value(document->root(), name, value);
  };
  if (!whole) change(words.member, "[" + shown_items + "]");
  if (!page->next.empty()) change("nextCursor", print(kind, {server, page->next}));
  const auto document = json::Document::parse(out, {.bytes = out.size(), .depth = 10'000});
  co_return Answer::of(document ? mcp::splice_call_meta(document->root(), {}) : out);
}

asio::awaitable<Answer> Lists::list_all(Inbound inbound, Kind kind, std::string server, std::string cursor) {
  const Deadline deadline = Deadline::after(kListing);
  const KindWords& words = words_of(kind);
  std::string items;
  std::size_t count = 0;
  std::optional<Cursor> next;
  for (const std::string& id : sources_.offering(inbound.client->mount, kind)) {
    if (id < server) continue;
    if (count >= kPage || items.size() >= kPageBytes) {
      next = Cursor{id, {}};
      break;
    }
    std::string from = id == server ? cursor : std::string();
    const Deadline soon = earlier(deadline, Deadline::after(kOneServer));
    const auto page = co_await sources_.page(id, inbound.client, kind, std::move(from), soon, inbound.cancel);
    if (!page) {  // one bad part does not take the rest
      const bool stale = id == server && page.error().error && page.error().error->code == mcp::code::kInvalidParams;
      if (stale) co_return Answer{{}, page.error().error, {}};
      log::warning("server.list_failed", {{"server", id}, {"list", words.method}, {"reason", page.error().reason}});
      continue;
    }
    learn(known_of(*inbound.client)->routes, id, kind, *page);
    for (const json::Value item : page->items) {
      const auto seen = shown(*inbound.client, id, kind, item);
      if (!seen) continue;
      if (count++ > 0) items += ',';
      std::string text = mcp::without_own_meta(seen->item);
      if (kind == Kind::prompts) {
        const auto own = json::Document::parse(text, {.bytes = text.size(), .depth = 10'000});
        if (own) text = mcp::replace_value(own->root(), "name", quote(exposed_name(id, item.find("name").string())));
      }
      items += text;
    }
    if (page->next.empty()) continue;
    next = Cursor{id, page->next};
    break;
  }
  std::string out = fmt::format("{{\"{}\":[{}]", words.member, items);
  if (next) out += ",\"nextCursor\":" + print(kind, *next);
  co_return Answer::of(out + "}");
}

// One server's answer of a fill, however it ends.
class Lists::Open {
 public:
  Open(KnownPtr known, Kind kind) : known_(std::move(known)), filling_(known_->filling[kind]) {}
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() {
    if (--filling_.open == 0) filling_.again = Deadline::after(kFillAgain);
    known_->changed.notify();
  }

 private:
  KnownPtr known_;
  Filling& filling_;
};

asio::awaitable<void> Lists::fill_one(Lists& self, KnownPtr known, std::shared_ptr<const ClientContext> client,
                                      Kind kind, std::string server) {
  const Open open(known, kind);
  const Deadline soon = Deadline::after(kOneServer);
  std::string cursor;
  for (std::size_t i = 0; i < kPages; ++i) {
    const auto page = co_await self.sources_.page(server, client, kind, cursor, soon, nullptr);
    if (!page) break;
    learn(known->routes, server, kind, *page);
    if (page->next.empty() || page->next == cursor) break;
    cursor = page->next;
  }
}

asio::awaitable<void> Lists::fill(std::shared_ptr<const ClientContext> client, Kind kind,
                                  std::function<bool(const Routes&)> found) {
  const KnownPtr known = known_of(*client);
  Filling& filling = known->filling[kind];
  if (filling.open == 0) {
    if (!filling.again.passed()) co_return;
    const std::vector<std::string> servers = sources_.offering(client->mount, kind);
    filling.open = servers.size();
    for (const std::string& id : servers) tasks_.spawn("fill " + id, fill_one(*this, known, client, kind, id));
  }
  Deadline enough = Deadline::never();
  while (filling.open > 0 && !enough.passed()) {
    // One that hangs holds up nobody who wants something of another; but what several have is nobody's.
    if (enough.is_never() && found(known->routes)) enough = Deadline::after(kOthers);
    co_await known->changed.wait(enough);
  }
}

asio::awaitable<Target> Lists::resolve(std::shared_ptr<const ClientContext> client, std::string prompt,
                                       std::string uri) {
  if (!client->mount.all()) co_return Target{client->mount.server, std::move(prompt), {}};
  const bool by_name = uri.empty();
  const auto look_up = [&](const Routes& routes) { return by_name ? routes.prompt(prompt) : routes.resource(uri); };
  const auto found = [&](const Routes& routes) {
    const Target target = look_up(routes);
    return !target.server.empty() || !target.problem.empty();
  };
  KnownPtr known = known_of(*client);
  for (const Kind kind : {Kind::prompts, Kind::resources, Kind::templates}) {
    if ((kind == Kind::prompts) != by_name || found(known->routes)) continue;
    co_await fill(client, kind, found);
    known = known_of(*client);
  }
  Target target = look_up(known->routes);
  if (by_name || found(known->routes)) co_return target;
  // Servers may have resources that no list names; where only one has any, it is asked.
  const auto offering = sources_.offering(client->mount, Kind::resources);
  if (offering.size() == 1) target.server = offering.front();
  co_return target;
}

}  // namespace sallyport::gateway::relay
