// Hooks only tighten, and a hook that misbehaves denies with its own code, in bounded time and memory.
#include <algorithm>
#include <array>

#include "gateway/base/task_group.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/net/listener.hpp"
#include "tests/component/policy/shop_rig.hpp"

namespace sallyport::test {
namespace {

// A hook's server on the rig's own loop.
class HookServer {
 public:
  explicit HookServer(Rig& rig, std::string body, int status = 200)
      : server_(rig.io.get_executor(), "hook", {},
                [this, body, status](HttpRequest request, HttpExchange& exchange) -> asio::awaitable<void> {
                  seen.push_back(request.body);
                  HttpResponse response;
                  response.status = status;
                  response.body = body;
                  co_await exchange.respond(std::move(response));
                }) {
    auto listener = Listener::tcp(rig.io.get_executor(), "127.0.0.1", 0);
    listener_ = std::move(*listener);
    listener_->start([this](std::unique_ptr<ByteStream> stream) {
      server_.accept(std::move(stream));
      at_once = std::max(at_once, server_.connections());
    });
  }
  [[nodiscard]] std::string url() const { return "http://" + listener_->address() + "/v1/data/sallyport"; }
  std::vector<std::string> seen;
  std::size_t at_once = 0;  // connections, at most

 private:
  HttpServer server_;
  std::unique_ptr<Listener> listener_;
};

std::string with_hook(const std::string& url) {
  return R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}},{"id":"hooked","hook":{"server":"s"},"url":")" +
         url + R"(","timeout":"2s"}]})";
}

TEST(Hooks, AnAnswerCanOnlyTighten) {
  Rig rig(options("]}"));
  HookServer none(rig, R"({"decision":"none"})"), deny(rig, R"({"result":{"decision":"deny","message":"not today"}})"),
      ask(rig, R"({"decision":"ask"})");
  rig.set_policy(with_hook(none.url()));
  const Answer allowed = rig.call(rig.client(), "s__write", R"({"text":"x"})");
  EXPECT_EQ(view(allowed).outcome, "applied");
  Rig::deliver(allowed);
  ASSERT_EQ(none.seen.size(), 1U);
  EXPECT_NE(none.seen[0].find(R"("arguments":{"text":"x"})"), std::string::npos) << none.seen[0];
  rig.set_policy(with_hook(deny.url()));
  const CallView denied = view(rig.call(rig.client(), "s__write", R"({"text":"x"})"));
  EXPECT_EQ(denied.code, "POLICY_DENIED");
  rig.set_policy(with_hook(ask.url()));
  const auto asked = rig.send(rig.client(), "s__write", R"({"text":"y"})");
  EXPECT_FALSE(rig.pending_approval().empty());
}

TEST(Hooks, AFaultOfTheHookDeniesWithItsOwnCode) {
  Rig rig(options("]}"));
  HookServer bad(rig, "certainly"), failing(rig, R"({"decision":"none"})", 500),
      moved(rig, R"({"decision":"none"})", 302);
  for (const std::string& url : {bad.url(), failing.url(), moved.url(), std::string("http://127.0.0.1:1/")}) {
    rig.set_policy(with_hook(url));
    EXPECT_EQ(view(rig.call(rig.client(), "s__check", "{}")).code, "HOOK_FAILED") << url;
  }
  EXPECT_TRUE(rig.all_calls.empty());
}

// Says whatever a test wants, byte by byte, to every connection: nothing here knows HTTP.
class RawServer {
 public:
  using Script = std::function<asio::awaitable<void>(ByteStream&)>;
  RawServer(Rig& rig, Script script) : script_(std::move(script)), tasks_(rig.io.get_executor()) {
    auto listener = Listener::tcp(rig.io.get_executor(), "127.0.0.1", 0);
    listener_ = std::move(*listener);
    listener_->start([this](std::unique_ptr<ByteStream> stream) {
      ++connections;
      tasks_.spawn("raw", talk(std::shared_ptr<ByteStream>(std::move(stream))));
    });
  }
  [[nodiscard]] std::string url() const { return "http://" + listener_->address() + "/hook"; }
  int connections = 0;

 private:
  asio::awaitable<void> talk(std::shared_ptr<ByteStream> stream) {
    std::array<char, 4096> head{};
    auto read = co_await stream->read_some(head, Deadline::after(std::chrono::seconds(5)));
    if (read) co_await script_(*stream);
    stream->close();
  }
  Script script_;
  std::unique_ptr<Listener> listener_;
  TaskGroup tasks_;
};

constexpr auto kPatience = std::chrono::seconds(5);

// Writes pieces until the other side has had enough: true, it ended it.
asio::awaitable<void> write_forever(ByteStream& stream, std::string first, std::string piece) {
  auto written = co_await stream.write_all(first, Deadline::after(kPatience));
  while (written) written = co_await stream.write_all(piece, Deadline::after(kPatience));
}

std::string quick_hook(const std::string& url) {
  std::string text = with_hook(url);
  text.replace(text.find("2s"), 2, "200ms");
  return text;
}

