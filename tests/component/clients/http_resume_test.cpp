// Reading on: what a client missed because its connection broke (2025-11-25).
#include "tests/component/clients/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

class HttpResumeTest : public ClientsTest {
 protected:
  static std::string get(const Form& form, const std::string& last_event) {
    Form with = form;
    with.accept = "text/event-stream";
    if (!last_event.empty()) with.more = "Last-Event-ID: " + last_event + "\r\n";
    return request("GET", with, {});
  }
  static std::string result(std::string_view tag) {
    return R"({"jsonrpc":"2.0","id":1,"result":{"tag":")" + std::string(tag) + R"(","cancelled":null}})";
  }
  asio::awaitable<void> until_gone() {
    const Deadline deadline = soon();
    while (http_->connections() > 0 && !deadline.passed()) {
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(1)));
    }
    EXPECT_EQ(http_->connections(), 0U);
  }
  // Starts a call with two notes, reads the first, and drops the connection; the id of what was read.
  asio::awaitable<std::string> drop_after_one(Form form, std::string tag) {
    HttpPeer peer = connect();
    co_await peer.send(post(form, call("1", "notes", R"({"tag":")" + tag + R"(","notes":2,"hold":true})")));
    co_await peer.receive_head();
    const std::string event = co_await peer.next_event();
    EXPECT_TRUE(event.contains(R"("progress":1)")) << event;
    const std::string id = peer.last_id();
    peer.stream().close();
    co_return id;
  }
};

TEST_F(HttpResumeTest, C052AnAnswerThatWasMissedIsReadOn) {
  http_options_.keep_alive = Millis(5);
  run([&]() -> asio::awaitable<void> {
    HttpPeer first = connect();
    Form form{.session = co_await open_session(first)};
    first.stream().close();
    const std::string id = co_await drop_after_one(form, "n");
    EXPECT_EQ(id, "1-1");
    co_await until_gone();
    front_.release("n");
    co_await turns();
    EXPECT_TRUE(front_.delivered["n"].empty());  // neither yes nor no: it may still be fetched
    HttpPeer again = connect();
    co_await again.send(get(form, id));
    const int status = co_await again.receive_head();
    EXPECT_EQ(status, 200);
    std::string event;
    do event = co_await again.next_event();
    while (event.starts_with(":"));
    EXPECT_TRUE(event.contains(R"("progress":2)")) << event;
    event = co_await again.next_event();
    EXPECT_EQ(event, result("n"));
    EXPECT_EQ(again.last_id(), "1-3");
    event = co_await again.next_event();
    EXPECT_EQ(event, "<end>");
    co_await front_.until_delivered("n");
    EXPECT_EQ(front_.delivered["n"], std::vector<bool>{true});
    // It was told; nothing of it is kept.
    const TestResponse gone = co_await again.ask(get(form, id));
    EXPECT_EQ(gone.status, 400);
  });
}

TEST_F(HttpResumeTest, AStreamThatIsReadOnEndsForWhoReadItBefore) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer first = connect();
    Form form{.session = co_await open_session(first)};
    co_await first.send(post(form, call("1", "notes", R"({"tag":"n","notes":1,"hold":true})")));
    co_await first.receive_head();
    std::string event = co_await first.next_event();
    HttpPeer second = connect();
    co_await second.send(get(form, first.last_id()));
    co_await second.receive_head();
    front_.release("n");
    event = co_await second.next_event();
    EXPECT_EQ(event, result("n"));
    event = co_await first.next_event();
    EXPECT_NE(event, result("n"));  // once on the wire is enough
  });
}

TEST_F(HttpResumeTest, C049IdsThatAreNoneOfOursBeginAnewOrAreRefused) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    for (const char* id : {"7-1", "4294967295-0", "1-0"}) {
      const TestResponse answer = co_await peer.ask(get(form, id));
      EXPECT_EQ(answer.status, 400) << id;
    }
    for (const char* id : {"x", "-", "1-", "-1", "1-2-3", "99999999999999999999-1", "0-99"}) {
      HttpPeer other = connect();
      co_await other.send(get(form, id));
      const int status = co_await other.receive_head();
      EXPECT_EQ(status, 200) << id;
      other.stream().close();
    }
  });
}

TEST_F(HttpResumeTest, C050AnIdOfAnotherSessionShowsNothing) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form mine{.session = co_await open_session(peer)};
    Form theirs{.token = "secret-b"};
    theirs.session = co_await open_session(peer, theirs);
    const std::string id = co_await drop_after_one(mine, "n");
    const TestResponse foreign = co_await peer.ask(get(theirs, id));
    EXPECT_EQ(foreign.status, 400);
    Form stolen = theirs;
    stolen.session = mine.session;
    const TestResponse stranger = co_await peer.ask(get(stolen, id));
    EXPECT_EQ(stranger.status, 404);
    front_.release("n");
  });
}

TEST_F(HttpResumeTest, TheSessionsOwnStreamIsReadOn) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const auto session = sessions_->find(form.session, *authenticator_->by_token("secret-a"), {});
    HttpPeer first = connect();
    co_await first.send(get(form, ""));
    co_await first.receive_head();
    std::string event = co_await first.next_event();
    EXPECT_EQ(event, ": open");
    EXPECT_EQ(first.last_id(), "0-0");
    session->notify("notifications/x", R"({"n":1})");
    event = co_await first.next_event();
    EXPECT_TRUE(event.contains(R"("n":1)")) << event;
    const std::string id = first.last_id();
    first.stream().close();
    const Deadline deadline = soon();
    while (session->busy() && !deadline.passed()) co_await turns(1);
    session->notify("notifications/x", R"({"n":2})");
    session->notify("notifications/x", R"({"n":3})");
    HttpPeer second = connect();
    co_await second.send(get(form, id));
    co_await second.receive_head();
    for (const char* missed : {"\"n\":2", "\"n\":3"}) {
      do event = co_await second.next_event();
      while (event.starts_with(":"));
      EXPECT_TRUE(event.contains(missed)) << event;
    }
    EXPECT_EQ(second.last_id(), "0-3");
  });
}

