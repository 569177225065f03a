// Approvals and grants as stores keep them: canonical JSON, and back. parse(…) of print(…) is the same value.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/result.hpp"
#include "trust/approvals/approval.hpp"
#include "trust/approvals/grant.hpp"

namespace sallyport::trust {

[[nodiscard]] std::string print(const Approval& approval);
// ErrorCode::corrupt for whatever print() cannot have written.
[[nodiscard]] Result<Approval> parse_approval(std::string_view text);

[[nodiscard]] std::string print(const Grant& grant);
[[nodiscard]] Result<Grant> parse_grant(std::string_view text);

}  // namespace sallyport::trust
