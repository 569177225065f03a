// Step 9: people are asked. The ask stands in the store before anyone waits; the client is held with progress notes;
// whoever comes back (an identical call, `sallyport_wait`) waits on the same ask.
#include <algorithm>

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/last_call.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr auto kNoteEvery = std::chrono::seconds(5);

// `one of payments, user:kim and 2 of owners`.
std::string asks_whom(const std::vector<ApprovalTerms>& asks) {
  std::vector<std::string> each;
  for (const auto& terms : asks) {
    std::string who;
    for (const auto& by : terms.by) who += (who.empty() ? "" : ", ") + by;
    if (terms.by.empty()) who = terms.quorum > 1 ? "the approvers" : "an approver";
    if (terms.by.size() > 1 && terms.quorum == 1) who = "one of " + who;
    if (terms.quorum > 1) who = fmt::format("{} of {}", terms.quorum, who);
    if (std::ranges::find(each, who) == each.end()) each.push_back(std::move(who));
  }
  return fmt::format("{}", fmt::join(each, " and "));
}

std::string said(const std::string& reason) {
  return reason.empty() ? std::string() : fmt::format(" and said: \"{}\"", visible(reason));
}

}  // namespace

trust::Binding Calls::binding_of(const Call& call) const {
  const Judgement& judged = call.judged;
  trust::Binding binding;
  binding.arguments = trust::digest_text(call.request.arguments ? call.request.arguments.raw() : std::string_view());
  binding.forwarded =
      trust::digest_text(forwarded_params(call.request, call.row.tool) + "\n" + forwarded_meta(call.request));
  binding.method = call.request.method;
  binding.uri = call.request.uri;
  binding.server = call.row.server;
  binding.identity = judged.server->identity_digest;
  binding.tool = call.row.tool;
  binding.definition = judged.tool->current_digest;
  if (judged.tool->contract) binding.contract = judged.tool->contract->digest;
  binding.rules = judged.decision.rules;
  binding.effect = judged.effect.effective;
  binding.principal = call.row.principal;
  binding.idempotency_key = judged.key;
  binding.asks = judged.decision.asks;
  // Fewer unknowns than were shown change nothing; one that was not shown does.
  const bool seen = std::ranges::all_of(judged.unknowns, [&](const std::string& id) {
    return std::ranges::find(call.shown_unknowns, id) != call.shown_unknowns.end();
  });
  binding.unknowns = seen ? call.shown_unknowns : judged.unknowns;
  binding.scope_revision = judged.revision;
  binding.server_revision = judged.server_revision;
  return binding;
}

asio::awaitable<Result<trust::Approval>> Calls::load_approval(std::string id) {
  std::optional<ApprovalRow> row;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    row = tx.approval(id);
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!row) co_return fail(ErrorCode::not_found, "there is no approval `" + id + "`");
  co_return approval_from(*row);
}

