// What must not stand in a record although no rule names it (design section 6): values that a schema calls writeOnly,
// values shaped like well-known secrets, and, as a last sweep, configured secrets wherever they turn up. Callers add
// the pointers to the policy's `redact` before record_arguments() hashes anything.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/secret.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust {

// Patterns (a `*` step: every element or member) of the values that an input schema marks `writeOnly: true`. Follows
// local
// `$ref`s and looks into every branch; bounded, so that a schema that refers to itself ends.
[[nodiscard]] std::vector<std::string> write_only_patterns(json::Value schema);

// Whether a text holds something of the shape of a key or token in wide use: GitHub, GitLab, Slack, AWS, Google, Stripe
// and others by their prefixes; JSON Web Tokens; private keys in PEM; Authorization values; passwords in URLs.
[[nodiscard]] bool looks_secret(std::string_view text);

// Pointers of the texts in a value that look so; of more than 255 the one pattern `/*`, so that nothing is shown.
[[nodiscard]] std::vector<std::string> secret_pointers(json::Value value);

// The last sweep: puts `***` in the place of configured secrets (kShortestSecret and longer) in every text that a
// client, a server or a person had a hand in, and of such texts that look like a secret. Returns how many it found.
std::size_t sweep(ReceiptBody& body, std::span<const Secret> secrets);

}  // namespace sallyport::trust
