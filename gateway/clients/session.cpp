#include "gateway/clients/session.hpp"

#include <algorithm>

#include "gateway/base/log.hpp"
#include "schemas/core/writer.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMaxClaim = 200;  // bytes of a claimed name or version that are kept
constexpr std::size_t kMaxWaiting = 8;

}  // namespace

signed char log_level_index(json::Value level) {
  for (std::size_t i = 0; i < mcp::kLogLevels.size(); ++i) {
    if (level.equals(mcp::kLogLevels[i])) return static_cast<signed char>(i);
  }
  return -1;
}

bool is_at_least(std::string_view params_raw, signed char wanted) {
  const auto params = json::Document::parse(std::string(params_raw), {.bytes = 64U << 20, .depth = 1000});
  if (!params) return false;
  const signed char level = log_level_index(params->root().find("level"));
  return level < 0 || level >= wanted;
}

std::string client_claim(json::Value value) {
  if (!value.is_string()) return {};
  std::string text = value.string();
  if (text.size() <= kMaxClaim) return text;
  std::size_t end = kMaxClaim;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

Session::Session(std::shared_ptr<SessionServices> services, ClientContext context, std::string token,
                 Flights::Rules rules)
    : services_(std::move(services)),
      context_(std::make_shared<const ClientContext>(std::move(context))),
      token_(std::move(token)),
      flights_(rules) {
  touch();
  flights_.on_idle([this] {
    touch();
    if (on_idle_) on_idle_();
  });
}

void Session::receive(mcp::Message message, Extras extras, std::shared_ptr<Reply> reply) {
  switch (message.kind) {
    case mcp::Message::Kind::request:
      request(std::move(message), std::move(extras), reply);
      return;
    case mcp::Message::Kind::notification:
      notification(message);
      return;
    case mcp::Message::Kind::response:
    case mcp::Message::Kind::error_response:
      if (questions_ && questions_->answered(message)) return;
      log::debug("client.unasked_answer", {{"session", context_->session}, {"id", message.id}});
      return;
  }
}

void Session::finish(const mcp::Message& message, Answer answer, Reply& reply) const {
  Finished finished;
  finished.message =
      answer.error ? mcp::error_response(message.id, *answer.error) : mcp::response(message.id, answer.result);
  reply.finish(std::move(finished));
}

void Session::request(mcp::Message message, Extras extras, const std::shared_ptr<Reply>& reply) {
  const std::string_view method = message.method;
  if (method == "ping") return finish(message, Answer::of("{}"), *reply);
  if (state_ == State::ended) {
    return finish(message, Answer::fail(mcp::code::kInvalidRequest, "the session has ended"), *reply);
  }
  if (method == "initialize") return finish(message, initialize(message), *reply);
  if (state_ == State::fresh) {
    return finish(message, Answer::fail(mcp::code::kInvalidRequest, "the session must begin with `initialize`"),
                  *reply);
  }
  if (method == "logging/setLevel") return finish(message, set_level(message), *reply);
  if (method.starts_with("notifications/")) {
    return finish(message, Answer::fail(mcp::code::kMethodNotFound, "a notification has no id"), *reply);
  }
  Inbound inbound;
  inbound.client = context_;
  inbound.document = message.document;
  inbound.method = std::move(message.method);
  inbound.params = message.params;
  inbound.idempotency_header = std::move(extras.idempotency_header);
  inbound.has_idempotency_header = extras.has_idempotency_header;
  inbound.received = services_->clock.now();
  const std::shared_ptr<Session> self = shared_from_this();
  Flights::Admits admits = [this](std::string_view name, std::string_view params) {
    return this->admits(name, params);
  };
  Flights::Ask ask = [self](ServerQuestion question, std::shared_ptr<Reply> to) {
    return Session::ask(self, std::move(question), std::move(to));
  };
  Flights::Start start{services_->tasks, services_->front, services_->alive, self, std::move(admits), std::move(ask)};
  start.share = services_->shares.of(context_->principal);
  flights_.start(std::move(start), message.id, std::move(inbound), reply);
}

asio::awaitable<ClientReply> Session::ask(std::shared_ptr<Session> self, ServerQuestion question,
                                          std::shared_ptr<Reply> reply) {
  if (self->state_ != State::open) co_return ClientReply::fail(mcp::code::kInternalError, "the client is gone");
  if (std::string lacks = self->able_.lacks(question); !lacks.empty()) {
    co_return ClientReply::fail(mcp::code::kMethodNotFound, std::move(lacks));
  }
  if (!self->questions_) self->questions_ = std::make_shared<Questions>();
  Questions::Send send = [self, reply](std::string message) {
    return reply->takes_notes() ? reply->ask(std::move(message)) : self->send_question(std::move(message));
  };
  const std::shared_ptr<Questions> questions = self->questions_;
  ClientReply answer = co_await Questions::ask(questions, std::move(question), std::move(send));
  co_return answer;
}

void Session::elicitation_complete(const std::string& server, const std::string& id, std::string_view params_raw) {
  if (questions_ && questions_->take_elicitation(server, id)) {
    notify("notifications/elicitation/complete", params_raw);
  }
}

Answer Session::initialize(const mcp::Message& message) {
  if (state_ != State::fresh) {
    return Answer::fail(mcp::code::kInvalidRequest, "this session was initialized already");
  }
  const json::Value version = message.params.find("protocolVersion");
  if (!version.is_string()) {
    return Answer::fail(mcp::code::kInvalidParams, "`params.protocolVersion` must be a string");
  }
  const json::Value info = message.params.find("clientInfo");
  ClientContext context = *context_;
  context.protocol_version = mcp::negotiate(version.string());
  context.era = mcp::Era::legacy;
  context.claimed_name = client_claim(info.find("name"));
  context.claimed_version = client_claim(info.find("version"));
  able_ = ClientAbilities::read(message.params.find("capabilities"));
  context.capabilities = able_.declared();
  context.asks_by_form = able_.form;
  context.asks_by_url = able_.url;
  context_ = std::make_shared<const ClientContext>(std::move(context));
  state_ = State::open;
  begun_ = services_->now();
  json::Writer out;
  out.begin_object().member("protocolVersion", context_->protocol_version);
  out.key("capabilities").raw(services_->front.capabilities(*context_));
  out.key("serverInfo").begin_object().member("name", "sallyport").member("version", services_->version).end_object();
  out.text("instructions", services_->front.instructions(*context_));
  out.end_object();
  log::info("session.opened", {{"session", context_->session},
                               {"principal", context_->principal.id},
                               {"transport", context_->transport},
                               {"protocol", context_->protocol_version},
                               {"server", context_->mount.server},
                               {"claimed", context_->claimed_name}});
  return Answer::of(out.take());
}

Answer Session::set_level(const mcp::Message& message) {
  const signed char level = log_level_index(message.params.find("level"));
  if (level < 0) {
    return Answer::fail(mcp::code::kInvalidParams,
                        "`params.level` must be debug, info, notice, warning, error, critical, alert or emergency");
  }
  level_ = level;
  services_->front.level_changed(*context_);
  return Answer::of("{}");
}

void Session::notification(const mcp::Message& message) {
  if (message.method == "notifications/cancelled") {
    // An id that is not open: it was answered in the meantime, or never came. Neither is worth a word.
    (void)flights_.cancel(message.params.find("requestId"));
    return;
  }
  if (message.method == "notifications/roots/list_changed" && state_ == State::open && able_.roots) {
    services_->front.roots_changed(*context_);
    return;
  }
  if (message.method.starts_with("notifications/")) return;
  log::info("client.request_without_id", {{"session", context_->session}, {"method", message.method.substr(0, 64)}});
}

bool Session::admits(std::string_view method, std::string_view params_raw) const {
  if (level_ < 0 || method != "notifications/message") return true;
  return is_at_least(params_raw, level_);
}

void Session::notify(std::string_view method, std::string_view params_raw) {
  if (state_ != State::open || !admits(method, params_raw)) return;
  if (!streams_.empty() || resumption_) {
    send(mcp::notification(method, params_raw), method == "notifications/progress");
    return;
  }
  if (!method.ends_with("/list_changed") || waiting_.size() >= kMaxWaiting) return;
  if (std::ranges::find(waiting_, method) == waiting_.end()) waiting_.emplace_back(method);
}

// What finds no stream waits in the events of one that was there.
void Session::send(std::string message, bool droppable) {
  const std::uint64_t number = resumption_ ? resumption_->own().push(message) : 0;
  if (!streams_.empty()) streams_.back()->note(std::move(message), droppable, number);
}

bool Session::send_question(std::string message) {
  if (streams_.empty()) return false;
  const std::uint64_t number = resumption_ ? resumption_->own().push(message) : 0;
  return streams_.back()->question(std::move(message), number);
}

Resumption* Session::resumption() {
  if (token_.empty() || context_->protocol_version != mcp::kLegacyVersions.front()) return nullptr;
  if (!resumption_) resumption_ = std::make_unique<Resumption>(services_->parking, context_->principal);
  return resumption_.get();
}

void Session::attach(const std::shared_ptr<Outbox>& stream) {
  if (state_ == State::ended) {
    stream->close();
    return;
  }
  if (streams_.size() >= kMaxStreams) {
    const std::shared_ptr<Outbox> oldest = streams_.front();
    streams_.erase(streams_.begin());
    oldest->close();
  }
  streams_.push_back(stream);
  for (const std::string& method : std::exchange(waiting_, {})) send(mcp::notification(method, {}), false);
}

void Session::detach(const std::shared_ptr<Outbox>& stream) {
  std::erase(streams_, stream);
  touch();
}

void Session::close_streams() {
  for (const auto& stream : std::exchange(streams_, {})) stream->close();
}

void Session::end(CancelReason reason) {
  if (state_ == State::ended) return;
  const bool was_open = state_ == State::open;
  state_ = State::ended;
  flights_.cancel_all(reason);
  close_streams();
  if (questions_) questions_->end();
  if (was_open) services_->front.session_ended(*context_);
  if (was_open) log::info("session.closed", {{"session", context_->session}, {"principal", context_->principal.id}});
}

}  // namespace sallyport::gateway
