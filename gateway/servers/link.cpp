#include "gateway/servers/link.hpp"

#include <fmt/format.h>

#include <array>

#include "gateway/base/log.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/servers/params.hpp"
#include "gateway/servers/tool_pages.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kEnvelope = 64U << 10;  // around a result of the largest size, or a request

// Ids of ours begin somewhere above a million, so that no answer matches by luck, and stay exact in any double.
std::int64_t random_first_id(Entropy& entropy) {
  std::array<std::uint8_t, 4> bytes{};
  entropy.fill(bytes);
  std::int64_t number = 0;
  for (const std::uint8_t byte : bytes) number = number * 256 + byte;
  return 1'000'000 + number;
}

std::string_view to_text(CancelReason reason) {
  switch (reason) {
    case CancelReason::client:
      return "the client cancelled it";
    case CancelReason::disconnect:
      return "the client went away";
    case CancelReason::stop:
      return "an operator stopped it";
    case CancelReason::shutdown:
      return "the gateway is shutting down";
  }
  return "it was cancelled";
}

}  // namespace

// Keeps the books of one request even if the caller's frame is destroyed while it waits.
class Link::OpenRequest {
 public:
  OpenRequest(Link& link, std::shared_ptr<Exchange> exchange, Cancel* cancel)
      : link_(link), exchange_(std::move(exchange)), cancel_(cancel) {
    if (cancel_ == nullptr) return;
    cancel_->on_cancel([exchange = exchange_](CancelReason) { exchange->answer.set(lost_answer("cancelled")); });
  }
  OpenRequest(const OpenRequest&) = delete;
  OpenRequest& operator=(const OpenRequest&) = delete;
  ~OpenRequest() {
    if (cancel_ != nullptr) cancel_->on_cancel({});
    if (!settled_) link_.give_up(*exchange_, "nobody waits for it any more");
    link_.last_used_ = Deadline::Clock::now();
  }
  void settle() { settled_ = true; }

 private:
  Link& link_;
  std::shared_ptr<Exchange> exchange_;
  Cancel* cancel_;
  bool settled_ = false;
};

Link::Link(std::shared_ptr<LinkContext> context, const ServerSettings& settings)
    : context_(std::move(context)),
      conversation_(context_->loop, settings.id, *context_->events,
                    {.bytes = context_->limits.result_bytes + kEnvelope, .depth = context_->limits.depth},
                    random_first_id(context_->entropy)),
      settings_(settings) {}

void Link::set_owner(LinkKey owner) {
  owner_ = owner;
  conversation_.set_owner(std::move(owner));
}

void Link::tell(std::string_view method, std::string_view params_raw) {
  // Modern clients tell servers nothing of their own accord.
  if (alive() && !is_modern()) send_note(mcp::notification(method, params_raw), false);
}

asio::awaitable<void> Link::answer_question(std::shared_ptr<Link> self, std::shared_ptr<Exchange> exchange,
                                            ServerQuestion question, std::string id) {
  const std::shared_ptr<Cancel> cancel = question.cancel;
  const auto ask = exchange->ask;
  ClientReply reply = ClientReply::fail(mcp::code::kInternalError, "the call that this belongs to has ended");
  if (ask) reply = co_await ask(std::move(question));
  self->conversation_.question_ended(id);
  // A server that cancelled its question takes an answer for a fault of ours.
  if (self->state_ != State::up || cancel->reason() == CancelReason::client) co_return;
  self->send_note(reply.error ? mcp::error_response(id, *reply.error) : mcp::response(id, reply.result), true);
}

std::size_t Link::message_limit() const { return context_->limits.result_bytes + kEnvelope; }

asio::awaitable<ServerAnswer> Link::call(PermittedCall permit, CallControl control) {
  Request request;
  if (is_modern()) request = modern_call(permit, control);
  request.method = to_string(permit.method());
  request.operation = permit.operation();
  request.attempt = permit.attempt();
  request.idempotency_header = permit.idempotency_header();
  if (!permit.wants_progress()) control.progress = {};
  CallControl follow{.deadline = control.deadline, .cancel = control.cancel};
  follow.capabilities = control.capabilities;
  follow.task_made = std::move(control.task_made);
  if (!request.params) {
    request.params = [&permit](const Exchange& exchange) { return call_params(permit, exchange.token); };
  }
  ServerAnswer answer = co_await run(std::move(request), std::move(control));
  if (is_modern() && is_task(answer, follow.capabilities)) {
    ServerAnswer ended = co_await follow_task(std::move(answer), std::move(follow));
    co_return ended;
  }
  co_return answer;
}