asio::awaitable<Calls::Ask> Calls::ask(FlightPtr flight) {
  Call& call = flight->call;
  if (call.approval.empty()) {
    if (const auto denied = denied_.find(call.row.run + call.row.fingerprint); denied != denied_.end()) {
      call.judged.refusals.push_back(denied->second);  // the same question would only be asked again
      co_return Ask::refused;
    }
    call.judged.grants = find_grants(call);
    if (!call.judged.grants.empty()) co_return Ask::approved;
    const bool session_user = call.request.client->asks_by_form && takes_session_user(call.judged);
    if (!trust::anyone_can_answer(options_.people, call.judged.decision.asks, call.request.client->principal,
                                  session_user)) {
      const bool only_self =
          trust::anyone_can_answer(options_.people, call.judged.decision.asks, Principal{}, session_user);
      refuse(call.judged, ReasonCode::no_approver,
             only_self
                 ? "This call needs a person's approval, and too few may give it: whoever makes a call, or owns the "
                   "client that does, may not answer it."
                 : "This call needs a person's approval, and nobody who may give it is set up.");
      co_return Ask::refused;
    }
    auto opened = co_await open_ask(flight);
    if (!opened) {
      const bool limit = opened.error().code == ErrorCode::limit;
      log::warning("ask.not_opened", {{"operation", call.row.id}, {"reason", opened.error().message}});
      refuse(call.judged, limit ? ReasonCode::limit_reached : ReasonCode::recording_unavailable,
             limit ? "Too many calls wait for approval already." : "The question could not be recorded.");
      co_return Ask::refused;
    }
  } else if (auto approval = co_await load_approval(call.approval);
             approval && approval->state == trust::ApprovalState::approved &&
             !trust::is_due(*approval, time_for(call.approval))) {
    const bool stands = withdrawn_voter(*approval).empty();
    if (stands && approval->binding == trust::digest(binding_of(call))) co_return Ask::approved;
  }
  // Also of a read: an identical call joins the ask instead of making another.
  if (call.judged.key.empty()) by_fingerprint_.insert_or_assign(call.row.fingerprint, Known{call.row.id, clock_.now()});
  by_approval_[call.approval] = call.row.id;
  flight->pending.code = ReasonCode::approval_pending;
  flight->pending.approval = call.approval;
  const auto waits = waiting_.find(call.approval);
  flight->pending.sentence =
      fmt::format("This call waits for the approval of {} (approval {}{}).", asks_whom(call.judged.decision.asks),
                  call.approval, waits == waiting_.end() ? "" : ", until " + to_utc(waits->second.expires));
  flight->pending.reasons = {Reason{ReasonCode::approval_pending, flight->pending.sentence, {}, {}, false}};
  flight->stage = Stage::asking;
  flight->changed.notify();
  const std::string asked = call.approval;  // a grant that answers it ends it
  const Ask answer = co_await wait_for_answer(flight);
  withdraw_questions(flight);
  if (answer != Ask::dormant) by_approval_.erase(asked);
  if (answer == Ask::refused || answer == Ask::again) forget_waiting(asked);
  co_return answer;
}

// An approval that has ended without being spent refuses its call, whatever the rules say by now: a denial is a denial.
bool Calls::refuse_ended(Call& call, const trust::Approval& approval, UnixMillis now) {
  using enum trust::ApprovalState;
  if (trust::is_due(approval, now) || approval.state == expired) {
    refuse(call.judged, ReasonCode::approval_expired,
           trust::satisfied(approval)
               ? fmt::format("Approval {} was given, but the call was not picked up before it expired.", approval.id)
           : approval.votes.empty() ? fmt::format("Nobody answered approval {} in time.", approval.id)
                                    : fmt::format("Approval {} did not get all its answers in time.", approval.id));
    return true;
  }
  if (approval.state == pending || approval.state == approved) return false;
  if (approval.state == denied) {
    refuse(call.judged, ReasonCode::approval_denied,
           approval.ended_by == trust::kSessionUser
               ? "The client's own user refused this call."
               : fmt::format("{} refused this call{}.", approval.ended_by, said(approval.reason)));
    return true;
  }
  if (approval.state == revoked) {  // a person's no, like a denial
    refuse(call.judged, ReasonCode::approval_denied,
           fmt::format("{} took the approval of this call back{}.", approval.ended_by, said(approval.reason)));
    return true;
  }
  if (approval.reason.starts_with(kStopped)) {
    refuse(call.judged, ReasonCode::stopped,
           fmt::format("This was stopped: {}.", visible(approval.reason.substr(kStopped.size()))));
    return true;
  }
  const std::string why = approval.reason.empty() ? "" : fmt::format(" ({})", visible(approval.reason));
  refuse(call.judged, ReasonCode::approval_invalidated,
         fmt::format("Approval {} is {}{}.", approval.id, trust::to_string(approval.state), why));
  return true;
}

