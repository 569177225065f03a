// Steps 12 and 13: what the answer proves, the receipt that says so, and the words for the client.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gateway/base/log.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/findings.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/mcp/modern.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/receipts/commitment.hpp"
#include "trust/receipts/redaction.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

// A JSON-RPC error as it is kept for a repeat.
std::string kept_error(const mcp::RpcError& error) {
  return fmt::format("{{\"code\":{},\"message\":{}{}}}", error.code, quote(error.message),
                     error.data.empty() ? "" : ",\"data\":" + error.data);
}

std::string words_of(const ServerAnswer& answer) {
  if (!answer.error) return {};
  const json::Value message = answer.error.find("message");
  return message && message.is_string() ? visible(message.string()) : std::string();
}

std::string lost_sentence(const Call& call, const ServerAnswer& answer) {
  const std::string& tool = call.row.tool;
  if (answer.timed_out) return fmt::format("The server `{}` did not answer `{}` in time.", call.row.server, tool);
  if (answer.cancelled) return fmt::format("The call of `{}` was cancelled while it was under way.", tool);
  if (answer.over_limit) return fmt::format("The result of `{}` is withheld: {}.", tool, visible(answer.detail));
  return fmt::format("The answer of `{}` was lost: {}.", tool, visible(answer.detail));
}

// A result over the limit of its contract: withheld, or cut, which is said in words. The receipt speaks of the whole
// one.
std::string limit_result(const Call& call, ServerAnswer& answer, std::optional<std::string>& withheld) {
  const auto& contract = call.judged.tool->contract;
  if (!contract || !contract->max_result_bytes || answer.kind != ServerAnswer::Kind::result || withheld) return {};
  const std::size_t bytes = answer.result.raw().size();
  const std::size_t most = *contract->max_result_bytes;
  if (bytes <= most) return {};
  const std::string words = fmt::format("it has {} bytes, and its contract allows {}", bytes, most);
  auto cut = contract->over_limit == trust::OverLimit::truncate ? json::Document::parse(cut_result(answer.result, most))
                                                                : Result<json::Document>(fail(ErrorCode::limit, words));
  if (!cut) {
    withheld = words;
    return {};
  }
  answer.document = std::make_shared<const json::Document>(std::move(*cut));
  answer.result = answer.document->root();
  return "The result was cut: " + words + ".";
}

std::string note_of(const std::string& cut, const std::string& warning) {
  if (!cut.empty()) return cut;
  return warning.empty() ? std::string() : "Passed on, although it does not fit the outputSchema: " + warning;
}

// The row as the last answer leaves it.
OperationRow concluded(const Call& call, const Finding& finding, const Conclusion& conclusion, Deed& deed) {
  OperationRow row = call.row;
  // From `intent` nothing but a failure to send leads anywhere else than through `sent`.
  if (finding.proof != Proof::not_sent) static_cast<void>(step(row, Event::dispatch));
  const auto stepped = step(row, conclusion.event);
  if (!stepped) log::error("operation.step", {{"operation", row.id}, {"what", stepped.error().message}});
  if (stepped) deed = stepped->deed;
  row.unknown = conclusion.unknown;
  // Nothing came of the last attempt, and of an earlier one it is not known.
  const bool by_earlier = conclusion.event == Event::lose && call.doubtful && finding.proof != Proof::lost;
  row.basis = by_earlier ? "earlier-attempt" : finding.basis;
  return row;
}

// `sealed`: arguments were; of a read that was allowed outright they were not.
Status store_ending(Tx& tx, const OperationRow& row, Deed deed, const std::string& kept, bool sealed) {
  if (auto put = tx.put(row); !put) return put;
  if (!is_open(row.state) && sealed) {
    if (auto dropped = drop_arguments(tx, row.id); !dropped) return dropped;
  }
  if (auto settled = settle_budgets(tx, deed, row.id); !settled) return settled;
  return kept.empty() ? Status{} : tx.put_sealed(row.id, "result", kept);
}

// Kept answers begin with what they are: `R` a result, `E` a JSON-RPC error.
std::string kept_answer(const Flight& flight) {
  if (flight.result) return "R" + *flight.result;
  return flight.error ? "E" + kept_error(*flight.error) : std::string();
}

// The result in the form that all eras share: without what only the modern one has at its top, and, for a legacy
// client, without structured content that is no object (mcp.md 2.2).
std::shared_ptr<const json::Document> in_common_form(const Call& call, json::Value result) {
  auto document = parsed(mcp::without_era_members(result));
  const json::Value content = document ? document->root().find("structuredContent") : json::Value();
  if (content && !content.is_object() && call.request.client->era == mcp::Era::legacy) {
    constexpr std::array<std::string_view, 1> kContent{"structuredContent"};
    document = parsed(mcp::without_members(document->root(), kContent));
  }
  return document;
}

