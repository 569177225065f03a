#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/people.hpp"
#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/ids.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::uint32_t kMostListed = 1'000;

Result<std::vector<OperationState>> states_of(const std::string& text) {
  using enum OperationState;
  if (text.empty()) return std::vector<OperationState>{};
  if (text == "unknown") return std::vector{unknown, reconciling};
  if (text == "open")
    return std::vector{received, waiting, ready, intent, sent, awaiting_input, running, unknown, reconciling};
  const auto state = parse_operation_state(text);
  if (!state)
    return fail(ErrorCode::invalid, fmt::format("there is no state `{}`; use open, unknown, or a state's name", text));
  return std::vector{*state};
}

std::string member(const bj::object& query, std::string_view name) {
  const auto* value = query.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

// The lookups that a reconciliation rests on are operations of their own; here they belong to the story.
std::vector<ReceiptRow> with_evidence(Tx& tx, std::vector<ReceiptRow> receipts) {
  std::vector<ReceiptRow> story;
  for (ReceiptRow& row : receipts) {
    boost::system::error_code ec;
    const bj::value payload = row.kind == "reconciliation" ? bj::parse(row.payload, ec) : bj::value();
    const bj::value* evidence = ec ? nullptr : payload.find_pointer("/predicate/evidence", ec);
    if (evidence != nullptr && evidence->is_array()) {
      for (const bj::value& id : evidence->as_array()) {
        if (auto found = id.is_string() ? tx.receipt(std::string_view(id.as_string())) : std::nullopt)
          story.push_back(std::move(*found));
      }
    }
    story.push_back(std::move(row));
  }
  return story;
}

// When an id was made: the first ten of its ULID's digits.
UnixMillis made_at(std::string_view id) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  UnixMillis time = 0;
  for (const char c : id.substr(id.find('_') + 1, 10)) time = time * 32 + static_cast<UnixMillis>(kDigits.find(c));
  return time;
}

// No index knows runs: the receipts since it began, a piece at a time, newest first as lists are.
std::vector<ReceiptRow> receipts_of_run(Tx& tx, ReceiptFilter filter, const std::string& run) {
  constexpr std::uint32_t kPiece = 1'000;
  constexpr std::uint32_t kMostPieces = 200;
  const std::string member = "\"run\":" + quote(run);
  const std::uint32_t most = filter.limit;
  filter.since = std::max(filter.since, made_at(run));
  filter.newest_first = false;
  filter.limit = kPiece;
  std::vector<ReceiptRow> found;
  for (std::uint32_t piece = 0; piece < kMostPieces && found.size() < most; ++piece) {
    std::vector<ReceiptRow> rows = tx.receipts(filter);
    if (rows.empty()) break;
    filter.from_seq = rows.back().seq + 1;
    for (ReceiptRow& row : rows) {
      if (found.size() < most && row.payload.find(member) != std::string::npos) found.push_back(std::move(row));
    }
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace

DeskAnswer People::operations(Person person, std::string state, std::uint32_t limit) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  auto states = states_of(state);
  if (!states) co_return fail(states.error());
  OperationFilter filter;
  filter.states = std::move(*states);
  filter.limit = std::min(limit, kMostListed);
  std::vector<OperationRow> rows;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    rows = tx.operations(filter);
    return {};
  });
  if (!read) co_return fail(read.error());
  bj::array list;
  for (const OperationRow& row : rows) list.emplace_back(to_json(row));
  co_return json::canonical(bj::value(bj::object{{"operations", std::move(list)}}));
}

DeskAnswer People::operation(Person person, std::string id) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  std::optional<OperationRow> row;
  std::vector<ReceiptRow> receipts;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    row = tx.operation(id);
    ReceiptFilter filter;
    filter.operation = id;
    filter.newest_first = false;
    receipts = with_evidence(tx, tx.receipts(filter));
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!row) co_return fail(ErrorCode::not_found, "there is no operation `" + id + "`");
  bj::object out = to_json(*row);
  bj::array story;
  for (const ReceiptRow& receipt : receipts) story.emplace_back(to_json(receipt));
  out["receipts"] = std::move(story);
  co_return json::canonical(bj::value(std::move(out)));
}

Settlement settlement_of(const Person& person, std::string operation, const std::string& outcome, std::string reason) {
  Settlement settlement;
  settlement.operation = std::move(operation);
  settlement.event = outcome == "applied" ? Event::prove_applied : Event::prove_none;
  settlement.basis = "operator";
  settlement.by = person.id;
  settlement.reason = std::move(reason);
  return settlement;
}

DeskAnswer People::resolve(Person person, std::string id, std::string outcome, std::string reason) {
  if (auto allowed = must_have(person, Role::operator_); !allowed) co_return fail(allowed.error());
  if (outcome != "applied" && outcome != "none")
    co_return fail(ErrorCode::invalid, "the outcome must be `applied` or `none`");
  if (reason.empty()) co_return fail(ErrorCode::invalid, "say how you know, with a reason");
  auto resolved = co_await calls_.resolve(settlement_of(person, std::move(id), outcome, std::move(reason)));
  if (!resolved) co_return fail(resolved.error());
  co_return json::canonical(bj::value(to_json(*resolved)));
}

DeskAnswer People::receipts(Person person, std::string query_json) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  boost::system::error_code ec;
  const bj::value parsed = bj::parse(query_json.empty() ? "{}" : query_json, ec);
  if (ec || !parsed.is_object()) co_return fail(ErrorCode::invalid, "the query must be a JSON object");
  const bj::object& query = parsed.as_object();
  ReceiptFilter filter;
  filter.operation = member(query, "operation");
  filter.principal = member(query, "principal");
  filter.server = member(query, "server");
  filter.tool = member(query, "tool");
  filter.kind = member(query, "kind");
  filter.verdict = member(query, "verdict");
  filter.effect = member(query, "effect");
  filter.outcome = member(query, "outcome");
  for (const auto& [name, into] : {std::pair{"since", &filter.since}, std::pair{"until", &filter.until}}) {
    const std::string text = member(query, name);
    if (text.empty()) continue;
    const auto moment = from_utc(text);
    if (!moment)
      co_return fail(ErrorCode::invalid, fmt::format("`{}` must be a time like 2026-11-30T09:14:02.118Z", name));
    *into = *moment;
  }
  if (const auto* limit = query.if_contains("limit"); limit != nullptr && limit->is_int64() && limit->as_int64() > 0) {
    filter.limit = static_cast<std::uint32_t>(std::min<std::int64_t>(limit->as_int64(), kMostListed));
  }
  const std::string run = member(query, "run");
  if (!run.empty() && !is_id(run, "run")) co_return fail(ErrorCode::invalid, "`run` must be the id of a run");
  std::vector<ReceiptRow> rows;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    rows = run.empty() ? tx.receipts(filter) : receipts_of_run(tx, filter, run);
    return {};
  });
  if (!read) co_return fail(read.error());
  bj::array list;
  for (const ReceiptRow& row : rows) list.emplace_back(to_json(row));
  co_return json::canonical(bj::value(bj::object{{"receipts", std::move(list)}}));
}

DeskAnswer People::receipt(Person person, std::string id) {
  if (auto allowed = may_read(person); !allowed) co_return fail(allowed.error());
  std::optional<ReceiptRow> row;
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    row = tx.receipt(id);
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!row) co_return fail(ErrorCode::not_found, "there is no receipt `" + id + "`");
  bj::object out = to_json(*row);
  out["envelope"] = bj::parse(row->envelope);
  co_return json::canonical(bj::value(std::move(out)));
}

}  // namespace sallyport::gateway::calls