// Who approved it and may no longer answer it; empty: every vote still stands.
std::string Calls::withdrawn_voter(const trust::Approval& approval) const {
  for (const trust::Vote& vote : approval.votes) {
    if (!vote.approve || vote.by == trust::kSessionUser) continue;
    const auto person = std::ranges::find(options_.people, vote.by, &Person::id);
    const bool stands =
        person != options_.people.end() && std::ranges::all_of(vote.asks, [&](std::size_t ask) {
          return trust::may_answer(*person, approval.asks[ask], approval.requester, approval.requester_owner);
        });
    if (!stands) return vote.by;
  }
  return {};
}

// Why an ask that nobody has ended must end now, and what its call does then; nullopt: it goes on. What is already
// approved cannot be cancelled any more: it is void.
std::optional<Calls::Ending> Calls::ending_of(const Flight& flight, const trust::Approval& approval, UnixMillis now) {
  const Call& call = flight.call;
  const auto end = [&](std::string by, std::string why) -> trust::ApprovalEvent {
    if (approval.state == trust::ApprovalState::approved) return trust::event::Invalidated{std::move(why)};
    return trust::event::Cancelled{std::move(by), std::move(why)};
  };
  const auto invalid = [](const std::string& why, std::string sentence, ReasonCode code) {
    return Ending{trust::event::Invalidated{why}, Ask::refused, Refusal{code, std::move(sentence), {}, false, {}}, {}};
  };
  if (trust::is_due(approval, now)) return Ending{trust::event::Expired{}, Ask::refused, {}, {}};
  if (call.judged.refused()) {
    return Ending{trust::event::Invalidated{call.judged.refusals.front().sentence}, Ask::refused, {}, {}};
  }
  if (call.judged.decision.verdict == Verdict::allow)
    return Ending{end({}, "the rules allow it now"), Ask::again, {}, {}};
  if (approval.state == trust::ApprovalState::pending) {
    if (auto grants = find_grants(call); !grants.empty())
      return Ending{end({}, "a grant answers it now"), Ask::approved, {}, std::move(grants)};
  }
  if (trust::digest(binding_of(call)) != approval.binding) {
    std::string changed;
    for (const auto& name : trust::differences(call.binding, binding_of(call)))
      changed += (changed.empty() ? "" : ", ") + name;
    return invalid(changed + " changed",
                   fmt::format("What was asked for in approval {} is no longer what would run{}.", approval.id,
                               changed.empty() ? "" : ": " + changed + " changed"),
                   ReasonCode::approval_invalidated);
  }
  if (const std::string gone = withdrawn_voter(approval); !gone.empty()) {
    return invalid(gone + ", who approved it, may no longer answer it",
                   fmt::format("Approval {} is void: {}, who approved it, may no longer answer it.", approval.id, gone),
                   ReasonCode::approval_invalidated);
  }
  const bool user = takes_session_user(call.judged) &&
                    (call.request.client->asks_by_form ||
                     std::ranges::any_of(flight.waiters, [](const Waiter* waiter) { return waiter->asks_by_form; }));
  if (approval.state == trust::ApprovalState::pending &&
      !trust::anyone_can_answer(options_.people, approval.asks, call.request.client->principal, user)) {
    return invalid("nobody is left who may answer it", "Nobody is left who may give the approval that this call needs.",
                   ReasonCode::no_approver);
  }
  if (flight.cancel.reason() && flight.cancel.reason() != CancelReason::shutdown) {
    return Ending{end(call.row.principal, "the client cancelled the call"),
                  Ask::refused,
                  Refusal{ReasonCode::cancelled, "The call was cancelled while it waited for approval.", {}, false, {}},
                  {}};
  }
  return std::nullopt;
}

