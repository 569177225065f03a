// Reads one tool's entry of trust.jsonc. For the sources of this folder.
#pragma once

#include <string>

#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::trust {

// Faults go to the list; what could be read comes back in any case.
[[nodiscard]] Contract read_contract(const std::string& file, const std::string& name, json::Value value,
                                     FaultList& faults);

}  // namespace sallyport::trust
