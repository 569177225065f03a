// `policy replay`: which recorded calls another policy would have decided otherwise, by rule; and how many it cannot
// tell.
#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/policy_files.hpp"
#include "gateway/app/recorded.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/cli/control_client.hpp"
#include "gateway/cli/credential.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/storage/state_folder.hpp"
#include "policy/evaluate/outlook.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostShown = 20;  // receipts of one change

// The vault of a running owner, for whoever may read it (auditor); each reading leaves a receipt there.
class Vault {
 public:
  explicit Vault(const cli::Invocation& invocation) {
    auto folder = state_folder_of(invocation);
    if (!folder || (invocation.url.empty() && !StateFolder::owner(*folder))) {
      closed_ = "no gateway runs";
      return;
    }
    auto target = cli::ControlTarget::make(invocation.url, *folder + "/control.sock", invocation.ca_file);
    if (!target) {
      closed_ = target.error().message;
      return;
    }
    const Environment environment = process_environment();
    const auto variable = [&](std::string_view name) { return environment(std::string(name)); };
    auto token = cli::find_credential(invocation.token_file, target->name(), variable);
    if (token) {
      client_.emplace(std::move(*target), std::move(*token));
    } else {
      closed_ = token.error().message;
    }
  }
  // Why no arguments are to be had at all; empty: some may be.
  [[nodiscard]] const std::string& closed() const { return closed_; }
  // The whole arguments of that operation; null: they are not there, not for this person, or redacted.
  std::shared_ptr<const json::Document> arguments(const std::string& operation) {
    if (!client_ || operation.empty()) return nullptr;
    auto answer = client_->post("/api/v1/receipts/" + operation + "/open", "{}");
    if (!answer) {
      if (answer.error().code == ErrorCode::forbidden) {
        closed_ = answer.error().message;
        client_.reset();
      }
      return nullptr;
    }
    auto document = json::Document::parse(std::move(*answer));
    if (!document) return nullptr;
    const json::Value text = document->root().find("arguments");
    const json::Value redacted = document->root().find("redacted");
    if (!text || !text.is_string() || (redacted && redacted.size() > 0)) return nullptr;
    auto arguments = json::Document::parse(text.string());
    return arguments ? std::make_shared<const json::Document>(std::move(*arguments)) : nullptr;
  }

 private:
  std::optional<cli::ControlClient> client_;
  std::string closed_;
};

// The rules that want evidence or ask a hook, and mean in `tried` what they mean in `now`: of these a receipt tells
// what they said. Another rule under an old id said nothing yet.
std::set<std::string> same_wants(const policy::Policy& now, const policy::Policy& tried) {
  std::set<std::string> out;
  for (const policy::Rule& rule : tried.rules) {
    if (!rule.evidence && !rule.hook) continue;
    const policy::Rule* old = now.rule(rule.id);
    if (old == nullptr || old->kind != rule.kind) continue;
    const bool same = rule.hook ? old->hook->url == rule.hook->url
                                : old->evidence->server == rule.evidence->server &&
                                      old->evidence->tool == rule.evidence->tool &&
                                      old->evidence->text == rule.evidence->text;
    if (same) out.insert(rule.id);
  }
  return out;
}

struct Change {
  Verdict before, after;
  std::string rules;  // that give it now
  friend auto operator<=>(const Change&, const Change&) = default;
};

struct Tally {
  std::uint64_t calls = 0, same = 0, looser = 0, stricter = 0, open = 0, not_by_rules = 0;
  std::map<Change, std::pair<std::uint64_t, std::vector<const RecordedCall*>>> changes;
  std::map<std::string, std::uint64_t> open_rules;
};

std::string joined(const std::vector<std::string>& rules) {
  std::string out;
  for (const std::string& rule : rules) out += (out.empty() ? "`" : ", `") + visible(rule) + "`";
  return out.empty() ? "the default" : out;
}

class Replay {
 public:
  Replay(const LoadedConfig& config, const policy::Policy& tried, Vault& vault)
      : words_(*config.settings, *config.book->trust, *config.book->lock),
        lock_(*config.book->lock),
        policy_(tried),
        told_(same_wants(*config.book->policy, tried)),
        vault_(vault) {}

