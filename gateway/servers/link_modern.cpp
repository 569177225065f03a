// The modern era (2026-07-28) of a link: finding the era out, discovery, requests that say all of themselves, and what
// legacy methods mean to a server that has none of them.
#include <fmt/format.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/mcp/modern.hpp"
#include "gateway/servers/link.hpp"
#include "gateway/servers/params.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

bool is_level(json::Value level) {
  return std::ranges::any_of(mcp::kLogLevels, [&](std::string_view known) { return level.equals(known); });
}

}  // namespace

std::string_view Link::spoken_version() const {
  return is_modern() ? mcp::kModernVersion : std::string_view(info_.protocol_version);
}

asio::awaitable<Status> Link::shake_hands(Deadline deadline) {
  EraProof proof = EraProof::legacy;
  if (speak_ != Speak::legacy) {
    era_ = mcp::Era::modern;
    conversation_.set_modern(true);
    const bool pinned = speak_ == Speak::modern;
    const Deadline wait = pinned ? deadline : earlier(deadline, Deadline::after(context_->options.probe_wait));
    ServerAnswer discovered = co_await discover(wait);
    proof = judge_discover(discovered);
    // It refused, and named the very version that it was asked in: so it is to be asked again.
    if (proof == EraProof::modern && discovered.kind == ServerAnswer::Kind::error) discovered = co_await discover(wait);
    era_sure_ = proof == EraProof::modern || proof == EraProof::legacy;
    if (pinned || proof == EraProof::modern || proof == EraProof::foreign) co_return accept_discover(discovered);
    era_ = mcp::Era::legacy;
    conversation_.set_modern(false);
    probed_ = true;
    log::info("server.not_modern", {{"server", id()}, {"proven", era_sure_}, {"answer", describe_failure(discovered)}});
  }
  if (state_ == State::ended) {
    co_return fail(ErrorCode::unavailable, "it ended when it was asked for its era: " + end_reason_,
                   ErrorSource::server, RetryClass::not_sent);
  }
  const ServerAnswer answer = co_await initialize(deadline);
  Status accepted = accept_initialize(answer);
  // Who was asked for nothing else and shakes hands is legacy, or at least serves as such.
  era_sure_ = accepted && (era_sure_ || speak_ == Speak::legacy);
  co_return accepted;
}

void Link::come_up(ServerInfo info) {
  info_ = std::move(info);
  state_ = State::up;
  last_used_ = Deadline::Clock::now();
}

asio::awaitable<ServerAnswer> Link::discover(Deadline deadline) {
  CallControl control;
  control.deadline = deadline;
  ServerAnswer answer = co_await relay_modern("server/discover", {}, std::move(control));
  co_return answer;
}

Status Link::accept_discover(const ServerAnswer& answer) {
  auto info = read_discover(answer);
  if (!info) return fail(std::move(info.error()));
  if (state_ == State::ended) {
    return fail(ErrorCode::unavailable, "it ended when it was discovered: " + end_reason_, ErrorSource::server,
                RetryClass::not_sent);
  }
  const bool fresh = state_ == State::starting;
  if (const auto ttl = ttl_of(answer.result)) {
    discovered_until_ = Deadline::after(std::max(*ttl, context_->options.shortest_ttl));
  }
  come_up(std::move(*info));
  if (fresh) listen_to_changes();
  return {};
}

// A failure keeps what was known: the next request shows whether the server is there at all.
asio::awaitable<void> Link::refresh_discovery(Deadline deadline) {
  if (!discovered_until_.passed()) co_return;
  const ServerAnswer answer = co_await discover(deadline);
  if (!accept_discover(answer)) discovered_until_ = Deadline::after(context_->options.shortest_ttl);
}

