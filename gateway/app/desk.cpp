#include "gateway/app/desk.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>

#include "gateway/app/lock_turn.hpp"
#include "gateway/app/trust_desk.hpp"
#include "gateway/calls/people_json.hpp"
#include "gateway/config/files.hpp"
#include "policy/rules/vocabulary.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {
// Right after a start, what servers offer is not known yet; one that hangs must not hold up the others' answer.
constexpr auto kServersStart = std::chrono::seconds(20);
constexpr auto kLook = std::chrono::seconds(3);       // what did not answer by then is told as it was seen last
constexpr auto kToolsKept = std::chrono::seconds(5);  // a page that is looked at again and again asks no server

class NoChannel final : public ClientChannel {
 public:
  void notify(std::string_view, std::string_view) override {}
  [[nodiscard]] bool open() const override { return true; }
};

std::string_view name_of(ServerState state) {
  switch (state) {
    case ServerState::idle:
      return "idle";
    case ServerState::starting:
      return "starting";
    case ServerState::up:
      return "up";
    case ServerState::down:
      return "down";
    case ServerState::set_aside:
      return "set aside";
  }
  return "";
}

std::string not_known(std::string_view kind, const std::string& name, const std::vector<std::string>& known) {
  return fmt::format("no {} `{}` is known{}", kind, visible(name), did_you_mean(name, known));
}

// Whom a stop concerns that nobody here is, or may become; empty: somebody is. It is in force all the same.
std::string unknown_target(const Snapshot& snapshot, const Settings& settings, const std::string& kind,
                           const std::string& value, const std::string& tool) {
  std::vector<std::string> known;
  if (kind == "principal") {
    policy::Vocabulary words;
    for (const ClientSettings& client : settings.clients) words.principals.push_back({.id = client.id});
    for (const PersonSettings& person : settings.people) words.people.push_back(person.person);
    if (settings.people.empty()) words.people.push_back({.id = "owner"});
    if (words.knows_principal(value)) return {};
    for (const Principal& one : words.principals) known.push_back(one.id);
    for (const Person& one : words.people) known.push_back(one.id);
    return not_known(kind, value, known);
  }
  if (kind != "server" && kind != "tool") return {};
  for (const auto& [id, server] : settings.servers) known.push_back(id);
  if (std::ranges::find(known, value) == known.end()) return not_known("server", value, known);
  const auto view = snapshot.servers.find(value);
  if (kind == "server" || view == snapshot.servers.end() || !view->second.listed) return {};
  if (view->second.tools.contains(tool) || view->second.prompts.contains(tool)) return {};
  known.clear();
  for (const auto& [name, offered] : view->second.tools) known.push_back(name);
  return not_known("tool", tool, known);
}

}  // namespace

AppDesk::AppDesk(calls::Calls& calls, catalogue::Catalogue& catalogue, Servers& servers, LogKeeper& keeper,
                 Reload& reload)
    : calls_(calls), people_(calls), catalogue_(catalogue), servers_(servers), keeper_(keeper), reload_(reload) {}

DeskAnswer AppDesk::approvals(Person person, std::string state, std::uint32_t limit) {
  return people_.approvals(std::move(person), std::move(state), limit);
}
DeskAnswer AppDesk::approval(Person person, std::string id) {
  return people_.approval(std::move(person), std::move(id));
}
DeskAnswer AppDesk::vote(Person person, std::string id, Vote vote) {
  return people_.vote(std::move(person), std::move(id), std::move(vote));
}
DeskAnswer AppDesk::vote_all(Person person, std::vector<AskShown> asks, bool approve, std::string reason) {
  return people_.vote_all(std::move(person), std::move(asks), approve, std::move(reason));
}
DeskAnswer AppDesk::grants(Person person, bool all) { return people_.grants(std::move(person), all); }
DeskAnswer AppDesk::revoke_grant(Person person, std::string id, std::string reason) {
  return people_.revoke_grant(std::move(person), std::move(id), std::move(reason));
}
DeskAnswer AppDesk::revoke(Person person, std::string id, std::string reason) {
  return people_.revoke(std::move(person), std::move(id), std::move(reason));
}
DeskAnswer AppDesk::operations(Person person, std::string state, std::uint32_t limit) {
  return people_.operations(std::move(person), std::move(state), limit);
}
DeskAnswer AppDesk::operation(Person person, std::string id) {
  return people_.operation(std::move(person), std::move(id));
}
DeskAnswer AppDesk::resolve(Person person, std::string id, std::string outcome, std::string reason) {
  return people_.resolve(std::move(person), std::move(id), std::move(outcome), std::move(reason));
}
DeskAnswer AppDesk::receipts(Person person, std::string query_json) {
  return people_.receipts(std::move(person), std::move(query_json));
}
DeskAnswer AppDesk::receipt(Person person, std::string id) { return people_.receipt(std::move(person), std::move(id)); }
DeskAnswer AppDesk::stops(Person person) { return people_.stops(std::move(person)); }
DeskAnswer AppDesk::stop(Person person, std::string kind, std::string value, std::string tool, std::string reason) {
  std::string doubt = unknown_target(*catalogue_.current(), settings(), kind, value, tool);
  auto stopped =
      co_await people_.stop(std::move(person), std::move(kind), std::move(value), std::move(tool), std::move(reason));
  if (!stopped || doubt.empty()) co_return stopped;
  auto told = bj::parse(*stopped);
  told.as_object()["unknown"] = std::move(doubt);
  co_return json::canonical(told);
}
DeskAnswer AppDesk::lift(Person person, std::string id, std::string reason) {
  return people_.lift(std::move(person), std::move(id), std::move(reason));
}
DeskAnswer AppDesk::reload(Person person) { return reload_.reload(std::move(person)); }
DeskAnswer AppDesk::policy(Person person) { return reload_.view(std::move(person)); }
DeskAnswer AppDesk::policy_accept(Person person, std::string digest) {
  return reload_.accept(std::move(person), std::move(digest));
}

