// The schemas of what the machine writes, against what trust/ writes: neither may know a member that the other does
// not.
#include <gtest/gtest.h>

#include "schemas/files/embedded.hpp"
#include "schemas/files/judge.hpp"
#include "schemas/files/outline.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport {
namespace {

trust::ReceiptBody whole_body() {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string hex(64, 'b');
  trust::ReceiptBody body;
  body.kind = trust::ReceiptKind::intent;
  body.id = "rc_01";
  body.operation = "op_01";
  body.attempt = 1;
  body.run = "run_01";
  body.principal = "agent:ci";
  body.client_name = "c";
  body.client_version = "2";
  body.server_id = "orders";
  body.server_identity = digest;
  body.server_sandbox = "none";
  body.tool = "create_order";
  body.uri = "x:y";
  body.definition = digest;
  body.cause = "op_00";
  body.arguments = trust::ArgumentsRecord{hex, hex, {{"/a", "7"}}, {"/b"}};
  body.scope_name = "orders";
  body.scope_revision = 4;
  body.server_revision = "v1";
  body.idempotency_key = std::string(300, 'k');
  EffectView effect;
  effect.declared = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  effect.assigned = EffectCategory::record;
  effect.effective = {EffectCategory::record, false, Repeat::keyed, {"money"}};
  effect.source = EffectSource::contract;
  body.effect = effect;
  body.decision = trust::DecisionRecord{.verdict = Verdict::ask,
                                        .by_default = true,
                                        .rules = {{"r", Verdict::ask}},
                                        .reasons = {{ReasonCode::policy_denied, "r", "/a"}},
                                        .policy = digest,
                                        .trust = digest};
  body.approval = trust::ApprovalRecord{.id = "ap_01",
                                        .state = "consumed",
                                        .form = "grant",
                                        .shown = digest,
                                        .votes = {{"user:dana", "approve", digest, "fine", 1000}},
                                        .expires = 2000};
  body.evidence = {"rc_00"};
  body.outcome = trust::OutcomeRecord{Outcome::unknown, "intent"};
  body.result = trust::ResultRecord{trust::ResultStatus::ok, hex, 12, {{"/id", "7"}}, {"replayed"}};
  body.event = trust::EventRecord{"accepted", "user:dana", "why", "orders", digest, digest, {{"a", "b"}}};
  body.supersedes = "rc_00";
  body.count = 3;
  body.protocol = "2025-11-25";
  body.transport = "http";
  body.method = "prompts/get";
  body.gateway = {"0.1.0", "b7d1f6", "service", "observe"};
  body.times = {1, 2, 3, 4, 5, 6};
  return body;
}

void expect_described(const json::Document& document, std::string_view schema_file) {
  const auto text = json::Document::parse(std::string(schema::embedded_file(schema_file))).value();
  const schema::Outline outline(text.root());
  struct Place {
    json::Value value, node;
  };
  std::vector<Place> open{{document.root(), outline.root()}};
  while (!open.empty()) {
    const Place place = open.back();
    open.pop_back();
    for (const json::Value one : place.value.elements()) open.push_back({one, outline.step(place.node, "", true)});
    for (const json::Member member : place.value.members()) {
      const json::Value node = outline.step(place.node, member.name(), false);
      EXPECT_TRUE(node) << "not described: " << member.value.pointer();
      if (!member.key.equals("definition")) open.push_back({member.value, node});
    }
  }
}

json::Document payload(const trust::ReceiptBody& body) {
  const trust::ChainPoint point{.log = std::string(16, 'c'), .seq = 17, .prev = "sha256:" + std::string(64, 'd')};
  return std::move(json::Document::parse(trust::to_payload(body, point)).value());
}

TEST(ReceiptSchema, TakesAndDescribesEveryMemberThatReceiptsHold) {
  const json::Document receipt = payload(whole_body());
  for (const Fault& fault : schema::judge(schema::FileKind::receipt, receipt, "r"))
    ADD_FAILURE() << to_text(fault) << fault.pointer;

  expect_described(receipt, "receipt.schema.json");
}

TEST(LockSchema, TakesAndDescribesEveryMemberThatTheLockHolds) {
  const auto tool = json::Document::parse(R"({"name": "t", "inputSchema": {}})").value();
  trust::LockFile lock;
  trust::LockServer& server = lock.servers["files"];
  server.identity = {.kind = trust::Identity::Kind::package,
                     .runner = "npx",
                     .package = "p",
                     .version = "1.0.0",
                     .integrity = "sha512-x"};
  server.era = "2025-11-25";
  server.ignored = {"/_meta"};
  const auto accepted = trust::make_accepted(tool.root(), server.ignored, "owner", 1000).value();
  server.tools["t"] = server.prompts["t"] = server.resource_templates["t"] = {accepted};
  server.instructions[""] = {accepted};
  lock.servers["web"].identity = {.kind = trust::Identity::Kind::http,
                                  .url = "https://a.example/",
                                  .certificate = "a.example",
                                  .spki = {"sha256:" + std::string(64, 'e')}};
  lock.servers["img"].identity = {
      .kind = trust::Identity::Kind::image, .image = "i", .digest = "sha256:" + std::string(64, 'f')};
  lock.servers["cmd"].identity = {.command = "/c", .script = "/s", .digest = "sha256:" + std::string(64, 'f')};
  const auto document = json::Document::parse(trust::print(lock)).value();
  for (const Fault& fault : schema::judge(schema::FileKind::lock, document, "l"))
    ADD_FAILURE() << to_text(fault) << fault.pointer;
  expect_described(document, "trust.lock.schema.json");
}

TEST(ReceiptSchema, TakesTheShortestReceiptOfEachKind) {
  for (const std::string_view kind : {"intent", "outcome", "call", "refusal", "repeat", "approval", "reconciliation",
                                      "definition", "policy", "run", "stop", "start", "access", "log", "key"}) {
    trust::ReceiptBody body;
    body.kind = *trust::parse_receipt_kind(kind);
    body.id = "rc_01";
    body.times.at = 1;
    for (const Fault& fault : schema::judge(schema::FileKind::receipt, payload(body), "r")) {
      ADD_FAILURE() << kind << ": " << to_text(fault) << fault.pointer;
    }
  }
}

}  // namespace
}  // namespace sallyport
