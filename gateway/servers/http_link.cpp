// Sessions, requests and notes; what comes back is read in http_answers.cpp.
#include "gateway/servers/http_link.hpp"

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/servers/params.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kConnections = 256;
constexpr std::size_t kMaxNotes = 64;
constexpr std::size_t kMaxSessionId = 1024;
constexpr std::chrono::seconds kNoteWait{10};
constexpr std::chrono::seconds kDeleteWait{3};

// While it lives, whoever gives the exchange up ends the answer that is being read.
class Abort {
 public:
  Abort(std::shared_ptr<Exchange> exchange, HttpClientResponse* response) : exchange_(std::move(exchange)) {
    if (response != nullptr) exchange_->abort = [response] { response->close(); };
  }
  Abort(const Abort&) = delete;
  Abort& operator=(const Abort&) = delete;
  ~Abort() { exchange_->abort = {}; }

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

Result<Url> parse_server_url(const std::string& text) {
  auto url = parse_url(text);
  if (!url) return fail(std::move(url.error()));
  if (url->scheme == Url::Scheme::http && !is_loopback(url->host)) {
    return fail(ErrorCode::invalid,
                fmt::format("`{}`: plain http is only for servers on this machine; use https", url->origin()));
  }
  return url;
}

HttpLink::HttpLink(const std::shared_ptr<LinkContext>& context, const ServerSettings& settings, Url url)
    : Link(context, settings), url_(std::move(url)), headers_(context, settings.headers), changed_(context->loop) {
  identity_.kind = trust::Identity::Kind::http;
  // Without the query: it may hold a key, and identities stand in files and receipts.
  identity_.url = url_.scheme == Url::Scheme::unix_socket
                      ? url_.text()
                      : url_.origin() + url_.target.substr(0, url_.target.find('?'));
}

// The certificate store is read on a worker, once per file.
asio::awaitable<Status> HttpLink::make_client() {
  HttpClientOptions options;
  options.connections = kConnections;
  if (url_.scheme == Url::Scheme::https) {
    auto& known = context_->tls[settings().ca_file];
    if (!known) {
      Result<std::shared_ptr<TlsClientContext>> loaded = fail(ErrorCode::internal, "not loaded");
      const std::string file = settings().ca_file;
      const std::function<void()> load = [&] { loaded = TlsClientContext::load(file); };
      co_await context_->workers.run(load);
      if (!loaded) co_return fail(std::move(loaded.error()));
      context_->tls[settings().ca_file] = std::move(*loaded);
    }
    options.tls = context_->tls[settings().ca_file];
    // Later connections must present the key that the identity was taken from.
    const std::weak_ptr<HttpLink> weak = std::static_pointer_cast<HttpLink>(shared_from_this());
    options.verify_peer = [weak](const TlsPeer& peer) -> Status {
      const Self self = weak.lock();
      if (!self) return fail(ErrorCode::cancelled, "the link has ended");
      if (self->settings().spki && !self->expected_key_.empty() && self->expected_key_ != peer.spki_sha256) {
        self->end_session("its key has changed");
        return fail(ErrorCode::unavailable, "its key has changed since the session began");
      }
      self->certificate_key_ = peer.spki_sha256;
      return {};
    };
  }
  client_ = std::make_shared<HttpClient>(context_->loop, std::move(options));
  co_return Status{};
}

asio::awaitable<Status> HttpLink::start(Deadline deadline) {
  for (const auto& [name, source] : settings().headers) {
    const Status usable = check_header_name(name);
    if (!usable) {
      finish(usable.error().message, false);
      co_return usable;
    }
  }
  const Status made = co_await make_client();
  if (!made) {
    finish(made.error().message, false);
    co_return made;
  }
  Status accepted = co_await shake_hands(deadline);
  if (!accepted) {
    finish(accepted.error().message, false);
    accepted.error().retry = RetryClass::not_sent;
    co_return accepted;
  }
  if (url_.scheme == Url::Scheme::https) {
    identity_.certificate = url_.host;
    expected_key_ = certificate_key_;
    if (settings().spki) identity_.spki.push_back("sha256:" + certificate_key_);
  }
  if (is_modern()) {
    log::info("server.connected", {{"server", id()}, {"url", identity_.url}, {"protocol", info().protocol_version}});
    co_return Status{};
  }
  // Before any other request, so that the server knows that the handshake is over.
  const Self self = std::static_pointer_cast<HttpLink>(shared_from_this());
  co_await post_note(self, mcp::notification("notifications/initialized", {}));
  log::info("server.connected", {{"server", id()}, {"url", identity_.url}, {"protocol", info().protocol_version}});
  context_->tasks.spawn("listen " + id(), listen(self));
  co_return Status{};
}

// A request with everything that all requests of a session carry.
asio::awaitable<Result<HttpClientRequest>> HttpLink::request(std::string method, std::string body, Deadline deadline) {
  Result<HttpHeaders> headers = co_await headers_.get(deadline);
  if (!headers) co_return fail(std::move(headers.error()));
  HttpClientRequest request;
  request.method = std::move(method);
  request.url = url_;
  request.headers = std::move(*headers);
  request.body = std::move(body);
  request.headers.set("User-Agent", "sallyport/" + context_->version);
  if (request.method == "POST") {
    request.headers.set("Content-Type", "application/json");
    request.headers.set("Accept", "application/json, text/event-stream");
  } else if (request.method == "GET") {
    request.headers.set("Accept", "text/event-stream");
  }
  if (!session_.empty()) request.headers.set("Mcp-Session-Id", session_);
  if (const std::string_view version = spoken_version(); !version.empty())
    request.headers.set(std::string(mcp::header::kVersion), std::string(version));
  co_return request;
}

asio::awaitable<Result<HttpClientResponse>> HttpLink::send(HttpClientRequest request, Deadline deadline) {
  const std::shared_ptr<HttpClient> client = client_;
  Result<HttpClientResponse> response = co_await client->send(std::move(request), deadline);
  co_return response;
}

void HttpLink::begin(std::shared_ptr<Exchange> exchange, Outgoing outgoing) {
  const Self self = std::static_pointer_cast<HttpLink>(shared_from_this());
  const std::string name = fmt::format("post {} {}", id(), exchange->token);
  context_->tasks.spawn(name, post_request(self, std::move(exchange), std::move(outgoing)));
}

asio::awaitable<void> HttpLink::post_request(Self self, ExchangePtr exchange, Outgoing outgoing) {
  Result<HttpClientRequest> request = co_await self->request("POST", std::move(outgoing.text), outgoing.deadline);
  if (!request) {
    exchange->answer.set(not_sent_answer(request.error().message));
    co_return;
  }
  for (const auto& [name, value] : outgoing.headers) request->headers.set(name, value);
  if (!outgoing.idempotency_header.empty()) request->headers.set("Idempotency-Key", outgoing.idempotency_header);
  request->may_write = [exchange] {
    if (exchange->withdrawn) return false;
    exchange->sent = true;
    return true;
  };
  // In this era the end of the connection is what cancels a request.
  const bool modern = self->is_modern();
  if (modern) request->take_abort = [exchange](std::function<void()> abort) { exchange->abort = std::move(abort); };
  if (!modern) request->go_on = self->late_head(exchange);
  Result<HttpClientResponse> response = co_await self->send(std::move(*request), outgoing.deadline);
  exchange->abort = {};
  const Abort abort(exchange, modern && response ? &*response : nullptr);
  if (modern && response && exchange->given_up) response->close();
  if (!response) {
    ServerAnswer answer = unanswered(*exchange, response.error().message);
    answer.timed_out = response.error().code == ErrorCode::timeout;
    self->conversation_.settle(*exchange, std::move(answer));
    co_return;
  }
  if (outgoing.starts_session && response->status() < 300) self->take_session(*response);
  co_await self->take_answer(exchange, *response, outgoing.deadline);
}

void HttpLink::withdraw(Exchange& exchange, const std::string& why) {
  if (!is_modern()) return Link::withdraw(exchange, why);
  if (exchange.abort) exchange.abort();
}

// The specification asks it of clients over HTTP: a tool whose headers cannot be made would be called wrongly.
void HttpLink::keep_callable(ToolListing& listing) {
  param_headers_.clear();
  std::erase_if(listing.tools, [this](json::Value tool) {
    const json::Value name = tool.find("name");
    auto headers = mcp::param_headers(tool.find("inputSchema"));
    if (!headers) {
      log::warning("server.tool_left_out",
                   {{"server", id()}, {"tool", name.raw().substr(0, 200)}, {"reason", headers.error().message}});
      return true;
    }
    if (name.is_string() && !headers->empty()) param_headers_[name.string()] = std::move(*headers);
    return false;
  });
}

const std::vector<mcp::ParamHeader>* HttpLink::param_headers(const std::string& tool) const {
  const auto found = param_headers_.find(tool);
  return found == param_headers_.end() ? nullptr : &found->second;
}

void HttpLink::take_session(const HttpClientResponse& response) {
  const auto session = response.headers().get("Mcp-Session-Id");
  if (!session) return;
  if (session->empty() || session->size() > kMaxSessionId || !is_header_value(*session)) {
    log::warning("server.session_id_refused", {{"server", id()}, {"bytes", session->size()}});
    return;
  }
  session_ = std::string(*session);
}

void HttpLink::send_note(std::string text, bool /*urgent*/) {
  if (notes_ >= kMaxNotes) {
    log::warning("server.note_dropped", {{"server", id()}});
    return;
  }
  const Self self = std::static_pointer_cast<HttpLink>(shared_from_this());
  context_->tasks.spawn("note " + id(), post_note(self, std::move(text)));
}

asio::awaitable<void> HttpLink::post_note(Self self, std::string text) {
  struct Counted {
    explicit Counted(std::size_t& count) : count_(count) { ++count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --count_; }
    std::size_t& count_;
  };
  const Counted counted(self->notes_);
  const Deadline deadline = Deadline::after(kNoteWait);
  Result<HttpClientRequest> request = co_await self->request("POST", std::move(text), deadline);
  if (!request) co_return;
  Result<HttpClientResponse> response = co_await self->send(std::move(*request), deadline);
  if (!response) {
    log::warning("server.note_not_sent", {{"server", self->id()}, {"reason", response.error().message}});
    co_return;
  }
  // Any 2xx is fine, whatever its body; the rest is for the log.
  const int status = response->status();
  if (status >= 300) log::warning("server.note_refused", {{"server", self->id()}, {"status", status}});
  const Result<std::string> body = co_await response->read_all(16U << 10, deadline);
  if (body && self->lost_session(status, *body)) self->end_session("it has lost the session");
}

void HttpLink::end_session(const std::string& reason) {
  if (state_ == State::ended) return;
  session_lost_ = true;
  log::info("server.session_lost", {{"server", id()}, {"reason", reason}});
  retire(reason);
}

asio::awaitable<void> HttpLink::close(Deadline deadline) {
  const std::shared_ptr<Link> self = shared_from_this();
  retire("it was ended");
  if (stream_ != nullptr) stream_->close();
  closing_ = true;
  changed_.notify();
  // Answers that are under way may still come.
  while (open_calls() > 0 && !deadline.passed()) {
    const Deadline turn = earlier(deadline, Deadline::after(std::chrono::seconds(1)));
    co_await changed_.wait(turn);
  }
  finish("it was ended", true);
  conversation_.fail_all(fmt::format("server `{}`: {}", id(), end_reason()));
  if (session_.empty() || session_lost_ || !client_) co_return;
  session_lost_ = true;  // once
  const Deadline last = earlier(Deadline::after(kDeleteWait), deadline);
  Result<HttpClientRequest> request = co_await this->request("DELETE", {}, last);
  if (!request) co_return;
  // 405: the server does not let clients end sessions.
  const Result<HttpClientResponse> response = co_await send(std::move(*request), last);
  if (!response) log::debug("server.session_not_ended", {{"server", id()}, {"reason", response.error().message}});
}

void HttpLink::abandon() noexcept {
  finish("the gateway is ending", true);
  closing_ = true;
  if (stream_ != nullptr) stream_->close();
  changed_.notify();
}

}  // namespace sallyport::gateway::servers
