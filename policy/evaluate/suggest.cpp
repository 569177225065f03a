#include "policy/evaluate/suggest.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

struct Observed {
  Verdict verdict = Verdict::allow;  // the strictest
  bool read = true;                  // all of them
  std::uint64_t allowed = 0, asked = 0, denied = 0;

  void add(const Seen& seen) {
    verdict = stricter(verdict, seen.verdict);
    read = read && seen.read;
    (seen.verdict == Verdict::allow ? allowed : seen.verdict == Verdict::ask ? asked : denied) += seen.count;
  }
};

struct Line {
  std::string tool, counts, sample;
};

std::string counts_of(const Observed& observed) {
  std::string out;
  const auto add = [&](std::uint64_t count, std::string_view word) {
    if (count > 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(word);
  };
  add(observed.allowed, "allowed");
  add(observed.asked, "asked");
  add(observed.denied, "denied");
  return out;
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + quote(item);
  return items.size() == 1 ? out : "[" + out + "]";
}

// Inside a comment nothing of a name may end it.
std::string comment(std::string_view text) { return "// " + visible(text) + "\n"; }

class Draft {
 public:
  Draft(const Vocabulary& vocabulary, Verdict otherwise) : vocabulary_(vocabulary), otherwise_(otherwise) {}

  void add(const Seen& seen) { observed_[{seen.server, seen.tool, seen.principal}].add(seen); }

  std::string text() {
    for (const auto& [key, observed] : observed_) place(key, observed);
    std::string rules, tests;
    std::map<std::string, int> numbers;
    for (const auto& [group, lines] : groups_) {
      std::string id = group.server + "-" + std::string(to_string(group.verdict));
      if (const int number = ++numbers[id]; number > 1) id += "-" + std::to_string(number);
      write_rule(group, lines, id, rules);
      for (const Line& line : lines) write_test(group, line, id, tests);
    }
    std::string out =
        "// Drafted from recorded calls: for each tool and client the strictest of what was seen. Read it\n"
        "// before you use it; what is not named here is left to the default.\n";
    for (const std::string& line : left_out_) out += comment(line);
    out += "{ \"default\": \"" + std::string(to_string(otherwise_)) + "\",\n  \"rules\": [\n" + rules +
           "  ],\n  \"tests\": [\n" + tests + "  ] }\n";
    return out;
  }

 private:
  struct Key {
    std::string server, tool, principal;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // One rule: tools of a server that the same client may use alike.
  struct Group {
    Verdict verdict;
    std::string server, principal;
    friend auto operator<=>(const Group&, const Group&) = default;
  };

  void place(const Key& key, const Observed& observed) {
    const VocabularyServer* server = vocabulary_.server(key.server);
    const VocabularyTool* tool = server != nullptr ? server->tool(key.tool) : nullptr;
    const std::string what = key.server + "/" + key.tool + " by " + key.principal + ": " + counts_of(observed);
    if (tool == nullptr || !server->accepted || key.tool.ends_with('*')) {
      left_out_.push_back("left out, no accepted tool: " + what);
      return;
    }
    if (!vocabulary_.knows_principal(key.principal) || key.principal.ends_with('*')) {
      left_out_.push_back("left out, no client of the config: " + what);
      return;
    }
    Line line{key.tool, counts_of(observed), sample_arguments(*tool)};
    Verdict verdict = observed.verdict;
    if (verdict == Verdict::allow && !(observed.read && reads(*tool, line.sample))) verdict = Verdict::ask;
    groups_[{verdict, key.server, key.principal}].push_back(std::move(line));
  }

  // Whether the rule and its test would hold today: the contract may be another by now.
  static bool reads(const VocabularyTool& tool, const std::string& sample) {
    if (sample.empty() || !tool.effect.is_read()) return false;
    const auto document = json::Document::parse(sample);
    return document && (!tool.effect_for || tool.effect_for(document->root()).is_read());
  }

  static void write_rule(const Group& group, const std::vector<Line>& lines, const std::string& id, std::string& out) {
    std::vector<std::string> tools;
    for (const Line& line : lines) {
      out += "    " + comment(line.tool + ": " + line.counts);
      tools.push_back(line.tool);
    }
    out += "    { \"id\": " + quote(id) + ", \"" + std::string(to_string(group.verdict)) +
           "\": { \"server\": " + quote(group.server) + ", \"tool\": " + list_of(tools) +
           ", \"principal\": " + quote(group.principal) +
           (group.verdict == Verdict::allow ? ", \"effect\": \"read\"" : "") + " } },\n";
  }

  static void write_test(const Group& group, const Line& line, const std::string& id, std::string& out) {
    if (line.sample.empty()) {
      out += "    " + comment("no arguments could be made up for " + line.tool + ": write a test of it by hand");
      return;
    }
    out += "    { \"call\": { \"principal\": " + quote(group.principal) + ", \"server\": " + quote(group.server) +
           ", \"tool\": " + quote(line.tool) + ", \"arguments\": " + line.sample + " }, \"verdict\": \"" +
           std::string(to_string(group.verdict)) + "\", \"rules\": [" + quote(id) + "] },\n";
  }

  const Vocabulary& vocabulary_;
  Verdict otherwise_;
  std::map<Key, Observed> observed_;
  std::map<Group, std::vector<Line>> groups_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::string suggest(std::span<const Seen> calls, const Vocabulary& vocabulary, Verdict otherwise) {
  Draft draft(vocabulary, otherwise);
  for (const Seen& seen : calls) draft.add(seen);
  return draft.text();
}

}  // namespace sallyport::policy
