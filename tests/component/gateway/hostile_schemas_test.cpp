// A server full of schemas that cannot be judged: each takes its own tool away, for its own reason, and no other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "gateway/relay/tool_list.hpp"
#include "schemas/core/encoding.hpp"
#include "tests/support/rig.hpp"

namespace sallyport::test {
namespace {

namespace fs = std::filesystem;

struct Hostile {
  std::string name, reason, tool;
};

std::vector<Hostile> hostile_tools() {
  std::vector<Hostile> out;
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "tests/fixtures/hostile-schemas")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto document = json::Document::parse(text, {.bytes = text.size(), .depth = 1'000});
    if (!document) throw std::runtime_error(entry.path().string() + ": " + document.error().message);
    const json::Value root = document->root();
    Hostile hostile{root.find("name").string(), root.find("reason").string(), {}};
    hostile.tool =
        "{\"name\":" + quote(hostile.name) + ",\"inputSchema\":" + std::string(root.find("inputSchema").raw()) + "}";
    out.push_back(std::move(hostile));
  }
  std::ranges::sort(out, {}, &Hostile::name);
  return out;
}

std::string neighbour(std::size_t index) { return "good_" + std::to_string(index); }

// After each hostile tool stands a good one.
RigOptions options(const std::vector<Hostile>& hostile, bool accepted) {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"reads","allow":{"effect":"read"}}]})";
  options.trust = R"({"servers":{"s":{"tools":{"*":"read"}}}})";
  if (!accepted) {  // nothing that nobody accepted is ever allowed: it asks
    options.accept_all = false;
    options.policy.clear();
  }
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    options.servers["s"].tools.push_back(hostile[i].tool);
    options.servers["s"].tools.push_back(
        "{\"name\":\"" + neighbour(i) +
        R"(","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}})");
  }
  options.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  return options;
}

TEST(HostileTools, C128_EachIsSetAsideForItsOwnReasonAndItsNeighboursAreNot) {
  const auto hostile = hostile_tools();
  ASSERT_GE(hostile.size(), 40U);
  for (const bool accepted : {true, false}) {
    Rig rig(options(hostile, accepted));
    const auto snapshot = rig.catalogue->current();
    const auto& tools = snapshot->servers.at("s").tools;
    EXPECT_EQ(tools.size(), 2 * hostile.size());
    std::map<std::string, std::string> reasons;
    for (std::size_t i = 0; i < hostile.size(); ++i) {
      const Tool& tool = *tools.at(hostile[i].name);
      EXPECT_EQ(tool.state, ToolState::quarantined) << hostile[i].name;
      const auto [other, fresh] = reasons.emplace(tool.quarantine_reason, hostile[i].name);
      EXPECT_TRUE(fresh) << hostile[i].name << " has the reason of " << other->second << ": " << tool.quarantine_reason;
      // What makes the whole definition ambiguous or is no object is told before the schema is looked at.
      const bool early = tool.quarantine_reason.starts_with("its definition cannot be judged: ") ||
                         tool.quarantine_reason.starts_with("its `inputSchema` must be an object, not ");
      EXPECT_TRUE(early || tool.quarantine_reason == "its inputSchema cannot be used: " + hostile[i].reason)
          << hostile[i].name << ": " << tool.quarantine_reason;
      const Tool& good = *tools.at(neighbour(i));
      EXPECT_EQ(good.state, accepted ? ToolState::pinned : ToolState::unpinned) << good.quarantine_reason;
    }
  }
}

TEST(HostileTools, C128_NoneIsListedOrSentAndEveryNeighbourIsCallable) {
  const auto hostile = hostile_tools();
  Rig rig(options(hostile, true));
  const auto client = rig.client();
  Inbound inbound;
  inbound.client = client;
  const std::string listed = relay::ToolList(*rig.catalogue, {}).list(inbound).result;
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    EXPECT_EQ(listed.find("\"s__" + hostile[i].name + "\""), std::string::npos) << hostile[i].name;
    EXPECT_NE(listed.find("\"s__" + neighbour(i) + "\""), std::string::npos);
    const CallView refused = view(rig.call(client, "s__" + hostile[i].name, "{}"));
    EXPECT_EQ(refused.code, "TOOL_QUARANTINED") << hostile[i].name << ": " << refused.text;
    EXPECT_EQ(refused.outcome, "none");
    EXPECT_EQ(rig.all_calls.size(), i);
    const CallView good = view(rig.call(client, "s__" + neighbour(i), R"({"n":1})"));
    EXPECT_EQ(good.verdict, "allow") << good.text;
    EXPECT_FALSE(good.is_error) << good.text;
  }
  EXPECT_EQ(view(rig.call(client, "s__" + neighbour(0), R"({"n":"1"})")).code, "ARGUMENTS_INVALID");
  EXPECT_TRUE(rig.log_verifies());
}

}  // namespace
}  // namespace sallyport::test
