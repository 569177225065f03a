// The effective effect: the one pure function from what a server declares and an operator assigns to what holds
// (design section 2). Rules, lists and receipts all ask this.
//
// - The contract beats every hint, member by member.
// - What it leaves unsaid comes from honoured hints (named in `trustHints`, definition pinned, identity as accepted):
//   readOnlyHint true: read; destructiveHint false: not destructive; idempotentHint true: repeat safe.
//   A definition that claims to be read-only and destructive at once is believed in nothing.
// - Then defaults: read is not destructive and safe; everything else is destructive and never.
// - Hints that are not honoured only tighten what the contract left unsaid: destructiveHint true makes destructive;
//   idempotentHint false (where readOnlyHint is not true) makes repeat never. openWorldHint is shown and decides
//   nothing.
// - Without the accepted identity nothing loosens: unrated, destructive, never, and the contract's labels.
#pragma once

#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "trust/servers/contract.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::trust {

// Of a tool object; members of another type than boolean count as absent.
[[nodiscard]] Hints hints_of(json::Value tool);

// `contract` may be null.
[[nodiscard]] EffectView effective(const Contract* contract, const Hints& declared, const TrustHints& honoured,
                                   bool pinned, bool identity_ok);

// Of two views of one tool the stricter of each member that a hint can tighten.
void tighten(EffectView& view, const EffectView& other);

// What a case says replaces; a case that names an effect starts afresh from that effect's defaults (hints speak of the
// tool, a case of these arguments), except for labels, which stay unless it names its own.
[[nodiscard]] EffectView apply_case(const EffectView& view, const EffectTerms& terms);

// The annotations that clients are told: the effective ones, and the title that the server gave, as a JSON object text;
// nullopt: nothing to tell, as of an unrated tool.
[[nodiscard]] std::optional<std::string> annotations_for_clients(const EffectView& view, json::Value declared);
// The effective effect and where it came from, as a JSON object text; for `_meta`.
[[nodiscard]] std::string effect_for_clients(const EffectView& view);

}  // namespace sallyport::trust
