// Step 4: pinned, drifted, quarantined.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {

void check_definition(Call& call, const Context&) {
  const Judgement& judged = call.judged;
  if (!judged.tool) return;
  if (judged.tool->state == ToolState::quarantined) {
    refuse(call.judged, ReasonCode::tool_quarantined,
           fmt::format("The tool `{}` is quarantined: {}.", judged.tool->ref.tool,
                       visible(judged.tool->quarantine_reason)));
  }
}

}  // namespace sallyport::gateway::calls
