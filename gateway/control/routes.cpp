#include "gateway/control/routes.hpp"

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kRequired = Input::Need::required;
constexpr std::uint32_t kMost = 1000;  // of a list
constexpr std::uint32_t kUsual = 100;

DeskAnswer refused(Error error) { co_return fail(std::move(error)); }

// Reads nothing more: `input` must be done, then `ask` is what the Desk is asked.
template <class Ask>
DeskAnswer with(Input& input, Ask ask) {
  if (auto done = input.done(); !done) return refused(done.error());
  return ask();
}

DeskAnswer approvals(Desk& desk, Person person, std::string, Input& input) {
  const std::string state = input.text("state");
  const std::uint32_t limit = input.count("limit", kUsual, kMost);
  return with(input, [&] { return desk.approvals(person, state, limit); });
}

DeskAnswer approval(Desk& desk, Person person, std::string id, Input& input) {
  return with(input, [&] { return desk.approval(person, id); });
}

// [{"operation", "outcome"}…]
std::vector<Vote::Settled> settled(Input& input) {
  std::vector<Vote::Settled> out;
  for (const json::Value item : input.list("settle", 20)) {
    out.push_back({input.text_in(item, "operation"), input.text_in(item, "outcome")});
  }
  return out;
}

DeskAnswer approve(Desk& desk, Person person, std::string id, Input& input) {
  Vote vote{true, input.text("shown", kRequired), input.text("reason"), input.object("grant", ""), settled(input)};
  return with(input, [&] { return desk.vote(person, id, vote); });
}

DeskAnswer deny(Desk& desk, Person person, std::string id, Input& input) {
  Vote vote{false, {}, input.text("reason"), {}, settled(input)};
  return with(input, [&] { return desk.vote(person, id, vote); });
}

DeskAnswer answer_all(Desk& desk, Person person, Input& input, bool approves) {
  std::vector<AskShown> asks;
  for (const json::Value item : input.list("asks", 200))
    asks.push_back({input.text_in(item, "id"), approves ? input.text_in(item, "shown") : std::string()});
  const std::string reason = input.text("reason");
  return with(input, [&] { return desk.vote_all(person, asks, approves, reason); });
}

DeskAnswer approve_all(Desk& desk, Person person, std::string, Input& input) {
  return answer_all(desk, person, input, true);
}

DeskAnswer deny_all(Desk& desk, Person person, std::string, Input& input) {
  return answer_all(desk, person, input, false);
}

DeskAnswer grants(Desk& desk, Person person, std::string, Input& input) {
  const bool all = input.text("state") == "all";
  return with(input, [&] { return desk.grants(person, all); });
}

DeskAnswer revoke_grant(Desk& desk, Person person, std::string id, Input& input) {
  const std::string reason = input.text("reason");
  return with(input, [&] { return desk.revoke_grant(person, id, reason); });
}

DeskAnswer revoke(Desk& desk, Person person, std::string id, Input& input) {
  const std::string reason = input.text("reason");
  return with(input, [&] { return desk.revoke(person, id, reason); });
}

DeskAnswer operations(Desk& desk, Person person, std::string, Input& input) {
  const std::string state = input.text("state");
  const std::uint32_t limit = input.count("limit", kUsual, kMost);
  return with(input, [&] { return desk.operations(person, state, limit); });
}

DeskAnswer operation(Desk& desk, Person person, std::string id, Input& input) {
  return with(input, [&] { return desk.operation(person, id); });
}

DeskAnswer resolve(Desk& desk, Person person, std::string id, Input& input) {
  const std::string outcome = input.text("outcome", kRequired);
  const std::string reason = input.text("reason", kRequired);
  return with(input, [&] { return desk.resolve(person, id, outcome, reason); });
}

DeskAnswer receipts(Desk& desk, Person person, std::string, Input& input) {
  std::string query = "{\"limit\":" + std::to_string(input.count("limit", kUsual, kMost));
  for (const std::string_view name :
       {"operation", "principal", "server", "tool", "kind", "verdict", "effect", "outcome", "since", "until", "run"}) {
    const std::string value = input.text(name);
    if (!value.empty()) query += "," + quote(name) + ":" + quote(value);
  }
  query += "}";
  return with(input, [&] { return desk.receipts(person, query); });
}

DeskAnswer receipt(Desk& desk, Person person, std::string id, Input& input) {
  return with(input, [&] { return desk.receipt(person, id); });
}

DeskAnswer open_arguments(Desk& desk, Person person, std::string id, Input& input) {
  const std::string arguments = input.optional_object("arguments");
  return with(input, [&] { return desk.open_arguments(person, id, arguments); });
}

DeskAnswer checkpoint(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.checkpoint(person); });
}

DeskAnswer stops(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.stops(person); });
}

DeskAnswer stop(Desk& desk, Person person, std::string, Input& input) {
  const std::string kind = input.text("kind", kRequired);
  const std::string value = input.text("value");
  const std::string tool = input.text("tool");
  const std::string reason = input.text("reason", kRequired);
  return with(input, [&] { return desk.stop(person, kind, value, tool, reason); });
}

DeskAnswer lift(Desk& desk, Person person, std::string id, Input& input) {
  const std::string reason = input.text("reason");
  return with(input, [&] { return desk.lift(person, id, reason); });
}

DeskAnswer status(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.status(person); });
}

DeskAnswer tools(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.tools(person); });
}

