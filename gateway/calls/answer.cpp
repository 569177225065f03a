#include "gateway/calls/answer.hpp"

#include <fmt/format.h>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

// What the client should do next, by code; a model reads this.
std::string_view advice(ReasonCode code) {
  switch (code) {
    case ReasonCode::arguments_invalid:
      return "Correct the arguments as described and call again.";
    case ReasonCode::policy_denied:
      return "Do not repeat this call; choose another way or tell the user that it is not permitted.";
    case ReasonCode::approval_pending:
      return "Do not repeat the call and do not work around it: call `sallyport_wait` with this approval's id, and it "
             "will "
             "wait for the answer and then run the approved call. If that ends like this again, tell the user whose "
             "approval is awaited before you call it once more.";
    case ReasonCode::approval_denied:
      return "A person refused it. Do not repeat this call or work around it; tell the user.";
    case ReasonCode::approval_expired:
      return "That is no denial. Ask the user before calling again.";
    case ReasonCode::approval_invalidated:
      return "What was approved is no longer what would run. Call again to ask anew.";
    case ReasonCode::no_approver:
      return "Nobody is set up who could approve it. Tell the user; repeating does not help.";
    case ReasonCode::evidence_required:
      return "First do what is named here, then call again.";
    case ReasonCode::tool_quarantined:
      return "Do not use this tool until an operator has reviewed it.";
    case ReasonCode::budget_exhausted:
      return "Stop calling tools of this kind and report what was reached so far.";
    case ReasonCode::deadline_exceeded:
      return "Call again later if it is still needed.";
    case ReasonCode::blocked_by_unknown:
      return "Do not repeat it: an operator has to settle the earlier operation first. Tell the user its id.";
    case ReasonCode::outcome_unknown:
      return "It may or may not have taken effect. Do not repeat it; check by reading, or have an operator settle it.";
    case ReasonCode::idempotency_conflict:
      return "Use another idempotency key for other arguments.";
    case ReasonCode::idempotency_in_flight:
      return "Wait for the first call with this key to end.";
    case ReasonCode::result_withheld:
      return "Do not repeat the call for the sake of its result.";
    case ReasonCode::rule_failed:
    case ReasonCode::hook_failed:
      return "An operator has to repair the policy; repeating does not help.";
    case ReasonCode::clock_unsafe:
      return "An operator has to check the clock of this machine.";
    case ReasonCode::idempotency_key_invalid:
      return "Send one key of 1 to 255 printable ASCII characters.";
    case ReasonCode::cancelled:
      return "Call again if it is still wanted.";
    case ReasonCode::limit_reached:
      return "Slow down and call again later.";
    case ReasonCode::server_unavailable:
      return "Try again later or go on without this server.";
    case ReasonCode::recording_unavailable:
      return "Nothing can run until an operator has repaired the store.";
    case ReasonCode::stopped:
      return "An operator stopped this. Do not repeat or work around it; tell the user.";
  }
  return "";
}

std::string_view advice(const CallMeta& meta) {
  if (meta.code == ReasonCode::budget_exhausted && meta.retry == Retry::later)
    return "Wait that long before calling it again, or go on without it.";
  return advice(*meta.code);
}

std::string_view ran(const CallMeta& meta) {
  if (meta.was_read) return "The tool may have run; it only reads.";
  switch (meta.outcome) {
    case Outcome::none:
      return "The tool did not run.";
    case Outcome::applied:
      return "The tool did run.";
    case Outcome::unknown:
      return "Whether the tool took effect is unknown.";
  }
  return "";
}

void member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", out.size() > 1 ? "," : "", name, quote(value));
}

}  // namespace

Retry retry_for(ReasonCode code) {
  switch (code) {
    case ReasonCode::arguments_invalid:
    case ReasonCode::approval_invalidated:
    case ReasonCode::idempotency_key_invalid:
      return Retry::now;
    case ReasonCode::approval_pending:
      return Retry::after_approval;
    case ReasonCode::evidence_required:
      return Retry::after_evidence;
    case ReasonCode::blocked_by_unknown:
    case ReasonCode::outcome_unknown:
      return Retry::after_resolution;
    case ReasonCode::idempotency_in_flight:
      return Retry::same_key;
    case ReasonCode::deadline_exceeded:
    case ReasonCode::clock_unsafe:
    case ReasonCode::limit_reached:
    case ReasonCode::server_unavailable:
    case ReasonCode::recording_unavailable:
    case ReasonCode::cancelled:
      return Retry::later;
    case ReasonCode::policy_denied:
    case ReasonCode::approval_denied:
    case ReasonCode::approval_expired:
    case ReasonCode::no_approver:
    case ReasonCode::tool_quarantined:
    case ReasonCode::budget_exhausted:
    case ReasonCode::idempotency_conflict:
    case ReasonCode::result_withheld:
    case ReasonCode::rule_failed:
    case ReasonCode::hook_failed:
    case ReasonCode::stopped:
      return Retry::never;
  }
  return Retry::never;
}

std::string to_json(const CallMeta& meta) {
  std::string out = "{";
  if (meta.code) member(out, "code", to_string(*meta.code));
  member(out, "verdict", to_string(meta.verdict));
  member(out, "outcome", to_string(meta.outcome));
  member(out, "retry", to_string(meta.retry));
  member(out, "operation", meta.operation);
  member(out, "approval", meta.approval);
  member(out, "receipt", meta.receipt);
  if (meta.replayed) out += ",\"replayed\":true";
  if (meta.unrecorded) out += ",\"unrecorded\":true";
  out += ",\"reasons\":[";
  bool first = true;
  for (const Reason& reason : meta.reasons) {
    if (!first) out += ',';
    first = false;
    std::string object = "{";
    member(object, "code", to_string(reason.code));
    member(object, "message", reason.message);
    if (reason.has_pointer) object += ",\"pointer\":" + quote(reason.pointer);
    out += object + "}";
  }
  out += "]}";
  return out;
}

