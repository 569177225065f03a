#include "tests/component/servers/support.hpp"

#include <signal.h>

#include <fstream>

#include "gateway/base/log.hpp"

namespace sallyport::gateway {

PermittedCall Permit::make() const {
  PermittedCall call;
  call.tool_ = {server, tool};
  call.operation_ = operation;
  call.attempt_ = attempt;
  call.params_members_ = R"("name":")" + tool + R"(","arguments":)" + arguments;
  call.meta_members_ = meta;
  call.idempotency_header_ = idempotency_header;
  call.wants_progress_ = progress;
  return call;
}

ServersTest::ServersTest() {
  log::configure(log::Level::off, log::Format::text);
  options_.close_wait = Millis(1'000);
  options_.backoff_first = Millis(20);
}

ServersTest::~ServersTest() {
  if (pool_) shutdown();
  pool_.reset();
  spin([&] { return io_.poll() == 0; });
}

void ServersTest::run(asio::awaitable<void> task) {
  bool ended = false;
  std::exception_ptr error;
  asio::co_spawn(io_, std::move(task), [&](std::exception_ptr e) {
    error = e;
    ended = true;
  });
  spin([&] { return ended; });
  if (error) std::rethrow_exception(error);
}

void ServersTest::spin(const std::function<bool()>& done) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  while (!done()) {
    if (deadline.passed()) {
      ADD_FAILURE() << "the loop was still busy after a minute";
      std::abort();
    }
    io_.restart();
    io_.run_one_for(std::chrono::milliseconds(50));
  }
}

ServerSettings ServersTest::fixture(std::vector<std::string> flags) {
  ServerSettings server;
  server.id = "s";
  server.command = "python3";
  server.args = {"-u", SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/stdio_server.py"};
  server.args.insert(server.args.end(), flags.begin(), flags.end());
  server.start_timeout = Millis(20'000);
  server.era = "legacy";
  return server;
}

void ServersTest::make_pool(std::map<std::string, ServerSettings> servers) {
  for (auto& [id, server] : servers) server.id = id;
  pool_ = make_server_pool(io_.get_executor(), servers, limits_, events_, workers_, system_clock(), system_entropy(),
                           "0.0.1", options_);
}

void ServersTest::make_pool(ServerSettings server) {
  std::map<std::string, ServerSettings> servers;
  servers["s"] = std::move(server);
  make_pool(std::move(servers));
}

Result<std::shared_ptr<ServerLink>> ServersTest::try_link(const std::string& server, const std::string& principal,
                                                          const std::string& session, Millis wait) {
  // Result has no default; optional<Result> in run() does.
  return run(pool_->link(LinkKey{server, principal, session}, Deadline::after(wait)));
}

std::shared_ptr<ServerLink> ServersTest::link(const std::string& principal, const std::string& session) {
  auto made = try_link("s", principal, session);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? *made : nullptr;
}

CallControl ServersTest::within(Millis wait) {
  CallControl control;
  control.deadline = Deadline::after(wait);
  return control;
}

ServerAnswer ServersTest::call(ServerLink& link, const Permit& permit, CallControl control) {
  return run(link.call(permit.make(), std::move(control)));
}

ServerAnswer ServersTest::call(ServerLink& link, const std::string& tool, const std::string& arguments) {
  Permit permit;
  permit.tool = tool;
  permit.arguments = arguments;
  return call(link, permit);
}

std::string ServersTest::text(const ServerAnswer& answer) {
  if (answer.kind != ServerAnswer::Kind::result) return "no result: " + answer.detail;
  const json::Value value = answer.result.at("/content/0/text");
  return value ? value.string() : "no text: " + std::string(answer.result.raw());
}

void ServersTest::shutdown() { run(pool_->shutdown(Deadline::after(std::chrono::seconds(10)))); }

bool process_exists(int pid) {
  if (::kill(pid, 0) != 0) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  for (int i = 0; i < 3 && stat >> word; ++i) {
  }
  return word != "Z";
}

}  // namespace sallyport::gateway
