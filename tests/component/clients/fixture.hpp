// Both fronts over memory streams, with a Front that echoes, waits and notes as it is told.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/log.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/clients/http_front.hpp"
#include "gateway/clients/sessions.hpp"
#include "gateway/clients/stdio_front.hpp"
#include "gateway/net/http_codec.hpp"
#include "gateway/net/lines.hpp"
#include "gateway/net/memory_stream.hpp"
#include "schemas/core/encoding.hpp"
#include "tests/component/net/loop.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::testing {

inline const bool kQuiet = (log::configure(log::Level::off, log::Format::text), true);

// Methods: `echo` (who asked and what), `wait` (until release(tag) or a cancel), `notes` (params.notes progress notes,
// then waits if params.hold), `log` (one note for each of params.levels), `big` (params.bytes), `throw`; others are not
// found. params.tag names the request. Over the modern era they are the names of tools.
class FakeFront final : public Front {
 public:
  explicit FakeFront(asio::any_io_executor loop) : loop_(std::move(loop)) {}

  asio::awaitable<Answer> handle(Inbound inbound) override {
    ++handled;
    seen.push_back(inbound.method);
    last_key = inbound.has_idempotency_header ? inbound.idempotency_header : "<none>";
    last_client = inbound.client;
    const std::string tag = inbound.params.find("tag").is_string() ? inbound.params.find("tag").string() : "";
    // The modern era has no such methods: there they are tools.
    const json::Value tool = inbound.method == "tools/call" ? inbound.params.find("name") : json::Value();
    const std::string method = tool.is_string() ? tool.string() : inbound.method;
    Answer answer;
    if (method == "echo") {
      answer = Answer::of(R"({"principal":)" + quote(inbound.client->principal.id) + R"(,"server":)" +
                          quote(inbound.client->mount.server) + R"(,"params":)" +
                          (inbound.params ? std::string(inbound.params.raw()) : "null") + "}");
    } else if (method == "throw") {
      throw std::runtime_error("the test wants it so");
    } else if (method == "big") {
      answer = Answer::of(R"({"text":")" +
                          std::string(static_cast<std::size_t>(*inbound.params.find("bytes").integer()), 'x') + "\"}");
    } else if (method == "pretty") {
      answer = Answer::of("{\n  \"a\": 1,\r\n  \"b\": \"x\\ny\"\n}");
    } else if (method == "log") {
      for (const json::Value level : inbound.params.find("levels").elements()) {
        inbound.channel->notify("notifications/message", R"({"level":)" + std::string(level.raw()) + R"(,"data":1})");
      }
      answer = Answer::of("{}");
    } else if (method == "wait" || method == "notes") {
      const std::int64_t notes = inbound.params.find("notes").is_number() ? *inbound.params.find("notes").integer() : 0;
      for (std::int64_t i = 1; i <= notes; ++i) {
        inbound.channel->notify("notifications/progress",
                                R"({"progressToken":1,"progress":)" + std::to_string(i) + "}");
      }
      const bool waits = method == "wait" || inbound.params.find("hold").boolean();
      std::string why = "null";
      if (waits) why = co_await hold(tag, inbound.cancel);
      answer = Answer::of(R"({"tag":)" + quote(tag) + R"(,"cancelled":)" + why + "}");
      was_open[tag] = inbound.channel->open();
    } else if (method == "tools/list") {
      answer = Answer::of(R"({"tools":[]})");
    } else if (method == "resources/read") {
      answer = Answer::fail(mcp::code::kResourceNotFound, "no such resource");
    } else if (method == "ask") {
      answer = ask_first(inbound);
    } else if (method == "approve") {
      answer = co_await approve(inbound);
    } else if (method == "lacks") {
      answer = Answer::fail(mcp::code::kMissingClientCapability, "declare more");
    } else if (method == "resources/subscribe") {
      const std::string uri = inbound.params.find("uri").string();
      answer = uri.contains("secret") ? Answer::fail(mcp::code::kRefused, "no") : Answer::of("{}");
      if (!uri.contains("secret")) subscribed[inbound.client->session] = uri;
    } else {
      answer = Answer::fail(mcp::code::kMethodNotFound, "no such method");
    }
    answer.delivered = [this, tag](bool taken) { delivered[tag].push_back(taken); };
    co_return answer;
  }
  [[nodiscard]] std::string capabilities(const ClientContext&) const override {
    return R"({"tools":{"listChanged":true},"logging":{}})";
  }
  [[nodiscard]] std::string instructions(const ClientContext& client) const override {
    return client.mount.all() ? "all servers" : "";
  }

  // The first call asks the client's user on the gateway's behalf; the same call again waits for what the first is
  // told.
  asio::awaitable<Answer> approve(Inbound inbound) {
    Held& held = held_of("approve");
    if (asked_user++ == 0) {
      auto document = json::Document::parse(R"({"message":"May it?","mode":"form"})");
      ServerQuestion question;
      question.method = "elicitation/create";
      question.document = std::make_shared<const json::Document>(std::move(*document));
      question.params = question.document->root();
      question.deadline = soon();
      const ClientReply reply = co_await inbound.channel->ask(std::move(question));
      told = reply.error ? quote(reply.error->message) : reply.result;
      held.changed.notify();
    }
    while (told.empty()) {
      const bool notified = co_await held.changed.wait(soon());
      if (!notified) co_return Answer::fail(mcp::code::kInternalError, "nobody was told anything");
    }
    co_return Answer::of(R"({"told":)" + told + "}");
  }
  // Wants to know something first; then tells what it was told.
  static Answer ask_first(const Inbound& inbound) {
    if (inbound.given) {
      const InputGiven& given = *inbound.given;
      return Answer::of(R"({"operation":)" + quote(given.operation) + R"(,"leg":)" + std::to_string(given.leg) +
                        R"(,"state":)" + (given.state.empty() ? "null" : given.state) + R"(,"responses":)" +
                        (given.responses ? std::string(given.responses.raw()) : "null") + "}");
    }
    const json::Value arguments = inbound.params.find("arguments");
    auto needed = std::make_shared<InputNeeded>();
    needed->operation = "op_1";
    needed->server = "files";
    needed->tool = "ask";
    needed->arguments = trust::digest_text(arguments ? arguments.raw() : std::string_view());
    needed->requests = R"({"q":{"method":"elicitation/create","params":{"message":"[files] who?"}},)"
                       R"("dev.sallyport/ask":{"method":"roots/list"},"server.x":{"method":"roots/list"}})";
    needed->state = R"("their\u0020state")";
    const bool late = arguments.find("late").boolean();
    needed->expires = inbound.received + (late ? 0 : 600'000);
    Answer answer;
    answer.input = std::move(needed);
    return answer;
  }
  [[nodiscard]] std::optional<std::string> header_fault(const ClientContext&, json::Value params,
                                                        const mcp::HeaderLookup& find) const override {
    const auto declared = std::vector<mcp::ParamHeader>{{"Path", {"path"}, false}, {"Count", {"count"}, true}};
    return mcp::param_mismatch(declared, params.find("arguments"), find);
  }
  void over_limit(const Inbound& inbound) override { over.push_back(inbound.method); }
  void session_ended(const ClientContext& client) override { subscribed.erase(client.session); }

  void release(const std::string& tag) {
    Held& held = held_of(tag);
    held.released = true;
    held.changed.notify();
  }
  // Until so many requests with this tag wait.
  asio::awaitable<void> until_held(std::string tag, int count = 1) {
    Held& held = held_of(tag);
    while (held.waiting < count) {
      const bool notified = co_await held.changed.wait(soon());
      EXPECT_TRUE(notified) << "nobody waits for " << tag;
      if (!notified) co_return;
    }
  }
  asio::awaitable<void> until_delivered(std::string tag) {
    const Deadline deadline = soon();
    while (delivered[tag].empty() && !deadline.passed()) {
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(1)));
    }
    EXPECT_EQ(delivered[tag].size(), 1U) << tag;
  }

  std::map<std::string, std::vector<bool>> delivered;
  std::map<std::string, bool> was_open;
  std::vector<std::string> seen;
  std::string last_key;
  std::shared_ptr<const ClientContext> last_client;
  std::map<std::string, std::string> subscribed;  // by session
  int handled = 0;
  int asked_user = 0;
  std::vector<std::string> over;  // methods of requests that the bound of their session refused
  std::string told;

 private:
  struct Held {
    explicit Held(const asio::any_io_executor& loop) : changed(loop) {}
    Signal changed;
    bool released = false;
    int waiting = 0;
  };
  Held& held_of(const std::string& tag) {
    auto& held = held_[tag];
    if (!held) held = std::make_unique<Held>(loop_);
    return *held;
  }
  asio::awaitable<std::string> hold(std::string tag, std::shared_ptr<Cancel> cancel) {
    Held& held = held_of(tag);
    ++held.waiting;
    held.changed.notify();
    cancel->on_cancel([&held](CancelReason) { held.changed.notify(); });
    while (!held.released && !cancel->reason()) co_await held.changed.wait(Deadline::never());
    cancel->on_cancel({});
    --held.waiting;
    if (!cancel->reason()) co_return "null";
    switch (*cancel->reason()) {
      case CancelReason::client:
        co_return R"("client")";
      case CancelReason::disconnect:
        co_return R"("disconnect")";
      case CancelReason::shutdown:
        co_return R"("shutdown")";
      default:
        co_return R"("stop")";
    }
  }

  asio::any_io_executor loop_;
  std::map<std::string, std::unique_ptr<Held>> held_;
};

