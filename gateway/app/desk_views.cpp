// What `tools` and `explain` print, as JSON (docs/control-api.md).
#include <boost/json.hpp>

#include "gateway/app/desk.hpp"
#include "gateway/calls/people_json.hpp"
#include "policy/evaluate/explain.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

// Why it is quarantined, and what the scan of its texts found.
void tell_doubts(const Tool& tool, bj::object& entry) {
  if (!tool.quarantine_reason.empty()) entry["reason"] = visible(tool.quarantine_reason);
  bj::array findings;
  for (const std::string& finding : tool.findings) findings.emplace_back(finding);
  if (!findings.empty()) entry["findings"] = std::move(findings);
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const auto near = nearest(name, known);
  return near ? ": did you mean `" + visible(*near) + "`?" : "";
}

std::optional<std::string> loose_identity(const ServerView& server) {
  if (server.identity.empty()) return std::nullopt;
  const auto document = json::Document::parse(server.identity);
  const auto identity =
      document ? trust::parse_identity(document->root()) : Result<trust::Identity>(fail(document.error()));
  return identity ? trust::unpinned(*identity) : std::nullopt;
}

std::vector<std::string> tools_named(const Snapshot& snapshot, std::string_view exposed) {
  std::vector<std::string> out;
  for (const auto& [id, server] : snapshot.servers) {
    for (const auto& [name, tool] : server.tools) {
      if (tool->exposed == exposed) out.push_back(id + "/" + name);
    }
  }
  return out;
}

std::string tools_json(const Snapshot& snapshot) {
  bj::array tools;
  for (const auto& [id, server] : snapshot.servers) {
    for (const auto& [name, tool] : server.tools) {
      bj::object entry{{"effect", calls::to_json(tool->effect)},
                       {"exposed", tool->exposed},
                       {"server", id},
                       {"state", to_string(tool->state)},
                       {"tool", visible(name)}};
      tell_doubts(*tool, entry);
      if (!tool->output_note.empty()) entry["note"] = visible(tool->output_note);
      if (tool->contract) entry["contract"] = tool->contract->name;
      tools.emplace_back(std::move(entry));
    }
  }
  bj::array others, problems;
  for (const auto& [id, server] : snapshot.servers) {
    for (const trust::Offer offer : trust::kOffers) {
      if (offer == trust::Offer::tool) continue;
      for (const auto& [name, one] : server.of(offer)) {
        bj::object entry{{"kind", to_string(offer)}, {"server", id}, {"state", to_string(one->state)}};
        if (!name.empty()) entry["name"] = visible(name);
        tell_doubts(*one, entry);
        others.emplace_back(std::move(entry));
      }
    }
    if (!server.problem.empty()) problems.emplace_back(bj::object{{"reason", visible(server.problem)}, {"server", id}});
  }
  bj::array unpinned, collisions;
  for (const auto& [id, server] : snapshot.servers) {
    if (const auto loose = loose_identity(server))
      unpinned.emplace_back(bj::object{{"reason", visible(*loose)}, {"server", id}});
  }
  for (const std::string& name : snapshot.collisions) {
    bj::array of;
    for (const std::string& tool : tools_named(snapshot, name)) of.emplace_back(visible(tool));
    collisions.emplace_back(bj::object{{"name", visible(name)}, {"tools", std::move(of)}});
  }
  return json::canonical(bj::value(bj::object{{"collisions", std::move(collisions)},
                                              {"others", std::move(others)},
                                              {"problems", std::move(problems)},
                                              {"tools", std::move(tools)},
                                              {"unpinned", std::move(unpinned)}}));
}

