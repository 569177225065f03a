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

TEST_F(SessionMemoryTest, AnOpenStreamCostsLessThanSixteenKilobytes) {
#if defined(SALLYPORT_SANITIZED) || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "the frames of coroutines are what a release makes them";
#else
  settings_.limits.sessions = 100'000;
  http_options_.connections = 20'000;
  constexpr std::size_t kMany = 10'000;
  constexpr std::size_t kAtOnce = 500;
  std::vector<HttpPeer> peers;
  peers.reserve(kMany + kAtOnce);
  const auto open = [&](std::size_t count) -> asio::awaitable<void> {
    for (std::size_t i = 0; i < count; ++i) {
      peers.push_back(connect());
      Form form{.session = co_await open_session(peers.back()), .accept = "text/event-stream"};
      co_await peers.back().send(request("GET", form, {}));
      const int status = co_await peers.back().receive_head();
      EXPECT_EQ(status, 200);
    }
  };
  run([&] { return open(kAtOnce); });  // what is allocated once
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < kMany; i += kAtOnce) run([&] { return open(kAtOnce); });
  const std::size_t with_peers = mallinfo2().uordblks - before;
  peers.clear();  // the clients' side of it lives in the same heap
  std::size_t of_peers = mallinfo2().uordblks;
  of_peers = before + with_peers - of_peers;
  const std::size_t each = (with_peers - of_peers) / kMany;
  RecordProperty("bytes_per_open_stream", static_cast<int>(each));
  EXPECT_GT(each, 1000U);  // it was measured
  EXPECT_LT(each, 16U << 10);
#endif
}

}  // namespace
}  // namespace sallyport::gateway::testing
