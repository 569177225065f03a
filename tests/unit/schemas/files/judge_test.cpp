#include "schemas/files/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "schemas/files/embedded.hpp"
#include "schemas/files/outline.hpp"

namespace sallyport::schema {
namespace {

json::Document parse(std::string text) {
  auto document = json::Document::parse(std::move(text), {.comments = true});
  if (!document) throw std::runtime_error(document.error().message);
  return std::move(document).value();
}

std::vector<std::string> words(FileKind kind, std::string text) {
  const json::Document document = parse(std::move(text));
  std::vector<std::string> lines;
  for (const Fault& fault : judge(kind, document, "f")) lines.push_back(to_text(fault));
  return lines;
}

constexpr FileKind kKinds[] = {FileKind::settings, FileKind::trust, FileKind::policy, FileKind::lock,
                               FileKind::receipt};

// Every node of a schema, to check what we demand of our own schemas.
void each_node(json::Value node, const std::function<void(json::Value)>& visit) {
  if (!node.is_object()) return;
  visit(node);
  for (const std::string_view map : {"properties", "definitions"}) {
    if (const json::Value members = node.find(map)) {
      for (const json::Member member : members.members()) each_node(member.value, visit);
    }
  }
  for (const std::string_view one : {"items", "additionalProperties"}) {
    if (const json::Value next = node.find(one)) each_node(next, visit);
  }
}

TEST(FileSchemas, DescribeEveryPropertyAndUseOnlyWhatValijsonDoesRight) {
  const std::vector<std::string> allowed{"$schema",    "$ref",     "title",      "description", "type",
                                         "properties", "items",    "required",   "enum",        "additionalProperties",
                                         "minimum",    "maximum",  "minLength",  "maxLength",   "minItems",
                                         "maxItems",   "x-remedy", "deprecated", "definitions"};
  for (const FileKind kind : kKinds) {
    const json::Document document = parse(std::string(embedded_file(schema_name(kind))));
    each_node(document.root(), [&](json::Value node) {
      EXPECT_TRUE(node.find("description") || node.find("$ref")) << schema_name(kind) << node.pointer();
      for (const json::Member member : node.members()) {
        EXPECT_NE(std::find(allowed.begin(), allowed.end(), member.name()), allowed.end())
            << schema_name(kind) << node.pointer() << " uses " << member.name();
      }
      if (const json::Value ref = node.find("$ref"))
        EXPECT_TRUE(document.root().at(ref.string().substr(1))) << ref.raw();
    });
  }
  EXPECT_TRUE(embedded_file("other.schema.json").empty());
}

TEST(Judge, NamesEveryUnknownMemberWithPlaceAndNearestName) {
  const auto lines = words(FileKind::settings, R"({
  "lisen": {},
  "polcy": "p",
  "limits": { "detph": 3, "zzz": 1 } })");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "f:2:3: error: unknown member `lisen`: did you mean `listen`?");
  EXPECT_EQ(lines[1], "f:3:3: error: unknown member `polcy`: did you mean `policy`?");
  EXPECT_EQ(lines[2], "f:4:15: error: unknown member `detph`: did you mean `depth`?");
  EXPECT_NE(lines[3].find("unknown member `zzz`: known here: `messageBytes`"), std::string::npos) << lines[3];
}

TEST(Judge, SaysWhichTypeIsWanted) {
  const auto lines =
      words(FileKind::settings, R"({"clients": {}, "anonymous": 1, "trust": 4, "listen": {"port": 1.5}})");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "f:1:13: error: must be a list, not an object");
  EXPECT_EQ(lines[1], "f:1:30: error: must be true or false, not a number");
  EXPECT_EQ(lines[2], "f:1:42: error: must be a string, a list or an object, not a number");
  EXPECT_EQ(lines[3], "f:1:64: error: must be a whole number, not a number");
}

TEST(Judge, NamesMissingMembersBoundsAndChoices) {
  const auto lines = words(FileKind::settings, R"({"people": [{"id": "", "roles": ["aprover", "king"]}],
"listen": {"port": 70000}, "limits": {"depth": 1}})");
  ASSERT_EQ(lines.size(), 6U) << testing::PrintToString(lines);
  EXPECT_NE(lines[0].find("the member `tokenSha256` is missing"), std::string::npos);
  EXPECT_NE(lines[1].find("the number of characters must not be less than 1"), std::string::npos);
  EXPECT_NE(lines[2].find("`aprover` is not known here: did you mean `approver`?"), std::string::npos);
  EXPECT_NE(lines[3].find("`king` is not known here: write `approver`, `operator`"), std::string::npos);
  EXPECT_NE(lines[4].find("must not be more than 65535"), std::string::npos);
  EXPECT_NE(lines[5].find("must not be less than 8"), std::string::npos);
}

