// What children do wrong (field reports C001 to C032), and that it costs nothing but its own call.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/component/servers/support.hpp"

namespace sallyport::gateway {
namespace {

using Kind = ServerAnswer::Kind;

class StdioFaultsTest : public ServersTest {
 protected:
  static Permit permit(std::string tool, std::string arguments = "{}") {
    Permit permit;
    permit.tool = std::move(tool);
    permit.arguments = std::move(arguments);
    return permit;
  }
  void expect_works(ServerLink& server) { EXPECT_EQ(text(call(server, "sleep", R"({"ms":0})")), "slept"); }
  Error start_error(std::vector<std::string> flags, Millis wait = Millis(20'000)) {
    ServerSettings server = fixture(std::move(flags));
    server.start_timeout = wait;
    make_pool(std::move(server));
    auto made = try_link("s");
    EXPECT_FALSE(made.has_value());
    return made ? Error{} : made.error();
  }
};

// C001, C002
TEST_F(StdioFaultsTest, C001_BannersAndNoiseAreSkipped) {
  make_pool(fixture({"--banner"}));
  const auto server = link();
  ASSERT_TRUE(server);
  EXPECT_EQ(text(call(*server, "noise")), "after noise");
  expect_works(*server);
}

TEST_F(StdioFaultsTest, C005_CarriageReturnsAreNoPartOfALine) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "crlf")), "crlf");
}

TEST_F(StdioFaultsTest, TextCutInsideCharactersIsWhole) {
  make_pool(fixture());
  EXPECT_EQ(text(call(*link(), "split")), "grüße \U0001F40E");
}

TEST_F(StdioFaultsTest, C007_HeaderFramingIsNamedAtOnce) {
  const Error error = start_error({"--lsp", "--hang"});
  EXPECT_NE(error.message.find("Content-Length"), std::string::npos) << error.message;
  EXPECT_EQ(error.retry, RetryClass::not_sent);
}

TEST_F(StdioFaultsTest, C008_PrettyPrintedAnswersAreNoAnswers) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, permit("pretty"), within(Millis(300)));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_TRUE(answer.timed_out);
  expect_works(*server);
}

TEST_F(StdioFaultsTest, C013_StderrIsAlwaysDrained) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "stderr", R"({"count":200000})")), "flooded");
  EXPECT_EQ(text(call(*server, "stderr", R"({"count":100000,"line":"no end\r"})")), "flooded");
}

TEST_F(StdioFaultsTest, C017_AChildThatDiesFailsItsCallsAtOnce) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "die");
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_TRUE(answer.sent);
  EXPECT_FALSE(answer.timed_out);
  EXPECT_NE(answer.detail.find("status 3"), std::string::npos) << answer.detail;
  EXPECT_NE(answer.detail.find("about to die"), std::string::npos) << answer.detail;
  EXPECT_FALSE(server->alive());
  const ServerAnswer after = call(*server, "raw");
  EXPECT_EQ(after.kind, Kind::not_sent);
  EXPECT_FALSE(after.sent);
  expect_works(*link());
}

TEST_F(StdioFaultsTest, ASignalThatEndedTheChildIsNamed) {
  make_pool(fixture());
  const ServerAnswer answer = call(*link(), "signal");
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_NE(answer.detail.find("SIGKILL"), std::string::npos) << answer.detail;
}

TEST_F(StdioFaultsTest, AnAnswerGivenBeforeTheEndCounts) {
  make_pool(fixture());
  EXPECT_EQ(text(call(*link(), "answer_and_die")), "last words");
}

TEST_F(StdioFaultsTest, HalfALineAtTheEndIsNoAnswer) {
  make_pool(fixture());
  EXPECT_EQ(call(*link(), "half").kind, Kind::lost);
}

// C016
TEST_F(StdioFaultsTest, C016_AChildThatDiesAfterTheHandshakeHarmsNobody) {
  make_pool(fixture({"--die-after-init"}));
  const auto made = try_link("s");
  if (made) {
    const ServerAnswer answer = call(**made, "raw");
    EXPECT_NE(answer.kind, Kind::result);
  }
  spin([&] { return pool_->status()[0].state == ServerState::down; });
  EXPECT_NE(pool_->status()[0].reason.find("status 4"), std::string::npos) << pool_->status()[0].reason;
}

TEST_F(StdioFaultsTest, C029_WrongIdsAreNoAnswers) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(call(*server, permit("wrong_id"), within(Millis(300))).kind, Kind::lost);
  EXPECT_EQ(text(call(*server, "wrong_id", R"({"then":true})")), "right");
}

