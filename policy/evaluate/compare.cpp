#include "policy/evaluate/compare.hpp"

#include <algorithm>
#include <unordered_map>

#include "policy/evaluate/words.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string named(const Rule& rule) {
  return "the " + std::string(to_string(rule.kind)) + " `" + visible(rule.id) + "`";
}

// Whether whoever fulfils `a` would have had at least the hurdle of `b`.
bool at_least_as_strict(const ApprovalTerms& a, const ApprovalTerms& b) {
  const bool people = b.by.empty() || (!a.by.empty() && std::ranges::includes(b.by, a.by));
  return people && a.quorum >= b.quorum && a.expires <= b.expires && (a.not_owner || !b.not_owner) &&
         (a.revision || !b.revision) && (!a.grants || b.grants) && (!a.session_user || b.session_user);
}

bool same_match(const Match& a, const Match& b) {
  return a.place == b.place && a.servers == b.servers && a.tools == b.tools && a.principals == b.principals &&
         a.uris == b.uris && a.groups == b.groups && a.effects == b.effects && a.destructive == b.destructive &&
         a.labels == b.labels && a.pinned == b.pinned && a.methods == b.methods &&
         a.conditions_text == b.conditions_text;
}

// Whether every exception in `now` stood in `before` too.
bool no_new(const std::vector<Match>& now, const std::vector<Match>& before) {
  return std::ranges::all_of(now, [&](const Match& match) {
    return std::ranges::any_of(before, [&](const Match& old) { return same_match(match, old); });
  });
}

bool same_exceptions(const std::vector<Match>& a, const std::vector<Match>& b) { return no_new(a, b) && no_new(b, a); }

bool same_evidence(const Rule& a, const Rule& b) {
  if (!a.evidence || !b.evidence) return a.evidence.has_value() == b.evidence.has_value();
  return a.evidence->server == b.evidence->server && a.evidence->tool == b.evidence->tool &&
         a.evidence->text == b.evidence->text;
}

bool same_hook(const Rule& a, const Rule& b) {
  if (!a.hook || !b.hook) return a.hook.has_value() == b.hook.has_value();
  return a.hook->url == b.hook->url && a.hook->timeout == b.hook->timeout;
}

// What differs between two rules of one id and kind, in words; empty: nothing that could decide a call.
std::string differences(const Rule& before, const Rule& after) {
  std::string out;
  const auto add = [&](std::string words) { out += (out.empty() ? "" : "; ") + std::move(words); };
  const std::string was = match_words(before.match), is = match_words(after.match);
  if (was != is) {
    add("it speaks of " + is + " instead of " + was);
  } else if (!same_match(before.match, after.match)) {
    add(before.match.conditions_text == after.match.conditions_text ? "it speaks of other calls"
                                                                    : "its conditions are others");
  }
  if (!same_exceptions(before.unless, after.unless)) add("its `unless` is another");
  if (!same_exceptions(before.allow_if, after.allow_if)) add("its `allowIf` is another");
  const bool asks = after.kind == RuleKind::ask || after.kind == RuleKind::hook;
  if (asks && before.approval != after.approval) {
    const std::string old = terms_words(before.approval), now = terms_words(after.approval);
    add(old == now ? "its approval is another" : "it is answered by " + now + " instead of " + old);
  }
  if (!same_evidence(before, after)) add("it wants other evidence");
  if (!same_hook(before, after)) add("it asks " + visible(after.hook->url) + " within " + to_text(after.hook->timeout));
  if (before.hide != after.hide) add(after.hide ? "what it denies is no longer listed" : "what it denies is listed");
  return out;
}

// Whether `after` speaks of at least all that `before` spoke of, at least as strictly.
bool only_stricter(const Rule& before, const Rule& after) {
  if (before.kind != after.kind) return false;
  if (!covers(after.match, before.match) || !no_new(after.unless, before.unless)) return false;
  switch (after.kind) {
    case RuleKind::deny:
      return true;
    case RuleKind::ask:
      return no_new(after.allow_if, before.allow_if) && at_least_as_strict(after.approval, before.approval);
    case RuleKind::require:
      return before.evidence->server == after.evidence->server && before.evidence->tool == after.evidence->tool &&
             before.evidence->text == after.evidence->text;
    default:
      return false;
  }
}

class Comparison {
 public:
  Comparison(const Policy& before, const Policy& after) : before_(before), after_(after) {}

  Loosening run() {
    terms();
    rules();
    budgets();
    redaction();
    out_.may_loosen = !out_.looser.empty();
    out_.changed = out_.may_loosen || !out_.stricter.empty();
    return std::move(out_);
  }

