// Receipts are written straight into their canonical bytes: members stand here in RFC 8785 order, and a test compares
// the result with json::canonical of itself.
#include "trust/receipts/receipt.hpp"

#include <algorithm>
#include <array>

#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

constexpr std::array<std::string_view, 15> kKinds{"intent",   "outcome",        "call",       "refusal", "repeat",
                                                  "approval", "reconciliation", "definition", "policy",  "run",
                                                  "stop",     "start",          "access",     "log",     "key"};
constexpr std::array<std::string_view, 5> kStatuses{"ok", "error", "transient", "unknown", "refused"};

// The order of the UTF-16 forms (RFC 8785): as the bytes, except for characters above U+FFFF against those from U+E000
// on.
bool utf16_less(std::string_view a, std::string_view b) {
  const auto [x, y] = std::ranges::mismatch(a, b);
  if (x == a.end() || y == b.end()) return x == a.end() && y != b.end();
  const auto left = static_cast<unsigned char>(*x);
  const auto right = static_cast<unsigned char>(*y);
  if (left >= 0xEE && right >= 0xEE && (left >= 0xF0) != (right >= 0xF0)) return left >= 0xF0;
  return left < right;
}

void write_pairs(json::Writer& out, std::string_view name, const Pairs& pairs) {
  if (pairs.empty()) return;
  std::vector<const std::pair<std::string, std::string>*> sorted;
  for (const auto& pair : pairs) sorted.push_back(&pair);
  std::ranges::sort(sorted, [](const auto* a, const auto* b) { return utf16_less(a->first, b->first); });
  const auto repeated = std::ranges::unique(sorted, {}, [](const auto* pair) { return std::string_view(pair->first); });
  sorted.erase(repeated.begin(), repeated.end());
  out.key(name).begin_object();
  for (const auto* pair : sorted) out.member(pair->first, pair->second);
  out.end_object();
}

void write_time(json::Writer& out, std::string_view name, UnixMillis time) {
  if (time != 0) out.member(name, to_utc(time));
}

void write_number(json::Writer& out, std::string_view name, std::uint64_t number) {
  if (number != 0) out.member(name, number);
}

void write_effect(json::Writer& out, const Effect& effect) {
  out.begin_object();
  out.member("category", to_string(effect.category));
  out.member("destructive", effect.destructive);
  out.list("labels", effect.labels);
  out.member("repeat", to_string(effect.repeat));
  out.end_object();
}

