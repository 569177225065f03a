// Schemas that must be refused, each for its own, true reason.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "tests/unit/schemas/validate/compiled.hpp"

namespace sallyport::schema {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> hostile_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "tests/fixtures/hostile-schemas")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(HostileSchemas, EachIsRefusedWithItsOwnReason) {
  const auto files = hostile_files();
  EXPECT_GE(files.size(), 40U);
  std::map<std::string, std::string> seen;
  for (const auto& file : files) {
    const auto document = parse(contents(file));
    const auto schema = Schema::compile(document.root().find("inputSchema"));
    ASSERT_FALSE(schema) << file;
    EXPECT_EQ(schema.error().message, document.root().find("reason").string()) << file;
    const auto [other, fresh] = seen.emplace(schema.error().message, file.filename().string());
    EXPECT_TRUE(fresh) << file << " has the reason of " << other->second;
  }
}

TEST(HostileSchemas, TooMuchOfAnythingIsALimit) {
  const auto code = [](std::string_view text, const CompileOptions& options = {}) {
    const auto document = parse(text);
    const auto schema = Schema::compile(document.root(), options);
    return schema ? ErrorCode::internal : schema.error().code;
  };
  std::string many = "{\"anyOf\":[{}";
  for (int i = 0; i < 20'000; ++i) many += ",{}";
  EXPECT_EQ(code(many + "]}"), ErrorCode::limit);
  EXPECT_EQ(code("{\"title\":\"" + std::string(2U << 20, 'x') + "\"}"), ErrorCode::limit);
  std::string patterns = "{\"patternProperties\":{\"a\":{}";
  for (int i = 0; i < 3'000; ++i) patterns += ",\"^(x" + std::to_string(i) + "|y){50}\":{}";
  EXPECT_EQ(code(patterns + "}}"), ErrorCode::limit);
  EXPECT_EQ(code("{}", {.bytes = 1}), ErrorCode::limit);
  // Short names on a long base would take their product in memory.
  const auto named = [](std::size_t base, int count) {
    std::string text = R"({"$id":"https://x.example/)" + std::string(base, 'p') + R"(/","$defs":{"a":{})";
    for (int i = 0; i < count; ++i) text += ",\"" + std::to_string(i) + R"(":{"$id":")" + std::to_string(i) + "\"}";
    return text + "}}";
  };
  EXPECT_EQ(code(named(400'000, 1)), ErrorCode::limit);
  EXPECT_EQ(code(named(4'000, 2'000)), ErrorCode::limit);
  EXPECT_EQ(code(named(1'000, 2'000)), ErrorCode::internal) << "compiled";
}

TEST(HostileSchemas, ClosuresOfManySharedReferencesAreBounded) {
  // Every definition refers to every later one: the work for tables of names would grow with the square.
  std::string text = R"({"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{)";
  for (int i = 0; i < 120; ++i) {
    text += "\"d" + std::to_string(i) + R"(":{"properties":{"p":{"$ref":"#/$defs/d)" + std::to_string(i) +
            "\"}},\"anyOf\":[true";
    for (int j = i + 1; j < 120; ++j) text += R"(,{"$ref":"#/$defs/d)" + std::to_string(j) + "\"}";
    text += "]},";
  }
  text += R"("end":{}}})";
  EXPECT_TRUE(accepts(text, "{}"));
}

TEST(HostileSchemas, AnUnknownRequiredVocabularyIsRefusedByName) {
  const auto meta = parse(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://x.example/meta",
    "$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,"https://x.example/vocab/units":true}})");
  const External external{"https://x.example/meta", meta.root()};
  EXPECT_EQ(refusal(R"({"$schema":"https://x.example/meta"})", {.externals = std::span(&external, 1)}),
            "the meta-schema `https://x.example/meta` requires the vocabulary `https://x.example/vocab/units`, which "
            "is not known");
}

}  // namespace
}  // namespace sallyport::schema
