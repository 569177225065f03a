// Runs (design sections 2 and 7): the standing run of clients without a session, and `sallyport_finish`, which tells
// whether what the run's contract wants is there: current evidence, and nothing unknown.
#include <charconv>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "policy/evaluate/evaluate.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr UnixMillis kQuiet = 30LL * 60 * 1000;
constexpr UnixMillis kSaveEvery = 60LL * 1000;
constexpr int kTries = 4;
constexpr std::string_view kFinish = "sallyport_finish";

std::string setting_of(const std::string& principal) { return "run/" + quote(principal); }

}  // namespace

// What a finish found.
struct Calls::Finish {
  std::vector<EvidenceBasis> evidence;
  std::vector<std::string> digests;                          // of those receipts
  std::vector<std::pair<std::string, std::string>> missing;  // rule, why
  std::vector<std::string> unknown;                          // operations
  std::string receipt;

  [[nodiscard]] std::string status() const {
    if (!unknown.empty()) return "unresolved";
    return missing.empty() ? "complete" : "completion_rejected";
  }
};

std::string Calls::run_of(const ClientContext& client, UnixMillis now) {
  if (!client.run.empty()) return client.run;
  Standing& standing = standing_runs_[client.principal.id];
  const bool begins = standing.run.empty() || now - standing.used > kQuiet;
  if (begins) standing.run = entropy_.id("run", now);
  standing.used = now;
  // An anonymous connection is a principal that does not come back.
  if (!client.principal.anonymous && (begins || now - standing.saved >= kSaveEvery)) {
    standing.saved = now;
    store_.post([name = setting_of(client.principal.id), value = fmt::format("{} {}", standing.run, now)](Tx& tx) {
      return tx.put_setting(name, value);
    });
  }
  return standing.run;
}

// A standing run goes on over a restart, as its budgets do.
asio::awaitable<void> Calls::recall_run(std::shared_ptr<const ClientContext> client) {
  const std::string& principal = client->principal.id;
  if (!client->run.empty() || client->principal.anonymous || standing_runs_.contains(principal)) co_return;
  std::optional<std::string> kept;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    kept = tx.setting(setting_of(principal));
    return {};
  });
  const std::size_t space = read && kept ? kept->find(' ') : std::string::npos;
  if (space == std::string::npos) co_return;
  UnixMillis used = 0;
  std::from_chars(kept->data() + space + 1, kept->data() + kept->size(), used);
  standing_runs_.try_emplace(principal, Standing{kept->substr(0, space), used, used});  // unless one began meanwhile
}

void Calls::end_quiet_runs(UnixMillis now) {
  std::erase_if(standing_runs_, [&](const auto& entry) { return now - entry.second.used > kQuiet; });
}

// The budgets that count a request which is no tool's: those of the run and of the principal that name no tool.
std::vector<BudgetUse> Calls::budgets_of_finish(const Snapshot& snapshot, const Call& call) {
  CallFacts facts;
  facts.principal = &call.request.client->principal;
  facts.tool = kFinish;
  std::vector<BudgetUse> out;
  for (const policy::BudgetRule* rule : policy::budgets_for(*snapshot.policy, facts)) {
    const bool counts =
        rule->budget.per == policy::Budget::Per::run || rule->budget.per == policy::Budget::Per::principal;
    if (counts && !rule->budget.sum) out.push_back({rule, policy::budget_key(rule->budget, facts, call.row.run), {}});
  }
  return out;
}

asio::awaitable<Answer> Calls::finish_call(Inbound inbound, Request request) {
  const bool plain = !request.arguments || request.arguments.size() == 0;
  if (!plain) co_return invalid_own_call("`sallyport_finish` takes no arguments.");
  co_await recall_run(inbound.client);
  const FlightPtr flight = new_flight(std::move(request), inbound.received);
  const Call& call = flight->call;
  const auto snapshot = snapshots_.current();
  const std::vector<BudgetUse> budgets = budgets_of_finish(*snapshot, call);
  std::optional<NoRoom> over;
  const UnixMillis now = clock_.now();
  auto counted = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto checked = count_request(tx, budgets, now, 0);
    if (!checked) return fail(checked.error());
    over = std::move(*checked);
    return {};
  });
  if (!counted || over) {
    flight->call.row.tool = kFinish;
    flight->call.judged.snapshot = snapshot;
    if (over) {
      refuse(flight->call.judged, *over);
    } else {
      refuse(flight->call.judged, ReasonCode::recording_unavailable, "The request could not be counted.");
    }
    co_await conclude_refused(flight);
    co_return answer_of(flight);
  }
  for (int tries = 0; tries < kTries; ++tries) {
    Finish finish = co_await look_at_run(call);
    auto recorded = co_await record_finish(call, finish);
    if (recorded) co_return finish_answer(call, finish);
    if (recorded.error().code != ErrorCode::conflict) break;
  }
  co_return invalid_own_call("What this run did could not be judged and recorded now. Call again.",
                             ReasonCode::recording_unavailable);
}

