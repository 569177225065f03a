// What an approval is bound to, and the digests that stand for it and for what approvers saw (design section 5, promise
// 6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"

namespace sallyport::trust {

struct Binding {
  std::string arguments;  // sha256:… of the exact bytes, before any redaction; of "" if there are none
  std::string forwarded;  // sha256:… of the exact bytes of all else of the client's that goes on; empty: nothing
  Method method = Method::tools_call;
  std::string server;              // id
  std::string identity;            // digest
  std::string tool;                // or prompt; empty for resources
  std::string uri;                 // of resources/read
  std::string definition;          // digest
  std::string contract;            // digest; empty: none
  std::vector<MatchedRule> rules;  // all that matched, with terms
  Effect effect;                   // effective
  std::string principal;
  std::string idempotency_key;        // empty: none
  std::vector<ApprovalTerms> asks;    // who has to say yes, of asks that no rule made too
  std::vector<std::string> unknowns;  // operations of unknown outcome that were shown
  // Only where the contract reads a revision or a rule asks for it:
  std::optional<std::uint64_t> scope_revision;
  std::optional<std::string> server_revision;
};

[[nodiscard]] std::string canonical(const Binding& binding);
[[nodiscard]] std::string digest(const Binding& binding);  // over "sallyport/binding/v1\n" + canonical

// The names of the members that differ ("arguments", "rules", …): the reason of an invalidation.
[[nodiscard]] std::vector<std::string> differences(const Binding& before, const Binding& now);
// From canonical() text, so that a stored binding can say what changed.
[[nodiscard]] std::vector<std::string> differences(std::string_view canonical_before, const Binding& now);

// The unknown operations that were shown; of canonical() text.
[[nodiscard]] std::vector<std::string> shown_unknowns(std::string_view canonical);

// Over "sallyport/shown/v1\n" + the exact bytes that the control side handed out. An approve names it.
[[nodiscard]] std::string shown_digest(std::string_view shown);

}  // namespace sallyport::trust
