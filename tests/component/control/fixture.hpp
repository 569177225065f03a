// A ControlServer on a TCP port and a Unix socket, on a loop thread of its own, with a Desk that writes down what it is
// asked; and a raw HTTP client, so that tests can send what no good client would.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gateway/base/log.hpp"
#include "gateway/cli/terminal.hpp"
#include "gateway/control/control_server.hpp"
#include "gateway/net/listener.hpp"
#include "tests/support/temp_dir.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::testing {

inline const bool kQuietControl = (log::configure(log::Level::off, log::Format::text), true);

inline std::string flat(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "|") + part;
  return out;
}

// Answers `answers[method]` (else `{}`), or `error`; lives on the loop, read under the mutex.
class FakeDesk final : public Desk {
 public:
  DeskAnswer approvals(Person p, std::string state, std::uint32_t limit) override {
    return say(flat({p.id, "approvals", state, std::to_string(limit)}));
  }
  DeskAnswer approval(Person p, std::string id) override { return say(flat({p.id, "approval", id})); }
  DeskAnswer vote(Person p, std::string id, Vote vote) override {
    std::string asked =
        vote.approve ? flat({p.id, "approve", id, vote.shown, vote.reason}) : flat({p.id, "deny", id, vote.reason});
    if (!vote.grant.empty()) asked += "|" + vote.grant;
    for (const auto& settled : vote.settle) asked += "|" + settled.operation + "=" + settled.outcome;
    return say(asked);
  }
  DeskAnswer vote_all(Person p, std::vector<AskShown> asks, bool approve, std::string reason) override {
    std::string asked = flat({p.id, approve ? "approve all" : "deny all", reason});
    for (const AskShown& ask : asks) asked += "|" + ask.id + "=" + ask.shown;
    return say(asked);
  }
  DeskAnswer grants(Person p, bool all) override { return say(flat({p.id, "grants", all ? "all" : ""})); }
  DeskAnswer revoke_grant(Person p, std::string id, std::string reason) override {
    return say(flat({p.id, "revoke grant", id, reason}));
  }
  DeskAnswer revoke(Person p, std::string id, std::string reason) override {
    return say(flat({p.id, "revoke", id, reason}));
  }
  DeskAnswer operations(Person p, std::string state, std::uint32_t limit) override {
    return say(flat({p.id, "operations", state, std::to_string(limit)}));
  }
  DeskAnswer operation(Person p, std::string id) override { return say(flat({p.id, "operation", id})); }
  DeskAnswer resolve(Person p, std::string id, std::string outcome, std::string reason) override {
    return say(flat({p.id, "resolve", id, outcome, reason}));
  }
  DeskAnswer receipts(Person p, std::string query) override { return say(flat({p.id, "receipts", query})); }
  DeskAnswer receipt(Person p, std::string id) override { return say(flat({p.id, "receipt", id})); }
  DeskAnswer open_arguments(Person p, std::string id, std::string arguments) override {
    return say(flat({p.id, "open_arguments", id, arguments}));
  }
  DeskAnswer checkpoint(Person p) override { return say(flat({p.id, "checkpoint"})); }
  DeskAnswer stops(Person p) override { return say(flat({p.id, "stops"})); }
  DeskAnswer stop(Person p, std::string kind, std::string value, std::string tool, std::string reason) override {
    return say(flat({p.id, "stop", kind, value, tool, reason}));
  }
  DeskAnswer lift(Person p, std::string id, std::string reason) override {
    return say(flat({p.id, "lift", id, reason}));
  }
  DeskAnswer status(Person p) override { return say(flat({p.id, "status"})); }
  DeskAnswer tools(Person p) override { return say(flat({p.id, "tools"})); }
  DeskAnswer explain(Person p, std::string call) override { return say(flat({p.id, "explain", call})); }
  DeskAnswer call(Person p, std::string server, std::string tool, std::string arguments) override {
    return say(flat({p.id, "call", server, tool, arguments}));
  }
  DeskAnswer trust_review(Person p, std::string server, std::string tool) override {
    return say(flat({p.id, "trust_review", server, tool}));
  }
  DeskAnswer trust_accept(Person p, std::string server, std::string tool, std::string digest, bool also) override {
    return say(flat({p.id, also ? "trust_accept_also" : "trust_accept", server, tool, digest}));
  }
  DeskAnswer reload(Person p) override { return say(flat({p.id, "reload"})); }
  DeskAnswer policy(Person p) override { return say(flat({p.id, "policy"})); }
  DeskAnswer policy_accept(Person p, std::string digest) override { return say(flat({p.id, "policy_accept", digest})); }

