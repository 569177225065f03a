#include <filesystem>
#include <fstream>

#include "tests/component/servers/support.hpp"

namespace sallyport::gateway {
namespace {

class ServerPoolTest : public ServersTest {
 protected:
  ServerPoolTest() {
    folder_ = std::filesystem::temp_directory_path() / ("sallyport-pool-" + system_entropy().token(9));
    std::filesystem::create_directory(folder_);
  }
  ~ServerPoolTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t starts() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(file("starts"), error);
    return error ? 0 : size;
  }
  [[nodiscard]] ServerSettings counted(std::vector<std::string> flags = {}) const {
    flags.push_back("--count=" + file("starts"));
    return fixture(std::move(flags));
  }
  ServerState state(std::size_t i = 0) { return pool_->status().at(i).state; }
  std::filesystem::path folder_;
};

TEST_F(ServerPoolTest, StartsOnceForAllWhoAskAtOnce) {
  make_pool(counted());
  std::vector<std::shared_ptr<ServerLink>> links;
  for (int i = 0; i < 5; ++i) {
    asio::co_spawn(io_, pool_->link({"s", "p", ""}, Deadline::after(std::chrono::seconds(20))),
                   [&](std::exception_ptr, Result<std::shared_ptr<ServerLink>> made) {
                     ASSERT_TRUE(made.has_value());
                     links.push_back(*made);
                   });
  }
  spin([&] { return links.size() == 5; });
  for (const auto& link : links) EXPECT_EQ(link, links[0]);
  EXPECT_EQ(starts(), 1U);
}

TEST_F(ServerPoolTest, WhoGivesUpWaitingDoesNotStopTheStart) {
  make_pool(counted());
  const auto early = try_link("s", "p", "", Millis(1));
  ASSERT_FALSE(early.has_value());
  EXPECT_EQ(early.error().code, ErrorCode::timeout);
  EXPECT_EQ(early.error().retry, RetryClass::not_sent);
  EXPECT_TRUE(link());
  EXPECT_EQ(starts(), 1U);
}

TEST_F(ServerPoolTest, PrincipalsHaveChildrenOfTheirOwn) {
  make_pool(fixture());
  const auto a = link("a");
  EXPECT_NE(a, link("b"));
  EXPECT_EQ(a, link("a", "other session"));
}

TEST_F(ServerPoolTest, SharedServersHaveOneChild) {
  ServerSettings server = fixture();
  server.shared = true;
  make_pool(std::move(server));
  EXPECT_EQ(link("a"), link("b"));
}

TEST_F(ServerPoolTest, SessionsAreIsolatedWhereAskedFor) {
  ServerSettings server = fixture();
  server.isolate_session = true;
  make_pool(std::move(server));
  const auto one = link("a", "1");
  EXPECT_NE(one, link("a", "2"));
  EXPECT_EQ(one, link("a", "1"));
}

TEST_F(ServerPoolTest, IdleChildrenEndAndComeBack) {
  options_.idle_keep = Millis(100);
  make_pool(counted());
  const auto first = link();
  // C071: a call that is under way is no idleness.
  EXPECT_EQ(text(call(*first, "sleep", R"({"ms":400})")), "slept");
  EXPECT_TRUE(first->alive());
  spin([&] { return !first->alive(); });
  EXPECT_EQ(call(*first, "raw").kind, ServerAnswer::Kind::not_sent);
  EXPECT_EQ(state(), ServerState::idle);
  EXPECT_TRUE(link()->alive());
  EXPECT_EQ(starts(), 2U);
}

// C020
TEST_F(ServerPoolTest, C020_CrashLoopsAreSlowedDownAndVisible) {
  options_.backoff_first = Millis(60'000);
  options_.wait_for_backoff = Millis(50);
  make_pool(counted({"--exit=1", "--stderr=no disk"}));
  ASSERT_FALSE(try_link("s").has_value());
  EXPECT_EQ(state(), ServerState::down);
  EXPECT_NE(pool_->status()[0].reason.find("no disk"), std::string::npos) << pool_->status()[0].reason;
  const auto again = try_link("s");
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find("tried again in"), std::string::npos) << again.error().message;
  EXPECT_EQ(starts(), 1U);
  ASSERT_FALSE(events_.states.empty());
  EXPECT_EQ(events_.states.back().state, ServerState::down);
}

TEST_F(ServerPoolTest, AStartThatIsDueSoonIsWaitedFor) {
  options_.backoff_first = Millis(50);
  make_pool(counted({"--exit=1"}));
  ASSERT_FALSE(try_link("s").has_value());
  const auto again = try_link("s");
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find("status 1"), std::string::npos) << again.error().message;
  EXPECT_EQ(starts(), 2U);
}

