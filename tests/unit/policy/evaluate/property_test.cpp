// Properties of every policy, tried on random ones (issue 7). A failing case prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "policy/evaluate/compare.hpp"
#include "tests/unit/policy/support/random_policy.hpp"

namespace sallyport::policy::test {
namespace {

TEST_F(PropertyTest, AddingADenyNeverLoosens) {
  for (int i = 0; i < kRounds; ++i) {
    auto rules = some_rules();
    const Shop::Call made = call();
    const CallFacts facts = shop_.facts(made);
    const std::string otherwise = random_.pick<std::string>({"ask", "deny"});
    const V before = verdict(rules, otherwise, facts);
    rules.push_back(rule("deny"));
    ASSERT_GE(verdict(rules, otherwise, facts), before) << trace(rules, made);
  }
}

TEST_F(PropertyTest, AddingAnAllowNeverOverridesADenyOrAnAsk) {
  for (int i = 0; i < kRounds; ++i) {
    auto rules = some_rules();
    const Shop::Call made = call();
    const CallFacts facts = shop_.facts(made);
    const Decision before = shop_.decide(policy_text(rules, "ask"), made);
    rules.push_back(rule("allow"));
    const V after = verdict(rules, "ask", facts);
    if (!before.by_default) {
      ASSERT_EQ(after, before.verdict) << trace(rules, made);
    }
  }
}

TEST_F(PropertyTest, NeitherOrderNorFilesMatter) {
  for (int i = 0; i < kRounds; ++i) {
    auto rules = some_rules();
    const Shop::Call made = call();
    const CallFacts facts = shop_.facts(made);
    const V before = verdict(rules, "ask", facts);
    random_.shuffle(rules);
    ASSERT_EQ(verdict(rules, "ask", facts), before) << trace(rules, made);
    const auto cut = rules.begin() + random_.below(static_cast<int>(rules.size()) + 1);
    const std::string first = "{\"rules\":[" + join({rules.begin(), cut}) + "]}";
    const std::string second = "{\"default\":\"ask\",\"rules\":[" + join({cut, rules.end()}) + "]}";
    const std::vector<Source> sources{{"a", shop_.parse(first).root()}, {"b", shop_.parse(second).root()}};
    const LoadedPolicy split = load(sources, shop_.vocabulary);
    ASSERT_TRUE(split.ok()) << text_of(split.faults);
    ASSERT_EQ(evaluate(*split.policy, facts).verdict, before) << trace(rules, made);
  }
}

TEST_F(PropertyTest, AnUndeterminedConditionNeverLoosens) {
  for (int i = 0; i < kRounds; ++i) {
    const auto rules = some_rules();
    Shop::Call made{
        .server = "orders", .tool = "refund", .principal = random_.pick<std::string>({"agent:ci", "agent:two"})};
    made.arguments = call_arguments("@");
    const std::string otherwise = random_.pick<std::string>({"ask", "deny"});
    const auto with = [&](const std::string& amount) {
      Shop::Call each = made;
      each.arguments.replace(each.arguments.find('@'), 1, amount);
      return verdict(rules, otherwise, shop_.facts(each));
    };
    for (const char* undetermined : {"9007199254740993", "\"5\"", "50.0000000000000000001"}) {
      const V verdict_undetermined = with(undetermined);
      for (const char* amount : {"1", "5", "50", "99", "1000"})
        ASSERT_GE(verdict_undetermined, with(amount)) << amount << trace(rules, made);
    }
  }
}

// A random value, the closed condition that names all of it, and places where a member could be added.
struct Shaped {
  std::string value;
  std::string condition;
};

class Shaper {
 public:
  explicit Shaper(Random& random) : random_(random) {}
  // `extra`: the how-manieth object gets one member more; counts down.
  Shaped make(int depth, int& extra) {
    const int kind = depth == 0 ? 0 : random_.below(4);
    if (kind == 1) {
      Shaped element = make_fixed(depth - 1, extra);
      return {"[" + element.value + "," + element.value + "]", R"({"items":)" + element.condition + "}"};
    }
    if (kind >= 2) return object(depth, extra, true);
    return {"5", random_.chance(50) ? "5" : "{\"minimum\":1}"};
  }
  Shaped object(int depth, int& extra, bool as_members) {
    std::string value;
    std::string condition;
    const int members = 1 + random_.below(3);
    const bool here = extra-- == 0;
    for (int i = 0; i < members; ++i) {
      const std::string name = "m" + std::to_string(i);
      const Shaped inner = make(depth - 1, extra);
      value += (i == 0 ? "\"" : ",\"") + name + "\":" + inner.value;
      condition += (i == 0 ? "\"" : ",\"") + name + (random_.chance(30) ? "?" : "") + "\":" + inner.condition;
    }
    if (here) value += random_.pick<std::string>({R"(,"extra":5)", R"(,"M9":null)", R"(,"m0?":5)"});
    return {"{" + value + "}", as_members ? R"({"members":{)" + condition + "}}" : "{" + condition + "}"};
  }

