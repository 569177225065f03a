// Step 6: the effect by `cases`, the scope and the key, as the contract says.
#include <fmt/format.h>

#include "gateway/calls/phases.hpp"
#include "policy/conditions/condition.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr std::size_t kLongestKey = 255;

bool printable(std::string_view key) {
  if (key.empty() || key.size() > kLongestKey) return false;
  for (const char c : key) {
    if (c < 0x21 || c > 0x7e) return false;
  }
  return true;
}

// The key as the contract takes it from an argument; empty: none there.
std::string key_argument(const Call& call) {
  const auto& contract = call.judged.tool->contract;
  if (!contract || !contract->idempotency_key || contract->idempotency_key->kind != trust::KeyPlace::Kind::argument)
    return {};
  const json::Value value =
      call.request.arguments ? call.request.arguments.at(contract->idempotency_key->name) : json::Value();
  if (!value) return {};
  if (value.is_string()) return value.string();
  return value.is_number() ? std::string(value.number()) : std::string();
}

void find_key(Call& call) {
  Judgement& judged = call.judged;
  judged.key = call.request.key;
  const std::string argument = key_argument(call);
  if (!argument.empty()) {
    if (!judged.key.empty() && judged.key != argument) {
      refuse(judged, ReasonCode::idempotency_key_invalid,
             "Two different idempotency keys were sent: one in the arguments and another beside them.");
      return;
    }
    judged.key = argument;
  }
  // Beside the arguments the gateway sends one in any case; in them only the client can.
  const auto& contract = judged.tool->contract;
  judged.sent_key = argument;
  if (contract && contract->idempotency_key && contract->idempotency_key->kind != trust::KeyPlace::Kind::argument)
    judged.sent_key = judged.key.empty() ? call.row.id : judged.key;
  if (!judged.key.empty() && !printable(judged.key)) {
    refuse(judged, ReasonCode::idempotency_key_invalid,
           "The idempotency key is not 1 to 255 printable ASCII characters.");
  }
}

}  // namespace

void apply_contract(Call& call, const Context& context) {
  Judgement& judged = call.judged;
  if (!judged.tool) return;
  judged.effect = judged.tool->effect;
  if (judged.arguments_judged && judged.tool->input) {
    const json::Value schema = judged.tool->input->document().root();
    for (const Tool::Case& entry : judged.tool->cases) {
      if (entry.when->judge(call.request.arguments, schema) != policy::Truth::yes) continue;
      judged.effect = entry.effect;
      break;
    }
  }
  judged.scope = trust::scope_of(judged.tool->contract.get(), judged.tool->ref.server, call.request.arguments);
  find_key(call);
  const Effect& effect = judged.effect.effective;
  call.row.effect = to_string(effect.category);
  call.row.is_read = effect.is_read();
  call.row.scope = judged.scope.key();
  call.row.contract_scope = judged.scope.has_contract_scope;
  call.row.key = judged.key;
  const std::string_view bytes = call.request.arguments ? call.request.arguments.raw() : std::string_view("{}");
  const bool tool = call.request.method == Method::tools_call;
  judged.fingerprint =
      context.fingerprint(fmt::format("repeat\n{}{}\n{}\n{}\n{}", tool ? "" : to_string(call.request.method),
                                      quote(call.row.principal), quote(call.row.server), quote(call.row.tool), bytes));
  call.row.fingerprint = judged.fingerprint;
  const std::string& says = judged.tool->contract ? judged.tool->contract->says : std::string();
  if (!tool) {
    const Request& request = call.request;
    call.row.summary =
        fmt::format("{} {}", to_string(request.method), request.uri.empty() ? request.name : request.uri);
    return;
  }
  call.row.summary =
      says.empty() ? judged.tool->ref.tool : trust::says_line(says, call.request.arguments, hidden_places(call));
}

}  // namespace sallyport::gateway::calls