TEST_F(HttpResumeTest, OlderVersionsGetNoIdsAndNothingIsKeptForThem) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer, {}, "2025-06-18")};
    const TestResponse answer = co_await peer.ask(post(form, call("1", "notes", R"({"tag":"n","notes":2})")));
    EXPECT_FALSE(answer.body.contains("id: ")) << answer.body;
    EXPECT_FALSE(answer.body.contains("retry: ")) << answer.body;
    EXPECT_EQ(answer.body.substr(0, 6), "data: ");
  });
}

TEST_F(HttpResumeTest, NobodysStreamsAreGivenUpAtTheBoundAndAfterAWhile) {
  auto now = std::make_shared<Deadline::Clock::time_point>(Deadline::Clock::now());
  session_options_.now = [now] { return *now; };
  http_options_.keep_alive = Millis(5);
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    peer.stream().close();
    for (std::size_t i = 0; i <= Resumption::kPosts; ++i) {
      co_await drop_after_one(form, "n" + std::to_string(i));
    }
    co_await until_gone();
    for (std::size_t i = 0; i <= Resumption::kPosts; ++i) front_.release("n" + std::to_string(i));
    co_await front_.until_delivered("n0");  // the oldest went first
    EXPECT_EQ(front_.delivered["n0"], std::vector<bool>{false});
    EXPECT_TRUE(front_.delivered["n1"].empty());
    *now += std::chrono::minutes(2);
    sessions_->sweep();
    EXPECT_EQ(front_.delivered["n1"], std::vector<bool>{false});
    EXPECT_EQ(sessions_->count(), 1U);
  });
}

TEST_F(HttpResumeTest, OfClientsThatAreAwayOnlySoMuchIsKept) {
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const auto session = sessions_->find(form.session, *authenticator_->by_token("secret-a"), {});
    const auto reply = std::make_shared<HttpReply>(loop_.executor(), true);
    const auto stream = session->resumption()->open(reply);
    stream->end_reading(stream->begin_reading());
    int undelivered = 0;
    Finished finished;
    finished.message = std::string(HttpReply::kAway + 1, 'x');
    const auto alive = std::make_shared<const int>(0);
    finished.delivery = Delivery([&](bool taken) { undelivered += taken ? 0 : 1; }, alive);
    reply->finish(std::move(finished));
    EXPECT_EQ(undelivered, 1);
    // The oldest of the principal that has most of what is away make room; another's, be they older, stay.
    std::vector<std::shared_ptr<PostStream>> away;
    const auto shared = std::make_shared<Parking>();
    for (std::size_t i = 0; i <= Parking::kMost; ++i) {
      const auto none = std::make_shared<HttpReply>(loop_.executor(), true);
      away.push_back(std::make_shared<PostStream>(1, none, shared, i == 0 ? "quiet" : "noisy"));
      away.back()->end_reading(away.back()->begin_reading());
    }
    EXPECT_FALSE(away[0]->given_up());
    EXPECT_TRUE(away[1]->given_up());
    EXPECT_FALSE(away[2]->given_up());
  });
}

// Wherever the client cuts the answer, it gets the same whole.
TEST_F(HttpResumeTest, CutAnywhereTheEventsAreTheSame) {
  http_options_.keep_alive = Millis(50);
  run([&]() -> asio::awaitable<void> {
    HttpPeer peer = connect();
    Form form{.session = co_await open_session(peer)};
    const std::string body = call("1", "notes", R"({"tag":"n","notes":3})");
    const TestResponse whole = co_await peer.ask(post(form, body));
    const auto data_of = [](std::string_view text) {
      std::string out;
      for (std::size_t at = text.find("data: {"); at != std::string_view::npos; at = text.find("data: {", at + 1)) {
        out += text.substr(at, text.find('\n', at) - at + 1);
      }
      return out;
    };
    const std::string expected = data_of(whole.body);
    for (std::size_t cut = 1; cut < whole.body.size(); cut += 17) {
      HttpPeer first = connect({.capacity = 64});  // what is not read stays with the gateway
      co_await first.send(post(form, body));
      co_await first.receive_head();
      std::string seen;
      while (seen.size() < cut) {
        const std::string event = co_await first.next_event();
        if (event == "<end>") break;
        if (!event.starts_with(":")) seen += "data: " + event + "\n";
      }
      const std::string id = first.last_id();
      if (seen == expected) continue;
      first.stream().close();
      HttpPeer second = connect();
      co_await second.send(get(form, id));
      co_await second.receive_head();
      if (second.head().status != 200) continue;  // all of it had been taken by the transport
      for (;;) {
        const std::string event = co_await second.next_event();
        if (event == "<end>") break;
        if (!event.starts_with(":")) seen += "data: " + event + "\n";
      }
      EXPECT_EQ(seen, expected) << cut;
    }
  });
}

}  // namespace
}  // namespace sallyport::gateway::testing
