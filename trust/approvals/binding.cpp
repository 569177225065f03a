#include "trust/approvals/binding.hpp"

#include <array>

#include "schemas/core/canonical.hpp"
#include "schemas/core/writer.hpp"
#include "trust/approvals/terms.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

void write_rules(json::Writer& out, const std::vector<MatchedRule>& rules) {
  out.key("rules").begin_array();
  for (const auto& rule : rules) {
    out.begin_object();
    if (rule.approval) {
      out.key("approval");
      write_terms(out, *rule.approval);
    }
    out.member("id", rule.id);
    out.member("kind", to_string(rule.kind));
    out.text("message", rule.message);
    out.member("verdict", to_string(rule.verdict));
    out.end_object();
  }
  out.end_array();
}

constexpr std::array<std::string_view, 17> kMembers{
    "arguments",      "asks",           "contract", "definition", "effect", "forwarded",
    "idempotencyKey", "identity",       "method",   "principal",  "rules",  "scopeRevision",
    "server",         "serverRevision", "tool",     "unknowns",   "uri"};

}  // namespace

std::string canonical(const Binding& binding) {
  json::Writer out(1024);
  out.begin_object();
  out.text("arguments", binding.arguments);
  if (!binding.asks.empty()) {
    out.key("asks").begin_array();
    for (const ApprovalTerms& terms : binding.asks) write_terms(out, terms);
    out.end_array();
  }
  out.text("contract", binding.contract);
  out.text("definition", binding.definition);
  out.key("effect").begin_object();
  out.member("category", to_string(binding.effect.category));
  out.member("destructive", binding.effect.destructive);
  out.list("labels", binding.effect.labels);
  out.member("repeat", to_string(binding.effect.repeat));
  out.end_object();
  out.text("forwarded", binding.forwarded);
  out.text("idempotencyKey", binding.idempotency_key);
  out.text("identity", binding.identity);
  out.member("method", to_string(binding.method));
  out.text("principal", binding.principal);
  write_rules(out, binding.rules);
  if (binding.scope_revision) out.member("scopeRevision", *binding.scope_revision);
  out.text("server", binding.server);
  if (binding.server_revision) out.member("serverRevision", *binding.server_revision);
  out.text("tool", binding.tool);
  out.list("unknowns", binding.unknowns);
  out.text("uri", binding.uri);
  return out.end_object().take();
}

std::string digest(const Binding& binding) { return tagged_digest(kBindingTag, canonical(binding)); }

std::vector<std::string> differences(const Binding& before, const Binding& now) {
  return differences(canonical(before), now);
}

std::vector<std::string> differences(std::string_view canonical_before, const Binding& now) {
  const auto before = json::Document::parse(std::string(canonical_before));
  const auto after = json::Document::parse(canonical(now));
  if (!before || !after) return {"binding"};
  std::vector<std::string> out;
  for (const auto name : kMembers) {
    const auto a = before->root().find(name);
    const auto b = after->root().find(name);
    if (!a && !b) continue;
    if (!a || !b || a.raw() != b.raw()) out.emplace_back(name);
  }
  return out;
}

std::vector<std::string> shown_unknowns(std::string_view canonical) {
  std::vector<std::string> out;
  const auto document = json::Document::parse(std::string(canonical));
  if (!document) return out;
  const json::Value unknowns = document->root().find("unknowns");
  if (!unknowns.is_array()) return out;
  for (const auto item : unknowns.elements()) out.push_back(item.string());
  return out;
}

std::string shown_digest(std::string_view shown) { return tagged_digest(kShownTag, shown); }

}  // namespace sallyport::trust
