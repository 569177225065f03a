// An operator's stop (design section 7): refuses from the next dispatch on, until it is lifted.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

bool concerns(const StopRow& stop, const Call& call) {
  if (stop.kind == "all") return true;
  if (stop.kind == "principal") return stop.value == call.row.principal;
  if (stop.kind == "server") return stop.value == call.row.server;
  if (stop.kind == "tool") {
    return stop.value == call.row.server && stop.tool == call.row.tool && call.request.method == Method::tools_call;
  }
  return true;  // a kind of a later version: stopping too much is the safe reading
}

}  // namespace

void check_stops(Call& call, const Context& context) {
  for (const StopRow& stop : context.stops()) {
    if (!concerns(stop, call)) continue;
    const std::string why = stop.reason.empty() ? "" : fmt::format(" ({})", visible(stop.reason));
    refuse(call.judged, ReasonCode::stopped, fmt::format("An operator has stopped this{}.", why));
    return;
  }
}

}  // namespace sallyport::gateway::calls
