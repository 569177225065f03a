// Which era a server speaks: found out once, kept, pinned, and refuted.
#include <fstream>

#include "tests/component/servers/modern_support.hpp"

namespace sallyport::gateway {
namespace {

class Eras : public ModernServersTest {
 protected:
  [[nodiscard]] std::size_t starts() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(file("starts"), error);
    return error ? 0 : size;
  }
  [[nodiscard]] ServerSettings counted(std::vector<std::string> flags, const std::string& era = "auto") const {
    flags.push_back("--count=" + file("starts"));
    return modern_stdio(std::move(flags), era);
  }
};

TEST_F(Eras, AModernHttpServerIsFoundOutByDiscovery) {
  make_pool(modern_http({}, "auto"));
  EXPECT_EQ(link()->info().protocol_version, "2026-07-28");
  EXPECT_EQ(count("initialize"), 0U);
}

TEST_F(Eras, ADualServerIsSpokenToInTheModernEra) {
  make_pool(modern_http({"--era=dual"}, "auto"));
  EXPECT_EQ(link()->info().protocol_version, "2026-07-28");
}

TEST_F(Eras, ALegacyHttpServerIsFoundOutOnceForAllPrincipals) {
  make_pool(modern_http({"--era=legacy"}, "auto"));
  const auto up = link("a");
  ASSERT_TRUE(up);
  EXPECT_EQ(up->info().protocol_version, "2025-11-25");
  EXPECT_EQ(text(call(*up, "echo")), "legacy");
  EXPECT_TRUE(link("b"));
  EXPECT_EQ(count("server/discover"), 1U);
  EXPECT_EQ(count("initialize"), 2U);
}

TEST_F(Eras, AServerThatKnowsOnlyLegacyVersionsSaysSoInAModernError) {
  make_pool(modern_http({"--era=dual", "--versions=2025-11-25"}, "auto"));
  EXPECT_EQ(link()->info().protocol_version, "2025-11-25");
}

TEST_F(Eras, AServerOfAnEraToComeIsNamed) {
  make_pool(modern_http({"--versions=2031-01-01"}, "auto"));
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("2026-07-28"), std::string::npos) << made.error().message;
}

// 401, 403, 5xx and silence could come from anybody.
TEST_F(Eras, WhatProvesNothingIsNotKept) {
  for (const std::string status : {"401", "403", "500", "503"}) {
    make_pool(modern_http({"--era=legacy", "--discover-status=" + status}, "auto"));
    EXPECT_EQ(link("a")->info().protocol_version, "2025-11-25") << status;
    EXPECT_TRUE(link("b"));
    EXPECT_EQ(count("server/discover"), 2U) << status;
    shutdown();
    pool_.reset();
  }
}

TEST_F(Eras, RefusalsOfALegacyServerAreKept) {
  for (const std::string status : {"400", "404", "405"}) {
    make_pool(modern_http({"--era=legacy", "--discover-status=" + status}, "auto"));
    EXPECT_EQ(link("a")->info().protocol_version, "2025-11-25") << status;
    EXPECT_TRUE(link("b"));
    EXPECT_EQ(count("server/discover"), 1U) << status;
    shutdown();
    pool_.reset();
  }
}

TEST_F(Eras, ASlowDiscoveryProvesNothing) {
  options_.probe_wait = Millis(100);
  make_pool(modern_http({"--era=legacy", "--discover-hangs"}, "auto"));
  EXPECT_EQ(link("a")->info().protocol_version, "2025-11-25");
  EXPECT_TRUE(link("b"));
  EXPECT_EQ(count("server/discover"), 2U);
}

TEST_F(Eras, APinIsNotProbed) {
  ServerSettings server = modern_http({"--era=dual"}, "legacy");
  make_pool(server);
  EXPECT_EQ(link()->info().protocol_version, "2025-11-25");
  EXPECT_EQ(count("server/discover"), 0U);
}

TEST_F(Eras, AModernPinOnALegacyServerIsNamed) {
  make_pool(modern_http({"--era=legacy"}, "modern"));
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("does not speak protocol version 2026-07-28"), std::string::npos)
      << made.error().message;
  EXPECT_EQ(made.error().retry, RetryClass::not_sent);
  EXPECT_EQ(count("initialize"), 0U);
}

TEST_F(Eras, WhatTheLockTellsIsTriedFirst) {
  ServerSettings server = modern_http({"--era=dual"}, "auto");
  options_.known_versions["s"] = "2025-06-18";
  make_pool(server);
  EXPECT_EQ(link()->info().protocol_version, "2025-11-25");
  EXPECT_EQ(count("server/discover"), 0U);
}