  void take(const RecordedCall& call) {
    tally_.calls += call.count;
    if (!decided_by_rules(call)) {
      tally_.not_by_rules += call.count;
      return;
    }
    const policy::Outlook found = look(call);
    if (!found.verdict) {
      tally_.open += call.count;
      for (const std::string& rule : found.rules) tally_.open_rules[rule] += call.count;
    } else if (*found.verdict == call.verdict) {
      tally_.same += call.count;
    } else {
      (*found.verdict < call.verdict ? tally_.looser : tally_.stricter) += call.count;
      auto& [count, examples] = tally_.changes[{call.verdict, *found.verdict, joined(found.rules)}];
      count += call.count;
      if (examples.size() < kMostShown) {
        kept_.push_back(std::make_unique<const RecordedCall>(call));
        examples.push_back(kept_.back().get());
      }
    }
  }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  policy::Outlook look(const RecordedCall& call) {
    const policy::Vocabulary& vocabulary = words_.vocabulary();
    Principal principal{call.principal, {}, {}, call.principal.starts_with("anonymous:")};
    const auto known = std::ranges::find(vocabulary.principals, call.principal, &Principal::id);
    if (known != vocabulary.principals.end()) principal = *known;
    CallFacts facts;
    facts.principal = &principal;
    facts.method = call.method;
    facts.server = call.server;
    facts.tool = call.tool;
    facts.uri = call.uri;
    facts.effect = call.effect;
    facts.pinned = call.verdict == Verdict::allow || accepted(call);
    const policy::VocabularyServer* server = vocabulary.server(call.server);
    const policy::VocabularyTool* tool = server != nullptr ? server->tool(call.tool) : nullptr;
    if (tool != nullptr) {
      facts.paths = tool->paths;
      facts.input_schema = tool->input_schema;
    }
    std::map<std::string, Verdict> said;
    for (const auto& [rule, verdict] : call.rules) {
      if (told_.contains(rule)) said.emplace(rule, verdict);
    }
    policy::Outlook found = policy::outlook(policy_, facts, false, said);
    if (found.verdict || tool == nullptr) return found;
    const auto arguments = vault_.arguments(call.operation);
    if (!arguments) return found;
    facts.arguments = arguments->root();
    return policy::outlook(policy_, facts, true, said);
  }

  [[nodiscard]] bool accepted(const RecordedCall& call) const {
    const trust::LockServer* server = lock_.server(call.server);
    if (call.method != Method::tools_call) return server != nullptr;
    return server != nullptr && std::ranges::any_of(server->tool(call.tool), [&](const trust::Accepted& accepted) {
             return accepted.digest == call.definition;
           });
  }

  const VocabularyOwner words_;
  const trust::LockFile& lock_;
  const policy::Policy& policy_;
  const std::set<std::string> told_;
  Vault& vault_;
  Tally tally_;
  std::vector<std::unique_ptr<const RecordedCall>> kept_;
};

std::string report(const Tally& tally) {
  std::string out;
  for (const auto& [change, found] : tally.changes) {
    out += fmt::format("{}: {} became {} by {}: {} calls\n", change.after < change.before ? "looser" : "stricter",
                       to_string(change.before), to_string(change.after), change.rules, found.first);
    for (const RecordedCall* call : found.second) {
      out += fmt::format("  {}  {}  {}/{}\n", visible(call->receipt), visible(call->principal), visible(call->server),
                         visible(call->tool.empty() ? call->uri : call->tool));
    }
    if (found.first > found.second.size()) out += fmt::format("  … {} in all\n", found.first);
  }
  for (const auto& [rule, count] : tally.open_rules)
    out += fmt::format("cannot tell: `{}` looks at what is gone, in {} calls\n", visible(rule), count);
  return out + fmt::format("{} calls: {} as before, {} looser, {} stricter, {} cannot tell, {} not decided by rules\n",
                           tally.calls, tally.same, tally.looser, tally.stricter, tally.open, tally.not_by_rules);
}

bj::object report_json(const Tally& tally) {
  bj::array changes;
  for (const auto& [change, found] : tally.changes) {
    bj::array receipts;
    for (const RecordedCall* call : found.second) receipts.emplace_back(visible(call->receipt));
    changes.emplace_back(bj::object{{"after", to_string(change.after)},
                                    {"before", to_string(change.before)},
                                    {"by", change.rules},
                                    {"calls", found.first},
                                    {"receipts", std::move(receipts)}});
  }
  bj::object open;
  for (const auto& [rule, count] : tally.open_rules) open[visible(rule)] = count;
  return {{"calls", tally.calls},       {"cannotTell", tally.open},         {"changes", std::move(changes)},
          {"looser", tally.looser},     {"notByRules", tally.not_by_rules}, {"same", tally.same},
          {"stricter", tally.stricter}, {"undecidedRules", std::move(open)}};
}

}  // namespace

int policy_replay_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  auto tried = invocation.policy_file.empty() ? Result<std::shared_ptr<const policy::Policy>>(config->book->policy)
                                              : load_policy_file(*config, invocation.policy_file);
  if (!tried) return cli::complain(terminal, tried.error().message);
  Vault vault(invocation);
  Replay replay(*config, **tried, vault);
  const Status read = each_recorded(invocation, [&](const RecordedCall& call) { replay.take(call); });
  if (!read)
    return cli::complain(terminal, read.error().message, "name a log as `sallyport receipts export` writes it");
  const Tally& tally = replay.tally();
  if (tally.open > 0 && !vault.closed().empty())
    terminal.err("sallyport: arguments were not to be had: " + visible(vault.closed()) + "\n");
  terminal.out(invocation.json ? json::canonical(bj::value(report_json(tally))) + "\n" : report(tally));
  return tally.looser == 0 ? cli::kYes : cli::kNo;
}

}  // namespace sallyport::gateway
