// A policy file beside the config's own, read with the words that the config, its trust file and its lock give: for
// `policy diff` and `policy replay`.
#pragma once

#include <memory>
#include <string>

#include "gateway/config/check.hpp"

namespace sallyport::gateway {

// A file, or a folder of files; relative paths count from the working folder. Error (invalid): its first faults, with
// place. Failing tests of the policy's own are no error.
[[nodiscard]] Result<std::shared_ptr<const policy::Policy>> load_policy_file(const LoadedConfig& config,
                                                                             const std::string& path);

}  // namespace sallyport::gateway
