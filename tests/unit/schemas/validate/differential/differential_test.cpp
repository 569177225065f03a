// Our verdicts beside those of ajv, over pairs that pairs.cjs made. Every difference must be one we know.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

bool has_empty_array(json::Value value) {
  if (value.is_array() && value.size() == 0) return true;
  for (const json::Value element : value.elements()) {
    if (has_empty_array(element)) return true;
  }
  for (const auto [key, child] : value.members()) {
    if (has_empty_array(child)) return true;
  }
  return false;
}

// schemas/validate/README.md tells why ajv is wrong in these.
std::string known_difference(json::Value schema, json::Value instance, const Verdict& ours) {
  const auto has = [&](std::string_view keyword) { return schema.raw().find(keyword) != std::string_view::npos; };
  if (has("\"contains\"") && has_empty_array(instance)) return "contains and an empty array";
  if (has("\"contains\"") && has("\"unevaluatedItems\"")) return "contains evaluates elements";
  const bool by_unevaluated = std::ranges::any_of(
      ours.faults, [](const SchemaFault& fault) { return fault.schema.find("unevaluatedItems") != std::string::npos; });
  if (by_unevaluated && (has("\"anyOf\"") || has("\"oneOf\"") || has("\"if\"")))
    return "elements that a branch evaluates without matching";
  return {};
}

class Comparison {
 public:
  void line(const std::string& text) {
    const auto document = parse(text);
    const json::Value text_of_schema = document.root().find("schema");
    const auto schema = Schema::compile(text_of_schema, {.refuse_lookalikes = false});
    for (const json::Value pair : document.root().find("cases").elements()) {
      auto element = pair.elements().begin();
      const json::Value instance = *element++;
      compare(schema, text_of_schema, instance, *element);
    }
  }
  void print() const {
    for (const auto& [what, count] : counts_) std::cout << "ajv: " << what << ": " << count << "\n";
  }
  [[nodiscard]] std::size_t pairs() const { return pairs_; }

 private:
  void compare(const Result<Schema>& schema, json::Value text, json::Value instance, json::Value theirs) {
    ++pairs_;
    if (!schema) {
      // The generator makes no other broken schemas.
      EXPECT_NE(schema.error().message.find("never end"), std::string::npos) << schema.error().message << text.raw();
      ++counts_["we refuse an endless reference"];
      return;
    }
    const Verdict verdict = schema->validate(instance);
    EXPECT_FALSE(verdict.limit_reached) << text.raw();
    if (theirs.is_null()) {
      ++counts_["it refuses or fails"];
    } else if (verdict.valid == theirs.boolean()) {
      ++counts_[verdict.valid ? "both accept" : "both refuse"];
    } else {
      const std::string reason = known_difference(text, instance, verdict);
      EXPECT_FALSE(reason.empty()) << "ours " << verdict.valid << "\n" << text.raw() << "\n" << instance.raw();
      ++counts_["differs, known: " + reason];
    }
  }
  std::map<std::string, std::size_t> counts_;
  std::size_t pairs_ = 0;
};

TEST(AjvDifferential, EveryDifferenceIsExplained) {
  const char* file = std::getenv("SALLYPORT_SCHEMA_PAIRS");
  if (file == nullptr) GTEST_SKIP() << "SALLYPORT_SCHEMA_PAIRS names no file; pairs.cjs makes one";
  std::ifstream in(file);
  ASSERT_TRUE(in) << file;
  Comparison comparison;
  for (std::string text; std::getline(in, text);) comparison.line(text);
  comparison.print();
  EXPECT_GT(comparison.pairs(), 1'000U);
}

}  // namespace
}  // namespace sallyport::schema
