// Owner: the one process that owns a state folder (design section 12). Makes everything, joins the parts, and takes
// them down in order (gateway/README.md).
#pragma once

#include <optional>
#include <string>

#include "gateway/config/load.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

struct OwnerOptions {
  SettingsRequest request;           // read again at each reload
  std::string command;               // for the lock: what a second owner is told
  std::string boundary = "service";  // or client-started, wrap
  std::optional<Millis> idle_exit;   // ends itself after so long without a client
  bool tcp = true;                   // listen on TCP too, not only on the sockets
};

// Runs until it is told to end (SIGTERM, SIGINT, idle). Exit code: 0 ended in good order, 1 cut short, 2 could not
// start.
[[nodiscard]] int run_owner(const OwnerOptions& options);

}  // namespace sallyport::gateway