DeskAnswer AppDesk::status(Person person) {
  if (person.roles == 0) co_return fail(ErrorCode::forbidden, "this needs a role");
  const auto snapshot = catalogue_.current();
  bj::array servers;
  for (const ServerStatus& status : servers_.status()) {
    bj::object entry{{"id", status.id}, {"state", name_of(status.state)}};
    std::string reason = status.reason;
    if (const auto view = snapshot->servers.find(status.id); view != snapshot->servers.end()) {
      entry["tools"] = view->second.tools.size();
      if (reason.empty()) reason = view->second.problem;
    }
    if (!reason.empty()) entry["reason"] = visible(reason);
    servers.emplace_back(std::move(entry));
  }
  std::size_t waiting = 0, unknown = 0, stops = 0;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    waiting = tx.approvals("pending", 10'000).size();
    OperationFilter filter;
    filter.states = {OperationState::unknown, OperationState::reconciling};
    filter.limit = 10'000;
    unknown = tx.operations(filter).size();
    stops = tx.stops(true).size();
    return {};
  });
  if (!read) co_return fail(read.error());
  bj::object out{{"boundary", calls_.options().identity.boundary},
                 {"callsInFlight", calls_.in_flight()},
                 {"log", calls_.store().log_id()},
                 {"policy", snapshot->policy_digest},
                 {"policyState", reload_.state()},
                 {"servers", std::move(servers)},
                 {"stops", stops},
                 {"storeHealthy", calls_.store().healthy()},
                 {"trust", snapshot->trust_digest},
                 {"unknownOperations", unknown},
                 {"version", calls_.options().identity.version},
                 {"waitingApprovals", waiting}};
  if (const auto last = trust::parse_checkpoint(keeper_.newest())) {
    bj::object checkpoint{{"anchored", keeper_.anchored() && keeper_.problem().empty()},
                          {"size", last->checkpoint.size}};
    if (!keeper_.problem().empty()) checkpoint["problem"] = visible(keeper_.problem());
    out["checkpoint"] = std::move(checkpoint);
  }
  co_return json::canonical(bj::value(std::move(out)));
}

DeskAnswer AppDesk::open_arguments(Person person, std::string id, std::string arguments_raw) {
  return people_.open_arguments(std::move(person), std::move(id), std::move(arguments_raw));
}

DeskAnswer AppDesk::checkpoint(Person person) {
  if (!person.has(Role::operator_) && !person.has(Role::auditor)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role operator nor auditor", person.id));
  }
  auto made = co_await keeper_.make();
  if (!made) co_return fail(made.error());
  bj::object out{{"checkpoint", *made}};
  if (!keeper_.problem().empty()) out["problem"] = visible(keeper_.problem());
  co_return json::canonical(bj::value(std::move(out)));
}

// What servers say now, not what they said when they were asked last: of a server that does not tell that its lists
// change, nobody would know.
asio::awaitable<void> AppDesk::look_again(std::string server, std::chrono::seconds wait) {
  for (const auto& [id, view] : catalogue_.current()->servers) {
    if (server.empty() || id == server) catalogue_.look_again(id);
  }
  co_await catalogue_.settled(Deadline::after(wait));
}

