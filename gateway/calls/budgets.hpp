// Budgets of a call (design section 7): found while judging, counted when the request arrives, reserved in the commit
// that records the intent, given back when nothing was done. The counters live in the store and change in its
// transactions only.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "gateway/calls/call.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/ports/store.hpp"

namespace sallyport::gateway::calls {

// What came of a reservation besides its status.
struct Reserved {
  std::optional<NoRoom> no_room;       // with ErrorCode::limit: why
  std::optional<UnixMillis> run_ends;  // the earliest deadline of the run
};

// Counts the request, refused or not; says why it does not fit, if it does not (request, one attempt and the amount
// together).
[[nodiscard]] Result<std::optional<NoRoom>> count_request(Tx& tx, std::span<const BudgetUse> budgets, UnixMillis now,
                                                          std::uint64_t attempts = 1);
// Reserves one attempt and the amounts for the operation. ErrorCode::limit: a budget has no room left.
Status reserve(Tx& tx, std::span<const BudgetUse> budgets, const std::string& operation, UnixMillis now, Reserved& out);
// One more attempt of the same operation. ErrorCode::limit as above.
Status reserve_attempt(Tx& tx, std::span<const BudgetUse> budgets, const std::string& operation, UnixMillis now);
// Gives back what was reserved for the operation: nothing was done.
Status release(Tx& tx, const std::string& operation);
// Its outcome is applied: the reservation stays for good.
Status keep(Tx& tx, const std::string& operation);
// Drops a few counters of runs, and of clients without a credential, that nothing was counted in for a month, behind
// the one named `after`; says where to go on (empty: at the end).
Result<std::string> sweep_counters(Tx& tx, const std::string& after, UnixMillis now);
// What the table says of this transition.
Status settle_budgets(Tx& tx, Deed deed, const std::string& operation);

}  // namespace sallyport::gateway::calls
