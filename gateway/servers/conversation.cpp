#include "gateway/servers/conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "gateway/base/log.hpp"
#include "gateway/mcp/protocol.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxGivenUp = 1000;
constexpr std::size_t kHead = 64U << 10;  // of a text, where the calls are looked for that an unreadable one means
constexpr std::size_t kMaxHint = 500;
constexpr std::size_t kMaxQuestions = 16;
constexpr double kLines = 50;  // about one server, at once
constexpr double kLinesPerSecond = 2;

std::optional<std::int64_t> to_number(std::string_view token) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return number;
}

// What a server says of its own accord holds no key that is ours to set (design section 8), and none that means
// something on this leg only.
std::string without_own_keys(json::Value params) {
  const json::Value meta = params.find("_meta");
  if (!meta.is_object() || !meta.find(mcp::meta::kSubscriptionId)) return mcp::splice_call_meta(params, {});
  constexpr std::array kOurs{mcp::meta::kSubscriptionId};
  const std::string passed = mcp::without_members(meta, kOurs);
  constexpr std::array<std::string_view, 1> kMeta{"_meta"};
  if (passed == "{}") return mcp::without_members(params, kMeta);
  auto document = json::Document::parse(mcp::replace_value(params, "_meta", passed), {.bytes = 64U << 20});
  return document ? mcp::splice_call_meta(document->root(), {}) : std::string("{}");
}

}  // namespace

ServerAnswer Conversation::to_answer(const mcp::Message& message) const {
  ServerAnswer answer;
  answer.sent = true;
  answer.modern = modern_;
  answer.document = message.document;
  if (message.kind == mcp::Message::Kind::response) {
    answer.kind = ServerAnswer::Kind::result;
    answer.result = message.result;
  } else {
    answer.kind = ServerAnswer::Kind::error;
    answer.error = message.error;
  }
  return answer;
}

Conversation::Conversation(asio::any_io_executor loop, std::string server, ServerEvents& events, json::Limits limits,
                           std::int64_t first_id)
    : loop_(std::move(loop)),
      server_(std::move(server)),
      owner_{server_, {}, {}},
      events_(events),
      limits_(limits),
      next_id_(first_id),
      lines_(kLines, kLinesPerSecond, Deadline::Clock::now()) {}

bool Conversation::may_log() {
  const auto left_out = lines_.admit(Deadline::Clock::now());
  if (left_out && *left_out > 0) log::warning("server.lines_left_out", {{"server", server_}, {"lines", *left_out}});
  return left_out.has_value();
}

std::shared_ptr<Exchange> Conversation::open(std::string method) {
  auto exchange = std::make_shared<Exchange>(loop_, next_id_++);
  exchange->method = std::move(method);
  open_.emplace(exchange->id, exchange);
  return exchange;
}

void Conversation::end(Exchange& exchange) {
  exchange.progress = {};
  exchange.log = {};
  exchange.ask = {};
  exchange.acknowledged = {};
  for (const auto& question : std::exchange(exchange.questions, {})) {
    if (const auto open = question.lock()) open->cancel(CancelReason::stop);
  }
}

void Conversation::close(Exchange& exchange) {
  end(exchange);
  if (open_.erase(exchange.id) == 0 || !exchange.sent) return;
  given_up_.emplace(exchange.id, GivenUp{exchange.operation, exchange.attempt});
  if (given_up_.size() > kMaxGivenUp) given_up_.erase(given_up_.begin());
}

Conversation::Taken Conversation::receive(std::string text, Origin origin, std::vector<std::string>& replies) {
  // Kept small: the text itself goes into the parser.
  const std::string head = text.substr(0, kHead);
  const std::string tail = text.size() > 64 ? text.substr(text.size() - 64) : text;
  auto incoming = mcp::parse_incoming(std::move(text), limits_, batches_);
  if (!incoming) {
    const mcp::IncomingFault& fault = incoming.error();
    if (fault.id != "null") {
      on_fault(fault);
      return Taken::message;
    }
    return take_unread(fault, head, tail, origin);
  }
  for (const mcp::Message& message : incoming->messages) on_message(message, origin, replies);
  for (const mcp::IncomingFault& fault : incoming->faults) on_fault(fault);
  return Taken::message;
}