TEST_F(StdioFaultsTest, ASecondAnswerIsDropped) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "twice")), "first");
  expect_works(*server);
  EXPECT_TRUE(events_.late_answers.empty());
}

TEST_F(StdioFaultsTest, AnswersOfTheWrongShapeAreLostAtOnce) {
  make_pool(fixture());
  const auto server = link();
  for (const std::string how : {"both", "scalar", "version", "twice"}) {
    const ServerAnswer answer = call(*server, "malformed", R"({"how":")" + how + R"("})");
    EXPECT_EQ(answer.kind, Kind::lost) << how;
    EXPECT_TRUE(answer.sent);
    EXPECT_FALSE(answer.timed_out);
    EXPECT_NE(answer.detail.find("malformed"), std::string::npos) << answer.detail;
  }
  expect_works(*server);
}

TEST_F(StdioFaultsTest, C004_AnswersThatAreNoJsonEndTheirCallsAtOnce) {
  make_pool(fixture());
  const auto server = link();
  for (const std::string how : {"nan", "surrogate", "latin1", "tab", "comma", "cut", "glued", "quotes"}) {
    const ServerAnswer answer = call(*server, "unreadable", R"({"how":")" + how + R"("})");
    EXPECT_EQ(answer.kind, Kind::lost) << how;
    EXPECT_TRUE(answer.sent) << how;
    EXPECT_FALSE(answer.timed_out) << how;
    EXPECT_NE(answer.detail.find("is no JSON: "), std::string::npos) << how << ": " << answer.detail;
  }
  expect_works(*server);
}

TEST_F(StdioFaultsTest, C032_AnErrorWithoutIdIsNobodysButIsTold) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, permit("null_error"), within(Millis(300)));
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_NE(answer.detail.find("cannot read you"), std::string::npos) << answer.detail;
  expect_works(*server);
}

// C061
TEST_F(StdioFaultsTest, LargeResultsPassAndLargerOnesAreLostAlone) {
  limits_.result_bytes = 3U << 20;
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "huge", R"({"bytes":3000000})")).size(), 3'000'000U);
  for (const std::string last : {"false", "true"}) {
    const ServerAnswer answer = call(*server, "huge", R"({"bytes":5000000,"idLast":)" + last + "}");
    EXPECT_EQ(answer.kind, Kind::lost);
    EXPECT_TRUE(answer.sent);
    EXPECT_FALSE(answer.timed_out);
    EXPECT_NE(answer.detail.find("over the limit"), std::string::npos) << answer.detail;
  }
  expect_works(*server);
}

TEST_F(StdioFaultsTest, TooDeepResultsAreLostAtOnce) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "deep");
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_FALSE(answer.timed_out);
  expect_works(*server);
}

TEST_F(StdioFaultsTest, RequestsOverTheLimitAreNotSent) {
  limits_.message_bytes = 100'000;
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "raw", "{\"x\":\"" + std::string(200'000, 'x') + "\"}");
  EXPECT_EQ(answer.kind, Kind::not_sent);
  EXPECT_FALSE(answer.sent);
}

// C014: what the pipe has not taken in part was not sent; what it has, is.
TEST_F(StdioFaultsTest, C014_AChildThatStopsReadingHoldsNobodyUp) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "deaf")), "deaf");
  const std::string big = "{\"x\":\"" + std::string(2'000'000, 'x') + "\"}";
  const ServerAnswer partly = call(*server, permit("raw", big), within(Millis(200)));
  EXPECT_EQ(partly.kind, Kind::lost);
  EXPECT_TRUE(partly.sent);
  EXPECT_TRUE(partly.timed_out);
  const ServerAnswer behind = call(*server, permit("raw"), within(Millis(200)));
  EXPECT_EQ(behind.kind, Kind::not_sent);
  EXPECT_FALSE(behind.sent);
  EXPECT_TRUE(behind.timed_out);
  shutdown();
}

TEST_F(StdioFaultsTest, C010_AMessageThatCannotBeFinishedEndsTheChild) {
  options_.write_grace = Millis(200);
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "deaf")), "deaf");
  const std::string big = "{\"x\":\"" + std::string(2'000'000, 'x') + "\"}";
  EXPECT_EQ(call(*server, permit("raw", big), within(Millis(100))).kind, Kind::lost);
  spin([&] { return !server->alive(); });
  EXPECT_EQ(call(*server, permit("raw")).kind, Kind::not_sent);
  expect_works(*link());
}

