// What receipts say of values without saying them (design section 6): redact, then hash, then sign. Pure; keys are
// passed in.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust {

// Concrete pointers in `value` that a pattern names; a `*` step stands for every element or member. Unknown ones name
// nothing. Order of the text, without repeats and without pointers below another of them.
[[nodiscard]] std::vector<std::string> matching_pointers(json::Value value, std::span<const std::string> patterns);

struct RecordRules {
  std::span<const std::string> record;  // the contract's `record` pointers: shown in clear
  std::span<const std::string> redact;  // pointers that nothing shows or hashes (wins over record)
};

// `arguments` absent means {}. hmac under the operation's key, and what `fingerprint` makes under a key that the store
// keeps to itself, both over the canonical form without what is redacted.
using Fingerprint = std::function<std::string(std::string_view canonical)>;
[[nodiscard]] ArgumentsRecord record_arguments(json::Value arguments, const RecordRules& rules,
                                               std::string_view operation_key, const Fingerprint& fingerprint);

// The commitment to a result: its exact bytes under the operation's key.
[[nodiscard]] std::string commit_bytes(std::string_view bytes, std::string_view operation_key);
// Values in clear: pointer -> text (strings decoded, numbers as tokens, the rest canonical).
[[nodiscard]] Pairs recorded_values(json::Value value, const RecordRules& rules);

// Whether these arguments are what a receipt committed to (`receipts open`).
[[nodiscard]] bool opens(std::string_view hmac_hex, json::Value arguments, std::span<const std::string> redacted,
                         std::string_view operation_key);

}  // namespace sallyport::trust
