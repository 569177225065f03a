// Contracts that speak of values which no record may show: what stands in clear by its nature (a scope, a key) must not
// be made of one.
#pragma once

#include <span>
#include <string>

#include "schemas/core/fault.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway {

// `servers`: of one trust file; `redact`: the policy's. A scope or key made of what `redact` names is an error, because
// the two files contradict each other; of what an accepted schema marks `writeOnly`, a warning. `strict` (`check`):
// also warns of `says` and `record`, which then show and record nothing.
void check_hidden(json::Value servers, const trust::TrustFile& trust, const trust::LockFile& lock,
                  std::span<const std::string> redact, bool strict, FaultList& faults);

}  // namespace sallyport::gateway