 private:
  void looser(std::string words) { out_.looser.push_back(std::move(words)); }
  void stricter(std::string words) { out_.stricter.push_back(std::move(words)); }

  void terms() {
    if (before_.default_verdict != after_.default_verdict) {
      after_.default_verdict == Verdict::deny ? stricter("What no rule speaks of is denied instead of asked.")
                                              : looser("What no rule speaks of is asked instead of denied.");
    }
    if (before_.approval == after_.approval) return;
    at_least_as_strict(after_.approval, before_.approval)
        ? stricter("The usual terms of approvals are stricter.")
        : looser("The usual terms of approvals are others: fewer, other or more people may answer, or longer.");
  }

  void added(const Rule& rule) {
    const std::string words = named(rule) + " is new";
    switch (rule.kind) {
      case RuleKind::deny:
      case RuleKind::require:
        return stricter(words + ".");
      case RuleKind::ask:
        if (!rule.allow_if.empty()) return looser(words + ", and its `allowIf` lets calls pass unasked.");
        // An ask takes the place of the default where nothing else matched.
        if (after_.default_verdict == Verdict::deny)
          return looser(words + ": what it names may now be approved, where the default denied.");
        if (!at_least_as_strict(rule.approval, after_.approval)) {
          return looser(words + ": its people may answer, where the policy's own terms held.");
        }
        return stricter(words + ".");
      case RuleKind::allow:
      case RuleKind::hook:
        return looser(words + ".");
    }
  }

  void removed(const Rule& rule) {
    rule.kind == RuleKind::allow ? stricter(named(rule) + " is gone.") : looser(named(rule) + " is gone.");
  }

  // An ask that speaks of more takes the place of the default there, with its people and its `allowIf`.
  bool takes_more(const Rule& before, const Rule& after) const {
    const bool same = same_match(before.match, after.match) && no_new(before.unless, after.unless);
    if (after.kind != RuleKind::ask || same) return false;
    return !after.allow_if.empty() || after_.default_verdict == Verdict::deny ||
           !at_least_as_strict(after.approval, after_.approval);
  }

  void changed(const Rule& before, const Rule& after) {
    if (before.kind != after.kind) return looser(named(before) + " has become " + named(after) + ".");
    const std::string what = differences(before, after);
    if (what.empty()) return stricter(named(after) + " has other words, and means the same.");
    if (only_stricter(before, after) && !takes_more(before, after)) {
      stricter(named(after) + " speaks of more, or more strictly: " + what + ".");
    } else {
      looser(named(after) + " is another than before: " + what + ".");
    }
  }

  void rules() {
    std::unordered_map<std::string_view, const Rule*> old;
    for (const Rule& rule : before_.rules) old.emplace(rule.id, &rule);
    for (const Rule& rule : after_.rules) {
      const auto found = old.find(rule.id);
      if (found == old.end()) {
        added(rule);
        continue;
      }
      // The policy's own terms are inherited, so equal text may still mean other people.
      const bool same = found->second->text == rule.text && found->second->approval == rule.approval;
      if (!same) changed(*found->second, rule);
      old.erase(found);
    }
    for (const Rule& rule : before_.rules) {
      if (old.contains(rule.id)) removed(rule);
    }
  }

  void budgets() {
    for (const BudgetRule& rule : before_.budgets) {
      const BudgetRule* now = after_.budget(rule.budget.id);
      if (now == nullptr) {
        looser("the budget `" + visible(rule.budget.id) + "` is gone.");
      } else if (now->text != rule.text) {
        looser("the budget `" + visible(rule.budget.id) + "` is another than before.");
      }
    }
    for (const BudgetRule& rule : after_.budgets) {
      if (before_.budget(rule.budget.id) == nullptr) stricter("the budget `" + visible(rule.budget.id) + "` is new.");
    }
  }

  void redaction() {
    for (const std::string& pointer : before_.redact) {
      if (!std::ranges::binary_search(after_.redact, pointer))
        looser("`" + visible(pointer) + "` is no longer redacted.");
    }
    for (const std::string& pointer : after_.redact) {
      if (!std::ranges::binary_search(before_.redact, pointer)) stricter("`" + visible(pointer) + "` is redacted.");
    }
  }

  const Policy& before_;
  const Policy& after_;
  Loosening out_;
};

}  // namespace

Loosening compare(const Policy& before, const Policy& after) { return Comparison(before, after).run(); }

}  // namespace sallyport::policy