asio::awaitable<ServerAnswer> Link::relay(std::string method, std::string params_raw, CallControl control) {
  if (parse_method(method) || method == "initialize") {
    co_return not_sent_answer("`" + method + "` is not relayed");
  }
  if (is_modern()) {
    ServerAnswer answer = co_await relay_modern(std::move(method), std::move(params_raw), std::move(control));
    co_return answer;
  }
  // A dry run with any token: whether the params can be used does not depend on it.
  const bool wants_progress = static_cast<bool>(control.progress);
  const Result<std::string> usable = relay_params(params_raw, "0", wants_progress);
  if (!usable) co_return not_sent_answer("`" + method + "`: " + usable.error().message);
  Request request;
  request.method = std::move(method);
  request.params = [&params_raw, wants_progress](const Exchange& exchange) {
    return relay_params(params_raw, exchange.token, wants_progress).value_or("{}");
  };
  ServerAnswer answer = co_await run(std::move(request), std::move(control));
  co_return answer;
}

asio::awaitable<ServerAnswer> Link::run(Request request, CallControl control) {
  const std::shared_ptr<Link> self = shared_from_this();  // the pool may drop us while we wait
  const bool starts_session = request.method == "initialize";
  const bool starts = starts_session || request.method == "server/discover";
  if (state_ == State::ended || (state_ == State::starting && !starts)) {
    co_return not_sent_answer(fmt::format("server `{}` is not running: {}", id(), end_reason_));
  }
  if (control.cancel != nullptr && control.cancel->reason()) {
    ServerAnswer refused = not_sent_answer(std::string(to_text(*control.cancel->reason())));
    refused.cancelled = control.cancel->reason();
    co_return refused;
  }
  if (control.deadline.passed()) {
    ServerAnswer refused = not_sent_answer("its deadline had passed before it was sent");
    refused.timed_out = true;
    co_return refused;
  }
  const std::shared_ptr<Exchange> exchange = conversation_.open(request.method);
  exchange->operation = std::move(request.operation);
  exchange->attempt = request.attempt;
  exchange->progress = std::move(control.progress);
  exchange->session = std::move(control.session);
  exchange->log = std::move(control.log);
  exchange->ask = std::move(control.ask);
  exchange->deadline = control.deadline;
  exchange->acknowledged = std::move(request.acknowledged);
  exchange->background = request.background;
  OpenRequest open(*this, exchange, control.cancel);
  const auto begun = Deadline::Clock::now();
  Outgoing outgoing;
  outgoing.text = mcp::request(exchange->token, exchange->method, request.params(*exchange));
  outgoing.idempotency_header = std::move(request.idempotency_header);
  outgoing.deadline = control.deadline;
  outgoing.starts_session = starts_session;
  outgoing.headers = std::move(request.headers);
  if (outgoing.text.size() > context_->limits.message_bytes + kEnvelope) {
    exchange->answer.set(not_sent_answer("the request is over the limit `messageBytes`"));
  } else {
    begin(exchange, std::move(outgoing));
  }
  std::optional<ServerAnswer> answer = co_await exchange->answer.wait(control.deadline);
  open.settle();
  const std::optional<CancelReason> cancelled = control.cancel == nullptr ? std::nullopt : control.cancel->reason();
  const bool by_cancel = answer && answer->kind == ServerAnswer::Kind::lost && cancelled;
  if (answer && !by_cancel) {
    conversation_.close(*exchange);
    co_return std::move(*answer);
  }
  const std::string why = by_cancel ? std::string(to_text(*cancelled)) : "its deadline passed";
  ServerAnswer ended = give_up(*exchange, why);
  if (by_cancel) ended.cancelled = cancelled;
  ended.timed_out = !by_cancel;
  if (ended.timed_out) check_silence(*exchange, begun);
  co_return ended;
}