// An error of a modern server as this client may hear it: what speaks of our own leg is none of its errors.
std::int64_t code_for_client(const Call& call, const ServerAnswer& answer, std::int64_t code) {
  if (!answer.modern) return code;
  if (code <= mcp::code::kHeaderMismatch && code >= -32'099) return mcp::code::kInternalError;
  const bool legacy = call.request.client->era == mcp::Era::legacy;
  if (legacy && code == mcp::code::kInvalidParams && call.request.method == Method::resources_read)
    return mcp::code::kResourceNotFound;
  return code;
}

// The server wants something of the client that this modern one did not declare, and that would be passed on if it did.
bool lacks_capability(const Call& call, const ServerAnswer& answer,
                      const std::function<bool(const ServerQuestion&)>& passes) {
  if (!answer.modern || call.request.client->era != mcp::Era::modern) return false;
  if (error_code(answer) != mcp::code::kMissingClientCapability) return false;
  const json::Value required = answer.error.find("data").find("requiredCapabilities");
  for (const json::Member capability : required.members()) {
    ServerQuestion question;
    question.server = call.row.server;
    question.method = capability.key.equals("elicitation") ? "elicitation/create"
                      : capability.key.equals("sampling")  ? "sampling/createMessage"
                      : capability.key.equals("roots")     ? "roots/list"
                                                           : "";
    if (!passes(question)) return false;
  }
  return required.size() > 0;
}

}  // namespace

// Rules for which this result is evidence: only a good result of what the schema promises can be one.
std::vector<std::string> Calls::fulfilled(const Call& call, const OperationRow& row, const ServerAnswer& answer,
                                          bool doubtful) const {
  std::vector<std::string> rules;
  if (doubtful || !call.evidence_revision || row.outcome != Outcome::applied || write_open(call.judged.scope, row.id))
    return rules;
  const auto& contract = call.judged.tool->contract;
  if (contract && contract->revision && call.evidence_state.value.empty()) return rules;
  const json::Value content = answer.result.find("structuredContent");
  const json::Value schema = call.judged.tool->output ? call.judged.tool->output->document().root() : json::Value();
  for (const std::string& rule : evidence_rules(call)) {
    if (policy::evidence_fulfils(*call.judged.snapshot->policy, rule, content, schema)) rules.push_back(rule);
  }
  return rules;
}

// What one attempt came to; who concludes the operation sets the outcome.
trust::ReceiptBody Calls::receipt_of_attempt(const Call& call, const OperationRow& row, const ServerAnswer& answer,
                                             const Finding& finding) const {
  trust::ReceiptBody body =
      body_of(call, row.is_read && row.receipt.empty() ? trust::ReceiptKind::call : trust::ReceiptKind::outcome);
  body.attempt = static_cast<std::uint32_t>(row.attempts);
  body.times.sent = call.sent;
  body.times.answered = call.answered;
  body.times.concluded = clock_.now();
  trust::ResultRecord result;
  result.status = finding.status;
  if (answer.kind == ServerAnswer::Kind::result) {
    result.hmac = trust::commit_bytes(answer.result.raw(), store_.operation_key(row.id));
    result.bytes = answer.result.raw().size();
    if (call.judged.tool->contract && !answer.result.ambiguity()) {
      const json::Value content = answer.result.find("structuredContent");
      const std::vector<std::string> hidden = hidden_in_result(call, content);
      result.recorded = trust::recorded_values(content, {call.judged.tool->contract->record_result, hidden});
    }
  }
  body.result = std::move(result);
  return body;
}

