#include "policy/budgets/budget.hpp"

#include <algorithm>
#include <limits>

#include "policy/conditions/schema_view.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint64_t>::max() / 4;

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return std::min(kMaxCount, a + std::min(b, kMaxCount));
}

// A slot is a sixtieth of the window. Without a window there is one, from the beginning of time.
std::int64_t slot_width(const Budget& budget) {
  return budget.window ? std::max<std::int64_t>(1, (budget.window->count() + kSlots - 1) / kSlots) : 0;
}

std::int64_t slot_start(const Budget& budget, UnixMillis now) {
  const std::int64_t width = slot_width(budget);
  return width == 0 ? 0 : now - now % width;
}

// Whether some of the slot lies within the window that ends now.
bool in_window(const Budget& budget, const Counter::Slot& slot, UnixMillis now) {
  if (!budget.window) return true;
  return slot.start + slot_width(budget) + budget.window->count() > now;
}

struct Total {
  std::uint64_t requests = 0;
  std::uint64_t attempts = 0;
  std::optional<Decimal> amount = Decimal();  // nullopt: beyond what can be added up
  std::optional<std::int64_t> oldest;         // start of the oldest slot that counts
};

Total total(const Budget& budget, const Counter& counter, UnixMillis now) {
  Total out;
  for (const Counter::Slot& slot : counter.slots) {
    if (!in_window(budget, slot, now)) continue;
    out.requests = saturating_add(out.requests, slot.requests);
    out.attempts = saturating_add(out.attempts, slot.attempts);
    if (out.amount) out.amount = Decimal::add(*out.amount, slot.amount);
    if (!out.oldest) out.oldest = slot.start;
  }
  return out;
}

// GCRA in microseconds: the least distance of two requests, and how far ahead of time one may be.
std::int64_t emission_interval(const Budget& budget) {
  const std::int64_t per = budget.rate->per.count() * 1000;
  const auto count = static_cast<std::int64_t>(budget.rate->count);
  return std::max<std::int64_t>(1, (per + count - 1) / count);
}

std::int64_t tolerance(const Budget& budget) {
  const std::int64_t interval = emission_interval(budget);
  const auto burst = static_cast<std::int64_t>(std::max<std::uint64_t>(budget.burst, 1)) - 1;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  return burst > kMost / interval ? kMost : burst * interval;
}

BudgetRefusal refusal(std::string words, std::optional<Millis> retry_after) {
  return {.words = std::move(words), .retry_after = retry_after, .clock = false};
}

// Whether what it counts or when it ends depends on the time.
bool is_timed(const Budget& budget) { return budget.window || budget.rate || budget.deadline; }

// When the oldest slot that counts will have left the window.
std::optional<Millis> until_room(const Budget& budget, const Total& used, UnixMillis now) {
  if (!budget.window || !used.oldest) return std::nullopt;
  return Millis(std::max<std::int64_t>(1, *used.oldest + slot_width(budget) + budget.window->count() - now));
}

std::optional<BudgetRefusal> check_count(const Budget& budget, std::string_view what,
                                         const std::optional<std::uint64_t>& limit, std::uint64_t used,
                                         std::uint64_t more, std::optional<Millis> retry) {
  if (!limit || more == 0 || saturating_add(used, more) <= *limit) return std::nullopt;
  std::string words =
      "at most " + std::to_string(*limit) + " " + std::string(what) + " per " + std::string(to_string(budget.per));
  if (budget.window) words += " in " + to_text(*budget.window);
  const bool never = more > *limit;
  return refusal(words + ", and " + std::to_string(used) + " are used", never ? std::nullopt : retry);
}

std::optional<BudgetRefusal> check_sum(const Budget& budget, const Total& used, const Decimal& amount,
                                       std::optional<Millis> retry) {
  if (!budget.sum || !budget.max) return std::nullopt;
  if (amount.negative()) return refusal("the amount is negative", std::nullopt);
  if (amount.zero()) return std::nullopt;
  const auto sum = used.amount ? Decimal::add(*used.amount, amount) : std::nullopt;
  if (sum && *sum <= *budget.max) return std::nullopt;
  std::string words =
      "`" + *budget.sum + "` adds up to at most " + budget.max->text() + " per " + std::string(to_string(budget.per));
  if (budget.window) words += " in " + to_text(*budget.window);
  const auto left = used.amount ? Decimal::subtract(*budget.max, *used.amount) : std::nullopt;
  if (left) words += ", and " + (left->negative() ? std::string("0") : left->text()) + " are left";
  return refusal(words, amount > *budget.max ? std::nullopt : retry);
}

std::optional<BudgetRefusal> check_rate(const Budget& budget, const Counter& counter, std::uint64_t requests,
                                        UnixMillis now) {
  if (!budget.rate || requests == 0) return std::nullopt;
  const std::int64_t early = counter.arrival - tolerance(budget);
  const std::int64_t wait = early - now * 1000;
  if (wait <= 0) return std::nullopt;
  return refusal("at most " + std::to_string(budget.rate->count) + " requests in " + to_text(budget.rate->per),
                 Millis((wait + 999) / 1000));
}

}  // namespace