// Until the approval is answered, somebody cancels, or nobody waits any more.
asio::awaitable<Calls::Ask> Calls::wait_for_answer(FlightPtr flight) {
  Call& call = flight->call;
  for (;;) {
    const std::uint64_t seen = flight->nudge.count();
    auto approval = co_await load_approval(call.approval);
    if (!approval) {
      refuse(call.judged, ReasonCode::recording_unavailable, "The approval could not be read.");
      co_return Ask::refused;
    }
    const UnixMillis now = time_for(call.approval);
    const bool due = trust::is_due(*approval, now);
    if (!due && refuse_ended(call, *approval, now)) co_return Ask::refused;
    // Decided again on what is in force now: an ask is void only if that differs.
    if (!due && !is_current(call.judged)) co_await decide(flight);
    if (auto ending = ending_of(*flight, *approval, now)) {
      auto ended = co_await end_ask(flight, ending->event);
      if (!ended) {
        refuse(call.judged, ReasonCode::recording_unavailable, "The end of the approval could not be recorded.");
        co_return Ask::refused;
      }
      if (!*ended) continue;  // an answer was faster: that one counts
      if (ending->then == Ask::approved) {
        call.approval.clear();
        call.judged.grants = std::move(ending->grants);
      }
      if (ending->refusal) call.judged.refusals.push_back(std::move(*ending->refusal));
      if (due) refuse_ended(call, *approval, now);
      co_return ending->then;
    }
    if (approval->state == trust::ApprovalState::approved)
      co_return flight->waiters.empty() ? Ask::dormant : Ask::approved;
    if (flight->waiters.empty() || closing_) {
      if (flight->nudge.count() != seen && !closing_) continue;  // it may have been answered since it was read
      flight->dormant = true;
      co_return Ask::dormant;
    }
    note_waiting(flight);
    ask_session_users(flight);
    const auto left = std::chrono::milliseconds(std::max<UnixMillis>(1, approval->expires - now));
    co_await flight->nudge.wait_since(seen, Deadline::after(std::min<Deadline::Clock::duration>(left, kNoteEvery)));
  }
}

// Each principal has a quarter of the asks that may wait, so that none can keep the others from asking.
bool Calls::may_ask(std::string_view principal) const {
  const std::size_t most = options_.limits.waiting_approvals;
  if (waiting_.size() >= most) return false;
  const auto own =
      std::ranges::count_if(waiting_, [&](const auto& entry) { return entry.second.principal == principal; });
  return static_cast<std::size_t>(own) < std::max<std::size_t>(1, most / 4);
}

asio::awaitable<Status> Calls::open_ask(FlightPtr flight) {
  Call& call = flight->call;
  const UnixMillis now = clock_.now();
  if (!may_ask(call.row.principal)) co_return fail(ErrorCode::limit, "too many calls wait for approval");
  call.shown_unknowns = call.judged.unknowns;
  auto last = co_await last_call(call);
  if (!last) co_return fail(last.error());
  const trust::Binding binding = binding_of(call);
  call.binding = trust::canonical(binding);
  auto opened = trust::open_approval(entropy_.id("ap", now), call.row.id, call.request.client->principal,
                                     call.judged.decision.asks, trust::digest(binding), trust::shown_digest({}),
                                     now);  // the real one is of the view below
  if (!opened) co_return fail(opened.error());
  trust::Approval approval = std::move(*opened);
  ApprovalRow row;
  const std::string view = view_of(call, approval, unknowns_, *last, entropy_.token(12));
  row.view = without_values(view);
  approval.shown = trust::shown_digest(view);
  row.id = approval.id;
  row.operation = call.row.id;
  row.principal = call.row.principal;
  row.server = call.row.server;
  row.tool = call.row.tool;
  row.fingerprint = call.row.fingerprint;
  row.run = call.row.run;
  row.binding = call.binding;
  row.shown = approval.shown;
  row.created = now;
  update(row, approval, now);

  OperationRow operation = call.row;
  if (auto stepped = step(operation, Event::ask); !stepped) co_return fail(stepped.error());
  operation.approval = approval.id;
  operation.updated = now;
  const std::string params = stored_params(call.request);
  // Before it can be seen: an answer comes to this flight, however fast, and no other ask takes its place.
  by_approval_[approval.id] = call.row.id;
  waiting_[approval.id] = {call.row.principal, approval.expires,
                           Deadline::after(Millis(approval.expires - approval.created))};
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    if (auto put = tx.put(operation); !put) return put;
    if (auto put = tx.put(row); !put) return put;
    if (auto sealed = tx.put_sealed(operation.id, "view", view); !sealed) return sealed;
    return tx.put_sealed(operation.id, "params", params);
  });
  if (!stored) {
    by_approval_.erase(approval.id);
    waiting_.erase(approval.id);
    co_return stored;
  }
  call.row = std::move(operation);
  call.approval = approval.id;
  metrics_.waiting_approvals(static_cast<std::int64_t>(waiting_.size()));
  if (options_.on_ask) options_.on_ask(approval.id);
  co_return Status{};
}

