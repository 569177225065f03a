// read_sources: the texts of the trust file, the policy file and the lock that the settings name, read and parsed, for
// the loaders of trust/ and policy/ (check.hpp runs them).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/config/files.hpp"
#include "gateway/config/own_file.hpp"
#include "gateway/ports/settings.hpp"
#include "schemas/core/fault.hpp"

namespace sallyport::gateway {

struct Sources {
  std::vector<OwnFile> trust;  // in order of the settings; of a folder, *.jsonc and *.json by name
  std::vector<OwnFile> policy;
  std::optional<std::string> lock;  // text of trust.lock.json; nullopt: nothing was accepted yet
};

struct LoadedSources {
  Sources sources;
  Faults faults;  // a file that is named and cannot be read, or that others may write, is an error
};

[[nodiscard]] LoadedSources read_sources(const Settings& settings, const FileReader& files);

// The files that a change of could change what is in force: for whoever watches them.
[[nodiscard]] std::vector<std::string> watched_paths(const Settings& settings);

}  // namespace sallyport::gateway
