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
#include "schemas/core/time.hpp"

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
  bool bare_http = false;             // an error that is an HTTP status alone: no JSON-RPC message of the server came
  std::optional<Millis> retry_after;  // what the server asked to wait before another attempt
  std::string detail;                 // for kinds lost and not_sent (and HTTP errors): one sentence
  std::optional<CancelReason> cancelled;  // the attempt ended because of Cancel
  bool timed_out = false;
  bool over_limit = false;  // lost only because it was too long or too deep to be read: the server did answer
  bool modern = false;      // by a server of the modern era: results have a resultType, errors its numbers
};

// What a server asks of the client while a call is open on it: sampling, elicitation, roots.
struct ServerQuestion {
  std::string server;
  std::string method;
  std::shared_ptr<const json::Document> document;  // owns params
  json::Value params;                              // absent, or an object
  Deadline deadline;
  std::shared_ptr<Cancel> cancel;  // set when the server cancels it, and when the call that it belongs to ends
};

// Exactly one of result (raw JSON object) and error.
struct ClientReply {
  std::string result;
  std::optional<mcp::RpcError> error;
  static ClientReply fail(int code, std::string message) {
    return ClientReply{{}, mcp::RpcError{code, std::move(message), {}}};
  }
};

struct CallControl {
  Deadline deadline;
  Cancel* cancel = nullptr;  // may be null; the link registers itself and tells the server
  std::function<void(std::string_view params_raw)>
      progress;  // params of notifications/progress, our token; may be empty
  // Of the client's session that the request is for: what a server says or asks on a pipe that several share goes to
  // the one session with a request open there, or nowhere.
  std::string session;
  std::function<void(std::string_view params_raw)> log;                      // notifications/message; may be empty
  std::function<asio::awaitable<ClientReply>(ServerQuestion question)> ask;  // empty: questions are refused
  // For servers of the modern era, which hear them with every request: raw JSON of what the client that this is for can
  // be asked (empty: nothing), and the log level that it wants (empty: the link's own).
  std::string capabilities;
  std::string log_level;
  // The server made a task of it (where `capabilities` have that extension), which the link follows until it has ended;
  // may be empty.
  std::function<void()> task_made;
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
  Deadline fresh_until = Deadline::never();                  // when it has to be asked for again before it is used
};

struct ServerInfo {
  std::string name, version, protocol_version, instructions, capabilities_raw;
};

class ServerLink {
 public:
  virtual ~ServerLink() = default;
  [[nodiscard]] virtual const ServerInfo& info() const = 0;
  // Who this very server was found to be: canonical JSON (trust/servers/identity.hpp). Never changes on a link.
  [[nodiscard]] virtual const std::string& identity() const = 0;
  // The only way a tool is called, a resource or prompt read, an argument completed. Takes the permit, so that what was
  // not decided and recorded cannot be dispatched.
  virtual asio::awaitable<ServerAnswer> call(PermittedCall permit, CallControl control) = 0;
  // Everything else; what only call() may send is not sent.
  virtual asio::awaitable<ServerAnswer> relay(std::string method, std::string params_raw, CallControl control) = 0;
  virtual asio::awaitable<Result<ToolListing>> list_tools(Deadline deadline) = 0;  // all pages
  [[nodiscard]] virtual bool alive() const = 0;
  // A notification; lost if the link is down.
  virtual void tell(std::string_view /*method*/, std::string_view /*params_raw*/) {}
  // While held (counted), it does not end for being idle.
  virtual void hold(int /*by*/) {}
};

enum class ServerState : unsigned char { idle, starting, up, down, set_aside };

struct ServerStatus {
  std::string id;
  ServerState state = ServerState::idle;
  std::string reason;  // of down and set_aside
};

// Who a link is for: a stdio server is one child per principal unless shared (design section 8).
struct LinkKey {
  std::string server;
  std::string principal;  // empty in what a link says of itself: shared by all
  std::string session;    // used where the server says "isolate": "session"
  // A legacy server is told at the start what it may ask. A modern client cannot be asked while its request is open, so
  // that it uses a link of its own, on which nothing is declared, where `passes` would declare anything.
  bool askable = true;
};

// The principal of links by which the gateway sees for itself what a server is and offers; nothing is called on them.
inline constexpr std::string_view kLooker = "gateway";

enum class ListKind : unsigned char { tools, prompts, resources };

class ServerEvents {
 public:
  virtual ~ServerEvents() = default;
  virtual void on_list_changed(const std::string& server, ListKind kind) = 0;
  virtual void on_state(const ServerStatus& status) = 0;
  virtual void on_late_answer(LateAnswer late) = 0;
  // notifications/message that belongs to no request, and resources/updated: from whose link.
  virtual void on_log(const LinkKey& from, std::string_view params_raw) = 0;
  virtual void on_resource_updated(const LinkKey& /*from*/, std::string_view /*params_raw*/) {}
  virtual void on_elicitation_complete(const LinkKey& /*from*/, std::string_view /*params_raw*/) {}
  // What we declare to that server as its client: raw JSON.
  [[nodiscard]] virtual std::string client_capabilities(const std::string& /*server*/) { return "{}"; }
  // Why a server of that identity (canonical JSON) is not the accepted one; nullopt: it is, or none was accepted.
  [[nodiscard]] virtual std::optional<std::string> why_foreign(const std::string& /*server*/,
                                                               const std::string& /*identity*/) {
    return std::nullopt;
  }
  // The log level that a new link asks for; empty: none.
  [[nodiscard]] virtual std::string log_level(const LinkKey& /*link*/) { return {}; }
};

class Servers {
 public:
  virtual ~Servers() = default;
  [[nodiscard]] virtual std::vector<ServerStatus> status() const = 0;
  // Starts or reuses; single-flight; an error names the server and the reason (RetryClass::not_sent). ErrorCode::
  // forbidden: it is not the server that was accepted; only kLooker is given it, to see what it is.
  virtual asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline deadline) = 0;
  // The protocol version that it was last found to speak; empty: not known yet.
  [[nodiscard]] virtual std::string spoken(const std::string& /*server*/) const { return {}; }
  // The links that are up and serve this principal, the shared ones too.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::shared_ptr<ServerLink>>> open_links(
      const std::string& /*principal*/) {
    return {};
  }
  // Closes stdin, TERM, KILL, DELETE of sessions; returns when all are gone or the deadline passed.
  virtual asio::awaitable<void> shutdown(Deadline deadline) = 0;
};

}  // namespace sallyport::gateway
