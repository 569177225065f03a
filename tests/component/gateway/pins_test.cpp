// What was accepted holds, whatever servers do in whatever order (design section 4): rug pulls of every kind, replicas,
// new names, and random sequences against a model.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/rig.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::test {
namespace {

const std::string kTool =
    R"({"name":"look","description":"Looks","inputSchema":{"type":"object","properties":{"n":{"type":"integer","default":1}}},"annotations":{"readOnlyHint":true},"_meta":{"v":9007199254740992}})";

std::string changed(std::string_view from, std::string_view to) {
  std::string text = kTool;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

RigOptions reads(const std::string& on_drift = "ask") {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"reads","allow":{"effect":"read"}}]})";
  options.trust = R"({"servers":{"s":{"onDrift":")" + on_drift + R"(","tools":{"look":"read"}}}})";
  options.servers["s"].tools = {kTool};
  options.servers["s"].on_call = [](Dispatched& call) { call.result(R"({"content":[]})"); };
  return options;
}

struct Pull {
  const char* name;
  std::string now;
  bool drift;
};

class RugPull : public testing::TestWithParam<Pull> {};

TEST_P(RugPull, AfterThePinIsDriftIfAnythingChangedAtAll) {
  Rig rig(reads());
  ASSERT_EQ(view(rig.call(rig.client(), "s__look", "{}")).verdict, "allow");
  rig.servers["s"].tools = {GetParam().now};
  rig.relist("s");
  const auto snapshot = rig.catalogue->current();
  EXPECT_EQ(snapshot->find("", "s__look")->state, GetParam().drift ? ToolState::drifted : ToolState::pinned);
  EXPECT_EQ(view(rig.call(rig.client(), "s__look", "{}")).verdict == "allow", !GetParam().drift);
}

TEST_P(RugPull, BetweenTheListAndTheCallIsFoundOnTheLinkThatIsUsed) {
  Rig rig(reads());
  rig.servers["s"].tools = {GetParam().now};  // nobody is told; the caller's own link finds it
  EXPECT_EQ(view(rig.call(rig.client("agent:other"), "s__look", "{}")).verdict == "allow", !GetParam().drift);
  EXPECT_EQ(rig.all_calls.empty(), GetParam().drift);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RugPull,
    testing::Values(
        Pull{"description", changed("Looks", "Looks and tells"), true},
        Pull{"schema_default", changed("\"default\":1", "\"default\":2"), true},
        Pull{"schema_type", changed("\"type\":\"integer\"", "\"type\":\"number\""), true},
        Pull{"annotation_flip", changed("\"readOnlyHint\":true", "\"readOnlyHint\":false"), true},
        Pull{"annotation_added", changed("\"readOnlyHint\":true", "\"readOnlyHint\":true,\"title\":\"x\""), true},
        Pull{"meta", changed("\"_meta\":{", "\"_meta\":{\"w\":1,"), true},
        Pull{"last_digit_of_a_number", changed("9007199254740992", "9007199254740993"), true},
        Pull{"number_spelled_otherwise", changed("\"default\":1", "\"default\":1.0"), true},
        Pull{
            "order_of_members",
            R"({"_meta":{"v":9007199254740992},"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"n":{"default":1,"type":"integer"}},"type":"object"},"description":"L\u006foks","name":"look"})",
            false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Pins, ListsTellTheEffectiveEffectAndWhereItCameFromBesideWhatTheServerSent) {
  RigOptions options = reads();
  options.servers["s"].tools = {
      kTool,
      R"({"name":"odd","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"dev.sallyport/effect":{"category":"read"},"their/own":1.50}})"};
  Rig rig(options);
  const auto snapshot = rig.catalogue->current();
  const std::string& look = snapshot->find("", "s__look")->listed;
  EXPECT_NE(
      look.find(
          R"("dev.sallyport/effect":{"category":"read","destructive":false,"repeat":"safe","source":"contract"},"v":9007199254740992)"),
      std::string::npos)
      << look;
  const std::string& odd = snapshot->find("", "s__odd")->listed;
  EXPECT_EQ(odd.find("dev.sallyport"), std::string::npos) << "a server says nothing in our name: " << odd;
  EXPECT_NE(odd.find(R"("_meta":{"their/own":1.50})"), std::string::npos) << odd;
  EXPECT_EQ(odd.find("annotations"), std::string::npos) << odd;
}

