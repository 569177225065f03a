#include "gateway/config/locate.hpp"

#include <fmt/core.h>

namespace sallyport::gateway {

namespace {

// A base folder of the XDG specification: an absolute path, relative ones are to be ignored.
std::string xdg_folder(const Environment& environment, const std::string& variable, std::string_view below_home) {
  if (const auto value = environment(variable); value && value->starts_with('/')) return *value;
  const auto home = environment("HOME");
  return home && home->starts_with('/') ? resolve_path(*home, below_home) : std::string();
}

constexpr std::string_view kSystemConfig = "/etc/sallyport/sallyport.jsonc";

}  // namespace

std::vector<std::string> config_candidates(const Environment& environment) {
  std::vector<std::string> candidates;
  const std::string user = xdg_folder(environment, "XDG_CONFIG_HOME", ".config");
  if (!user.empty()) candidates.push_back(resolve_path(user, "sallyport/sallyport.jsonc"));
  candidates.emplace_back(kSystemConfig);
  return candidates;
}

Result<std::string> find_config(const std::optional<std::string>& flag, const std::string& working_folder,
                                const Environment& environment, const FileReader& files) {
  if (flag) return resolve_path(working_folder, *flag);
  std::string tried;
  for (const std::string& candidate : config_candidates(environment)) {
    if (files.kind(candidate) == FileReader::Kind::file) return candidate;
    tried += fmt::format("{}`{}`", tried.empty() ? "" : " and ", candidate);
  }
  return fail(
      ErrorCode::not_found,
      fmt::format("there is no config at {}: name one with --config, or write one with `sallyport init`", tried));
}

std::string default_config_file(const Environment& environment, bool root) {
  const std::string user = xdg_folder(environment, "XDG_CONFIG_HOME", ".config");
  return root || user.empty() ? std::string(kSystemConfig) : resolve_path(user, "sallyport/sallyport.jsonc");
}

std::string default_state_dir(const Environment& environment, bool root) {
  if (const auto given = environment("STATE_DIRECTORY"); given && given->starts_with('/')) {
    return given->substr(0, given->find(':'));  // systemd lists several with colons
  }
  if (root) return "/var/lib/sallyport";
  const std::string user = xdg_folder(environment, "XDG_STATE_HOME", ".local/state");
  return user.empty() ? user : resolve_path(user, "sallyport");
}

}  // namespace sallyport::gateway