// The last call of this tool in this scope that took effect.
asio::awaitable<Result<LastCall>> Calls::last_call(const Call& call) {
  if (call.request.method != Method::tools_call) co_return LastCall{};
  std::string bytes;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    if (auto kept = tx.sealed(last_owner(call.row), "last")) bytes = std::move(*kept);
    return {};
  });
  if (!read) co_return fail(read.error());
  co_return read_last(bytes);
}

UnixMillis Calls::time_for(const std::string& approval) const {
  const UnixMillis now = clock_.now();
  const auto it = waiting_.find(approval);
  return it != waiting_.end() && it->second.until.passed() ? std::max(now, it->second.expires) : now;
}

// Ends the ask in the store, with its receipt. False: a person's answer, or another end, was there first.
asio::awaitable<Result<bool>> Calls::end_ask(FlightPtr flight, trust::ApprovalEvent event) {
  const std::string id = flight->call.approval;
  auto took = co_await change_ask(flight, id, std::move(event));
  if (took && *took) {
    forget_waiting(id);
    if (options_.on_ask) options_.on_ask(id);
  }
  co_return took;
}

asio::awaitable<Result<bool>> Calls::change_ask(FlightPtr flight, std::string id, trust::ApprovalEvent event) {
  const UnixMillis now = time_for(id);
  trust::ReceiptBody body = body_of(flight->call, trust::ReceiptKind::approval);
  bool took = false;
  auto changed = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    took = false;
    auto row = tx.approval(id);
    if (!row) return fail(ErrorCode::not_found, "the approval is gone");
    auto approval = approval_from(*row);
    if (!approval) return fail(approval.error());
    auto next = trust::apply(*approval, event, now);
    if (!next) return {};
    update(*row, *next, now);
    if (auto put = tx.put(*row); !put) return put;
    trust::ReceiptBody receipt = body;
    receipt.approval = record_of(*next);
    auto appended = tx.append(std::move(receipt));
    if (!appended) return fail(appended.error());
    took = true;
    return {};
  });
  if (!changed) co_return fail(changed.error());
  co_return took;
}

void Calls::forget_waiting(const std::string& approval) {
  if (waiting_.erase(approval) > 0) metrics_.waiting_approvals(static_cast<std::int64_t>(waiting_.size()));
}

void Calls::note_waiting(const FlightPtr& flight) {
  for (Waiter* waiter : flight->waiters) {
    if (waiter->progress_token.empty() || !waiter->channel->open()) continue;
    waiter->last_progress += 1;
    waiter->channel->notify("notifications/progress",
                            fmt::format("{{\"progressToken\":{},\"progress\":{},\"message\":{}}}",
                                        waiter->progress_token, static_cast<std::int64_t>(waiter->last_progress),
                                        quote("Waiting for approval " + flight->call.approval)));
  }
}

}  // namespace sallyport::gateway::calls
