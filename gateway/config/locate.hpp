// Where the config and the state folder lie (design section 4). Never in the working directory: whoever can put a file
// where an agent works could else choose the rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"

namespace sallyport::gateway {

// The user's, then the system's; absolute, in the order they are tried.
[[nodiscard]] std::vector<std::string> config_candidates(const Environment& environment);

// `flag` (as of `--config`; counts from `working_folder`) wins and is not checked; else the first candidate that is
// there. not_found names every place that was tried.
[[nodiscard]] Result<std::string> find_config(const std::optional<std::string>& flag, const std::string& working_folder,
                                              const Environment& environment, const FileReader& files);

// Where `init` writes: the user's config folder (root: the system's).
[[nodiscard]] std::string default_config_file(const Environment& environment, bool root);

// STATE_DIRECTORY of a service manager, else the user's state folder (root: /var/lib/sallyport). Empty: the environment
// names no home.
[[nodiscard]] std::string default_state_dir(const Environment& environment, bool root);

}  // namespace sallyport::gateway
