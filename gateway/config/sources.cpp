#include "gateway/config/sources.hpp"

#include <fmt/core.h>

namespace sallyport::gateway {

namespace {

// The files that one path of the settings means.
std::vector<std::string> files_of(const std::string& path, const Settings& settings, const FileReader& files,
                                  Faults& faults) {
  if (files.kind(path) != FileReader::Kind::folder) return {path};
  std::vector<std::string> paths;
  const auto names = files.list(path);
  if (!names) {
    faults.push_back(file_fault(path, names.error().message));
    return paths;
  }
  for (const std::string& name : *names) {
    const bool ours = !name.starts_with('.') && (name.ends_with(".jsonc") || name.ends_with(".json"));
    std::string file = resolve_path(path, name);
    if (!ours || file == settings.lock_file || file == settings.file) continue;
    if (files.kind(file) == FileReader::Kind::file) paths.push_back(std::move(file));
  }
  if (paths.empty())
    faults.push_back(file_fault(path, "the folder holds no .jsonc or .json file: write one, or name a file"));
  return paths;
}

std::vector<OwnFile> read_all(const std::vector<std::string>& paths, const std::string& inline_text,
                              const Settings& settings, const FileReader& files, Faults& faults) {
  std::vector<OwnFile> all;
  if (!inline_text.empty()) {
    if (auto own = parse_own(inline_text, settings.file, faults)) all.push_back(std::move(*own));
  }
  for (const std::string& path : paths) {
    for (const std::string& file : files_of(path, settings, files, faults)) {
      if (auto own = read_own(file, files, faults)) all.push_back(std::move(*own));
    }
  }
  return all;
}

}  // namespace

LoadedSources read_sources(const Settings& settings, const FileReader& files) {
  LoadedSources loaded;
  loaded.sources.trust = read_all(settings.trust_files, settings.trust_inline, settings, files, loaded.faults);
  loaded.sources.policy = read_all(settings.policy_files, settings.policy_inline, settings, files, loaded.faults);
  auto lock = files.read(settings.lock_file, kMaxLockBytes);
  if (lock && lock->others_may_write.empty()) {
    loaded.sources.lock = std::move(lock->bytes);
  } else if (lock) {
    loaded.faults.push_back(file_fault(settings.lock_file, fmt::format("the file {}", lock->others_may_write)));
  } else if (lock.error().code != ErrorCode::not_found) {
    loaded.faults.push_back(file_fault(settings.lock_file, lock.error().message));
  }
  return loaded;
}

std::vector<std::string> watched_paths(const Settings& settings) {
  std::vector<std::string> paths;
  if (!settings.file.empty()) paths.push_back(settings.file);
  paths.insert(paths.end(), settings.trust_files.begin(), settings.trust_files.end());
  paths.insert(paths.end(), settings.policy_files.begin(), settings.policy_files.end());
  paths.push_back(settings.lock_file);
  return paths;
}

}  // namespace sallyport::gateway
