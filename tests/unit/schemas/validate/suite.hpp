// The official JSON Schema test suite, which this project does not carry (suite.sh fetches it). Its folder is the one
// that SALLYPORT_JSON_SCHEMA_SUITE names, else the fetched one in build/, else a copy beside the source tree. Without
// it the tests that ask for it fail.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "schemas/validate/schema.hpp"

namespace sallyport::schema {

class Suite {
 public:
  Suite() : folder_(find()) {
    const auto remotes = folder_ / "remotes";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(remotes)) {
      if (entry.path().extension() != ".json") continue;
      documents_.push_back(std::make_unique<json::Document>(read(entry.path())));
      uris_.push_back("http://localhost:1234/" + std::filesystem::relative(entry.path(), remotes).generic_string());
    }
    for (std::size_t i = 0; i < uris_.size(); ++i) externals_.push_back({uris_[i], documents_[i]->root()});
  }

  // What the cases of a file are judged with.
  [[nodiscard]] CompileOptions options(Dialect dialect, const std::string& file) const {
    CompileOptions options;
    options.default_dialect = dialect;
    options.externals = externals_;
    options.refuse_lookalikes = false;  // ours, not JSON Schema's
    options.assert_formats = file.starts_with("optional/format/");
    return options;
  }
  [[nodiscard]] const std::vector<External>& externals() const { return externals_; }

  // Calls use(name of the file, group) for every group of a draft ("draft7"), in order; group.find("schema"),
  // find("tests"), find("description").
  template <class Use>
  void each_group(const std::string& draft, Use use) const {
    const auto root = folder_ / "tests" / draft;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const auto& file : files) {
      const json::Document document = read(file);
      const std::string name = std::filesystem::relative(file, root).generic_string();
      for (const json::Value group : document.root().elements()) use(name, group);
    }
  }

 private:
  static std::filesystem::path find() {
    namespace fs = std::filesystem;
    std::vector<fs::path> places;
    if (const char* named = std::getenv("SALLYPORT_JSON_SCHEMA_SUITE")) {
      places = {named};
    } else {
      places = {fs::path(SALLYPORT_SOURCE_DIR) / "build/json-schema-test-suite",
                fs::path(SALLYPORT_SOURCE_DIR) / "../shared/data/json-schema-test-suite"};
    }
    for (const auto& place : places) {
      if (fs::is_directory(place / "tests/draft2020-12") && fs::is_directory(place / "remotes")) return place;
    }
    throw std::runtime_error("the JSON Schema test suite is not at " + places.front().string() +
                             "; run tests/unit/schemas/validate/suite.sh, which fetches it");
  }
  static json::Document read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    auto parsed = json::Document::parse(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!parsed) throw std::runtime_error(file.string() + ": " + parsed.error().message);
    return std::move(*parsed);
  }

  std::filesystem::path folder_;
  std::vector<std::unique_ptr<json::Document>> documents_;
  std::vector<std::string> uris_;
  std::vector<External> externals_;
};

}  // namespace sallyport::schema
