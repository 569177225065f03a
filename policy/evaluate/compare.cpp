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

// Whether every exception in `now` lies within one in `before`.
bool no_new(const std::vector<Match>& now, const std::vector<Match>& before) {
  return std::ranges::all_of(now, [&](const Match& match) {
    return std::ranges::any_of(before, [&](const Match& old) { return covers(old, match); });
  });
}

bool same_exceptions(const std::vector<Match>& a, const std::vector<Match>& b) {
  const auto all_in = [](const std::vector<Match>& some, const std::vector<Match>& others) {
    return std::ranges::all_of(some, [&](const Match& match) {
      return std::ranges::any_of(others, [&](const Match& other) { return same_match(match, other); });
    });
  };
  return all_in(a, b) && all_in(b, a);
}

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

// Whether `after` decides no call more loosely than `before`: what tightens speaks of at least all that it spoke of, at
// least as strictly; an allow of nothing more. A deny may take the place of whatever tightened less.
bool only_stricter(const Rule& before, const Rule& after) {
  if (before.kind == RuleKind::allow && after.kind == RuleKind::allow)
    return covers(before.match, after.match) && no_new(before.unless, after.unless);
  const bool becomes_deny = after.kind == RuleKind::deny && before.kind != RuleKind::allow;
  if (before.kind != after.kind && !becomes_deny) return false;
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

// Whether every call that had no room before has none now, by the same counters.
bool only_tighter(const BudgetRule& before, const BudgetRule& after) {
  const Budget& was = before.budget;
  const Budget& is = after.budget;
  const auto at_most = [](const auto& now, const auto& then) { return !then || (now && *now <= *then); };
  const bool counts_all = !after.match || (before.match && covers(*after.match, *before.match));
  const bool as_long = !is.window || (was.window && *is.window >= *was.window);
  const bool same_sum = !was.sum || was.sum == is.sum;
  const bool as_slow = !was.rate || (is.rate && is.rate->per == was.rate->per && is.rate->count <= was.rate->count &&
                                     is.burst <= was.burst);
  return was.per == is.per && counts_all && as_long && same_sum && as_slow && at_most(is.requests, was.requests) &&
         at_most(is.attempts, was.attempts) && at_most(is.max, was.max) && at_most(is.deadline, was.deadline);
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

  // Why a rule that was not there may loosen; nullopt: it only tightens.
  [[nodiscard]] std::optional<std::string_view> opens(const Rule& rule) const {
    switch (rule.kind) {
      case RuleKind::deny:
      case RuleKind::require:
        return std::nullopt;
      case RuleKind::ask:
        if (!rule.allow_if.empty()) return ", and its `allowIf` lets calls pass unasked";
        // An ask takes the place of the default where nothing else matched.
        if (after_.default_verdict == Verdict::deny)
          return ": what it names may now be approved, where the default denied";
        if (!at_least_as_strict(rule.approval, after_.approval))
          return ": its people may answer, where the policy's own terms held";
        return std::nullopt;
      case RuleKind::allow:
        return "";
      case RuleKind::hook:
        return ": it denies no less, but calls and their arguments are shown to its `url`";
    }
    return "";
  }

  void said(const std::string& words, const std::optional<std::string_view>& why) {
    why ? looser(words + std::string(*why) + ".") : stricter(words + ".");
  }

  void added(const Rule& rule) { said(named(rule) + " is new", opens(rule)); }

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
    if (before.kind != after.kind) {
      const std::string words = named(before) + " has become " + named(after);
      // To take an allow away only tightens, so what counts is what came in its place.
      if (before.kind == RuleKind::allow) return said(words, opens(after));
      return only_stricter(before, after) ? stricter(words + ".") : looser(words + ".");
    }
    const std::string what = differences(before, after);
    if (what.empty()) return stricter(named(after) + " has other words, and means the same.");
    if (only_stricter(before, after) && !takes_more(before, after)) {
      const std::string_view how =
          after.kind == RuleKind::allow ? " allows less: " : " speaks of more, or more strictly: ";
      stricter(named(after) + std::string(how) + what + ".");
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
        const std::string words = "the budget `" + visible(rule.budget.id) + "` is ";
        only_tighter(rule, *now) ? stricter(words + "tighter than before.") : looser(words + "another than before.");
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
