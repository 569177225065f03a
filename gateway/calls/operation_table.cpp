#include "gateway/calls/operation_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sallyport::gateway::calls {
namespace {

using enum OperationState;
using trust::ReceiptKind;

constexpr Receipts kNone{};
constexpr Receipts kRefusal{ReceiptKind::refusal};
constexpr Receipts kIntent{ReceiptKind::intent};
constexpr Receipts kOutcome{ReceiptKind::outcome};
constexpr Receipts kNextIntent{ReceiptKind::outcome, ReceiptKind::intent};
constexpr Receipts kFinding{ReceiptKind::reconciliation};

constexpr std::array kTransitions{
    Transition{received, Event::ask, waiting, Deed::keep_question, kNone},
    Transition{received, Event::allow, ready, Deed::nothing, kNone},
    Transition{received, Event::refuse, refused, Deed::drop, kRefusal},
    Transition{received, Event::rollback, unknown, Deed::hold, kOutcome},
    Transition{waiting, Event::allow, ready, Deed::nothing, kNone},
    Transition{waiting, Event::refuse, refused, Deed::drop, kRefusal},
    Transition{waiting, Event::rollback, unknown, Deed::hold, kOutcome},
    // Decided again after a wait, and the answer is another now.
    Transition{ready, Event::ask, waiting, Deed::keep_question, kNone},
    Transition{ready, Event::refuse, refused, Deed::drop, kRefusal},
    Transition{ready, Event::record, intent, Deed::spend, kIntent},
    Transition{ready, Event::rollback, unknown, Deed::hold, kOutcome},
    Transition{intent, Event::dispatch, sent, Deed::send, kNone},
    Transition{intent, Event::retry, intent, Deed::next_attempt, kNextIntent},
    Transition{intent, Event::fail, failed, Deed::give_back, kOutcome},
    Transition{intent, Event::lose, unknown, Deed::hold, kOutcome},  // not sent, but an earlier attempt was
    Transition{intent, Event::restart, unknown, Deed::hold, kOutcome},
    Transition{intent, Event::rollback, unknown, Deed::hold, kOutcome},
    Transition{sent, Event::need_input, awaiting_input, Deed::nothing, kNone},
    Transition{sent, Event::take_task, running, Deed::nothing, kNone},
    Transition{sent, Event::retry, intent, Deed::next_attempt, kNextIntent},
    Transition{sent, Event::apply, applied, Deed::keep, kOutcome},
    Transition{sent, Event::fail, failed, Deed::give_back, kOutcome},
    Transition{sent, Event::lose, unknown, Deed::hold, kOutcome},
    Transition{sent, Event::restart, unknown, Deed::hold, kOutcome},
    Transition{sent, Event::rollback, unknown, Deed::hold, kOutcome},
    // The answer to the server's question is judged like arguments, and recorded like them.
    Transition{awaiting_input, Event::record, intent, Deed::next_attempt, kIntent},
    Transition{awaiting_input, Event::apply, applied, Deed::keep, kOutcome},
    Transition{awaiting_input, Event::fail, failed, Deed::give_back, kOutcome},
    Transition{awaiting_input, Event::lose, unknown, Deed::hold, kOutcome},
    Transition{awaiting_input, Event::restart, unknown, Deed::hold, kOutcome},
    Transition{awaiting_input, Event::rollback, unknown, Deed::hold, kOutcome},
    Transition{running, Event::apply, applied, Deed::keep, kOutcome},
    Transition{running, Event::fail, failed, Deed::give_back, kOutcome},
    Transition{running, Event::lose, unknown, Deed::hold, kOutcome},
    Transition{running, Event::restart, unknown, Deed::hold, kOutcome},
    Transition{running, Event::rollback, unknown, Deed::hold, kOutcome},
    Transition{unknown, Event::look, reconciling, Deed::nothing, kNone},  // the lookup has a receipt of its own
    Transition{unknown, Event::resend, reconciling, Deed::next_attempt, kIntent},
    Transition{unknown, Event::prove_applied, resolved_applied, Deed::keep, kFinding},
    Transition{unknown, Event::prove_none, resolved_none, Deed::give_back, kFinding},
    Transition{reconciling, Event::look_failed, unknown, Deed::hold, kFinding},
    Transition{reconciling, Event::restart, unknown, Deed::hold, kOutcome},
    Transition{reconciling, Event::prove_applied, resolved_applied, Deed::keep, kFinding},
    Transition{reconciling, Event::prove_none, resolved_none, Deed::give_back, kFinding},
    Transition{reconciling, Event::rollback, unknown, Deed::hold, kOutcome},
};

}  // namespace

