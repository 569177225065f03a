// Steps 12 and 13: what the answer proves, the receipt that says so, and the words for the client.
#include <fmt/format.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/calls/budgets.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "policy/conditions/condition.hpp"
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

bool is_error_result(const ServerAnswer& answer) {
  const json::Value flag = answer.kind == ServerAnswer::Kind::result ? answer.result.find("isError") : json::Value();
  return flag && flag.is_bool() && flag.boolean();
}

std::optional<std::int64_t> error_code(const ServerAnswer& answer) {
  const json::Value code =
      answer.kind == ServerAnswer::Kind::error && answer.error ? answer.error.find("code") : json::Value();
  return code && code.is_number() ? code.integer() : std::nullopt;
}

// `errors` of the contract on the structured content of an `isError` result: only what is certainly true counts.
bool result_fits(const std::optional<trust::Raw>& condition, json::Value result) {
  if (!condition || !result) return false;
  auto text = json::Document::parse(condition->text);
  if (!text) return false;
  FaultList faults(condition->file);
  auto compiled =
      policy::ArgumentConditions::compile(text->root(), {.faults = faults, .place = policy::Place::loosening});
  return compiled && compiled->judge(result.find("structuredContent"), json::Value()) == policy::Truth::yes;
}

trust::ErrorMeaning meaning_of(const Call& call, const ServerAnswer& answer) {
  const auto& contract = call.judged.tool->contract;
  if (!contract) return trust::ErrorMeaning::unknown;
  if (is_error_result(answer)) {
    if (contract->errors.mode == trust::ErrorMap::Mode::none) return trust::ErrorMeaning::none;
    if (result_fits(contract->errors.none.result, answer.result)) return trust::ErrorMeaning::none;
    if (result_fits(contract->errors.transient.result, answer.result)) return trust::ErrorMeaning::transient;
    return trust::ErrorMeaning::unknown;
  }
  return trust::meaning(contract->errors, answer.http_status, error_code(answer));
}

struct Finding {
  Event event = Event::lose;
  Unknown unknown = Unknown::no;
  std::string basis;
  trust::ResultStatus status = trust::ResultStatus::unknown;
};

// What the answer proves of the effect (design section 7).
Finding judge_answer(const Call& call, const ServerAnswer& answer) {
  if (!answer.sent && answer.kind != ServerAnswer::Kind::result && answer.kind != ServerAnswer::Kind::error) {
    return {Event::fail, Unknown::no, "not-sent", trust::ResultStatus::refused};
  }
  const bool shapeless = answer.kind == ServerAnswer::Kind::result && !is_result_of(call.request.method, answer.result);
  const bool lost = answer.kind == ServerAnswer::Kind::lost || answer.kind == ServerAnswer::Kind::not_sent || shapeless;
  if (lost) {
    // A read changes nothing, whether it ran or not.
    if (call.row.is_read) return {Event::fail, Unknown::no, "read", trust::ResultStatus::unknown};
    return {Event::lose, Unknown::lost,
            answer.timed_out   ? "timeout"
            : answer.cancelled ? "cancelled"
                               : "lost",
            trust::ResultStatus::unknown};
  }
  if (answer.kind == ServerAnswer::Kind::result && !is_error_result(answer)) {
    return {Event::apply, Unknown::no, "answered", trust::ResultStatus::ok};
  }
  if (call.row.is_read) return {Event::fail, Unknown::no, "read", trust::ResultStatus::error};
  switch (meaning_of(call, answer)) {
    case trust::ErrorMeaning::none:
      return {Event::fail, Unknown::no, "error-map", trust::ResultStatus::error};
    case trust::ErrorMeaning::transient:
      return {Event::fail, Unknown::no, "error-map", trust::ResultStatus::transient};
    case trust::ErrorMeaning::unknown:
      break;
  }
  return {Event::lose, Unknown::answered, "answered-error", trust::ResultStatus::error};
}

// What no record shows of a result: its pointers count from structuredContent.
std::vector<std::string> hidden_in_result(const Call& call, json::Value content) {
  std::vector<std::string> hidden = trust::secret_pointers(content);
  const auto& redact = call.judged.snapshot->policy->redact;
  hidden.insert(hidden.end(), redact.begin(), redact.end());
  return hidden;
}