namespace {

struct Caller {
  Principal principal;
  bool known = true;
};

// Who would call by that id, as the gateway would know them: a client, a person, or somebody without a group.
Caller caller(const Settings& settings, const std::string& id) {
  for (const ClientSettings& client : settings.clients) {
    if (client.id == id) return {Principal{client.id, client.groups, client.owner, false}};
  }
  for (const PersonSettings& one : settings.people) {
    if (one.person.id == id) return {Principal{id, one.person.groups, id, false}};
  }
  const bool anonymous = id.starts_with("anonymous:");
  const bool own = id == "client:local" || id == "owner" || id.starts_with("local:");
  return {Principal{id, {}, {}, anonymous}, anonymous || own};
}

void add_notes(const calls::Call& call, bool known, bj::array& notes) {
  if (!known) {
    notes.emplace_back("The config has no client `" + visible(call.request.client->principal.id) +
                       "`: it was taken for one without a group.");
  }
  std::string budgets;
  for (const calls::BudgetUse& use : call.judged.budgets)
    budgets += (budgets.empty() ? "`" : ", `") + visible(use.rule->budget.id) + "`";
  if (!budgets.empty()) notes.emplace_back("Counted by " + budgets + "; what is left there was not looked at.");
}

// A client is told of what is hidden that it does not exist; whoever may read rules is told which one hides it.
std::string why_unknown(const calls::Call& call, const std::string& server, const std::string& name) {
  const Snapshot& snapshot = *call.judged.snapshot;
  const auto view = snapshot.servers.find(server);
  if (view == snapshot.servers.end()) {
    std::vector<std::string> known;
    for (const auto& [id, one] : snapshot.servers) known.push_back(id);
    return "Unknown server `" + visible(server) + "`" + did_you_mean(server, known);
  }
  const auto tool = view->second.tools.find(name);
  if (tool == view->second.tools.end()) {
    std::vector<std::string> known;
    for (const auto& [id, one] : view->second.tools) known.push_back(id);
    return "Unknown tool `" + visible(name) + "` of `" + visible(server) + "`" + did_you_mean(name, known);
  }
  CallFacts facts;
  facts.principal = &call.request.client->principal;
  facts.method = call.request.method;
  facts.server = server;
  facts.tool = name;
  facts.effect = tool->second->effect.effective;
  facts.pinned = tool->second->state == ToolState::pinned;
  for (const policy::RuleLine& line : policy::explain(*snapshot.policy, facts).rules) {
    const policy::Rule* rule = snapshot.policy->rule(line.id);
    if (line.matched && rule != nullptr && rule->hide)
      return "`" + visible(name) + "` is hidden from `" + visible(facts.principal->id) + "` by the rule `" +
             visible(line.id) + "`" + (line.at.empty() ? "" : " (" + line.at + ")");
  }
  return {};
}

std::string explanation_json(const calls::Call& call, bool known_caller) {
  const calls::Judgement& judged = call.judged;
  bj::array reasons;
  for (const auto& refusal : judged.refusals) {
    reasons.emplace_back(bj::object{{"code", to_string(refusal.code)}, {"message", visible(refusal.sentence)}});
  }
  const Verdict verdict = judged.refusals.empty() ? judged.decision.verdict : Verdict::deny;
  bj::object out{{"reasons", std::move(reasons)}, {"verdict", to_string(verdict)}};
  if (judged.tool && judged.tool->input) {
    const policy::Explanation explanation = policy::explain(*judged.snapshot->policy, calls::facts_of(call));
    bj::array rules;
    for (const policy::RuleLine& line : explanation.rules) {
      bj::object entry{
          {"id", line.id}, {"kind", to_string(line.kind)}, {"matched", line.matched}, {"words", visible(line.words)}};
      if (!line.at.empty()) entry["at"] = line.at;
      if (line.matched) entry["verdict"] = to_string(line.verdict);
      if (line.has_pointer) entry["pointer"] = line.pointer;
      rules.emplace_back(std::move(entry));
    }
    bj::array notes;
    for (const auto& note : explanation.notes) notes.emplace_back(visible(note));
    add_notes(call, known_caller, notes);
    out["rules"] = std::move(rules);
    out["notes"] = std::move(notes);
    out["server"] = judged.tool->ref.server;
    out["tool"] = visible(judged.tool->ref.tool);
    out["principal"] = visible(call.request.client->principal.id);
    out["policy"] = judged.snapshot->policy_digest;
    out["state"] = to_string(judged.tool->state);
    out["effect"] = calls::to_json(judged.effect);
    out["scope"] = visible(judged.scope.name());
    out["text"] = policy::to_text(explanation);
  }
  return json::canonical(bj::value(std::move(out)));
}

}  // namespace

std::string explain_on(std::shared_ptr<const Snapshot> snapshot, const Settings& settings, const std::string& principal,
                       const std::string& server, const std::string& tool, const std::string& arguments_raw,
                       const calls::Context& context) {
  auto params = calls::call_params(tool, arguments_raw);
  if (!params)
    return json::canonical(bj::value(bj::object{
        {"reasons", bj::array{bj::object{{"code", "ARGUMENTS_INVALID"}, {"message", params.error().message}}}},
        {"verdict", "deny"}}));
  auto client = std::make_shared<ClientContext>();
  auto [who, known] = caller(settings, principal.empty() ? "client:local" : principal);
  client->principal = std::move(who);
  client->mount.server = server;
  calls::Call call = calls::rehearse(std::move(client), std::move(*params), std::move(snapshot), context);
  for (calls::Refusal& refusal : call.judged.refusals) {
    std::string why = refusal.unknown_tool ? why_unknown(call, server, tool) : std::string();
    if (!why.empty()) refusal.sentence = std::move(why);
  }
  return explanation_json(call, known);
}

}  // namespace sallyport::gateway
