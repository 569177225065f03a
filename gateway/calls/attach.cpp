// The client's side of a flight: attach, hold, be told.
#include <algorithm>

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

std::string progress_token(const Inbound& inbound) {
  const json::Value token = inbound.params ? inbound.params.at("/_meta/progressToken") : json::Value();
  return token && (token.is_string() || token.is_number()) ? std::string(token.raw()) : std::string();
}

// A call whose params could not be read: refused like any other, and on record, with nothing of what it held.
Request unread(const Inbound& inbound, Method method) {
  Request request;
  request.method = method;
  request.client = inbound.client;
  request.document = inbound.document;
  request.received = inbound.received;
  return request;
}

void note_unread(Call& call, std::shared_ptr<const Snapshot> snapshot, const Answer& fault) {
  call.judged.snapshot = std::move(snapshot);
  refuse(call.judged, ReasonCode::arguments_invalid, fault.error ? fault.error->message : std::string());
}

}  // namespace

asio::awaitable<Answer> Calls::tools_call(Inbound inbound) {
  const InHand in_hand(*this);
  Answer fault;
  auto request = read_request(inbound, fault);
  if (!request) {
    const FlightPtr flight = new_flight(unread(inbound, Method::tools_call), inbound.received);
    note_unread(flight->call, snapshots_.current(), fault);
    if (can_record()) co_await conclude_refused(flight);
    co_return fault;
  }
  if (request->name.starts_with("sallyport_")) {
    Answer own = co_await own_call(std::move(inbound), std::move(*request));
    co_return own;
  }
  Answer answer;
  if (inbound.given) {
    answer = co_await continue_call(std::move(inbound), std::move(*request));
  } else {
    answer = co_await run(std::move(inbound), std::move(*request));
  }
  co_return answer;
}

asio::awaitable<Answer> Calls::other_call(Inbound inbound, Method method, Target target) {
  const InHand in_hand(*this);
  Answer answer;
  auto request = read_other(inbound, method, answer);
  if (!request) {
    const FlightPtr flight = new_flight(unread(inbound, method), inbound.received);
    note_unread(flight->call, snapshots_.current(), answer);
    if (can_record()) co_await conclude_refused(flight);
    co_return answer;
  }
  request->target = std::move(target);
  if (inbound.given) {
    answer = co_await continue_call(std::move(inbound), std::move(*request));
  } else {
    answer = co_await run(std::move(inbound), std::move(*request));
  }
  if (answer.input) co_return answer;
  co_return as_error(std::move(answer));
}

namespace {

// The verdict as it would be if evidence and hooks had nothing against it: what is left is a denial by rule or default.
void suppose_all_is_met(Call& call) {
  if (call.judged.refused() || !call.judged.tool) return;
  std::vector<policy::EvidenceFound> evidence;
  for (const EvidenceWanted& wanted : call.judged.weighed.evidence) evidence.push_back({wanted.rule, true, {}, {}});
  std::vector<policy::HookAnswer> hooks;
  for (const HookWanted& wanted : call.judged.weighed.hooks)
    hooks.push_back({wanted.rule, policy::HookAnswer::Decision::none, {}});
  call.judged.decision = policy::conclude(*call.judged.snapshot->policy, call.judged.weighed, evidence, hooks);
  conclude_rules(call, QuietContext());
}

}  // namespace

std::optional<Answer> Calls::denied(const Inbound& inbound, Method method, Target target) const {
  Answer fault;
  auto request = read_other(inbound, method, fault);
  if (!request) return fault;
  request->target = std::move(target);
  Call call;
  call.row.principal = inbound.client->principal.id;
  call.request = std::move(*request);
  calls::weigh(call, snapshots_.current(), *this);
  suppose_all_is_met(call);
  if (!call.judged.refused()) return std::nullopt;
  const Refusal& refusal = call.judged.refusals.front();
  if (refusal.unknown_tool) return Answer{{}, not_found(refusal.sentence, call.request.uri), {}};
  CallMeta meta;
  meta.code = refusal.code;
  meta.retry = retry_for(refusal.code);
  meta.reasons = refusal.reasons;
  return refusal_error(meta, refusal.sentence);
}

bool Calls::may_read(std::shared_ptr<const ClientContext> client, std::string server, const std::string& uri) const {
  Inbound inbound;
  inbound.client = std::move(client);
  inbound.document = parsed("{\"uri\":" + quote(uri) + "}");
  if (!inbound.document) return false;
  inbound.params = inbound.document->root();
  inbound.received = clock_.now();
  return !denied(inbound, Method::resources_read, Target{std::move(server), {}, {}});
}

void Calls::over_limit(const Inbound& inbound, Method method) {
  const std::string& principal = inbound.client->principal.id;
  const auto [known, is_new] = over_limit_.try_emplace({principal, method});
  known->second.client = inbound.client;
  ++known->second.count;
  if (is_new) tasks_.spawn("over limit " + principal, record_over_limit(principal, method));
}