// Faults of a result that must not pass as good: nullopt, or why it is withheld; `warning`: passed on, marked.
std::optional<std::string> judge_result(const Call& call, const ServerAnswer& answer, std::string& warning) {
  if (answer.kind != ServerAnswer::Kind::result) return std::nullopt;
  if (const auto mark = answer.result.ambiguity()) {
    const std::string place = mark->pointer.substr(std::min(answer.result.pointer().size(), mark->pointer.size()));
    return fmt::format("it has members or numbers that cannot be told apart at `{}`",
                       visible(schema::nearest_place(place)));
  }
  const Tool& tool = *call.judged.tool;
  if (!tool.output || is_error_result(answer)) return std::nullopt;
  const auto mode = tool.output_mode;
  // What may become evidence is judged whatever the mode.
  if (mode == trust::Output::off && !call.evidence_revision) return std::nullopt;
  const json::Value content = answer.result.find("structuredContent");
  std::string fault;
  if (!content) {
    fault = "its outputSchema promises structuredContent, and there is none";
  } else if (tool.output->valid(content)) {
    return std::nullopt;
  } else {
    const auto verdict = tool.output->validate(content, hidden_in_result(call, content));
    fault = verdict.faults.empty()
                ? "it does not fit the outputSchema"
                : fmt::format("at `{}`: {}", visible(verdict.faults.front().instance), verdict.faults.front().message);
  }
  if (fault.empty()) return std::nullopt;
  if (mode == trust::Output::enforce) return fault;
  warning = std::move(fault);
  return std::nullopt;
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

// Applied: the reservation stays for good; none: it is given back; unknown: it is held.
Status settle_budgets(Tx& tx, const OperationRow& row) {
  if (row.outcome == Outcome::unknown) return {};
  return row.outcome == Outcome::applied ? calls::keep(tx, row.id) : release(tx, row.id);
}

}  // namespace

// Rules for which this result is evidence: only a good result of what the schema promises can be one.
std::vector<std::string> Calls::fulfilled(const Call& call, const OperationRow& row, const ServerAnswer& answer,
                                          bool doubtful) const {
  std::vector<std::string> rules;
  if (doubtful || !call.evidence_revision || row.outcome != Outcome::applied || write_open(call.judged.scope, row.id))
    return rules;
  const json::Value content = answer.result.find("structuredContent");
  const json::Value schema = call.judged.tool->output ? call.judged.tool->output->document().root() : json::Value();
  for (const std::string& rule : evidence_rules(call)) {
    if (policy::evidence_fulfils(*call.judged.snapshot->policy, rule, content, schema)) rules.push_back(rule);
  }
  return rules;
}

asio::awaitable<void> Calls::conclude(FlightPtr flight, ServerAnswer answer) {
  Call& call = flight->call;
  const Finding finding = judge_answer(call, answer);
  if (answer.kind == ServerAnswer::Kind::result && !is_result_of(call.request.method, answer.result)) {
    answer.kind = ServerAnswer::Kind::lost;
    answer.detail = fmt::format("the server's answer is no result of {}", to_string(call.request.method));
  }
  OperationRow row = call.row;
  // From `intent` nothing but a failure to send leads anywhere else than through `sent`.
  const bool sent = finding.basis != "not-sent";
  if (sent) static_cast<void>(step(row, Event::dispatch));
  if (auto stepped = step(row, finding.event); !stepped)
    log::error("operation.step", {{"operation", row.id}, {"what", stepped.error().message}});
  row.unknown = finding.unknown;
  row.basis = finding.basis;
  row.reason = answer.detail;
  row.updated = clock_.now();

  std::string warning;
  const auto withheld = judge_result(call, answer, warning);
  CallMeta meta;
  meta.verdict = call.judged.decision.verdict;
  meta.outcome = row.outcome;
  meta.operation = row.id;
  meta.approval = call.approval;
  trust::ReceiptBody body =
      body_of(call, row.is_read && call.row.receipt.empty() ? trust::ReceiptKind::call : trust::ReceiptKind::outcome);
  body.id = entropy_.id("rc", row.updated);
  meta.receipt = row.receipt = body.id;
  body.attempt = static_cast<std::uint32_t>(row.attempts);
  body.outcome = trust::OutcomeRecord{row.outcome, row.basis};
  body.times.sent = call.sent;
  body.times.answered = call.answered;
  body.times.concluded = row.updated;
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
  if (withheld) result.marks.emplace_back("withheld");
  if (!warning.empty()) result.marks.emplace_back("output-schema");
  body.result = std::move(result);

  set_answer(flight, answer, finding.status, withheld, warning, meta);
  const bool keep = is_kept(row);
  const std::string kept = flight->result  ? "R" + *flight->result
                           : flight->error ? "E" + kept_error(*flight->error)
                                           : std::string();
  const std::vector<std::string> evidence = fulfilled(call, row, answer, withheld.has_value() || !warning.empty());
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    if (auto put = tx.put(row); !put) return put;
    // Of a read that nobody was asked for, nothing was sealed.
    if (!is_open(row.state) && !(row.is_read && call.approval.empty())) {
      if (auto dropped = tx.drop_sealed(row.id, "params"); !dropped) return dropped;
    }
    if (!evidence.empty()) {
      if (auto kept = keep_evidence(tx, call, evidence, body.id); !kept) return kept;
    }
    if (auto settled = settle_budgets(tx, row); !settled) return settled;
    return keep ? tx.put_sealed(row.id, "result", kept) : Status{};
  });
  call.row = std::move(row);
  if (!stored) {
    // Promise 7: the answer is given, and says that it is not on record. The store takes no further call.
    log::error("outcome.unrecorded", {{"operation", call.row.id}, {"reason", stored.error().message}});
    recording_lost_ = true;
    meta.unrecorded = true;
    meta.receipt.clear();
    set_answer(flight, answer, finding.status, withheld, warning, meta);
  }
  remember(call.row);
  if (call.row.state == OperationState::unknown) forget_fingerprint(call.row);
  metrics_.call(call.row.server, to_string(meta.verdict), meta.code ? to_string(*meta.code) : std::string_view(),
                static_cast<double>(clock_.now() - call.request.received) / 1000.0);
}