DeskAnswer explain(Desk& desk, Person person, std::string, Input& input) {
  std::string call = R"({"principal":)" + quote(input.text("principal"));
  call += R"(,"server":)" + quote(input.text("server", kRequired));
  call += R"(,"tool":)" + quote(input.text("tool", kRequired));
  call += R"(,"arguments":)" + input.object("arguments") + "}";
  return with(input, [&] { return desk.explain(person, call); });
}

DeskAnswer call(Desk& desk, Person person, std::string, Input& input) {
  const std::string server = input.text("server", kRequired);
  const std::string tool = input.text("tool", kRequired);
  const std::string arguments = input.object("arguments");
  return with(input, [&] { return desk.call(person, server, tool, arguments); });
}

DeskAnswer trust(Desk& desk, Person person, std::string, Input& input) {
  const std::string server = input.text("server");
  const std::string tool = input.text("tool");
  return with(input, [&] { return desk.trust_review(person, server, tool); });
}

DeskAnswer accept(Desk& desk, Person person, std::string, Input& input) {
  const std::string server = input.text("server");
  const std::string tool = input.text("tool");
  const std::string digest = input.text("digest", kRequired);
  const bool also = input.flag("also");
  return with(input, [&] { return desk.trust_accept(person, server, tool, digest, also); });
}

DeskAnswer reload(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.reload(person); });
}

DeskAnswer policy(Desk& desk, Person person, std::string, Input& input) {
  return with(input, [&] { return desk.policy(person); });
}

DeskAnswer policy_accept(Desk& desk, Person person, std::string, Input& input) {
  const std::string digest = input.text("digest", kRequired);
  return with(input, [&] { return desk.policy_accept(person, digest); });
}

// Ids are a prefix and a ULID, files of the console a short name; nothing else needs to get further.
bool is_segment(std::string_view segment, bool file) {
  return !segment.empty() && segment.size() <= 64 && std::ranges::all_of(segment, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (file && c == '.');
  });
}

bool matches(std::string_view pattern, std::string_view path, std::string& id) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  const std::string_view middle = path.substr(before.size(), path.size() - before.size() - after.size());
  if (!is_segment(middle, before == "/console/")) return false;
  id = middle;
  return true;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> table{
      {"GET", "/", Kind::page},
      {"GET", "/console.css", Kind::page},
      {"GET", "/console/*", Kind::page},
      {"GET", "/healthz", Kind::healthz},
      {"GET", "/readyz", Kind::readyz},
      {"GET", "/metrics", Kind::metrics},
      {"GET", "/api/v1/me", Kind::me},
      {"POST", "/api/v1/login", Kind::login},
      {"POST", "/api/v1/login/code", Kind::code},
      {"POST", "/api/v1/logout", Kind::logout},
      {"GET", "/api/v1/approvals", Kind::api, approvals},
      {"POST", "/api/v1/answers/approve", Kind::api, approve_all},
      {"POST", "/api/v1/answers/deny", Kind::api, deny_all},
      {"GET", "/api/v1/approvals/events", Kind::events},  // before the ids
      {"GET", "/api/v1/approvals/*", Kind::api, approval},
      {"POST", "/api/v1/approvals/*/approve", Kind::api, approve},
      {"POST", "/api/v1/approvals/*/deny", Kind::api, deny},
      {"POST", "/api/v1/approvals/*/revoke", Kind::api, revoke},
      {"GET", "/api/v1/grants", Kind::api, grants},
      {"POST", "/api/v1/grants/*/revoke", Kind::api, revoke_grant},
      {"GET", "/api/v1/operations", Kind::api, operations},
      {"GET", "/api/v1/operations/*", Kind::api, operation},
      {"POST", "/api/v1/operations/*/resolve", Kind::api, resolve},
      {"GET", "/api/v1/receipts", Kind::api, receipts},
      {"GET", "/api/v1/receipts/*", Kind::api, receipt},
      {"POST", "/api/v1/receipts/*/open", Kind::api, open_arguments},
      {"POST", "/api/v1/checkpoint", Kind::api, checkpoint},
      {"GET", "/api/v1/stops", Kind::api, stops},
      {"POST", "/api/v1/stops", Kind::api, stop},
      {"POST", "/api/v1/stops/*/lift", Kind::api, lift},
      {"GET", "/api/v1/status", Kind::api, status},
      {"GET", "/api/v1/tools", Kind::api, tools},
      {"POST", "/api/v1/explain", Kind::api, explain},
      {"POST", "/api/v1/call", Kind::api, call},
      {"GET", "/api/v1/trust", Kind::api, trust},
      {"POST", "/api/v1/trust/accept", Kind::api, accept},
      {"POST", "/api/v1/reload", Kind::api, reload},
      {"GET", "/api/v1/policy", Kind::api, policy},
      {"POST", "/api/v1/policy/accept", Kind::api, policy_accept},
  };
  return table;
}

Matched match_route(std::string_view method, std::string_view path) {
  Matched matched;
  const std::string_view wanted = method == "HEAD" ? std::string_view("GET") : method;
  for (const Route& route : routes()) {
    std::string id;
    if (!matches(route.path, path, id)) continue;
    if (route.method == wanted) {
      matched.route = &route;
      matched.id = std::move(id);
      return matched;
    }
    for (const std::string_view name : {route.method, std::string_view(route.method == "GET" ? "HEAD" : "")}) {
      if (!name.empty()) matched.allow += (matched.allow.empty() ? "" : ", ") + std::string(name);
    }
  }
  return matched;
}

}  // namespace sallyport::gateway
