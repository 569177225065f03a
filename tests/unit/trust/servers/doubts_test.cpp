#include "trust/servers/doubts.hpp"

#include "tests/unit/trust/helpers.hpp"
#include "trust/servers/effective.hpp"

namespace sallyport::trust {
namespace {

std::string about(const Contract& contract, const Hints& declared) {
  std::string out;
  for (const auto& doubt : doubts(contract, effective(&contract, declared, {}, true, true))) out += doubt + "\n";
  return out;
}

Contract contract(EffectCategory category, std::string scope = "x") {
  Contract out;
  out.terms.category = category;
  out.scope = std::move(scope);
  return out;
}

TEST(Doubts, AreNoneWhereContractAndDeclarationAgree) {
  EXPECT_EQ(about(contract(EffectCategory::read), {true, {}, {}, {}}), "");
  EXPECT_EQ(about(contract(EffectCategory::read), {}), "");
  EXPECT_EQ(about(contract(EffectCategory::record), {false, true, false, {}}), "");
  EXPECT_EQ(about(contract(EffectCategory::external), {true, {}, {}, {}}), "") << "stricter than declared is no doubt";
  EXPECT_EQ(about({}, {true, true, {}, {}}), "") << "a contract that says nothing of the effect";
}

TEST(Doubts, NameAContractThatIsLooserThanTheDeclaration) {
  EXPECT_NE(about(contract(EffectCategory::read), {{}, true, {}, {}}).find("declares it destructive"),
            std::string::npos);
  EXPECT_NE(about(contract(EffectCategory::read), {false, {}, {}, {}}).find("declares that it does not"),
            std::string::npos);
  Contract mild = contract(EffectCategory::record);
  mild.terms.destructive = false;
  EXPECT_NE(about(mild, {{}, true, {}, {}}).find("not destructive"), std::string::npos);
  mild.terms.repeat = Repeat::safe;
  EXPECT_NE(about(mild, {{}, {}, false, {}}).find("not idempotent"), std::string::npos);
}

TEST(Doubts, NameAToolThatIsDestructiveByDefaultAndSafeToRepeat) {
  Contract eager = contract(EffectCategory::record);
  eager.terms.repeat = Repeat::safe;
  EXPECT_NE(about(eager, {}).find("a lost answer is sent again"), std::string::npos);
  eager.terms.destructive = false;
  EXPECT_EQ(about(eager, {}), "");
}

}  // namespace
}  // namespace sallyport::trust
