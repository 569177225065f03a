// load_settings: sallyport.jsonc to Settings (design section 4). Strict; every fault of the file at once, with line,
// column and remedy. What is wrong with the file refuses the start; what is wrong with one server's surroundings (an
// unset variable, an env file that is not there) sets that server aside: ServerSettings::problem, and a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"
#include "gateway/ports/settings.hpp"
#include "schemas/core/fault.hpp"

namespace sallyport::gateway {

// Clients and people that were in force before a reload, each as it was at any time since the start. A name of theirs
// that the files still use is warned of, not refused: taking somebody away is in force at once.
struct Former {
  std::vector<ClientSettings> clients;
  std::vector<PersonSettings> people;
};

struct SettingsRequest {
  std::string file;                 // path, absolute; with `text`: its name in faults, may be empty (inline)
  std::optional<std::string> text;  // taken instead of the file's bytes (wrap, tests, init before it writes)
  std::string base;                 // folder that relative paths count from; empty: the file's
  std::string default_state;        // state folder where neither flag nor file names one; absolute
  // Flags; they win over the file.
  std::string state;  // absolute; empty: no flag
  std::optional<std::uint16_t> port;
  std::optional<std::uint16_t> control_port;
  Former former{};  // at a reload
};

struct LoadedSettings {
  std::optional<Settings> settings;  // set if no fault is an error
  std::optional<Settings> readable;  // what could be read in spite of errors: for `check`, which looks on
  Faults faults;                     // in order of the file
};

[[nodiscard]] LoadedSettings load_settings(const SettingsRequest& request, const Environment& environment,
                                           const FileReader& files);

}  // namespace sallyport::gateway
