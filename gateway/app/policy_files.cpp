#include "gateway/app/policy_files.hpp"

#include <filesystem>

namespace sallyport::gateway {

Result<std::shared_ptr<const policy::Policy>> load_policy_file(const LoadedConfig& config, const std::string& path) {
  std::error_code ec;
  const std::string file = std::filesystem::absolute(path, ec).lexically_normal().string();
  Settings settings = *config.settings;
  settings.policy_inline.clear();
  settings.policy_files = {ec ? path : file};
  settings.trust_files.clear();
  settings.trust_inline.clear();
  const SystemFiles files;
  LoadedSources read = read_sources(settings, files);
  const VocabularyOwner words(*config.settings, *config.book->trust, *config.book->lock);
  std::vector<policy::Source> roots;
  for (const OwnFile& own : read.sources.policy) roots.push_back({own.name, own.document->root()});
  policy::LoadedPolicy loaded = policy::load(roots, words.vocabulary());
  const bool readable = !has_errors(read.faults);
  Faults faults = std::move(read.faults);
  faults.insert(faults.end(), loaded.faults.begin(), loaded.faults.end());
  if (loaded.policy && readable) return loaded.policy;
  std::string all;
  for (const Fault& fault : faults) {
    if (fault.level == Fault::Level::error && all.size() < 2000) all += (all.empty() ? "" : "\n") + to_text(fault);
  }
  return fail(ErrorCode::invalid, all.empty() ? "`" + path + "` cannot be read" : all);
}

}  // namespace sallyport::gateway
