#include "trust/servers/trust_file.hpp"

#include "tests/unit/trust/helpers.hpp"

namespace sallyport::trust {
namespace {

using test::doc;

constexpr const char* kExample = R"({
  "servers": {
    "files": { "trustHints": { "permission": ["readOnlyHint"], "retry": ["idempotentHint"] },  // a comment
      "tools": {
        "*":          { "paths": ["/path", "/paths/*"], "errors": "none" },
        "write_file": { "effect": "file", "paths": ["/path"], "scope": "{/path}", "errors": "none" },
        "edit_file":  { "effect": "file", "paths": ["/path"], "scope": "{/path}", "errors": "none",
                        "cases": [ { "when": { "dryRun": true }, "effect": "read" } ] } } },
    "orders": { "passes": ["elicitation"], "onDrift": "quarantine", "ignore": ["/_meta/build"],
      "tools": {
        "get_*": "read",
        "get_secret_*": { "effect": "read", "labels": ["private", "credentials", "private"] },
        "create_order": {
          "effect": "record", "destructive": false, "labels": ["money"], "scope": "orders/{/customer_id}",
          "repeat": "keyed", "idempotencyKey": { "argument": "/request_id" }, "retention": "24h",
          "deadline": "10s", "attempts": 3,
          "errors": { "none": { "http": [401, 403, 429], "codes": [-32601] }, "transient": { "http": [503] } },
          "lookup": { "tool": "get_order", "arguments": { "request_id": { "from": "key" }, "deep": true, "c": {"from": "/customer_id"} },
                      "applied": { "status": ["paid", "open"] }, "notFound": "unknown" },
          "revision": { "tool": "get_order", "arguments": {}, "at": "/etag" },
          "says": "Order for customer {/customer_id}", "output": "enforce", "maxResultBytes": 1000,
          "record": { "arguments": ["/customer_id", "/amount"], "result": ["/id"] }, } } } } })";

TrustFile load(const std::string& text) {
  const auto document = doc(text, true);
  auto loaded = load_trust(document, "trust.jsonc");
  for (const auto& fault : loaded.faults) EXPECT_NE(fault.level, Fault::Level::error) << to_text(fault);
  return loaded.file.value_or(TrustFile{});
}

// All faults as lines of text, and that the file was refused.
std::vector<std::string> refused(const std::string& text) {
  const auto document = doc(text, true);
  const auto loaded = load_trust(document, "t");
  EXPECT_FALSE(loaded.file) << text;
  std::vector<std::string> out;
  for (const auto& fault : loaded.faults) {
    if (fault.level == Fault::Level::error) out.push_back(to_text(fault));
  }
  return out;
}

std::string in_tool(const std::string& members) { return R"({"servers":{"s":{"tools":{"t":{)" + members + "}}}}}"; }

TEST(TrustFile, ReadsTheDocumentedExample) {
  const auto file = load(kExample);
  const auto* files = file.server("files");
  ASSERT_NE(files, nullptr);
  EXPECT_EQ(files->trust_hints, (TrustHints{true, false, true, false}));
  EXPECT_EQ(files->on_drift, OnDrift::ask);
  const auto* orders = file.server("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders->on_drift, OnDrift::quarantine);
  EXPECT_EQ(orders->passes, (Passes{true, false, false}));
  EXPECT_EQ(orders->ignore, std::vector<std::string>{"/_meta/build"});
  const auto* edit = contract_for(*files, "edit_file");
  ASSERT_EQ(edit->cases.size(), 1U);
  EXPECT_EQ(edit->cases[0].when.text, R"({"dryRun":true})");
  EXPECT_EQ(edit->cases[0].when.line, 8U);
  EXPECT_EQ(edit->cases[0].terms.category, EffectCategory::read);
}

TEST(TrustFile, ReadsEveryMemberOfAContract) {
  const auto file = load(kExample);
  const auto* order = contract_for(file, "orders", "create_order");
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->terms.category, EffectCategory::record);
  EXPECT_EQ(order->terms.destructive, false);
  EXPECT_EQ(order->terms.repeat, Repeat::keyed);
  EXPECT_EQ(order->scope, "orders/{/customer_id}");
  EXPECT_EQ(order->idempotency_key->kind, KeyPlace::Kind::argument);
  EXPECT_EQ(order->idempotency_key->name, "/request_id");
  EXPECT_EQ(order->retention, std::chrono::hours(24));
  EXPECT_EQ(order->deadline, std::chrono::seconds(10));
  EXPECT_EQ(order->attempts, 3U);
  EXPECT_EQ(meaning(order->errors, 401, {}), ErrorMeaning::none);
  EXPECT_EQ(meaning(order->errors, 503, {}), ErrorMeaning::transient);
  EXPECT_EQ(meaning(order->errors, 500, {}), ErrorMeaning::unknown);
  EXPECT_EQ(meaning(order->errors, {}, -32601), ErrorMeaning::none);
  EXPECT_EQ(meaning(order->errors, {}, -32603), ErrorMeaning::unknown);
  EXPECT_EQ(meaning(order->errors, {}, {}), ErrorMeaning::unknown);
  EXPECT_EQ(order->lookup->applied.text, R"({"status":["paid","open"]})");
  EXPECT_EQ(order->lookup->not_found, Outcome::unknown);
  const auto arguments = doc(R"({"customer_id":7.50})");
  EXPECT_EQ(own_arguments(order->lookup->call, arguments.root(), "k1", "op_1").value(),
            R"({"c":7.50,"deep":true,"request_id":"k1"})");
  EXPECT_FALSE(own_arguments(order->lookup->call, arguments.root(), "", "op_1"));
  EXPECT_FALSE(own_arguments(order->lookup->call, {}, "k1", "op_1"));
  EXPECT_EQ(order->revision->at, "/etag");
  EXPECT_EQ(order->output, Output::enforce);
  EXPECT_EQ(order->max_result_bytes, 1000U);
  EXPECT_EQ(order->record_arguments, (std::vector<std::string>{"/customer_id", "/amount"}));
}

