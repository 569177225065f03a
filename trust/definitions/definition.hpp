// The digest of a definition, and what changed between two (design section 2).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::trust {

// `sha256:…` over "sallyport/definition/v1\n" + the canonical form of the whole object, minus the ignored pointers.
// Of a text (a server's instructions) over its canonical form.
// ErrorCode::invalid if it is neither or cannot be judged unambiguously (promise 10); the message names the place.
[[nodiscard]] Result<std::string> definition_digest(json::Value definition, std::span<const std::string> ignored = {});

// One difference. Texts are JSON (strings with hidden characters visible); nullopt: not there. For people, never for
// code.
struct MemberDiff {
  std::string pointer;
  std::optional<std::string> before;
  std::optional<std::string> after;
  friend bool operator==(const MemberDiff&, const MemberDiff&) = default;
};
// Member by member, arrays element by element; order of members is no difference. In order of pointers of `before`,
// then what is new.
[[nodiscard]] std::vector<MemberDiff> member_diff(json::Value before, json::Value after);

}  // namespace sallyport::trust
