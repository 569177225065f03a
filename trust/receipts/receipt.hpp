// A receipt's content and its bytes (design section 6; trust/README.md has the byte format and a test vector).
// Absent beats null: empty strings, empty lists and unset optionals are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/time.hpp"
#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/reason.hpp"

namespace sallyport::trust {

enum class ReceiptKind : std::uint8_t {
  intent,
  outcome,
  call,
  refusal,
  repeat,
  approval,
  reconciliation,
  definition,
  policy,
  run,
  stop,
  start,
  access,
  log,
  key
};
[[nodiscard]] std::string_view to_string(ReceiptKind kind);
[[nodiscard]] std::optional<ReceiptKind> parse_receipt_kind(std::string_view text);

using Pairs = std::vector<std::pair<std::string, std::string>>;  // printed as an object, sorted; names are unique

// What is said of the arguments; made by record_arguments() (receipts/commitment.hpp).
struct ArgumentsRecord {
  std::string hmac;                   // 64 hex digits, under the operation's key
  std::string fingerprint;            // 64 hex digits, under the store's key
  Pairs recorded;                     // pointer -> value (a number as its token)
  std::vector<std::string> redacted;  // pointers that were there and are in none of the above
};

enum class ResultStatus : std::uint8_t { ok, error, transient, unknown, refused };
[[nodiscard]] std::string_view to_string(ResultStatus status);

struct ResultRecord {
  ResultStatus status = ResultStatus::ok;
  std::string hmac;  // of the result's bytes, under the operation's key
  std::optional<std::uint64_t> bytes;
  Pairs recorded;
  std::vector<std::string> marks;  // `output-schema`, `withheld`, `replayed`, `undelivered`, …
};

struct OutcomeRecord {
  Outcome value = Outcome::unknown;
  std::string basis;  // `intent`, `answered`, `not-sent`, `error-map`, `timeout`, `crash`, `lookup`, `late-answer`,
                      // `operator`, …
};

struct VoteRecord {
  std::string by;
  std::string vote;  // `approve` or `deny`
  std::string seen;
  std::string reason;
  UnixMillis at = 0;
};
struct ApprovalRecord {
  std::string id;     // ap_… or, of a grant, gr_…
  std::string state;  // what it became, in receipts of kind approval
  std::string form;   // empty: votes; `grant`; `session-user`
  std::string shown;  // digest
  std::vector<VoteRecord> votes;
  UnixMillis expires = 0;
};

// What receipts of kinds definition, policy, run, stop, start, access, log and key tell, and who did it.
struct EventRecord {
  std::string action;  // `accepted`, `drifted`, `reloaded`, `stopped`, `lifted`, `pruned`, `rotated`, …
  std::string by;      // person, or empty: the gateway itself
  std::string reason;
  std::string target;
  std::string before;  // digests
  std::string after;
  Pairs details;  // further texts
};

struct ReasonRecord {
  ReasonCode code = ReasonCode::policy_denied;
  std::string rule;
  std::optional<std::string> pointer;
};

struct DecisionRecord {
  Verdict verdict = Verdict::deny;
  bool by_default = false;
  std::vector<std::pair<std::string, Verdict>> rules;  // all that matched, in order of the file
  std::vector<ReasonRecord> reasons;
  std::string policy;  // digests of what was in force
  std::string trust;
};

struct GatewayRecord {
  std::string version;
  std::string boot;
  std::string boundary;  // `service`, `client-started`, `wrap`
  std::string mode;      // empty, or `observe`
};

struct TimesRecord {  // 0: not
  UnixMillis received = 0, decided = 0, sent = 0, answered = 0, concluded = 0, at = 0;
};

struct ReceiptBody {
  ReceiptKind kind = ReceiptKind::refusal;
  std::string id;             // rc_…
  std::string operation;      // op_…
  std::uint32_t attempt = 0;  // from 1; 0: none
  std::string run;
  std::string principal;
  std::string client_name, client_version;  // `claimed`
  std::string server_id, server_identity, server_sandbox;
  std::string tool;        // or prompt
  std::string uri;         // of resources
  std::string definition;  // digest
  std::string cause;       // of the gateway's own calls: the operation they serve
  std::optional<ArgumentsRecord> arguments;
  std::string scope_name;
  std::optional<std::uint64_t> scope_revision;
  std::string server_revision;
  std::string idempotency_key;
  std::optional<EffectView> effect;
  std::optional<DecisionRecord> decision;
  std::optional<ApprovalRecord> approval;
  std::vector<std::string> evidence;  // receipt ids that the decision or the resolution rests on
  std::optional<OutcomeRecord> outcome;
  std::optional<ResultRecord> result;
  std::optional<EventRecord> event;
  std::string supersedes;                   // receipt id
  std::uint64_t count = 0;                  // of folded refusals; 0: one
  std::string protocol, transport, method;  // `request`; method only if not tools/call
  GatewayRecord gateway;
  TimesRecord times;
};

// Its place in the log. Only the store's writer knows it.
struct ChainPoint {
  std::string log;  // 16 hex digits
  std::uint64_t seq = 0;
  std::string prev;  // sha256:… of the previous payload bytes; empty at seq 0
};

inline constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
inline constexpr std::string_view kPredicateType = "https://sallyport.dev/receipt/v1";

// RFC 8785 bytes of the whole statement: what is signed, hashed and chained. Bad UTF-8 becomes U+FFFD.
[[nodiscard]] std::string to_payload(const ReceiptBody& body, const ChainPoint& point);

// The canonical action and its bare hex digest: the subject of the statement.
[[nodiscard]] std::string canonical_action(const ReceiptBody& body);
[[nodiscard]] std::string action_digest(const ReceiptBody& body);

// A decision as receipts show it (messages stay out).
[[nodiscard]] DecisionRecord record_of(const Decision& decision, std::string policy_digest, std::string trust_digest);

}  // namespace sallyport::trust
