// `sallyport wrap -- CMD…`: one stdio server without any file (design section 10). Pure.
#pragma once

#include <string>
#include <vector>

namespace sallyport::gateway {

// The command's name without folder and suffix, made fit to be a server's id.
[[nodiscard]] std::string wrap_server_id(const std::vector<std::string>& command);

// Text for SettingsRequest::text: that one server, started in `folder`. Nothing in the words of the command is
// replaced.
[[nodiscard]] std::string wrap_config(const std::vector<std::string>& command, const std::string& folder);

// A state folder of its own per command and folder, below the default one: the same command finds its receipts again.
[[nodiscard]] std::string wrap_state_dir(const std::string& default_state, const std::vector<std::string>& command,
                                         const std::string& folder);

}  // namespace sallyport::gateway
