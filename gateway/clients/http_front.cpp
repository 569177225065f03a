#include "gateway/clients/http_front.hpp"

#include "gateway/base/log.hpp"
#include "gateway/clients/batch.hpp"
#include "gateway/clients/http_events.hpp"
#include "gateway/clients/http_head.hpp"
#include "gateway/clients/modern_head.hpp"

namespace sallyport::gateway {

using mcp::code::kInvalidRequest;

struct HttpFront::State {
  State(asio::any_io_executor executor, Sessions& all, std::shared_ptr<const Authenticator> who, HttpFrontOptions given)
      : loop(executor),
        sessions(all),
        authenticator(std::move(who)),
        options(std::move(given)),
        rules(origin_rules(options.listen)),
        server(
            std::move(executor), "clients", http_limits(),
            [this](HttpRequest request, HttpExchange& exchange) { return handle(std::move(request), exchange); },
            [this](const HttpRequest& head, const ByteStream&) { return precheck(head); },
            [this](int status, const std::string& message, const HttpHeaders* head) {
              return refuse(status, message, head);
            }) {}

  [[nodiscard]] HttpLimits http_limits() const {
    HttpLimits limits = options.http;
    limits.body_bytes = options.limits.message_bytes;
    limits.connections = options.connections;
    return limits;
  }
  [[nodiscard]] EventTimes times() const { return {options.stream_after, options.keep_alive}; }
  [[nodiscard]] json::Limits json_limits() const {
    return {.bytes = options.limits.message_bytes, .depth = options.limits.depth};
  }

  // What the codec refuses is answered like everything else: clients look for a JSON-RPC error.
  HttpResponse refuse(int status, const std::string& message, const HttpHeaders* head) const {
    HttpResponse response = refusal(status, status < 500 ? kInvalidRequest : mcp::code::kInternalError, message);
    if (head != nullptr && check_origin(*head, rules)) add_cors(*head, response.headers);
    return response;
  }
  std::optional<HttpResponse> precheck(const HttpRequest& head) const;
  [[nodiscard]] std::optional<HttpResponse> check_head(const HttpRequest& head) const;
  [[nodiscard]] Result<Identity> identify(const HttpHeaders& headers) const;
  asio::awaitable<void> handle(HttpRequest request, HttpExchange& exchange);
  asio::awaitable<void> post(HttpRequest request, HttpExchange& exchange, Identity identity, Mount mount);
  asio::awaitable<void> post_modern(HttpRequest request, HttpExchange& exchange, Identity identity, Mount mount,
                                    Modern::Arrived arrived);
  asio::awaitable<void> get(HttpRequest request, HttpExchange& exchange, std::shared_ptr<Session> session);
  asio::awaitable<void> respond(const HttpRequest& request, HttpExchange& exchange, HttpResponse response) const;

  // What a POST with these messages is refused with, if it is; else the session it belongs to.
  struct Admitted {
    std::shared_ptr<Session> session;
    std::optional<HttpResponse> refused;
  };
  Admitted admit(const HttpRequest& request, const mcp::Incoming& incoming, std::shared_ptr<Session> session,
                 const Identity& identity, const Mount& mount);
  Admitted begin_session(const HttpRequest& request, const mcp::Incoming& incoming, const Identity& identity,
                         const Mount& mount);