asio::awaitable<Calls::Finish> Calls::look_at_run(const Call& call) {
  Finish finish;
  const auto snapshot = snapshots_.current();
  std::vector<EvidenceWanted> wanted;
  for (const std::string& id : *options_.run_evidence) {
    const policy::Rule* rule = snapshot->policy->rule(id);
    if (rule == nullptr || !rule->evidence) {
      finish.missing.emplace_back(id, "the policy has no such `require` rule any more");
      continue;
    }
    EvidenceWanted one;
    one.rule = id;
    one.server = rule->evidence->server;
    one.tool = rule->evidence->tool;
    wanted.push_back(std::move(one));
  }
  const std::vector<EvidenceState> states = co_await current_evidence(call.row, wanted);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].basis) {
      finish.evidence.push_back(*states[i].basis);
    } else {
      finish.missing.emplace_back(wanted[i].rule, fmt::format("run `{}` of server `{}` first: {}", wanted[i].tool,
                                                              wanted[i].server, states[i].found.words));
    }
  }
  for (const OperationRow& row : unknowns_) {
    if (row.principal == call.row.principal) finish.unknown.push_back(row.id);
  }
  for (const auto& [id, other] : flights_) {
    const Call& open = other->call;
    const bool sent = other->stage == Stage::running && !open.row.is_read;
    const bool known = std::ranges::find(finish.unknown, id) != finish.unknown.end();
    if (sent && !known && open.row.principal == call.row.principal) finish.unknown.push_back(id);
  }
  for (const auto& [id, parked] : parked_) {
    const OperationRow& open = parked.flight->call.row;
    if (!open.is_read && open.principal == call.row.principal) finish.unknown.push_back(id);
  }
  co_return finish;
}

// The receipt of kind `run`: the evidence with its digests, current in the very transaction. conflict: it is not any
// more.
asio::awaitable<Status> Calls::record_finish(const Call& call, Finish& finish) {
  trust::ReceiptBody body = receipt(trust::ReceiptKind::run);
  const ClientContext& client = *call.request.client;
  body.id = finish.receipt = entropy_.id("rc", clock_.now());
  body.run = call.row.run;
  body.principal = call.row.principal;
  body.client_name = client.claimed_name;
  body.client_version = client.claimed_version;
  body.protocol = client.protocol_version;
  body.transport = client.transport;
  auto stored = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    trust::ReceiptBody run = body;
    trust::Pairs details;
    finish.digests.clear();
    for (const EvidenceBasis& basis : finish.evidence) {
      if (tx.revision(basis.server, basis.scope) != basis.revision)
        return fail(ErrorCode::conflict, "the evidence is stale now");
      const auto row = tx.receipt(basis.receipt);
      if (!row) return fail(ErrorCode::corrupt, "the receipt of the evidence is gone");
      run.evidence.push_back(basis.receipt);
      finish.digests.push_back(trust::digest_text(row->payload));
      details.emplace_back(basis.rule, finish.digests.back());
    }
    for (const auto& [rule, why] : finish.missing) details.emplace_back(rule, "missing");
    for (const std::string& id : finish.unknown) details.emplace_back(id, "unknown");
    run.event = trust::EventRecord{finish.status(), {}, {}, call.row.run, {}, {}, std::move(details)};
    auto appended = tx.append(std::move(run));
    if (!appended) return fail(appended.error());
    return {};
  });
  co_return stored;
}

namespace {

std::string words_of(const std::string& status, const Calls::Finish& finish) {
  if (status == "complete") return "Complete: what this run had to show is there, and nothing is unknown.";
  std::string words;
  if (status == "unresolved") {
    words = "Unresolved: of these operations it is not known whether they took effect:";
    for (const std::string& id : finish.unknown) words += " " + id;
    return words + ". Do not repeat them and do not report success: tell the user that an operator has to settle them.";
  }
  words = "Completion rejected:";
  for (const auto& [rule, why] : finish.missing) words += fmt::format(" {} (`{}`);", why, rule);
  words.back() = '.';
  return words + " Then call `sallyport_finish` again.";
}

}  // namespace

Answer Calls::finish_answer(const Call& call, const Finish& finish) {
  const std::string status = finish.status();
  const bool complete = status == "complete";
  CallMeta meta;
  meta.verdict = complete ? Verdict::allow : Verdict::deny;
  meta.outcome = complete ? Outcome::applied : Outcome::none;
  meta.operation = call.row.id;
  meta.receipt = finish.receipt;
  const std::string words = words_of(status, finish);
  if (!complete)
    give_reason(meta, status == "unresolved" ? ReasonCode::outcome_unknown : ReasonCode::evidence_required, words);
  bj::array evidence, missing, unknown;
  for (std::size_t i = 0; i < finish.evidence.size(); ++i) {
    evidence.emplace_back(bj::object{
        {"digest", finish.digests.at(i)}, {"receipt", finish.evidence[i].receipt}, {"rule", finish.evidence[i].rule}});
  }
  for (const auto& [rule, why] : finish.missing) missing.emplace_back(bj::object{{"reason", why}, {"rule", rule}});
  for (const std::string& id : finish.unknown) unknown.emplace_back(id);
  const bj::object structured{{"evidence", std::move(evidence)},
                              {"missing", std::move(missing)},
                              {"run", call.row.run},
                              {"status", status},
                              {"unknown", std::move(unknown)}};
  return Answer::of(fmt::format(R"({{"_meta":{{"{}":{}}},"content":[{{"type":"text","text":{}}}],)"
                                R"("structuredContent":{},"isError":{}}})",
                                mcp::kCallMeta, to_json(meta), quote(words), json::canonical(bj::value(structured)),
                                complete ? "false" : "true"));
}

}  // namespace sallyport::gateway::calls
