#include "gateway/clients/sessions.hpp"

#include <algorithm>
#include <vector>

#include "gateway/base/log.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kTokenBytes = 24;  // 192 bits: nobody guesses it

// Calls are bounded per principal behind the Front, which can leave a receipt; this bound lies above that one.
std::size_t requests_per_session(const LimitSettings& limits) { return (limits.calls_in_flight / 4) + 64; }

Share::Bounds shares_of(const LimitSettings& limits) {
  return {.requests = std::size_t{16} * limits.message_bytes, .answers = std::size_t{4} * limits.result_bytes};
}

std::function<Deadline::Clock::time_point()> steady_of(const SessionsOptions& options) {
  if (options.now) return options.now;
  return [] { return Deadline::Clock::now(); };
}

Modern::Options modern_options(const SessionsOptions& options) {
  return {options.boundary, options.limits.sessions, requests_per_session(options.limits), options.idle,
          options.state_key};
}

}  // namespace

Sessions::Sessions(asio::any_io_executor loop, Front& front, Clock& clock, Entropy& entropy, SessionsOptions options)
    : services_(std::make_shared<SessionServices>(loop, front, clock, options.version, steady_of(options),
                                                  shares_of(options.limits))),
      entropy_(entropy),
      options_(std::move(options)),
      modern_(services_, entropy, modern_options(options_)),
      chores_(std::move(loop)) {
  chores_.spawn("sessions.sweep", sweep_forever(*this));
}

Sessions::~Sessions() {
  chores_.cancel();
  services_->tasks.cancel();
  services_->alive.reset();  // whoever still learns of a delivery has nobody to tell
}

Result<std::shared_ptr<Session>> Sessions::open(const Identity& identity, Mount mount, Transport transport) {
  if (draining_) return fail(ErrorCode::unavailable, "the gateway is shutting down");
  const std::size_t share = std::max<std::size_t>(1, options_.limits.sessions / 2);
  const auto full = [&] {
    const auto own = per_principal_.find(share_of(identity.principal));
    return by_id_.size() >= options_.limits.sessions || (own != per_principal_.end() && own->second >= share);
  };
  if (full()) sweep();
  if (by_id_.size() >= options_.limits.sessions) {
    log::warning("sessions.full", {{"open", by_id_.size()}});
    return fail(ErrorCode::limit, "the gateway holds as many sessions as it may: try again later");
  }
  if (full()) {
    return fail(ErrorCode::limit, "this client has too many sessions open: end some, or try again later",
                ErrorSource::client);
  }
  const UnixMillis wall = services_->clock.now();
  ClientContext context;
  context.principal = identity.principal;
  if (context.principal.anonymous) context.principal.id = "anonymous:" + entropy_.token(12);
  context.mount = std::move(mount);
  context.session = entropy_.id("se", wall);
  context.run = entropy_.id("run", wall);
  context.transport = transport == Transport::http ? "http" : "stdio";
  context.boundary = options_.boundary;
  context.hold = identity.hold;
  const std::string id = context.session;
  const std::string token = transport == Transport::http ? entropy_.token(kTokenBytes) : std::string();
  // Over HTTP each request has its own exchange, so that equal ids do no harm.
  const Flights::Rules rules{requests_per_session(options_.limits), transport == Transport::stdio};
  auto session = std::make_shared<Session>(services_, std::move(context), token, rules);
  ++per_principal_[share_of(identity.principal)];
  by_id_.emplace(id, session);
  if (!token.empty()) by_token_.emplace(token, session);
  counted();
  return session;
}

std::shared_ptr<Session> Sessions::find(std::string_view token, const Identity& identity, const Mount& mount) {
  const auto found = by_token_.find(std::string(token));
  if (found == by_token_.end()) return nullptr;
  const std::shared_ptr<Session>& session = found->second;
  const ClientContext& context = session->context();
  if (!identity.may_use_session_of(context.principal) || context.mount.server != mount.server) return nullptr;
  session->touch();
  return session;
}

