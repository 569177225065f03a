// The JSON shapes of asks, operations, stops and receipts on the control side (docs/control-api.md), and of what they
// are made of.
#pragma once

#include <boost/json/fwd.hpp>

#include "gateway/ports/records.hpp"
#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "trust/approvals/approval.hpp"

namespace sallyport::gateway::calls {

[[nodiscard]] boost::json::object to_json(const OperationRow& row);
[[nodiscard]] boost::json::object to_json(const ApprovalRow& row, const trust::Approval& approval);
[[nodiscard]] boost::json::object to_json(const StopRow& row);
[[nodiscard]] boost::json::object to_json(const ReceiptRow& row);  // with `receipt`: the payload

[[nodiscard]] boost::json::object to_json(const EffectView& view);  // declared, assigned, effective

// Pretty-printed, one text a line: line breaks are the gateway's, everything else is made visible, nothing is cut.
[[nodiscard]] boost::json::array visible_lines(json::Value value);
// What differs, member by member: `pointer`, `before`, `after`.
[[nodiscard]] boost::json::array differences_json(json::Value before, json::Value after);

}  // namespace sallyport::gateway::calls