DeskAnswer AppDesk::tools(Person person) {
  if (person.roles == 0) co_return fail(ErrorCode::forbidden, "this needs a role");
  if (!tools_fresh_ || tools_fresh_->passed()) co_await look_again({}, tools_fresh_ ? kLook : kServersStart);
  tools_fresh_ = Deadline::after(kToolsKept);
  co_return tools_json(*catalogue_.current());
}

DeskAnswer AppDesk::explain(Person person, std::string call_json) {
  if (auto allowed = calls::may_read(person); !allowed) co_return fail(allowed.error());
  co_await catalogue_.ready(Deadline::after(kServersStart));
  auto asked = json::Document::parse(std::move(call_json));
  if (!asked) co_return fail(asked.error());
  const auto member = [&](std::string_view name) {
    const json::Value value = asked->root().find(name);
    return value && value.is_string() ? value.string() : std::string();
  };
  const json::Value arguments = asked->root().find("arguments");
  const std::string principal = member("principal").empty() ? person.id : member("principal");
  co_return explain_on(catalogue_.current(), settings(), principal, member("server"), member("tool"),
                       arguments ? std::string(arguments.raw()) : std::string(), calls_.context());
}

DeskAnswer AppDesk::call(Person person, std::string server, std::string tool, std::string arguments_raw) {
  if (!person.has(Role::operator_) && !person.has(Role::approver)) {
    co_return fail(ErrorCode::forbidden, fmt::format("`{}` has neither the role approver nor operator", person.id));
  }
  auto params = calls::call_params(tool, arguments_raw);
  if (!params) co_return fail(params.error());
  auto client = std::make_shared<ClientContext>();
  client->principal = Principal{person.id, person.groups, person.id, false};
  client->mount.server = std::move(server);
  client->session = "cli:" + person.id;
  client->run = calls_.entropy().id("run", calls_.clock().now());
  client->transport = "control";
  client->boundary = calls_.options().identity.boundary;
  client->protocol_version = mcp::kLegacyVersions.front();
  client->hold = Millis(0);  // whoever sits at a terminal is told at once that it waits
  NoChannel channel;
  Inbound inbound;
  inbound.client = std::move(client);
  inbound.document = *params;
  inbound.params = inbound.document->root();
  inbound.method = "tools/call";
  inbound.channel = &channel;
  inbound.cancel = std::make_shared<Cancel>();
  inbound.received = calls_.clock().now();
  Answer answer = co_await calls_.tools_call(std::move(inbound));
  if (answer.delivered) answer.delivered(true);
  if (answer.error) co_return fail(ErrorCode::invalid, answer.error->message);
  co_return std::move(answer.result);
}

DeskAnswer AppDesk::trust_review(Person person, std::string server, std::string tool) {
  if (auto allowed = calls::may_read(person); !allowed) co_return fail(allowed.error());
  co_await look_again(server, kServersStart);
  co_return review(*catalogue_.current(), server, tool).json;
}

DeskAnswer AppDesk::trust_accept(Person person, std::string server, std::string tool, std::string review_digest,
                                 bool also) {
  if (auto allowed = calls::must_have(person, Role::operator_); !allowed) co_return fail(allowed.error());
  const auto turn = co_await LockTurn::wait(settings().lock_file, Deadline::after(kServersStart));
  if (!turn) co_return fail(turn.error());
  co_await look_again(server, kServersStart);
  const auto snapshot = catalogue_.current();
  if (review(*snapshot, server, tool).digest != review_digest) {
    co_return fail(ErrorCode::conflict, "what the servers offer is not what was reviewed; look again");
  }
  const SystemFiles files;
  auto on_disk = turn->read(files);
  if (!on_disk) co_return fail_in("the lock file", on_disk.error());
  auto accepted = gateway::accept(*snapshot, servers_, {server, tool, person.id, also}, calls_.clock().now(), *on_disk);
  if (!accepted) co_return fail(accepted.error());
  trust::ReceiptBody body = calls_.receipt(trust::ReceiptKind::definition);
  body.server_id = server;
  body.tool = tool;
  body.event = trust::EventRecord{"accepted", person.id, {}, server.empty() ? "all" : server, {}, review_digest, {}};
  auto recorded = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    return {};
  });
  if (!recorded) co_return fail(recorded.error());
  if (auto written = turn->write(accepted->lock); !written) co_return fail(written.error());
  auto reloaded = co_await reload_.lock_accepted(person);
  if (!reloaded) co_return fail(reloaded.error());
  bj::array names, left_out;
  for (const auto& name : accepted->accepted) names.emplace_back(visible(name));
  for (const auto& why : accepted->left_out) left_out.emplace_back(visible(why));
  co_return json::canonical(bj::value(bj::object{{"accepted", std::move(names)}, {"leftOut", std::move(left_out)}}));
}

}  // namespace sallyport::gateway
