// Exchange: one request of ours to a server, until it is answered or given up. Internal to servers; lives on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway::servers {

struct Exchange {
  Exchange(const asio::any_io_executor& loop, std::int64_t number)
      : id(number), token(std::to_string(number)), answer(loop) {}
  std::int64_t id;    // JSON-RPC id and progress token on this leg; never used twice on a connection
  std::string token;  // the same as text
  std::string method;
  std::string operation;  // of a permitted call; empty for everything else
  int attempt = 1;
  std::string session;  // of the client; empty: nobody's
  std::function<void(std::string_view)> progress;
  std::function<void(std::string_view)> log;
  std::function<asio::awaitable<ClientReply>(ServerQuestion)> ask;
  Deadline deadline;
  std::vector<std::weak_ptr<Cancel>> questions;  // of the server, while it is open
  // Of a `subscriptions/listen`: params of the server's acknowledgement.
  std::function<void(json::Value params)> acknowledged;
  bool background = false;      // nobody's call: it keeps no link from being idle
  std::function<void()> abort;  // set by a transport where ending the connection is how a request is cancelled
  std::optional<double> last_progress;
  std::string hint;  // an error of the server that named no call, while this was the only one
  // Any byte of it may have left. Set by the transport before it hands out the first one, never reset.
  bool sent = false;
  // Given up before a byte left: the transport must not send it any more.
  bool withdrawn = false;
  bool given_up = false;  // nobody waits for its answer any more
  OneShot<ServerAnswer> answer;
};

[[nodiscard]] inline ServerAnswer not_sent_answer(std::string detail) {
  ServerAnswer answer;
  answer.kind = ServerAnswer::Kind::not_sent;
  answer.detail = std::move(detail);
  return answer;
}

[[nodiscard]] inline ServerAnswer lost_answer(std::string detail) {
  ServerAnswer answer;
  answer.kind = ServerAnswer::Kind::lost;
  answer.sent = true;
  answer.detail = std::move(detail);
  return answer;
}

[[nodiscard]] inline ServerAnswer answer_over_limit(std::string detail) {
  ServerAnswer answer = lost_answer(std::move(detail));
  answer.over_limit = true;
  return answer;
}

[[nodiscard]] inline ServerAnswer overlong_answer(std::size_t limit) {
  return answer_over_limit("the server's answer is over the limit of " + std::to_string(limit) + " bytes");
}

// Answers that no server gave, because the gateway answers for it.
[[nodiscard]] ServerAnswer local_result(std::string_view result_raw);
[[nodiscard]] ServerAnswer local_error(int code, std::string_view message);

// What is known of an exchange that ends without an answer.
[[nodiscard]] inline ServerAnswer unanswered(const Exchange& exchange, std::string detail) {
  return exchange.sent ? lost_answer(std::move(detail)) : not_sent_answer(std::move(detail));
}

}  // namespace sallyport::gateway::servers
