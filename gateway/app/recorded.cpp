#include "gateway/app/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <limits>

#include "gateway/app/rules.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "schemas/core/json.hpp"
#include "trust/receipts/envelope.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMaxLine = 8U << 20;

std::string text(json::Value object, std::string_view name) {
  const json::Value value = object ? object.find(name) : json::Value();
  return value && value.is_string() ? value.string() : std::string();
}

Verdict verdict_of(std::string_view word) {
  return word == "allow" ? Verdict::allow : word == "ask" ? Verdict::ask : Verdict::deny;
}

Effect effect_of(json::Value effective) {
  Effect out;
  if (!effective) return out;
  if (const auto category = parse_effect_category(text(effective, "category"))) out.category = *category;
  if (const json::Value destructive = effective.find("destructive"); destructive && destructive.is_bool())
    out.destructive = destructive.boolean();
  if (const auto repeat = parse_repeat(text(effective, "repeat"))) out.repeat = *repeat;
  if (const json::Value labels = effective.find("labels")) {
    for (const json::Value label : labels.elements()) {
      if (label.is_string()) out.labels.push_back(label.string());
    }
  }
  return out;
}

// nullopt: not the receipt of a decision.
std::optional<RecordedCall> recorded_call(json::Value statement) {
  const json::Value predicate = statement.find("predicate");
  const json::Value decision = predicate ? predicate.find("decision") : json::Value();
  RecordedCall out;
  out.kind = text(predicate, "kind");
  const bool decides = out.kind == "intent" || out.kind == "call" || out.kind == "refusal";
  if (!decides || !decision || text(predicate, "principal") == "gateway") return std::nullopt;
  out.receipt = text(predicate, "id");
  out.operation = text(predicate, "operation");
  out.principal = text(predicate, "principal");
  out.server = text(predicate.find("server"), "id");
  out.tool = text(predicate, "tool");
  out.uri = text(predicate, "uri");
  out.definition = text(predicate, "definition");
  if (const auto method = parse_method(text(predicate.find("request"), "method"))) out.method = *method;
  const json::Value effect = predicate.find("effect");
  out.effect = effect_of(effect ? effect.find("effective") : json::Value());
  out.verdict = verdict_of(text(decision, "verdict"));
  out.approved = static_cast<bool>(predicate.find("approval")) && out.kind != "refusal";
  if (const json::Value rules = decision.find("rules")) {
    for (const json::Value rule : rules.elements()) out.rules[text(rule, "id")] = verdict_of(text(rule, "verdict"));
  }
  if (const json::Value reasons = decision.find("reasons")) {
    for (const json::Value reason : reasons.elements()) out.reasons.push_back(text(reason, "code"));
  }
  // The rules asked; what became of the question is another matter.
  const bool asked = std::ranges::any_of(
      out.reasons, [](const std::string& code) { return code.starts_with("APPROVAL_") || code == "NO_APPROVER"; });
  if (asked) out.verdict = Verdict::ask;
  if (const json::Value count = predicate.find("count"); count && count.is_number())
    out.count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, count.integer().value_or(1)));
  return out;
}

Status take_payload(std::string payload, const std::function<void(const RecordedCall&)>& each) {
  auto statement = json::Document::parse(std::move(payload));
  if (!statement) return fail(statement.error());
  if (!statement->root().is_object()) return fail(ErrorCode::invalid, "it is no statement");
  if (auto call = recorded_call(statement->root())) each(*call);
  return {};
}

Status each_line(std::istream& in, const std::string& name, const std::function<void(const RecordedCall&)>& each) {
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const auto place = [&] { return fmt::format("{}, line {}", name, number); };
    if (line.size() > kMaxLine) return fail(ErrorCode::limit, place() + " is too long for a receipt");
    auto envelope = trust::parse_envelope(std::move(line));
    if (!envelope) return fail_in(place(), envelope.error());
    if (auto taken = take_payload(std::move(envelope->payload), each); !taken) return fail_in(place(), taken.error());
    line.clear();
  }
  return {};
}

}  // namespace

bool decided_by_rules(const RecordedCall& call) {
  if (call.server.empty()) return false;  // of no tool that there was
  static constexpr std::array kByRules{"POLICY_DENIED",     "APPROVAL_PENDING", "APPROVAL_DENIED",
                                       "APPROVAL_EXPIRED",  "NO_APPROVER",      "APPROVAL_INVALIDATED",
                                       "EVIDENCE_REQUIRED", "RULE_FAILED",      "HOOK_FAILED"};
  return std::ranges::all_of(
      call.reasons, [](const std::string& code) { return std::ranges::find(kByRules, code) != kByRules.end(); });
}

Status each_recorded(const cli::Invocation& invocation, const std::function<void(const RecordedCall&)>& each) {
  if (invocation.file == "-") return each_line(std::cin, "standard input", each);
  if (!invocation.file.empty()) {
    std::ifstream in(invocation.file, std::ios::binary);
    if (!in) return fail(ErrorCode::io, fmt::format("`{}` cannot be read", invocation.file));
    return each_line(in, invocation.file, each);
  }
  auto folder = state_folder_of(invocation);
  if (!folder) return fail(folder.error());
  auto store = open_read_only(*folder);
  if (!store) return fail(store.error());
  ReceiptFilter all;
  all.newest_first = false;
  all.limit = std::numeric_limits<std::uint32_t>::max();
  Status taken;
  const Status read = (*store)->each_receipt(all, [&](const ReceiptRow& row) {
    taken = take_payload(row.payload, each);
    return taken.has_value();
  });
  return read ? taken : read;
}

}  // namespace sallyport::gateway