asio::awaitable<void> Calls::record_over_limit(std::string principal, Method method) {
  const InHand in_hand(*this);
  for (;;) {
    const auto open = over_limit_.find({principal, method});
    if (open->second.count == 0 || !can_record()) {
      over_limit_.erase(open);
      co_return;
    }
    --open->second.count;
    Inbound inbound;
    inbound.client = open->second.client;
    inbound.received = clock_.now();
    const FlightPtr flight = new_flight(unread(inbound, method), inbound.received);
    flight->call.judged.snapshot = snapshots_.current();
    refuse(flight->call.judged, ReasonCode::limit_reached, "Too many requests of this session are open.");
    co_await conclude_refused(flight);
  }
}

asio::awaitable<Answer> Calls::run(Inbound inbound, Request request) {
  co_await recall_run(inbound.client);
  FlightPtr flight = new_flight(std::move(request), inbound.received);
  Call& call = flight->call;
  auto key = client_key(inbound);
  if (key) call.request.key = std::move(*key);
  weigh(call);
  if (!key && key.error().code == ErrorCode::invalid)
    refuse(call.judged, ReasonCode::idempotency_key_invalid, key.error().message);
  if (closing_) refuse(call.judged, ReasonCode::server_unavailable, "The gateway is shutting down.");
  if (!can_record()) refuse(call.judged, ReasonCode::recording_unavailable, "The gateway cannot record what it does.");
  auto counted = co_await count_budgets(flight);
  if (!counted) refuse(call.judged, ReasonCode::recording_unavailable, "The request could not be counted.");
  // Deny and stop were weighed; asks, budgets and blocks are not, before a repeat is told what became of its operation.
  Repeat repeat;
  if (!call.judged.refused()) repeat = co_await find_repeat(flight);
  if (repeat.answer) co_return std::move(*repeat.answer);
  if (repeat.flight) {
    Answer joined = co_await attend(repeat.flight, std::move(inbound));
    co_return joined;
  }
  // Nothing of what follows may refuse an operation that may have run.
  if (call.resend && !may_start(call)) co_return still_unknown(call.row);
  if (call.over_budget) refuse(call.judged, *call.over_budget);
  if (!may_start(call)) refuse(call.judged, ReasonCode::limit_reached, "Too many calls are under way.");
  if (call.judged.refused()) {
    forget_fingerprint(call.row);
    co_await conclude_refused(flight);
    co_return answer_of(flight);
  }
  start(flight, work(flight));
  Answer answer = co_await attend(flight, std::move(inbound));
  co_return answer;
}

// Counts the request in every budget that it concerns. One that has no room left refuses it, unless it turns out to
// repeat an operation: a repeat takes nothing from a budget but the request.
asio::awaitable<Status> Calls::count_budgets(FlightPtr flight) {
  Call& call = flight->call;
  if (call.judged.budgets.empty()) co_return Status{};
  const UnixMillis now = clock_.now();
  std::optional<NoRoom> refused;
  auto counted = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto checked = count_request(tx, call.judged.budgets, now);
    if (!checked) return fail(checked.error());
    refused = std::move(*checked);
    return {};
  });
  if (!counted) co_return counted;
  call.over_budget = std::move(refused);
  co_return Status{};
}

// The key that the client sent, by `_meta` or header. not_found: none.
Result<std::string> Calls::client_key(const Inbound& inbound) {
  const json::Value meta = inbound.params.find("_meta");
  const json::Value in_meta = meta ? meta.find(mcp::kKeyMeta) : json::Value();
  if (in_meta && !in_meta.is_string()) return fail(ErrorCode::invalid, "The idempotency key must be a string.");
  if (!in_meta && !inbound.has_idempotency_header) return fail(ErrorCode::not_found, "no key");
  if (in_meta && inbound.has_idempotency_header && in_meta.string() != inbound.idempotency_header) {
    return fail(ErrorCode::invalid, "Two different idempotency keys were sent, in `_meta` and in the header.");
  }
  std::string key = in_meta ? in_meta.string() : inbound.idempotency_header;
  if (key.empty()) return fail(ErrorCode::invalid, "The idempotency key is empty.");
  return key;
}

Calls::FlightPtr Calls::new_flight(Request request, UnixMillis received) {
  auto flight = std::make_shared<Flight>(loop_);
  Call& call = flight->call;
  call.request = std::move(request);
  OperationRow& row = call.row;
  row.id = entropy_.id("op", received);
  row.principal = call.request.client->principal.id;
  row.session = call.request.client->session;
  row.run = run_of(*call.request.client, received);
  row.created = row.updated = received;
  return flight;
}

