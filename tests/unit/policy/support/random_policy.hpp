// Random policies and calls over the Shop, for properties. A failing case prints its seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/policy/support/shop.hpp"

namespace sallyport::policy::test {

using V = Verdict;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  template <class T>
  T& pick(std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    std::ranges::shuffle(list, engine_);
  }

 private:
  std::mt19937 engine_;
};

inline std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ",") + item;
  return out;
}

class PropertyTest : public ::testing::Test {
 protected:
  PropertyTest() : seed_(std::random_device{}()), random_(seed_) { RecordProperty("seed", std::to_string(seed_)); }

  std::string names() {
    std::vector<std::string> out;
    if (random_.chance(60)) out.push_back(R"("server":"orders")");
    if (random_.chance(20)) out.push_back(R"("server":["files","orders"])");
    if (out.size() == 2) out.pop_back();
    if (random_.chance(50))
      out.push_back(
          random_.pick<std::string>({R"("tool":"refund")", R"("tool":"re*")", R"("tool":["get_order","refund"])"}));
    if (random_.chance(25))
      out.push_back(random_.pick<std::string>(
          {R"("group":"support")", R"("group":["agents","support"])", R"("principal":"agent:ci")"}));
    if (random_.chance(25))
      out.push_back(random_.pick<std::string>(
          {R"("effect":"read")", R"("effect":["record","file"])", R"("labels":"money")", R"("destructive":true)"}));
    return join(out);
  }
  std::string condition() {
    return random_.pick<std::string>({"5", "50", "[1,5,50]", R"({"minimum":5})", R"({"maximum":50})",
                                      R"({"exclusiveMinimum":5,"maximum":100})", "{}"});
  }
  std::string arguments(bool closed) {
    std::string out = R"("arguments":{"amount":)" + condition();
    if (closed) out += R"(,"order_id":{})";
    if (random_.chance(40))
      out += R"(,"note?":)" + random_.pick<std::string>({R"("a")", R"(["a","b"])", R"({"maxLength":2})"});
    if (random_.chance(30)) out += R"(,"fast?":)" + random_.pick<std::string>({"true", "false"});
    return out + "}";
  }
  // A match that is right for its place. `refund` has the arguments.
  std::string match(bool loosening) {
    if (random_.chance(50)) return R"({"server":"orders","tool":"refund",)" + arguments(loosening) + "}";
    std::string out = names();
    if (loosening && out.find("server") == std::string::npos && out.find("effect") == std::string::npos) {
      out += std::string(out.empty() ? "" : ",") + R"("server":"orders")";
    }
    return "{" + out + "}";
  }
  std::string rule(const std::string& kind) {
    const bool allow = kind == "allow";
    std::string out = R"({"id":"r)" + std::to_string(next_++) + "\",\"" + kind + "\":" + match(allow);
    if (random_.chance(20))
      out += R"(,"unless":)" +
             random_.pick<std::string>({R"({"principal":"agent:two"})", R"({"tool":"get_*"})",
                                        R"({"server":"orders","tool":"refund",)" + arguments(!allow) + "}"});
    if (kind == "ask" && random_.chance(30)) out += R"(,"allowIf":{"tool":"refund",)" + arguments(true) + "}";
    return out + "}";
  }
  std::string any_rule() { return rule(random_.pick<std::string>({"deny", "ask", "allow", "allow"})); }
  std::vector<std::string> some_rules() {
    std::vector<std::string> out;
    for (int i = random_.below(5); i >= 0; --i) out.push_back(any_rule());
    return out;
  }
  std::string policy_text(const std::vector<std::string>& rules, const std::string& verdict) {
    return R"({"default":")" + verdict + R"(","rules":[)" + join(rules) + "]}";
  }
  std::string call_arguments(const std::string& amount) {
    std::string out = R"({"order_id":"1","amount":)" + amount;
    if (random_.chance(40)) out += R"(,"note":)" + random_.pick<std::string>({R"("a")", R"("abc")", "5"});
    if (random_.chance(30)) out += R"(,"fast":)" + random_.pick<std::string>({"true", "false"});
    return out + "}";
  }
  Shop::Call call() {
    Shop::Call out;
    out.server = random_.pick<std::string>({"orders", "orders", "orders", "files"});
    out.tool = out.server == "files" ? random_.pick<std::string>({"read_file", "odd"})
                                     : random_.pick<std::string>({"refund", "refund", "get_order"});
    out.arguments = call_arguments(random_.pick<std::string>({"1", "5", "5.0", "50", "99", "\"5\""}));
    out.principal = random_.pick<std::string>({"agent:ci", "agent:two", "anonymous:7"});
    out.pinned = random_.chance(85);
    return out;
  }
  V verdict(const std::vector<std::string>& rules, const std::string& otherwise, const CallFacts& facts) {
    LoadedPolicy loaded = shop_.load(policy_text(rules, otherwise));
    EXPECT_TRUE(loaded.ok()) << policy_text(rules, otherwise) << "\n" << text_of(loaded.faults);
    return loaded.ok() ? evaluate(*loaded.policy, facts).verdict : V::deny;
  }
  std::string trace(const std::vector<std::string>& rules, const Shop::Call& made) {
    return "seed " + std::to_string(seed_) + "\n" + policy_text(rules, "ask") + "\n" + made.principal + " " +
           made.tool + " " + made.arguments;
  }

  static constexpr int kRounds = 300;
  unsigned seed_;
  Random random_;
  Shop shop_;
  int next_ = 0;
};

}  // namespace sallyport::policy::test
