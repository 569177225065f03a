// Call: one operation on its way. The phases fill it; everything that depends on configuration is made anew in each
// pass.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/ports/inbound.hpp"
#include "gateway/ports/records.hpp"
#include "gateway/ports/snapshot.hpp"
#include "policy/budgets/budget.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "schemas/model/decision.hpp"
#include "trust/approvals/grant.hpp"
#include "trust/servers/scope.hpp"

namespace sallyport::gateway::calls {

// Why a call does not go on. The first one is the answer; the receipt lists the reasons of all.
struct Refusal {
  ReasonCode code = ReasonCode::policy_denied;
  std::string sentence;
  std::vector<Reason> reasons;  // empty: one reason, made of code and sentence
  bool unknown_tool = false;    // answered as JSON-RPC -32602, like a tool that does not exist
  std::string approval;         // ap_…, where one is concerned
  bool later = false;           // it may be let through later by itself, whatever its code usually means
};

// Why a budget has no room for a call.
struct NoRoom {
  ReasonCode code = ReasonCode::budget_exhausted;  // or clock_unsafe
  std::string sentence;
  std::string budget;  // its id
  bool later = false;  // it will have room again
};

// What the client sent: never changes once read.
struct Request {
  std::shared_ptr<const ClientContext> client;
  std::shared_ptr<const json::Document> document;  // owns params
  json::Value params;
  // Absent: the client sent none, which means {}. Of resources/read and completion/complete: params without `_meta`.
  json::Value arguments;
  std::shared_ptr<const json::Document> made;  // owns arguments where they were made of params
  Method method = Method::tools_call;
  std::string name;  // the tool or prompt as the client calls it; empty for resources
  std::string uri;   // of a resource
  Target target;     // of everything but tools
  std::string key;   // idempotency key, empty: none
  UnixMillis received = 0;
};

// Judgement::epoch of what must be decided again whatever the snapshot is.
inline constexpr std::uint64_t kStale = ~std::uint64_t{0};

// The server's own value for the state of a scope, as one call of the contract's `revision` read it. `value` empty: it
// was not read.
struct StateSeen {
  std::string tool;       // that the evidence is of
  std::string value;      // its digest
  std::string arguments;  // of the reading call
};

// A receipt that a require rule is satisfied by, and the revision at which it counts.
struct EvidenceBasis {
  std::string rule, receipt;
  std::string server, scope;  // of the evidence tool's call
  std::uint64_t revision = 0;
  StateSeen state;  // the server's own revision, where the tool's contract reads one
};

// A budget that counts this call; the rule belongs to the snapshot's policy.
struct BudgetUse {
  const policy::BudgetRule* rule = nullptr;
  std::string key;
  policy::Decimal amount;
};

// What a pass found, on one snapshot.
struct Judgement {
  std::shared_ptr<const Snapshot> snapshot;
  std::uint64_t epoch = 0;             // of unknowns and stops
  std::shared_ptr<const Tool> tool;    // null: unknown
  const ServerView* server = nullptr;  // of the snapshot
  EffectView effect;
  trust::Scope scope;
  std::string key;       // the contract may take it from an argument
  std::string sent_key;  // the key that the server is given, in the arguments or beside them; empty: none
  policy::Weighed weighed;
  std::vector<EvidenceBasis> evidence;  // what unmet requirements rest on; must still hold when it is recorded
  std::vector<BudgetUse> budgets;
  Decision decision;
  std::vector<Refusal> refusals;
  std::vector<std::string> unknowns;           // operations whose outcome stands in the way or must be shown
  std::string fingerprint;                     // of principal, tool and exact arguments: finds identical repeats
  bool concluded = false;                      // the second half of the rules was weighed too
  std::optional<std::uint64_t> revision;       // of the scope, where an ask is bound to it
  std::optional<std::string> server_revision;  // the server's own, where the contract reads one
  std::vector<trust::Grant> grants;            // that answer the ask instead of an approval
  bool arguments_judged = false;               // unambiguous and fit by the schema

