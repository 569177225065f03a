// Codes and sessions of the console: once, for minutes, for that person; and who guesses is locked out, not who knows.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/component/control/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class Logins : public ::testing::Test {
 protected:
  std::string code_of(const std::string& token) {
    const Reply reply = rig.ask("POST", "/api/v1/login/code", token, "{}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::string(boost::json::parse(reply.body).at("code").as_string());
  }
  Reply enter(const std::string& code) { return rig.ask("POST", "/api/v1/login", "", R"({"code":")" + code + R"("})"); }
  static std::string token_of(const Reply& reply) {
    return std::string(boost::json::parse(reply.body).at("token").as_string());
  }
  ControlRig rig;
};

TEST_F(Logins, ACodeIsGoodOnceAndItsSessionIsThatPerson) {
  const std::string code = code_of("kim-token");
  const Reply in = enter(code);
  ASSERT_EQ(in.status, 200) << in.body;
  const std::string session = token_of(in);
  EXPECT_TRUE(rig.ask("GET", "/api/v1/me", session).body.contains("user:kim"));
  EXPECT_EQ(enter(code).status, 401) << "spent";
  EXPECT_EQ(rig.ask("POST", "/api/v1/login/code", session, "{}").status, 403) << "a session makes no codes";
  EXPECT_EQ(rig.ask("POST", "/api/v1/logout", session, "{}").status, 200);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", session).status, 401);
}

TEST_F(Logins, CaseAndDashesDoNotMatterAndANewCodeReplacesTheOld) {
  const std::string first = code_of("kim-token");
  std::string second = code_of("kim-token");
  EXPECT_EQ(enter(first).status, 401);
  std::erase(second, '-');
  for (char& c : second) c = static_cast<char>(std::tolower(c));
  EXPECT_EQ(enter(second).status, 200);
}

TEST_F(Logins, NoClientGetsACode) {
  for (const char* token : {"", "agent-token", "shared-token", "wrong"})
    EXPECT_EQ(rig.ask("POST", "/api/v1/login/code", token, "{}").status, 401) << token;
}

TEST_F(Logins, AForeignPageCannotLogIn) {
  const std::string code = code_of("kim-token");
  const std::string body = R"({"code":")" + code + R"("})";
  EXPECT_EQ(rig.ask("POST", "/api/v1/login", "", body, {{"Origin", "https://evil.example"}}).status, 403);
  EXPECT_EQ(enter(code).status, 200) << "that attempt did not spend it";
}

TEST_F(Logins, WhoGuessesIsLockedOutWithEveryCodeAndWhoHasATokenIsNot) {
  const std::string code = code_of("kim-token");
  int refused = 0;
  for (int i = 0; i < 20; ++i) refused += enter("AAAA-AAA" + std::to_string(i % 8 + 2)).status == 429 ? 1 : 0;
  EXPECT_GE(refused, 10);
  const Reply late = enter(code);
  EXPECT_EQ(late.status, 429);
  EXPECT_EQ(late.header("retry-after"), "60");
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "kim-token").status, 200);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "wrong").status, 401);
}

TEST_F(Logins, ASessionEndsWithItsPerson) {
  const std::string session = token_of(enter(code_of("kim-token")));
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", session).status, 200);
  rig.set_people({});
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", session).status, 401);
}

// Whoever had the old token may have made a session or a code with it.
TEST_F(Logins, ANewTokenEndsTheSessionsAndCodesOfTheOldOneAndNobodyElses) {
  const std::string kim = token_of(enter(code_of("kim-token")));
  const std::string dana = token_of(enter(code_of("dana-token")));
  const std::string code = code_of("kim-token");
  std::vector<PersonSettings> people = ControlRig::people();
  for (PersonSettings& one : people) {
    if (one.person.id == "user:kim") one.token_sha256 = trust::sha256_hex("kim-token-2");
  }
  rig.set_people(people);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", kim).status, 401);
  EXPECT_EQ(enter(code).status, 401);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "kim-token-2").status, 200);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", dana).status, 200);
}

}  // namespace
}  // namespace sallyport::gateway::testing
