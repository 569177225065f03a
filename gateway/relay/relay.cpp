#include "gateway/relay/relay.hpp"

#include <fmt/format.h>

namespace sallyport::gateway::relay {
namespace {

std::string text_at(json::Value params, std::string_view pointer) {
  const json::Value value = params.at(pointer);
  return value.is_string() ? value.string() : std::string();
}

// Tasks are the gateway's own (calls/tasks.cpp); of the others those that a server has and the gateway passes on.
std::string extensions_of(const Offers& offers) {
  std::string out = fmt::format(R"(,"extensions":{{"{}":{{}})", mcp::extension::kTasks);
  if (!offers.apps.empty()) out += fmt::format(",\"{}\":{}", mcp::extension::kApps, offers.apps);
  return out + "}";
}

}  // namespace

bool Relay::knows(std::string_view method) {
  return method == "prompts/list" || method == "resources/list" || method == "resources/templates/list" ||
         method == "resources/subscribe" || method == "resources/unsubscribe";
}

asio::awaitable<Answer> Relay::handle(Inbound inbound) {
  const std::string method = inbound.method;
  Answer answer;
  if (method == "prompts/list") {
    answer = co_await lists_.list(std::move(inbound), Kind::prompts);
  } else if (method == "resources/list") {
    answer = co_await lists_.list(std::move(inbound), Kind::resources);
  } else if (method == "resources/templates/list") {
    answer = co_await lists_.list(std::move(inbound), Kind::templates);
  } else {
    std::string uri = text_at(inbound.params, "/uri");
    if (uri.empty()) co_return Answer::fail(mcp::code::kInvalidParams, method + " needs a `uri`, a string");
    if (method == "resources/unsubscribe") {
      answer = co_await subscriptions_.unsubscribe(std::move(inbound), std::move(uri));
    } else {
      Target target = co_await resolve(inbound);
      answer = co_await subscriptions_.subscribe(std::move(inbound), std::move(target.server), std::move(uri));
    }
  }
  co_return answer;
}

asio::awaitable<Target> Relay::resolve(const Inbound& inbound) {
  const std::shared_ptr<const ClientContext> client = inbound.client;
  const bool completion = inbound.method == "completion/complete";
  const bool prompt =
      completion ? inbound.params.at("/ref/type").equals("ref/prompt") : inbound.method == "prompts/get";
  std::string name = prompt ? text_at(inbound.params, completion ? "/ref/name" : "/name") : std::string();
  std::string uri = prompt ? std::string() : text_at(inbound.params, completion ? "/ref/uri" : "/uri");
  Target target = co_await lists_.resolve(client, std::move(name), std::move(uri));
  co_return target;
}

std::string Relay::capabilities(const Mount& mount, mcp::Era era) const {
  Offers all;
  bool unknown = false;
  for (const auto& [id, server] : sources_.snapshot()->servers) {
    if (!mount.all() && id != mount.server) continue;
    // A server that was never reached may offer anything; one that is set aside, nothing.
    unknown = unknown || (!server.offers.known && server.problem.empty());
    all.prompts = all.prompts || server.offers.prompts;
    all.resources = all.resources || server.offers.resources;
    all.subscribe = all.subscribe || server.offers.subscribe;
    all.completions = all.completions || server.offers.completions;
    if (!mount.all()) all.apps = server.offers.apps;  // an app calls its tools by their own names
  }
  std::string out = R"({"tools":{"listChanged":true},"logging":{})";
  if (all.prompts || unknown) out += R"(,"prompts":{"listChanged":true})";
  if (all.resources || unknown) {
    out += fmt::format(R"(,"resources":{{"subscribe":{},"listChanged":true}})", all.subscribe || unknown);
  }
  if (all.completions || unknown) out += R"(,"completions":{})";
  if (era == mcp::Era::modern) out += extensions_of(all);
  return out + "}";
}

}  // namespace sallyport::gateway::relay
