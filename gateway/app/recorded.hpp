// Recorded calls: what receipts say of each decision, for `policy replay` and `policy suggest`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gateway/cli/command_line.hpp"
#include "schemas/core/result.hpp"
#include "schemas/model/effect.hpp"

namespace sallyport::gateway {

struct RecordedCall {
  std::string receipt, operation, kind;  // intent, call or refusal
  std::string principal, server, tool, uri, definition;
  Method method = Method::tools_call;
  Effect effect;                         // effective, then
  Verdict verdict = Verdict::deny;       // of the rules; ask where people then denied, or nobody answered
  bool approved = false;                 // people said yes to it
  std::map<std::string, Verdict> rules;  // that matched, and what each said
  std::vector<std::string> reasons;      // codes of a refusal
  std::uint64_t count = 1;               // of folded refusals
};

// Whether rules decided it: not refused for its form, its arguments, a stop, a bound or a broken part.
[[nodiscard]] bool decided_by_rules(const RecordedCall& call);

// The decision receipts of the log that the invocation names (a file as `receipts export` writes it, `-`, or the state
// folder's own), in order. Signatures are not judged: `receipts verify` does that. Error: the log cannot be read; a
// line that is no receipt is named with its number.
[[nodiscard]] Status each_recorded(const cli::Invocation& invocation,
                                   const std::function<void(const RecordedCall&)>& each);

}  // namespace sallyport::gateway