TEST(Pins, AToolThatIsAddedIsNotAccepted) {
  Rig rig(reads());
  rig.servers["s"].tools = {kTool, R"({"name":"look_more","inputSchema":{"type":"object"}})"};
  rig.relist("s");
  EXPECT_EQ(rig.catalogue->current()->find("", "s__look_more")->state, ToolState::unpinned);
  EXPECT_EQ(view(rig.call(rig.client(), "s__look_more", "{}")).verdict, "deny");
  EXPECT_EQ(view(rig.call(rig.client(), "s__look", "{}")).verdict, "allow");
}

// A deploy in which one replica speaks of the new release already.
TEST(Pins, SeveralAcceptedDefinitionsHoldAtOnce) {
  Rig rig(reads("quarantine"));
  const std::string next = changed("Looks", "Looks, release 2");
  rig.servers["s"].tools = {next};
  rig.relist("s");
  EXPECT_EQ(rig.catalogue->current()->find("", "s__look")->state, ToolState::quarantined);

  catalogue::Rules rules = rig.catalogue->rules();
  auto lock = std::make_shared<trust::LockFile>(*rules.lock);
  auto entry = trust::make_accepted(json::Document::parse(next)->root(), {}, "user:dana", 1);
  ASSERT_TRUE(entry);
  trust::accept(lock->servers.at("s").tools.at("look"), std::move(*entry), true);
  auto again = trust::parse_lock(trust::print(*lock));
  ASSERT_TRUE(again) << again.error().message;
  rules.lock = std::make_shared<const trust::LockFile>(std::move(*again));
  rig.catalogue->set_rules(rules);
  for (const std::string& replica : {next, kTool, next}) {
    rig.servers["s"].tools = {replica};
    rig.relist("s");
    EXPECT_EQ(rig.catalogue->current()->find("", "s__look")->state, ToolState::pinned);
    EXPECT_EQ(view(rig.call(rig.client(), "s__look", "{}")).verdict, "allow");
  }
  rig.servers["s"].tools = {changed("Looks", "Looks, release 3")};
  rig.relist("s");
  EXPECT_EQ(rig.catalogue->current()->find("", "s__look")->state, ToolState::quarantined);
}

// What waited for an answer about a tool that is another now is void, whether or not somebody had said yes already.
TEST(Pins, AnOpenApprovalIsVoidOnceTheToolIsAnotherAndNeverServesIt) {
  for (const bool approved : {false, true}) {
    RigOptions options = reads();
    options.policy =
        R"({"default":"deny","approval":{"by":["owners"],"quorum":2},"rules":[{"id":"asks","ask":{"server":"s"}}]})";
    options.people.push_back({"user:lee", static_cast<unsigned>(Role::approver), {"owners"}});
    Rig rig(options);
    auto pending = rig.send(rig.client(), "s__look", "{}");
    const std::string approval = rig.pending_approval();
    if (approved) ASSERT_TRUE(rig.approve(approval, "user:lee"));
    rig.servers["s"].tools = {changed("Looks", "Looks and tells")};
    rig.relist("s");
    rig.run_until(
        [&] {
          const auto page = rig.await(rig.people->approval(rig.person("user:dana"), approval));
          return page && page->find(R"("state":"invalidated")") != std::string::npos;
        },
        "the end of the approval");
    EXPECT_FALSE(rig.approve(approval));
    EXPECT_TRUE(rig.all_calls.empty());
    pending->cancel->cancel(CancelReason::client);
    rig.run_until([&] { return pending->answer.has_value(); }, "the end");
  }
}