TEST_F(ServerPoolTest, AChildThatCrashedIsStartedAgainOnDemand) {
  make_pool(counted());
  EXPECT_EQ(call(*link(), "die").kind, ServerAnswer::Kind::lost);
  EXPECT_EQ(state(), ServerState::down);
  EXPECT_EQ(starts(), 1U);
  EXPECT_TRUE(link());
  EXPECT_EQ(state(), ServerState::up);
  EXPECT_EQ(starts(), 2U);
}

TEST_F(ServerPoolTest, OneBadServerDoesNotTakeTheRest) {
  std::map<std::string, ServerSettings> servers;
  servers["good"] = fixture();
  servers["off"] = fixture();
  servers["off"].disabled = true;
  servers["unset"] = fixture();
  servers["unset"].problem = "the variable `TOKEN` is not set";
  servers["missing"] = fixture();
  servers["missing"].command = "no-such-command-anywhere";
  servers["crash"] = fixture({"--exit=1"});
  make_pool(std::move(servers));
  EXPECT_TRUE(try_link("good").has_value());
  EXPECT_NE(try_link("off").error().message.find("disabled"), std::string::npos);
  EXPECT_NE(try_link("unset").error().message.find("`TOKEN`"), std::string::npos);
  EXPECT_NE(try_link("missing").error().message.find("no-such-command-anywhere"), std::string::npos);
  EXPECT_FALSE(try_link("crash").has_value());
  EXPECT_EQ(try_link("nobody").error().code, ErrorCode::not_found);
  std::map<std::string, ServerState> states;
  for (const ServerStatus& status : pool_->status()) states[status.id] = status.state;
  EXPECT_EQ(states["good"], ServerState::up);
  EXPECT_EQ(states["off"], ServerState::set_aside);
  EXPECT_EQ(states["unset"], ServerState::set_aside);
  EXPECT_EQ(states["missing"], ServerState::down);
  EXPECT_EQ(states["crash"], ServerState::down);
}

TEST_F(ServerPoolTest, ChildrenAreBounded) {
  limits_.children = 2;
  make_pool(fixture());
  EXPECT_TRUE(link("a"));
  EXPECT_TRUE(link("b"));
  const auto third = try_link("s", "c");
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::limit);
  EXPECT_NE(third.error().message.find("limits.children"), std::string::npos) << third.error().message;
}

TEST_F(ServerPoolTest, OnePrincipalCannotTakeAllChildren) {
  limits_.children = 4;
  ServerSettings server = fixture();
  server.isolate_session = true;
  make_pool(std::move(server));
  for (const std::string session : {"1", "2", "3"}) EXPECT_TRUE(link("a", session));
  const auto fourth = try_link("s", "a", "4");
  ASSERT_FALSE(fourth.has_value());
  EXPECT_EQ(fourth.error().code, ErrorCode::limit);
  EXPECT_TRUE(link("b", "1"));
}

TEST_F(ServerPoolTest, NothingStartsAfterShutdown) {
  make_pool(counted());
  EXPECT_TRUE(link());
  shutdown();
  EXPECT_FALSE(try_link("s").has_value());
  EXPECT_EQ(starts(), 1U);
}

TEST_F(ServerPoolTest, ShutdownEndsAStartThatIsUnderWay) {
  make_pool(fixture({"--hang"}));
  std::optional<Result<std::shared_ptr<ServerLink>>> made;
  asio::co_spawn(io_, pool_->link({"s", "p", ""}, Deadline::never()),
                 [&](std::exception_ptr, Result<std::shared_ptr<ServerLink>> given) { made = std::move(given); });
  spin([&] { return state() == ServerState::starting; });
  shutdown();
  spin([&] { return made.has_value(); });
  EXPECT_FALSE(made->has_value());
}

