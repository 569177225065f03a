// The one table of an operation's life (design section 7): state and event give the next state; every pair that is not
// here is a fault of ours (Error internal), never a silent step. docs/operations.md is drawn from it
// (tests/unit/gateway/calls).
#pragma once

#include <span>
#include <string_view>

#include "gateway/ports/records.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway::calls {

enum class Event : unsigned char {
  ask,          // the verdict is ask: wait for people
  allow,        // allowed, or every ask was answered yes
  refuse,       // a phase said no before anything was recorded as intent
  record,       // step 10: committed, the approval is spent
  dispatch,     // the first byte may leave
  apply,        // an answer says that it was done
  fail,         // proven: nothing was sent, or an error that the contract maps to none
  lose,         // no answer, or one that proves nothing
  restart,      // found open at start
  look,         // reconciliation begins
  look_failed,  // it proved nothing
  prove_applied,
  prove_none,
};

struct Transition {
  OperationState from;
  Event event;
  OperationState to;
};

[[nodiscard]] std::span<const Transition> transitions();
[[nodiscard]] std::string_view to_string(Event event);
[[nodiscard]] Result<OperationState> next(OperationState from, Event event);
[[nodiscard]] Outcome outcome_of(OperationState state);
[[nodiscard]] bool is_open(OperationState state);  // not concluded: waiting, in flight or unknown

// Moves the row: state and outcome together.
Status step(OperationRow& row, Event event);

}  // namespace sallyport::gateway::calls
