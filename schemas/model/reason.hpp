// The reasons a call can be refused, marked or left unknown for (design section 9), and what the client may do then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport {

enum class ReasonCode : std::uint8_t {
  arguments_invalid,
  policy_denied,
  approval_pending,
  approval_denied,
  approval_expired,
  approval_invalidated,
  no_approver,
  evidence_required,
  tool_quarantined,
  budget_exhausted,
  deadline_exceeded,
  blocked_by_unknown,
  outcome_unknown,
  idempotency_conflict,
  idempotency_in_flight,
  result_withheld,
  rule_failed,
  hook_failed,
  clock_unsafe,
  idempotency_key_invalid,
  cancelled,
  limit_reached,
  server_unavailable,
  recording_unavailable,
  stopped,
};

enum class Retry : std::uint8_t { never, now, later, same_key, after_approval, after_evidence, after_resolution };

struct Reason {
  ReasonCode code;
  std::string message;  // for the client; a sentence
  std::string rule;     // receipt only, unless the rule has a message; empty: none
  std::string pointer;  // into the arguments; empty: none or the whole
  bool has_pointer = false;
};

[[nodiscard]] std::string_view to_string(ReasonCode code);  // `ARGUMENTS_INVALID`
[[nodiscard]] std::string_view to_string(Retry retry);
[[nodiscard]] std::optional<ReasonCode> parse_reason_code(std::string_view text);

}  // namespace sallyport
