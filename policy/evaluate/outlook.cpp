#include "policy/evaluate/outlook.hpp"

#include <algorithm>

#include "policy/evaluate/judge.hpp"

namespace sallyport::policy {
namespace {

// What can be said of one rule. `maybe`: it depends on what is not known.
enum class Speaks : std::uint8_t { no, maybe, yes };

struct Said {
  const Rule* rule = nullptr;
  Speaks speaks = Speaks::no;
  bool allow_if_open = false;        // of an ask: an `allowIf` might hold
  Verdict verdict = Verdict::allow;  // of one that speaks, if all is known
  bool verdict_open = false;         // of a require or hook: what it said is not known
  bool sure = true;                  // of an ask: it takes the default's place
};

bool barred(const CallFacts& facts) {
  return !facts.pinned || (facts.principal != nullptr && facts.principal->anonymous && !facts.effect.is_read());
}

// By names alone: every condition on arguments is open.
Said without_arguments(const Rule& rule, const CallFacts& facts) {
  Said out{.rule = &rule};
  if (!match_names(rule.match, facts) || (rule.kind == RuleKind::allow && barred(facts))) return out;
  out.speaks = rule.match.has_conditions() ? Speaks::maybe : Speaks::yes;
  for (const Match& exception : rule.unless) {
    if (!match_names(exception, facts)) continue;
    if (!exception.has_conditions()) return Said{.rule = &rule};
    out.speaks = Speaks::maybe;
  }
  if (rule.kind == RuleKind::deny) out.verdict = Verdict::deny;
  if (rule.kind != RuleKind::ask) return out;
  out.verdict = Verdict::ask;
  if (barred(facts)) return out;
  for (const Match& match : rule.allow_if) {
    if (!match_names(match, facts)) continue;
    if (!match.has_conditions() && out.speaks == Speaks::yes) out.verdict = Verdict::allow;
    out.allow_if_open = true;
  }
  out.allow_if_open = out.allow_if_open && out.verdict == Verdict::ask;
  return out;
}

Said with_arguments(const Rule& rule, Judging& judging) {
  const Judged judged = judge_rule(rule, judging, false);
  Said out{.rule = &rule};
  if (judged.matched) out.speaks = Speaks::yes;
  out.verdict = judged.verdict;
  out.sure = judged.sure;
  return out;
}

// One way in which what is open could have been: the verdict, by the order of design section 3.
struct Way {
  bool deny = false, ask = false, allow = false, allow_if = false;
};

std::optional<Verdict> say(const Said& said, const Way& way) {
  const RuleKind kind = said.rule->kind;
  if (said.speaks == Speaks::no) return std::nullopt;
  if (said.speaks == Speaks::maybe) {
    const bool on = kind == RuleKind::allow ? way.allow : kind == RuleKind::ask ? way.ask : way.deny;
    if (!on) return std::nullopt;
  }
  if (said.verdict_open)
    return kind == RuleKind::hook && way.ask && !way.deny ? Verdict::ask : way.deny ? Verdict::deny : Verdict::allow;
  if (said.allow_if_open && way.allow_if) return Verdict::allow;
  return said.verdict;
}

Verdict conclude(const Policy& policy, const std::vector<Said>& all, const Way& way) {
  bool asked = false, spoken = false;
  for (const Said& said : all) {
    const auto verdict = say(said, way);
    if (!verdict) continue;
    if (*verdict == Verdict::deny) return Verdict::deny;
    asked = asked || *verdict == Verdict::ask;
    const RuleKind kind = said.rule->kind;
    spoken = spoken || kind == RuleKind::allow || (kind == RuleKind::ask && said.sure);
  }
  if (!spoken) return policy.default_verdict == Verdict::deny ? Verdict::deny : Verdict::ask;
  return asked ? Verdict::ask : Verdict::allow;
}

}  // namespace

Outlook outlook(const Policy& policy, const CallFacts& facts, bool arguments_known,
                const std::map<std::string, Verdict>& recorded) {
  Judging judging(facts);
  std::vector<Said> all;
  for (const std::uint32_t index : policy.index.candidates(facts.server, facts.tool)) {
    const Rule& rule = policy.rules[index];
    Said said = arguments_known ? with_arguments(rule, judging) : without_arguments(rule, facts);
    if (rule.kind == RuleKind::require || rule.kind == RuleKind::hook) {
      const auto then = recorded.find(rule.id);
      said.verdict_open = then == recorded.end();
      if (!said.verdict_open) said.verdict = then->second;
    }
    if (said.speaks != Speaks::no) all.push_back(said);
  }
  Outlook out;
  if (judging.work.exhausted()) {
    out.verdict = Verdict::deny;
    return out;
  }
  bool first = true;
  for (unsigned bits = 0; bits < 16; ++bits) {
    const Way way{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0};
    const Verdict verdict = conclude(policy, all, way);
    if (first) out.verdict = verdict;
    first = false;
    if (out.verdict && *out.verdict != verdict) out.verdict.reset();
  }
  for (const Said& said : all) {
    const bool open = said.speaks == Speaks::maybe || said.verdict_open || said.allow_if_open;
    const bool gives = out.verdict && !open && said.verdict == *out.verdict;
    if (out.verdict ? gives : open) out.rules.push_back(said.rule->id);
  }
  return out;
}

}  // namespace sallyport::policy