std::string_view to_string(Budget::Per per) {
  switch (per) {
    case Budget::Per::run:
      return "run";
    case Budget::Per::principal:
      return "principal";
    case Budget::Per::server:
      return "server";
    case Budget::Per::tool:
      return "tool";
  }
  return "run";
}

std::string budget_key(const Budget& budget, const CallFacts& facts, std::string_view run) {
  const std::string own = percent_encode(budget.id) + "/" + std::string(to_string(budget.per)) + "/";
  switch (budget.per) {
    case Budget::Per::run:
      return own + percent_encode(run);
    case Budget::Per::principal:
      return own + (facts.principal == nullptr ? "" : percent_encode(facts.principal->id));
    case Budget::Per::server:
      return own + percent_encode(facts.server);
    case Budget::Per::tool:
      return own + percent_encode(facts.server) + "/" + percent_encode(facts.tool.empty() ? facts.uri : facts.tool);
  }
  return own;
}

Result<Decimal> budget_amount(const Budget& budget, json::Value arguments, json::Value input_schema) {
  if (!budget.sum) return Decimal();
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::invalid,
                "`" + *budget.sum + "` is added up by budget `" + budget.id + "` and " + std::string(what),
                ErrorSource::client);
  };
  json::Value value = arguments ? arguments.at(*budget.sum) : json::Value();
  if (!value && input_schema) {
    const auto steps = pointer_steps(*budget.sum);
    const auto defaults = steps ? SchemaView(input_schema).at(*steps).defaults() : std::vector<json::Value>{};
    if (defaults.size() == 1) value = defaults.front();
  }
  if (!value) return refuse("is missing");
  if (!value.is_number()) return refuse("is no number");
  auto amount = Decimal::parse_safe(value.number());
  if (!amount) return refuse("is not an exact number");
  if (amount->negative()) return refuse("is negative");
  return *amount;
}

std::optional<UnixMillis> run_end(const Budget& budget, const Counter& counter) {
  if (!budget.deadline || !counter.started) return std::nullopt;
  return *counter.started + budget.deadline->count();
}

std::optional<BudgetRefusal> check(const Budget& budget, const Counter& counter, const Charge& charge, UnixMillis now) {
  if (is_timed(budget) && now + kClockSlack.count() < counter.latest) {
    const Millis behind((counter.latest - now + 999) / 1000 * 1000);
    return BudgetRefusal{.words = "the clock went back by " + to_text(behind) + " since it was last counted",
                         .retry_after = behind,
                         .clock = true};
  }
  now = std::max(now, counter.latest);
  if (const auto end = run_end(budget, counter); end && now >= *end) {
    return refusal("the run's deadline of " + to_text(*budget.deadline) + " is over", std::nullopt);
  }
  const Total used = total(budget, counter, now);
  const auto retry = until_room(budget, used, now);
  if (auto out = check_count(budget, "requests", budget.requests, used.requests, charge.requests, retry)) return out;
  if (auto out = check_count(budget, "attempts", budget.attempts, used.attempts, charge.attempts, retry)) return out;
  if (auto out = check_sum(budget, used, charge.amount, retry)) return out;
  return check_rate(budget, counter, charge.requests, now);
}

void count(const Budget& budget, Counter& counter, const Charge& charge, UnixMillis now) {
  now = std::max(now, counter.latest);
  counter.latest = now;
  if (!counter.started) counter.started = now;
  if (budget.rate && charge.requests > 0 && !check_rate(budget, counter, charge.requests, now)) {
    const std::int64_t interval = emission_interval(budget);
    const auto requests = static_cast<std::int64_t>(std::min<std::uint64_t>(charge.requests, 1'000'000));
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    const std::int64_t step = interval > kMost / requests ? kMost : interval * requests;
    counter.arrival = std::min(kMost * 2, std::max(counter.arrival, now * 1000) + step);
  }
  std::erase_if(counter.slots, [&](const Counter::Slot& slot) { return !in_window(budget, slot, now); });
  const std::int64_t start = slot_start(budget, now);
  if (counter.slots.empty() || counter.slots.back().start < start) {
    counter.slots.push_back(Counter::Slot{.start = start, .requests = 0, .attempts = 0, .amount = {}});
  }
  Counter::Slot& slot = counter.slots.back();
  slot.requests = saturating_add(slot.requests, charge.requests);
  slot.attempts = saturating_add(slot.attempts, charge.attempts);
  if (const auto sum = Decimal::add(slot.amount, charge.amount)) slot.amount = *sum;
}

std::expected<Reservation, BudgetRefusal> reserve(const Budget& budget, Counter& counter, const Charge& charge,
                                                  UnixMillis now) {
  if (auto refused = check(budget, counter, charge, now)) return std::unexpected(std::move(*refused));
  count(budget, counter, charge, now);
  return Reservation{counter.slots.back().start, charge};
}

void release(Counter& counter, const Reservation& reservation) {
  const auto slot = std::ranges::find(counter.slots, reservation.slot, &Counter::Slot::start);
  if (slot == counter.slots.end()) return;
  slot->requests -= std::min(slot->requests, reservation.charge.requests);
  slot->attempts -= std::min(slot->attempts, reservation.charge.attempts);
  const auto rest = Decimal::subtract(slot->amount, reservation.charge.amount);
  if (rest && !rest->negative()) slot->amount = *rest;
}

}  // namespace sallyport::policy
