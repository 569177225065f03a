// A receipt with every member, and small logs, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/commitment.hpp"
#include "trust/receipts/envelope.hpp"
#include "trust/receipts/merkle.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust::test {

// Fingerprints as a store makes them, under this key.
inline Fingerprint under(std::string key) {
  return [key = std::move(key)](std::string_view text) { return hex(hmac_sha256(key, text)); };
}

inline std::string id(std::string_view prefix, unsigned number) {
  std::string out = std::string(prefix) + "_01KB9Z3W9Q8V5M0F7T2N6R4XH0";
  out.back() = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number % 32];
  out[out.size() - 2] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number / 32 % 32];
  return out;
}

// The normative example of the design, filled with digests of words.
inline ReceiptBody full_receipt() {
  ReceiptBody out;
  out.kind = ReceiptKind::intent;
  out.id = id("rc", 1);
  out.operation = id("op", 1);
  out.attempt = 1;
  out.run = id("run", 1);
  out.principal = "agent:ci";
  out.client_name = "claude-code";
  out.client_version = "2.1";
  out.server_id = "orders";
  out.server_identity = digest_text("identity");
  out.tool = "create_order";
  out.definition = digest_text("definition");
  out.arguments =
      ArgumentsRecord{hex(hmac_sha256("k", "{}")), hex(hmac_sha256("s", "{}")), {{"/customer_id", "7"}}, {"/password"}};
  out.scope_name = "orders/customer-7";
  out.scope_revision = 4;
  out.idempotency_key = "k-1";
  EffectView view;
  view.declared.read_only = true;
  view.assigned = EffectCategory::record;
  view.effective = {EffectCategory::record, false, Repeat::keyed, {"money"}};
  view.source = EffectSource::contract;
  out.effect = view;
  out.decision =
      DecisionRecord{Verdict::ask, false, {{"orders", Verdict::ask}}, {}, digest_text("policy"), digest_text("trust")};
  out.approval = ApprovalRecord{
      id("ap", 1), "", "", "", {{"user:dana", "approve", digest_text("shown"), "", 1'796'030'140'002}}, 0};
  out.outcome = OutcomeRecord{Outcome::unknown, "intent"};
  out.protocol = "2026-07-28";
  out.transport = "http";
  out.gateway = {"0.1.0", "b7d1f6", "service", ""};
  out.times.received = 1'796'030'042'118;
  out.times.decided = 1'796'030'140'101;
  return out;
}

inline ReceiptBody small_receipt(ReceiptKind kind, unsigned number, unsigned operation = 0) {
  ReceiptBody out;
  out.kind = kind;
  out.id = id("rc", number);
  if (operation != 0) out.operation = id("op", operation);
  out.principal = "agent:ci";
  out.times.at = 1'796'030'042'118 + number;
  if (kind == ReceiptKind::intent) out.outcome = OutcomeRecord{Outcome::unknown, "intent"};
  if (kind == ReceiptKind::outcome) out.outcome = OutcomeRecord{Outcome::applied, "answered"};
  return out;
}

struct Log {
  std::vector<std::string> lines;
  std::vector<std::string> payloads;
  std::string id;
  MerkleTree tree;
};

inline Log make_log(const std::vector<ReceiptBody>& bodies, SigningKey& key) {
  Log out;
  auto chain = Chain::first(key.public_key());
  out.id = chain.next().log;
  for (const auto& body : bodies) {
    auto made = chain.append(body, key);
    out.tree.append_payload(made.payload);
    out.lines.push_back(std::move(made.line));
    out.payloads.push_back(std::move(made.payload));
  }
  return out;
}

}  // namespace sallyport::trust::test