asio::awaitable<void> Calls::conclude(FlightPtr flight, ServerAnswer answer) {
  Call& call = flight->call;
  if (flight->late && judge_answer(call, answer).proof != Proof::applied) answer = std::move(*flight->late);
  flight->late.reset();  // what comes from here on is looked at when the loss is on record
  const Finding finding = judge_answer(call, answer);
  const Conclusion conclusion = conclusion_of(finding.proof, call.row.is_read, call.doubtful);
  if (answer.kind == ServerAnswer::Kind::result && !is_result_of(call.request.method, answer.result)) {
    answer.kind = ServerAnswer::Kind::lost;
    answer.detail = fmt::format("the server's answer is no result of {}", to_string(call.request.method));
  }
  Deed deed = Deed::hold;
  OperationRow row = concluded(call, finding, conclusion, deed);
  row.reason = answer.detail;
  row.updated = clock_.now();

  std::string warning;
  auto withheld = judge_result(call, answer, warning);
  CallMeta meta;
  meta.verdict = call.judged.decision.verdict;
  meta.outcome = row.outcome;
  meta.operation = row.id;
  meta.approval = call.approval;
  trust::ReceiptBody body = receipt_of_attempt(call, call.row, answer, finding);
  body.id = entropy_.id("rc", row.updated);
  meta.receipt = row.receipt = body.id;
  body.outcome = trust::OutcomeRecord{row.outcome, row.basis};
  body.times.concluded = row.updated;
  const std::vector<std::string> evidence = fulfilled(call, row, answer, withheld.has_value() || !warning.empty());
  const std::string cut = limit_result(call, answer, withheld);
  if (withheld) body.result->marks.emplace_back("withheld");
  if (!cut.empty()) body.result->marks.emplace_back("truncated");
  if (!warning.empty()) body.result->marks.emplace_back("output-schema");

  const std::string note = note_of(cut, warning);
  set_answer(flight, answer, finding.status, withheld, note, meta);
  const std::string kept = is_kept(row) || flight->kept ? kept_answer(*flight) : std::string();
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    if (call.evidence_revision && row.outcome == Outcome::applied) {
      if (auto held = keep_evidence(tx, call, evidence, body.id); !held) return held;
    }
    if (row.outcome == Outcome::applied && call.request.method == Method::tools_call &&
        (!row.is_read || !call.approval.empty())) {
      if (auto last = keep_last(tx, row, call.request.arguments); !last) return last;
    }
    return store_ending(tx, row, deed, kept, !row.is_read || !call.row.receipt.empty());
  });
  call.row = std::move(row);
  if (!stored) {
    // Promise 7: the answer is given, and says that it is not on record. The store takes no further call.
    log::error("outcome.unrecorded", {{"operation", call.row.id}, {"reason", stored.error().message}});
    recording_lost_ = true;
    meta.unrecorded = true;
    meta.receipt.clear();
    set_answer(flight, answer, finding.status, withheld, note, meta);
  }
  remember(call.row);
  if (call.row.state == OperationState::unknown) forget_fingerprint(call.row);
  metrics_.call(call.row.server, to_string(meta.verdict), meta.code ? to_string(*meta.code) : std::string_view(),
                static_cast<double>(clock_.now() - call.request.received) / 1000.0);
}

// The answer's words; also called a second time if the outcome could not be stored.
void Calls::set_answer(const FlightPtr& flight, const ServerAnswer& answer, trust::ResultStatus status,
                       const std::optional<std::string>& withheld, const std::string& note, CallMeta& meta) {
  Call& call = flight->call;
  flight->result.reset();
  flight->error.reset();
  meta.reasons.clear();
  meta.retry = Retry::never;
  const auto refuse_with = [&](ReasonCode code, const std::string& sentence, std::string_view words) {
    give_reason(meta, code, sentence);
    flight->result = refusal_result(meta, sentence, call.row.server, words);
  };
  if (withheld) {
    refuse_with(ReasonCode::result_withheld,
                fmt::format("The result of `{}` is withheld: {}.", call.row.tool, *withheld), {});
    return;
  }
  if (call.no_input) {
    meta.was_read = call.row.is_read;
    refuse_with(call.row.is_read ? ReasonCode::server_unavailable : ReasonCode::outcome_unknown,
                call.no_input->sentence, {});
    if (meta.code != call.no_input->code)
      meta.reasons.push_back({call.no_input->code, call.no_input->sentence, {}, {}, false});
    return;
  }
  if (answer.kind == ServerAnswer::Kind::result) {
    if (meta.outcome == Outcome::unknown) {
      meta.code = ReasonCode::outcome_unknown;
      meta.retry = Retry::after_resolution;
      meta.reasons.push_back({ReasonCode::outcome_unknown,
                              "The server answered with an error; whether the tool took effect is unknown.",
                              {},
                              {},
                              false});
    }
    if (!note.empty()) meta.reasons.push_back({ReasonCode::result_withheld, note, {}, {}, false});
    const auto common = answer.modern ? in_common_form(call, answer.result) : nullptr;
    flight->result = marked_result(common ? common->root() : answer.result, meta);
    if (const json::Value ttl = answer.modern ? answer.result.find("ttlMs") : json::Value();
        ttl.is_number() && ttl.real() >= 0)
      flight->ttl_ms = static_cast<std::uint64_t>(std::min(ttl.real(), 86'400'000.0));
    return;
  }
  if (answer.kind == ServerAnswer::Kind::error && meta.outcome != Outcome::unknown) {
    mcp::RpcError error;
    error.code = code_for_client(call, answer, error_code(answer).value_or(mcp::code::kInternalError));
    const auto passes = [&](const ServerQuestion& question) { return refuse_question(call, question).empty(); };
    if (lacks_capability(call, answer, passes)) error.code = mcp::code::kMissingClientCapability;
    const json::Value message = answer.error.find("message");
    error.message =
        message && message.is_string() ? message.string() : std::string("the server answered with an error");
    if (const json::Value data = answer.error.find("data")) error.data = data.raw();
    flight->error = std::move(error);
    return;
  }
  if (answer.kind == ServerAnswer::Kind::error) {
    refuse_with(ReasonCode::outcome_unknown,
                fmt::format("The server `{}` answered `{}` with an error.", call.row.server, call.row.tool),
                words_of(answer));
    return;
  }
  if (status == trust::ResultStatus::refused && meta.outcome != Outcome::unknown) {
    const auto code = answer.cancelled == CancelReason::stop ? ReasonCode::stopped
                      : answer.cancelled                     ? ReasonCode::cancelled
                      : answer.timed_out                     ? ReasonCode::deadline_exceeded
                                                             : ReasonCode::server_unavailable;
    refuse_with(code,
                fmt::format("`{}` was not sent to the server `{}`: {}.", call.row.tool, call.row.server,
                            visible(answer.detail)),
                {});
    return;
  }
  const bool read = call.row.is_read;
  const auto code = !read               ? ReasonCode::outcome_unknown
                    : answer.timed_out  ? ReasonCode::deadline_exceeded
                    : answer.cancelled  ? ReasonCode::cancelled
                    : answer.over_limit ? ReasonCode::result_withheld
                                        : ReasonCode::server_unavailable;
  meta.was_read = read;
  refuse_with(code, lost_sentence(call, answer), {});
}

