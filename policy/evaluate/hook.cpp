#include "policy/evaluate/hook.hpp"

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

std::string list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() == 1 ? "" : ",") + quote(item);
  return out + "]";
}

std::string_view boolean(bool value) { return value ? "true" : "false"; }

std::optional<HookAnswer::Decision> parse_decision(json::Value value) {
  if (!value || !value.is_string()) return std::nullopt;
  if (value.equals("deny")) return HookAnswer::Decision::deny;
  if (value.equals("ask")) return HookAnswer::Decision::ask;
  if (value.equals("none")) return HookAnswer::Decision::none;
  return std::nullopt;
}

}  // namespace

std::string hook_document(std::string_view rule, const CallFacts& facts) {
  const Principal nobody;
  const Principal& principal = facts.principal == nullptr ? nobody : *facts.principal;
  std::string out = R"({"input":{"rule":)" + quote(rule);
  out += R"(,"principal":{"id":)" + quote(principal.id) + R"(,"groups":)" + list(principal.groups) + R"(,"anonymous":)";
  out += boolean(principal.anonymous);
  out += R"(},"method":)" + quote(to_string(facts.method)) + R"(,"server":)" + quote(facts.server);
  if (!facts.tool.empty()) out += R"(,"tool":)" + quote(facts.tool);
  if (!facts.uri.empty()) out += R"(,"uri":)" + quote(facts.uri);
  out += R"(,"pinned":)";
  out += boolean(facts.pinned);
  out += R"(,"effect":{"category":)" + quote(to_string(facts.effect.category)) + R"(,"destructive":)";
  out += boolean(facts.effect.destructive);
  out += R"(,"repeat":)" + quote(to_string(facts.effect.repeat)) + R"(,"labels":)" + list(facts.effect.labels);
  out += R"(},"arguments":)";
  out += facts.arguments ? facts.arguments.raw() : "{}";
  return out + "}}";
}

HookAnswer parse_hook_answer(std::string_view rule, std::string body) {
  HookAnswer out{.rule = std::string(rule), .decision = HookAnswer::Decision::failed, .message = {}};
  const auto fail_with = [&](std::string words) {
    out.message = std::move(words);
    return out;
  };
  if (body.size() > kMaxHookAnswer)
    return fail_with("the answer is longer than " + std::to_string(kMaxHookAnswer) + " bytes");
  const auto document =
      json::Document::parse(std::move(body), json::Limits{.bytes = kMaxHookAnswer, .depth = 32, .comments = false});
  if (!document) return fail_with("the answer is no JSON: " + document.error().message);
  const json::Value root = document->root();
  if (const auto mark = root.ambiguity())
    return fail_with("the answer can be read in two ways at `" + mark->pointer + "`");
  json::Value answer = root;
  if (root.is_object()) {
    if (const json::Value result = root.find("result")) {
      if (root.find("decision")) return fail_with("the answer has both `decision` and `result`");
      answer = result;
    }
  }
  if (!answer.is_object()) return fail_with("the answer is no object with a `decision`");
  const auto decision = parse_decision(answer.find("decision"));
  if (!decision) return fail_with("`decision` is none of deny, ask and none");
  const json::Value message = answer.find("message");
  if (message && !message.is_string()) return fail_with("`message` is no string");
  out.decision = *decision;
  if (message) out.message = message.string();
  return out;
}

}  // namespace sallyport::policy