void write_approval(json::Writer& out, const ApprovalRecord& approval) {
  out.key("approval").begin_object();
  write_time(out, "expires", approval.expires);
  out.text("form", approval.form);
  out.text("id", approval.id);
  out.text("shown", approval.shown);
  out.text("state", approval.state);
  if (!approval.votes.empty()) {
    out.key("votes").begin_array();
    for (const auto& vote : approval.votes) {
      out.begin_object();
      write_time(out, "at", vote.at);
      out.text("by", vote.by);
      out.text("reason", vote.reason);
      out.text("seen", vote.seen);
      out.text("vote", vote.vote);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

void write_arguments(json::Writer& out, const ArgumentsRecord& arguments) {
  out.key("arguments").begin_object();
  out.text("fingerprint", arguments.fingerprint);
  out.text("hmac", arguments.hmac);
  write_pairs(out, "recorded", arguments.recorded);
  out.list("redacted", arguments.redacted);
  out.end_object();
}

void write_claimed(json::Writer& out, const ReceiptBody& body) {
  if (body.client_name.empty() && body.client_version.empty()) return;
  out.key("claimed").begin_object();
  out.text("name", body.client_name);
  out.text("version", body.client_version);
  out.end_object();
}

void write_decision(json::Writer& out, const DecisionRecord& decision) {
  out.key("decision").begin_object();
  if (decision.by_default) out.member("byDefault", true);
  out.text("policy", decision.policy);
  if (!decision.reasons.empty()) {
    out.key("reasons").begin_array();
    for (const auto& reason : decision.reasons) {
      out.begin_object();
      out.member("code", to_string(reason.code));
      if (reason.pointer) out.member("pointer", *reason.pointer);
      out.text("rule", reason.rule);
      out.end_object();
    }
    out.end_array();
  }
  if (!decision.rules.empty()) {
    out.key("rules").begin_array();
    for (const auto& [id, verdict] : decision.rules) {
      out.begin_object().member("id", id).member("verdict", to_string(verdict)).end_object();
    }
    out.end_array();
  }
  out.text("trust", decision.trust);
  out.member("verdict", to_string(decision.verdict));
  out.end_object();
}

void write_hint(json::Writer& out, std::string_view name, std::optional<bool> hint) {
  if (hint) out.member(name, *hint);
}

void write_effect_view(json::Writer& out, const EffectView& view) {
  out.key("effect").begin_object();
  if (view.assigned) out.member("assigned", to_string(*view.assigned));
  if (view.declared != Hints{}) {
    out.key("declared").begin_object();
    write_hint(out, "destructiveHint", view.declared.destructive);
    write_hint(out, "idempotentHint", view.declared.idempotent);
    write_hint(out, "openWorldHint", view.declared.open_world);
    write_hint(out, "readOnlyHint", view.declared.read_only);
    out.end_object();
  }
  out.key("effective");
  write_effect(out, view.effective);
  out.member("source", to_string(view.source));
  out.end_object();
}

void write_event(json::Writer& out, const EventRecord& event) {
  out.key("event").begin_object();
  out.text("action", event.action);
  out.text("after", event.after);
  out.text("before", event.before);
  out.text("by", event.by);
  write_pairs(out, "details", event.details);
  out.text("reason", event.reason);
  out.text("target", event.target);
  out.end_object();
}

void write_gateway(json::Writer& out, const GatewayRecord& gateway) {
  if (gateway.version.empty() && gateway.boot.empty()) return;
  out.key("gateway").begin_object();
  out.text("boot", gateway.boot);
  out.text("boundary", gateway.boundary);
  out.text("mode", gateway.mode);
  out.text("version", gateway.version);
  out.end_object();
}

void write_request(json::Writer& out, const ReceiptBody& body) {
  if (body.protocol.empty() && body.transport.empty() && body.method.empty()) return;
  out.key("request").begin_object();
  out.text("method", body.method);
  out.text("protocol", body.protocol);
  out.text("transport", body.transport);
  out.end_object();
}

void write_result(json::Writer& out, const ResultRecord& result) {
  out.key("result").begin_object();
  if (result.bytes) out.member("bytes", *result.bytes);
  out.text("hmac", result.hmac);
  out.list("marks", result.marks);
  write_pairs(out, "recorded", result.recorded);
  out.member("status", to_string(result.status));
  out.end_object();
}

void write_scope(json::Writer& out, const ReceiptBody& body) {
  if (body.scope_name.empty()) return;
  out.key("scope").begin_object();
  out.member("name", body.scope_name);
  if (body.scope_revision) out.member("revision", *body.scope_revision);
  out.text("serverRevision", body.server_revision);
  out.end_object();
}

void write_server(json::Writer& out, const ReceiptBody& body) {
  if (body.server_id.empty()) return;
  out.key("server").begin_object();
  out.member("id", body.server_id);
  out.text("identity", body.server_identity);
  out.text("sandbox", body.server_sandbox);
  out.end_object();
}

void write_times(json::Writer& out, const TimesRecord& times) {
  out.key("times").begin_object();
  write_time(out, "answered", times.answered);
  write_time(out, "at", times.at);
  write_time(out, "concluded", times.concluded);
  write_time(out, "decided", times.decided);
  write_time(out, "received", times.received);
  write_time(out, "sent", times.sent);
  out.end_object();
}

void write_predicate(json::Writer& out, const ReceiptBody& body, const ChainPoint& point) {
  out.begin_object();
  if (body.approval) write_approval(out, *body.approval);
  if (body.arguments) write_arguments(out, *body.arguments);
  write_number(out, "attempt", body.attempt);
  out.text("cause", body.cause);
  write_claimed(out, body);
  write_number(out, "count", body.count);
  if (body.decision) write_decision(out, *body.decision);
  out.text("definition", body.definition);
  if (body.effect) write_effect_view(out, *body.effect);
  if (body.event) write_event(out, *body.event);
  out.list("evidence", body.evidence);
  write_gateway(out, body.gateway);
  out.member("id", body.id);
  out.text("idempotencyKey", body.idempotency_key);
  out.member("kind", to_string(body.kind));
  out.member("log", point.log);
  out.text("operation", body.operation);
  if (body.outcome) {
    out.key("outcome").begin_object();
    out.text("basis", body.outcome->basis);
    out.member("value", to_string(body.outcome->value));
    out.end_object();
  }
  out.text("prev", point.prev);
  out.text("principal", body.principal);
  write_request(out, body);
  if (body.result) write_result(out, *body.result);
  out.text("run", body.run);
  write_scope(out, body);
  out.member("seq", point.seq);
  write_server(out, body);
  out.text("supersedes", body.supersedes);
  write_times(out, body.times);
  out.text("tool", body.tool);
  out.text("uri", body.uri);
  out.end_object();
}

}  // namespace

std::string_view to_string(ReceiptKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<ReceiptKind> parse_receipt_kind(std::string_view text) {
  const auto* found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<ReceiptKind>(found - kKinds.begin());
}

std::string_view to_string(ResultStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::string canonical_action(const ReceiptBody& body) {
  json::Writer out(512);
  out.begin_object();
  if (body.arguments) out.text("arguments", body.arguments->hmac);
  out.text("definition", body.definition);
  if (body.effect) {
    out.key("effective");
    write_effect(out, body.effect->effective);
  }
  out.text("idempotencyKey", body.idempotency_key);
  out.text("principal", body.principal);
  out.text("server", body.server_identity);
  out.text("tool", body.tool);
  return out.end_object().take();
}

std::string action_digest(const ReceiptBody& body) { return hex(tagged_hash(kActionTag, canonical_action(body))); }

std::string to_payload(const ReceiptBody& body, const ChainPoint& point) {
  json::Writer out(2048);
  out.begin_object();
  out.member("_type", kStatementType);
  out.key("predicate");
  write_predicate(out, body, point);
  out.member("predicateType", kPredicateType);
  out.key("subject").begin_array().begin_object();
  out.key("digest").begin_object().member("sha256", action_digest(body)).end_object();
  out.member("name", body.operation.empty() ? body.id : body.operation);
  return out.end_object().end_array().end_object().take();
}

DecisionRecord record_of(const Decision& decision, std::string policy_digest, std::string trust_digest) {
  DecisionRecord out;
  out.verdict = decision.verdict;
  out.by_default = decision.by_default;
  for (const auto& rule : decision.rules) out.rules.emplace_back(rule.id, rule.verdict);
  for (const auto& reason : decision.reasons) {
    ReasonRecord record{reason.code, reason.rule, std::nullopt};
    if (reason.has_pointer || !reason.pointer.empty()) record.pointer = reason.pointer;
    out.reasons.push_back(std::move(record));
  }
  out.policy = std::move(policy_digest);
  out.trust = std::move(trust_digest);
  return out;
}

}  // namespace sallyport::trust