struct TestResponse {
  int status = 0;  // 0: there was none
  HttpHeaders headers;
  std::string body;
  [[nodiscard]] boost::json::value json() const {
    boost::system::error_code error;
    auto value = boost::json::parse(body, error);
    EXPECT_FALSE(error) << body;
    return error ? boost::json::value() : value;
  }
  // The number of the JSON-RPC error, or 0.
  [[nodiscard]] std::int64_t error_code() const {
    const auto value = json();
    if (!value.is_object() || !value.as_object().contains("error")) return 0;
    return value.at("error").at("code").as_int64();
  }
  [[nodiscard]] std::string header(std::string_view name) const { return std::string(headers.get(name).value_or("")); }
};

// The client's end of an HTTP connection.
class HttpPeer {
 public:
  explicit HttpPeer(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  ByteStream& stream() { return *stream_; }

  asio::awaitable<void> send(std::string text) {
    const Status sent = co_await stream_->write_all(text, soon());
    EXPECT_TRUE(sent);
  }
  asio::awaitable<TestResponse> receive() {
    co_await receive_head();
    while (reader_ && !reader_->done()) {
      const bool more = co_await fill();
      if (!more) break;
    }
    TestResponse response = std::move(head_);
    if (reader_) response.body = std::move(reader_->body());
    reader_.reset();
    co_return response;
  }
  // Reads up to the end of the head; next_event() may follow.
  asio::awaitable<int> receive_head() {
    reader_.emplace(HttpMessageReader::Kind::response, 64U << 10, 256U << 20);
    taken_ = 0;
    head_ = {};
    (void)reader_->put(buffer_);
    while (!reader_->head_done()) {
      const bool more = co_await fill();
      if (!more) co_return 0;
    }
    head_.status = reader_->status();
    head_.headers = reader_->take_headers();
    co_return head_.status;
  }
  [[nodiscard]] const TestResponse& head() const { return head_; }
  // The data of the next event; ": …" for a comment; "<end>" at the end of the stream. Its id is last_id().
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  asio::awaitable<std::string> next_event() {
    for (;;) {
      const std::string& body = reader_->body();
      const std::size_t end = body.find("\n\n", taken_);
      if (end != std::string::npos) {
        std::string text = body.substr(taken_, end - taken_);
        taken_ = end + 2;
        if (text.starts_with("retry: ")) continue;
        if (text.starts_with("id: ")) {
          last_id_ = text.substr(4, text.find('\n') - 4);
          text.erase(0, text.find('\n') + 1);
          if (text == "data: ") continue;  // the event that only tells the id
        }
        if (text.starts_with("data: ")) text.erase(0, 6);
        co_return text;
      }
      if (reader_->done()) co_return "<end>";
      const bool more = co_await fill();
      if (!more) co_return "<cut>";
    }
  }
  asio::awaitable<TestResponse> ask(std::string text) {
    co_await send(std::move(text));
    co_return co_await receive();
  }

 private:
  asio::awaitable<bool> fill() {
    char piece[4096];
    const Result<std::size_t> got = co_await stream_->read_some(piece, soon());
    if (!got || *got == 0) {
      (void)reader_->put_end();
      co_return false;
    }
    buffer_.append(piece, *got);
    const auto fault = reader_->put(buffer_);
    EXPECT_FALSE(fault) << fault->message;
    co_return !fault;
  }
  std::unique_ptr<ByteStream> stream_;
  std::optional<HttpMessageReader> reader_;
  TestResponse head_;
  std::string buffer_;
  std::string last_id_;
  std::size_t taken_ = 0;
};

inline constexpr std::string_view kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})";