std::span<const Transition> transitions() { return kTransitions; }

std::string_view to_string(Event event) {
  constexpr std::array<std::string_view, kEvents> kNames{
      "ask",  "allow", "refuse",  "record", "dispatch", "need_input",  "take_task",     "retry",      "apply",
      "fail", "lose",  "restart", "look",   "resend",   "look_failed", "prove_applied", "prove_none", "rollback"};
  return kNames.at(static_cast<std::size_t>(event));
}

std::string_view to_string(Deed deed) {
  switch (deed) {
    case Deed::nothing:
      return "";
    case Deed::keep_question:
      return "the question and the arguments are stored";
    case Deed::drop:
      return "what was stored to run it is dropped";
    case Deed::spend:
      return "the approval is spent, budgets are reserved, the scope's revision moves";
    case Deed::send:
      return "the request may leave";
    case Deed::next_attempt:
      return "one more attempt is counted";
    case Deed::keep:
      return "what was reserved stays spent";
    case Deed::give_back:
      return "what was reserved is given back";
    case Deed::hold:
      return "what was reserved is held";
  }
  return "";
}

Result<Transition> next(OperationState from, Event event) {
  const auto* it =
      std::ranges::find_if(kTransitions, [&](const Transition& t) { return t.from == from && t.event == event; });
  if (it == kTransitions.end()) {
    return fail(ErrorCode::internal,
                fmt::format("an operation in state `{}` cannot take `{}`", to_string(from), to_string(event)));
  }
  return *it;
}

Outcome outcome_of(OperationState state) {
  switch (state) {
    case received:
    case waiting:
    case ready:
    case refused:
    case failed:
    case resolved_none:
      return Outcome::none;
    case applied:
    case resolved_applied:
      return Outcome::applied;
    case intent:
    case sent:
    case awaiting_input:
    case running:
    case unknown:
    case reconciling:
      return Outcome::unknown;
  }
  return Outcome::unknown;
}

bool is_open(OperationState state) {
  switch (state) {
    case refused:
    case applied:
    case failed:
    case resolved_applied:
    case resolved_none:
      return false;
    case received:
    case waiting:
    case ready:
    case intent:
    case sent:
    case awaiting_input:
    case running:
    case unknown:
    case reconciling:
      return true;
  }
  return true;
}

bool is_unknown(OperationState state) { return state == unknown || state == reconciling; }

Result<Transition> step(OperationRow& row, Event event) {
  auto transition = next(row.state, event);
  if (!transition) return transition;
  row.state = transition->to;
  row.outcome = outcome_of(transition->to);
  return transition;
}

trust::ReceiptKind receipt_of(const Transition& transition, const OperationRow& row) {
  if (row.is_read && row.receipt.empty()) return ReceiptKind::call;
  return transition.receipts[0].value_or(ReceiptKind::outcome);
}

trust::ReceiptBody receipt_about(trust::ReceiptBody blank, const OperationRow& row) {
  blank.operation = row.id;
  blank.run = row.run;
  blank.principal = row.principal;
  blank.server_id = row.server;
  blank.tool = row.tool;
  blank.definition = row.definition;
  blank.outcome = trust::OutcomeRecord{row.outcome, row.basis};
  return blank;
}

}  // namespace sallyport::gateway::calls
