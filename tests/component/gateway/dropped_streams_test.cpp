// A modern client that goes away at every byte of a write's answer, or of what comes before it, and calls again with a
// new id: over a memory stream that takes no byte before the last was read, so that each cut is exactly there. What was
// executed and what is said of it is compared with design section 7.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "gateway/clients/http_front.hpp"
#include "gateway/clients/sessions.hpp"
#include "gateway/net/memory_stream.hpp"
#include "schemas/core/encoding.hpp"
#include "tests/support/rig.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::test {
namespace {

// Under a sanitizer every seventh byte has to do: each is two calls.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t kStep = 7;
#else
constexpr std::size_t kStep = 1;
#endif

constexpr const char* kPay =
    R"({"name":"pay","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}})";

// What the test needs of a Front: the way of a tool call, and when its answers were made and told.
class CallsFront final : public Front {
 public:
  explicit CallsFront(Rig& rig) : rig_(rig) {}
  asio::awaitable<Answer> handle(Inbound inbound) override {
    Answer answer = co_await rig_.calls->tools_call(std::move(inbound));
    ++answered;
    answer.delivered = [this, told = std::move(answer.delivered)](bool in_full) {
      ++settled;
      if (told) told(in_full);
    };
    co_return answer;
  }
  [[nodiscard]] std::string capabilities(const ClientContext&) const override { return "{}"; }
  [[nodiscard]] std::string instructions(const ClientContext&) const override { return {}; }
  int answered = 0, settled = 0;

 private:
  Rig& rig_;
};

void pay(Dispatched& call) { call.result(R"({"content":[{"type":"text","text":"paid"}]})"); }

