// The JSON shapes of asks, operations, stops and receipts on the control side (docs/control-api.md).
#pragma once

#include <boost/json/fwd.hpp>

#include "gateway/ports/records.hpp"
#include "trust/approvals/approval.hpp"

namespace sallyport::gateway::calls {

[[nodiscard]] boost::json::object to_json(const OperationRow& row);
[[nodiscard]] boost::json::object to_json(const ApprovalRow& row, const trust::Approval& approval);
[[nodiscard]] boost::json::object to_json(const StopRow& row);
[[nodiscard]] boost::json::object to_json(const ReceiptRow& row);  // with `receipt`: the payload

}  // namespace sallyport::gateway::calls
