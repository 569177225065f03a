#include "gateway/app/front.hpp"

#include <fmt/format.h>

#include "gateway/ports/naming.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kFirstListing =
    std::chrono::seconds(20);  // servers may take that long to start before a list goes without them
constexpr auto kFirstOffers = std::chrono::seconds(5);  // likewise before a session begins: clients give up soon

constexpr std::size_t kMostInstructions = 256U << 10;  // of all servers together

Answer unknown_method(const Inbound& inbound) {
  return Answer::fail(mcp::code::kMethodNotFound, "Method not found: " + visible(inbound.method.substr(0, 100)));
}

}  // namespace

AppFront::AppFront(calls::Calls& calls, catalogue::Catalogue& catalogue, relay::Relay& relay, Told told)
    : calls_(calls),
      catalogue_(catalogue),
      relay_(relay),
      tools_(catalogue, calls.own_tools()),
      told_(std::move(told)) {}

asio::awaitable<Answer> AppFront::handle(Inbound inbound) {
  const auto method = parse_method(inbound.method);
  const bool tools = inbound.method == "tools/list";
  const bool task = inbound.client->era == mcp::Era::modern && calls::Calls::knows_task_method(inbound.method);
  if (!method && !tools && !task && !relay::Relay::knows(inbound.method)) co_return unknown_method(inbound);
  const Deadline listed = Deadline::after(kFirstListing);
  const bool subscribes = inbound.method == "resources/subscribe";
  Target target;
  catalogue::Catalogue::Concerns concerns;
  if (subscribes || (method && method != Method::tools_call)) {
    target = co_await relay_.resolve(inbound);
    concerns = [server = target.server](const std::string& id) { return id == server; };
  } else {
    concerns = concerned(inbound);
  }
  co_await catalogue_.ready(std::move(concerns), listed);
  if (tools) co_return tools_.list(inbound);
  Answer answer;
  if (task) {
    answer = co_await calls_.task_call(std::move(inbound));
  } else if (method == Method::tools_call) {
    answer = co_await calls_.tools_call(std::move(inbound));
  } else if (method) {
    answer = co_await calls_.other_call(std::move(inbound), *method, std::move(target));
  } else {
    if (subscribes) {
      // What may not be read is not watched either.
      if (auto denied = calls_.denied(inbound, Method::resources_read, std::move(target))) co_return std::move(*denied);
    }
    answer = co_await relay_.handle(std::move(inbound));
  }
  co_return answer;
}

// A server that hangs holds up nobody who wants nothing of it.
catalogue::Catalogue::Concerns AppFront::concerned(const Inbound& inbound) const {
  if (inbound.method == "resources/unsubscribe") return [](const std::string&) { return false; };
  const Mount& mount = inbound.client->mount;
  if (!mount.all()) return [server = mount.server](const std::string& id) { return id == server; };
  const json::Value name = inbound.method == "tools/call" ? inbound.params.find("name") : json::Value();
  std::string tool = name.is_string() ? name.string() : std::string();
  if (tool.empty() || tool.starts_with("sallyport_")) return {};
  const bool known = catalogue_.current()->find({}, tool) != nullptr;
  return [known, tool = std::move(tool)](const std::string& id) { return !known && may_be_of(id, tool); };
}

void AppFront::over_limit(const Inbound& inbound) {
  if (const auto method = parse_method(inbound.method)) calls_.over_limit(inbound, *method);
}

asio::awaitable<void> AppFront::prepare(Mount) { co_await catalogue_.ready(Deadline::after(kFirstOffers)); }

std::string AppFront::capabilities(const ClientContext& client) const {
  return relay_.capabilities(client.mount, client.era);
}

// A server's own are text for the model: only what was accepted of them gets there (or, where the trust file follows a
// server, what it says now).
std::string AppFront::instructions(const ClientContext& client) const {
  std::string out =
      "Tools behind the Sallyport gateway. A refused call says so and says what to do; a call that waits for a person "
      "is "
      "continued with sallyport_wait.";
  for (const auto& [id, server] : catalogue_.current()->servers) {
    if (!client.mount.all() && id != client.mount.server) continue;
    for (const auto& [name, one] : server.instructions) {
      if (one->state != ToolState::pinned && one->state != ToolState::drifted) continue;
      const std::string text = one->definition->root().string();
      if (out.size() + text.size() > kMostInstructions) continue;
      out += fmt::format("\n\nThe server `{}` says:\n{}", id, text);
    }
  }
  return out;
}

void AppFront::level_changed(const ClientContext& client) {
  if (told_.level_changed) told_.level_changed(client);
}

void AppFront::roots_changed(const ClientContext& client) {
  if (told_.roots_changed) told_.roots_changed(client);
}

void AppFront::session_ended(const ClientContext& client) { relay_.session_ended(client.session); }

}  // namespace sallyport::gateway
