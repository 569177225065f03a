#include "gateway/calls/budgets.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>

#include "gateway/calls/phases.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/canonical.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::string_view kPrefix = "budget/";
constexpr UnixMillis kQuietCounter = 30LL * 24 * 60 * 60 * 1000;
constexpr std::uint32_t kSweptAtOnce = 500;

std::string setting_of(const std::string& key) { return std::string(kPrefix) + key; }

Result<policy::Counter> counter(Tx& tx, const std::string& key) {
  const auto stored = tx.setting(setting_of(key));
  if (!stored) return policy::Counter{};
  auto decoded = policy::decode_counter(*stored);
  if (!decoded) return fail(ErrorCode::corrupt, "a budget's counter cannot be read");
  return std::move(*decoded);
}

NoRoom no_room_in(const BudgetUse& use, const policy::BudgetRefusal& refusal) {
  NoRoom out;
  out.budget = use.rule->budget.id;
  out.later = refusal.retry_after.has_value();
  if (refusal.clock) {
    out.code = ReasonCode::clock_unsafe;
    out.sentence = fmt::format("The budget `{}` cannot be judged: {}.", out.budget, refusal.words);
    return out;
  }
  const auto seconds = [](Millis wait) { return to_text(std::chrono::ceil<std::chrono::seconds>(wait)); };
  out.sentence = fmt::format(
      "The budget `{}` is used up: {}{}.", out.budget, refusal.words,
      out.later ? fmt::format("; there may be room again in {}", seconds(*refusal.retry_after)) : std::string());
  return out;
}

}  // namespace

// A request counts whatever it is refused for. One that means no tool counts where no tool is asked about: in budgets
// of runs and clients that name nothing.
void find_budgets(Call& call, const Context&) {
  Judgement& judged = call.judged;
  const policy::Policy& policy = *judged.snapshot->policy;
  if (policy.budgets.empty()) return;
  const Method method = judged.tool ? judged.tool->method : call.request.method;
  const bool other = method != Method::tools_call;  // only tool calls are requests of their own accord
  const bool readable =
      judged.tool && (judged.tool->input || other) && !(call.request.arguments && call.request.arguments.ambiguity());
  CallFacts facts;
  if (judged.tool) {
    facts = facts_of(call);
    if (!readable) {
      facts.arguments = {};
      facts.effect = judged.tool->effect.effective;
    }
  } else {
    facts.principal = &call.request.client->principal;
    facts.method = method;
  }
  for (const policy::BudgetRule* rule : policy::budgets_for(policy, facts, readable)) {
    const auto per = rule->budget.per;
    const bool of_caller = per == policy::Budget::Per::run || per == policy::Budget::Per::principal;
    if (!judged.tool && (rule->match || !of_caller)) continue;
    if (other && !rule->match) continue;
    BudgetUse use{rule, policy::budget_key(rule->budget, facts, call.row.run), {}};
    if (rule->budget.sum && readable) {
      auto amount = policy::budget_amount(rule->budget, facts.arguments, facts.input_schema);
      if (amount) {
        use.amount = *amount;
      } else {
        refuse(judged, ReasonCode::budget_exhausted,
               fmt::format("The budget `{}` cannot count this call: {}.", rule->budget.id, amount.error().message),
               rule->budget.id);
      }
    }
    judged.budgets.push_back(std::move(use));
  }
}

void refuse(Judgement& judged, const NoRoom& no_room) {
  refuse(judged, no_room.code, no_room.sentence, no_room.budget);
  judged.refusals.back().later = no_room.later;
}

Result<std::optional<NoRoom>> count_request(Tx& tx, std::span<const BudgetUse> budgets, UnixMillis now,
                                            std::uint64_t attempts) {
  std::optional<NoRoom> refused;
  for (const BudgetUse& use : budgets) {
    auto state = counter(tx, use.key);
    if (!state) return fail(state.error());
    const auto no_room = policy::check(use.rule->budget, *state, policy::Charge{1, attempts, use.amount}, now);
    if (no_room && !refused) refused = no_room_in(use, *no_room);
    policy::count(use.rule->budget, *state, policy::Charge{1, 0, {}}, now);
    if (auto put = tx.put_setting(setting_of(use.key), policy::encode(*state)); !put) return fail(put.error());
  }
  return refused;
}