  void answer(const std::string& method, std::string json) {
    const std::scoped_lock lock(mutex_);
    answers_[method] = std::move(json);
  }
  void fail_with(std::optional<Error> error) {
    const std::scoped_lock lock(mutex_);
    error_ = std::move(error);
  }
  // Until something said holds `part`; false: it did not within ten seconds. What was said is taken.
  bool wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    const bool found = changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::ranges::any_of(said_, [&](const std::string& one) { return one.contains(part); });
    });
    said_.clear();
    return found;
  }
  std::vector<std::string> taken() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(said_, {});
  }

 private:
  DeskAnswer say(std::string what) {
    const std::scoped_lock lock(mutex_);
    const std::string method = what.substr(what.find('|') + 1, what.find('|', what.find('|') + 1) - what.find('|') - 1);
    said_.push_back(std::move(what));
    changed_.notify_all();
    if (error_) return reply(fail(*error_));
    const auto found = answers_.find(method);
    return reply(found == answers_.end() ? std::string("{}") : found->second);
  }
  static DeskAnswer reply(Result<std::string> result) { co_return result; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> answers_;
  std::optional<Error> error_;
  std::vector<std::string> said_;
};

class FakeReadiness final : public Readiness {
 public:
  [[nodiscard]] bool ready() const override { return is_ready; }
  [[nodiscard]] std::string detail() const override { return R"({"servers":[]})"; }
  std::atomic<bool> is_ready{true};
};