// What was meant as an answer ends its call now, not at its deadline.
Conversation::Taken Conversation::take_unread(const mcp::IncomingFault& fault, std::string_view head,
                                              std::string_view tail, Origin origin) {
  std::vector<std::int64_t> meant = find_answers(head);
  if (meant.empty() && head.size() == kHead) {
    if (const auto id = find_id(head.substr(0, 512), tail)) meant.push_back(*id);
  }
  std::erase_if(meant, [&](std::int64_t id) { return !open_.contains(id); });
  if (meant.empty() && origin.whole && open_.contains(origin.exchange->id)) meant.push_back(origin.exchange->id);
  for (const std::int64_t id : meant) {
    if (!open_.contains(id)) continue;
    if (fault.error.code == mcp::code::kParseError) {
      lose(id, lost_answer("the server's answer is no JSON: " + fault.error.message));
    } else {
      lose(id, answer_over_limit("the server's answer cannot be read: " + fault.error.message));
    }
  }
  return meant.empty() ? Taken::noise : Taken::message;
}

void Conversation::on_message(const mcp::Message& message, Origin origin, std::vector<std::string>& replies) {
  switch (message.kind) {
    case mcp::Message::Kind::response:
    case mcp::Message::Kind::error_response:
      on_answer(message, origin);
      return;
    case mcp::Message::Kind::notification:
      on_notification(message, origin);
      return;
    case mcp::Message::Kind::request:
      on_request(message, origin, replies);
      return;
  }
}

Conversation::Cause Conversation::cause_of(Origin origin) const {
  if (origin.exchange != nullptr) {
    Cause own{nullptr, origin.exchange->session, false};
    // Neither a request of our own nor one that was answered has anybody who waits.
    const auto open = open_.find(origin.exchange->id);
    if (open != open_.end() && !own.session.empty()) own.exchange = open->second;
    return own;
  }
  Cause newest;
  for (const auto& [id, exchange] : open_) {
    if (exchange->session.empty()) continue;
    if (newest.exchange && newest.session != exchange->session) return {nullptr, {}, true};
    newest = {exchange, exchange->session, false};
  }
  return newest;
}

void Conversation::on_request(const mcp::Message& message, Origin origin, std::vector<std::string>& replies) {
  if (modern_) {  // nor may it be answered (mcp.md 1.3)
    if (may_log())
      log::warning("server.request_in_modern_era", {{"server", server_}, {"method", message.method.substr(0, 64)}});
    return;
  }
  if (message.method == "ping") {
    replies.push_back(mcp::response(message.id, "{}"));
    return;
  }
  const auto refuse = [&](int code, const char* why) {
    if (may_log()) {
      log::info("server.request_refused",
                {{"server", server_}, {"method", message.method.substr(0, 64)}, {"reason", why}});
    }
    replies.push_back(mcp::error_response(message.id, {code, why, {}}));
  };
  if (message.method != "sampling/createMessage" && message.method != "elicitation/create" &&
      message.method != "roots/list") {
    return refuse(mcp::code::kMethodNotFound, "this client offers no such method to servers");
  }
  const std::shared_ptr<Exchange> cause = cause_of(origin).exchange;
  const auto asks = [](const auto& open) { return static_cast<bool>(open.second->ask); };
  if (!on_question_ || (cause ? !cause->ask : std::ranges::none_of(open_, asks)))
    return refuse(mcp::code::kMethodNotFound, "this client takes no questions of servers");
  if (!cause)
    return refuse(mcp::code::kInvalidRequest, "calls of several client sessions are open: nobody knows whom to ask");
  const std::string id(message.id);
  if (questions_.contains(id)) return refuse(mcp::code::kInvalidRequest, "a request with this id is still open");
  if (questions_.size() >= kMaxQuestions) return refuse(mcp::code::kInvalidRequest, "too many questions are open");
  ServerQuestion question;
  question.server = server_;
  question.method = message.method;
  question.document = message.document;
  question.params = message.params;
  question.deadline = cause->deadline;
  question.cancel = std::make_shared<Cancel>();
  questions_.emplace(id, question.cancel);
  cause->questions.emplace_back(question.cancel);
  on_question_(cause, std::move(question), id);
}