namespace {

Status add_reservations(Tx& tx, std::span<const BudgetUse> budgets, const std::string& operation, UnixMillis now,
                        bool amounts, bj::array reserved, Reserved& out) {
  out = {};
  for (const BudgetUse& use : budgets) {
    auto state = counter(tx, use.key);
    if (!state) return fail(state.error());
    const policy::Charge charge{0, 1, amounts ? use.amount : policy::Decimal{}};
    auto reservation = policy::reserve(use.rule->budget, *state, charge, now);
    if (!reservation) {
      out.no_room = no_room_in(use, reservation.error());
      return fail(ErrorCode::limit, out.no_room->sentence);
    }
    if (const auto end = policy::run_end(use.rule->budget, *state))
      out.run_ends = std::min(out.run_ends.value_or(*end), *end);
    if (auto put = tx.put_setting(setting_of(use.key), policy::encode(*state)); !put) return put;
    reserved.emplace_back(bj::object{{"key", use.key}, {"reservation", policy::encode(*reservation)}});
  }
  return tx.put_sealed(operation, "reservations", json::canonical(bj::value(std::move(reserved))));
}

// What was reserved for the operation so far; empty: nothing.
Result<bj::array> reservations(Tx& tx, const std::string& operation) {
  auto stored = tx.sealed(operation, "reservations");
  if (!stored && stored.error().code == ErrorCode::not_found) return bj::array{};
  if (!stored) return fail(stored.error());
  boost::system::error_code ec;
  bj::value list = bj::parse(*stored, ec);
  if (ec || !list.is_array()) return fail(ErrorCode::corrupt, "a budget's reservation cannot be read");
  return std::move(list.as_array());
}

}  // namespace

Status reserve(Tx& tx, std::span<const BudgetUse> budgets, const std::string& operation, UnixMillis now,
               Reserved& out) {
  return budgets.empty() ? Status{} : add_reservations(tx, budgets, operation, now, true, {}, out);
}

Status reserve_attempt(Tx& tx, std::span<const BudgetUse> budgets, const std::string& operation, UnixMillis now) {
  if (budgets.empty()) return {};
  auto reserved = reservations(tx, operation);
  if (!reserved) return fail(reserved.error());
  Reserved out;
  return add_reservations(tx, budgets, operation, now, false, std::move(*reserved), out);
}

Status settle_budgets(Tx& tx, Deed deed, const std::string& operation) {
  if (deed == Deed::keep) return keep(tx, operation);
  return deed == Deed::give_back ? release(tx, operation) : Status{};
}

Status release(Tx& tx, const std::string& operation) {
  const auto list = reservations(tx, operation);
  if (!list) return fail(list.error());
  if (list->empty()) return {};
  for (const bj::value& entry : *list) {
    const std::string key(entry.at("key").as_string());
    if (!tx.setting(setting_of(key))) continue;  // swept meanwhile
    const auto reservation = policy::decode_reservation(std::string(entry.at("reservation").as_string()));
    auto state = counter(tx, key);
    if (!state || !reservation) return fail(ErrorCode::corrupt, "a budget's reservation cannot be read");
    policy::release(*state, *reservation);
    if (auto put = tx.put_setting(setting_of(key), policy::encode(*state)); !put) return put;
  }
  return tx.drop_sealed(operation, "reservations");
}

Result<std::string> sweep_counters(Tx& tx, const std::string& after, UnixMillis now) {
  const auto some = tx.settings(kPrefix, after, kSweptAtOnce);
  for (const auto& [name, value] : some) {
    // `budget/<id>/<per>/<whose>`, each percent-encoded.
    const std::size_t per = name.find('/', kPrefix.size());
    if (per == std::string::npos) continue;
    const std::string_view whose = std::string_view(name).substr(per);
    if (!whose.starts_with("/run/") && !whose.starts_with("/principal/anonymous%3A")) continue;
    const auto counter = policy::decode_counter(value);
    if (counter && counter->latest > now - kQuietCounter) continue;
    if (auto dropped = tx.drop_setting(name); !dropped) return fail(dropped.error());
  }
  return some.size() < kSweptAtOnce ? std::string() : some.back().first;
}

Status keep(Tx& tx, const std::string& operation) { return tx.drop_sealed(operation, "reservations"); }

}  // namespace sallyport::gateway::calls
