// Budgets: how often and how much in a run, or by a principal, a server or a tool (design section 7). Pure arithmetic:
// the counters are a value that the caller keeps in its store and changes in the transaction that records the call;
// time comes as an argument. Not thread-safe; the caller has one writer.
//
// Three moments: a request is counted when it arrives (refused, joined and replayed ones too); attempts and amounts are
// reserved with the intent; a reservation is kept (applied), released (none) or simply left as it is (unknown).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions/decimal.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"
#include "schemas/model/call_facts.hpp"

namespace sallyport::policy {

struct Rate {
  std::uint64_t count = 1;  // per `per`
  Millis per = std::chrono::seconds(1);
  friend bool operator==(const Rate&, const Rate&) = default;
};

struct Budget {
  enum class Per : std::uint8_t { run, principal, server, tool };
  std::string id;
  Per per = Per::run;
  std::optional<std::uint64_t> requests;  // at most, within the window
  std::optional<std::uint64_t> attempts;
  std::optional<std::string> sum;  // pointer to the argument that is added up
  std::optional<Decimal> max;      // of the sum
  std::optional<Millis> window;    // sliding; none: as long as the counter lives
  std::optional<Rate> rate;        // of requests (GCRA)
  std::uint64_t burst = 1;         // requests at once under `rate`
  std::optional<Millis> deadline;  // of a run, from its first request
};

[[nodiscard]] std::string_view to_string(Budget::Per per);

// The counter's key for a call: `run` is the id of the run. Parts are joined so that they cannot be confused; each
// budget has counters of its own.
[[nodiscard]] std::string budget_key(const Budget& budget, const CallFacts& facts, std::string_view run);

struct Charge {
  std::uint64_t requests = 0;
  std::uint64_t attempts = 0;
  Decimal amount;
};

// The amount a call adds to `budget.sum`: an exact decimal, not negative. An absent member counts with the schema's
// default. Anything else is ErrorCode::invalid, and the call must be refused.
[[nodiscard]] Result<Decimal> budget_amount(const Budget& budget, json::Value arguments, json::Value input_schema);

struct Reservation {
  std::int64_t slot = 0;  // start of the slot it was counted in
  Charge charge;
};

struct BudgetRefusal {
  std::string words;                  // for the client: which bound, how much is left
  std::optional<Millis> retry_after;  // when it may fit; none: never in this counter
  bool clock = false;                 // nobody can tell: the clock went back behind what was counted
};

// The state of one budget under one key.
struct Counter {
  struct Slot {
    std::int64_t start = 0;  // UnixMillis
    std::uint64_t requests = 0;
    std::uint64_t attempts = 0;
    Decimal amount;
  };
  std::optional<UnixMillis> started;  // first charge
  UnixMillis latest = 0;              // time never runs backwards here
  std::int64_t arrival = 0;           // GCRA's theoretical arrival time, microseconds
  std::vector<Slot> slots;            // ascending; at most kSlots + 1
};
inline constexpr std::int64_t kSlots = 60;  // of a window; an old slot counts in full until all of it is outside
// A clock that goes back by no more than this stands still for the counter until it has caught up; one that goes back
// further is unsafe for whatever depends on time.
inline constexpr Millis kClockSlack = std::chrono::minutes(1);

// When the budget's deadline ends the run of this counter; nullopt: it has none, or the run has not begun.
[[nodiscard]] std::optional<UnixMillis> run_end(const Budget& budget, const Counter& counter);

// Whether the charge fits now; changes nothing.
[[nodiscard]] std::optional<BudgetRefusal> check(const Budget& budget, const Counter& counter, const Charge& charge,
                                                 UnixMillis now);
// check, then counted.
[[nodiscard]] std::expected<Reservation, BudgetRefusal> reserve(const Budget& budget, Counter& counter,
                                                                const Charge& charge, UnixMillis now);
// Counts what happened whether it fits or not (a refused request).
void count(const Budget& budget, Counter& counter, const Charge& charge, UnixMillis now);
// Takes back what was reserved (outcome none). What a window has already let go is no longer there to take back.
void release(Counter& counter, const Reservation& reservation);

// For the store: one line of JSON, and back. nullopt: not what `encode` writes.
[[nodiscard]] std::string encode(const Counter& counter);
[[nodiscard]] std::optional<Counter> decode_counter(const std::string& text);
[[nodiscard]] std::string encode(const Reservation& reservation);
[[nodiscard]] std::optional<Reservation> decode_reservation(const std::string& text);

}  // namespace sallyport::policy