std::string refusal_result(const CallMeta& meta, std::string_view sentence, std::string_view server,
                           std::string_view servers_words) {
  std::string text(sentence);
  text += ' ';
  text += ran(meta);
  if (meta.code) {
    text += ' ';
    text += advice(meta);
  }
  std::string blocks = "{\"type\":\"text\",\"text\":" + quote(text) + "}";
  if (!servers_words.empty()) {
    blocks += ",{\"type\":\"text\",\"text\":" +
              quote(fmt::format("Words of the server `{}`, not of the gateway: {}", server, servers_words)) + "}";
  }
  return fmt::format("{{\"_meta\":{{\"{}\":{}}},\"content\":[{}],\"isError\":true}}", mcp::kCallMeta, to_json(meta),
                     blocks);
}

Answer refusal_error(const CallMeta& meta, std::string_view sentence) {
  std::string text(sentence);
  if (meta.code) {
    text += ' ';
    text += advice(meta);
  }
  return Answer::fail(mcp::code::kRefused, std::move(text), to_json(meta));
}

void give_reason(CallMeta& meta, ReasonCode code, std::string sentence) {
  meta.code = code;
  meta.retry = retry_for(code);
  meta.reasons.push_back(Reason{code, std::move(sentence), {}, {}, false});
}

// A refusal's object begins with its code; that of a server's result has none.
bool is_refusal(std::string_view result) {
  static const std::string kBegins = fmt::format(R"({{"_meta":{{"{}":{{"code":)", mcp::kCallMeta);
  return result.starts_with(kBegins);
}

mcp::RpcError not_found(std::string sentence, const std::string& uri) {
  if (uri.empty()) return {mcp::code::kInvalidParams, std::move(sentence), {}};
  return {mcp::code::kResourceNotFound, std::move(sentence), "{\"uri\":" + quote(uri) + "}"};
}

Answer as_error(Answer answer) {
  if (answer.error || !is_refusal(answer.result)) return answer;
  auto document = json::Document::parse(answer.result, {.bytes = answer.result.size(), .depth = 10'000});
  if (!document) return answer;
  const json::Value call = document->root().find("_meta").find(mcp::kCallMeta);
  const json::Value sentence = call.at("/reasons/0/message");
  const json::Value text = document->root().at("/content/0/text");
  std::string words = sentence.is_string() ? sentence.string() : text.string();
  if (const auto code = parse_reason_code(call.find("code").string()); sentence && code) {
    words += ' ';
    words += advice(*code);
  }
  answer.error = mcp::RpcError{mcp::code::kRefused, std::move(words), std::string(call.raw())};
  answer.result.clear();
  return answer;
}

std::string marked_result(json::Value result, const CallMeta& meta) {
  return mcp::splice_call_meta(result, to_json(meta));
}

Answer still_unknown(const OperationRow& row, std::string_view why) {
  CallMeta meta;
  meta.verdict = Verdict::allow;  // it was: this is about what became of it
  meta.outcome = Outcome::unknown;
  meta.operation = row.id;
  meta.receipt = row.receipt;
  std::string sentence =
      fmt::format("Operation {} ({}) is still unknown: {}.", row.id, visible(row.summary), row.basis);
  if (!why.empty()) sentence += " " + visible(why);
  give_reason(meta, ReasonCode::outcome_unknown, sentence);
  return Answer::of(refusal_result(meta, sentence));
}

std::string resolved_result(const OperationRow& row) {
  const bool applied = row.outcome == Outcome::applied;
  CallMeta meta;
  meta.verdict = Verdict::allow;
  meta.outcome = row.outcome;
  meta.operation = row.id;
  meta.approval = row.approval;
  meta.receipt = row.receipt;
  const std::string sentence =
      fmt::format("The answer of operation {} ({}) was lost; that it {} is known by {}.", row.id, visible(row.summary),
                  applied ? "took effect" : "did nothing", row.basis == "lookup" ? "a lookup" : "the " + row.basis);
  give_reason(meta, applied ? ReasonCode::result_withheld : ReasonCode::server_unavailable, sentence);
  meta.retry = applied ? Retry::never : Retry::now;  // nothing was done: unlike a server that is down, at once
  return refusal_result(meta, sentence);
}

Answer key_in_flight(const OperationRow& row) {
  CallMeta meta;
  meta.outcome = Outcome::unknown;
  meta.operation = row.id;
  const std::string sentence = fmt::format("Operation {} with this idempotency key is still under way.", row.id);
  give_reason(meta, ReasonCode::idempotency_in_flight, sentence);
  return Answer::of(refusal_result(meta, sentence));
}

Answer refused_before(const OperationRow& row) {
  const std::size_t colon = row.reason.find(": ");
  const auto code = parse_reason_code(std::string_view(row.reason).substr(0, colon));
  CallMeta meta;
  meta.operation = row.id;
  meta.approval = row.approval;
  meta.receipt = row.receipt;
  const std::string sentence = colon == std::string::npos ? row.reason : row.reason.substr(colon + 2);
  give_reason(meta, code.value_or(ReasonCode::approval_invalidated), sentence);
  return Answer::of(refusal_result(meta, sentence));
}

}  // namespace sallyport::gateway::calls
