// Fingerprints (docs/operations.md): three digests by which two machines, or two days, can be told apart or found
// equal. Pure: of files and build only, so that equal files give equal values anywhere.
#pragma once

#include <string>

#include "gateway/config/check.hpp"
#include "gateway/ports/settings.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

// Over "sallyport/fingerprint/contract/v1\n" + the canonical form of policy digest, trust digest, every accepted
// definition and identity, and what a run has to show.
[[nodiscard]] std::string contract_fingerprint(const Settings& settings, const RuleBook& book);
// The same tag with `execution`: the contract's, the version and the limits.
[[nodiscard]] std::string execution_fingerprint(const std::string& contract, const std::string& version,
                                                const LimitSettings& limits);
// And `request`: the execution's, principal, server, tool, its newest accepted definition and the canonical arguments.
// not_found: no such tool was accepted. invalid: the arguments have no canonical form.
[[nodiscard]] Result<std::string> request_fingerprint(const std::string& execution, const RuleBook& book,
                                                      const std::string& principal, const std::string& server,
                                                      const std::string& tool, json::Value arguments);

}  // namespace sallyport::gateway