// Waits until the flight is done, the hold of an ask ends (or a moment, where the client takes a task instead), or the
// client gives up.
asio::awaitable<Answer> Calls::attend(FlightPtr flight, Inbound inbound) {
  Waiter waiter{.channel = inbound.channel,
                .session = inbound.client->session,
                .progress_token = progress_token(inbound),
                .asks_by_form = inbound.client->asks_by_form,
                .asks_by_url = inbound.client->asks_by_url};
  const Attached attached(flight, waiter);
  if (inbound.cancel) {
    inbound.cancel->on_cancel([weak = std::weak_ptr<Flight>(flight)](CancelReason) {
      if (const auto alive = weak.lock()) alive->changed.notify();
    });
  }
  const Deadline hold = Deadline::after(inbound.client->hold);
  const Deadline task_hold = earlier(hold, Deadline::after(kTaskAfter));
  const bool takes_task = inbound.client->takes_tasks;
  flight->kept = flight->kept || takes_task;
  const auto given_up = [&] { return inbound.cancel && inbound.cancel->reason(); };
  while (flight->stage != Stage::done && !flight->dormant && !given_up()) {
    const bool asking = flight->stage == Stage::asking;
    // What its own user is asked is answered by the same call again, which must find it waiting.
    const bool soon = takes_task && (asking ? !takes_session_user(flight->call.judged) : flight->call.sent > 0);
    const Deadline until = soon ? task_hold : asking ? hold : Deadline::never();
    if (until.passed()) break;
    co_await flight->changed.wait(until);
  }
  if (inbound.cancel) inbound.cancel->on_cancel({});
  if (flight->stage == Stage::done) co_return answer_of(flight);
  const bool shutting_down = given_up() && *inbound.cancel->reason() == CancelReason::shutdown;
  if (given_up() && !(shutting_down && flight->stage == Stage::asking)) {
    const bool last = flight->waiters.size() == 1;
    if (last) flight->cancel.cancel(*inbound.cancel->reason());
    CallMeta meta;
    meta.operation = flight->call.row.id;
    meta.outcome = last && flight->stage != Stage::running ? Outcome::none : Outcome::unknown;
    // What was let through was not denied, whatever became of it.
    if (flight->stage == Stage::running) meta.verdict = flight->call.judged.decision.verdict;
    meta.was_read = meta.outcome == Outcome::unknown && flight->call.row.is_read;
    // Whoever still reads this must not take it for leave to repeat what may be running.
    const bool may_run = meta.outcome == Outcome::unknown && !meta.was_read;
    meta.code = may_run ? ReasonCode::outcome_unknown : ReasonCode::cancelled;
    meta.retry = retry_for(*meta.code);
    co_return Answer::of(refusal_result(meta, shutting_down
                                                  ? "The gateway is shutting down and no longer waits for this call."
                                                  : "The client gave up on this call."));
  }
  if (takes_task) co_return make_task(flight);
  CallMeta meta;
  meta.code = ReasonCode::approval_pending;
  meta.verdict = Verdict::ask;
  meta.retry = Retry::after_approval;
  meta.operation = flight->call.row.id;
  meta.approval = flight->call.approval;
  meta.reasons = flight->pending.reasons;
  co_return Answer::of(refusal_result(meta, flight->pending.sentence));
}

// Whether the answer is kept until it was handed over, or as long as its key: for writes, and for what a person
// allowed.
bool Calls::is_kept(const OperationRow& row) { return !row.is_read || !row.approval.empty() || !row.key.empty(); }

Answer Calls::answer_of(const FlightPtr& flight) {
  Answer answer;
  if (flight->input) {
    answer.input = flight->input;
    return answer;
  }
  answer.ttl_ms = flight->ttl_ms;
  if (flight->error) {
    answer.error = flight->error;
  } else if (flight->result) {
    answer.result = *flight->result;
  } else {
    answer.error = mcp::RpcError{mcp::code::kInternalError, "the call ended without an answer", {}};
  }
  const OperationRow& row = flight->call.row;
  if ((is_kept(row) || flight->kept) && row.state != OperationState::refused) {
    answer.delivered = [this, id = row.id](bool in_full) { delivered(id, in_full); };
  }
  return answer;
}

// The transport took the last byte: from now on the same call is a new one. Its result is kept only as long as its key;
// that of a task for who asks again.
void Calls::delivered(std::string operation, bool in_full, bool as_task) {
  if (!in_full) return;
  std::erase_if(by_fingerprint_, [&](const auto& entry) { return entry.second.operation == operation; });
  store_.post([operation = std::move(operation), as_task](Tx& tx) -> Status {
    auto row = tx.operation(operation);
    if (!row || row->delivered) return {};
    row->delivered = true;
    if (row->key.empty() && !as_task) {
      if (auto dropped = tx.drop_sealed(operation, "result"); !dropped) return dropped;
    }
    return tx.put(*row);
  });
}

}  // namespace sallyport::gateway::calls