void Conversation::on_answer(const mcp::Message& message, Origin origin) {
  const std::optional<std::int64_t> id = to_number(message.id);
  if (!id) {
    const bool nameless = message.id == "null";
    if (nameless && origin.exchange != nullptr && open_.contains(origin.exchange->id)) {
      const auto exchange = open_.extract(origin.exchange->id).mapped();
      end(*exchange);
      exchange->answer.set(to_answer(message));
      return;
    }
    if (nameless) {
      // Words about one client's call are not for another's: only where there is no doubt whose they are.
      if (open_.size() == 1) open_.begin()->second->hint = message.error.raw().substr(0, kMaxHint);
      if (may_log()) {
        log::warning("server.error_without_id",
                     {{"server", server_}, {"error", message.error.raw().substr(0, kMaxHint)}});
      }
      return;
    }
    unknown_answer(message.id);
    return;
  }
  if (auto node = open_.extract(*id)) {
    end(*node.mapped());
    node.mapped()->answer.set(to_answer(message));
    return;
  }
  if (auto node = given_up_.extract(*id)) {
    log::info("server.late_answer",
              {{"server", server_}, {"operation", node.mapped().operation}, {"attempt", node.mapped().attempt}});
    if (node.mapped().operation.empty()) return;
    LateAnswer late{node.mapped().operation, node.mapped().attempt, to_answer(message)};
    events_.on_late_answer(std::move(late));
    return;
  }
  unknown_answer(message.id);
}

void Conversation::settle(Exchange& exchange, ServerAnswer answer) {
  if (open_.erase(exchange.id) > 0) {
    end(exchange);
    exchange.answer.set(std::move(answer));
    return;
  }
  const auto node = given_up_.extract(exchange.id);
  const bool answered = answer.kind == ServerAnswer::Kind::result || answer.kind == ServerAnswer::Kind::error;
  if (!node || !answered || node.mapped().operation.empty()) return;
  LateAnswer late{node.mapped().operation, node.mapped().attempt, std::move(answer)};
  events_.on_late_answer(std::move(late));
}

bool Conversation::waiting(const Exchange& exchange) const {
  return open_.contains(exchange.id) || given_up_.contains(exchange.id);
}

// Readable enough to see which call it means, but no answer.
void Conversation::on_fault(const mcp::IncomingFault& fault) {
  const std::optional<std::int64_t> id = to_number(fault.id);
  if (id && open_.contains(*id)) {
    lose(*id, lost_answer("the server's answer is malformed: " + fault.error.message));
    return;
  }
  unknown_answer(fault.id);
}

void Conversation::lose(std::int64_t id, ServerAnswer answer) {
  const auto exchange = open_.find(id)->second;
  if (may_log())
    log::warning("server.answer_lost", {{"server", server_}, {"method", exchange->method}, {"reason", answer.detail}});
  open_.erase(id);
  end(*exchange);
  exchange->answer.set(std::move(answer));
}

void Conversation::unknown_answer(std::string_view id) {
  ++unknown_answers_;
  if (unknown_answers_ > 3 && unknown_answers_ % 1000 != 0) return;
  log::warning("server.unknown_answer",
               {{"server", server_}, {"id", id}, {"count", static_cast<std::int64_t>(unknown_answers_)}});
}