TEST(TrustFile, PrefersTheExactNameThenTheLongestPrefixThenTheStar) {
  const auto file = load(kExample);
  EXPECT_EQ(contract_for(file, "orders", "get_order")->name, "get_*");
  EXPECT_EQ(contract_for(file, "orders", "get_secret_key")->name, "get_secret_*");
  EXPECT_EQ(contract_for(file, "orders", "get_secret_key")->terms.labels,
            (std::vector<std::string>{"credentials", "private"}));
  EXPECT_EQ(contract_for(file, "orders", "refund"), nullptr);
  EXPECT_EQ(contract_for(file, "files", "write_file")->name, "write_file");
  EXPECT_EQ(contract_for(file, "files", "write_files")->name, "*");
  EXPECT_EQ(contract_for(file, "elsewhere", "x"), nullptr);
}

TEST(TrustFile, NamesAllFaultsAtOnceWithPlaceAndSuggestion) {
  const auto faults = refused(R"({"servers": {"orders": {
    "onDrft": "ask",
    "passes": ["elicit"],
    "tools": { "a": { "efect": "read" }, "b": "wirte", "c": { "repeat": "keyed" }, "d*e": "read" } } } })");
  ASSERT_EQ(faults.size(), 6U);
  EXPECT_EQ(faults[0], "t:2:5: error: a server's entry has no member `onDrft`; did you mean `onDrift`?");
  EXPECT_TRUE(faults[1].starts_with(
      "t:3:16: error: an entry of `passes` is one of elicitation, sampling, roots, not `elicit`"));
  EXPECT_NE(faults[2].find("did you mean `effect`?"), std::string::npos);
  EXPECT_NE(faults[3].find("not `wirte`"), std::string::npos);
  EXPECT_NE(faults[4].find("no place for the key"), std::string::npos);
  EXPECT_NE(faults[5].find("stands at the end only"), std::string::npos);
}

