// What comes back over HTTP: JSON, event streams, refusals, and the server's own stream.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "gateway/base/log.hpp"
#include "gateway/net/sse.hpp"
#include "gateway/servers/http_link.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxRefusal = 64U << 10;
constexpr std::size_t kExcerpt = 300;
constexpr int kFruitlessResumes = 5;
constexpr std::chrono::seconds kTurn{1};
constexpr std::chrono::seconds kRefusalWait{10};
constexpr std::chrono::seconds kHeadWait{30};
constexpr unsigned kLongestRest = 24 * 3600;  // seconds; more is as good as never

std::string excerpt(std::string_view body) {
  const std::size_t end = std::min(body.size(), kExcerpt);
  return body.empty() ? "" : fmt::format(": {}", visible(body.substr(0, end)));
}

bool holds_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return !std::ranges::search(text, word, same).empty();
}

// The server speaks a content coding that we did not ask for and cannot read.
std::optional<std::string> coded(const HttpHeaders& headers) {
  const auto coding = headers.get("Content-Encoding");
  if (!coding || coding->empty() || *coding == "identity") return std::nullopt;
  return fmt::format("the server's answer is encoded as `{}`, though identity was asked for", visible(*coding));
}

// `Mon, 30 Nov 2026 19:00:00 GMT`, the form that HTTP asks of dates.
std::optional<std::chrono::sys_seconds> http_date(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::array<char, 4> name{};
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  const std::string whole(text);
  if (std::sscanf(whole.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, name.data(), &year, &hour, &minute,
                  &second) != 6)
    return std::nullopt;
  const std::size_t at = kMonths.find(name.data());
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(at / 3 + 1)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (at == std::string_view::npos || at % 3 != 0 || !date.ok() || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

// How long the server asks to be left alone: seconds, or a date by its own clock.
std::optional<Millis> retry_after(const HttpHeaders& headers) {
  const auto asked = headers.get("Retry-After");
  if (!asked) return std::nullopt;
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(asked->data(), asked->data() + asked->size(), seconds);
  if (error == std::errc() && end == asked->data() + asked->size())
    return std::chrono::seconds(std::min<unsigned>(seconds, kLongestRest));
  const auto until = http_date(*asked), now = http_date(headers.get("Date").value_or(""));
  if (!until || !now) return std::nullopt;
  return std::clamp<Millis>(*until - *now, Millis{0}, std::chrono::seconds(kLongestRest));
}

}  // namespace

asio::awaitable<void> HttpLink::take_answer(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline) {
  heard();
  const int status = response.status();
  const std::string type = media_type(response.headers().get("Content-Type").value_or(""));
  if (status >= 300) {
    co_await take_refusal(exchange, response);
  } else if (const auto coding = coded(response.headers())) {
    conversation_.settle(*exchange, lost_answer(*coding));
  } else if (type == "text/event-stream") {
    co_await take_events(exchange, response, deadline);
  } else if (type == "application/json") {
    co_await take_json(exchange, response, deadline);
  } else {
    const Deadline soon = earlier(deadline, Deadline::after(kRefusalWait));
    const Result<std::string> body = co_await response.read_all(kMaxRefusal, soon);
    const std::string shown = body ? excerpt(*body) : "";
    ServerAnswer answer =
        lost_answer(fmt::format("HTTP {} with {} instead of an answer{}", status,
                                type.empty() ? "no content type" : "content type " + visible(type), shown));
    answer.http_status = status;
    conversation_.settle(*exchange, std::move(answer));
  }
}

// One piece of a body. While somebody waits the call's deadline rules; after that the answer is still evidence for
// an operation whose outcome is unknown, so it is read on for a while.
asio::awaitable<Result<std::string>> HttpLink::read_piece(ExchangePtr exchange, HttpClientResponse& response,
                                                          Deadline deadline, Deadline& late_until) {
  for (;;) {
    const bool late = exchange && (exchange->given_up || deadline.passed());
    if (late && is_modern()) co_return fail(ErrorCode::cancelled, "the request was given up");
    if (late && late_until.is_never()) {
      const bool room = late_streams_ < context_->options.late_streams;
      late_until = room ? Deadline::after(context_->options.late_keep) : Deadline::at({});
    }
    if (late_until.passed() || closing_) co_return fail(ErrorCode::timeout, "the answer did not come in time");
    if (late) ++late_streams_;
    Result<std::string> piece = co_await response.read_some(Deadline::after(kTurn));
    if (late) --late_streams_;
    if (piece || piece.error().code != ErrorCode::timeout) co_return piece;
  }
}

// The same of a call's answer that has not begun when its deadline passes, as of servers that send it in one piece.
std::function<bool()> HttpLink::late_head(ExchangePtr exchange) {
  if (exchange->operation.empty()) return {};
  struct Late {
    explicit Late(Self link) : link_(std::move(link)) { ++link_->late_streams_; }
    ~Late() { --link_->late_streams_; }
    Late(const Late&) = delete;
    Late& operator=(const Late&) = delete;
    Self link_;
  };
  const Self self = std::static_pointer_cast<HttpLink>(shared_from_this());
  return [self, held = std::shared_ptr<Late>(), until = Deadline()]() mutable {
    if (self->closing_) return false;
    if (!held) {
      if (self->late_streams_ >= self->context_->options.late_streams) return false;
      held = std::make_shared<Late>(self);
      until = Deadline::after(self->context_->options.late_keep);
    }
    return !until.passed();
  };
}

asio::awaitable<void> HttpLink::take_json(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline) {
  std::string body;
  Deadline late_until;
  for (;;) {
    const Result<std::string> piece = co_await read_piece(exchange, response, deadline, late_until);
    if (!piece) {
      conversation_.settle(*exchange, lost_answer(piece.error().message));
      co_return;
    }
    if (piece->empty()) break;
    if (body.size() + piece->size() > message_limit()) {
      response.close();
      conversation_.settle(*exchange, overlong_answer(context_->limits.result_bytes));
      co_return;
    }
    body += *piece;
  }
  std::string shown = excerpt(body);
  take_text(std::move(body), exchange, true);
  if (conversation_.waiting(*exchange)) {
    conversation_.settle(*exchange, lost_answer("the server's reply holds no answer to this request" + shown));
  }
}

void HttpLink::take_text(std::string text, const ExchangePtr& exchange, bool whole) {
  std::vector<std::string> replies;
  const std::string shown = text.substr(0, 200);
  const auto taken = conversation_.receive(std::move(text), {exchange.get(), whole}, replies);
  if (taken == Conversation::Taken::noise && conversation_.may_log())
    log::warning("server.noise", {{"server", id()}, {"text", shown}});
  for (std::string& reply : replies) send_note(std::move(reply), true);
}

asio::awaitable<std::string> HttpLink::read_events(ExchangePtr exchange, HttpClientResponse& response,
                                                   Deadline deadline, StreamState& state) {
  SseReader reader(message_limit());
  std::vector<SseEvent> events;
  Deadline late_until;
  Deadline after_answer;
  for (;;) {
    if (exchange && !conversation_.waiting(*exchange)) {
      // The stream should end now; waited for shortly, so that the connection can be used again.
      if (after_answer.is_never()) after_answer = Deadline::after(kTurn);
      const Result<std::string> rest = co_await response.read_some(after_answer);
      if (!rest || rest->empty()) co_return std::string();
      continue;
    }
    const Result<std::string> piece = co_await read_piece(exchange, response, deadline, late_until);
    if (!piece) co_return piece.error().message;
    if (piece->empty()) co_return std::string("the stream ended before the answer");
    events.clear();
    const Status read = reader.feed(*piece, events);
    state.retry_ms = reader.retry_ms();
    for (SseEvent& event : events) {
      if (event.id) state.last_event_id = *event.id;
      ++state.events;
      if (event.data.empty() || (!event.event.empty() && event.event != "message")) continue;
      take_text(std::move(event.data), exchange);
    }
    if (!read) {
      state.refused = state.over_limit = true;
      response.close();
      co_return overlong_answer(context_->limits.result_bytes).detail;
    }
  }
}

asio::awaitable<void> HttpLink::take_events(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline) {
  StreamState state;
  std::string broken = co_await read_events(exchange, response, deadline, state);
  response.close();
  int fruitless = 0;
  // Reading a stream on is not repeating a call: the server was given the request once.
  while (!is_modern() && conversation_.waiting(*exchange) && !exchange->given_up && !state.last_event_id.empty() &&
         !state.refused && !deadline.passed() && !closing_ && fruitless < kFruitlessResumes) {
    const std::size_t before = state.events;
    broken = co_await resume(exchange, deadline, state);
    fruitless = state.events > before ? 0 : fruitless + 1;
  }
  if (!conversation_.waiting(*exchange)) co_return;
  conversation_.settle(*exchange, state.over_limit ? answer_over_limit(broken) : lost_answer(broken));
}

asio::awaitable<std::string> HttpLink::resume(ExchangePtr exchange, Deadline deadline, StreamState& state) {
  const Millis most = context_->options.stream_retry_most;
  const Millis first = context_->options.stream_retry_first;
  const Millis pause =
      state.retry_ms
          ? std::min(Millis(static_cast<std::int64_t>(std::min<std::uint64_t>(*state.retry_ms, 3'600'000))), most)
          : first;
  const Deadline after_pause = earlier(deadline, Deadline::after(pause));
  co_await sleep_until(after_pause);
  Result<HttpClientRequest> request = co_await this->request("GET", {}, deadline);
  if (!request) co_return request.error().message;
  request->headers.set("Last-Event-ID", state.last_event_id);
  const Deadline head = earlier(deadline, Deadline::after(kHeadWait));
  Result<HttpClientResponse> response = co_await send(std::move(*request), head);
  if (!response) co_return "the stream broke and could not be resumed: " + response.error().message;
  const std::string type = media_type(response->headers().get("Content-Type").value_or(""));
  if (response->status() != 200 || type != "text/event-stream") {
    state.refused = true;
    co_return fmt::format("the stream broke and the server does not resume it (HTTP {})", response->status());
  }
  std::string broken = co_await read_events(exchange, *response, deadline, state);
  response->close();
  co_return broken;
}

// ---- refusals

bool HttpLink::lost_session(int status, std::string_view body) const {
  if (session_.empty()) return false;
  // 404 is what the specification says; some servers answer 400 and say it in words.
  return status == 404 || (status == 400 && holds_word(body, "session"));
}

asio::awaitable<void> HttpLink::take_refusal(ExchangePtr exchange, HttpClientResponse& response) {
  Result<std::string> body = co_await response.read_all(kMaxRefusal, Deadline::after(kRefusalWait));
  const int status = response.status();
  const std::string text = body ? std::move(*body) : std::string();
  const bool session_gone = lost_session(status, text);
  if (status == 401 || status == 403) headers_.forget();
  ServerAnswer answer = refusal(*exchange, status, text, response.headers());
  const bool answer_is_made = !answer.modern;
  if (session_gone) answer.detail += "; the server has lost the session, a new one begins with the next call";
  conversation_.settle(*exchange, std::move(answer));
  if (session_gone) end_session("it has lost the session");
  // A modern server says in JSON-RPC what is wrong; these without it are what a legacy one answers to a modern request.
  const bool foreign = is_modern() && (status == 400 || status == 404 || status == 405) && answer_is_made;
  if (foreign && state_ == State::up) {
    lose_era();
    end_session(fmt::format("HTTP {}: it no longer answers as a modern server does", status));
  }
}

// An answered error: the body's own, if it is a JSON-RPC error of this request, else one that says what came.
ServerAnswer HttpLink::refusal(const Exchange& exchange, int status, const std::string& body,
                               const HttpHeaders& headers) {
  ServerAnswer answer;
  answer.kind = ServerAnswer::Kind::error;
  answer.sent = true;
  answer.http_status = status;
  answer.retry_after = retry_after(headers);
  answer.detail = fmt::format("HTTP {} {}", status, reason_phrase(status));
  if (const auto location = headers.get("Location"); location && status < 400) {
    answer.detail +=
        fmt::format(", to {} (redirects are not followed: put the right URL into the config)", visible(*location));
  }
  auto incoming = mcp::parse_incoming(body, {.bytes = kMaxRefusal, .depth = context_->limits.depth}, false);
  if (incoming) {
    const mcp::Message& message = incoming->messages.front();
    const bool ours = message.id == exchange.token || message.id == "null";
    if (message.kind == mcp::Message::Kind::error_response && ours) {
      answer.document = message.document;
      answer.error = message.error;
      answer.modern = is_modern();
      return answer;
    }
  }
  auto made =
      json::Document::parse(fmt::format(R"({{"code":{},"message":{}}})", status, quote(answer.detail + excerpt(body))));
  if (!made) return lost_answer(answer.detail);
  answer.bare_http = true;
  answer.document = std::make_shared<const json::Document>(std::move(*made));
  answer.error = answer.document->root();
  return answer;
}

// ---- the server's own stream

asio::awaitable<void> HttpLink::listen(Self self) {
  const PoolOptions& options = self->context_->options;
  Millis pause = options.stream_retry_first;
  StreamState state;
  while (self->state_ == State::up && !self->closing_) {
    Result<HttpClientRequest> request = co_await self->request("GET", {}, Deadline::after(kHeadWait));
    Result<HttpClientResponse> response = fail(ErrorCode::unavailable, "its headers cannot be had");
    if (request) {
      if (!state.last_event_id.empty()) request->headers.set("Last-Event-ID", state.last_event_id);
      response = co_await self->send(std::move(*request), Deadline::after(kHeadWait));
    }
    if (response && !self->closing_) {
      const int status = response->status();
      const std::string type = media_type(response->headers().get("Content-Type").value_or(""));
      if (status == 404 && !self->session_.empty()) {
        self->end_session("it has lost the session");
        co_return;
      }
      // 405: it has no such stream. Other refusals will not change by asking again.
      if (status >= 300 && status < 500 && status != 429) co_return;
      if (status == 200 && type != "text/event-stream") co_return;
      if (status == 200) {
        const std::size_t before = state.events;
        self->stream_ = &*response;
        co_await self->read_events(nullptr, *response, Deadline::never(), state);
        self->stream_ = nullptr;
        if (state.events > before) pause = options.stream_retry_first;
      }
    }
    const Millis asked(static_cast<std::int64_t>(std::min<std::uint64_t>(state.retry_ms.value_or(0), 3'600'000)));
    const Deadline next = Deadline::after(std::clamp(asked, pause, options.stream_retry_most));
    pause = std::min(pause * 2, options.stream_retry_most);
    while (!self->closing_ && self->state_ == State::up && !next.passed()) {
      co_await self->changed_.wait(next);
    }
  }
}

}  // namespace sallyport::gateway::servers
