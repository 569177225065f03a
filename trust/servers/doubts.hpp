// What an operator should look at twice in a contract, beside what the server declares of the tool: for `check`, which
// warns; nothing is decided by it (design section 4).
#pragma once

#include <string>
#include <vector>

#include "schemas/model/effect.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::trust {

// Sentences without the tool's name, each a whole thought, beside what the reader of the file warns of. `view` is the
// tool's effective effect.
[[nodiscard]] std::vector<std::string> doubts(const Contract& contract, const EffectView& view);

}  // namespace sallyport::trust
