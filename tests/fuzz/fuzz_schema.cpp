// A schema and an instance, parted by a NUL: compiling and judging must end, in bounds, with one answer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "schemas/validate/schema.hpp"

namespace {

using namespace sallyport;  // NOLINT

void require(bool holds) {
  if (!holds) std::abort();
}

void judge(const schema::Schema& schema, json::Value instance) {
  const auto verdict = schema.validate(instance);
  require(verdict.valid == schema.valid(instance));
  require(verdict.valid == verdict.faults.empty());
  require(!(verdict.valid && verdict.limit_reached));
  require(verdict.faults.size() <= 20);
  for (const auto& fault : verdict.faults) {
    require(!fault.message.empty());
    require(static_cast<bool>(instance.at(fault.instance)) || fault.instance.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto nul = input.find('\0');
  if (nul == std::string_view::npos) return 0;
  const auto schema_text = json::Document::parse(std::string(input.substr(0, nul)));
  if (!schema_text) return 0;
  const auto instance = json::Document::parse(std::string(input.substr(nul + 1)));
  for (const bool strict : {true, false}) {
    schema::CompileOptions options;
    options.default_dialect = static_cast<schema::Dialect>(size % 5);
    options.refuse_lookalikes = strict;
    options.assert_formats = strict;
    options.steps = 20'000;
    const auto schema = schema::Schema::compile(schema_text->root(), options);
    if (!schema) {
      require(!schema.error().message.empty());
      continue;
    }
    static_cast<void>(schema->property("/a/0"));
    if (instance) judge(*schema, instance->root());
    judge(*schema, schema_text->root());
  }
  return 0;
}
