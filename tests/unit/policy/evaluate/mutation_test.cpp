// A policy file in which a member was dropped or misspelled either does not load (its own tests are part of that) or
// decides no call more loosely. The policy below speaks of everything; its tests pin every border.
#include <boost/json.hpp>
#include <fstream>
#include <iterator>

#include "tests/unit/policy/support/random_policy.hpp"

namespace sallyport::policy::test {
namespace {

namespace bj = boost::json;

constexpr const char* kPolicy = R"({
  "default": "deny",
  "approval": { "by": ["owners"], "expires": "30m" },
  "rules": [
    { "id": "reads", "allow": { "server": "files", "effect": "read", "group": "support" },
      "unless": { "tool": "list" } },
    { "id": "no-env", "deny": { "server": "files", "paths": { "pattern": "(.*/)?\\.env.*" } }, "message": "No." },
    { "id": "writes", "allow": { "server": "files", "tool": "write_file", "principal": "agent:ci",
        "arguments": { "path": { "pathWithin": "/home/me/project" }, "content": { "maxLength": 5 } } } },
    { "id": "refunds", "ask": { "server": "orders", "tool": "refund", "principal": "agent:ci" },
      "allowIf": { "group": "support",
        "arguments": { "order_id": {}, "amount": { "exclusiveMinimum": 0, "maximum": 50 }, "currency": "EUR",
                       "note?": { "maxLength": 3 } } } },
    { "id": "checked", "require": { "server": "orders", "tool": "refund" },
      "evidence": { "tool": "check_config", "result": { "passed": true } } },
    { "id": "odd", "ask": { "server": "files", "tool": "odd" } } ],
  "redact": ["/password"],
  "tests": [
    { "call": { "principal": "agent:ci", "server": "files", "tool": "read_file", "arguments": { "path": "/a" } }, "verdict": "allow" },
    { "call": { "principal": "agent:two", "server": "files", "tool": "read_file", "arguments": { "path": "/a" } }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "files", "tool": "list", "arguments": {} }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "files", "tool": "read_file", "arguments": { "path": "/a/.env" } }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "get_order", "arguments": { "order_id": "1" } }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "files", "tool": "write_file", "arguments": { "path": "/home/me/project/a", "content": "x" } }, "verdict": "allow" },
    { "call": { "principal": "agent:ci", "server": "files", "tool": "write_file", "arguments": { "path": "/etc/a", "content": "x" } }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "files", "tool": "write_file", "arguments": { "path": "/home/me/project/a", "content": "too long" } }, "verdict": "deny" },
    { "call": { "principal": "agent:two", "server": "files", "tool": "write_file", "arguments": { "path": "/home/me/project/a", "content": "x" } }, "verdict": "deny" },
    { "call": { "principal": "agent:two", "server": "files", "tool": "odd", "arguments": {} }, "verdict": "ask", "rules": ["odd"] },
    { "call": { "principal": "agent:two", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 1 } }, "evidence": ["checked"], "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 1 } }, "verdict": "deny" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 50, "currency": "EUR" } }, "evidence": ["checked"], "verdict": "allow" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 51, "currency": "EUR" } }, "evidence": ["checked"], "verdict": "ask" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 0, "currency": "EUR" } }, "evidence": ["checked"], "verdict": "ask" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 5, "currency": "USD" } }, "evidence": ["checked"], "verdict": "ask" },
    { "call": { "principal": "agent:ci", "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 5, "currency": "EUR", "note": "long" } }, "evidence": ["checked"], "verdict": "ask" },
    { "call": { "principal": "agent:ci", "groups": ["agents"], "server": "orders", "tool": "refund", "arguments": { "order_id": "1", "amount": 5, "currency": "EUR" } }, "evidence": ["checked"], "verdict": "ask" } ]
})";

