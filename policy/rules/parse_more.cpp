// Budgets and the policy's own tests.
#include <algorithm>
#include <charconv>

#include "policy/rules/reader.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

// "10/s", "100/m", "5/10m".
std::optional<Rate> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  Rate out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, out.count);
  if (error != std::errc() || end != text.data() + slash || out.count == 0 || out.count > 1'000'000'000)
    return std::nullopt;
  const std::string unit(text.substr(slash + 1));
  const bool number = !unit.empty() && unit[0] >= '0' && unit[0] <= '9';
  const auto per = parse_duration(number ? unit : "1" + unit);
  if (!per) return std::nullopt;
  out.per = *per;
  return out;
}

std::optional<Budget::Per> parse_per(std::string_view text) {
  for (const auto per : {Budget::Per::run, Budget::Per::principal, Budget::Per::server, Budget::Per::tool}) {
    if (to_string(per) == text) return per;
  }
  return std::nullopt;
}

// Why no valid value here can be added up; nullopt: some can.
std::optional<std::string> no_amount(const SchemaView& schema) {
  const auto source = json::Document::parse(R"({"minimum":0})");
  FaultList none{{}};
  const auto amount =
      source ? Condition::compile(source->root(), {none, Place::tightening, false, nullptr}) : std::nullopt;
  return amount ? amount->impossible(schema) : std::nullopt;
}

}  // namespace

