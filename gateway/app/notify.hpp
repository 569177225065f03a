// The webhooks of the config with their addresses and secrets, which are read once, at the start.
#pragma once

#include <vector>

#include "gateway/config/files.hpp"
#include "gateway/control/webhooks.hpp"

namespace sallyport::gateway {

[[nodiscard]] Result<std::vector<Webhook>> webhooks_of(const Settings& settings, const FileReader& files);

}  // namespace sallyport::gateway
