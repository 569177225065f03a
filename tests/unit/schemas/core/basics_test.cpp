// Results, ids, times, secrets and faults.
#include <gtest/gtest.h>

#include <set>

#include "schemas/core/fault.hpp"
#include "schemas/core/ids.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"
#include "schemas/core/time.hpp"

namespace sallyport {
namespace {

TEST(Result, CarriesTheErrorAndItsPlace) {
  const auto inner = [] {
    return Result<int>(fail(ErrorCode::not_found, "no such tool `x`", ErrorSource::server, RetryClass::later));
  };
  const Status outer = fail_in("server `orders`", inner().error());
  ASSERT_FALSE(outer);
  EXPECT_EQ(outer.error().message, "server `orders`: no such tool `x`");
  EXPECT_EQ(outer.error().code, ErrorCode::not_found);
  EXPECT_EQ(outer.error().source, ErrorSource::server);
  EXPECT_EQ(outer.error().retry, RetryClass::later);
}

TEST(Result, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) names.insert(to_string(static_cast<ErrorCode>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
}

TEST(Ids, AreUlidsWithAPrefix) {
  Random80 random{};
  EXPECT_EQ(make_id("op", 0, random), "op_00000000000000000000000000");
  random.fill(0xFF);
  EXPECT_EQ(make_id("op", 0xFFFFFFFFFFFF, random), "op_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  random = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x01, 0x23};
  const auto id = make_id("rc", 1469918176385, random);
  EXPECT_EQ(id.substr(0, 13), "rc_01ARYZ6S41");  // the time of the ULID specification's example
  EXPECT_EQ(id.substr(13), "04HMASW9NF6YY093");
  EXPECT_TRUE(is_id(id, "rc"));
}

TEST(Ids, SortByTime) {
  Random80 high;
  high.fill(0xFF);
  const Random80 low{};
  EXPECT_LT(make_id("op", 1'700'000'000'000, high), make_id("op", 1'700'000'000'001, low));
  EXPECT_LT(make_id("op", 31, high), make_id("op", 32, low));
}

TEST(Ids, AreRecognisedStrictly) {
  const auto id = make_id("op", 1'700'000'000'000, Random80{1, 2, 3});
  EXPECT_TRUE(is_id(id, "op"));
  EXPECT_FALSE(is_id(id, "ap"));
  EXPECT_FALSE(is_id(id, ""));
  EXPECT_FALSE(is_id(id + "0", "op"));
  EXPECT_FALSE(is_id(id.substr(0, id.size() - 1), "op"));
  for (const char* bad : {"", "op", "op_", "op_0000000000000000000000000I", "op_0000000000000000000000000L",
                          "op_0000000000000000000000000U", "op_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
                          "op_7zzzzzzzzzzzzzzzzzzzzzzzzz", "op-00000000000000000000000000"}) {
    EXPECT_FALSE(is_id(bad, "op")) << bad;
  }
}

TEST(Utc, GoesBothWays) {
  EXPECT_EQ(to_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_utc(1'796'030'042'118), "2026-11-30T09:14:02.118Z");
  EXPECT_EQ(to_utc(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(from_utc("2026-11-30T09:14:02.118Z"), 1'796'030'042'118);
  EXPECT_EQ(from_utc("2026-11-30T09:14:02Z"), 1'796'030'042'000);
  for (const UnixMillis time :
       {UnixMillis{951'782'400'000}, UnixMillis{4'102'444'799'999}, UnixMillis{-62'135'596'800'000}}) {
    EXPECT_EQ(from_utc(to_utc(time)), time);
  }
  EXPECT_EQ(from_utc("2024-02-29T00:00:00Z"), 1'709'164'800'000);
}

TEST(Utc, IsStrict) {
  for (const char* bad : {"",
                          "2026-11-30",
                          "2026-11-30T09:14:02",
                          "2026-11-30t09:14:02Z",
                          "2026-11-30 09:14:02Z",
                          "2026-11-30T09:14:02z",
                          "2026-11-30T09:14:02+00:00",
                          "2026-11-30T09:14:02.1Z",
                          "2026-11-30T09:14:02,118Z",
                          "2026-11-30T24:00:00Z",
                          "2026-11-30T09:60:00Z",
                          "2026-11-30T09:14:60Z",
                          "2026-02-29T00:00:00Z",
                          "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z",
                          "2026-01-00T00:00:00Z",
                          "2026-04-31T00:00:00Z",
                          "+026-11-30T09:14:02Z",
                          "2026-11-30T09:14: 2Z",
                          "2026-11-30T-9:14:02Z",
                          "2026-11-30T09:14:02.118Z "}) {
    EXPECT_EQ(from_utc(bad), std::nullopt) << bad;
  }
}

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("300ms"), Millis(300));
  EXPECT_EQ(parse_duration("45s"), Millis(45'000));
  EXPECT_EQ(parse_duration("10m"), Millis(600'000));
  EXPECT_EQ(parse_duration("24h"), Millis(86'400'000));
  EXPECT_EQ(parse_duration("7d"), Millis(604'800'000));
  EXPECT_EQ(parse_duration("36525d"), Millis(36'525LL * 86'400'000));
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* bad : {"", "0s", "0", "5", "-5s", "+5s", "5S", "5 s", " 5s", "5s ", "1.5h", "5sec", "1h30m", "05s",
                          "s", "36526d", "3155760000001ms", "99999999999999999999ms", "9223372036854775807d"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Duration, IsWrittenInItsShortestForm) {
  EXPECT_EQ(to_text(Millis(0)), "0ms");
  EXPECT_EQ(to_text(Millis(1'500)), "1500ms");
  EXPECT_EQ(to_text(Millis(45'000)), "45s");
  EXPECT_EQ(to_text(Millis(90'000)), "90s");
  EXPECT_EQ(to_text(Millis(60'000)), "1m");
  EXPECT_EQ(to_text(Millis(86'400'000)), "1d");
  for (const char* text : {"300ms", "45s", "10m", "23h", "7d"}) EXPECT_EQ(to_text(*parse_duration(text)), text);
}

TEST(Secret, DoesNotPrintAndCompares) {
  const Secret secret("hunter2");
  EXPECT_EQ(to_string(secret), "***");
  EXPECT_TRUE(secret.equals("hunter2"));
  EXPECT_FALSE(secret.equals("hunter3"));
  EXPECT_FALSE(secret.equals(""));
  EXPECT_TRUE(Secret().empty());
  EXPECT_TRUE(Secret().equals(""));
}

TEST(Secret, MovesAndCopies) {
  Secret first(std::string("short"));
  Secret second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT: wiped, by contract
  EXPECT_EQ(second.reveal(), "short");
  Secret third(std::string(100, 'x'));
  third = second;
  EXPECT_EQ(third.reveal(), "short");
  third = std::move(second);
  EXPECT_EQ(third.reveal(), "short");
  auto& self = third;
  third = self;
  EXPECT_EQ(third.reveal(), "short");
}

TEST(Secret, LeavesNoBytesBehindInAMovedFromShortString) {
  Secret first(std::string("topsecret"));
  const char* bytes = first.reveal().data();  // inside the object itself
  const Secret second(std::move(first));
  EXPECT_EQ(std::string_view(bytes, 9).find("topsecret"), std::string_view::npos);
  EXPECT_EQ(second.reveal(), "topsecret");
}

TEST(FaultList, TakesPlaceAndPointerFromTheValue) {
  const auto document = json::Document::parse("{\n  \"tools\": [1, 2]\n}");
  FaultList faults("policy.jsonc");
  faults.warning(document->root().at("/tools/0"), "odd");
  EXPECT_TRUE(faults.ok());
  faults.error(document->root().at("/tools/1"), "not a rule");
  EXPECT_FALSE(faults.ok());
  ASSERT_EQ(faults.all().size(), 2U);
  EXPECT_EQ(faults.all()[1].pointer, "/tools/1");
  EXPECT_EQ(to_text(faults.all()[0]), "policy.jsonc:2:13: warning: odd");
  EXPECT_EQ(to_text(faults.all()[1]), "policy.jsonc:2:16: error: not a rule");
  EXPECT_EQ(faults.take().size(), 2U);
}

TEST(FaultList, AnAbsentValueMeansTheWholeFile) {
  FaultList faults("trust.jsonc");
  faults.error({}, "cannot be read");
  faults.note({}, "see the docs");
  EXPECT_EQ(to_text(faults.all()[0]), "trust.jsonc: error: cannot be read");
  EXPECT_EQ(to_text(faults.all()[1]), "trust.jsonc: note: see the docs");
  EXPECT_TRUE(has_errors(faults.all()));
}

TEST(FaultList, MessagesPlayNoTricksOnATerminal) {
  Fault fault;
  fault.message = "unknown member `\x1B[2J\xE2\x80\xAE`";
  EXPECT_EQ(to_text(fault), "inline:1:1: error: unknown member `\\u{1B}[2J\\u{202E}`");
}

}  // namespace
}  // namespace sallyport