void Reader::read_limits(BudgetRule& rule, json::Value value) {
  Budget& budget = rule.budget;
  budget.requests = count(value.find("requests"), "`requests`", 0);
  budget.attempts = count(value.find("attempts"), "`attempts`", 0);
  budget.window = duration(value.find("window"), "`window`");
  budget.deadline = duration(value.find("deadline"), "`deadline`");
  if (const json::Value sum = value.find("sum")) budget.sum = pointer(sum, "`sum`");
  if (const json::Value max = value.find("max")) {
    const auto number = max.is_number() ? Decimal::parse_safe(max.number()) : std::nullopt;
    if (!number || number->negative())
      faults_.error(max, "`max` must be a number, 0 or more, that every reader reads alike");
    if (number) budget.max = number;
  }
  const json::Value rate = value.find("rate");
  if (const auto written = text(rate, "`rate`")) {
    budget.rate = parse_rate(*written);
    if (!budget.rate) faults_.error(rate, "`rate` is a count per time, like `10/s`, `100/m` or `5/10m`");
  }
  if (const json::Value burst = value.find("burst")) {
    if (const auto number = count(burst, "`burst`")) budget.burst = std::min<std::uint64_t>(*number, 1'000'000'000);
    if (!rate) faults_.error(burst, "`burst` belongs to a `rate`");
  }
}

void Reader::check_sum(const BudgetRule& rule, json::Value value) {
  const Budget& budget = rule.budget;
  if (budget.sum && !value.find("max")) faults_.error(value, "`sum` needs a `max`");
  if (value.find("max") && !value.find("sum"))
    faults_.error(value.find("max"), "`max` belongs to a `sum`: name the argument that is added up");
  if (!budget.sum) return;
  const json::Value where = value.find("sum");
  if (!rule.match) {
    faults_.error(where, "a `sum` needs a `match`: a call without the argument is refused, so say which calls have it");
    return;
  }
  bool all_known = true;
  for (const VocabularyTool* tool : concerned(*rule.match, all_known)) {
    if (!tool->input_schema) continue;
    const auto steps = pointer_steps(*budget.sum);
    const SchemaView root(tool->input_schema);
    if (!root.may_hold(*steps)) {
      unknown(where, "argument", *budget.sum, root.names(),
              "the pinned schema of `" + visible(tool->name) + "` does not have it, so every call would be refused");
    } else if (const auto words = no_amount(root.at(*steps))) {
      faults_.error(where, "of `" + visible(tool->name) + "`, " + *words + ": every call would be refused");
    }
  }
}

std::optional<BudgetRule> Reader::budget(json::Value value) {
  if (!object(value, "a budget")) return std::nullopt;
  only(value, {"id", "per", "match", "requests", "attempts", "window", "sum", "max", "rate", "burst", "deadline"},
       "a budget");
  BudgetRule out;
  out.position = lines_.at(value);
  out.text = meaning(value);
  const auto name = id(value, "a budget");
  if (name) out.budget.id = *name;
  const json::Value per = value.find("per");
  if (!per) {
    faults_.error(value, "a budget needs `per`: run, principal, server or tool");
  } else if (const auto written = text(per, "`per`")) {
    const auto parsed = parse_per(*written);
    if (parsed) out.budget.per = *parsed;
    if (!parsed) {
      const std::vector<std::string> known{"run", "principal", "server", "tool"};
      unknown(per, "`per`", *written, known, "it is run, principal, server or tool");
    }
  }
  const json::Value match_source = value.find("match");
  if (match_source) {
    out.match = match(match_source, Place::tightening, false);
    if (out.match) check(*out.match, match_source);
  }
  read_limits(out, value);
  const Budget& budget = out.budget;
  if (!value.find("requests") && !value.find("attempts") && !value.find("sum") && !value.find("rate") &&
      !value.find("deadline")) {
    faults_.error(value, "a budget without a limit: add requests, attempts, sum and max, rate or deadline");
  }
  if (budget.deadline && (budget.per != Budget::Per::run || match_source)) {
    faults_.error(value.find("deadline"), "a `deadline` is that of a whole run: `\"per\": \"run\"`, without `match`");
  }
  if (!match_source || out.match) check_sum(out, value);
  if (!name || (match_source && !out.match)) return std::nullopt;
  return out;
}

void Reader::read_test_call(PolicyTest& test, json::Value call) {
  only(call, {"principal", "groups", "method", "server", "tool", "uri", "arguments"}, "a test's `call`");
  const auto required = [&](std::string_view name) {
    const json::Value found = call.find(name);
    if (!found) faults_.error(call, "a test's `call` needs `" + std::string(name) + "`");
    return text(found, "`" + std::string(name) + "`").value_or("");
  };
  test.principal = required("principal");
  test.server = required("server");
  if (const json::Value groups = call.find("groups")) {
    test.groups.emplace();
    for (auto& [where, group] : words(groups, "`groups`")) {
      const bool known = vocabulary_.knows_group(group);
      if (!known && vocabulary_.knew_group(group)) {
        gone(where, "group", group);
      } else if (!known) {
        unknown(where, "group", group, vocabulary_.groups, "no client of the config is in it");
      }
      test.groups->push_back(std::move(group));
    }
  } else if (!test.principal.empty() && !vocabulary_.knows_principal(test.principal)) {
    std::vector<std::string> known;
    for (const Principal& principal : vocabulary_.principals) known.push_back(principal.id);
    if (vocabulary_.knew_principal(test.principal))
      gone(call.find("principal"), "principal", test.principal);
    else
      unknown(call.find("principal"), "principal", test.principal, known, "or say its `groups`");
  }
  if (const auto method = text(call.find("method"), "`method`")) {
    const auto parsed = parse_method(*method);
    if (parsed) test.method = *parsed;
    if (!parsed)
      faults_.error(call.find("method"), "methods are tools/call, resources/read, prompts/get and completion/complete");
  }
  if (test.method == Method::tools_call || test.method == Method::prompts_get) test.tool = required("tool");
  if (test.method == Method::resources_read) test.uri = required("uri");
  if (const auto tool = text(call.find("tool"), "`tool`"); tool && test.tool.empty()) test.tool = *tool;
  if (const auto uri = text(call.find("uri"), "`uri`"); uri && test.uri.empty()) test.uri = *uri;
  if (!test.server.empty() && vocabulary_.server(test.server) == nullptr) {
    std::vector<std::string> known;
    for (const VocabularyServer& server : vocabulary_.servers) known.push_back(server.id);
    unknown(call.find("server"), "server", test.server, known, "add it to the config");
  }
  const json::Value arguments = call.find("arguments");
  if (arguments && !object(arguments, "`arguments`")) return;
  auto document = json::Document::parse(arguments ? meaning(arguments) : "{}");
  if (document) test.arguments = std::make_shared<const json::Document>(std::move(*document));
  if (!document) faults_.error(arguments, "these arguments cannot be read: " + document.error().message);
}

std::optional<PolicyTest> Reader::test(json::Value value, std::size_t index) {
  if (!object(value, "a test")) return std::nullopt;
  only(value, {"name", "call", "verdict", "rules", "evidence"}, "a test");
  PolicyTest out;
  out.file = file_;
  out.position = lines_.at(value);
  out.pointer = value.pointer();
  out.name = text(value.find("name"), "`name`").value_or("tests[" + std::to_string(index) + "]");
  const json::Value call = value.find("call");
  if (!call) faults_.error(value, "a test needs the `call` that it makes");
  if (object(call, "`call`")) read_test_call(out, call);
  const json::Value verdict = value.find("verdict");
  const auto written = text(verdict, "`verdict`");
  bool known = false;
  for (const Verdict each : {Verdict::allow, Verdict::ask, Verdict::deny}) {
    if (!written || *written != to_string(each)) continue;
    out.verdict = each;
    known = true;
  }
  if (!known)
    faults_.error(verdict ? verdict : value, "a test needs the `verdict` that it expects: allow, ask or deny");
  if (const json::Value rules = value.find("rules")) {
    out.rules.emplace();
    if (!rules.is_array() || rules.size() > 0) {  // an empty list: the default decided
      for (auto& word : words(rules, "`rules`")) out.rules->push_back(std::move(word.text));
    }
    std::ranges::sort(*out.rules);
  }
  for (auto& word : words(value.find("evidence"), "`evidence`")) out.evidence.push_back(std::move(word.text));
  if (!known || !out.arguments || out.server.empty()) return std::nullopt;
  return out;
}

}  // namespace sallyport::policy
