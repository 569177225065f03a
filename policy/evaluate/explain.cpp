#include "policy/evaluate/explain.hpp"

#include <algorithm>

#include "policy/evaluate/judge.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ", ") + visible(item);
  return out;
}

std::string terms_words(const ApprovalTerms& terms) {
  std::string out = terms.by.empty() ? "any approver" : joined(terms.by);
  if (terms.quorum > 1) out += ", " + std::to_string(terms.quorum) + " of them";
  if (terms.not_owner) out += ", not the owner";
  return out + ", within " + sallyport::to_text(terms.expires);
}

// `names another server` says too little where the reader cannot see the rule.
std::string with_names(const Rule& rule, std::string words) {
  if (words == "names another server") return "is about server " + joined(rule.match.servers);
  if (words == "names another tool" && rule.match.tools) {
    std::vector<std::string> names = rule.match.tools->exact;
    for (const std::string& prefix : rule.match.tools->prefixes) names.push_back(prefix + "*");
    return "is about tool " + joined(names);
  }
  if (words == "the principal is in none of its groups") return "is about group " + joined(rule.match.groups);
  return words;
}

std::string names_of(const NameTest& names) {
  std::vector<std::string> all = names.exact;
  for (const std::string& prefix : names.prefixes) all.push_back(prefix + "*");
  return joined(all);
}

// What the match names, in the words of the file: by that the rule speaks of the call.
std::string match_words(const Match& match) {
  std::string out;
  const auto add = [&](std::string_view what, const std::string& names) {
    out += (out.empty() ? "" : ", ") + std::string(what) + (names.empty() ? "" : " " + names);
  };
  if (!match.servers.empty()) add("server", joined(match.servers));
  if (match.tools) add("tool", names_of(*match.tools));
  if (match.uris) add("uri", names_of(*match.uris));
  if (match.principals) add("principal", names_of(*match.principals));
  if (!match.groups.empty()) add("group", joined(match.groups));
  std::vector<std::string> words;
  for (const EffectCategory effect : match.effects) words.emplace_back(to_string(effect));
  if (!words.empty()) add("effect", joined(words));
  if (match.destructive) add(*match.destructive ? "destructive" : "not destructive", {});
  if (!match.labels.empty()) add("label", joined(match.labels));
  if (match.pinned) add(*match.pinned ? "accepted definitions" : "definitions that are not accepted", {});
  words.clear();
  if (match.arguments) {
    for (const auto& entry : match.arguments->entries()) words.push_back(entry.name + (entry.optional ? "?" : ""));
    add("arguments", joined(words));
  }
  if (match.paths) add("paths", {});
  if (match.any_argument) add("any argument", {});
  return out.empty() ? "every call" : out;
}

std::string place_of(const Rule& rule) {
  if (rule.position.line == 0) return {};
  const std::size_t slash = rule.file.rfind('/');
  const std::string name = rule.file.substr(slash == std::string::npos ? 0 : slash + 1);
  return (name.empty() ? "line " : visible(name) + ":") + std::to_string(rule.position.line);
}

std::string matched_words(const Rule& rule, const Judged& judged) {
  switch (rule.kind) {
    case RuleKind::ask:
      return judged.words + (judged.verdict == Verdict::ask ? "; answered by " + terms_words(rule.approval) : "");
    case RuleKind::require:
      return judged.words + "; needs a fresh result of `" + visible(rule.evidence->tool) + "` of `" +
             visible(rule.evidence->server) + "`";
    case RuleKind::hook:
      return judged.words + "; asks " + visible(rule.hook->url);
    default:
      return judged.words;
  }
}

}  // namespace

Explanation explain(const Policy& policy, const CallFacts& facts) {
  Explanation out;
  out.decision = evaluate(policy, facts);
  Judging judging(facts);
  for (const Rule& rule : policy.rules) {
    Judged judged = judge_rule(rule, judging, true);
    RuleLine line{.id = rule.id,
                  .kind = rule.kind,
                  .at = {},
                  .matched = judged.matched,
                  .verdict = judged.verdict,
                  .words = {},
                  .pointer = {},
                  .has_pointer = false};
    line.at = place_of(rule);
    constexpr std::string_view kMatches = "matches";
    if (judged.matched) judged.words.insert(kMatches.size(), " (" + match_words(rule.match) + ")");
    line.words = judged.matched ? matched_words(rule, judged) : with_names(rule, std::move(judged.words));
    line.has_pointer = !judged.pointer.empty();
    line.pointer = std::move(judged.pointer);
    out.rules.push_back(std::move(line));
  }
  if (judging.work.exhausted())
    out.notes.emplace_back("The bound on work was reached: the rules refuse such a call (RULE_FAILED).");
  const Weighed weighed = weigh(policy, facts);
  if (!weighed.denied && !weighed.evidence.empty())
    out.notes.emplace_back("Evidence was not looked up here: it counts as missing.");
  if (!weighed.denied && !weighed.hooks.empty())
    out.notes.emplace_back("Hooks were not asked here: without an answer they deny.");
  if (!facts.pinned && facts.method == Method::tools_call)
    out.notes.emplace_back("The definition is not pinned: no rule can allow it.");
  if (facts.effect.category == EffectCategory::unrated) {
    out.notes.emplace_back(
        "The tool is unrated: for deny, ask and require it counts as every effect, for allow as none.");
  }
  if (out.decision.by_default) {
    out.notes.push_back("No deny, ask or allow matched: the policy's default, " +
                        std::string(to_string(policy.default_verdict)) + ", decides.");
  }
  return out;
}

std::string to_text(const Explanation& explanation) {
  std::string out = "verdict: " + std::string(to_string(explanation.decision.verdict)) + "\n";
  const auto section = [&](bool matched, std::string_view title) {
    std::string lines;
    for (const RuleLine& line : explanation.rules) {
      if (line.matched != matched) continue;
      lines += "  " + visible(line.id) + " (" + std::string(to_string(line.kind)) +
               (line.at.empty() ? "" : ", " + line.at) + "): " + line.words + "\n";
    }
    if (!lines.empty()) out += std::string(title) + "\n" + lines;
  };
  section(true, "matched:");
  section(false, "did not match:");
  for (const std::string& note : explanation.notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace sallyport::policy
