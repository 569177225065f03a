// Step 5: the arguments against promise 10 and the tool's schema; all faults at once, worded for a model.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/validate/shown_place.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr std::size_t kNamed = 5;  // faults in the sentence; all of them are in the reasons

const json::Document& empty_object() {
  static const json::Document document = [] {
    auto parsed = json::Document::parse("{}");
    return std::move(*parsed);
  }();
  return document;
}

std::string words(json::Ambiguity what) {
  switch (what) {
    case json::Ambiguity::duplicate_name:
      return "the member stands twice; send each name once";
    case json::Ambiguity::lookalike_name:
      return "two member names differ only by case, width or normalisation; send one of them";
    case json::Ambiguity::unsafe_number:
      return "the number cannot be represented; send one within the range of a double";
  }
  return "";
}

void refuse_ambiguous(Call& call, const json::Value::Mark& mark, std::size_t frame) {
  // Relative to the arguments.
  const std::string pointer =
      schema::shown_place(mark.pointer.substr(std::min(frame, mark.pointer.size())), hidden_places(call));
  Refusal refusal;
  refusal.code = ReasonCode::arguments_invalid;
  refusal.sentence = fmt::format("The arguments cannot be judged: at `{}` {}.", visible(pointer), words(mark.what));
  refusal.reasons.push_back(Reason{ReasonCode::arguments_invalid, words(mark.what), {}, pointer, true});
  call.judged.refusals.push_back(std::move(refusal));
}

}  // namespace

void check_arguments(Call& call, const Context&) {
  Judgement& judged = call.judged;
  if (!judged.tool || (!judged.tool->input && judged.tool->method == Method::tools_call)) return;
  const json::Value arguments = call.request.arguments ? call.request.arguments : empty_object().root();
  if (const auto mark = arguments.ambiguity()) {
    refuse_ambiguous(call, *mark, arguments.pointer().size());
    return;
  }
  if (!judged.tool->input) {  // no method but tools/call has a schema
    judged.arguments_judged = true;
    return;
  }
  if (judged.tool->input->valid(arguments)) {
    judged.arguments_judged = true;
    return;
  }
  // Its sentences go to the client, and into the operation's row.
  const schema::Verdict verdict = judged.tool->input->validate(arguments, hidden_places(call));
  Refusal refusal;
  refusal.code = verdict.limit_reached ? ReasonCode::limit_reached : ReasonCode::arguments_invalid;
  refusal.sentence = fmt::format("The arguments of `{}` {}:", judged.tool->ref.tool,
                                 verdict.limit_reached ? "cannot be judged" : "are not valid");
  std::size_t named = 0;
  for (const schema::SchemaFault& fault : verdict.faults) {
    refusal.reasons.push_back(Reason{refusal.code, fault.message, {}, fault.instance, true});
    if (named++ < kNamed) {
      refusal.sentence += fmt::format("{} `{}`: {}", named > 1 ? ";" : "",
                                      fault.instance.empty() ? "/" : visible(fault.instance), fault.message);
    }
  }
  if (named > kNamed) refusal.sentence += fmt::format("; and {} more", named - kNamed);
  refusal.sentence += '.';
  judged.refusals.push_back(std::move(refusal));
}

}  // namespace sallyport::gateway::calls