// What came back, split up.
struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class ControlRig {
 public:
  ControlRig() : work_(asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {
    on_loop([this] { open(); });
  }
  ControlRig(const ControlRig&) = delete;
  ControlRig& operator=(const ControlRig&) = delete;
  ~ControlRig() {
    on_loop([this] {
      tcp_->close();
      unix_->close();
    });
    auto stopped = asio::co_spawn(io_, server_->stop(Deadline::after(std::chrono::seconds(5))), asio::use_future);
    EXPECT_TRUE(stopped.get());
    on_loop([this] { server_.reset(); });
    work_.reset();
    thread_.join();
  }

  // Tokens: `dana-token` (approver and operator), `kim-token` (approver), `ada-token` (auditor), `wat-token` (watcher),
  // `nil-token` (no role), `shared-token` (of a person and of a client: nobody's), `agent-token` (a client's).
  static std::vector<PersonSettings> people() {
    const auto one = [](const char* id, unsigned roles, const char* token) {
      return PersonSettings{Person{id, roles, {"owners"}}, trust::sha256_hex(token)};
    };
    return {one("user:dana", 1 | 2, "dana-token"), one("user:kim", 1, "kim-token"),
            one("user:ada", 4, "ada-token"),       one("user:wat", 8, "wat-token"),
            one("user:nil", 0, "nil-token"),       one("user:two", 15, "shared-token")};
  }
  static std::vector<ClientSettings> clients() {
    ClientSettings agent{.id = "agent:ci", .token_sha256 = trust::sha256_hex("agent-token"), .groups = {}, .owner = {}};
    ClientSettings two{.id = "agent:two", .token_sha256 = trust::sha256_hex("shared-token"), .groups = {}, .owner = {}};
    return {agent, two};
  }

  void on_loop(const std::function<void()>& what) {
    std::promise<void> done;
    asio::post(io_, [&] {
      what();
      done.set_value();
    });
    done.get_future().get();
  }
  void approval_changed(const std::string& id) {
    on_loop([&] { server_->approval_changed(id); });
  }
  void set_people(std::vector<PersonSettings> people) {
    on_loop([&] { server_->set_people(std::make_shared<PeopleBook>(people)); });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string socket() const { return dir_.file("control.sock"); }
  [[nodiscard]] const test::TempDir& dir() const { return dir_; }

  // A socket to the TCP listener, with a bound on every read.
  [[nodiscard]] int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval wait{10, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static void send_text(int fd, const std::string& text) {
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Until `mark` or the end.
  static std::string read_until(int fd, const std::string& mark) {
    std::string out;
    char byte = 0;
    while (mark.empty() || !out.ends_with(mark)) {
      if (::recv(fd, &byte, 1, 0) != 1) break;
      out += byte;
    }
    return out;
  }

  using Headers = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Reply ask(const std::string& method, const std::string& target, const std::string& token,
                          const std::string& body = {}, const Headers& more = {}) const {
    Headers headers = more;
    const auto has = [&](const char* name) {
      return std::ranges::any_of(more, [&](const auto& header) { return header.first == name; });
    };
    if (!has("Host")) headers.emplace_back("Host", "127.0.0.1:" + std::to_string(port_));
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    if (method == "POST" && !has("Content-Type")) headers.emplace_back("Content-Type", "application/json");
    if (method == "POST") headers.emplace_back("Content-Length", std::to_string(body.size()));
    std::string text = method + " " + target + " HTTP/1.1\r\n";
    for (const auto& [name, value] : headers) {
      if (!value.empty()) text += name + ": " + value + "\r\n";
    }
    const int fd = connect();
    send_text(fd, text + "Connection: close\r\n\r\n" + body);
    const std::string answer = read_until(fd, "");
    ::close(fd);
    return parse(answer);
  }
  static Reply parse(const std::string& answer) {
    Reply reply;
    const std::size_t head = answer.find("\r\n\r\n");
    if (head == std::string::npos) return reply;
    reply.status = std::stoi(answer.substr(9, 3));
    std::size_t at = answer.find("\r\n") + 2;
    while (at < head) {
      const std::size_t end = answer.find("\r\n", at);
      const std::size_t colon = answer.find(':', at);
      std::string name = answer.substr(at, colon - at);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      reply.headers[name] = answer.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    reply.body = answer.substr(head + 4);
    return reply;
  }

  FakeDesk desk;
  FakeReadiness readiness;
  Metrics metrics;

 private:
  void open() {
    ControlOptions options;
    options.event_streams = 2;
    options.body_bytes = 64U << 10;
    server_ = std::make_unique<ControlServer>(io_.get_executor(), std::make_shared<PeopleBook>(people(), clients()),
                                              desk, readiness, metrics, options);
    const auto serve = [this](std::unique_ptr<ByteStream> stream) { server_->accept(std::move(stream)); };
    tcp_ = Listener::tcp(io_.get_executor(), "127.0.0.1", 0).value();
    tcp_->start(serve);
    port_ = tcp_->bound_port();
    unix_ = Listener::unix_socket(io_.get_executor(), socket()).value();
    unix_->start(serve);
  }

  test::TempDir dir_;
  asio::io_context io_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<Listener> tcp_, unix_;
  std::uint16_t port_ = 0;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

class FakeTerminal final : public cli::Terminal {
 public:
  void out(std::string_view text) override { printed += text; }
  void err(std::string_view text) override { said += text; }
  [[nodiscard]] bool interactive() const override { return is_interactive; }
  std::optional<std::string> read_line(bool) override {
    if (lines.empty()) return std::nullopt;
    std::string line = lines.front();
    lines.erase(lines.begin());
    return line;
  }
  std::optional<char> read_key(Millis) override {
    const auto line = read_line(false);
    if (!line) return std::nullopt;
    return line->empty() ? '\n' : line->front();
  }
  std::optional<std::string> read_all(std::size_t limit) override {
    if (input.size() > limit) return std::nullopt;
    return std::exchange(input, {});
  }
  std::string printed, said, input;
  std::vector<std::string> lines;
  bool is_interactive = false;
};

}  // namespace sallyport::gateway::testing
