// Whose credential a command presents to the control side: --token-file, else SALLYPORT_CONTROL_TOKEN, else what
// `sallyport login` stored for that very target (a token is never sent anywhere else).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::gateway::cli {

inline constexpr std::string_view kControlTokenVariable = "SALLYPORT_CONTROL_TOKEN";

using GetVariable = std::function<std::optional<std::string>(std::string_view)>;

// $XDG_CONFIG_HOME/sallyport/credential, else ~/.config/sallyport/credential; empty: the environment names no home.
[[nodiscard]] std::string credential_file(const GetVariable& environment);

// A file that holds one token: one line, of ours or root's, not readable by others. Errors name file and remedy.
[[nodiscard]] Result<Secret> read_token_file(const std::string& path);

// What login stored. `target`: ControlTarget::name(). not_found: nothing for that target.
[[nodiscard]] Result<Secret> stored_credential(const std::string& file, const std::string& target);
// Replaces the one of that target (empty token: removes it); the file is 0600, its folder 0700.
Status store_credential(const std::string& file, const std::string& target, const Secret& token);

// not_found: none of the three; the message says what to do.
[[nodiscard]] Result<Secret> find_credential(const std::string& token_file, const std::string& target,
                                             const GetVariable& environment);

}  // namespace sallyport::gateway::cli
