// Our engine over the inputs of schemas_inputs.cjs, whose file is named first: bytes to schema, and bytes to verdict
// (one scan of the arguments and the judgement, which is what a call costs). schemas.sh puts ajv beside it.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "schemas/validate/schema.hpp"

namespace sallyport::schema {
namespace {

constexpr json::Limits kLimits{.bytes = 16U << 20, .depth = 128};

struct Input {
  std::string name, schema, instance;
};

std::vector<Input> read_inputs(const char* file) {
  std::ifstream in(file);
  std::vector<Input> out;
  for (std::string line; std::getline(in, line);) {
    const auto document = json::Document::parse(line, kLimits);
    if (!document) throw std::runtime_error(document.error().message);
    const json::Value root = document->root();
    out.push_back(
        {root.find("name").string(), std::string(root.find("schema").raw()), std::string(root.find("instance").raw())});
  }
  if (out.empty()) throw std::runtime_error(std::string("no inputs in ") + file);
  return out;
}

json::Document parsed(const std::string& text) {
  auto document = json::Document::parse(text, kLimits);
  if (!document) throw std::runtime_error(document.error().message);
  return std::move(*document);
}

void compile(benchmark::State& state, const Input& input) {
  std::size_t memory = 0;
  for (auto _ : state) {
    const json::Document document = parsed(input.schema);
    auto schema = Schema::compile(document.root());
    if (!schema) return state.SkipWithError(schema.error().message.c_str());
    memory = schema->memory();
  }
  state.counters["memory"] = static_cast<double>(memory);
  state.counters["schema_bytes"] = static_cast<double>(input.schema.size());
}

void verdict(benchmark::State& state, const Input& input) {
  const json::Document text = parsed(input.schema);
  const auto schema = Schema::compile(text.root());
  if (!schema) return state.SkipWithError(schema.error().message.c_str());
  for (auto _ : state) {
    const json::Document document = parsed(input.instance);
    if (document.root().ambiguity() || !schema->valid(document.root())) return state.SkipWithError("not valid");
  }
  state.counters["instance_bytes"] = static_cast<double>(input.instance.size());
}

void judge(benchmark::State& state, const Input& input) {
  const json::Document text = parsed(input.schema);
  const auto schema = Schema::compile(text.root());
  if (!schema) return state.SkipWithError(schema.error().message.c_str());
  const json::Document document = parsed(input.instance);
  for (auto _ : state) {
    if (!schema->valid(document.root())) return state.SkipWithError("not valid");
  }
}

}  // namespace
}  // namespace sallyport::schema

int main(int argc, char** argv) {
  using namespace sallyport::schema;
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: bench_schemas [--benchmark_…] INPUTS\n";
    return 2;
  }
  const std::vector<Input> inputs = read_inputs(argv[1]);
  for (const Input& input : inputs) {
    benchmark::RegisterBenchmark(("compile/" + input.name).c_str(), compile, input);
    benchmark::RegisterBenchmark(("verdict/" + input.name).c_str(), verdict, input);
    benchmark::RegisterBenchmark(("judge/" + input.name).c_str(), judge, input);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