// The answer's words; also called a second time if the outcome could not be stored.
void Calls::set_answer(const FlightPtr& flight, const ServerAnswer& answer, trust::ResultStatus status,
                       const std::optional<std::string>& withheld, const std::string& warning, CallMeta& meta) {
  Call& call = flight->call;
  flight->result.reset();
  flight->error.reset();
  meta.reasons.clear();
  meta.retry = Retry::never;
  const auto refuse_with = [&](ReasonCode code, const std::string& sentence, std::string_view words) {
    meta.code = code;
    meta.retry = retry_for(code);
    meta.reasons.push_back(Reason{code, sentence, {}, {}, false});
    flight->result = refusal_result(meta, sentence, call.row.server, words);
  };
  if (withheld) {
    refuse_with(ReasonCode::result_withheld,
                fmt::format("The result of `{}` is withheld: {}.", call.row.tool, *withheld), {});
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
    if (!warning.empty())
      meta.reasons.push_back({ReasonCode::result_withheld,
                              "Passed on, although it does not fit the outputSchema: " + warning,
                              {},
                              {},
                              false});
    flight->result = marked_result(answer.result, meta);
    return;
  }
  if (answer.kind == ServerAnswer::Kind::error && meta.outcome != Outcome::unknown) {
    mcp::RpcError error;
    error.code = static_cast<int>(error_code(answer).value_or(mcp::code::kInternalError));
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
  if (status == trust::ResultStatus::refused) {
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
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    // Never over what was recorded as intent or more: such an operation is not refused any more.
    if (const auto known = tx.operation(row.id); known && !next(known->state, Event::refuse)) return {};
    if (auto dropped = tx.drop_sealed(row.id, "params"); !dropped) return dropped;
    return tx.put(row);
  });
  call.row = std::move(row);
  remember_denial(call.row, refusal);
  meta.operation = call.row.id;
  if (stored) {
    meta.receipt = call.row.receipt;
    open_fold(key, call, body);
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
  meta.retry = retry_for(refusal.code);
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

bool is_result_of(Method method, json::Value result) {
  if (!result || !result.is_object()) return false;
  if (method == Method::resources_read) return result.find("contents").is_array();
  if (method == Method::prompts_get) return result.find("messages").is_array();
  if (method == Method::completion_complete) return result.find("completion").is_object();
  const json::Value content = result.find("content");
  const json::Value flag = result.find("isError");
  const json::Value type = result.find("resultType");
  if (flag && !flag.is_bool()) return false;
  if (type && !type.equals("complete")) return false;
  if (content) return content.is_array();
  const json::Value structured = result.find("structuredContent");
  return structured && structured.is_object();
}

// Keeps what stands in the way of later calls.
void Calls::remember(const OperationRow& row) {
  const auto gone = std::erase_if(unknowns_, [&](const OperationRow& known) { return known.id == row.id; });
  const bool stays = row.state == OperationState::unknown || row.state == OperationState::reconciling;
  if (stays) unknowns_.push_back(row);
  if (gone == 0 && !stays) return;
  ++epoch_;
  metrics_.unknown_operations(static_cast<std::int64_t>(unknowns_.size()));
}

}  // namespace sallyport::gateway::calls