  [[nodiscard]] bool refused() const { return !refusals.empty(); }
};

// A further leg of a call (ports/input.hpp): what the server wanted to know first, and its state. The answers are
// arguments: judged, and said in the leg's receipt.
struct InputLeg {
  int leg = 1;                                     // the first has no answers
  std::string state;                               // raw: the server's requestState; empty: none
  std::shared_ptr<const json::Document> document;  // owns answers
  json::Value answers;                             // an object by the server's keys; absent: none
  // The arguments with the answers as a further member, `inputResponses`: what rules and receipts take for the
  // arguments.
  std::shared_ptr<const json::Document> judged;
};

struct Call {
  Request request;
  InputLeg input;
  std::optional<Refusal> no_input;  // why the server's question stays unanswered, so that no further leg is sent
  Judgement judged;
  OperationRow row;
  int passes = 0;
  std::string approval;                            // ap_… of this operation, if it ever asked
  std::optional<NoRoom> over_budget;               // the request itself found no room in a budget
  std::string binding;                             // canonical text of what the approval is bound to
  std::vector<std::string> shown_unknowns;         // that the approver saw
  std::optional<std::uint64_t> evidence_revision;  // of the scope, before an evidence tool was called
  StateSeen evidence_state;                        // the server's own, at the same time
  UnixMillis decided = 0, sent = 0, answered = 0;
  mutable std::optional<std::vector<std::string>> secrets;  // pointers of arguments that look secret; found once
  bool doubtful = false;                                    // an earlier attempt may have been executed
  bool resend = false;  // the client sent the key of an unknown operation again, and the server knows it by that key
  std::string cause;    // of the gateway's own reads: the operation they serve
  std::string whose;    // likewise: the principal of that operation, on whose link they go
};

// A text that was in bounds when it came, or that is made of such ones. Null: it is no JSON.
[[nodiscard]] std::shared_ptr<const json::Document> parsed(std::string text);
// What rules judge and receipts commit to: the arguments, of a further leg with the answers.
[[nodiscard]] json::Value judged_arguments(const Call& call);
// A leg with those answers; an error: they and the arguments cannot be told apart.
[[nodiscard]] Result<InputLeg> make_leg(json::Value arguments, int leg, std::string state,
                                        std::shared_ptr<const json::Document> document, json::Value answers);

// Pointers (`*`: every element or member) of the arguments that no record may show: the policy's `redact`, what the
// schema marks `writeOnly`, what looks like a secret. The call itself goes on untouched.
[[nodiscard]] std::vector<std::string> hidden_arguments(const Call& call);
// The same as pointers into these arguments, for words that name values.
[[nodiscard]] std::vector<std::string> hidden_places(const Call& call);

// Reads `params` of a tools/call. nullopt and `fault`: malformed, answered as a JSON-RPC error.
std::optional<Request> read_request(const Inbound& inbound, Answer& fault);
// The same of resources/read, prompts/get and completion/complete.
std::optional<Request> read_other(const Inbound& inbound, Method method, Answer& fault);

// The params of a waiting call as they are kept: those of other methods begin with the method's name.
[[nodiscard]] std::string stored_params(const Request& request);
struct StoredParams {
  Method method = Method::tools_call;
  std::string params;
};
[[nodiscard]] StoredParams read_stored(std::string text);
// The request as it was stored, all of it, for that client: the tool by the server's own name, wherever the client
// stands. nullopt: it cannot be read.
[[nodiscard]] std::optional<Request> request_again(std::string sealed, const OperationRow& row,
                                                   const ClientContext& client);

// Members of params that go on to the server, with the own name of tool or prompt and without braces; and those of
// `_meta`.
[[nodiscard]] std::string forwarded_params(const Request& request, std::string_view tool);
// `without`: a key that the gateway sets itself, in any spelling.
[[nodiscard]] std::string forwarded_meta(const Request& request, std::string_view without = {});
// The names of what forwarded_meta() gives.
[[nodiscard]] std::vector<std::string> forwarded_names(const Request& request);
// Whether anything of a tool call goes on beside name, arguments and `_meta`.
[[nodiscard]] bool forwards_more(const Request& request);

}  // namespace sallyport::gateway::calls
