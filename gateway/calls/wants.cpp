// Between the two halves of the rules (design section 3, step 7): the evidence that require rules want, and the hooks.
// Fetched only if nothing denied.
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/net/http_client.hpp"
#include "policy/evaluate/hook.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr auto kAllHooks = std::chrono::seconds(60);  // of one call, together

std::string setting_of(std::string_view rule, std::string_view principal) {
  return fmt::format("evidence/{}/{}", quote(rule), quote(principal));
}

// What was kept when an evidence tool gave the wanted result.
struct KeptEvidence {
  std::string receipt, server, tool, definition, scope;
  std::string wanted;  // the condition that its result fulfilled
  std::string state;   // digest of the server's own revision; empty: its contract read none
  std::uint64_t revision = 0;
};

std::optional<KeptEvidence> parse(const std::string& text) {
  boost::system::error_code ec;
  const bj::value root = bj::parse(text, ec);
  if (ec || !root.is_object()) return std::nullopt;
  const auto member = [&](const char* name) {
    const auto* value = root.as_object().if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  const auto* revision = root.as_object().if_contains("revision");
  if (revision == nullptr || !revision->is_int64()) return std::nullopt;
  return KeptEvidence{
      member("receipt"), member("server"), member("tool"),  member("definition"),
      member("scope"),   member("wanted"), member("state"), static_cast<std::uint64_t>(revision->as_int64())};
}

}  // namespace

// Whether a write that touches the scope is under way or unknown.
bool Calls::write_open(const trust::Scope& scope, std::string_view but_operation) const {
  for (const auto& [id, flight] : flights_) {
    const Call& call = flight->call;
    if (id == but_operation || call.row.is_read || flight->stage != Stage::running) continue;
    if (trust::overlap(call.judged.scope, scope)) return true;
  }
  for (const auto& [id, parked] : parked_) {  // sent, and its server wants to know something before it goes on
    const Call& call = parked.flight->call;
    if (id != but_operation && !call.row.is_read && trust::overlap(call.judged.scope, scope)) return true;
  }
  return std::ranges::any_of(unknowns_, [&](const OperationRow& row) {
    if (row.unknown != Unknown::lost || row.server != scope.server) return false;
    const auto touched = trust::Scope::from_key(row.scope);
    return !touched || trust::overlap(*touched, scope);
  });
}

void Calls::weigh(Call& call) const {
  calls::weigh(call, snapshots_.current(), *this);
  call.judged.epoch = epoch_;
}

// Everything that is in force now: weighed (unless that was just done), what rules want fetched, and concluded.
asio::awaitable<void> Calls::decide(FlightPtr flight) {
  Call& call = flight->call;
  const bool weighed = call.judged.snapshot && !call.judged.concluded && call.judged.snapshot == snapshots_.current() &&
                       call.judged.epoch == epoch_;
  if (!weighed) weigh(call);
  std::vector<policy::EvidenceFound> evidence;
  std::vector<policy::HookAnswer> hooks;
  if (!call.judged.refused() && !call.judged.weighed.evidence.empty()) evidence = co_await find_evidence(flight);
  if (!call.judged.refused() && !call.judged.weighed.hooks.empty()) hooks = co_await ask_hooks(flight);
  calls::conclude(call, evidence, hooks, *this);
  const bool bound =
      std::ranges::any_of(call.judged.decision.asks, [](const ApprovalTerms& terms) { return terms.revision; });
  const bool asks = !call.judged.refused() && call.judged.decision.verdict == Verdict::ask;
  if (asks && bound) co_await read_revision(call);
  if (asks && call.judged.tool->contract && call.judged.tool->contract->revision) {
    auto found = co_await server_revision(call);
    if (found) {
      call.judged.server_revision = std::move(*found);
    } else {
      refuse(call.judged, ReasonCode::server_unavailable,
             fmt::format("The revision that an approval is bound to cannot be read: {}.", found.error().message));
    }
  }
  call.judged.concluded = true;
  call.decided = clock_.now();
}

// The scope's revision, for asks that are bound to it.
asio::awaitable<void> Calls::read_revision(Call& call) {
  std::uint64_t revision = 0;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    revision = tx.revision(call.row.server, call.row.scope);
    return {};
  });
  if (read) {
    call.judged.revision = revision;
  } else {
    refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot read its records.");
  }
}

