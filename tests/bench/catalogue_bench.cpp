// What it costs to know what many servers offer: `Start` is every server answering once, one after the other, as at a
// start; `Everything` is one look at all of them as if nothing had been known, which is what each answer would cost if
// what is known were not kept.
#include <benchmark/benchmark.h>

#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

constexpr int kTools = 20;

RigOptions many(int servers) {
  RigOptions options;
  for (int i = 0; i < servers; ++i) {
    auto& tools = options.servers["server" + std::to_string(i)].tools;
    for (int k = 0; k < kTools; ++k) {
      std::string text =
          R"({"name":"do_something_)" + std::to_string(i) + "_" + std::to_string(k) + R"(","description":")";
      for (int n = 0; n < 12; ++n) text += "Does one of the many_things that people want, and says so in a sentence. ";
      text += R"(","inputSchema":{"type":"object","properties":{)";
      for (int n = 0; n < 6; ++n)
        text += (n == 0 ? "\"" : ",\"") + std::string("member") + std::to_string(n) +
                R"(":{"type":"string","description":"What it is about, in the words of who wrote it."})";
      tools.push_back(text + "}}}");
    }
  }
  return options;
}

void Start(benchmark::State& state) {
  Rig rig(many(static_cast<int>(state.range(0))));
  for (auto _ : state) {
    const std::uint64_t end = rig.catalogue->current()->version + static_cast<std::uint64_t>(state.range(0));
    rig.catalogue->discover_all();
    rig.run_until([&] { return rig.catalogue->current()->version >= end; }, "every server");
  }
}
BENCHMARK(Start)->Arg(10)->Arg(30)->Arg(100)->Unit(benchmark::kMillisecond);

void Everything(benchmark::State& state) {
  Rig rig(many(static_cast<int>(state.range(0))));
  for (auto _ : state) rig.catalogue->set_rules(rig.catalogue->rules());
}
BENCHMARK(Everything)->Arg(10)->Arg(30)->Arg(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sallyport::test

BENCHMARK_MAIN();
