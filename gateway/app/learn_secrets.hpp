// Which values of the settings are secrets of this process (gateway/base/known_secrets.hpp).
#pragma once

#include "gateway/base/known_secrets.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

// Values of `env` (with envFile) and of headers. A value that the config shows in clear elsewhere (a variable, a word
// of a command, an address, an id) is none: hiding a folder's or a server's name would spoil what receipts say.
void learn_secrets(const Settings& settings, KnownSecrets& secrets);

// Those of this process's environment (`environ`) whose names say that they are secret.
void learn_environment(char** variables, KnownSecrets& secrets);

}  // namespace sallyport::gateway
