// The official JSON Schema test suite, every dialect we know. It is not part of this project: the folder is named by
// SALLYPORT_JSON_SCHEMA_SUITE, or stands beside the source tree. Without it these tests fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "schemas/validate/schema.hpp"

namespace sallyport::schema {
namespace {

namespace fs = std::filesystem;

fs::path suite_folder() {
  if (const char* named = std::getenv("SALLYPORT_JSON_SCHEMA_SUITE")) return named;
  return fs::path(SALLYPORT_SOURCE_DIR) / "../shared/data/json-schema-test-suite";
}

json::Document read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  auto parsed = json::Document::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!parsed) throw std::runtime_error(file.string() + ": " + parsed.error().message);
  return std::move(*parsed);
}

struct Remotes {
  std::vector<std::unique_ptr<json::Document>> documents;
  std::vector<std::string> uris;
  std::vector<External> externals;

  Remotes() {
    const fs::path folder = suite_folder() / "remotes";
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      documents.push_back(std::make_unique<json::Document>(read(entry.path())));
      uris.push_back("http://localhost:1234/" + fs::relative(entry.path(), folder).generic_string());
    }
    for (std::size_t i = 0; i < uris.size(); ++i) externals.push_back({uris[i], documents[i]->root()});
  }
};

struct Count {
  std::size_t passed = 0;
  std::size_t total = 0;
  std::vector<std::string> failed;
};

void run_file(const fs::path& file, const std::string& name, const CompileOptions& options, Count& count) {
  const json::Document document = read(file);
  for (const json::Value group : document.root().elements()) {
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
}

// Optional files that must pass nonetheless (issue: exact numbers and ECMA-262 patterns).
bool must_pass(const std::string& name) {
  static const std::set<std::string> kFiles = {"optional/bignum.json", "optional/ecmascript-regex.json",
                                               "optional/non-bmp-regex.json", "optional/float-overflow.json"};
  return kFiles.contains(name);
}

void run_draft(const std::string& folder, Dialect dialect) {
  const fs::path root = suite_folder() / "tests" / folder;
  ASSERT_TRUE(fs::is_directory(root)) << "the JSON Schema test suite is not at " << suite_folder()
                                      << "; name its folder in SALLYPORT_JSON_SCHEMA_SUITE";
  const Remotes remotes;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  Count required;
  Count optional;
  for (const auto& file : files) {
    const std::string name = fs::relative(file, root).generic_string();
    CompileOptions options;
    options.default_dialect = dialect;
    options.externals = remotes.externals;
    options.refuse_lookalikes = false;  // ours, not JSON Schema's
    options.assert_formats = name.starts_with("optional/format/");
    Count& count = name.starts_with("optional/") ? optional : required;
    const std::size_t failed = count.failed.size();
    run_file(file, name, options, count);
    if (must_pass(name)) EXPECT_EQ(count.failed.size(), failed) << count.failed.back();
  }
  for (const auto& failure : required.failed) ADD_FAILURE() << failure;
  EXPECT_GT(required.total, 500U);
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
