// A decision under 20 rules, under 100 and 10,000 of which three concern the call, and the load and check of 10,000
// rules.
#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "policy/evaluate/load.hpp"

namespace sallyport::policy {
namespace {

constexpr json::Limits kLimits{.bytes = 64U << 20, .depth = 128, .comments = true};

json::Document parsed(const std::string& text) {
  auto document = json::Document::parse(text, kLimits);
  if (!document) throw std::runtime_error(document.error().message);
  return std::move(*document);
}

constexpr const char* kSchema =
    R"({"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number"},"currency":{"type":"string"},)"
    R"("note":{"type":"string"}},"required":["order_id","amount"]})";

// A config with one server whose tools were all accepted.
struct World {
  explicit World(int tools) : schema_text(parsed(kSchema)) {
    auto compiled = schema::Schema::compile(schema_text.root());
    if (!compiled) throw std::runtime_error(compiled.error().message);
    schema = std::make_unique<const schema::Schema>(std::move(*compiled));
    VocabularyServer server{.id = "orders", .accepted = true, .tools = {}, .prompts = {}};
    for (int i = 0; i < tools; ++i) {
      VocabularyTool tool;
      tool.name = i == 0 ? "refund" : "tool_" + std::to_string(i);
      tool.effect = Effect{EffectCategory::record, true, Repeat::never, {"money"}};
      tool.input_schema = schema_text.root();
      tool.schema = schema.get();
      server.tools.push_back(std::move(tool));
    }
    vocabulary.servers.push_back(std::move(server));
    vocabulary.principals = {{"agent:ci", {"agents", "support"}, "user:dana", false}};
    vocabulary.people = {{"user:dana", static_cast<unsigned>(Role::approver), {"owners", "payments"}}};
  }
  json::Document schema_text;
  std::unique_ptr<const schema::Schema> schema;
  Vocabulary vocabulary;
};

// Three that concern `refund`, and others up to `count` about other tools, of every kind.
std::string policy_text(int count) {
  std::string out =
      R"({"default":"ask","rules":[{"id":"ask","ask":{"server":"orders","tool":"refund"},"approval":{"by":["payments"]},)"
      R"("allowIf":{"group":"support","arguments":{"order_id":{},"amount":{"exclusiveMinimum":0,"maximum":50},"currency":"EUR","note?":{}}}},)"
      R"({"id":"no-usd","deny":{"server":"orders","tool":"refund","arguments":{"currency":"USD"}}},)"
      R"({"id":"no-huge","deny":{"server":"orders","tool":"re*","arguments":{"amount":{"minimum":10000}}}})";
  for (int i = 3; i < count; ++i) {
    const std::string number = std::to_string(i);
    const std::string tool = R"({"server":"orders","tool":"tool_)" + std::to_string(1 + i % 499) + "\"";
    const int kind = i % 3;
    out += R"(,{"id":"r)" + number + "\",";
    out += kind == 0 ? R"("deny":)" + tool + R"(,"arguments":{"amount":{"minimum":)" + number + "}}}}"
           : kind == 1
               ? R"("ask":)" + tool + "}}"
               : R"("allow":)" + tool + R"(,"arguments":{"order_id":{"pattern":"[a-z]+"},"amount":{"maximum":5}}}})";
  }
  return out + "]}";
}

// A policy whose rules all stand in the way of the call: 20 that concern it.
std::string dense_text() {
  std::string out = R"({"default":"deny","rules":[{"id":"all","allow":{"server":"orders","tool":"refund","arguments":)"
                    R"({"order_id":{},"amount":{"maximum":100},"currency":["EUR","USD"],"note?":{"maxLength":100}}}})";
  for (int i = 1; i < 20; ++i) {
    const std::string number = std::to_string(i);
    out += R"(,{"id":"r)" + number +
           R"(","deny":{"server":"orders","tool":"refund","arguments":{"amount":{"minimum":)" +
           std::to_string(1000 + i) + R"(},"currency":"X)" + number + "\"}}}";
  }
  return out + "]}";
}

std::shared_ptr<const Policy> load_text(const std::string& text, const World& world) {
  const json::Document document = parsed(text);
  LoadedPolicy loaded = load(document, "policy.jsonc", world.vocabulary);
  if (!loaded.ok()) throw std::runtime_error(to_text(loaded.faults.front()));
  return loaded.policy;
}

void decide(benchmark::State& state, const std::string& text, int tools) {
  const World world(tools);
  const auto policy = load_text(text, world);
  const json::Document arguments = parsed(R"({"order_id":"7","amount":42.50,"currency":"EUR","note":"late"})");
  CallFacts facts;
  facts.principal = &world.vocabulary.principals.front();
  facts.server = "orders";
  facts.tool = "refund";
  facts.effect = world.vocabulary.servers.front().tools.front().effect;
  facts.pinned = true;
  facts.arguments = arguments.root();
  facts.input_schema = world.schema_text.root();
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(*policy, facts));
  const Weighed weighed = weigh(*policy, facts);
  state.counters["rules"] = static_cast<double>(policy->rules.size());
  state.counters["looked_at"] = weighed.candidates;
  state.counters["conditions"] = static_cast<double>(weighed.conditions);
}

void decide_dense(benchmark::State& state) { decide(state, dense_text(), 1); }
void decide_of(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  decide(state, policy_text(count), 500);
}

void load_rules(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const World world(500);
  const std::string text = policy_text(count);
  for (auto _ : state) {
    const json::Document document = parsed(text);
    const LoadedPolicy loaded = load(document, "policy.jsonc", world.vocabulary, {.digest = {}, .idle_is_error = true});
    if (!loaded.ok()) return state.SkipWithError(to_text(loaded.faults.front()).c_str());
  }
  state.counters["bytes"] = static_cast<double>(text.size());
}

BENCHMARK(decide_dense)->Name("decide/20_rules_about_the_call");
BENCHMARK(decide_of)->Name("decide/3_rules_about_the_call_of")->Arg(20)->Arg(100)->Arg(10'000);
BENCHMARK(load_rules)->Name("load_and_check")->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sallyport::policy

BENCHMARK_MAIN();
