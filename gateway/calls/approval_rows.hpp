// Approvals as rows of the store, and what an approver sees (design section 5).
#pragma once

#include <string>

#include "gateway/calls/call.hpp"
#include "gateway/calls/last_call.hpp"
#include "gateway/ports/records.hpp"
#include "schemas/core/result.hpp"
#include "trust/approvals/approval.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway::calls {

[[nodiscard]] Result<trust::Approval> approval_from(const ApprovalRow& row);
// Puts state, expiry, body and times of the approval into the row; once it has ended, its view loses the arguments.
void update(ApprovalRow& row, const trust::Approval& approval, UnixMillis now);

// The page of an ask, canonical JSON: everything that section 5 lists, with hidden characters made visible and nothing
// cut. Its digest is what an approve names; receipts carry it, so a random `salt` keeps the arguments from being
// guessed.
[[nodiscard]] std::string view_of(const Call& call, const trust::Approval& approval,
                                  std::span<const OperationRow> unknowns, const LastCall& last, std::string salt);

[[nodiscard]] trust::ApprovalRecord record_of(const trust::Approval& approval);
// `blank` with whose approval it is, about what, and how it stands now.
[[nodiscard]] trust::ReceiptBody receipt_about(trust::ReceiptBody blank, const ApprovalRow& row,
                                               const trust::Approval& approval);

}  // namespace sallyport::gateway::calls