void Link::listen_to_changes() {
  const std::weak_ptr<Link> weak = weak_from_this();
  ChangeStream::Owner owner{.open = [weak](std::string params, std::function<void(json::Value)> acknowledged,
                                           std::shared_ptr<Cancel> cancel) -> asio::awaitable<ServerAnswer> {
                              const std::shared_ptr<Link> self = weak.lock();
                              if (!self || !self->alive()) co_return not_sent_answer("the link has ended");
                              const Envelope envelope = self->envelope_for({});
                              const std::string text = modern_params(params, envelope, "0", false).value_or("{}");
                              Request request;
                              request.method = "subscriptions/listen";
                              request.headers = standard_headers(request.method, {}, {});
                              request.params = [&text](const Exchange&) { return text; };
                              request.acknowledged = std::move(acknowledged);
                              request.background = true;
                              CallControl control;
                              control.cancel = cancel.get();
                              ServerAnswer answer = co_await self->run(std::move(request), std::move(control));
                              co_return answer;
                            },
                            .list_changed =
                                [weak](ListKind kind) {
                                  if (const auto self = weak.lock())
                                    self->context_->events->on_list_changed(self->id(), kind);
                                },
                            .resource_changed =
                                [weak](const std::string& uri) {
                                  const auto self = weak.lock();
                                  if (self)
                                    self->context_->events->on_resource_updated(self->owner_,
                                                                                "{\"uri\":" + quote(uri) + "}");
                                },
                            .tasks = context_->tasks,
                            .name = id(),
                            .retry_first = context_->options.stream_retry_first,
                            .retry_most = context_->options.stream_retry_most};
  changes_ = std::make_shared<ChangeStream>(context_->loop, std::move(owner));
  const auto capabilities = json::Document::parse(info_.capabilities_raw, {.bytes = 64U << 20});
  if (capabilities) changes_->begin(capabilities->root());
}

Envelope Link::envelope_for(const CallControl& control) const {
  Envelope envelope;
  envelope.version = context_->version;
  envelope.capabilities = common_capabilities(context_->events->client_capabilities(id()), control.capabilities);
  envelope.log_level = control.log_level.empty() ? level_ : control.log_level;
  return envelope;
}

Link::Request Link::modern_call(const PermittedCall& permit, const CallControl& control) const {
  Request request;
  const std::string method(to_string(permit.method()));
  const auto* declared = param_headers(permit.tool().tool);
  const std::string text = "{" + permit.params_members() + "}";
  const auto params = json::Document::parse(text, {.bytes = text.size(), .depth = context_->limits.depth + 8});
  static const std::vector<mcp::ParamHeader> kNone;
  request.headers = standard_headers(method, params ? params->root() : json::Value(), declared ? *declared : kNone);
  request.params = [&permit, envelope = envelope_for(control)](const Exchange& exchange) {
    return modern_call_params(permit, envelope, exchange.token);
  };
  return request;
}

asio::awaitable<ServerAnswer> Link::relay_modern(std::string method, std::string params_raw, CallControl control) {
  const auto asked = json::Document::parse(params_raw.empty() ? "{}" : params_raw, {.bytes = 64U << 20});
  if (!asked) co_return not_sent_answer("`" + method + "`: " + asked.error().message);
  const json::Value params = asked->root();
  if (method == "logging/setLevel") {
    const json::Value level = params.find("level");
    if (!is_level(level)) co_return local_error(mcp::code::kInvalidParams, "`level` is no log level");
    level_ = level.string();
    co_return local_result("{}");
  }
  if (method == "resources/subscribe" || method == "resources/unsubscribe") {
    const json::Value uri = params.find("uri");
    if (!uri.is_string() || !changes_) co_return local_error(mcp::code::kInvalidParams, "`uri` must be a string");
    if (method == "resources/unsubscribe") {
      changes_->unsubscribe(uri.string());
      co_return local_result("{}");
    }
    const std::shared_ptr<ChangeStream> changes = changes_;
    ServerAnswer told = co_await changes->subscribe(uri.string(), control.deadline);
    co_return told;
  }
  const bool wants_progress = static_cast<bool>(control.progress);
  const Envelope envelope = envelope_for(control);
  const Result<std::string> usable = modern_params(params_raw, envelope, "0", wants_progress);
  if (!usable) co_return not_sent_answer("`" + method + "`: " + usable.error().message);
  Request request;
  request.method = method == "ping" ? "server/discover" : method;  // is it there at all
  request.headers = standard_headers(request.method, params, {});
  request.params = [&params_raw, &envelope, wants_progress](const Exchange& exchange) {
    return modern_params(params_raw, envelope, exchange.token, wants_progress).value_or("{}");
  };
  ServerAnswer answer = co_await run(std::move(request), std::move(control));
  if (answer.kind != ServerAnswer::Kind::result || method == "server/discover") co_return answer;
  // None of these may be answered with questions or tasks.
  if (mcp::result_type_of(answer.result) == mcp::result_type::kComplete) co_return answer;
  const std::string type(answer.result.find("resultType").raw().substr(0, 64));
  ServerAnswer lost = lost_answer(fmt::format("the server's answer to `{}` has the type {}", method, visible(type)));
  co_return lost;
}

}  // namespace sallyport::gateway::servers
