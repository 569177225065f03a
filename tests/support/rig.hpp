// Rig: the middle of the gateway in one process: real store in a temporary folder, real catalogue and calls, and
// servers that do what the test scripts. The loop is run by the test, until what it waits for is there; nothing sleeps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "gateway/base/clock.hpp"
#include "gateway/base/metrics.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/people.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/relay/relay.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace sallyport::test {

using namespace sallyport::gateway;  // NOLINT: a test's header

class TestClock final : public Clock {
 public:
  [[nodiscard]] UnixMillis now() const override { return now_; }
  void advance(Millis by) { now_ += by.count(); }

 private:
  UnixMillis now_ = 1'800'000'000'000;
};

// One dispatched call, as the server sees it. The test answers it, now or later.
struct Dispatched {
  std::string server, tool, operation, params, meta;
  int attempt = 1;
  CallControl control;
  std::shared_ptr<OneShot<ServerAnswer>> answer;

  void result(const std::string& json) const;  // a result object
  void error(const std::string& json) const;   // a JSON-RPC error object
  void lose(std::string detail = "the connection broke", bool timed_out = false) const;
  void not_sent(std::string detail = "the process could not be reached") const;
};

// A server as the test says it is.
struct ScriptedServer {
  std::vector<std::string> tools;                             // raw tool objects
  std::map<std::string, std::vector<std::string>> tools_for;  // principals whose link reaches another replica
  std::vector<std::string> prompts, templates;
  std::string instructions;
  std::string identity =
      R"({"kind":"command","command":"/bin/test","digest":"sha256:)" + std::string(64, '0') + R"("})";
  std::map<std::string, std::string> identity_for;  // principals whose link is another process
  std::string unavailable;                          // not empty: link() fails with it
  std::function<void(Dispatched&)> on_call;         // empty: the call stays open in Rig::open_calls
};

struct RigOptions {
  std::string trust = R"({"servers":{}})";
  std::string policy;  // JSON; empty: everything asks
  std::map<std::string, ScriptedServer> servers;
  bool accept_all = true;  // the lock holds what the servers list at first
  std::vector<Person> people{
      {"user:dana", static_cast<unsigned>(Role::approver) | static_cast<unsigned>(Role::operator_), {"owners"}},
      {"user:kim", static_cast<unsigned>(Role::approver), {"payments"}}};
  std::string state;  // an existing state folder; empty: a new one
  std::string vfs;
  LimitSettings limits;
  std::optional<std::vector<std::string>> run_evidence;  // what a run has to show
  Millis between_looks{5'000};
};

class Rig {
 public:
  explicit Rig(RigOptions options);
  ~Rig();

  // A client with its own session; `groups` for rules.
  std::shared_ptr<ClientContext> client(const std::string& id = "agent:test", std::vector<std::string> groups = {});

  // A request under way; done() once its answer is there.
  struct Pending {
    std::optional<Answer> answer;
    std::shared_ptr<Cancel> cancel = std::make_shared<Cancel>();
    std::vector<std::pair<std::string, std::string>> notes;  // method, params
    struct Asked {
      std::string params;
      std::shared_ptr<Cancel> cancel;
      std::shared_ptr<OneShot<ClientReply>> reply;  // for the test to set
    };
    std::vector<Asked> asked;  // questions to its user
    bool open = true;
  };
  using PendingPtr = std::shared_ptr<Pending>;
  PendingPtr send(std::shared_ptr<ClientContext> client, const std::string& tool, const std::string& arguments,
                  const std::string& meta = {}, std::shared_ptr<const InputGiven> given = nullptr);
  // Any request as a client makes it, through the relay where it is no tool call.
  PendingPtr request(std::shared_ptr<ClientContext> client, const std::string& method, const std::string& params,
                     std::shared_ptr<const InputGiven> given = nullptr);
  Answer ask(std::shared_ptr<ClientContext> client, const std::string& method, const std::string& params = "{}");
  Answer call(std::shared_ptr<ClientContext> client, const std::string& tool, const std::string& arguments,
              const std::string& meta = {});
  static void deliver(const Answer& answer, bool in_full = true);

  // Runs the loop until `condition` holds; fails the test after a bound of real time.
  void run_until(const std::function<bool()>& condition, const char* what = "the condition",
                 std::source_location from = std::source_location::current());
  template <class T>
  T await(asio::awaitable<T> task);
  void await(asio::awaitable<void> task);

  Result<std::string> approve(const std::string& approval, const std::string& person = "user:dana",
                              const std::string& shown = {});
  Result<std::string> deny(const std::string& approval, const std::string& person = "user:dana",
                           const std::string& reason = {});
  std::string pending_approval();  // the one that waits; waits for it

  std::vector<OperationRow> operations(std::vector<OperationState> states = {});
  std::vector<ReceiptRow> receipts(const std::string& kind = {});
  bool log_verifies();  // the whole log, with its key

  void relist(const std::string& server);  // the server told that its tools changed; waits for the new snapshot
  void set_policy(const std::string& policy);
  void accept_now(const std::string& server);  // everything that it offers now is in the lock, nothing else of it
  [[nodiscard]] Person person(const std::string& id) const;
  [[nodiscard]] const std::string& state() const { return folder_->path(); }

  asio::io_context io;
  TestClock clock;
  std::map<std::string, ScriptedServer> servers;
  // What every client answers at once to what it is asked; empty: see Pending::asked.
  std::function<ClientReply(const ServerQuestion&)> on_question;
  std::vector<Dispatched> open_calls;
  std::vector<Dispatched> all_calls;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<Servers> pool;
  std::unique_ptr<catalogue::Catalogue> catalogue;
  std::unique_ptr<calls::Calls> calls;
  std::unique_ptr<calls::People> people;
  std::unique_ptr<relay::Relay> relay;
  std::vector<catalogue::DefinitionChange> changes;  // as the catalogue told them

 private:
  void judge_receipts();
  catalogue::Rules load(const std::string& trust, const std::string& policy,
                        std::shared_ptr<const trust::LockFile> lock);

  RigOptions options_;
  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<StateFolder> folder_;
  Metrics metrics_;
  std::uint64_t sessions_ = 0;
};

// The members of `dev.sallyport/call` in a result.
struct CallView {
  std::string code, verdict, outcome, retry, operation, approval, receipt, text;
  bool is_error = false, replayed = false;
};
CallView view(const Answer& answer);

}  // namespace sallyport::test
