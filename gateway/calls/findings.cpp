#include "gateway/calls/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/conditions/condition.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/receipts/redaction.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {

bool is_error_result(const ServerAnswer& answer) {
  const json::Value flag = answer.kind == ServerAnswer::Kind::result ? answer.result.find("isError") : json::Value();
  return flag && flag.is_bool() && flag.boolean();
}

std::optional<std::int64_t> error_code(const ServerAnswer& answer) {
  const json::Value code =
      answer.kind == ServerAnswer::Kind::error && answer.error ? answer.error.find("code") : json::Value();
  return code && code.is_number() ? code.integer() : std::nullopt;
}

std::optional<bool> judge_condition(const trust::Raw& condition, json::Value structured) {
  auto text = json::Document::parse(condition.text);
  if (!text) return std::nullopt;
  FaultList faults(condition.file);
  auto compiled =
      policy::ArgumentConditions::compile(text->root(), {.faults = faults, .place = policy::Place::loosening});
  if (!compiled) return std::nullopt;
  switch (compiled->judge(structured, json::Value())) {
    case policy::Truth::yes:
      return true;
    case policy::Truth::no:
      return false;
    default:
      return std::nullopt;
  }
}

bool result_fits(const trust::Raw& condition, json::Value result) {
  return result && judge_condition(condition, result.find("structuredContent")) == true;
}

trust::ErrorMeaning meaning_of(const trust::Contract* contract, const ServerAnswer& answer) {
  if (contract == nullptr) return trust::ErrorMeaning::unknown;
  if (is_error_result(answer)) {
    const trust::ErrorMap& errors = contract->errors;
    if (errors.mode == trust::ErrorMap::Mode::none) return trust::ErrorMeaning::none;
    if (errors.none.result && result_fits(*errors.none.result, answer.result)) return trust::ErrorMeaning::none;
    if (errors.transient.result && result_fits(*errors.transient.result, answer.result))
      return trust::ErrorMeaning::transient;
    return trust::ErrorMeaning::unknown;
  }
  return trust::meaning(contract->errors, answer.http_status, error_code(answer));
}

bool wants_input(const Call& call, const ServerAnswer& answer) {
  const Method method = call.request.method;
  const bool may = method == Method::tools_call || method == Method::resources_read || method == Method::prompts_get;
  if (!may || !answer.modern || answer.kind != ServerAnswer::Kind::result) return false;
  const json::Value requests = answer.result.find("inputRequests");
  const json::Value state = answer.result.find("requestState");
  if (!answer.result.find("resultType").equals(mcp::result_type::kInputRequired) || answer.result.ambiguity())
    return false;
  if ((requests && !requests.is_object()) || (state && !state.is_string())) return false;
  return requests || state;
}

Finding judge_answer(const Call& call, const ServerAnswer& answer) {
  using enum ServerAnswer::Kind;
  // It did answer, and wanted more than it got.
  if (call.no_input)
    return {Proof::answered, call.row.is_read ? "read" : "input-missing", trust::ResultStatus::unknown};
  if (!answer.sent && answer.kind != result && answer.kind != error)
    return {Proof::not_sent, "not-sent", trust::ResultStatus::refused};
  const bool shapeless = answer.kind == result && !is_result_of(call.request.method, answer.result);
  // A read changes nothing, whether it ran or not.
  const bool read = call.row.is_read;
  if (answer.kind == lost || answer.kind == not_sent || shapeless) {
    const char* basis = answer.timed_out ? "timeout" : answer.cancelled ? "cancelled" : "lost";
    return {Proof::lost, read ? "read" : basis, trust::ResultStatus::unknown};
  }
  if (answer.kind == result && !is_error_result(answer)) return {Proof::applied, "answered", trust::ResultStatus::ok};
  const std::string explained = read ? "read" : "error-map";
  const trust::Contract* contract = call.judged.tool->contract.get();
  // What stands between us and the server says that it heard nothing of it: that is no answer of the tool, and only
  // a status that the contract lists explains it.
  const bool no_answer = answer.bare_http && answer.http_status.value_or(0) >= 500;
  if (no_answer && (contract == nullptr || contract->errors.mode != trust::ErrorMap::Mode::listed ||
                    meaning_of(contract, answer) == trust::ErrorMeaning::unknown)) {
    return {Proof::lost, read ? "read" : "lost", trust::ResultStatus::unknown};
  }
  switch (meaning_of(contract, answer)) {
    case trust::ErrorMeaning::none:
      return {Proof::none, explained, trust::ResultStatus::error};
    case trust::ErrorMeaning::transient:
      return {Proof::transient, explained, trust::ResultStatus::transient};
    case trust::ErrorMeaning::unknown:
      break;
  }
  return {Proof::answered, read ? "read" : "answered-error", trust::ResultStatus::error};
}

bool may_send_again(Proof proof, Repeat repeat, bool keyed) {
  switch (proof) {
    case Proof::not_sent:
    case Proof::transient:
      return true;
    case Proof::lost:
      return repeat == Repeat::safe || (repeat == Repeat::keyed && keyed);
    case Proof::applied:
    case Proof::none:
    case Proof::answered:
      return false;
  }
  return false;
}

bool is_keyed(const Call& call) { return !call.judged.sent_key.empty(); }

Conclusion conclusion_of(Proof proof, bool is_read, bool doubtful) {
  if (proof == Proof::applied) return {Event::apply, Unknown::no};
  if (is_read) return {Event::fail, Unknown::no};
  const bool nothing_done = proof == Proof::none || proof == Proof::transient || proof == Proof::not_sent;
  if (nothing_done && !doubtful) return {Event::fail, Unknown::no};
  return {Event::lose, proof == Proof::answered && !doubtful ? Unknown::answered : Unknown::lost};
}

std::vector<std::string> hidden_in_result(const Call& call, json::Value content) {
  std::vector<std::string> hidden = trust::secret_pointers(content);
  const auto& redact = call.judged.snapshot->policy->redact;
  hidden.insert(hidden.end(), redact.begin(), redact.end());
  return hidden;
}

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
  // What may become evidence, and what the gateway itself reads, is judged whatever the mode.
  if (mode == trust::Output::off && !call.evidence_revision && call.cause.empty()) return std::nullopt;
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

namespace {

// At most `most` bytes of a text, and no character in halves.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::string cut_result(json::Value result, std::size_t most) {
  std::string blocks;
  std::size_t used = 0;
  const json::Value content = result.find("content");
  if (content && content.is_array()) {
    for (const json::Value block : content.elements()) {
      const json::Value text = block.is_object() ? block.find("text") : json::Value();
      if (!text || !text.is_string()) continue;
      const std::string whole = text.string();
      const std::string_view part = cut(whole, most - used);
      used += part.size();
      blocks += fmt::format(R"({{"type":"text","text":{}}},)", quote(part));
      if (part.size() < whole.size()) break;
    }
  }
  const std::string note =
      fmt::format("Cut by the gateway: the result had {} bytes, and {} are allowed. Ask for less at once.",
                  result.raw().size(), most);
  const json::Value flag = result.find("isError");
  return fmt::format(R"({{"content":[{}{{"type":"text","text":{}}}]{}}})", blocks, quote(note),
                     flag && flag.is_bool() && flag.boolean() ? ",\"isError\":true" : "");
}

}  // namespace sallyport::gateway::calls
