// A file system in memory, for the tests of gateway/config.
#pragma once

#include <map>
#include <set>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"

namespace sallyport::gateway {

class FakeFiles : public FileReader {
 public:
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> writers;  // by path: why others may write it

  Result<Text> read(const std::string& path, std::size_t max_bytes) const override {
    const auto at = files.find(path);
    if (at == files.end()) return fail(ErrorCode::not_found, "cannot read `" + path + "`: no such file");
    if (at->second.size() > max_bytes) return fail(ErrorCode::limit, "`" + path + "` is too large");
    const auto who = writers.find(path);
    return Text{at->second, who == writers.end() ? "" : who->second};
  }
  Kind kind(const std::string& path) const override {
    if (files.contains(path)) return Kind::file;
    const auto below = files.lower_bound(path + "/");
    return below != files.end() && below->first.starts_with(path + "/") ? Kind::folder : Kind::missing;
  }
  Result<std::vector<std::string>> list(const std::string& folder) const override {
    std::set<std::string> names;
    for (const auto& [path, text] : files) {
      if (!path.starts_with(folder + "/")) continue;
      const std::string rest = path.substr(folder.size() + 1);
      names.insert(rest.substr(0, rest.find('/')));
    }
    return std::vector<std::string>(names.begin(), names.end());
  }
};

inline Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

}  // namespace sallyport::gateway