namespace {

// The tool that gave the evidence, if it is still the same one.
const Tool* same_tool(const Snapshot& snapshot, const KeptEvidence& kept) {
  const auto server = snapshot.servers.find(kept.server);
  if (server == snapshot.servers.end()) return nullptr;
  const auto tool = server->second.tools.find(kept.tool);
  const bool same = tool != server->second.tools.end() && tool->second->state == ToolState::pinned &&
                    tool->second->digest == kept.definition;
  return same ? tool->second.get() : nullptr;
}

}  // namespace

// What the principal has to show for each rule: found and current, or why not. A store that cannot be read: nothing.
asio::awaitable<std::vector<Calls::EvidenceState>> Calls::current_evidence(OperationRow cause,
                                                                           std::vector<EvidenceWanted> wanted) {
  std::vector<std::optional<KeptEvidence>> kept;
  std::vector<std::uint64_t> revisions;
  std::vector<std::string> arguments;  // of the call that reads the server's own revision
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    kept.clear();
    revisions.clear();
    arguments.clear();
    for (const EvidenceWanted& one : wanted) {
      const std::string name = setting_of(one.rule, cause.principal);
      const auto text = tx.setting(name);
      arguments.push_back(tx.sealed(name, "revision").value_or(std::string()));
      auto entry = text ? parse(*text) : std::nullopt;
      revisions.push_back(entry ? tx.revision(entry->server, entry->scope) : 0);
      kept.push_back(std::move(entry));
    }
    return {};
  });
  kept.resize(wanted.size());
  revisions.resize(wanted.size());
  arguments.resize(wanted.size());
  const auto snapshot = snapshots_.current();
  std::vector<EvidenceState> states;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EvidenceState state{{wanted[i].rule, false, {}, "there is no such result of this client yet"}, std::nullopt};
    const auto& evidence = kept[i];
    if (!read) state.found.words = "the gateway cannot read its records";
    if (evidence && evidence->server == wanted[i].server && evidence->tool == wanted[i].tool) {
      const auto scope = trust::Scope::from_key(evidence->scope);
      const policy::Rule* rule = snapshot->policy->rule(wanted[i].rule);
      const Tool* tool = same_tool(*snapshot, *evidence);
      if (rule == nullptr || !rule->evidence || rule->evidence->text != evidence->wanted) {
        state.found.words = "the rule wants another result now";
      } else if (tool == nullptr) {
        state.found.words = "the tool that gave it is another now";
      } else if (revisions[i] != evidence->revision) {
        state.found.words = fmt::format("it is older than the scope's revision {}", revisions[i]);
      } else if (!scope || write_open(*scope, cause.id)) {
        state.found.words = "a write that touches it is still open";
      } else {
        state.found.found = true;
        state.found.receipt = evidence->receipt;
        state.basis =
            EvidenceBasis{wanted[i].rule,  evidence->receipt,  evidence->server,
                          evidence->scope, evidence->revision, {evidence->tool, evidence->state, arguments[i]}};
        cause.server = evidence->server;
        const auto moved = co_await state_moved(cause, tool->contract.get(), state.basis->state);
        if (moved) state = {{wanted[i].rule, false, {}, *moved}, std::nullopt};
      }
    }
    states.push_back(std::move(state));
  }
  co_return states;
}

asio::awaitable<std::vector<policy::EvidenceFound>> Calls::find_evidence(FlightPtr flight) {
  Call& call = flight->call;
  const std::vector<EvidenceState> states = co_await current_evidence(call.row, call.judged.weighed.evidence);
  std::vector<policy::EvidenceFound> found;
  for (const EvidenceState& state : states) {
    if (state.basis) call.judged.evidence.push_back(*state.basis);
    found.push_back(state.found);
  }
  co_return found;
}

asio::awaitable<std::vector<policy::HookAnswer>> Calls::ask_hooks(FlightPtr flight) {
  Call& call = flight->call;
  const std::vector<HookWanted> wanted = call.judged.weighed.hooks;
  const CallFacts facts = facts_of(call);
  if (!hooks_) hooks_ = std::make_unique<HttpClient>(loop_);
  std::vector<policy::HookAnswer> answers;
  const Deadline all = Deadline::after(kAllHooks);
  for (const HookWanted& hook : wanted) {
    policy::HookAnswer answer;
    answer.rule = hook.rule;
    const Deadline deadline = earlier(all, Deadline::after(hook.timeout));
    HttpClientRequest request;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json");
    request.body = policy::hook_document(hook.rule, facts);
    auto url = parse_url(hook.url);
    if (!url) {
      answer.message = url.error().message;
      answers.push_back(std::move(answer));
      continue;
    }
    request.url = std::move(*url);
    auto response = co_await hooks_->send(std::move(request), deadline);
    if (!response) {
      answer.message = response.error().message;
    } else if (response->status() != 200) {
      answer.message = fmt::format("it answered with status {}", response->status());
    } else {
      auto body = co_await response->read_all(policy::kMaxHookAnswer, deadline);
      if (body) {
        answer = policy::parse_hook_answer(hook.rule, std::move(*body));
      } else {
        answer.message = body.error().message;
      }
    }
    if (answer.decision == policy::HookAnswer::Decision::failed)
      log::warning("hook.failed", {{"rule", hook.rule}, {"reason", answer.message}});
    answers.push_back(std::move(answer));
  }
  co_return answers;
}

