// Inbound: one request of a client, free of era and transport, as clients/ hands it to Front; Answer: what goes back.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/deadline.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/mcp/param_headers.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/ports/input.hpp"
#include "gateway/ports/server_link.hpp"
#include "schemas/core/time.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::gateway {

// The client's side of one open request: where progress and log notes of this request go. Lives on the loop; outlives
// the handling of the request. Notes to a client that is gone are dropped.
class ClientChannel {
 public:
  virtual ~ClientChannel() = default;
  virtual void notify(std::string_view method,
                      std::string_view params_raw) = 0;  // queued, bounded (drops progress first)
  [[nodiscard]] virtual bool open() const = 0;           // the client can still get the answer
  // Puts a server's question to the client; the task may outlive this channel. Refused where the client cannot be
  // asked.
  virtual asio::awaitable<ClientReply> ask(ServerQuestion /*question*/) {
    co_return ClientReply::fail(mcp::code::kMethodNotFound, "this client cannot be asked");
  }
};

// What a client may see: the whole gateway at /mcp, or one server at /servers/<id>/mcp.
struct Mount {
  std::string server;  // empty: all
  [[nodiscard]] bool all() const { return server.empty(); }
};

// A client connection or session, as far as calls care. Shared: a call may outlive its session.
struct ClientContext {
  Principal principal;
  Mount mount;
  std::string session;           // se_…; one per HTTP session or stdio connection
  std::string run;               // run_…
  std::string protocol_version;  // negotiated
  mcp::Era era = mcp::Era::legacy;
  std::string transport;     // "http" or "stdio"
  std::string boundary;      // "service" or "client-started"
  std::string claimed_name;  // clientInfo, as claimed
  std::string claimed_version;
  Millis hold{45'000};  // how long an ask holds the call before APPROVAL_PENDING
  // What the client can be asked: raw JSON of its capabilities. Legacy: for the session; modern: of this request.
  std::string capabilities = "{}";
  std::string log_level;  // modern: of this request, empty: no log messages; legacy: empty, the session has its own
  // Whether its user can be asked while a call waits (a legacy session): by a form, by a page to visit.
  bool asks_by_form = false, asks_by_url = false;
  bool takes_tasks = false;  // modern: what takes long may be answered with a task
};

struct Inbound {
  std::shared_ptr<const ClientContext> client;
  std::shared_ptr<const json::Document> document;  // of the message; owns the bytes of params
  std::string id;                                  // raw token of the message
  std::string method;
  json::Value params;              // absent, or an object
  std::string idempotency_header;  // `Idempotency-Key`, if the transport has headers
  bool has_idempotency_header = false;
  ClientChannel* channel = nullptr;  // never null; valid until the answer is handed back
  std::shared_ptr<Cancel> cancel;    // set by the client's cancel, a modern disconnect, shutdown
  UnixMillis received = 0;
  std::shared_ptr<const InputGiven> given;  // it is a further leg of a call; else null
};

// Which server a resource, prompt or completion belongs to, and the prompt's name there (relay finds it). No server:
// unknown. `problem`: it cannot be told which; the words for the client.
struct Target {
  std::string server;
  std::string name;
  std::string problem;
};

// Exactly one of result, error and (to modern clients only) input. `delivered` (may be empty) is called once: true if
// the transport took the last byte.
struct Answer {
  std::string result;  // raw JSON object, without what only one era has at its top (mcp::without_era_members)
  std::optional<mcp::RpcError> error;
  std::function<void(bool)> delivered;
  std::shared_ptr<const InputNeeded> input = nullptr;  // the server wants to know this first
  // For modern clients only: a type that is not `complete`, and how long a list or resource may be kept (ms).
  std::string result_type = {};
  std::optional<std::uint64_t> ttl_ms = {};

  static Answer of(std::string result_raw) { return Answer{std::move(result_raw), std::nullopt, {}}; }
  static Answer fail(int code, std::string message, std::string data = {}) {
    return Answer{{}, mcp::RpcError{code, std::move(message), std::move(data)}, {}};
  }
};

// The door to everything behind clients/: joined by app from calls/, relay/ and catalogue/. Not for initialize, ping,
// logging/setLevel and sessions, which clients/ answers itself and only tells of.
class Front {
 public:
  virtual ~Front() = default;
  // Handles a request. The Inbound's channel must stay valid until this returns.
  virtual asio::awaitable<Answer> handle(Inbound inbound) = 0;
  // For `initialize` and `server/discover`: raw JSON of our capabilities, and the instructions (may be empty).
  [[nodiscard]] virtual std::string capabilities(const ClientContext& client) const = 0;
  [[nodiscard]] virtual std::string instructions(const ClientContext& client) const = 0;
  // A request that the bound of open requests of its session refused, and that was answered so: on record like every
  // refusal.
  virtual void over_limit(const Inbound& /*inbound*/) {}
  // Before capabilities(): until what the servers of the mount offer is known, or a bound of time has passed.
  virtual asio::awaitable<void> prepare(Mount /*mount*/) { co_return; }
  // Where the `Mcp-Param-*` headers of a modern tools/call say another thing than its body, in words; nullopt: nowhere.
  [[nodiscard]] virtual std::optional<std::string> header_fault(const ClientContext& /*client*/, json::Value /*params*/,
                                                                const mcp::HeaderLookup& /*find*/) const {
    return std::nullopt;
  }
  virtual void level_changed(const ClientContext& /*client*/) {}  // the session's log level
  virtual void roots_changed(const ClientContext& /*client*/) {}  // notifications/roots/list_changed
  virtual void session_ended(const ClientContext& /*client*/) {}
};

}  // namespace sallyport::gateway
