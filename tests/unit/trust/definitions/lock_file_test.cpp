#include "trust/definitions/lock_file.hpp"

#include <algorithm>
#include <random>

#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/definitions/definition.hpp"

namespace sallyport::trust {
namespace {

using test::doc;

Accepted accepted(const std::string& text, std::vector<std::string> ignored = {}) {
  const auto document = doc(text);
  auto made = make_accepted(document.root(), ignored, "user:dana", 1'796'000'000'118);
  EXPECT_TRUE(made) << text;
  return std::move(*made);
}

std::string tool(const std::string& description) { return R"({"name":"t","description":")" + description + "\"}"; }

LockFile example() {
  LockFile lock;
  auto& server = lock.servers["orders"];
  server.identity.kind = Identity::Kind::http;
  server.identity.url = "https://orders.example/mcp";
  server.identity.certificate = "orders.example";
  server.era = "2025-11-25";
  server.ignored = {"/_meta/build"};
  server.tools["t"] = {accepted(R"({"name":"t","_meta":{"build":1},"x":9007199254740993})", server.ignored),
                       accepted(tool("second"), server.ignored)};
  server.tools["a"] = {accepted(R"({"name":"a"})")};
  server.prompts["p"] = {accepted(R"({"name":"p"})")};
  server.resource_templates["file:///{x}"] = {accepted(R"({"uriTemplate":"file:///{x}"})")};
  server.instructions[""] = {accepted(R"("Be kind.")")};
  auto& other = lock.servers["files"];
  other.identity.command = "/bin/files";
  other.identity.digest = digest_text("x");
  return lock;
}

TEST(LockFile, IsPrettyStableAndComesBack) {
  const auto lock = example();
  const auto text = print(lock);
  EXPECT_TRUE(text.starts_with("{\n  \"lockVersion\": 1,\n  \"servers\": {\n    \"files\": {\n")) << text;
  EXPECT_TRUE(text.ends_with("}\n"));
  EXPECT_NE(text.find("9007199254740993"), std::string::npos);
  const auto back = parse_lock(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(print(*back), text);
  const auto* server = back->server("orders");
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->identity, lock.server("orders")->identity);
  ASSERT_EQ(server->tool("t").size(), 2U);
  EXPECT_EQ(server->tool("t")[0].by, "user:dana");
  EXPECT_EQ(server->tool("t")[0].at, 1'796'000'000'118);
  EXPECT_TRUE(server->tool("t")[1].definition().find("description").equals("second"));
  EXPECT_TRUE(server->accepted(Offer::instructions, "").front().definition().equals("Be kind."));
  EXPECT_TRUE(server->tool("none").empty());
}

TEST(LockFile, IsTheSameTextHoweverTheServerOrdersMembers) {
  auto one = example();
  auto two = example();
  one.servers["orders"].tools["t"] = {accepted(R"({"name":"t","description":"d"})")};
  two.servers["orders"].tools["t"] = {accepted(R"({"description":"d","name":"t"})")};
  EXPECT_EQ(print(one), print(two));
}

TEST(LockFile, HoldsDefinitionsAsDeepAsTheyMayBe) {
  std::string schema = "1";
  for (int i = 0; i < 900; ++i) schema = R"({"not":)" + schema + "}";
  auto document = json::Document::parse(R"({"name":"t","inputSchema":)" + schema + "}", {.depth = 1000});
  ASSERT_TRUE(document);
  auto entry = make_accepted(document->root(), {}, {}, 0);
  ASSERT_TRUE(entry) << entry.error().message;
  LockFile lock;
  lock.servers["s"].identity.command = "/bin/s";
  lock.servers["s"].tools["t"].push_back(std::move(*entry));
  const auto back = parse_lock(print(lock));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->servers.at("s").tool("t").front().digest, lock.servers["s"].tools["t"].front().digest);
}

TEST(LockFile, NoticesAnEditedDefinition) {
  auto text = print(example());
  const auto at = text.find("second");
  text.replace(at, 6, "Second");
  const auto parsed = parse_lock(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
  EXPECT_NE(parsed.error().message.find("at line "), std::string::npos);
}

TEST(LockFile, RefusesADefinitionUnderAnotherName) {
  LockFile lock;
  lock.servers["a"].identity.command = "/bin/a";
  lock.servers["a"].tools["read"] = {accepted(R"({"name":"write"})")};
  EXPECT_NE(parse_lock(print(lock)).error().message.find("under `read` has another name"), std::string::npos);
}

TEST(LockFile, RefusesOtherForms) {
  for (
      const auto* text :
      {"", "[]", "{}", R"({"lockVersion":2,"servers":{}})", R"({"lockVersion":1})",
       R"({"lockVersion":1,"servers":{},"x":1})", R"({"lockVersion":1,"servers":{"a":{}}})",
       R"({"lockVersion":1,"servers":{"a":{"identity":{"kind":"command","command":"x"},"y":1}}})",
       R"({"lockVersion":1,"servers":{"a":{"identity":{"kind":"command","command":"x"},"tools":{"t":{}}}}})",
       R"({"lockVersion":1,"servers":{"a":{"identity":{"kind":"command","command":"x"},"tools":{"t":[]}}}})",
       R"({"lockVersion":1,"servers":{"a":{"identity":{"kind":"command","command":"x"},"tools":{"t":[{"digest":"x"}]}}}})"}) {
    EXPECT_FALSE(parse_lock(text)) << text;
  }
  EXPECT_TRUE(parse_lock(R"({"lockVersion":1,"servers":{}})")->empty());
}

TEST(LockFile, TakesOtherIgnoredMembers) {
  const auto lock = example();
  const std::vector<std::string> ignored{"/description"};
  const auto other = with_ignored(*lock.server("orders"), ignored);
  ASSERT_TRUE(other);
  const auto changed = doc(tool("third"));
  EXPECT_EQ(other->tool("t")[1].digest, definition_digest(changed.root(), ignored).value());
  EXPECT_EQ(other->ignored, ignored);
}

TEST(Accept, KeepsTheOthersOnlyIfTold) {
  std::vector<Accepted> list{accepted(tool("one"))};
  accept(list, accepted(tool("two")), true);
  accept(list, accepted(tool("one")), true);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(list.back().definition().find("description").equals("one"));
  accept(list, accepted(tool("three")), false);
  EXPECT_EQ(list.size(), 1U);
}

TEST(Judge, KnowsUnpinnedPinnedDriftedAndQuarantined) {
  LockServer server;
  server.tools["t"] = {accepted(tool("one")), accepted(tool("two"))};
  const auto one = server.tools["t"][0].digest;
  const auto two = server.tools["t"][1].digest;
  const auto other = digest_text("other");
  EXPECT_EQ(judge(nullptr, Offer::tool, "t", one, OnDrift::ask).state, DefinitionState::unpinned);
  EXPECT_EQ(judge(&server, Offer::tool, "new", one, OnDrift::ask).state, DefinitionState::unpinned);
  EXPECT_EQ(judge(&server, Offer::tool, "new", one, OnDrift::follow).state, DefinitionState::unpinned);
  EXPECT_EQ(judge(&server, Offer::tool, "new", one, OnDrift::quarantine).state, DefinitionState::quarantined);
  EXPECT_EQ(judge(nullptr, Offer::tool, "new", one, OnDrift::quarantine).state, DefinitionState::unpinned);
  for (const auto on_drift : {OnDrift::ask, OnDrift::quarantine, OnDrift::follow}) {
    EXPECT_EQ(judge(&server, Offer::tool, "t", one, on_drift).state, DefinitionState::pinned);
    EXPECT_EQ(judge(&server, Offer::tool, "t", one, on_drift).accepted, &server.tools["t"][0]);
    EXPECT_EQ(judge(&server, Offer::tool, "t", two, on_drift).accepted, &server.tools["t"][1]);
    EXPECT_EQ(judge(&server, Offer::tool, "t", "", on_drift).state, DefinitionState::quarantined);
  }
  const auto asked = judge(&server, Offer::tool, "t", other, OnDrift::ask);
  EXPECT_EQ(asked.state, DefinitionState::drifted);
  EXPECT_EQ(asked.accepted, &server.tools["t"][1]);
  const auto quarantined = judge(&server, Offer::tool, "t", other, OnDrift::quarantine);
  EXPECT_EQ(quarantined.state, DefinitionState::quarantined);
  EXPECT_EQ(quarantined.accepted, nullptr);
  const auto followed = judge(&server, Offer::tool, "t", other, OnDrift::follow);
  EXPECT_EQ(followed.state, DefinitionState::drifted);
  EXPECT_EQ(followed.accepted, nullptr);
}

TEST(Judge, IsNotMovedByAnythingButAcceptance) {
  std::mt19937 random(7);
  LockServer server;
  std::vector<std::string> texts{tool("a"), tool("b"), tool("c")};
  std::vector<Accepted> made;
  for (const auto& text : texts) made.push_back(accepted(text));
  std::size_t current = 0;
  for (int step = 0; step < 2000; ++step) {
    if (random() % 4 == 0) {
      accept(server.tools["t"], made[current], random() % 2 == 0);
    } else {
      current = random() % made.size();  // the server changes its definition
    }
    const auto list = server.tool("t");
    const bool known =
        std::ranges::any_of(list, [&](const Accepted& entry) { return entry.digest == made[current].digest; });
    const auto judged = judge(&server, Offer::tool, "t", made[current].digest, static_cast<OnDrift>(random() % 3));
    EXPECT_EQ(judged.state == DefinitionState::pinned, known);
    if (judged.state == DefinitionState::pinned) EXPECT_EQ(judged.accepted->digest, made[current].digest);
  }
}

}  // namespace
}  // namespace sallyport::trust