class DroppedStreams : public ::testing::Test {
 protected:
  void begin(const std::string& contract, std::function<void(Dispatched&)> server) {
    RigOptions options;
    options.policy = R"({"default":"deny","rules":[{"id":"all","allow":{"server":"shop"}}]})";
    options.trust = R"({"servers":{"shop":{"tools":{"pay":{"effect":"record","destructive":false,"scope":"pays/{/n}")" +
                    contract + "}}}}}";
    options.servers["shop"].tools = {kPay};
    options.servers["shop"].on_call = std::move(server);
    rig_ = std::make_unique<Rig>(std::move(options));
    front_ = std::make_unique<CallsFront>(*rig_);
    Settings settings;
    settings.clients.push_back(
        {.id = "agent:a", .token_sha256 = trust::sha256_hex("secret"), .groups = {}, .owner = {}});
    const auto authenticator = std::make_shared<const Authenticator>(settings, std::nullopt, 1000);
    const auto loop = rig_->io.get_executor();
    sessions_ =
        std::make_unique<Sessions>(loop, *front_, rig_->clock, system_entropy(), SessionsOptions{.version = "1"});
    HttpFrontOptions http;
    http.listen.address = "127.0.0.1";
    http_ = std::make_unique<HttpFront>(loop, *sessions_, authenticator, http);
  }
  void TearDown() override {
    bool down = false;
    const auto end = [this]() -> asio::awaitable<void> { co_await http_->shutdown(Deadline::after(Millis(2'000))); };
    asio::co_spawn(rig_->io, end(), [&](const std::exception_ptr&) { down = true; });
    rig_->run_until([&] { return down; }, "the end of the front");
    http_.reset();
    sessions_.reset();
  }

  static std::string request(int id, int n, const std::string& key) {
    const std::string meta = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{},"progressToken":7)" +
                             (key.empty() ? "" : R"(,"dev.sallyport/idempotencyKey":)" + quote(key));
    const std::string body =
        mcp::request(std::to_string(id), "tools/call",
                     R"({"name":"shop__pay","arguments":{"n":)" + std::to_string(n) + R"(},"_meta":{)" + meta + "}}");
    return "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8720\r\nAuthorization: Bearer secret\r\n"
           "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
           "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: shop__pay\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  // Sends it and reads so many bytes (or all that come until the answer has ended), then waits for `until` and goes
  // away.
  std::string exchange(const std::string& text, std::size_t bytes, bool whole, std::function<bool()> until = {}) {
    MemoryStreamPair pair = make_memory_streams(rig_->io.get_executor(), {.capacity = whole ? 64U << 10 : 1U});
    http_->accept(std::move(pair.second));
    std::unique_ptr<ByteStream> stream = std::move(pair.first);
    std::string got;
    bool done = false;
    asio::co_spawn(rig_->io, read(*stream, text, bytes, whole, got), [&](const std::exception_ptr&) { done = true; });
    rig_->run_until([&] { return done; }, "the bytes of the answer");
    if (until) rig_->run_until(until, "the moment to go away");
    stream.reset();
    return got;
  }
  static asio::awaitable<void> read(ByteStream& stream, std::string text, std::size_t bytes, bool whole,
                                    std::string& got) {
    const Deadline soon = Deadline::after(std::chrono::seconds(10));
    const Status sent = co_await stream.write_all(text, soon);
    if (!sent) co_return;
    char piece[4096];
    while (got.size() < bytes && !(whole && ended(got))) {
      const std::span<char> room(piece, std::min(sizeof piece, bytes - got.size()));
      const Result<std::size_t> some = co_await stream.read_some(room, soon);
      if (!some || *some == 0) co_return;
      got.append(piece, *some);
    }
  }
  // Whether an answer is there in full: its length, or the last chunk of its events.
  static bool ended(const std::string& got) {
    const std::size_t head = got.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const std::size_t length = got.find("Content-Length: ");
    if (length == std::string::npos || length > head) return got.ends_with("\r\n0\r\n\r\n");
    return got.size() >= head + 4 + std::stoul(got.substr(length + 16));
  }
  static boost::json::object result_of(const std::string& got) {
    const std::size_t begin = got.rfind("{\"jsonrpc\"");
    std::string text = begin == std::string::npos ? got : got.substr(begin);
    text.resize(text.rfind('}') + 1);
    return boost::json::parse(text).at("result").as_object();
  }
  static boost::json::object meta_of(const boost::json::object& result) {
    return result.at("_meta").at("dev.sallyport/call").as_object();
  }
  std::string whole(int id, int n, const std::string& key = {}) {
    return exchange(request(id, n, key), SIZE_MAX, true);
  }
  // Everything that was told of: nobody waits any more.
  void settle() {
    rig_->run_until([&] { return front_->settled == front_->answered && rig_->calls->in_flight() == 0; }, "rest");
  }
  std::size_t executed(int n) {
    const std::string arguments = R"("arguments":{"n":)" + std::to_string(n) + "}";
    return static_cast<std::size_t>(std::ranges::count_if(
        rig_->all_calls, [&](const Dispatched& call) { return call.params.find(arguments) != std::string::npos; }));
  }
  // What the log says came of each operation, in order.
  std::map<std::string, std::vector<std::string>> outcomes_on_record() {
    std::map<std::string, std::vector<std::string>> out;
    for (const ReceiptRow& row : rig_->receipts()) {
      const auto predicate = boost::json::parse(row.payload).at("predicate").as_object();
      if (predicate.contains("operation") && predicate.contains("outcome"))
        out[std::string(predicate.at("operation").as_string())].emplace_back(
            predicate.at("outcome").at("value").as_string());
    }
    return out;
  }

  // Goes away after every number of bytes of the answer, and calls again.
  void cut_the_answer(bool keyed) {
    begin("", pay);
    const std::size_t total = whole(1, 0).size();
    settle();
    ASSERT_GT(total, 200U);
    for (std::size_t cut = 0; cut <= total; cut = cut == total ? total + 1 : std::min(cut + kStep, total)) {
      const int n = static_cast<int>(cut) + 1;
      const std::string key = keyed ? "k-" + std::to_string(n) : std::string();
      const int before = front_->answered;
      exchange(request(2, n, key), cut, false, [&] { return front_->answered > before; });
      settle();
      const auto again = result_of(whole(3, n, key));
      settle();
      const auto meta = meta_of(again);
      EXPECT_EQ(again.at("content").at(0).at("text"), "paid") << cut;
      EXPECT_EQ(meta.at("outcome"), "applied") << cut;
      // Handed over is what was written in full to a client still there: then the same call without a key is a new one.
      const std::size_t times = !keyed && cut == total ? 2 : 1;
      ASSERT_EQ(executed(n), times) << "byte " << cut << " of " << total;
      EXPECT_EQ(meta.contains("replayed"), times == 1) << cut;
    }
    for (const auto& [operation, outcomes] : outcomes_on_record()) EXPECT_EQ(outcomes.back(), "applied") << operation;
    EXPECT_TRUE(rig_->log_verifies());
  }

  std::unique_ptr<Rig> rig_;
  std::unique_ptr<CallsFront> front_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<HttpFront> http_;
};

// The answer was made, and the client goes away while it is written.
TEST_F(DroppedStreams, AtEveryByteOfTheAnswerItIsToldAgainAndNotRunAgain) { cut_the_answer(false); }
TEST_F(DroppedStreams, AtEveryByteOfTheAnswerAKeyMakesItTheSame) { cut_the_answer(true); }

// The server is at work: going away cancels, and nobody knows what came of it.
TEST_F(DroppedStreams, AtEveryByteBeforeTheAnswerItIsUnknownAndSaysSo) {
  begin("", [](Dispatched& call) {
    if (call.control.progress) call.control.progress(R"({"progressToken":1,"progress":1,"message":"at work"})");
  });
  std::size_t total = 0;
  for (std::size_t cut = 0; total == 0 || cut <= total; ++cut) {
    const int n = static_cast<int>(cut);
    const std::size_t calls = rig_->all_calls.size();
    const std::string got =
        exchange(request(1, n, ""), total == 0 ? 120 : cut, false, [&] { return rig_->all_calls.size() > calls; });
    if (total == 0) total = got.size();
    settle();
    ASSERT_EQ(executed(n), 1U) << cut;
    const auto meta = meta_of(result_of(whole(2, n)));
    settle();
    EXPECT_EQ(meta.at("code"), "BLOCKED_BY_UNKNOWN") << cut;
    EXPECT_EQ(executed(n), 1U) << cut;
  }
  const auto recorded = outcomes_on_record();
  for (const Dispatched& call : rig_->all_calls) EXPECT_EQ(recorded.at(call.operation).back(), "unknown");
  EXPECT_TRUE(rig_->log_verifies());
}

// The same with a key that the server knows its calls by: it is sent again, and the server does it once.
TEST_F(DroppedStreams, AtEveryByteBeforeTheAnswerAKeyedWriteIsDoneOnce) {
  std::set<std::string> keys;
  int sent = 0;
  begin(R"(,"repeat":"keyed","idempotencyKey":{"meta":"shop/key"})", [&](Dispatched& call) {
    ++sent;
    const bool first = keys.insert(call.meta).second;
    if (!first) return pay(call);
    if (call.control.progress) call.control.progress(R"({"progressToken":1,"progress":1,"message":"at work"})");
  });
  constexpr std::size_t kCuts = 120;  // into the head of the stream
  for (std::size_t cut = 0; cut <= kCuts; ++cut) {
    const int n = static_cast<int>(cut);
    const std::string key = "k-" + std::to_string(n);
    const std::size_t calls = rig_->all_calls.size();
    exchange(request(1, n, key), cut, false, [&] { return rig_->all_calls.size() > calls; });
    settle();
    const std::string operation = rig_->all_calls.back().operation;
    const auto again = result_of(whole(2, n, key));
    settle();
    EXPECT_EQ(std::string(meta_of(again).at("operation").as_string()), operation) << cut;
    EXPECT_EQ(meta_of(again).at("outcome"), "applied") << cut;
    EXPECT_EQ(keys.size(), cut + 1) << "one key each, the same both times";
  }
  for (const auto& [operation, outcomes] : outcomes_on_record()) {
    EXPECT_EQ(outcomes.back(), "applied") << operation;
    EXPECT_GT(std::ranges::count(outcomes, "unknown"), 1) << "the intent, and that its answer was lost";
  }
  EXPECT_TRUE(rig_->log_verifies());
}

}  // namespace
}  // namespace sallyport::test
