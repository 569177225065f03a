#include "trust/approvals/binding.hpp"

#include "schemas/core/canonical.hpp"
#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

Binding example() {
  Binding out;
  out.arguments = digest_text(R"({"a":1})");
  out.forwarded = digest_text("meta");
  out.server = "orders";
  out.identity = digest_text("identity");
  out.tool = "create_order";
  out.definition = digest_text("definition");
  out.contract = digest_text("contract");
  out.rules = {{"orders", RuleKind::ask, Verdict::ask, "Look twice.", ApprovalTerms{}}};
  out.effect = {EffectCategory::record, false, Repeat::keyed, {"money"}};
  out.principal = "agent:ci";
  out.idempotency_key = "k-1";
  out.scope_revision = 4;
  out.server_revision = "etag:1";
  return out;
}

TEST(Binding, IsCanonical) {
  const auto text = canonical(example());
  const auto document = test::doc(text);
  EXPECT_EQ(json::canonical(document.root()), text);
  EXPECT_EQ(digest(example()), tagged_digest(kBindingTag, text));
}

TEST(Binding, DiffersWithEveryBoundFact) {
  const auto base = example();
  std::vector<std::pair<std::string, Binding>> changed;
  const auto change = [&](const std::string& name, auto edit) {
    auto other = base;
    edit(other);
    changed.emplace_back(name, std::move(other));
  };
  change("arguments", [](Binding& b) { b.arguments = digest_text(R"({"a": 1})"); });
  change("forwarded", [](Binding& b) { b.forwarded.clear(); });
  change("method", [](Binding& b) { b.method = Method::prompts_get; });
  change("server", [](Binding& b) { b.server = "other"; });
  change("identity", [](Binding& b) { b.identity = digest_text("other"); });
  change("tool", [](Binding& b) { b.tool = "x"; });
  change("uri", [](Binding& b) { b.uri = "file:///x"; });
  change("definition", [](Binding& b) { b.definition = digest_text("x"); });
  change("contract", [](Binding& b) { b.contract.clear(); });
  change("rules", [](Binding& b) { b.rules[0].approval->quorum = 2; });
  change("rules", [](Binding& b) { b.rules[0].message = "Look."; });
  change("rules", [](Binding& b) { b.rules.push_back({"more", RuleKind::allow, Verdict::allow, "", {}}); });
  change("effect", [](Binding& b) { b.effect.destructive = true; });
  change("effect", [](Binding& b) { b.effect.labels.clear(); });
  change("principal", [](Binding& b) { b.principal = "agent:x"; });
  change("idempotencyKey", [](Binding& b) { b.idempotency_key.clear(); });
  change("scopeRevision", [](Binding& b) { b.scope_revision = 5; });
  change("serverRevision", [](Binding& b) { b.server_revision.reset(); });
  for (const auto& [name, other] : changed) {
    EXPECT_NE(digest(other), digest(base)) << name;
    EXPECT_EQ(differences(base, other), std::vector<std::string>{name});
    EXPECT_EQ(differences(canonical(base), other), std::vector<std::string>{name});
  }
  EXPECT_TRUE(differences(base, base).empty());
}

TEST(Binding, HasAShownDigestOfItsOwnKind) {
  EXPECT_EQ(shown_digest("page"), tagged_digest("sallyport/shown/v1", "page"));
  EXPECT_NE(shown_digest("page"), shown_digest("page "));
}

}  // namespace
}  // namespace sallyport::trust