std::shared_ptr<Session> Sessions::by_id(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void Sessions::close(const std::shared_ptr<Session>& session, CancelReason reason) {
  const auto found = by_id_.find(session->context().session);
  if (found == by_id_.end()) return;
  by_id_.erase(found);
  if (!session->token().empty()) by_token_.erase(session->token());
  const auto own = per_principal_.find(share_of(session->context().principal));
  if (own != per_principal_.end() && --own->second == 0) per_principal_.erase(own);
  session->end(reason);
  counted();
}

void Sessions::sweep() {
  const auto time = services_->now();
  std::vector<std::shared_ptr<Session>> idle;
  for (const auto& [token, session] : by_token_) {
    session->sweep(time);
    if (!session->busy() && time - session->last_used() >= options_.idle) idle.push_back(session);
  }
  for (const auto& session : idle) close(session, CancelReason::disconnect);
  modern_.sweep();
}

void Sessions::keep(const std::function<bool(const Principal&)>& may_stay) {
  std::vector<std::shared_ptr<Session>> gone;
  for (const auto& [id, session] : by_id_) {
    if (!may_stay(session->context().principal)) gone.push_back(session);
  }
  for (const auto& session : gone) close(session, CancelReason::disconnect);
  modern_.keep(may_stay);
}

asio::awaitable<void> Sessions::sweep_forever(Sessions& self) {
  for (;;) {
    const bool slept = co_await sleep_until(Deadline::after(self.options_.sweep_every));
    if (!slept) co_return;
    self.sweep();
  }
}

void Sessions::changed(std::string method, std::string server) {
  changes_.insert_or_assign({std::move(method), std::move(server)}, services_->now());
  if (telling_ || draining_) return;
  telling_ = true;
  chores_.spawn("sessions.tell", tell_later(*this));
}

asio::awaitable<void> Sessions::tell_later(Sessions& self) {
  const bool slept = co_await sleep_until(Deadline::after(self.options_.debounce));
  if (!slept) co_return;
  self.telling_ = false;
  self.tell_changes();
}

void Sessions::tell_changes() {
  const auto changes = std::exchange(changes_, {});
  modern_.changed(changes);
  for (const auto& [id, session] : by_id_) {
    std::set<std::string_view> told;
    for (const auto& [change, since] : changes) {
      const auto& [method, server] = change;
      if (session->begun() > since) continue;
      const Mount& mount = session->context().mount;
      const bool sees = server.empty() || mount.all() || mount.server == server;
      if (sees && told.insert(method).second) session->notify(method, {});
    }
  }
}

void Sessions::log(const LinkKey& from, std::string_view params_raw) {
  if (from.principal.empty()) return;
  for (const auto& [id, session] : by_id_) {
    const ClientContext& context = session->context();
    const bool sees = context.mount.all() || context.mount.server == from.server;
    if (!sees || context.principal.id != from.principal || (!from.session.empty() && from.session != id)) continue;
    session->notify("notifications/message", params_raw);
  }
}

void Sessions::elicitation_complete(const LinkKey& from, std::string_view params_raw) {
  const auto params = json::Document::parse(std::string(params_raw));
  const json::Value id = params ? params->root().find("elicitationId") : json::Value();
  if (!id.is_string()) return;
  for (const auto& [name, session] : by_id_) {
    const bool owner = from.principal.empty() || session->context().principal.id == from.principal;
    if (owner) session->elicitation_complete(from.server, id.string(), params_raw);
  }
}

void Sessions::tell(const std::string& session, std::string_view method, std::string_view params_raw) {
  if (modern_.tell(session, method, params_raw)) return;
  if (const auto found = by_id(session)) found->notify(method, params_raw);
}

std::string_view Sessions::log_level(const std::string& principal) const {
  signed char lowest = -1;
  for (const auto& [id, session] : by_id_) {
    const signed char level = session->log_level();
    if (level < 0 || (!principal.empty() && session->context().principal.id != principal)) continue;
    if (lowest < 0 || level < lowest) lowest = level;
  }
  return lowest < 0 ? std::string_view() : mcp::kLogLevels[static_cast<std::size_t>(lowest)];
}

void Sessions::close_streams(Transport transport) {
  for (const auto& [id, session] : by_id_) {
    if (session->token().empty() == (transport == Transport::stdio)) session->close_streams();
  }
}

asio::awaitable<bool> Sessions::drain(Deadline deadline) {
  draining_ = true;
  modern_.end_listeners();
  const auto left = deadline.left();
  const std::shared_ptr<SessionServices> services = services_;
  const Deadline half = deadline.is_never() ? deadline : Deadline::after(left / 2);
  const bool quiet = co_await services->tasks.wait_empty(half);
  if (quiet) co_return true;
  for (const std::string& name : services->tasks.names()) log::info("shutdown.cancels", {{"task", name}});
  std::vector<std::shared_ptr<Session>> open;
  for (const auto& [id, session] : by_id_) open.push_back(session);
  for (const auto& session : open) session->cancel_requests(CancelReason::shutdown);
  modern_.cancel_requests(CancelReason::shutdown);
  co_return co_await services->tasks.wait_empty(deadline);
}

void Sessions::counted() {
  if (options_.on_count) options_.on_count(by_id_.size());
}

}  // namespace sallyport::gateway
