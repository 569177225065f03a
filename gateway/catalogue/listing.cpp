#include "gateway/catalogue/listing.hpp"

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/mcp/protocol.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/definition.hpp"

namespace sallyport::gateway::catalogue {
namespace {

constexpr std::size_t kMostItems = 10'000;
constexpr std::size_t kMostPages = 200;

struct Words {
  std::string_view method, member;
};

Words words_of(trust::Offer what) {
  if (what == trust::Offer::prompt) return {"prompts/list", "prompts"};
  return {"resources/templates/list", "resourceTemplates"};
}

bool is_true(json::Value value) { return value.is_bool() && value.boolean(); }

bool declared(const ServerInfo& info, trust::Offer what) {
  const Offers offers = offers_of(info);
  return what == trust::Offer::prompt ? offers.prompts : offers.resources;
}

std::shared_ptr<const Listed> finished(Listed listed) {
  listed.words.reserve(listed.items.size());
  for (const json::Value item : listed.items) listed.words.push_back(trust::tool_words(item));
  return std::make_shared<const Listed>(std::move(listed));
}

Result<Listed> instructions_of(const ServerInfo& info) {
  Listed listed;
  if (info.instructions.empty()) return listed;
  const std::string text = quote(info.instructions);
  auto document = json::Document::parse(text, {.bytes = text.size()});
  if (!document) return fail(document.error());
  listed.pages.push_back(std::make_shared<const json::Document>(std::move(*document)));
  listed.items.push_back(listed.pages.front()->root());
  return listed;
}

// The next cursor, a raw token; empty: that was the last page.
Result<std::string> take_page(Listed& listed, const Words& words, const ServerAnswer& answer) {
  if (answer.kind == ServerAnswer::Kind::error && answer.error.find("code").integer() == mcp::code::kMethodNotFound)
    return std::string();
  if (answer.kind != ServerAnswer::Kind::result) {
    return fail(answer.timed_out ? ErrorCode::timeout : ErrorCode::unavailable,
                fmt::format("no answer to {}: {}", words.method,
                            answer.kind == ServerAnswer::Kind::error ? "an error" : visible(answer.detail)),
                ErrorSource::server, RetryClass::later);
  }
  const json::Value items = answer.result.find(words.member);
  if (!items.is_array()) {
    return fail(ErrorCode::protocol, fmt::format("its answer to {} has no array `{}`", words.method, words.member),
                ErrorSource::server);
  }
  listed.pages.push_back(answer.document);
  for (const json::Value item : items.elements()) {
    if (!item.is_object()) continue;
    if (listed.items.size() >= kMostItems) {
      listed.whole = false;
    } else {
      listed.items.push_back(item);
    }
  }
  const json::Value next = answer.result.find("nextCursor");
  return next.is_string() ? std::string(next.raw()) : std::string();
}

}  // namespace

Offers offers_of(const ServerInfo& info) {
  Offers offers;
  offers.known = true;
  const auto document =
      json::Document::parse(info.capabilities_raw, {.bytes = info.capabilities_raw.size(), .depth = 1000});
  if (!document) return offers;
  const json::Value root = document->root();
  offers.prompts = root.find("prompts").is_object();
  offers.resources = root.find("resources").is_object();
  offers.subscribe = is_true(root.at("/resources/subscribe"));
  offers.completions = root.find("completions").is_object();
  offers.logging = root.find("logging").is_object();
  if (const json::Value apps = root.find("extensions").find(mcp::extension::kApps); apps.is_object())
    offers.apps = apps.raw();
  return offers;
}

asio::awaitable<Result<std::shared_ptr<const Listed>>> list(std::shared_ptr<ServerLink> link, trust::Offer what,
                                                            Deadline deadline) {
  if (what == trust::Offer::tool) {
    auto tools = co_await link->list_tools(deadline);
    if (!tools) co_return fail(tools.error());
    co_return finished({std::move(tools->pages), std::move(tools->tools), {}, tools->fresh_until});
  }
  if (what == trust::Offer::instructions) {
    auto listed = instructions_of(link->info());
    if (!listed) co_return fail(listed.error());
    co_return finished(std::move(*listed));
  }
  Listed listed;
  if (!declared(link->info(), what)) co_return finished(std::move(listed));
  const Words words = words_of(what);
  std::string cursor;
  for (std::size_t i = 0; i < kMostPages; ++i) {
    CallControl control;
    control.deadline = deadline;
    std::string params = cursor.empty() ? "{}" : "{\"cursor\":" + cursor + "}";
    const ServerAnswer answer = co_await link->relay(std::string(words.method), std::move(params), std::move(control));
    auto next = take_page(listed, words, answer);
    if (!next) co_return fail(next.error());
    if (next->empty()) co_return finished(std::move(listed));
    if (*next == cursor) break;
    cursor = std::move(*next);
  }
  listed.whole = false;  // it goes on, and does not end
  co_return finished(std::move(listed));
}

Digests digests_of(const Listed& listed, trust::Offer what, std::span<const std::string> ignored) {
  Digests digests;
  for (const json::Value item : listed.items) {
    const auto name = trust::name_of(what, item);
    if (!name) continue;
    auto digest = trust::definition_digest(item, ignored);
    const auto [it, fresh] = digests.try_emplace(*name, digest ? *digest : std::string());
    if (!fresh) it->second.clear();
  }
  return digests;
}

}  // namespace sallyport::gateway::catalogue