void Link::check_silence(const Exchange& exchange, Deadline::Clock::time_point begun) {
  log::warning("server.timed_out", {{"server", id()}, {"method", exchange.method}, {"sent", exchange.sent}});
  if (!exchange.sent || silent_ || last_heard_ >= begun || state_ != State::up) return;
  silent_ = true;
  if (on_silence_) on_silence_();
  // Its answer, whenever it comes, ends the silence.
  context_->tasks.spawn("ping " + id(), ping(shared_from_this()));
}

asio::awaitable<void> Link::ping(std::shared_ptr<Link> self) {
  CallControl control;
  control.deadline = Deadline::after(self->context_->options.ping_wait);
  co_await self->relay("ping", {}, std::move(control));
}

void Link::heard() {
  last_heard_ = Deadline::Clock::now();
  if (!std::exchange(silent_, false)) return;
  log::info("server.answers_again", {{"server", id()}});
  if (on_silence_) on_silence_();
}

ServerAnswer Link::give_up(Exchange& exchange, const std::string& why) {
  exchange.given_up = true;
  if (!exchange.sent) exchange.withdrawn = true;
  const bool tell = exchange.sent && exchange.method != "initialize" && state_ == State::up;
  conversation_.close(exchange);
  if (!exchange.sent) return not_sent_answer(why + " before it was sent");
  if (tell) withdraw(exchange, why);
  const std::string hint =
      exchange.hint.empty() ? "" : "; an answer of the server that names no call: " + exchange.hint;
  return lost_answer(why + " before the answer came" + hint);
}

void Link::withdraw(Exchange& exchange, const std::string& why) {
  send_note(mcp::notification("notifications/cancelled", cancelled_params(exchange.token, why)), true);
}

asio::awaitable<ServerAnswer> Link::initialize(Deadline deadline) {
  Request request;
  request.method = "initialize";
  request.params = [this](const Exchange&) {
    return initialize_params(mcp::kLegacyVersions.front(), context_->version,
                             owner_.askable ? context_->events->client_capabilities(id()) : std::string("{}"));
  };
  CallControl control;
  control.deadline = deadline;
  ServerAnswer answer = co_await run(std::move(request), std::move(control));
  co_return answer;
}

Status Link::accept_initialize(const ServerAnswer& answer) {
  auto info = read_initialize(answer);
  if (!info) return fail(std::move(info.error()));
  conversation_.on_question([this](std::shared_ptr<Exchange> exchange, ServerQuestion question, std::string id) {
    context_->tasks.spawn("question " + this->id(),
                          answer_question(shared_from_this(), std::move(exchange), std::move(question), std::move(id)));
  });
  if (state_ != State::starting) {
    return fail(ErrorCode::unavailable, "it ended during the handshake: " + end_reason_, ErrorSource::server,
                RetryClass::not_sent);
  }
  conversation_.set_batches(mcp::has_batches(info->protocol_version));
  come_up(std::move(*info));
  return {};
}

void Link::finish(const std::string& reason, bool well) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  end_reason_ = reason;
  ended_well_ = well;
  if (changes_) changes_->end();
  conversation_.fail_all(fmt::format("server `{}`: {}", id(), reason));
  if (const auto callback = std::exchange(on_end_, {})) callback();
}

void Link::retire(const std::string& reason) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  end_reason_ = reason;
  ended_well_ = true;
  if (changes_) changes_->end();
  if (const auto callback = std::exchange(on_end_, {})) callback();
}

asio::awaitable<Result<ToolListing>> Link::list_tools(Deadline deadline) {
  const std::shared_ptr<Link> self = shared_from_this();
  if (is_modern()) co_await refresh_discovery(deadline);
  // What changes while it is listed is told only if the stream was open before.
  const bool told = changes_ && changes_->hears_tools();
  ToolPages pages(id(), context_->options.tools, context_->options.tool_pages, context_->limits.result_bytes);
  while (!pages.done()) {
    CallControl control;
    control.deadline = deadline;
    ServerAnswer answer = co_await relay("tools/list", pages.next_params(), std::move(control));
    const Status taken = pages.take(std::move(answer));
    if (!taken) co_return fail(taken.error());
  }
  ToolListing listing = pages.finish();
  if (is_modern() && !told)
    listing.fresh_until = Deadline::after(std::max(pages.ttl(), context_->options.shortest_ttl));
  if (is_modern()) keep_callable(listing);
  co_return listing;
}

}  // namespace sallyport::gateway::servers
