#include "policy/evaluate/explain.hpp"

#include "policy/evaluate/judge.hpp"
#include "policy/evaluate/words.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

// `names another server` says too little where the reader cannot see the rule.
std::string with_names(const Rule& rule, std::string words) {
  if (words == "names another server") return "is about server " + joined(rule.match.servers);
  if (words == "names another tool" && rule.match.tools) return "is about tool " + names_words(*rule.match.tools);
  if (words == "the principal is in none of its groups") return "is about group " + joined(rule.match.groups);
  return words;
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