  asio::any_io_executor loop;
  Sessions& sessions;
  std::shared_ptr<const Authenticator> authenticator;
  HttpFrontOptions options;
  OriginRules rules;
  bool draining = false;
  HttpServer server;  // last: its handlers use the rest
};

namespace {

std::size_t requests_in(const mcp::Incoming& incoming) {
  std::size_t count = 0;
  for (const mcp::Message& message : incoming.messages) count += message.kind == mcp::Message::Kind::request ? 1 : 0;
  return count;
}

// The id to refuse a whole text with.
std::string_view id_of(const mcp::Incoming& incoming) {
  if (incoming.batch) return "null";
  const mcp::Message& first = incoming.messages.front();
  return first.kind != mcp::Message::Kind::request ? std::string_view("null") : first.id;
}

Session::Extras extras_of(const HttpRequest& request) {
  return {std::string(request.headers.get("Idempotency-Key").value_or("")), request.headers.has("Idempotency-Key")};
}

// Of which era it is. A batch can only be of the legacy one, all of it.
Entry entry_of(const mcp::Incoming& incoming, const HttpHeaders& headers) {
  if (!incoming.batch) return read_entry(incoming.messages.front(), &headers);
  for (const mcp::Message& message : incoming.messages) {
    if (!mcp::claims_modern(message.params)) continue;
    return RefusedEntry{400,
                        {kInvalidRequest, "requests of this protocol version come one by one, not in batches", {}}};
  }
  return LegacyEntry{};
}

bool names_unknown_version(const HttpHeaders& headers) {
  const auto version = headers.get("MCP-Protocol-Version");
  return version && !mcp::is_legacy(*version);
}

HttpResponse unauthorized(bool presented, std::string_view message) {
  HttpResponse response = refusal(401, kInvalidRequest, message);
  response.headers.add("WWW-Authenticate", presented ? R"(Bearer realm="sallyport", error="invalid_token")"
                                                     : R"(Bearer realm="sallyport")");
  return response;
}

HttpResponse busy(int status, std::string_view message, std::string_view id) {
  HttpResponse response = refusal(status, kInvalidRequest, message, id);
  response.headers.add("Retry-After", "5");
  return response;
}

HttpResponse not_allowed() {
  HttpResponse response = refusal(405, kInvalidRequest, "this path takes POST, and in a session GET and DELETE");
  response.headers.add("Allow", "POST, GET, DELETE");
  return response;
}

HttpResponse unknown_session(std::string_view id) {
  return refusal(404, kSessionNotFound, "no such session: begin a new one with `initialize`", id);
}

}  // namespace

Result<Identity> HttpFront::State::identify(const HttpHeaders& headers) const {
  if (!headers.has("Authorization")) return authenticator->without_credential();
  const auto token = bearer_token(headers);
  if (!token) {
    return fail(ErrorCode::forbidden, "Authorization must be one `Bearer` credential", ErrorSource::client);
  }
  return authenticator->by_token(*token);
}

std::optional<HttpResponse> HttpFront::State::check_head(const HttpRequest& head) const {
  if (is_preflight(head)) return preflight_answer(head);
  const Result<Identity> identity = identify(head.headers);
  if (!identity) return unauthorized(head.headers.has("Authorization"), identity.error().message);
  const auto mount = parse_mount(head.path);
  if (!mount) return refusal(404, kInvalidRequest, "no such path: MCP is at /mcp and /servers/<id>/mcp");
  if (!mount->all() && !(options.knows_server && options.knows_server(mount->server))) {
    return refusal(404, kInvalidRequest, "no such server");
  }
  if (head.method == "POST") return check_post_head(head.headers);
  if (head.method != "GET" && head.method != "DELETE") return not_allowed();
  // The modern era has neither.
  if (mcp::is_modern(head.headers.get("MCP-Protocol-Version").value_or(""))) return not_allowed();
  // Probes of other versions send a GET without a session and want to hear that there is no stream.
  if (head.method == "GET" && !head.headers.has("Mcp-Session-Id")) return not_allowed();
  if (head.headers.count("Mcp-Session-Id") != 1) return refusal(400, kInvalidRequest, "Mcp-Session-Id is needed, once");
  if (head.method == "GET" && !accepted_by(head.headers).events) {
    return refusal(406, kInvalidRequest, "Accept must take text/event-stream");
  }
  return check_version(head.headers, "null");
}

std::optional<HttpResponse> HttpFront::State::precheck(const HttpRequest& head) const {
  const Status origin = check_origin(head.headers, rules);
  if (!origin) return refusal(403, kInvalidRequest, origin.error().message);
  std::optional<HttpResponse> refused = check_head(head);
  if (refused) add_cors(head.headers, refused->headers);
  return refused;
}

asio::awaitable<void> HttpFront::State::respond(const HttpRequest& request, HttpExchange& exchange,
                                                HttpResponse response) const {
  add_cors(request.headers, response.headers);
  const Status sent = co_await exchange.respond(std::move(response));
  if (!sent) log::debug("http.answer_lost", {{"peer", exchange.peer()}, {"reason", sent.error().message}});
}

asio::awaitable<void> HttpFront::State::handle(HttpRequest request, HttpExchange& exchange) {
  // All of it was checked by precheck, except what may have changed since.
  Result<Identity> identity = identify(request.headers);
  std::optional<Mount> mount = parse_mount(request.path);
  if (!identity || !mount) {
    HttpResponse response = unauthorized(true, "the credential is not valid any more");
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  if (request.method == "POST") {
    co_await post(std::move(request), exchange, std::move(*identity), std::move(*mount));
    co_return;
  }
  const std::string_view token = request.headers.get("Mcp-Session-Id").value_or("");
  const std::shared_ptr<Session> session = sessions.find(token, *identity, *mount);
  if (!session) {
    HttpResponse response = unknown_session("null");
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  if (request.method == "GET") {
    co_await get(std::move(request), exchange, session);
    co_return;
  }
  sessions.close(session, CancelReason::client);
  HttpResponse gone;
  gone.status = 204;
  co_await respond(request, exchange, std::move(gone));
}

asio::awaitable<void> HttpFront::State::get(HttpRequest request, HttpExchange& exchange,
                                            std::shared_ptr<Session> session) {
  if (draining) {
    HttpResponse response = busy(503, "the gateway is shutting down", "null");
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  HttpHeaders headers;
  add_cors(request.headers, headers);
  const auto last = request.headers.get("Last-Event-ID");
  const std::optional<EventId> id = last && session->resumption() ? parse_event_id(*last) : std::nullopt;
  if (!id || id->stream == 0) {
    const auto after = id ? std::optional(id->event) : std::nullopt;
    co_await send_stream(exchange, std::move(session), std::move(headers), times(), after);
    co_return;
  }
  std::shared_ptr<PostStream> stream = session->resumption()->find(id->stream);
  if (!stream) {
    HttpResponse response = refusal(400, kInvalidRequest, "the stream of this Last-Event-ID is not kept any more");
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  co_await resume_reply(exchange, std::move(session), std::move(stream), id->event, std::move(headers), times());
}

HttpFront::State::Admitted HttpFront::State::begin_session(const HttpRequest& request, const mcp::Incoming& incoming,
                                                           const Identity& identity, const Mount& mount) {
  const std::string_view id = id_of(incoming);
  const auto starts = [](const mcp::Message& first) {
    return first.kind == mcp::Message::Kind::request && first.method == "initialize";
  };
  const bool initializes = !incoming.batch && starts(incoming.messages.front());
  if (!initializes && names_unknown_version(request.headers)) {
    const mcp::RpcError error = mcp::unsupported_version(*request.headers.get("MCP-Protocol-Version"));
    return {nullptr, refusal(400, error, id)};
  }
  if (!initializes)
    return {nullptr, refusal(400, kInvalidRequest, "Mcp-Session-Id is needed: begin with `initialize`", id)};
  Result<std::shared_ptr<Session>> opened = sessions.open(identity, mount, Sessions::Transport::http);
  if (opened) return {std::move(*opened), std::nullopt};
  const int status = opened.error().source == ErrorSource::client ? 429 : 503;
  return {nullptr, busy(status, opened.error().message, id)};
}

HttpFront::State::Admitted HttpFront::State::admit(const HttpRequest& request, const mcp::Incoming& incoming,
                                                   std::shared_ptr<Session> session, const Identity& identity,
                                                   const Mount& mount) {
  const std::string_view id = id_of(incoming);
  if (draining || sessions.draining()) return {nullptr, busy(503, "the gateway is shutting down", id)};
  const bool has_key = request.headers.has("Idempotency-Key");
  if (has_key && requests_in(incoming) > 1) {
    return {nullptr, refusal(400, kInvalidRequest, "one Idempotency-Key cannot stand for several requests", id)};
  }
  if (!request.headers.has("Mcp-Session-Id")) return begin_session(request, incoming, identity, mount);
  if (!session) return {nullptr, unknown_session(id)};
  if (auto refused = check_version(request.headers, id)) return {nullptr, std::move(refused)};
  return {std::move(session), std::nullopt};
}

asio::awaitable<void> HttpFront::State::post(HttpRequest request, HttpExchange& exchange, Identity identity,
                                             Mount mount) {
  const auto token = request.headers.get("Mcp-Session-Id");
  std::shared_ptr<Session> session = token ? sessions.find(*token, identity, mount) : nullptr;
  const bool batches = session && session->allows_batches();
  mcp::IncomingResult incoming = mcp::parse_incoming(std::move(request.body), json_limits(), batches);
  if (!incoming) {
    const mcp::IncomingFault& fault = incoming.error();
    HttpResponse response = refusal(400, fault.error.code, fault.error.message, fault.id);
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  Entry entry = entry_of(*incoming, request.headers);
  if (const auto* refused = std::get_if<RefusedEntry>(&entry)) {
    HttpResponse response = refusal(refused->status, refused->error, id_of(*incoming));
    co_await respond(request, exchange, std::move(response));
    co_return;
  }
  if (auto* modern = std::get_if<ModernEntry>(&entry)) {
    Modern::Arrived arrived{std::move(incoming->messages.front()), std::move(modern->envelope), extras_of(request)};
    co_await post_modern(std::move(request), exchange, std::move(identity), std::move(mount), std::move(arrived));
    co_return;
  }
  if (!token && !incoming->batch && incoming->messages.front().method == "initialize") co_await sessions.prepare(mount);
  Admitted admitted = admit(request, *incoming, std::move(session), identity, mount);
  if (admitted.refused) {
    co_await respond(request, exchange, std::move(*admitted.refused));
    co_return;
  }
  session = std::move(admitted.session);
  const Accepts accepts = accepted_by(request.headers);
  const std::size_t requests = requests_in(*incoming) + incoming->faults.size();
  const auto reply = std::make_shared<HttpReply>(loop, accepts.events);
  std::vector<std::shared_ptr<Reply>> parts;
  if (incoming->batch && requests > 0) parts = split_reply(reply, requests);
  std::size_t next = 0;
  for (const mcp::IncomingFault& fault : incoming->faults) finish_with(fault, *parts[next++]);
  for (mcp::Message& message : incoming->messages) {
    std::shared_ptr<Reply> own = reply;
    if (message.kind == mcp::Message::Kind::request && incoming->batch) own = parts[next++];
    session->receive(std::move(message), extras_of(request), std::move(own));
  }
  AnswerForm form{accepts.json, accepts.events, {}};
  add_cors(request.headers, form.headers);
  if (!token) {
    if (session->initialized()) {
      form.headers.set("Mcp-Session-Id", session->token());
    } else {
      sessions.close(session, CancelReason::client);  // its `initialize` was refused
    }
  }
  if (requests == 0) {
    HttpResponse accepted;
    accepted.status = 202;
    co_await respond(request, exchange, std::move(accepted));
    co_return;
  }
  const bool resumable = token && session->resumption() != nullptr;
  request = {};  // a held call needs none of it
  if (!resumable) session = nullptr;
  co_await send_reply(exchange, reply, std::move(form), times(), std::move(session));
}

// A modern request stands alone: no session, nothing that comes after it. Its client going away cancels it.
asio::awaitable<void> HttpFront::State::post_modern(HttpRequest request, HttpExchange& exchange, Identity identity,
                                                    Mount mount, Modern::Arrived arrived) {
  const std::string id(arrived.message.id.empty() ? "null" : arrived.message.id);
  std::optional<HttpResponse> instead;
  if (draining || sessions.draining()) {
    instead = busy(503, "the gateway is shutting down", id);
  } else if (arrived.message.kind != mcp::Message::Kind::request) {
    instead.emplace().status = 202;
  } else {
    const auto find = [&](std::string_view name) { return request.headers.get(name); };
    const auto fault = sessions.modern().param_fault(identity, mount, arrived.message, find);
    if (fault) instead = refusal(400, mcp::code::kHeaderMismatch, "Header mismatch: " + *fault, id);
  }
  const Accepts accepts = accepted_by(request.headers);
  const auto reply = std::make_shared<HttpReply>(loop, accepts.events);
  if (!instead) {
    const std::string connection = std::to_string(exchange.connection());
    const Status taken = sessions.modern().receive(identity, mount, connection, std::move(arrived), reply);
    if (!taken) instead = busy(503, taken.error().message, id);
  }
  if (instead) {
    co_await respond(request, exchange, std::move(*instead));
    co_return;
  }
  AnswerForm form{accepts.json, accepts.events, {}};
  add_cors(request.headers, form.headers);
  request = {};
  co_await send_reply(exchange, reply, std::move(form), times(), nullptr);
}

HttpFront::HttpFront(asio::any_io_executor loop, Sessions& sessions, std::shared_ptr<const Authenticator> authenticator,
                     HttpFrontOptions options)
    : state_(std::make_shared<State>(std::move(loop), sessions, std::move(authenticator), std::move(options))) {}

HttpFront::~HttpFront() = default;

void HttpFront::set_authenticator(std::shared_ptr<const Authenticator> authenticator) {
  state_->authenticator = std::move(authenticator);
}

void HttpFront::accept(std::unique_ptr<ByteStream> stream) {
  if (!state_->draining) state_->server.accept(std::move(stream));
}

asio::awaitable<bool> HttpFront::shutdown(Deadline deadline) {
  const std::shared_ptr<State> state = state_;
  state->draining = true;
  state->sessions.close_streams(Sessions::Transport::http);
  const bool quiet = co_await state->sessions.drain(deadline);
  const bool clean = co_await state->server.stop(deadline);
  co_return quiet&& clean;
}

std::size_t HttpFront::connections() const { return state_->server.connections(); }

}  // namespace sallyport::gateway
