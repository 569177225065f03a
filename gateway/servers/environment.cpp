#include "gateway/servers/environment.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

extern char** environ;

namespace sallyport::gateway::servers {
namespace {

constexpr std::array<std::string_view, 9> kAllowed{"PATH",  "HOME", "LANG",   "USER", "LOGNAME",
                                                   "SHELL", "TERM", "TMPDIR", "TZ"};
constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

bool is_allowed(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::find(kAllowed, name) != kAllowed.end();
}

bool is_program(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string join(const std::string& folder, const std::string& name) {
  if (folder.empty() || name.starts_with('/')) return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

}  // namespace

Environment allowed_environment() {
  Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_allowed(text.substr(0, equals))) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Environment child_environment(const Environment& allowed, const std::map<std::string, Secret>& configured) {
  Environment out = allowed;
  out.try_emplace("PATH", kDefaultPath);
  for (const auto& [name, value] : configured) out[name] = value.reveal();
  return out;
}

Result<std::string> resolve_command(const std::string& command, const Environment& environment,
                                    const std::string& cwd) {
  if (command.empty()) return fail(ErrorCode::invalid, "the command is empty");
  if (command.find('/') != std::string::npos) {
    std::string path = join(cwd, command);
    if (is_program(path)) return path;
    return fail(ErrorCode::not_found, "no program `" + path + "` (it must exist and be executable)");
  }
  const auto found = environment.find("PATH");
  const std::string_view path = found == environment.end() ? kDefaultPath : std::string_view(found->second);
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder(path.substr(begin, end - begin));
    // An empty entry of PATH means the working directory, which is nobody's intention here.
    if (!folder.empty()) {
      std::string candidate = join(join(cwd, folder), command);
      if (is_program(candidate)) return candidate;
    }
    begin = end + 1;
  }
  return fail(ErrorCode::not_found, "no command `" + command + "` in PATH (" + std::string(path) + ")");
}

}  // namespace sallyport::gateway::servers
