// What a server asks of the client while its call is open: sampling, elicitation, roots (design section 8). Passed only
// where the trust file says so of the server that was accepted, labelled with the server's id, and only to whoever
// waits for that call.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr std::string_view kServerMeta = "dev.sallyport/server";

bool passes(const Snapshot& snapshot, const ServerQuestion& question) {
  const auto view = snapshot.servers.find(question.server);
  const trust::ServerTrust* trusted = snapshot.trust ? snapshot.trust->server(question.server) : nullptr;
  if (trusted == nullptr || view == snapshot.servers.end() || !view->second.identity_ok) return false;
  if (question.method == "sampling/createMessage") return trusted->passes.sampling;
  if (question.method == "elicitation/create") return trusted->passes.elicitation;
  return question.method == "roots/list" && trusted->passes.roots;
}

// The client's user sees who asks: in `_meta`, and in the words of an elicitation. A progress token of the server's
// leg means nothing on the client's.
std::shared_ptr<const json::Document> labelled(const ServerQuestion& question) {
  const json::Value params = question.params;
  std::string meta = "{" + quote(kServerMeta) + ":" + quote(question.server);
  for (const json::Member member : params.find("_meta").members()) {
    const std::string name = member.name();
    if (name == "progressToken" || fold(name).value_or(name).starts_with(mcp::kOwnPrefix)) continue;
    meta.append(",").append(member.key.raw()).append(":").append(member.value.raw());
  }
  const std::string whole = params ? mcp::replace_value(params, "_meta", meta + "}") : "{\"_meta\":" + meta + "}}";
  auto document = parsed(whole);
  const json::Value message = document ? document->root().find("message") : json::Value();
  if (question.method != "elicitation/create" || !message.is_string()) return document;
  const std::string words = fmt::format("[{}] {}", question.server, message.string());
  return parsed(mcp::replace_value(document->root(), "message", quote(words)));
}

}  // namespace

std::string Calls::refuse_question(const Call& call, const ServerQuestion& question) const {
  if (passes(*snapshots_.current(), question)) return {};
  log::info("question.refused", {{"server", question.server},
                                 {"method", question.method.substr(0, 64)},
                                 {"operation", call.row.id},
                                 {"reason", "not among its `passes`"}});
  return "this client takes no such questions of this server";
}

std::shared_ptr<const json::Document> Calls::label_question(const ServerQuestion& question) {
  return labelled(question);
}

asio::awaitable<ClientReply> Calls::pass_question(FlightPtr flight, ServerQuestion question) {
  const std::string method = question.method;
  if (std::string refused = refuse_question(flight->call, question); !refused.empty())
    co_return ClientReply::fail(mcp::code::kMethodNotFound, std::move(refused));
  const std::string session = flight->call.request.client->session;
  ClientChannel* channel = nullptr;
  for (const Waiter* waiter : flight->waiters) {
    if (channel == nullptr && waiter->session == session) channel = waiter->channel;
  }
  if (channel == nullptr) co_return ClientReply::fail(mcp::code::kInvalidRequest, "the client is gone");
  question.document = label_question(question);
  if (!question.document) co_return ClientReply::fail(mcp::code::kInvalidParams, "the question cannot be read");
  question.params = question.document->root();
  log::info("question.passed", {{"server", question.server}, {"method", method}, {"operation", flight->call.row.id}});
  ClientReply reply = co_await channel->ask(std::move(question));
  co_return reply;
}

}  // namespace sallyport::gateway::calls
