#include "gateway/calls/operation_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sallyport::gateway::calls {
namespace {

using enum OperationState;

constexpr std::array kTransitions{
    Transition{received, Event::ask, waiting},
    Transition{received, Event::allow, ready},
    Transition{received, Event::refuse, refused},
    Transition{waiting, Event::allow, ready},
    Transition{waiting, Event::refuse, refused},
    Transition{ready, Event::ask, waiting},  // decided again after a wait, and the answer is another now
    Transition{ready, Event::refuse, refused},
    Transition{ready, Event::record, intent},
    Transition{intent, Event::dispatch, sent},
    Transition{intent, Event::fail, failed},
    Transition{intent, Event::restart, unknown},
    Transition{sent, Event::apply, applied},
    Transition{sent, Event::fail, failed},
    Transition{sent, Event::lose, unknown},
    Transition{sent, Event::restart, unknown},
    Transition{awaiting_input, Event::apply, applied},
    Transition{awaiting_input, Event::fail, failed},
    Transition{awaiting_input, Event::lose, unknown},
    Transition{awaiting_input, Event::restart, unknown},
    Transition{running, Event::apply, applied},
    Transition{running, Event::fail, failed},
    Transition{running, Event::lose, unknown},
    Transition{running, Event::restart, unknown},
    Transition{unknown, Event::look, reconciling},
    Transition{unknown, Event::prove_applied, resolved_applied},
    Transition{unknown, Event::prove_none, resolved_none},
    Transition{reconciling, Event::look_failed, unknown},
    Transition{reconciling, Event::restart, unknown},
    Transition{reconciling, Event::prove_applied, resolved_applied},
    Transition{reconciling, Event::prove_none, resolved_none},
};

}  // namespace

std::span<const Transition> transitions() { return kTransitions; }

std::string_view to_string(Event event) {
  switch (event) {
    case Event::ask:
      return "ask";
    case Event::allow:
      return "allow";
    case Event::refuse:
      return "refuse";
    case Event::record:
      return "record";
    case Event::dispatch:
      return "dispatch";
    case Event::apply:
      return "apply";
    case Event::fail:
      return "fail";
    case Event::lose:
      return "lose";
    case Event::restart:
      return "restart";
    case Event::look:
      return "look";
    case Event::look_failed:
      return "look_failed";
    case Event::prove_applied:
      return "prove_applied";
    case Event::prove_none:
      return "prove_none";
  }
  return "";
}

Result<OperationState> next(OperationState from, Event event) {
  const auto* it =
      std::ranges::find_if(kTransitions, [&](const Transition& t) { return t.from == from && t.event == event; });
  if (it == kTransitions.end()) {
    return fail(ErrorCode::internal,
                fmt::format("an operation in state `{}` cannot take `{}`", to_string(from), to_string(event)));
  }
  return it->to;
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

Status step(OperationRow& row, Event event) {
  auto state = next(row.state, event);
  if (!state) return fail(state.error());
  row.state = *state;
  row.outcome = outcome_of(*state);
  return {};
}

}  // namespace sallyport::gateway::calls