TEST(TrustFile, RefusesWhatCannotBeMeant) {
  const std::string members[] = {
      R"("effect": "unrated")",
      R"("effect": 1)",
      R"("destructive": "yes")",
      R"("labels": "money")",
      R"("labels": [""])",
      R"("paths": ["path"])",
      R"("paths": "/path")",
      R"("scope": "orders/{customer}")",
      R"("scope": "orders//{/c}")",
      R"("scope": "/orders")",
      R"("scope": "orders/{/c")",
      R"("scope": "")",
      R"("deadline": 10)",
      R"("deadline": "10 s")",
      R"("deadline": "0s")",
      R"("attempts": 0)",
      R"("attempts": 11)",
      R"("attempts": 1.5)",
      R"("errors": "transient")",
      R"("errors": {"none": {"http": [200]}})",
      R"("errors": {"none": {"http": ["401"]}})",
      R"("errors": {"never": {}})",
      R"("idempotencyKey": "/id")",
      R"("idempotencyKey": {})",
      R"("idempotencyKey": {"argument": "/a", "meta": "b"})",
      R"("idempotencyKey": {"header": "X Y"})",
      R"("idempotencyKey": {"meta": "dev.sallyport/x"})",
      R"("lookup": {"tool": "get"})",
      R"("lookup": {"applied": {}})",
      R"("lookup": {"tool": "get", "applied": {}, "arguments": {"k": {"from": "key"}}})",
      R"("lookup": {"tool": "get", "applied": {}, "arguments": {"k": {"from": "operation"}}})",
      R"("idempotencyKey": {"argument": "/k"}, "lookup": {"tool": "get", "applied": {}, "arguments": {"k": {"from": "operation"}}})",
      R"("lookup": {"tool": "get", "applied": {}, "arguments": {"k": {"from": "nowhere"}}})",
      R"("lookup": {"tool": "get", "applied": {}, "notFound": "applied"})",
      R"("revision": {"tool": "get"})",
      R"("cases": {"when": {}})",
      R"("cases": [{"effect": "read"}])",
      R"("cases": [{"when": {"a": 1}}])",
      R"("cases": [{"when": {"a": 1, "a": 2}, "effect": "read"}])",
      R"("record": ["/a"])",
      R"("maxResultBytes": 0)",
      R"("output": "strict")",
      R"("effect": "read", "effect": "file")",
  };
  for (const auto& text : members) EXPECT_FALSE(refused(in_tool(text)).empty()) << text;
  for (const auto& text : {R"([])", R"({"servers": []})", R"({"server": {}})", R"({"servers": {"a": 1}})",
                           R"({"servers": {"a": {}, "a": {}}})", R"({"servers": {"a": {"ignore": ["/name"]}}})",
                           R"({"servers": {"a": {"spki": ["abc"]}}})", R"({"servers": {"a": {"tools": {"": "read"}}}})",
                           R"({"servers": {"a": {"trustHints": {"permission": ["idempotentHint"]}}}})",
                           R"({"servers": {"a": {"trustHints": {"permission": ["openWorldHint"]}}}})"}) {
    EXPECT_FALSE(refused(text).empty()) << text;
  }
}

TEST(TrustFile, WarnsOfWhatIsProbablyNotMeant) {
  const auto document = doc(in_tool(R"("effect": "file", "repeat": "safe", "destructive": true)"));
  const auto loaded = load_trust(document, "t");
  EXPECT_TRUE(loaded.file);
  ASSERT_EQ(loaded.faults.size(), 2U);
  EXPECT_EQ(loaded.faults[0].level, Fault::Level::warning);
  EXPECT_NE(loaded.faults[1].message.find("no `scope`"), std::string::npos);
}

TEST(TrustFile, JoinsSourcesAndRefusesAServerInTwoOfThem) {
  const auto a = doc(R"({"servers": {"a": {}}})");
  const auto b = doc(R"({"servers": {"b": {}}})");
  const TrustSource both[] = {{"a.jsonc", a.root()}, {"b.jsonc", b.root()}};
  EXPECT_EQ(load_trust(both).file->servers.size(), 2U);
  const TrustSource twice[] = {{"a.jsonc", a.root()}, {"a2.jsonc", a.root()}};
  const auto loaded = load_trust(twice);
  EXPECT_FALSE(loaded.file);
  EXPECT_EQ(loaded.faults.at(0).file, "a2.jsonc");
  EXPECT_TRUE(load_trust(std::span<const TrustSource>()).file->servers.empty());
}

TEST(TrustFile, HasADigestThatCommentsAndOrderDoNotChange) {
  const auto one = load(R"({"servers": {"a": {"onDrift": "ask", "tools": {"t": {"effect": "read", "says": "x"}}}}})");
  const auto two =
      load(R"({"servers": {"a": {"tools": {"t": {"says": "x", /* c */ "effect": "read",}}, "onDrift": "ask"}}})");
  const auto three = load(R"({"servers": {"a": {"tools": {"t": {"says": "y", "effect": "read"}}, "onDrift": "ask"}}})");
  EXPECT_EQ(one.digest, two.digest);
  EXPECT_NE(one.digest, three.digest);
  EXPECT_EQ(contract_for(one, "a", "t")->digest, contract_for(two, "a", "t")->digest);
  EXPECT_NE(contract_for(one, "a", "t")->digest, contract_for(three, "a", "t")->digest);
}

TEST(TighteningPart, KeepsNothingThatLoosens) {
  const auto file = load(kExample);
  const auto part = tightening_part(*contract_for(file, "orders", "create_order"));
  EXPECT_FALSE(part.terms.category || part.terms.destructive || part.terms.repeat);
  EXPECT_EQ(part.terms.labels, std::vector<std::string>{"money"});
  EXPECT_TRUE(part.scope.empty());
  EXPECT_EQ(part.errors.mode, ErrorMap::Mode::unknown);
  EXPECT_FALSE(part.idempotency_key || part.retention || part.attempts || part.lookup || part.revision);
  EXPECT_EQ(part.output, Output::enforce);
  EXPECT_TRUE(tightening_part(*contract_for(file, "files", "edit_file")).cases.empty());
}

}  // namespace
}  // namespace sallyport::trust