void Conversation::on_notification(const mcp::Message& message, Origin origin) {
  const std::string_view method = message.method;
  if (method == "notifications/progress") {
    on_progress(message);
  } else if (method == "notifications/message") {
    on_log(message, origin);
  } else if (method == "notifications/subscriptions/acknowledged") {
    on_acknowledged(message);
  } else if (method == "notifications/tools/list_changed") {
    events_.on_list_changed(server_, ListKind::tools);
  } else if (method == "notifications/prompts/list_changed") {
    events_.on_list_changed(server_, ListKind::prompts);
  } else if (method == "notifications/resources/list_changed") {
    events_.on_list_changed(server_, ListKind::resources);
  } else if (method == "notifications/resources/updated" && message.params) {
    events_.on_resource_updated(owner_, without_own_keys(message.params));
  } else if (method == "notifications/elicitation/complete" && message.params) {
    events_.on_elicitation_complete(owner_, without_own_keys(message.params));
  } else if (method == "notifications/cancelled" && message.params.find("requestId")) {
    const auto question = questions_.find(std::string(message.params.find("requestId").raw()));
    if (question == questions_.end()) return;
    if (const auto open = question->second.lock()) open->cancel(CancelReason::client);
  } else {
    log::debug("server.notification", {{"server", server_}, {"method", method.substr(0, 64)}});
  }
}

void Conversation::on_log(const mcp::Message& message, Origin origin) {
  if (!message.params) return;
  const Cause cause = cause_of(origin);
  // Words about one client's call are not for another's.
  if (cause.several) return;
  if (!cause.exchange) {
    LinkKey from = owner_;
    if (!cause.session.empty()) from.session = cause.session;
    events_.on_log(from, without_own_keys(message.params));
  } else if (cause.exchange->log) {
    const auto log = cause.exchange->log;  // the call may end while it is told
    log(without_own_keys(message.params));
  }
}

void Conversation::on_acknowledged(const mcp::Message& message) {
  const json::Value id = message.params.find("_meta").find(mcp::meta::kSubscriptionId);
  const std::optional<std::int64_t> number = id.is_number() ? to_number(id.number()) : std::nullopt;
  const auto found = number ? open_.find(*number) : open_.end();
  if (found == open_.end() || !found->second->acknowledged) return;
  const auto tell = found->second->acknowledged;
  tell(message.params);
}

std::size_t Conversation::open_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(open_, [](const auto& open) { return !open.second->background; }));
}

void Conversation::on_progress(const mcp::Message& message) {
  const json::Value token = message.params ? message.params.find("progressToken") : json::Value();
  const json::Value progress = message.params ? message.params.find("progress") : json::Value();
  if (!token || !token.is_number() || !progress || !progress.is_number()) return;
  const std::optional<std::int64_t> id = to_number(token.number());
  const auto found = id ? open_.find(*id) : open_.end();
  if (found == open_.end() || !found->second->progress) return;
  Exchange& exchange = *found->second;
  const double value = progress.real();
  if (exchange.last_progress && value <= *exchange.last_progress) return;
  exchange.last_progress = value;
  const auto report = exchange.progress;  // the call may end while it is told
  report(without_own_keys(message.params));
}

void Conversation::overlong(std::string_view head, std::string_view tail) {
  const std::optional<std::int64_t> id = find_id(head.substr(0, 4096), tail);
  if (id && open_.contains(*id)) {
    lose(*id, overlong_answer(limits_.bytes));
    return;
  }
  if (may_log()) log::warning("server.message_too_long", {{"server", server_}, {"limit", limits_.bytes}});
}

void Conversation::fail_all(const std::string& reason) {
  const auto ending = std::move(open_);
  open_.clear();
  given_up_.clear();
  for (const auto& [id, exchange] : ending) {
    end(*exchange);
    exchange->withdrawn = !exchange->sent;
    exchange->answer.set(unanswered(*exchange, reason));
  }
}

}  // namespace sallyport::gateway::servers
