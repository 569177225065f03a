// ServerLink: our client side towards one MCP server; Servers: the pool of them; ServerEvents: what servers tell us.
// All on the loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/deadline.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/mcp/jsonrpc.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

class PermittedCall;

// What became of one attempt. `sent` says whether any byte of the request may have left: only `false` proves that
// nothing was executed.
struct ServerAnswer {
  enum class Kind : unsigned char {
    result,    // `result` is an object
    error,     // `error` is a JSON-RPC error object
    lost,      // no answer: time-out, crash, broken stream, an answer with the wrong id or shape
    not_sent,  // provably nothing was sent
  };
  Kind kind = Kind::not_sent;
  bool sent = false;
  std::shared_ptr<const json::Document> document;  // owns result and error
  json::Value result;
  json::Value error;
  std::optional<int> http_status;
  std::string detail;                     // for kinds lost and not_sent (and HTTP errors): one sentence
  std::optional<CancelReason> cancelled;  // the attempt ended because of Cancel
  bool timed_out = false;
  bool over_limit = false;  // lost only because it was too long or too deep to be read: the server did answer
};

struct CallControl {
  Deadline deadline;
  Cancel* cancel = nullptr;  // may be null; the link registers itself and tells the server
  std::function<void(std::string_view params_raw)>
      progress;  // params of notifications/progress, our token; may be empty
};

// An answer that comes after its attempt was given up: evidence for an unknown operation (design section 7).
struct LateAnswer {
  std::string operation;
  int attempt = 1;
  ServerAnswer answer;
};

struct ToolListing {
  std::vector<std::shared_ptr<const json::Document>> pages;  // own the tools
  std::vector<json::Value> tools;                            // objects, in the server's order; bounded
};

struct ServerInfo {
  std::string name, version, protocol_version, instructions, capabilities_raw;
};

class ServerLink {
 public:
  virtual ~ServerLink() = default;
  [[nodiscard]] virtual const ServerInfo& info() const = 0;
  // The only way a tool is called. Takes the permit, so that what was not decided and recorded cannot be dispatched.
  virtual asio::awaitable<ServerAnswer> call(PermittedCall permit, CallControl control) = 0;
  // Everything else; refuses `tools/call` (Error invalid).
  virtual asio::awaitable<ServerAnswer> relay(std::string method, std::string params_raw, CallControl control) = 0;
  virtual asio::awaitable<Result<ToolListing>> list_tools(Deadline deadline) = 0;  // all pages
  [[nodiscard]] virtual bool alive() const = 0;
};

enum class ServerState : unsigned char { idle, starting, up, down, set_aside };

struct ServerStatus {
  std::string id;
  ServerState state = ServerState::idle;
  std::string reason;  // of down and set_aside
};

class ServerEvents {
 public:
  virtual ~ServerEvents() = default;
  virtual void on_tools_changed(const std::string& server) = 0;
  virtual void on_state(const ServerStatus& status) = 0;
  virtual void on_late_answer(LateAnswer late) = 0;
  virtual void on_log(const std::string& server, std::string_view params_raw) = 0;  // notifications/message
};

// Who a link is for: a stdio server is one child per principal unless shared (design section 8).
struct LinkKey {
  std::string server;
  std::string principal;
  std::string session;  // used where the server says "isolate": "session"
};

class Servers {
 public:
  virtual ~Servers() = default;
  [[nodiscard]] virtual std::vector<ServerStatus> status() const = 0;
  // Starts or reuses; single-flight; an error names the server and the reason (RetryClass::not_sent).
  virtual asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline deadline) = 0;
  // The identity as found: canonical JSON (trust/servers/identity.hpp), known once a link was made. Empty: not known
  // yet.
  [[nodiscard]] virtual std::string identity(const std::string& server) const = 0;
  // Closes stdin, TERM, KILL, DELETE of sessions; returns when all are gone or the deadline passed.
  virtual asio::awaitable<void> shutdown(Deadline deadline) = 0;
};

}  // namespace sallyport::gateway