// Every file that differs from `value` in one member: dropped, or under another name.
void mutants(const bj::value& root, bj::value& copy, bj::value& at,
             std::vector<std::pair<std::string, std::string>>& out, const std::string& place) {
  if (at.is_array()) {
    for (std::size_t i = 0; i < at.as_array().size(); ++i)
      mutants(root, copy, at.as_array()[i], out, place + "/" + std::to_string(i));
    return;
  }
  if (!at.is_object()) return;
  std::vector<std::string> names;
  for (const auto& member : at.as_object()) names.emplace_back(member.key());
  for (const std::string& name : names) {
    const bj::value kept = at.as_object().at(name);
    at.as_object().erase(name);
    out.emplace_back("without " + place + "/" + name, bj::serialize(copy));
    at.as_object()[name + "s"] = kept;
    out.emplace_back("misspelled " + place + "/" + name, bj::serialize(copy));
    at.as_object().erase(name + "s");
    at.as_object()[name] = kept;
    mutants(root, copy, at.as_object().at(name), out, place + "/" + name);
  }
}

class MutationTest : public PropertyTest {
 protected:
  std::vector<CallFacts> probes() {
    std::vector<CallFacts> out;
    for (const char* principal : {"agent:ci", "agent:two", "anonymous:1"}) {
      for (const char* path : {"/a", "/a/.env", "/home/me/project/a", "/home/me/projects", "../x"}) {
        const std::string text = std::string(R"({"path":")") + path + "\"";
        for (const char* content : {"x", "much too long"}) {
          out.push_back(shop_.facts(
              {.tool = "write_file", .arguments = text + R"(,"content":")" + content + "\"}", .principal = principal}));
        }
        for (const bool pinned : {true, false})
          out.push_back(
              shop_.facts({.tool = "read_file", .arguments = text + "}", .principal = principal, .pinned = pinned}));
        out.push_back(shop_.facts({.tool = "list", .arguments = text + "}", .principal = principal}));
      }
      for (const char* rest :
           {R"("amount":50,"currency":"EUR")", R"("amount":5,"currency":"USD")", R"("amount":0,"currency":"EUR")",
            R"("amount":99,"currency":"EUR")", R"("amount":5,"currency":"EUR","note":"long")", R"("amount":5)",
            R"("amount":5,"currency":"EUR","fast":true)", R"("amount":"5","currency":"EUR")"}) {
        out.push_back(shop_.facts({.server = "orders",
                                   .tool = "refund",
                                   .arguments = std::string(R"({"order_id":"1",)") + rest + "}",
                                   .principal = principal}));
      }
      out.push_back(shop_.facts(
          {.server = "orders", .tool = "get_order", .arguments = R"({"order_id":"1"})", .principal = principal}));
      out.push_back(shop_.facts({.tool = "odd", .principal = principal}));
    }
    return out;
  }
  static V decide(const Policy& policy, const CallFacts& facts, bool checked) {
    std::vector<EvidenceFound> found;
    if (checked) found.push_back({"checked", true, "rc_1", {}});
    return evaluate(policy, facts, found).verdict;
  }
};

TEST_F(MutationTest, AMutatedFileFailsToLoadOrDecidesNoLooser) {
  const auto before = shop_.policy(kPolicy);
  const std::vector<CallFacts> calls = probes();
  bj::value root = bj::parse(kPolicy), copy = root;
  std::vector<std::pair<std::string, std::string>> files;
  mutants(root, copy, copy, files, "");
  std::size_t loaded = 0, refused = 0;
  for (const auto& [what, text] : files) {
    const LoadedPolicy after = shop_.load(text);
    if (!after.ok()) {
      ++refused;
      continue;
    }
    ++loaded;
    EXPECT_FALSE(what.starts_with("misspelled") && what.find("/arguments/") == std::string::npos &&
                 what.find("/result/") == std::string::npos)
        << what;
    for (const CallFacts& facts : calls) {
      for (const bool checked : {false, true}) {
        ASSERT_GE(decide(*after.policy, facts, checked), decide(*before, facts, checked))
            << what << " " << facts.principal->id << " " << facts.tool << " " << facts.arguments.raw();
      }
    }
  }
  EXPECT_GT(refused, 200U);
  EXPECT_GT(loaded, 10U) << "some members may go without harm, or this proves nothing";
}

}  // namespace
}  // namespace sallyport::policy::test