// Starts that hang, callers that give up, kills and the end of all of it, in any order: each caller gets one answer.
TEST_F(ServerPoolTest, C143_StartTimeOutKillAndShutdownInAnyOrderLeaveNothing) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::map<std::string, ServerSettings> servers;
    servers["good"] = fixture();
    servers["hangs"] = fixture({"--hang"});
    servers["hangs"].start_timeout = Millis(30 + 40 * (seed % 3));
    servers["runtime"] = fixture();
    servers["runtime"].command = "sh";
    servers["runtime"].args = {"-c", "sleep 600 & wait"};
    servers["runtime"].start_timeout = Millis(60);
    options_.close_wait = Millis(50);
    make_pool(std::move(servers));
    std::size_t asked = 0, answered = 0;
    const auto ask = [&](const std::string& server, Millis wait) {
      ++asked;
      asio::co_spawn(io_, pool_->link({server, "p" + std::to_string(asked % 3), ""}, Deadline::after(wait)),
                     [&](std::exception_ptr error, Result<std::shared_ptr<ServerLink>> made) {
                       EXPECT_FALSE(error);
                       ++answered;
                       if (!made) return;
                       // Killed the moment that it is there, as often as not.
                       if (answered % 2 == 0) (*made)->tell("notifications/cancelled", "{}");
                     });
    };
    for (int i = 0; i < 4; ++i) {
      for (const std::string server : {"hangs", "runtime", "good"}) ask(server, Millis(i % 2 == 0 ? 20 : 2'000));
    }
    if (seed % 2 == 0) spin([&] { return answered >= 4; });
    if (seed % 3 == 0) {
      const auto good = try_link("good");
      ASSERT_TRUE(good.has_value()) << good.error().message;
      EXPECT_EQ(call(**good, "die").kind, ServerAnswer::Kind::lost);
    }
    shutdown();
    spin([&] { return answered == asked; });
    pool_.reset();
  }
}

TEST_F(ServerPoolTest, TheIdentityIsTheScriptAndItsDigest) {
  make_pool(fixture());
  ASSERT_TRUE(link());
  const auto identity = json::Document::parse(link()->identity());
  ASSERT_TRUE(identity.has_value()) << link()->identity();
  EXPECT_TRUE(identity->root().find("kind").equals("command"));
  EXPECT_TRUE(identity->root().find("command").string().ends_with("/python3"));
  EXPECT_TRUE(identity->root().find("script").string().ends_with("stdio_server.py"));
  EXPECT_EQ(identity->root().find("digest").string().size(), 71U);
}

TEST_F(ServerPoolTest, WhatChangedWhileItWasStartedIsNotUsed) {
  std::ofstream(file("server.py")) << "import runpy\nopen(__file__, 'a').write('#\\n')\nrunpy.run_path('"
                                   << SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/stdio_server.py"
                                   << "', run_name='__main__')\n";
  ServerSettings settings = fixture();
  settings.args[1] = file("server.py");
  make_pool(settings);
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("changed while it was started"), std::string::npos) << made.error().message;
}

TEST_F(ServerPoolTest, AServerThatIsNotTheAcceptedOneIsStartedOnlyToSeeWhatItIs) {
  make_pool(counted());
  events_.foreign = [](const std::string&) { return std::optional<std::string>("its digest is another"); };
  const auto refused = try_link("s");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
  EXPECT_EQ(refused.error().retry, RetryClass::not_sent);
  EXPECT_EQ(starts(), 0U);
  ASSERT_TRUE(try_link("s", std::string(kLooker)));
  EXPECT_EQ(starts(), 1U);
  events_.foreign = {};
  EXPECT_TRUE(link()) << "accepted meanwhile: no pause, no restart";
}

TEST_F(ServerPoolTest, ALinkOfAnotherProgramThanTheAcceptedOneIsNotGivenForCalls) {
  ServerSettings settings = counted();
  settings.shared = true;  // whoever looks and whoever calls have one process
  make_pool(settings);
  ASSERT_TRUE(try_link("s", std::string(kLooker)));
  events_.foreign = [](const std::string&) { return std::optional<std::string>("its digest is another"); };
  EXPECT_FALSE(try_link("s").has_value());
  EXPECT_EQ(starts(), 1U);
}

TEST_F(ServerPoolTest, WhoeverLooksSeesTheProgramThatIsThereNow) {
  std::filesystem::copy_file(SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/stdio_server.py", file("server.py"));
  ServerSettings settings = fixture();
  settings.args[1] = file("server.py");
  make_pool(settings);
  const auto first = link(std::string(kLooker));
  const auto called = link("p");
  EXPECT_EQ(link(std::string(kLooker)), first);
  std::ofstream(file("server.py"), std::ios::app) << "# another release\n";
  const auto second = link(std::string(kLooker));
  ASSERT_TRUE(second);
  EXPECT_NE(second->identity(), first->identity());
  EXPECT_EQ(link("p"), called) << "what runs for a client is what it was";
}

}  // namespace
}  // namespace sallyport::gateway