// A call that was not permitted: its receipt, then its words.
asio::awaitable<void> Calls::conclude_refused(FlightPtr flight) {
  Call& call = flight->call;
  const Refusal refusal = call.judged.refusals.front();
  const std::string key = fold_key(call);
  CallMeta meta;
  const bool folded = co_await fold(key, call, meta);
  if (folded) {
    answer_refused(flight, refusal, std::move(meta));
    co_return;
  }
  OperationRow row = call.row;
  static_cast<void>(step(row, Event::refuse));
  row.updated = clock_.now();
  row.reason = std::string(to_string(refusal.code)) + ": " + refusal.sentence;
  trust::ReceiptBody body = body_of(call, trust::ReceiptKind::refusal);
  body.times.concluded = row.updated;
  body.id = entropy_.id("rc", row.updated);
  body.outcome = trust::OutcomeRecord{Outcome::none, "not-sent"};
  row.receipt = body.id;
  bool closed = false;  // by what ended its ask, while nobody held it: one refusal has one receipt
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    const auto known = tx.operation(row.id);
    closed = known && known->state == OperationState::refused;
    if (closed) {
      row = *known;
      return {};
    }
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    // Never over what was recorded as intent or more: such an operation is not refused any more.
    if (known && !next(known->state, Event::refuse)) return {};
    if (auto dropped = drop_arguments(tx, row.id); !dropped) return dropped;
    return tx.put(row);
  });
  call.row = std::move(row);
  remember_denial(call.row, refusal);
  meta.operation = call.row.id;
  if (stored) {
    meta.receipt = call.row.receipt;
    if (!closed) open_fold(key, call, body);
  } else {
    meta.unrecorded = true;
  }
  answer_refused(flight, refusal, std::move(meta));
}

// The words of a refusal; `meta` says what is on record of it.
void Calls::answer_refused(const FlightPtr& flight, const Refusal& refusal, CallMeta meta) {
  const Call& call = flight->call;
  meta.code = refusal.code;
  meta.verdict = call.judged.decision.verdict == Verdict::ask ? Verdict::ask : Verdict::deny;
  meta.retry = refusal.later ? Retry::later : retry_for(refusal.code);
  meta.approval = call.approval;
  meta.reasons = refusal.reasons;
  if (meta.reasons.empty()) meta.reasons.push_back({refusal.code, refusal.sentence, {}, {}, false});
  if (refusal.unknown_tool) {
    flight->error = not_found(refusal.sentence, call.request.uri);
  } else {
    flight->result = refusal_result(meta, refusal.sentence);
  }
  metrics_.call(call.row.server, to_string(meta.verdict), to_string(refusal.code),
                static_cast<double>(clock_.now() - call.request.received) / 1000.0);
}

// Keeps what stands in the way of later calls.
void Calls::remember(const OperationRow& row) {
  const auto gone = std::erase_if(unknowns_, [&](const OperationRow& known) { return known.id == row.id; });
  const bool stays = is_unknown(row.state) && !row.is_read;
  if (stays) unknowns_.push_back(row);
  if (gone == 0 && !stays) return;
  ++epoch_;
  metrics_.unknown_operations(static_cast<std::int64_t>(unknowns_.size()));
}

}  // namespace sallyport::gateway::calls