 private:
  Shaped make_fixed(int depth, int& extra) { return make(depth, extra); }
  Random& random_;
};

TEST_F(PropertyTest, AnUnnamedArgumentAtAnyDepthNeverMatchesAnAllow) {
  int refused = 0;
  for (int i = 0; i < kRounds * 3; ++i) {
    const unsigned seed = seed_ + static_cast<unsigned>(i);
    const auto shape = [&](int extra) {
      Random random(seed);
      Shaper shaper(random);
      int left = extra;
      Shaped out = shaper.object(4, left, false);
      return std::pair(out, left < 0 && extra >= 0);
    };
    const auto judge = [&](const Shaped& shaped) {
      FaultList faults("f");
      const auto conditions = ArgumentConditions::compile(shop_.parse(shaped.condition).root(),
                                                          CompileContext{faults, Place::loosening, true, nullptr});
      EXPECT_TRUE(conditions) << shaped.condition;
      return conditions->judge(shop_.parse(shaped.value).root());
    };
    const Shaped exact = shape(-1).first;
    ASSERT_EQ(judge(exact), Truth::yes) << "seed " << seed << " " << exact.condition << " " << exact.value;
    for (int extra = 0; extra < 8; ++extra) {
      const auto [more, added] = shape(extra);
      if (!added) break;
      ASSERT_NE(judge(more), Truth::yes) << "seed " << seed << " " << more.condition << " " << more.value;
      ++refused;
    }
  }
  EXPECT_GT(refused, kRounds);
}

// A second opinion on the whole of it: no index, no early end, written from the design alone.
class Reference {
 public:
  explicit Reference(const CallFacts& facts) : facts_(facts) {}

  V decide(json::Value policy) {
    bool deny = false;
    bool ask = false;
    bool doubtful = false;
    bool allow = false;
    for (const json::Value rule : policy.find("rules").elements()) {
      if (const json::Value match = rule.find("deny")) deny = deny || (holds(match, true) && !excepted(rule, false));
      if (const json::Value match = rule.find("allow"))
        allow = allow || (may_allow() && holds(match, false) && !excepted(rule, true));
      const json::Value match = rule.find("ask");
      if (!match || !holds(match, true) || excepted(rule, false)) continue;
      const json::Value allow_if = rule.find("allowIf");
      if (!sure(rule, match)) {
        doubtful = true;
      } else {
        (allow_if && may_allow() && holds(allow_if, false) ? allow : ask) = true;
      }
    }
    if (deny) return V::deny;
    if (ask) return V::ask;
    if (allow) return doubtful ? V::ask : V::allow;
    return policy.find("default").equals("deny") ? V::deny : V::ask;
  }

 private:
  enum class T : std::uint8_t { no, maybe, yes };
  bool may_allow() const {
    return facts_.pinned && (!facts_.principal->anonymous || facts_.effect.category == EffectCategory::read);
  }
  bool excepted(json::Value rule, bool tightens) { return rule.find("unless") && holds(rule.find("unless"), tightens); }

  // What only might be spoken of is not loosened by it.
  bool sure(json::Value rule, json::Value match) {
    const auto arguments = match.find("arguments");
    const auto unless = rule.find("unless");
    const auto inner = unless ? unless.find("arguments") : json::Value();
    const bool names = unless && names_hold(unless);
    return (!arguments || judge(arguments, false) == T::yes) && (!names || !inner || judge(inner, true) == T::no);
  }

  static bool any_of(json::Value list, auto test) {
    if (!list.is_array()) return test(list.string());
    for (const json::Value item : list.elements()) {
      if (test(item.string())) return true;
    }
    return false;
  }

  bool names_hold(json::Value unless) {
    const json::Value tool = unless.find("tool");
    return !tool || tool.equals(facts_.tool);
  }

  bool holds(json::Value match, bool tightens) {
    for (const json::Member member : match.members()) {
      const std::string name = member.name();
      if (name == "server" && !any_of(member.value, [&](const std::string& id) { return id == facts_.server; }))
        return false;
      if (name == "tool" && !any_of(member.value, [&](const std::string& tool) {
            return tool.ends_with('*') ? facts_.tool.starts_with(tool.substr(0, tool.size() - 1)) : tool == facts_.tool;
          })) {
        return false;
      }
      if (name == "principal" &&
          !any_of(member.value, [&](const std::string& id) { return id == facts_.principal->id; }))
        return false;
      if (name == "group" &&
          !any_of(member.value, [&](const std::string& id) { return facts_.principal->in_group(id); }))
        return false;
      if (name == "labels" &&
          !any_of(member.value, [&](const std::string& label) { return facts_.effect.has_label(label); }))
        return false;
      if (name == "destructive" && member.value.boolean() != facts_.effect.destructive) return false;
      if (name == "effect" && !any_of(member.value, [&](const std::string& effect) {
            return facts_.effect.category == EffectCategory::unrated ? tightens
                                                                     : effect == to_string(facts_.effect.category);
          })) {
        return false;
      }
      if (name == "arguments") {
        const T truth = judge(member.value, !tightens);
        if (truth == T::no || (truth == T::maybe && !tightens)) return false;
      }
    }
    return true;
  }

