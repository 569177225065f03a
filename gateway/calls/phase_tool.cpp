// Step 3: the exposed name to (server, tool), by table. Hidden is the same as unknown, to the letter.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway::calls {
namespace {

bool is_hidden(const Call& call) {
  const Judgement& judged = call.judged;
  CallFacts facts;
  facts.principal = &call.request.client->principal;
  facts.method = call.request.method;
  facts.uri = call.request.uri;
  facts.server = judged.tool->ref.server;
  facts.tool = judged.tool->ref.tool;
  facts.effect = judged.tool->effect.effective;
  facts.pinned = judged.tool->state == ToolState::pinned;
  return policy::hidden(*judged.snapshot->policy, facts);
}

void refuse_unknown(Call& call) {
  const Request& request = call.request;
  const bool resource = !request.uri.empty();
  const char* what = resource                               ? "Resource not found"
                     : request.method == Method::tools_call ? "Unknown tool"
                                                            : "Unknown prompt";
  call.judged.tool = nullptr;
  call.judged.refusals.push_back(
      {.code = ReasonCode::policy_denied,
       .sentence = fmt::format("{}: {}", what, visible((resource ? request.uri : request.name).substr(0, 200))),
       .reasons = {},
       .unknown_tool = true,
       .approval = {}});
}

}  // namespace

void refuse(Judgement& judged, ReasonCode code, std::string sentence, std::string rule) {
  Refusal refusal;
  refusal.code = code;
  refusal.reasons.push_back(Reason{code, sentence, std::move(rule), {}, false});
  refusal.sentence = std::move(sentence);
  judged.refusals.push_back(std::move(refusal));
}

namespace {

// The prompt or resource template that a request is about, as the server's lists have it; null: they do not.
std::shared_ptr<const Tool> definition_of(const ServerView& server, const Request& request) {
  if (!request.uri.empty()) return server.template_of(request.uri);
  const auto prompt = server.prompts.find(request.target.name);
  return prompt == server.prompts.end() ? nullptr : prompt->second;
}

// A resource, prompt or completion: its server is known already.
void find_target(Call& call) {
  Judgement& judged = call.judged;
  const Request& request = call.request;
  if (!request.target.problem.empty()) return refuse(judged, ReasonCode::arguments_invalid, request.target.problem);
  const auto found = judged.snapshot->servers.find(request.target.server);
  if (found == judged.snapshot->servers.end()) return refuse_unknown(call);
  judged.server = &found->second;
  const auto listed = definition_of(found->second, request);
  auto tool = listed ? std::make_shared<Tool>(*listed) : std::make_shared<Tool>();
  tool->offer = request.uri.empty() ? trust::Offer::prompt : trust::Offer::resource_template;
  tool->method = request.method;
  tool->ref = {found->first, request.target.name};
  tool->exposed = request.name;
  if (!found->second.foreign.empty()) {
    tool->state = ToolState::quarantined;
    tool->quarantine_reason = found->second.foreign;
  }
  // What no list names is the server's alone, and so is a completion, which shows nothing of what the list says. What
  // a list names stands as it was accepted, or not.
  const bool of_the_server = !listed || request.method == Method::completion_complete;
  if (of_the_server && tool->state != ToolState::quarantined)
    tool->state = found->second.identity_ok ? ToolState::pinned : ToolState::unpinned;
  tool->effect.effective = Effect{EffectCategory::read, false, Repeat::safe, {}};
  call.row.server = found->first;
  call.row.tool = request.target.name;
  call.row.definition = tool->digest;
  judged.tool = std::move(tool);
  if (is_hidden(call)) refuse_unknown(call);
}

}  // namespace

void find_tool(Call& call, const Context&) {
  if (call.request.method != Method::tools_call) return find_target(call);
  Judgement& judged = call.judged;
  const std::string& mount = call.request.client->mount.server;
  const Tool* tool = judged.snapshot->find(mount, call.request.name);
  if (tool == nullptr) {
    // A server that could not be listed may well have it: say what is the matter instead of denying that it exists.
    for (const auto& [id, server] : judged.snapshot->servers) {
      if (server.listed || server.problem.empty()) continue;
      if (mount.empty() ? !call.request.name.starts_with(id + "__") : id != mount) continue;
      refuse(judged, ReasonCode::server_unavailable,
             fmt::format("The server `{}` is not available: {}.", id, visible(server.problem)));
      call.row.server = id;
      return;
    }
    refuse_unknown(call);
    return;
  }
  const ServerView& view = judged.snapshot->servers.find(tool->ref.server)->second;
  judged.server = &view;
  judged.tool =
      mount.empty() ? judged.snapshot->exposed.at(call.request.name) : view.tools.find(tool->ref.tool)->second;
  call.row.server = tool->ref.server;
  call.row.tool = tool->ref.tool;
  call.row.definition = judged.tool->digest;
  if (is_hidden(call)) refuse_unknown(call);
}

}  // namespace sallyport::gateway::calls
