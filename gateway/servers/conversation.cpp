#include "gateway/servers/conversation.hpp"

#include <fmt/format.h>

#include <charconv>

#include "gateway/base/log.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxGivenUp = 1000;
constexpr std::size_t kMaxHint = 500;

std::optional<std::int64_t> to_number(std::string_view token) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return number;
}

ServerAnswer to_answer(const mcp::Message& message) {
  ServerAnswer answer;
  answer.sent = true;
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

}  // namespace

Conversation::Conversation(asio::any_io_executor loop, std::string server, ServerEvents& events, json::Limits limits,
                           std::int64_t first_id)
    : loop_(std::move(loop)), server_(std::move(server)), events_(events), limits_(limits), next_id_(first_id) {}

std::shared_ptr<Exchange> Conversation::open(std::string method) {
  auto exchange = std::make_shared<Exchange>(loop_, next_id_++);
  exchange->method = std::move(method);
  open_.emplace(exchange->id, exchange);
  return exchange;
}

void Conversation::close(Exchange& exchange) {
  exchange.progress = {};
  if (open_.erase(exchange.id) == 0 || !exchange.sent) return;
  given_up_.emplace(exchange.id, GivenUp{exchange.operation, exchange.attempt});
  if (given_up_.size() > kMaxGivenUp) given_up_.erase(given_up_.begin());
}

Conversation::Taken Conversation::receive(std::string text, Origin origin, std::vector<std::string>& replies) {
  // Kept small: the text itself goes into the parser.
  const std::string head = text.substr(0, 512);
  const std::string tail = text.size() > 64 ? text.substr(text.size() - 64) : text;
  auto incoming = mcp::parse_incoming(std::move(text), limits_, batches_);
  if (!incoming) {
    const mcp::IncomingFault& fault = incoming.error();
    if (fault.id != "null") {
      on_fault(fault);
      return Taken::message;
    }
    if (fault.error.code == mcp::code::kParseError || !head.starts_with('{')) return Taken::noise;
    if (const auto id = find_id(head, tail); id && open_.contains(*id)) {
      lose(*id, answer_over_limit("the server's answer cannot be read: " + fault.error.message));
      return Taken::message;
    }
    return Taken::noise;
  }
  for (const mcp::Message& message : incoming->messages) on_message(message, origin, replies);
  return Taken::message;
}

void Conversation::on_message(const mcp::Message& message, Origin origin, std::vector<std::string>& replies) {
  switch (message.kind) {
    case mcp::Message::Kind::response:
    case mcp::Message::Kind::error_response:
      on_answer(message, origin);
      return;
    case mcp::Message::Kind::notification:
      on_notification(message);
      return;
    case mcp::Message::Kind::request:
      if (message.method == "ping") {
        replies.push_back(mcp::response(message.id, "{}"));
        return;
      }
      // We declared no client capability, so a server that keeps to the protocol asks nothing else.
      log::debug("server.request_refused", {{"server", server_}, {"method", message.method}});
      replies.push_back(mcp::error_response(
          message.id, {mcp::code::kMethodNotFound, "this client offers no such method to servers", {}}));
      return;
  }
}

void Conversation::on_answer(const mcp::Message& message, Origin origin) {
  const std::optional<std::int64_t> id = to_number(message.id);
  if (!id) {
    const bool nameless = message.id == "null";
    if (nameless && origin.exchange != nullptr && open_.contains(origin.exchange->id)) {
      const auto exchange = open_.extract(origin.exchange->id).mapped();
      exchange->answer.set(to_answer(message));
      return;
    }
    if (nameless) {
      last_error_without_id_ = std::string(message.error.raw().substr(0, kMaxHint));
      log::warning("server.error_without_id", {{"server", server_}, {"error", message.error.raw()}});
      return;
    }
    unknown_answer(message.id);
    return;
  }
  if (auto node = open_.extract(*id)) {
    node.mapped()->progress = {};
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
    exchange.progress = {};
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
  log::warning("server.answer_lost", {{"server", server_}, {"method", exchange->method}, {"reason", answer.detail}});
  open_.erase(id);
  exchange->progress = {};
  exchange->answer.set(std::move(answer));
}

void Conversation::unknown_answer(std::string_view id) {
  ++unknown_answers_;
  if (unknown_answers_ > 3 && unknown_answers_ % 1000 != 0) return;
  log::warning("server.unknown_answer",
               {{"server", server_}, {"id", id}, {"count", static_cast<std::int64_t>(unknown_answers_)}});
}

void Conversation::on_notification(const mcp::Message& message) {
  if (message.method == "notifications/progress") {
    on_progress(message);
  } else if (message.method == "notifications/message") {
    if (message.params) events_.on_log(server_, message.params.raw());
  } else if (message.method == "notifications/tools/list_changed") {
    events_.on_tools_changed(server_);
  } else {
    log::debug("server.notification", {{"server", server_}, {"method", message.method}});
  }
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
  report(message.params.raw());
}

void Conversation::overlong(std::string_view head, std::string_view tail) {
  const std::optional<std::int64_t> id = find_id(head.substr(0, 4096), tail);
  if (id && open_.contains(*id)) {
    lose(*id, overlong_answer(limits_.bytes));
    return;
  }
  log::warning("server.message_too_long", {{"server", server_}, {"limit", limits_.bytes}});
}

void Conversation::fail_all(const std::string& reason) {
  const auto ending = std::move(open_);
  open_.clear();
  given_up_.clear();
  for (const auto& [id, exchange] : ending) {
    exchange->progress = {};
    exchange->withdrawn = !exchange->sent;
    exchange->answer.set(unanswered(*exchange, reason));
  }
}

std::string Conversation::hint() const {
  return last_error_without_id_.empty() ? ""
                                        : "; an answer of the server that names no call: " + last_error_without_id_;
}

}  // namespace sallyport::gateway::servers
