#include "gateway/app/definition_receipt.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMostFindings = 8;  // texts of the server's own making: as many as a receipt should carry

}  // namespace

std::optional<trust::ReceiptBody> definition_receipt(trust::ReceiptBody blank,
                                                     const catalogue::DefinitionChange& change) {
  const bool drifted = change.after && change.after->state == ToolState::drifted;
  const bool quarantined = change.after && change.after->state == ToolState::quarantined;
  const bool added = !change.before && change.of_accepted && change.after && change.after->state == ToolState::unpinned;
  if (!change.before && !drifted && !quarantined && !added) return std::nullopt;
  blank.server_id = change.tool.server;
  blank.tool = change.tool.tool;
  trust::EventRecord event;
  if (change.offer != trust::Offer::tool) event.details.emplace_back("of", to_string(change.offer));
  event.action = !change.after ? "gone"
                 : drifted     ? "drifted"
                 : quarantined ? "quarantined"
                 : added       ? "added"
                               : "changed";
  if (change.before) event.before = change.before->current_digest;
  if (change.after) {
    event.after = change.after->current_digest;
    event.reason = change.after->quarantine_reason;
    for (std::size_t i = 0; i < std::min(kMostFindings, change.after->findings.size()); ++i)
      event.details.emplace_back(fmt::format("finding {}", i + 1), change.after->findings[i]);
  }
  blank.event = std::move(event);
  return blank;
}

}  // namespace sallyport::gateway
