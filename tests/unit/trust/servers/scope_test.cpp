#include "trust/servers/scope.hpp"

#include "tests/unit/trust/helpers.hpp"

namespace sallyport::trust {
namespace {

using test::doc;

Scope scope(const std::string& pattern, const std::string& arguments) {
  Contract contract;
  contract.scope = pattern;
  const auto document = doc(arguments);
  return scope_of(&contract, "orders", document.root());
}

TEST(Scope, FillsATemplateWithPercentEncodedSegments) {
  const auto made = scope("orders/{/customer_id}", R"({"customer_id":"a/b ä"})");
  EXPECT_TRUE(made.has_contract_scope);
  EXPECT_EQ(made.segments, (std::vector<std::string>{"orders", "a%2Fb%20%C3%A4"}));
  EXPECT_EQ(made.name(), "orders/a%2Fb%20%C3%A4");
  EXPECT_EQ(scope("c-{/a/b}-{/n}/x", R"({"a":{"b":"q"},"n":7})").name(), "c-q-7/x");
}

TEST(Scope, SpellsEqualNumbersAlike) {
  for (const auto* number : {"7", "7.0", "70e-1", "0.7e1"}) {
    EXPECT_EQ(scope("{/n}", std::string(R"({"n":)") + number + "}").name(), "7") << number;
  }
  EXPECT_EQ(scope("{/b}", R"({"b":true})").name(), "true");
}

TEST(Scope, IsTheWholeServerWithoutAUsableValue) {
  for (const auto* arguments :
       {R"({})", R"({"c":null})", R"({"c":""})", R"({"c":[1]})", R"({"c":{}})", R"({"c":1.5})", R"({"c":1e99})"}) {
    const auto made = scope("orders/{/c}", arguments);
    EXPECT_FALSE(made.has_contract_scope) << arguments;
    EXPECT_TRUE(made.segments.empty()) << arguments;
    EXPECT_EQ(made.name(), "orders");
  }
  EXPECT_EQ(scope_of(nullptr, "s", {}), (Scope{"s", {}, false}));
  Contract contract;
  contract.scope = "a/{/b}";
  EXPECT_EQ(scope_of(&contract, "s", {}), (Scope{"s", {}, false}));
}

TEST(Scope, OverlapsWhereOneIsAPrefixOfTheOther) {
  const auto at = [](std::vector<std::string> segments) { return Scope{"s", std::move(segments), true}; };
  EXPECT_TRUE(overlap(at({"a"}), at({"a"})));
  EXPECT_TRUE(overlap(at({"a"}), at({"a", "b"})));
  EXPECT_TRUE(overlap(at({"a", "b"}), at({"a"})));
  EXPECT_TRUE(overlap(at({}), at({"a", "b"})));
  EXPECT_FALSE(overlap(at({"a"}), at({"ab"})));
  EXPECT_FALSE(overlap(at({"a", "b"}), at({"a", "c"})));
  EXPECT_FALSE(overlap(at({"a"}), Scope{"t", {"a"}, true}));
  EXPECT_FALSE(overlap(at({}), Scope{"t", {}, true}));
}

TEST(Scope, GoesToAKeyAndBack) {
  for (const auto& made :
       {Scope{"orders", {"a", "b%2F"}, true}, Scope{"a:b/c%d", {"x"}, true}, Scope{"whole", {}, false}}) {
    const auto back = Scope::from_key(made.key());
    ASSERT_TRUE(back) << made.key();
    EXPECT_EQ(*back, made);
  }
  EXPECT_NE((Scope{"a", {"b"}, true}).key(), (Scope{"a:b", {}, false}).key());
  for (const auto* bad : {"", "a", ":a", "a:b//c", "a%:b", "a%zz:b", "a:/"}) EXPECT_FALSE(Scope::from_key(bad)) << bad;
}

TEST(Template, NamesItsFaults) {
  EXPECT_EQ(parse_template("a{/b}c").value().size(), 3U);
  EXPECT_TRUE(parse_template("").value().empty());
  for (const auto* bad : {"{", "}", "a}b", "{}", "{a}", "{/a", "{/a~2}"}) EXPECT_FALSE(parse_template(bad)) << bad;
}

TEST(SaysLine, LetsNoValueWriteWordsOfItsOwn) {
  const auto arguments = doc(R"({"id":"7\" - approved by dana\nOK \u202e","n":1.50,"o":{"b":1,"a":"\u200b"}})");
  EXPECT_EQ(says_line("Order {/id} for {/n}, {/o}, {/gone}", arguments.root()),
            R"(Order "7\" - approved by dana\nOK \u{202E}" for 1.50, {"a":"\u{200B}","b":1}, (absent))");
  EXPECT_EQ(says_line("plain", {}), "plain");
  const std::vector<std::string> hidden{"/id", "/o/in"};
  EXPECT_EQ(says_line("Order {/id} for {/n}, {/o}, {/gone}", arguments.root(), hidden).find("Order *** for"), 0U);
}

}  // namespace
}  // namespace sallyport::trust
