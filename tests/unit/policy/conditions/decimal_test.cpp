#include "policy/conditions/decimal.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sallyport::policy {
namespace {

Decimal of(std::string_view token) { return Decimal::parse(token).value(); }

TEST(Decimal, ComparesByValueNotByForm) {
  EXPECT_EQ(of("1"), of("1.0"));
  EXPECT_EQ(of("100"), of("1e2"));
  EXPECT_EQ(of("-0"), of("0"));
  EXPECT_LT(of("0.1"), of("0.2"));
  EXPECT_LT(of("-2"), of("-1"));
  EXPECT_LT(of("-1"), of("0"));
  EXPECT_LT(of("0"), of("1e-300"));
  EXPECT_LT(of("9"), of("10"));
  EXPECT_LT(of("1.2"), of("1.23"));
  EXPECT_GT(of("50.000000000000000000001"), of("50"));
  EXPECT_GT(of("1e20"), of("99999999999999999999"));
}

TEST(Decimal, RefusesWhatIsNoBoundedNumber) {
  for (const std::string_view bad :
       {"", "-", ".5", "1.", "1e", "1e+", "0x1", "1 ", "NaN", "1e100001", "1e99999999999999999999"}) {
    EXPECT_FALSE(Decimal::parse(bad)) << bad;
  }
  EXPECT_FALSE(Decimal::parse(std::string(1025, '1')));
}

TEST(Decimal, IsSafeOnlyWhereEveryReaderAgrees) {
  for (const std::string_view safe :
       {"0", "-0", "0.1", "1.0", "50", "1e2", "9007199254740992", "1e300", "123456789.125", "5e-324"}) {
    EXPECT_TRUE(Decimal::parse_safe(safe)) << safe;
  }
  for (const std::string_view unsafe :
       {"9007199254740993", "0.1000000000000000055", "1e400", "1e-400", "50.000000000000000001", "4.9e-324"}) {
    EXPECT_FALSE(Decimal::parse_safe(unsafe)) << unsafe;
  }
}

TEST(Decimal, AddsExactly) {
  EXPECT_EQ(Decimal::add(of("0.1"), of("0.2")), of("0.3"));
  EXPECT_EQ(Decimal::add(of("999"), of("1")), of("1000"));
  EXPECT_EQ(Decimal::subtract(of("0.3"), of("0.1")), of("0.2"));
  EXPECT_EQ(Decimal::subtract(of("1"), of("1")), Decimal());
  EXPECT_EQ(Decimal::subtract(of("1"), of("3.5")), of("-2.5"));
  EXPECT_EQ(Decimal::add(of("-1"), of("-2")), of("-3"));
  EXPECT_FALSE(Decimal::add(of("1e3000"), of("1"))) << "needs more digits than the bound";
}

TEST(Decimal, AgreesWithIntegerArithmetic) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> any(-1'000'000'000'000, 1'000'000'000'000);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t a = any(random);
    const std::int64_t b = any(random);
    EXPECT_EQ(Decimal::add(Decimal(a), Decimal(b)), Decimal(a + b));
    EXPECT_EQ(Decimal::subtract(Decimal(a), Decimal(b)), Decimal(a - b));
    EXPECT_EQ(Decimal(a) < Decimal(b), a < b);
    EXPECT_EQ(of(Decimal(a).text()), Decimal(a));
  }
}

TEST(Decimal, PrintsWhatItReads) {
  for (const std::string_view token : {"0", "-1", "0.001", "12.5", "1000", "-0.5"}) EXPECT_EQ(of(token).text(), token);
  for (const std::string_view token : {"1e300", "1e-300", "123e77"}) EXPECT_EQ(of(of(token).text()), of(token));
}

}  // namespace
}  // namespace sallyport::policy
