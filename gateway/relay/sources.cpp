#include "gateway/relay/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gateway/base/log.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::relay {
namespace {

constexpr std::array<KindWords, 3> kKinds{{{"prompts/list", "prompts", "name"},
                                           {"resources/list", "resources", "uri"},
                                           {"resources/templates/list", "resourceTemplates", "uriTemplate"}}};

bool offers(const Offers& offers, Kind kind) {
  if (!offers.known) return true;
  return kind == Kind::prompts ? offers.prompts : offers.resources;
}

std::expected<Page, Sources::Failure> read_page(const std::string& server, Kind kind, const ServerAnswer& answer) {
  const auto fail = [](std::string reason, std::optional<mcp::RpcError> error = {}) {
    return std::unexpected(Sources::Failure{std::move(error), std::move(reason)});
  };
  if (auto error = error_of(answer)) {
    if (error->code == mcp::code::kMethodNotFound) return Page{};
    std::string message = error->message;
    return fail(std::move(message), std::move(error));
  }
  if (answer.kind != ServerAnswer::Kind::result) return fail(answer.detail);
  const KindWords& words = words_of(kind);
  const json::Value list = answer.result.find(words.member);
  if (!list.is_array()) return fail(fmt::format("its answer to {} has no array `{}`", words.method, words.member));
  Page page;
  page.document = answer.document;
  page.result = answer.result;
  page.items.reserve(list.size());
  std::size_t left_out = 0;
  std::string_view first;
  for (const json::Value item : list.elements()) {
    if (item.is_object() && item.find(words.name).is_string() && !item.ambiguity()) {
      page.items.push_back(item);
      continue;
    }
    page.whole = false;
    if (left_out++ == 0) first = item.raw().substr(0, 200);
  }
  if (left_out > 0) {
    log::warning("server.items_left_out",
                 {{"server", server}, {"list", words.method}, {"items", left_out}, {"first", first}});
  }
  if (const json::Value next = answer.result.find("nextCursor"); next.is_string()) page.next = next.raw();
  return page;
}

std::optional<Deadline> fresh_until(json::Value result) {
  const json::Value ttl = result.find("ttlMs");
  if (!ttl.is_number() || !(ttl.real() > 0)) return std::nullopt;
  const double most = std::min(ttl.real(), static_cast<double>(PageCache::kLongestMs));
  return Deadline::after(Millis(static_cast<std::int64_t>(most)));
}

}  // namespace

const KindWords& words_of(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<mcp::RpcError> error_of(const ServerAnswer& answer) {
  if (answer.kind != ServerAnswer::Kind::error || !answer.error) return std::nullopt;
  mcp::RpcError error;
  const json::Value code = answer.error.find("code");
  const json::Value message = answer.error.find("message");
  const json::Value data = answer.error.find("data");
  error.code = code.integer().value_or(error.code);
  error.message = message.string();
  if (data) error.data = data.raw();
  return error;
}

Answer unavailable(std::string_view server, std::string_view reason) {
  const std::string words = fmt::format("The server `{}` is not available: {}. Try again later or go on without it.",
                                        server, visible(reason));
  return Answer::fail(mcp::code::kRefused, words, R"({"code":"SERVER_UNAVAILABLE","outcome":"none","retry":"later"})");
}

std::vector<std::string> Sources::offering(const Mount& mount, Kind kind) const {
  std::vector<std::string> out;
  for (const auto& [id, server] : snapshots_.current()->servers) {
    if (!mount.all() && id != mount.server) continue;
    if (mount.all() && !offers(server.offers, kind)) continue;
    out.push_back(id);
  }
  return out;
}

asio::awaitable<Result<std::shared_ptr<ServerLink>>> Sources::link(std::string server,
                                                                   std::shared_ptr<const ClientContext> client,
                                                                   Deadline deadline) {
  LinkKey key{std::move(server), client->principal.id, client->session, client->era != mcp::Era::modern};
  auto made = co_await servers_.link(std::move(key), deadline);
  co_return made;
}

asio::awaitable<std::expected<Page, Sources::Failure>> Sources::page(std::string server,
                                                                     std::shared_ptr<const ClientContext> client,
                                                                     Kind kind, std::string cursor, Deadline deadline,
                                                                     std::shared_ptr<Cancel> cancel) {
  PageCache::Key key{server, client->principal.id, client->session, kind, cursor};
  if (const Page* kept = pages_.find(key)) co_return *kept;
  const std::uint64_t seen = pages_.changes();
  auto made = co_await link(server, std::move(client), deadline);
  if (!made) co_return std::unexpected(Failure{{}, made.error().message});
  CallControl control;
  control.deadline = deadline;
  control.cancel = cancel.get();
  std::string method(words_of(kind).method);
  std::string params = cursor.empty() ? "{}" : "{\"cursor\":" + cursor + "}";
  const ServerAnswer answer = co_await (*made)->relay(std::move(method), std::move(params), std::move(control));
  auto page = read_page(server, kind, answer);
  if (page && answer.modern) page->fresh_until = fresh_until(answer.result);
  if (page) pages_.put(std::move(key), *page, seen);
  co_return page;
}

}  // namespace sallyport::gateway::relay
