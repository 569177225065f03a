// For tests of servers: a loop to run coroutines on, events that are kept, permits, and real servers as children.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/workers.hpp"
#include "gateway/ports/permitted_call.hpp"
#include "gateway/servers/server_pool.hpp"

namespace sallyport::gateway {

// The only other maker of permits lies in gateway/calls, which this binary does not link.
class Permit {
 public:
  std::string server = "s";
  std::string tool;
  std::string arguments = "{}";
  std::string meta;
  std::string operation = "op_1";
  int attempt = 1;
  std::string idempotency_header;
  bool progress = false;
  [[nodiscard]] PermittedCall make() const;
};

class KeptEvents : public ServerEvents {
 public:
  explicit KeptEvents(asio::any_io_executor loop) : changed(std::move(loop)) {}
  void on_list_changed(const std::string& server, ListKind kind) override {
    if (kind == ListKind::tools) tools_changed.push_back(server);
    lists_changed.emplace_back(server, kind);
    changed.notify();
  }
  void on_state(const ServerStatus& status) override {
    states.push_back(status);
    changed.notify();
  }
  void on_late_answer(LateAnswer late) override {
    late_answers.push_back(std::move(late));
    changed.notify();
  }
  void on_log(const LinkKey& from, std::string_view params_raw) override {
    logs.emplace_back(params_raw);
    log_owners.push_back(from);
    changed.notify();
  }
  [[nodiscard]] std::string client_capabilities(const std::string& /*server*/) override { return capabilities; }
  void on_resource_updated(const LinkKey& from, std::string_view params_raw) override {
    updated.emplace_back(from, params_raw);
    changed.notify();
  }
  [[nodiscard]] std::optional<std::string> why_foreign(const std::string& /*server*/,
                                                       const std::string& identity) override {
    return foreign ? foreign(identity) : std::nullopt;
  }
  std::function<std::optional<std::string>(const std::string&)> foreign;
  std::string capabilities = "{}";
  std::vector<std::string> tools_changed;
  std::vector<std::pair<std::string, ListKind>> lists_changed;
  std::vector<std::pair<LinkKey, std::string>> updated;
  std::vector<ServerStatus> states;
  std::vector<LateAnswer> late_answers;
  std::vector<std::string> logs;
  std::vector<LinkKey> log_owners;  // of each
  Signal changed;
};

class ServersTest : public testing::Test {
 protected:
  ServersTest();
  ~ServersTest() override;

  // Runs until the coroutine has ended; a test that hangs fails instead.
  template <class T>
  T run(asio::awaitable<T> task) {
    std::optional<T> out;
    std::exception_ptr error;
    asio::co_spawn(io_, std::move(task), [&](std::exception_ptr e, T value) {
      error = e;
      out = std::move(value);
    });
    spin([&] { return out.has_value(); });
    if (error) std::rethrow_exception(error);
    return std::move(*out);
  }
  void run(asio::awaitable<void> task);
  void spin(const std::function<bool()>& done);

  [[nodiscard]] static CallControl within(Millis wait = Millis(20'000));
  // The era is legacy, unless a test is about eras.
  [[nodiscard]] static ServerSettings fixture(std::vector<std::string> flags = {});
  void make_pool(std::map<std::string, ServerSettings> servers);
  void make_pool(ServerSettings server);
  std::shared_ptr<ServerLink> link(const std::string& principal = "p", const std::string& session = "");
  Result<std::shared_ptr<ServerLink>> try_link(const std::string& server, const std::string& principal = "p",
                                               const std::string& session = "", Millis wait = Millis(20'000));
  ServerAnswer call(ServerLink& link, const Permit& permit, CallControl control = within());
  ServerAnswer call(ServerLink& link, const std::string& tool, const std::string& arguments = "{}");
  // The text of the first content block.
  [[nodiscard]] static std::string text(const ServerAnswer& answer);
  void shutdown();

  asio::io_context io_{1};
  KeptEvents events_{io_.get_executor()};
  Workers workers_{1};
  LimitSettings limits_;
  PoolOptions options_;
  std::unique_ptr<Servers> pool_;
};

[[nodiscard]] bool process_exists(int pid);

}  // namespace sallyport::gateway
