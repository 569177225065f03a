// What a child is started with: its environment is an allow-list of ours plus what is configured (design section 12),
// its command is looked up in the PATH that it will see.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::gateway::servers {

using Environment = std::map<std::string, std::string>;

// PATH HOME LANG LC_* USER LOGNAME SHELL TERM TMPDIR TZ of this process. Once at start: it reads the process's
// environment, which nothing here ever changes.
[[nodiscard]] Environment allowed_environment();
[[nodiscard]] Environment child_environment(const Environment& allowed,
                                            const std::map<std::string, Secret>& configured);

// The file that a command means; not_found names where it was looked for. `cwd` is the child's (may be empty).
[[nodiscard]] Result<std::string> resolve_command(const std::string& command, const Environment& environment,
                                                  const std::string& cwd);

}  // namespace sallyport::gateway::servers
