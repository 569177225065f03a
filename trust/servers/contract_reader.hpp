// Reads one tool's entry of trust.jsonc. For the sources of this folder.
#pragma once

#include <string>

#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::trust {

// Faults go to the list; what could be read comes back in any case. `output`: where the entry does not say.
[[nodiscard]] Contract read_contract(const std::string& file, const std::string& name, json::Value value, Output output,
                                     FaultList& faults);

}  // namespace sallyport::trust