// A repeat is told nothing that a hook denies now: denials are weighed before a replay, asks and evidence are not.
asio::awaitable<void> Calls::deny_repeat(FlightPtr flight) {
  Call& call = flight->call;
  if (call.judged.weighed.hooks.empty()) co_return;
  const std::vector<policy::HookAnswer> answers = co_await ask_hooks(flight);
  policy::Weighed hooks_alone;
  hooks_alone.hooks = call.judged.weighed.hooks;
  for (const MatchedRule& rule : call.judged.weighed.rules) {
    if (rule.kind == RuleKind::hook) hooks_alone.rules.push_back(rule);
  }
  const Decision decision = policy::conclude(*call.judged.snapshot->policy, hooks_alone, {}, answers);
  for (const Reason& reason : decision.reasons) {
    if (reason.rule.empty()) continue;  // of the default: it is no denial of a hook
    refuse(call.judged, reason.code, reason.message, reason.rule);
  }
}

// Rules of the policy in force for which this call's result could be evidence.
std::vector<std::string> Calls::evidence_rules(const Call& call) const {
  std::vector<std::string> rules;
  if (!call.judged.tool || call.judged.tool->state != ToolState::pinned) return rules;
  for (const policy::Rule& rule : call.judged.snapshot->policy->rules) {
    if (rule.evidence && rule.evidence->server == call.row.server && rule.evidence->tool == call.row.tool)
      rules.push_back(rule.id);
  }
  return rules;
}

namespace {

// The newest result speaks: what an earlier one showed of the same scope is no evidence beside it.
Status void_contradicted(Tx& tx, const Call& call, const std::vector<std::string>& fulfilled) {
  for (const policy::Rule& rule : call.judged.snapshot->policy->rules) {
    const bool about =
        rule.evidence && rule.evidence->server == call.row.server && rule.evidence->tool == call.row.tool;
    if (!about || std::ranges::find(fulfilled, rule.id) != fulfilled.end()) continue;
    const std::string name = setting_of(rule.id, call.row.principal);
    const auto text = tx.setting(name);
    const auto kept = text ? parse(*text) : std::nullopt;
    const auto scope = kept ? trust::Scope::from_key(kept->scope) : std::nullopt;
    if (!kept || kept->server != call.row.server || (scope && !trust::overlap(*scope, call.judged.scope))) continue;
    if (auto put = tx.put_setting(name, "{}"); !put) return put;
  }
  return {};
}

}  // namespace

// In the commit that concludes the call: keeps it as evidence if the scope did not move meanwhile.
Status Calls::keep_evidence(Tx& tx, const Call& call, const std::vector<std::string>& rules,
                            const std::string& receipt) {
  if (!call.evidence_revision || tx.revision(call.row.server, call.row.scope) != *call.evidence_revision) return {};
  if (auto voided = void_contradicted(tx, call, rules); !voided) return voided;
  for (const std::string& rule : rules) {
    const bj::object kept{{"definition", call.judged.tool->digest},
                          {"receipt", receipt},
                          {"revision", *call.evidence_revision},
                          {"scope", call.row.scope},
                          {"server", call.row.server},
                          {"state", call.evidence_state.value},
                          {"tool", call.row.tool},
                          {"wanted", call.judged.snapshot->policy->rule(rule)->evidence->text}};
    const std::string name = setting_of(rule, call.row.principal);
    if (auto put = tx.put_setting(name, json::canonical(bj::value(kept))); !put) return put;
    const std::string& arguments = call.evidence_state.arguments;
    const Status held =
        arguments.empty() ? tx.drop_sealed(name, "revision") : tx.put_sealed(name, "revision", arguments);
    if (!held) return held;
  }
  return {};
}

}  // namespace sallyport::gateway::calls
