#include "policy/evaluate/judge.hpp"

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string at(const Miss& miss) {
  return miss.pointer.empty() ? miss.words : "`" + visible(miss.pointer) + "` " + miss.words;
}

Judged refuse(std::string words, std::string pointer = {}) {
  return Judged{.matched = false,
                .verdict = Verdict::allow,
                .sure = true,
                .words = std::move(words),
                .pointer = std::move(pointer)};
}

// What holds for every allow, whatever it names (design section 4).
std::optional<std::string> allow_barred(const CallFacts& facts) {
  if (!facts.pinned) {
    return facts.method == Method::tools_call
               ? "an allow holds only for a pinned definition, and this one is not"
               : "an allow holds only for a server with an accepted identity, and this one has none";
  }
  if (facts.principal != nullptr && facts.principal->anonymous && !facts.effect.is_read()) {
    return "an anonymous client can only be allowed what has the effect `read`";
  }
  return std::nullopt;
}

// An ask whose `allowIf` holds says allow; where it does not, why. `sure`: the ask speaks of this call beyond doubt;
// where it only might, nothing of it may loosen.
Verdict ask_verdict(const Rule& rule, bool sure, Judging& judging, Judged* explained) {
  if (rule.allow_if.empty()) return Verdict::ask;
  if (!sure) {
    if (explained != nullptr)
      explained->words += "; its `allowIf` does not count where the ask itself cannot be judged";
    return Verdict::ask;
  }
  const CallFacts& facts = judging.facts;
  if (const auto barred = allow_barred(facts)) {
    if (explained != nullptr) explained->words += "; its `allowIf` does not count: " + *barred;
    return Verdict::ask;
  }
  for (const Match& match : rule.allow_if) {
    Miss miss;
    Miss* say = explained != nullptr ? &miss : nullptr;
    if (match_names(match, facts, say) &&
        judge_conditions(match, facts, judging.schema, judging.work, say) == Truth::yes) {
      if (explained != nullptr) explained->words += "; its `allowIf` holds, so it need not be asked";
      return Verdict::allow;
    }
    if (explained != nullptr) {
      explained->words += "; its `allowIf` does not hold: " + at(miss);
      if (explained->pointer.empty()) explained->pointer = miss.pointer;
    }
  }
  return Verdict::ask;
}

Verdict own_verdict(RuleKind kind) {
  switch (kind) {
    case RuleKind::deny:
      return Verdict::deny;
    case RuleKind::ask:
      return Verdict::ask;
    default:
      return Verdict::allow;
  }
}

}  // namespace

Judged judge_rule(const Rule& rule, Judging& judging, bool explain) {
  const CallFacts& facts = judging.facts;
  Miss miss;
  Miss* say = explain ? &miss : nullptr;
  if (!match_names(rule.match, facts, say)) return refuse(std::move(miss.words));
  if (rule.kind == RuleKind::allow) {
    if (auto barred = allow_barred(facts)) return refuse(std::move(*barred));
  }
  const Truth truth = judge_conditions(rule.match, facts, judging.schema, judging.work, say);
  if (!holds(truth, rule.match.place)) return refuse(explain ? at(miss) : "", std::move(miss.pointer));
  bool sure = truth == Truth::yes;
  for (const Match& exception : rule.unless) {
    Miss inner;
    if (!match_names(exception, facts)) continue;
    const Truth excepted = judge_conditions(exception, facts, judging.schema, judging.work, explain ? &inner : nullptr);
    sure = sure && excepted == Truth::no;
    if (!holds(excepted, exception.place)) continue;
    return refuse(excepted == Truth::yes ? "its `unless` holds" : "its `unless` counts, because " + at(inner),
                  std::move(inner.pointer));
  }
  Judged out{.matched = true, .verdict = own_verdict(rule.kind), .sure = true, .words = {}, .pointer = {}};
  if (explain) {
    out.words = truth == Truth::undetermined ? "matches, because " + at(miss) : "matches";
    if (truth == Truth::undetermined) out.pointer = miss.pointer;
  }
  out.sure = sure;
  if (rule.kind == RuleKind::ask) out.verdict = ask_verdict(rule, sure, judging, explain ? &out : nullptr);
  return out;
}

}  // namespace sallyport::policy