TEST(Judge, RefusesDuplicateMembersAndUnsafeNumbers) {
  const auto lines = words(FileKind::policy, R"({"default": "ask",
  "default": "deny", "budgets": [{"id": "a", "max": 1e999}]})");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "f:2:3: error: the member `default` stands twice, first in line 1: leave one out");
  EXPECT_NE(lines[1].find("the number is too large"), std::string::npos);
}

TEST(Judge, TakesLookalikeNamesWhereNamesAreFree) {
  EXPECT_TRUE(words(FileKind::settings,
                    R"({"mcpServers": {"a": {"command": "x", "env": {"http_proxy": "1", "HTTP_PROXY": "1"}}}})")
                  .empty());
}

TEST(Judge, FollowsReferencesDownToNestedConditions) {
  EXPECT_TRUE(words(FileKind::policy, R"({"rules": [{"id": "a", "deny": {"arguments":
    {"a": {"items": {"members": {"b": {"not": {"maximum": 3}}}}}, "c": [1, "x", null], "d?": {}}}}]})")
                  .empty());
  const auto lines = words(FileKind::policy, R"({"rules": [{"id": "a", "deny": {"arguments":
    {"a": {"items": {"members": {"b": {"not": {"maximun": 3}}}}}}}}]})");
  ASSERT_EQ(lines.size(), 1U) << testing::PrintToString(lines);
  EXPECT_NE(lines[0].find("unknown member `maximun`: did you mean `maximum`?"), std::string::npos);
}

TEST(Judge, HidesNothingThatIsInvisible) {
  const auto lines = words(FileKind::trust, "{\"servers\": {}, \"ser\xE2\x80\x8Bvers\": {}}");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("\xE2\x80\x8B"), std::string::npos);
}

TEST(Judge, RefusesAnythingThatIsNoObject) {
  for (const FileKind kind : kKinds) {
    for (const std::string_view text : {"null", "1", "\"x\"", "[]", "true"}) {
      EXPECT_FALSE(words(kind, std::string(text)).empty()) << schema_name(kind) << text;
    }
  }
}

TEST(Judge, TakesTheReceiptOfTheDesignAndRefusesItsMutations) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string good =
      R"({"_type":"https://in-toto.io/Statement/v1","predicateType":"https://sallyport.dev/receipt/v1",
 "subject":[{"name":"op_01","digest":{"sha256":")" +
      std::string(64, 'a') + R"("}}],
 "predicate":{"kind":"intent","id":"rc_01","log":"7c1e0b9d2a44f310","seq":17,"prev":")" +
      digest + R"(",
  "operation":"op_01","attempt":1,"run":"run_01","principal":"agent:ci","claimed":{"name":"claude-code","version":"2.1"},
  "server":{"id":"orders","identity":")" +
      digest + R"("},"tool":"create_order","definition":")" + digest + R"(",
  "scope":{"name":"orders/customer-7","revision":4},"idempotencyKey":"k-1",
  "decision":{"verdict":"ask","rules":[{"id":"orders","verdict":"ask"}]},
  "outcome":{"value":"unknown","basis":"intent"},
  "times":{"received":"2026-11-30T09:14:02.118Z"}}})";
  EXPECT_TRUE(words(FileKind::receipt, good).empty()) << testing::PrintToString(words(FileKind::receipt, good));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return words(FileKind::receipt, text);
  };
  EXPECT_FALSE(with("\"seq\":17", "\"seq\":-1").empty());
  EXPECT_FALSE(with("\"seq\":17", "\"seq\":1.5").empty());
  EXPECT_FALSE(with("receipt/v1", "receipt/v2").empty());
  EXPECT_FALSE(with("\"intent\",\"id\"", "\"intend\",\"id\"").empty());
  EXPECT_FALSE(with("\"unknown\"", "null").empty());
  EXPECT_FALSE(with("02.118Z", "02Z").empty());
}

TEST(Judge, JudgesManyDocumentsWithOneSchema) {
  const Judge judge(FileKind::trust);
  const json::Document good = parse(R"({"servers": {"a": {"tools": {"*": "read"}}}})");
  const json::Document bad = parse(R"({"servers": {"a": {"tools": {"*": 1}}}})");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(judge.judge(good, "").empty());
    EXPECT_EQ(judge.judge(bad, "").size(), 1U);
  }
}

}  // namespace
}  // namespace sallyport::schema