  T judge(json::Value conditions, bool closed) {
    T out = T::yes;
    for (const json::Member member : conditions.members()) {
      std::string name = member.name();
      const bool optional = name.ends_with('?');
      if (optional) name.pop_back();
      json::Value value = facts_.arguments.find(name);
      const json::Value schema = facts_.input_schema ? facts_.input_schema.at("/properties/" + name) : json::Value();
      if (!value && schema) value = schema.find("default");
      T here = T::maybe;
      if (value) {
        here = one(member.value, value);
      } else if (optional) {
        here = T::yes;
      } else if (closed || (member.value.is_object() && member.value.size() == 0) || !schema) {
        here = T::no;
      }
      out = std::min(out, here);
    }
    if (!closed) return out;
    for (const json::Member member : facts_.arguments.members()) {
      if (!conditions.find(member.name()) && !conditions.find(member.name() + "?")) return T::no;
    }
    return out;
  }

  T one(json::Value condition, json::Value value) {
    if (condition.is_array()) {
      T out = T::no;
      for (const json::Value item : condition.elements()) out = std::max(out, one(item, value));
      return out;
    }
    if (!condition.is_object()) {
      if (condition.kind() != value.kind()) return T::maybe;
      return same(condition, value) ? T::yes : T::no;
    }
    T out = T::yes;
    for (const json::Member member : condition.members()) {
      const std::string name = member.name();
      const bool string = name == "maxLength";
      if (string ? !value.is_string() : !value.is_number()) return T::maybe;
      const double bound = member.value.real();
      const double number = string ? static_cast<double>(value.string().size()) : value.real();
      const bool good = name == "minimum"            ? number >= bound
                        : name == "exclusiveMinimum" ? number > bound
                                                     : number <= bound;
      if (!good) out = T::no;
    }
    return out;
  }

  const CallFacts& facts_;
};

TEST_F(PropertyTest, AgreesWithASlowReference) {
  std::array<int, 3> seen{};
  for (int i = 0; i < kRounds * 3; ++i) {
    const auto rules = some_rules();
    const Shop::Call made = call();
    const CallFacts facts = shop_.facts(made);
    const std::string otherwise = random_.pick<std::string>({"ask", "deny"});
    const V expected = Reference(facts).decide(shop_.parse(policy_text(rules, otherwise)).root());
    ++seen[static_cast<std::size_t>(expected)];
    ASSERT_EQ(verdict(rules, otherwise, facts), expected) << trace(rules, made);
  }
  for (const int count : seen) EXPECT_GT(count, kRounds / 20) << "the calls must be mixed enough to prove something";
}

TEST_F(PropertyTest, WhatComparesAsTighteningNeverLoosensACall) {
  int tightening = 0;
  for (int i = 0; i < kRounds * 2; ++i) {
    auto rules = some_rules();
    const std::string otherwise = random_.pick<std::string>({"ask", "deny"});
    const auto before = shop_.policy(policy_text(rules, otherwise));
    switch (random_.below(6)) {
      case 4: {  // a deny in the place of another
        std::string& old = random_.pick(rules);
        const auto from = old.find(',') + 1;
        const auto verb = old.substr(from, old.find(':', from) - from);
        if (verb != "\"allow\"" && old.find("allowIf") == std::string::npos) old.replace(from, verb.size(), "\"deny\"");
        break;
      }
      case 5: {  // one exception more or less
        std::string& old = rules.front();
        const auto from = old.find(R"(,"unless":)");
        if (from == std::string::npos) {
          old.insert(old.size() - 1, R"(,"unless":{"tool":"get_*"})");
        } else if (old.find("allowIf") == std::string::npos) {
          old.erase(from, old.size() - 1 - from);
        }
        break;
      }
      case 0: {  // a wider one
        std::string& wider = rules.front();
        const auto from = wider.find(R"("tool":"refund",)");
        if (from != std::string::npos) wider.replace(from, 16, "");
        break;
      }
      case 1:
        rules.push_back(any_rule());
        break;
      case 2:
        rules.erase(rules.begin() + random_.below(static_cast<int>(rules.size())));
        break;
      default: {  // another rule under the same id
        std::string other = any_rule();
        std::string& old = random_.chance(50) ? rules.front() : rules.back();
        const auto id = [](const std::string& text) { return text.substr(0, text.find(',')); };
        old = id(old) + other.substr(other.find(','));
      }
    }
    const auto after = shop_.policy(policy_text(rules, otherwise));
    if (compare(*before, *after).may_loosen) continue;
    ++tightening;
    for (int k = 0; k < 10; ++k) {
      const Shop::Call made = call();
      const CallFacts facts = shop_.facts(made);
      ASSERT_GE(evaluate(*after, facts).verdict, evaluate(*before, facts).verdict) << trace(rules, made);
    }
  }
  EXPECT_GT(tightening, kRounds / 20);
}

}  // namespace
}  // namespace sallyport::policy::test
