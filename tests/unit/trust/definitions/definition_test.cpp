#include "trust/definitions/definition.hpp"

#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

using test::doc;

Result<std::string> judged(const std::string& text, std::vector<std::string> ignored = {}) {
  const auto document = doc(text);
  return definition_digest(document.root(), ignored);
}
std::string digest(const std::string& text, std::vector<std::string> ignored = {}) {
  return judged(text, std::move(ignored)).value();
}

TEST(Definition, IsDigestedInCanonicalFormUnderItsTag) {
  EXPECT_EQ(digest(R"({ "name": "a", "description": "\u0062" })"),
            digest_text("sallyport/definition/v1\n{\"description\":\"b\",\"name\":\"a\"}"));
}

TEST(Definition, DoesNotChangeWithTheOrderOfMembers) {
  EXPECT_EQ(digest(R"({"name":"a","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}})"),
            digest(R"({"inputSchema":{"properties":{"y":{},"x":{}},"type":"object"},"name":"a"})"));
  EXPECT_NE(digest(R"({"required":["x","y"]})"), digest(R"({"required":["y","x"]})"));
}

TEST(Definition, ChangesWithEveryMember) {
  const auto base =
      digest(R"({"name":"a","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"default":1}})");
  for (
      const auto* other : {
          R"({"name":"a","description":"d ","annotations":{"readOnlyHint":true},"inputSchema":{"default":1}})",
          R"({"name":"a","description":"d","annotations":{"readOnlyHint":false},"inputSchema":{"default":1}})",
          R"({"name":"a","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"default":2}})",
          R"({"name":"a","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"default":1},"_meta":{}})",
          R"({"name":"a","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"default":1.0}})",
      }) {
    EXPECT_NE(digest(other), base) << other;
  }
}

TEST(Definition, SeesIntegersBeyondDoubles) {
  EXPECT_NE(digest(R"({"maximum":9007199254740993})"), digest(R"({"maximum":9007199254740992})"));
}

TEST(Definition, LeavesOutWhatIsIgnored) {
  const std::vector<std::string> ignored{"/_meta/com.vendor~1build"};
  EXPECT_EQ(digest(R"({"name":"a","_meta":{"com.vendor/build":1,"b":2}})", ignored),
            digest(R"({"name":"a","_meta":{"com.vendor/build":7,"b":2}})", ignored));
  EXPECT_NE(digest(R"({"name":"a","_meta":{"com.vendor/build":1,"b":2}})", ignored),
            digest(R"({"name":"a","_meta":{"com.vendor/build":1,"b":3}})", ignored));
}

TEST(Definition, IsRefusedIfItCannotBeJudged) {
  for (const auto* text :
       {"[]", "1", R"({"a":1,"a":2})", R"({"Name":1,"name":2})", R"({"maximum":1e999})",
        R"({"name":"a","annotations":{"DestructiveHint":true}})",
        R"({"name":"a","annotations":{"destructiveHint":false,"destructivehint":true}})",
        R"({"name":"a","InputSchema":{}})", R"({"name":"a","Annotations":{"destructiveHint":true}})"}) {
    EXPECT_EQ(judged(text).error().code, ErrorCode::invalid) << text;
  }
}

TEST(MemberDiff, NamesEveryChangedMember) {
  const auto before = doc(
      R"({"name":"a","description":"old","inputSchema":{"properties":{"x":{"type":"string"},"y":{}},"required":["x","y"]}})");
  const auto after = doc(
      R"({"inputSchema":{"required":["x"],"properties":{"x":{"type":"number"},"z":{}}},"description":"new\u200b","name":"a"})");
  const std::vector<MemberDiff> expected{
      {"/description", R"("old")", R"("new\u{200B}")"},
      {"/inputSchema/properties/x/type", R"("string")", R"("number")"},
      {"/inputSchema/properties/y", "{}", std::nullopt},
      {"/inputSchema/properties/z", std::nullopt, "{}"},
      {"/inputSchema/required/1", R"("y")", std::nullopt},
  };
  EXPECT_EQ(member_diff(before.root(), after.root()), expected);
  EXPECT_TRUE(member_diff(before.root(), before.root()).empty());
}

TEST(MemberDiff, SeesWhatDigestsSee) {
  const auto one = doc(R"({"a":1})");
  const auto other = doc(R"({"a":1.0})");
  EXPECT_EQ(member_diff(one.root(), other.root()).size(), 1U);
  const auto list = doc(R"({"a":[]})");
  EXPECT_EQ(member_diff(one.root(), list.root()), (std::vector<MemberDiff>{{"/a", "1", "[]"}}));
  EXPECT_EQ(member_diff({}, one.root()), (std::vector<MemberDiff>{{"", std::nullopt, R"({"a":1})"}}));
}

}  // namespace
}  // namespace sallyport::trust