// A client that writes lines; after the hello.
class LinePeer {
 public:
  explicit LinePeer(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)), lines_(*stream_, 64U << 20) {}
  ByteStream& stream() { return *stream_; }
  asio::awaitable<void> send(std::string line) {
    line += '\n';
    const Status sent = co_await stream_->write_all(line, soon());
    EXPECT_TRUE(sent) << line.substr(0, 100);
  }
  // "<end>" at the end.
  asio::awaitable<std::string> receive() {
    Result<std::optional<std::string>> line = co_await lines_.next(soon());
    if (!line) co_return "<" + line.error().message + ">";
    co_return line->value_or("<end>");
  }
  asio::awaitable<std::string> ask(std::string line) {
    co_await send(std::move(line));
    co_return co_await receive();
  }
  asio::awaitable<void> begin(std::string hello = R"({"sallyport":1,"token":"secret-a"})") {
    const std::string welcome = co_await ask(std::move(hello));
    EXPECT_EQ(welcome, R"({"ok":true})");
    const std::string answer = co_await ask(std::string(kInitialize));
    EXPECT_TRUE(answer.contains("protocolVersion")) << answer;
    co_await send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

 private:
  std::unique_ptr<ByteStream> stream_;
  LineReader lines_;
};

// What a request is made of.
struct Form {
  std::string path = "/mcp";
  std::string token = "secret-a";                              // empty: none
  std::string session;                                         // empty: none
  std::string accept = "application/json, text/event-stream";  // empty: none
  std::string more;                                            // header lines with CRLF
  std::string type = "application/json";
};