TEST(Hooks, WhatMisbehavesDeniesWithItsCodeAndIsNotWaitedFor) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const std::vector<std::pair<std::string, RawServer::Script>> scripts{
      {"a body that never ends",
       [&](ByteStream& stream) {
         return write_forever(stream, ok + "Transfer-Encoding: chunked\r\n\r\n", "4\r\n    \r\n");
       }},
      {"a body without an end and without chunks",
       [&](ByteStream& stream) { return write_forever(stream, ok + "\r\n", std::string(65536, ' ')); }},
      {"a length that is a lie",
       [&](ByteStream& stream) {
         return write_forever(stream, ok + "Content-Length: 999999999\r\n\r\n", std::string(65536, ' '));
       }},
      {"headers that never end",
       [&](ByteStream& stream) {
         return write_forever(stream, "HTTP/1.1 200 OK\r\n", "X-More: " + std::string(1000, 'x') + "\r\n");
       }},
      {"nothing at all",
       [&](ByteStream& stream) -> asio::awaitable<void> {
         std::array<char, 16> more{};
         auto read = co_await stream.read_some(more, Deadline::after(kPatience));
         static_cast<void>(read);
       }},
      {"an end in the middle",
       [&](ByteStream& stream) -> asio::awaitable<void> {
         auto written =
             co_await stream.write_all(ok + "Content-Length: 19\r\n\r\n{\"decision\":", Deadline::after(kPatience));
         static_cast<void>(written);
       }},
      {"two answers of which one says none",
       [&](ByteStream& stream) -> asio::awaitable<void> {
         auto written =
             co_await stream.write_all(ok + "Content-Length: 37\r\n\r\n{\"decision\":\"none\",\"decision\":\"deny\"}",
                                       Deadline::after(kPatience));
         static_cast<void>(written);
       }},
      {"another protocol",
       [&](ByteStream& stream) { return write_forever(stream, "SSH-2.0-hook\r\n", "{\"decision\":\"none\"}\r\n"); }},
      {"a redirect", [&](ByteStream& stream) -> asio::awaitable<void> {
         auto written = co_await stream.write_all(
             "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: "
             "19\r\n\r\n{\"decision\":\"none\"}",
             Deadline::after(kPatience));
         static_cast<void>(written);
       }}};
  for (const auto& [name, script] : scripts) {
    Rig rig(options("]}"));
    RawServer hook(rig, script);
    rig.set_policy(quick_hook(hook.url()));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(view(rig.call(rig.client(), "s__write", R"({"text":"x"})")).code, "HOOK_FAILED") << name;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << name;
    EXPECT_TRUE(rig.all_calls.empty()) << name;
    EXPECT_EQ(hook.connections, 1) << name << ": asked once, followed nowhere";
  }
}

TEST(Hooks, ManyCallsShareFewConnections) {
  Rig rig(options("]}"));
  HookServer none(rig, R"({"decision":"none"})");
  rig.set_policy(with_hook(none.url()));
  std::vector<Rig::PendingPtr> sent;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(rig.send(rig.client(), "s__queue", R"({"amount":)" + std::to_string(i) + "}"));
  }
  rig.run_until([&] { return std::ranges::all_of(sent, [](const auto& one) { return one->answer.has_value(); }); });
  for (const auto& one : sent) EXPECT_EQ(view(*one->answer).outcome, "applied") << view(*one->answer).code;
  EXPECT_EQ(none.seen.size(), 100U);
  EXPECT_GT(none.at_once, 1U);
  EXPECT_LE(none.at_once, 33U) << "one of them may be closing";
}

TEST(Hooks, AreAskedBeforeARepeatIsToldItsResult) {
  Rig rig(options("]}"));
  HookServer none(rig, R"({"decision":"none"})"), deny(rig, R"({"decision":"deny"})"),
      ask(rig, R"({"decision":"ask"})");
  rig.set_policy(with_hook(none.url()));
  const auto client = rig.client();
  const char* const arguments = R"({"text":"x"})";
  EXPECT_EQ(view(rig.call(client, "s__write", arguments)).outcome, "applied");  // its answer is not handed over
  rig.set_policy(with_hook(deny.url()));
  EXPECT_EQ(view(rig.call(client, "s__write", arguments)).code, "POLICY_DENIED");
  EXPECT_EQ(deny.seen.size(), 1U);
  rig.set_policy(with_hook(ask.url()));
  EXPECT_TRUE(view(rig.call(client, "s__write", arguments)).replayed) << "an ask is not weighed before a replay";
  EXPECT_EQ(rig.all_calls.size(), 1U);
}

TEST(Hooks, TheirAnswersStandInTheReceipt) {
  Rig rig(options("]}"));
  HookServer deny(rig, R"({"decision":"deny"})");
  rig.set_policy(with_hook(deny.url()));
  rig.call(rig.client(), "s__write", R"({"text":"x"})");
  const auto refusals = rig.receipts("refusal");
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_NE(refusals[0].payload.find(R"({"id":"hooked","verdict":"deny"})"), std::string::npos) << refusals[0].payload;
}

TEST(Hooks, AreNotAskedOnceSomethingDenied) {
  Rig rig(options("]}"));
  HookServer none(rig, R"({"decision":"none"})");
  std::string text = with_hook(none.url());
  text.insert(text.rfind("]}"), R"(,{"id":"no","deny":{"server":"s","tool":"write"}})");
  rig.set_policy(text);
  EXPECT_EQ(view(rig.call(rig.client(), "s__write", R"({"text":"x"})")).code, "POLICY_DENIED");
  EXPECT_TRUE(none.seen.empty());
}

}  // namespace
}  // namespace sallyport::test
