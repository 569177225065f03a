// What an idle session costs.
#include <malloc.h>

#include "gateway/clients/http_reply.hpp"
#include "tests/component/clients/fixture.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SALLYPORT_SANITIZED
#endif
#endif

namespace sallyport::gateway::testing {
namespace {

class SessionMemoryTest : public ClientsTest {
 protected:
  void open_many(int count) {
    const auto identity = authenticator_->by_token("secret-a");
    ASSERT_TRUE(identity);
    for (int i = 0; i < count; ++i) {
      auto session = sessions_->open(*identity, {}, Sessions::Transport::http);
      ASSERT_TRUE(session);
      auto incoming = mcp::parse_incoming(std::string(kInitialize), {}, false);
      ASSERT_TRUE(incoming);
      (*session)->receive(std::move(incoming->messages[0]), {}, std::make_shared<HttpReply>(loop_.executor(), true));
      ASSERT_TRUE((*session)->initialized());
      loop_.settle();
    }
  }
};

TEST_F(SessionMemoryTest, AnIdleSessionCostsLessThanTwoKilobytes) {
#ifdef SALLYPORT_SANITIZED
  GTEST_SKIP() << "the sanitizer has its own heap";
#else
  auto now = std::make_shared<Deadline::Clock::time_point>(Deadline::Clock::now());
  session_options_.now = [now] { return *now; };
  settings_.limits.sessions = 100'000;
  start();
  open_many(100);  // what is allocated once
  const std::size_t before = mallinfo2().uordblks;
  open_many(10'000);
  const std::size_t each = (mallinfo2().uordblks - before) / 10'000;
  RecordProperty("bytes_per_session", static_cast<int>(each));
  EXPECT_LT(each, 2048U);
  *now += std::chrono::hours(1);
  sessions_->sweep();
  EXPECT_EQ(sessions_->count(), 0U);
  EXPECT_LT(mallinfo2().uordblks, before);
#endif
}

TEST_F(SessionMemoryTest, ASessionWithAnOpenStreamCostsLessThanSixteenKilobytes) {
#ifdef SALLYPORT_SANITIZED
  GTEST_SKIP() << "the sanitizer has its own heap";
#else
  settings_.limits.sessions = 100'000;
  http_options_.connections = 20'000;
  run([&]() -> asio::awaitable<void> {
    std::vector<HttpPeer> peers;
    std::size_t before = 0;
    constexpr std::size_t kWarm = 100;
    constexpr std::size_t kMany = 10'000;
    peers.reserve(kWarm + kMany);
    for (std::size_t i = 0; i < kWarm + kMany; ++i) {
      if (i == kWarm) before = mallinfo2().uordblks;
      peers.push_back(connect());
      Form form{.session = co_await open_session(peers.back())};
      form.accept = "text/event-stream";
      co_await peers.back().send(request("GET", form, {}));
      const int status = co_await peers.back().receive_head();
      EXPECT_EQ(status, 200);
      if (status != 200) co_return;
    }
    // The peers of this test live in the same heap, and are no smaller than what they are to measure.
    const std::size_t each = (mallinfo2().uordblks - before) / kMany;
    RecordProperty("bytes_per_open_stream_with_its_test_client", static_cast<int>(each));
    EXPECT_LT(each, 2 * 16'384U);
    std::vector<MemoryStreamPair> alone;
    before = mallinfo2().uordblks;
    alone.reserve(1000);
    for (int i = 0; i < 1000; ++i) alone.push_back(make_memory_streams(loop_.executor(), {}));
    const std::size_t pair = (mallinfo2().uordblks - before) / 1000;
    RecordProperty("bytes_per_memory_stream_pair", static_cast<int>(pair));
    EXPECT_LT(each - std::min(each, pair), 16'384U + 4'096U);  // a peer holds its head and its reader
  });
#endif
}

}  // namespace
}  // namespace sallyport::gateway::testing