class ClientsTest : public ::testing::Test {
 protected:
  ClientsTest() {
    settings_.clients.push_back(client("agent:a", "secret-a"));
    settings_.clients.push_back(client("agent:b", "secret-b"));
    session_options_.version = "9.9.9";
    session_options_.debounce = Millis(1);
    http_options_.listen.address = "127.0.0.1";
    http_options_.knows_server = stdio_options_.knows_server = [](std::string_view id) { return id == "files"; };
  }
  static ClientSettings client(std::string id, std::string_view token) {
    return {.id = std::move(id), .token_sha256 = trust::sha256_hex(token), .groups = {"agents"}, .owner = {}};
  }
  void start() {
    session_options_.limits = http_options_.limits = stdio_options_.limits = settings_.limits;
    authenticator_ = std::make_shared<const Authenticator>(settings_, std::nullopt, 1000);
    const auto loop = loop_.executor();
    sessions_ = std::make_unique<Sessions>(loop, front_, system_clock(), system_entropy(), session_options_);
    http_ = std::make_unique<HttpFront>(loop, *sessions_, authenticator_, http_options_);
    stdio_ = std::make_unique<StdioFront>(loop, *sessions_, authenticator_, stdio_options_);
  }
  // Runs a test's coroutine, starting the fronts first; shuts them down at the end.
  template <class Body>
  void run(Body body) {
    if (!sessions_) start();
    loop_.run(body());
  }
  HttpPeer connect(MemoryStreamOptions options = {}) {
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), options);
    http_->accept(std::move(pair.second));
    return HttpPeer(std::move(pair.first));
  }
  LinePeer connect_lines(MemoryStreamOptions options = {}) {
    MemoryStreamPair pair = make_memory_streams(loop_.executor(), options);
    stdio_->accept(std::move(pair.second));
    return LinePeer(std::move(pair.first));
  }
  asio::awaitable<void> turns(int count = 20) {
    for (int i = 0; i < count; ++i) co_await asio::post(loop_.executor(), asio::use_awaitable);
  }

  static std::string request(std::string_view method, const Form& form, std::string_view body) {
    std::string text(method);
    text.append(" ").append(form.path).append(" HTTP/1.1\r\nHost: 127.0.0.1:8720\r\n");
    if (!form.token.empty()) text.append("Authorization: Bearer ").append(form.token).append("\r\n");
    if (!form.session.empty()) text.append("Mcp-Session-Id: ").append(form.session).append("\r\n");
    if (!form.accept.empty()) text.append("Accept: ").append(form.accept).append("\r\n");
    text.append(form.more);
    if (method == "POST") {
      if (!form.type.empty()) text.append("Content-Type: ").append(form.type).append("\r\n");
      text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    }
    text.append("\r\n");
    return method == "POST" ? text.append(body) : text;
  }
  static std::string post(const Form& form, std::string_view body) { return request("POST", form, body); }
  static std::string call(std::string_view id, std::string_view method, std::string_view params = "{}") {
    return mcp::request(id, method, params);
  }
  // Opens a session; its id.
  asio::awaitable<std::string> open_session(HttpPeer& peer, Form form = {}, std::string version = "2025-11-25") {
    std::string body(kInitialize);
    body.replace(body.find("2025-11-25"), 10, version);
    const TestResponse answer = co_await peer.ask(post(form, body));
    EXPECT_EQ(answer.status, 200) << answer.body;
    form.session = answer.header("Mcp-Session-Id");
    EXPECT_GE(form.session.size(), 22U);
    const TestResponse noted =
        co_await peer.ask(post(form, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
    EXPECT_EQ(noted.status, 202);
    EXPECT_EQ(noted.body, "");
    co_return form.session;
  }
  // Whether the gateway still serves a new client.
  asio::awaitable<void> still_serves() {
    HttpPeer peer = connect();
    Form form;
    form.session = co_await open_session(peer);
    const TestResponse answer = co_await peer.ask(post(form, call("7", "echo", R"({"x":1.0})")));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body,
              R"({"jsonrpc":"2.0","id":7,"result":{"principal":"agent:a","server":"","params":{"x":1.0}}})");
  }

  Loop loop_;
  FakeFront front_{loop_.executor()};
  Settings settings_;
  SessionsOptions session_options_;
  HttpFrontOptions http_options_;
  StdioFrontOptions stdio_options_;
  std::shared_ptr<const Authenticator> authenticator_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<HttpFront> http_;
  std::unique_ptr<StdioFront> stdio_;
};

}  // namespace sallyport::gateway::testing
