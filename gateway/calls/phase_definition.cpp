// Step 4: pinned, drifted, quarantined.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway::calls {

void check_definition(Call& call, const Context&) {
  const Judgement& judged = call.judged;
  if (!judged.tool) return;
  if (judged.tool->state == ToolState::quarantined) {
    const bool uri = judged.tool->offer == trust::Offer::resource_template;
    refuse(
        call.judged, ReasonCode::tool_quarantined,
        fmt::format("The {} `{}` is quarantined: {}.", to_string(judged.tool->offer),
                    visible(uri ? call.request.uri : judged.tool->ref.tool), visible(judged.tool->quarantine_reason)));
  }
}

}  // namespace sallyport::gateway::calls