// One replica speaks of another release; each is verified on the link that reaches it.
TEST(Pins, OneReplicaThatSaysSomethingElseIsNotCalledAndTheOtherIsAgain) {
  Rig rig(reads("quarantine"));
  rig.servers["s"].tools_for["agent:two"] = {changed("Looks", "Looks, release 2")};
  EXPECT_EQ(view(rig.call(rig.client("agent:one"), "s__look", "{}")).verdict, "allow");
  EXPECT_EQ(view(rig.call(rig.client("agent:two"), "s__look", "{}")).code, "TOOL_QUARANTINED");
  ASSERT_EQ(rig.all_calls.size(), 1U);
  rig.relist("s");  // the next look at the first one
  EXPECT_EQ(view(rig.call(rig.client("agent:one"), "s__look", "{}")).verdict, "allow");
  EXPECT_EQ(view(rig.call(rig.client("agent:two"), "s__look", "{}")).code, "TOOL_QUARANTINED");
  EXPECT_EQ(rig.all_calls.size(), 2U);
}

// The config calls it otherwise now; what was accepted belongs to what was found.
TEST(Pins, StayWithAServerThatTheConfigCallsOtherwise) {
  RigOptions options = reads();
  Rig rig(options);
  catalogue::Rules rules = rig.catalogue->rules();
  auto lock = std::make_shared<trust::LockFile>(*rules.lock);
  lock->servers["was"] = lock->servers.at("s");
  lock->servers.erase("s");
  rules.lock = lock;
  rig.catalogue->set_rules(rules);
  EXPECT_EQ(rig.catalogue->current()->find("", "s__look")->state, ToolState::pinned);
  EXPECT_EQ(view(rig.call(rig.client(), "s__look", "{}")).verdict, "allow");

  // Two entries that fit: nobody can say which of them is meant.
  lock = std::make_shared<trust::LockFile>(*lock);
  lock->servers["too"] = lock->servers.at("was");
  rules.lock = lock;
  rig.catalogue->set_rules(rules);
  EXPECT_EQ(rig.catalogue->current()->find("", "s__look")->state, ToolState::unpinned);
}

// Whatever servers and clients do: pinned exactly if the text is an accepted one, allowed only if pinned, and nothing
// but an acceptance pins.
class RandomDrift : public testing::TestWithParam<const char*> {};

TEST_P(RandomDrift, OnlyTheTextAtHandAndTheLockDecide) {
  const std::vector<std::string> texts{kTool, changed("Looks", "Looks 2"), changed("\"default\":1", "\"default\":7"),
                                       changed("\"readOnlyHint\":true", "\"readOnlyHint\":false")};
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    Rig rig(reads(GetParam()));
    std::size_t now = 0;  // which text the server tells
    const ToolState otherwise =
        std::string_view(GetParam()) == "quarantine" ? ToolState::quarantined : ToolState::drifted;
    for (int step = 0; step < 30; ++step) {
      switch (random() % 4) {
        case 0:
          now = random() % texts.size();
          rig.servers["s"].tools = {texts[now]};
          rig.relist("s");
          break;
        case 1:
          rig.servers["s"].tools = {};
          rig.relist("s");
          rig.servers["s"].tools = {texts[now]};
          rig.relist("s");
          break;
        case 2:
          rig.catalogue->set_rules(rig.catalogue->rules());
          break;
        default: {
          auto pending = rig.send(rig.client("agent:" + std::to_string(random() % 3)), "s__look", "{}");
          rig.run_until([&] { return pending->answer || !pending->notes.empty() || !rig.store->healthy(); },
                        "an answer");
          const bool allowed = pending->answer && view(*pending->answer).verdict == "allow";
          EXPECT_EQ(allowed, now == 0) << "seed " << seed << ", step " << step;
          pending->cancel->cancel(CancelReason::client);
          rig.run_until([&] { return pending->answer.has_value(); }, "the end");
        }
      }
      const auto snapshot = rig.catalogue->current();
      EXPECT_EQ(snapshot->servers.at("s").tools.at("look")->state, now == 0 ? ToolState::pinned : otherwise)
          << "seed " << seed << ", step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomDrift, testing::Values("ask", "quarantine", "follow"));

}  // namespace
}  // namespace sallyport::test