TEST_F(Eras, WhatTheLockTellsWrongIsFoundOutAnew) {
  for (const auto& [known, era] : {std::pair("2025-11-25", "modern"), std::pair("2026-07-28", "legacy")}) {
    ServerSettings server = modern_http({std::string("--era=") + era}, "auto");
    options_.known_versions["s"] = known;
    make_pool(server);
    EXPECT_FALSE(try_link("s").has_value());
    const auto again = link();
    ASSERT_TRUE(again);
    EXPECT_NE(again->info().protocol_version, known);
    shutdown();
    pool_.reset();
  }
}

TEST_F(Eras, AModernChildIsTheOneThatWasAsked) {
  make_pool(counted({}));
  const auto up = link();
  ASSERT_TRUE(up);
  EXPECT_EQ(up->info().protocol_version, "2026-07-28");
  EXPECT_EQ(starts(), 1U);
}

TEST_F(Eras, ALegacyChildThatAnswersGoesOn) {
  make_pool(counted({"--era=legacy"}));
  EXPECT_EQ(link("a")->info().protocol_version, "2025-11-25");
  EXPECT_EQ(starts(), 1U);
  EXPECT_TRUE(link("b"));
  EXPECT_EQ(starts(), 2U);
}

// The official Rust SDK ends at any request before `initialize`.
TEST_F(Eras, AChildThatEndsAtAnUnexpectedRequestWasADisposableOne) {
  make_pool(counted({"--era=legacy", "--exit-on-first"}));
  const auto up = link("a");
  ASSERT_TRUE(up);
  EXPECT_EQ(up->info().protocol_version, "2025-11-25");
  EXPECT_EQ(text(call(*up, "echo")), "legacy");
  EXPECT_EQ(starts(), 2U);
  EXPECT_TRUE(link("b"));  // known by now
  EXPECT_EQ(starts(), 3U);
}

TEST_F(Eras, AChildThatSaysNothingIsShakenHandsWithAndAskedAgainNextTime) {
  options_.probe_wait = Millis(100);
  make_pool(counted({"--era=legacy", "--mute-on-first"}));
  EXPECT_EQ(link("a")->info().protocol_version, "2025-11-25");
  EXPECT_EQ(starts(), 1U);
}

TEST_F(Eras, AServerThatIsNoLongerModernIsFoundOutAnew) {
  make_pool(modern_http({"--era=dual"}, "auto"));
  const auto up = link();
  ASSERT_TRUE(up);
  EXPECT_EQ(text(call(*up, "become_legacy")), "so be it");
  EXPECT_EQ(call(*up, "echo").kind, ServerAnswer::Kind::error);
  EXPECT_FALSE(up->alive());
  EXPECT_EQ(link()->info().protocol_version, "2025-11-25");
}

// A legacy server is told once what it may ask, and a modern client cannot be asked while its request is open.
TEST_F(Eras, AModernClientUsesALegacyServerThatMayAskNothing) {
  events_.capabilities = R"({"roots":{}})";
  make_pool(modern_http({"--era=legacy"}, "legacy"));
  const auto asked = link();
  const auto mute = run(pool_->link({"s", "p", "", false}, Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(mute.has_value());
  EXPECT_NE(*mute, asked);
  std::vector<std::string> declared;
  const json::Document all = parsed(log());
  for (const json::Value entry : all.root().elements()) {
    if (entry.find("method").equals("initialize"))
      declared.emplace_back(entry.at("/message/params/capabilities").raw());
  }
  EXPECT_EQ(declared, (std::vector<std::string>{R"({"roots": {}})", "{}"}));
  // One that nobody is passed to by anyway serves both.
  events_.capabilities = "{}";
  shutdown();
  make_pool(modern_http({"--era=legacy"}, "legacy"));
  const auto both = run(pool_->link({"s", "p", "", false}, Deadline::after(std::chrono::seconds(20))));
  EXPECT_EQ(*both, link());
}

TEST_F(Eras, AModernServerIsOneForAllClients) {
  events_.capabilities = R"({"roots":{}})";
  make_pool(modern_http());
  const auto one = link();
  const auto same = run(pool_->link({"s", "p", "", false}, Deadline::after(std::chrono::seconds(20))));
  EXPECT_EQ(*same, one);
}

}  // namespace
}  // namespace sallyport::gateway
