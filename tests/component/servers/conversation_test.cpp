// Conversation alone: whose something of the server is.
#include "gateway/servers/conversation.hpp"

#include "gateway/servers/pool_events.hpp"
#include "tests/component/servers/support.hpp"

namespace sallyport::gateway::servers {
namespace {

class ConversationTest : public testing::Test {
 protected:
  ConversationTest() { conversation_.set_owner({"s", "p", {}}); }
  std::shared_ptr<Exchange> open(std::string session) {
    auto exchange = conversation_.open("tools/call");
    exchange->session = session;
    exchange->sent = true;
    exchange->log = [this, session](std::string_view) { told_.push_back(session); };
    return exchange;
  }
  void log(Origin origin = {}) {
    std::vector<std::string> replies;
    conversation_.receive(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})",
                          origin, replies);
  }
  asio::io_context io_{1};
  KeptEvents events_{io_.get_executor()};
  Conversation conversation_{io_.get_executor(), "s", events_, {}, 1'000'000};
  std::vector<std::string> told_;
};

TEST_F(ConversationTest, WordsOnASharedPipeGoToTheOneSessionWithACallOpenOrToNobody) {
  log();
  ASSERT_EQ(events_.log_owners.size(), 1U) << "of nobody's call: whoever may hear the server";
  EXPECT_EQ(events_.log_owners[0].session, "");
  const auto mine = open("mine");
  log();
  EXPECT_EQ(told_, std::vector<std::string>{"mine"});
  const auto again = open("mine");
  const auto yours = open("yours");
  log();
  EXPECT_EQ(told_.size(), 1U);
  EXPECT_EQ(events_.log_owners.size(), 1U) << "of one of two calls: nobody knows which";
  conversation_.close(*yours);
  log();
  EXPECT_EQ(told_.size(), 2U);
}

TEST_F(ConversationTest, WordsOnTheStreamOfACallAreItsSessionsAlsoWhenItHasEnded) {
  const auto mine = open("mine");
  const auto yours = open("yours");
  log({mine.get()});
  EXPECT_EQ(told_, std::vector<std::string>{"mine"});
  conversation_.close(*mine);
  log({mine.get()});
  ASSERT_EQ(events_.log_owners.size(), 1U);
  EXPECT_EQ(events_.log_owners[0].session, "mine");
}

TEST_F(ConversationTest, OneBadElementOfABatchTakesNoOther) {
  conversation_.set_batches(true);
  const auto one = open("s"), two = open("s"), three = open("s");
  std::vector<std::string> replies;
  conversation_.receive(R"([{"jsonrpc":"2.0","id":1000000,"result":7},5,{"jsonrpc":"2.0","id":1000001,"result":{}}])",
                        {}, replies);
  ASSERT_TRUE(one->answer.ready());
  ASSERT_TRUE(two->answer.ready());
  EXPECT_FALSE(three->answer.ready());
}

TEST_F(ConversationTest, ABatchThatIsNoneOfTheVersionEndsItsCalls) {
  const auto one = open("s"), two = open("s");
  std::vector<std::string> replies;
  conversation_.receive(R"([{"jsonrpc":"2.0","id":1000000,"result":{}},{"jsonrpc":"2.0","id":1000001,"result":{}}])",
                        {}, replies);
  EXPECT_TRUE(one->answer.ready());
  EXPECT_TRUE(two->answer.ready());
}

TEST(PoolEventsTest, OneLinksNotesTakeNothingFromAnothers) {
  asio::io_context io;
  KeptEvents kept(io.get_executor());
  const auto events = std::make_shared<PoolEvents>(io.get_executor(), kept, Millis(1));
  for (int i = 0; i < 1'000; ++i) events->on_log({"s", "noisy", {}}, "{}");
  EXPECT_LT(kept.logs.size(), 400U) << "within a rate";
  const std::size_t before = kept.logs.size();
  events->on_log({"s", "quiet", {}}, "{}");
  events->on_log({"s", "noisy", "se_2"}, "{}");
  EXPECT_EQ(kept.logs.size(), before + 2);
  events->mute();
}

}  // namespace
}  // namespace sallyport::gateway::servers
