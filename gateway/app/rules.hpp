// From the files to what is in force: settings, trust, policy and lock as one loaded whole (gateway/config/check.hpp),
// for the start, a reload, and the commands that need no owner.
#pragma once

#include <optional>
#include <string>

#include "gateway/catalogue/catalogue.hpp"
#include "gateway/cli/command_line.hpp"
#include "gateway/config/check.hpp"

namespace sallyport::gateway {

[[nodiscard]] Environment process_environment();

// Where this invocation's config and state lie. Error: no config was found (the message names every place).
[[nodiscard]] Result<SettingsRequest> settings_request(const cli::Invocation& invocation);
// The same for commands that only need the state folder and control socket: a config is not required.
[[nodiscard]] Result<std::string> state_folder_of(const cli::Invocation& invocation);

[[nodiscard]] catalogue::Rules rules_of(const RuleBook& book);

// How long an operation is known by its idempotency key: a week (design section 14), or as long as some server does.
[[nodiscard]] Millis keys_kept(const trust::TrustFile& trust);

}  // namespace sallyport::gateway
