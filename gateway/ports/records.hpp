// The rows that the Store keeps. Plain values; JSON members are canonical text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/time.hpp"
#include "schemas/model/effect.hpp"

namespace sallyport::gateway {

// Design section 7. `applied` and `resolved_applied` have outcome applied; `failed`, `refused` and `resolved_none`
// none; from `intent` on the outcome is unknown until proven otherwise. The transitions stand in
// gateway/calls/operation_table.hpp.
enum class OperationState : std::uint8_t {
  received,
  waiting,
  ready,
  refused,
  intent,
  sent,
  awaiting_input,
  running,
  applied,
  failed,
  unknown,
  reconciling,
  resolved_applied,
  resolved_none,
};
[[nodiscard]] std::string_view to_string(OperationState state);
[[nodiscard]] std::optional<OperationState> parse_operation_state(std::string_view text);

// How an operation became unknown (design section 7): `lost` blocks overlapping writes, `answered` (an error without a
// contract that explains it) only makes an identical repeat ask.
enum class Unknown : std::uint8_t { no, lost, answered };

struct OperationRow {
  std::string id;  // op_…
  OperationState state = OperationState::received;
  Unknown unknown = Unknown::no;
  Outcome outcome = Outcome::none;
  std::string basis;  // why the outcome is believed: intent, answer, not_sent, timeout, crash, operator, …
  std::string principal;
  std::string session;
  std::string run;
  std::string server;
  std::string tool;
  std::string scope;            // text form; empty: none
  bool contract_scope = false;  // false: the scope is the whole server for want of a contract
  bool is_read = false;         // effective read and not destructive
  std::string effect;           // effective category, for lists
  std::string definition;       // digest
  std::string fingerprint;      // of (principal, tool, arguments) under the store key: finds identical repeats
  std::string key;              // idempotency key, or empty
  std::string sent_key;         // the key that the server was given with it, or empty: what makes sending it again safe
  std::string approval;         // ap_…, or empty
  int attempts = 0;
  bool delivered = false;  // the answer was handed over in full
  std::string receipt;     // the newest receipt of this operation
  std::string summary;     // says line or tool name, for people
  std::string reason;      // of refused and unknown
  UnixMillis created = 0;
  UnixMillis updated = 0;
};

struct ApprovalRow {
  std::string id;  // ap_…
  std::string operation;
  std::string principal;
  std::string server;
  std::string tool;
  std::string state;        // trust/approvals: pending, approved, …
  std::string fingerprint;  // of the call: an identical call joins
  std::string run;
  std::string binding;  // digest of all that is bound
  std::string shown;    // digest that an approve must name
  std::string body;     // canonical JSON: the trust/approvals state with votes and terms
  std::string view;     // canonical JSON: what the approver sees
  UnixMillis created = 0;
  UnixMillis expires = 0;
  UnixMillis updated = 0;
};

struct GrantRow {
  std::string id;    // gr_…
  bool open = true;  // may still be used: not revoked, void or spent (time is not looked at)
  std::string body;  // canonical JSON: trust/approvals
};

struct StopRow {
  std::string id;     // st_…
  std::string kind;   // all, principal, server, tool
  std::string value;  // principal id, server id, or `server\0tool` is not used: server in `value`, tool in `tool`
  std::string tool;
  std::string by;
  std::string reason;
  UnixMillis created = 0;
  UnixMillis lifted = 0;  // 0: in force
};

struct ReceiptRow {
  std::uint64_t seq = 0;
  std::string id;  // rc_…
  std::string kind;
  std::string operation;  // empty: none
  std::string principal;
  std::string server;
  std::string tool;
  std::string verdict;
  std::string outcome;
  std::string payload;   // canonical JSON bytes: what was signed (in PAE) and what `prev` hashes
  std::string envelope;  // DSSE JSON, one line
  UnixMillis time = 0;
};

// The log as a checkpoint saw it.
struct CheckpointRow {
  std::uint64_t size = 0;  // entries that it covers
  std::string edge;        // of the Merkle tree at that size: 32 bytes a hash (trust/receipts/merkle.hpp)
  std::string note;        // the signed checkpoint
  UnixMillis time = 0;
};

// What was taken away at the beginning of the log.
struct PrunedRow {
  std::uint64_t size = 0;  // entries; 0: none
  std::string edge;        // of the tree at that size
  std::string prev;        // digest of the last of them: what the first one that is kept names
};

struct ReceiptFilter {
  std::string operation, principal, server, tool, kind, verdict, effect, outcome;  // empty: any
  UnixMillis since = 0, until = 0;                                                 // until: before it; 0: without bound
  std::uint64_t from_seq = 0;
  std::uint32_t limit = 100;
  bool newest_first = true;
};

struct OperationFilter {
  std::string principal, server, tool, run;
  std::vector<OperationState> states;  // empty: any
  std::string fingerprint, key;        // a fingerprint finds only what is no read
  std::uint32_t limit = 100;           // newest first
};

}  // namespace sallyport::gateway
