#include "gateway/ports/records.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sallyport::gateway {
namespace {

constexpr std::array<std::pair<OperationState, std::string_view>, 14> kStates{{
    {OperationState::received, "received"},
    {OperationState::waiting, "waiting"},
    {OperationState::ready, "ready"},
    {OperationState::refused, "refused"},
    {OperationState::intent, "intent"},
    {OperationState::sent, "sent"},
    {OperationState::awaiting_input, "awaiting-input"},
    {OperationState::running, "running"},
    {OperationState::applied, "applied"},
    {OperationState::failed, "failed"},
    {OperationState::unknown, "unknown"},
    {OperationState::reconciling, "reconciling"},
    {OperationState::resolved_applied, "resolved-applied"},
    {OperationState::resolved_none, "resolved-none"},
}};

}  // namespace

std::string_view to_string(OperationState state) {
  const auto* it = std::ranges::find(kStates, state, &std::pair<OperationState, std::string_view>::first);
  return it == kStates.end() ? std::string_view() : it->second;
}

std::optional<OperationState> parse_operation_state(std::string_view text) {
  const auto* it = std::ranges::find(kStates, text, &std::pair<OperationState, std::string_view>::second);
  if (it == kStates.end()) return std::nullopt;
  return it->first;
}

}  // namespace sallyport::gateway