TEST_F(StdioFaultsTest, C010_AMessageOnceBegunIsFinished) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "slow_reader", R"({"ms":600})")), "later");
  const std::string big = "{\"x\":\"" + std::string(2'000'000, 'x') + "\"}";
  EXPECT_EQ(call(*server, permit("raw", big), within(Millis(100))).kind, Kind::lost);
  expect_works(*server);
}

TEST_F(StdioFaultsTest, QueuesForAChildAreBounded) {
  options_.queue_frames = 3;
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "deaf")), "deaf");
  const std::string big = "{\"x\":\"" + std::string(500'000, 'x') + "\"}";
  std::vector<ServerAnswer> answers;
  for (int i = 0; i < 6; ++i) {
    asio::co_spawn(io_, server->call(permit("raw", big).make(), within(Millis(700))),
                   [&](std::exception_ptr, ServerAnswer answer) { answers.push_back(std::move(answer)); });
  }
  spin([&] { return answers.size() == 6; });
  const auto full = [](const ServerAnswer& a) { return a.detail.find("does not read") != std::string::npos; };
  // One is being written, three wait.
  EXPECT_GE(std::ranges::count_if(answers, full), 2);
  EXPECT_EQ(std::ranges::count(answers, Kind::not_sent, &ServerAnswer::kind), 5);
}

TEST_F(StdioFaultsTest, AClosedStdoutEndsTheLink) {
  make_pool(fixture());
  const auto server = link();
  const ServerAnswer answer = call(*server, "close", R"({"what":"stdout"})");
  EXPECT_EQ(answer.kind, Kind::lost);
  EXPECT_NE(answer.detail.find("closed its stdout"), std::string::npos) << answer.detail;
}

TEST_F(StdioFaultsTest, AClosedStdinIsNotSent) {
  make_pool(fixture());
  const auto server = link();
  EXPECT_EQ(text(call(*server, "close", R"({"what":"stdin"})")), "closed");
  // The child closes its stdin after its answer; until then the pipe takes what nobody will read.
  ServerAnswer answer = call(*server, permit("raw"), within(Millis(300)));
  if (answer.kind == Kind::lost) answer = call(*server, permit("raw"), within(Millis(300)));
  EXPECT_EQ(answer.kind, Kind::not_sent) << answer.detail;
  EXPECT_FALSE(answer.sent);
  spin([&] { return !server->alive(); });
}

TEST_F(StdioFaultsTest, AFailedStartNamesItsCause) {
  Error error = start_error({"--exit=7", "--stderr=cannot find my database"});
  EXPECT_NE(error.message.find("status 7"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("cannot find my database"), std::string::npos) << error.message;
  EXPECT_EQ(error.retry, RetryClass::not_sent);
  shutdown();
  error = start_error({"--hang"}, Millis(300));
  EXPECT_EQ(error.code, ErrorCode::timeout) << error.message;
  shutdown();
  error = start_error({"--refuse"});
  EXPECT_NE(error.message.find("not today"), std::string::npos) << error.message;
  shutdown();
  error = start_error({"--version=2099-01-01"});
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message.find("2099-01-01"), std::string::npos) << error.message;
}

// C019
TEST_F(StdioFaultsTest, C142_AServerStartedInTheBackgroundIsNamedAndItsGroupIsKilled) {
  ServerSettings server = fixture();
  std::string line;
  for (const std::string& word : server.args) line += " '" + word + "'";
  const std::string marks = ::testing::TempDir() + "c142-" + std::to_string(::getpid());
  // Its stdin is /dev/null, as of everything that a shell starts in the background.
  server.args = {"-c", "echo started >&2; " + server.command + line + " --ignore-eof & echo $! > " + marks + "; wait"};
  server.command = "sh";
  server.start_timeout = Millis(1'500);
  options_.backoff_first = Millis(60'000);
  options_.wait_for_backoff = Millis(1);
  make_pool(std::move(server));
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().retry, RetryClass::not_sent);
  EXPECT_NE(made.error().message.find("started"), std::string::npos) << made.error().message;
  int pid = 0;
  std::ifstream(marks) >> pid;
  std::filesystem::remove(marks);
  ASSERT_GT(pid, 0);
  spin([&] { return !process_exists(pid); });
  const auto again = try_link("s");
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find("tried again in"), std::string::npos) << again.error().message;
}

