// The one table of an operation's life (design section 7): state and event give the next state, what is done in the
// same commit, and the receipts that it leaves. Every pair that is not here is a fault of ours (Error internal), never
// a silent step. docs/operations.md is drawn from it (tests/unit/gateway/calls).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/ports/records.hpp"
#include "schemas/core/result.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway::calls {

enum class Event : unsigned char {
  ask,          // the verdict is ask: wait for people
  allow,        // allowed, or every ask was answered yes
  refuse,       // a phase said no before anything was recorded as intent
  record,       // step 10: committed, the approval is spent
  dispatch,     // the first byte may leave
  need_input,   // the server asks for input first
  take_task,    // the server works on it as a task
  retry,        // this attempt is over, another is recorded
  apply,        // an answer says that it was done
  fail,         // proven: nothing was sent, or an error that the contract maps to none
  lose,         // no answer, or one that proves nothing
  restart,      // found open at start
  look,         // reconciliation begins with a lookup
  resend,       // reconciliation begins with the same key, sent again
  look_failed,  // it proved nothing
  prove_applied,
  prove_none,
  rollback,  // the log was rolled back: in the part that is lost it may have run
};
inline constexpr std::size_t kEvents = 18;

// What a transition does besides moving the state, in the commit that stores it.
enum class Deed : unsigned char {
  nothing,
  keep_question,  // the question and the arguments are stored
  drop,           // what was stored to run it later is dropped
  spend,          // the approval is spent, budgets are reserved, the scope's revision moves
  send,           // the request may leave
  next_attempt,   // one more attempt is counted in budgets; nothing else is spent
  keep,           // what was reserved stays spent
  give_back,      // what was reserved is given back
  hold,           // what was reserved stays reserved; a lost write stands in the way of others
};

using Receipts = std::array<std::optional<trust::ReceiptKind>, 2>;

struct Transition {
  OperationState from;
  Event event;
  OperationState to;
  Deed deed = Deed::nothing;
  Receipts receipts{};  // in order; of a write. A read has one, `call`, instead of intent and outcome
};

[[nodiscard]] std::span<const Transition> transitions();
[[nodiscard]] std::string_view to_string(Event event);
[[nodiscard]] std::string_view to_string(Deed deed);
[[nodiscard]] Result<Transition> next(OperationState from, Event event);
[[nodiscard]] Outcome outcome_of(OperationState state);
[[nodiscard]] bool is_open(OperationState state);  // not concluded: waiting, in flight or unknown
// Writes that stand in the way of others: `unknown` and `reconciling`.
[[nodiscard]] bool is_unknown(OperationState state);

// Moves the row: state and outcome together.
Result<Transition> step(OperationRow& row, Event event);

// The kind of the receipt that concludes this row: a read that nobody was asked about has only the one.
[[nodiscard]] trust::ReceiptKind receipt_of(const Transition& transition, const OperationRow& row);
// `blank` with what a stored operation tells of itself: whose it is, about what, and its outcome.
[[nodiscard]] trust::ReceiptBody receipt_about(trust::ReceiptBody blank, const OperationRow& row);

}  // namespace sallyport::gateway::calls
