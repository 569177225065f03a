// The official JSON Schema test suite, every dialect we know: all required cases pass, optional ones are named.
#include "tests/unit/schemas/validate/suite.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

namespace sallyport::schema {
namespace {

struct Count {
  std::size_t passed = 0;
  std::size_t total = 0;
  std::vector<std::string> failed;
};

void run_group(const std::string& name, json::Value group, const CompileOptions& options, Count& count) {
  const auto schema = Schema::compile(group.find("schema"), options);
  for (const json::Value test : group.find("tests").elements()) {
    ++count.total;
    const json::Value data = test.find("data");
    const std::string what =
        name + ": " + group.find("description").string() + ": " + test.find("description").string();
    if (!schema) {
      count.failed.push_back(what + " (" + schema.error().message + ")");
      continue;
    }
    const Verdict verdict = schema->validate(data);
    EXPECT_EQ(verdict.valid, schema->valid(data)) << what;
    EXPECT_EQ(verdict.valid, verdict.faults.empty()) << what;
    EXPECT_FALSE(verdict.limit_reached) << what;
    if (verdict.valid == test.find("valid").boolean()) {
      ++count.passed;
    } else {
      count.failed.push_back(what);
    }
  }
}

// Optional files that must pass nonetheless (issue: exact numbers and ECMA-262 patterns).
bool must_pass(const std::string& name) {
  static const std::set<std::string> kFiles = {"optional/bignum.json", "optional/ecmascript-regex.json",
                                               "optional/non-bmp-regex.json", "optional/float-overflow.json"};
  return kFiles.contains(name);
}

void run_draft(const std::string& folder, Dialect dialect) {
  const Suite suite;
  Count required;
  Count optional;
  suite.each_group(folder, [&](const std::string& name, json::Value group) {
    Count& count = name.starts_with("optional/") ? optional : required;
    const std::size_t failed = count.failed.size();
    run_group(name, group, suite.options(dialect, name), count);
    if (must_pass(name)) EXPECT_EQ(count.failed.size(), failed) << count.failed.back();
  });
  for (const auto& failure : required.failed) ADD_FAILURE() << failure;
  EXPECT_GT(required.total, 500U);
  // table.sh reads these lines.
  std::cout << "suite " << to_string(dialect) << " required " << required.passed << "/" << required.total
            << " optional " << optional.passed << "/" << optional.total << "\n";
  for (const auto& failure : optional.failed) std::cout << "  optional, not passed: " << failure << "\n";
}

TEST(JsonSchemaSuite, Draft202012PassesEveryRequiredCase) { run_draft("draft2020-12", Dialect::draft2020_12); }
TEST(JsonSchemaSuite, Draft201909PassesEveryRequiredCase) { run_draft("draft2019-09", Dialect::draft2019_09); }
TEST(JsonSchemaSuite, Draft07PassesEveryRequiredCase) { run_draft("draft7", Dialect::draft7); }
TEST(JsonSchemaSuite, Draft06PassesEveryRequiredCase) { run_draft("draft6", Dialect::draft6); }
TEST(JsonSchemaSuite, Draft04PassesEveryRequiredCase) { run_draft("draft4", Dialect::draft4); }

}  // namespace
}  // namespace sallyport::schema