TEST_F(StdioFaultsTest, C019_FailedHandshakesLeaveNothingBehind) {
  options_.backoff_first = Millis(1);
  options_.backoff_most = Millis(1);
  make_pool(fixture({"--old-json"}));
  const auto count = [] {
    int fds = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++fds;
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    const std::string text(std::istreambuf_iterator<char>(children), {});
    return std::pair(fds, std::ranges::count(text, ' '));
  };
  ASSERT_FALSE(try_link("s").has_value());
  spin([&] { return count().second == 0; });
  const auto before = count();
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(try_link("s").has_value());
  spin([&] { return count().second == 0; });
  EXPECT_EQ(count().first, before.first);
}

TEST_F(StdioFaultsTest, ShutdownLeavesNoGrandchildren) {
  make_pool(fixture());
  const auto server = link();
  const int grandchild = std::stoi(text(call(*server, "grandchild")));
  EXPECT_TRUE(process_exists(grandchild));
  shutdown();
  spin([&] { return !process_exists(grandchild); });  // the signal was sent; its effect takes a moment
}

TEST_F(StdioFaultsTest, AChildThatDiesTakesItsGrandchildrenWithIt) {
  make_pool(fixture());
  const auto server = link();
  const int grandchild = std::stoi(text(call(*server, "grandchild")));
  EXPECT_EQ(call(*server, "die").kind, Kind::lost);
  spin([&] { return !process_exists(grandchild); });
}

TEST_F(StdioFaultsTest, AStubbornChildIsKilled) {
  options_.close_wait = Millis(100);
  make_pool(fixture({"--ignore-term", "--ignore-eof"}));
  const auto server = link();
  const auto inside = json::Document::parse(text(call(*server, "inside")));
  ASSERT_TRUE(inside.has_value());
  const int pid = static_cast<int>(*inside->root().find("pid").integer());
  const auto begin = std::chrono::steady_clock::now();
  shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_FALSE(process_exists(pid));
}

TEST_F(StdioFaultsTest, AStoppedChildIsEndedByTheDeadline) {
  make_pool(fixture());
  const auto server = link();
  const auto inside = json::Document::parse(text(call(*server, "inside")));
  ASSERT_TRUE(inside.has_value());
  const int pid = static_cast<int>(*inside->root().find("pid").integer());
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  run(pool_->shutdown(Deadline::after(Millis(300))));
  EXPECT_FALSE(process_exists(pid));
}

// C020: a server that hangs is named; one that is only slow is not ended for it.
TEST_F(StdioFaultsTest, ASilentServerIsNamedUntilItAnswersAgain) {
  make_pool(fixture());
  const auto server = link();
  const auto inside = json::Document::parse(text(call(*server, "inside")));
  ASSERT_TRUE(inside.has_value());
  const int pid = static_cast<int>(*inside->root().find("pid").integer());
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  EXPECT_EQ(call(*server, permit("raw"), within(Millis(100))).kind, Kind::lost);
  EXPECT_EQ(pool_->status()[0].state, ServerState::down);
  EXPECT_EQ(events_.states.back().state, ServerState::down);
  EXPECT_TRUE(server->alive());
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  spin([&] { return pool_->status()[0].state == ServerState::up; });
  EXPECT_EQ(events_.states.back().state, ServerState::up);
  expect_works(*server);
}

TEST_F(StdioFaultsTest, DestroyingThePoolKillsTheChildren) {
  make_pool(fixture());
  const auto inside = json::Document::parse(text(call(*link(), "inside")));
  ASSERT_TRUE(inside.has_value());
  const int pid = static_cast<int>(*inside->root().find("pid").integer());
  pool_.reset();
  spin([&] { return !process_exists(pid); });
}

TEST_F(StdioFaultsTest, CallsOpenAtShutdownAreLost) {
  make_pool(fixture());
  const auto server = link();
  std::optional<ServerAnswer> answer;
  Permit never = permit("never");
  never.progress = true;
  CallControl control = within();
  bool running = false;
  control.progress = [&](std::string_view) { running = true; };
  asio::co_spawn(io_, server->call(never.make(), std::move(control)),
                 [&](std::exception_ptr, ServerAnswer given) { answer = std::move(given); });
  spin([&] { return running; });
  shutdown();
  spin([&] { return answer.has_value(); });
  EXPECT_EQ(answer->kind, Kind::lost);
  EXPECT_TRUE(answer->sent);
}

}  // namespace
}  // namespace sallyport::gateway
