// What is kept of arguments so that people see them (design section 12): the page of an ask until its operation is
// closed, and of the last applied call per tool and scope the arguments, so that an approver sees what differs. Sealed.
#pragma once

#include <string>

#include "gateway/ports/store.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway::calls {

struct LastCall {
  std::string operation;  // empty: there was none
  UnixMillis at = 0;
  std::string arguments;  // raw
};

[[nodiscard]] std::string last_owner(const OperationRow& row);
[[nodiscard]] LastCall read_last(const std::string& bytes);  // empty or unreadable: none
// In the transaction that records that the operation took effect.
Status keep_last(Tx& tx, const OperationRow& row, json::Value arguments);

// The page of an ask as it may lie in clear: without values of arguments.
[[nodiscard]] std::string without_values(const std::string& view);
// The whole page while it is kept, else what lies in clear.
[[nodiscard]] std::string whole_view(Tx& tx, const ApprovalRow& row);
// Drops what an operation no longer needs once it is closed.
Status drop_arguments(Tx& tx, const std::string& operation);

}  // namespace sallyport::gateway::calls
