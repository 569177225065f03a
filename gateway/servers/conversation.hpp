// Conversation: our side of JSON-RPC with one server, free of transports: ids, answers in any order, progress, late
// answers, what the server asks of us. An answer counts only for exactly the id it names (design section 7).
// Internal to servers; lives on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/rate_limit.hpp"
#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/servers/exchange.hpp"

namespace sallyport::gateway::servers {

// Where a text came from. An HTTP answer belongs to its POST: there an error without an id is that POST's error, and
// where the text is the whole reply, one that cannot be read was its answer.
struct Origin {
  Exchange* exchange = nullptr;
  bool whole = false;
};

class Conversation {
 public:
  // A question of the server that may go to the client of this exchange; whoever takes it answers with this raw id.
  using OnQuestion = std::function<void(std::shared_ptr<Exchange>, ServerQuestion, std::string id)>;

  // `first_id`: somewhere far from what a server would answer by luck.
  Conversation(asio::any_io_executor loop, std::string server, ServerEvents& events, json::Limits limits,
               std::int64_t first_id);

  std::shared_ptr<Exchange> open(std::string method);
  // Ends it. If it was sent and had no answer, one that comes later still counts for its operation.
  void close(Exchange& exchange);

  enum class Taken : std::uint8_t {
    message,  // one or more messages, dealt with
    noise,    // no message
  };
  // One text of the server. What has to be sent back is appended to `replies`.
  Taken receive(std::string text, Origin origin, std::vector<std::string>& replies);
  // A text too long to be read: if it can be seen which call it would have answered, that call is lost.
  void overlong(std::string_view head, std::string_view tail);
  // For transports that know which exchange something belongs to: as if the server had answered so.
  void settle(Exchange& exchange, ServerAnswer answer);
  // Its answer would still count, be it late.
  [[nodiscard]] bool waiting(const Exchange& exchange) const;
  // The connection is gone: all that is open ends, lost if a byte may have left.
  void fail_all(const std::string& reason);

  void set_batches(bool allowed) { batches_ = allowed; }
  // A modern server asks nothing by requests of its own, and tells changes under the id of our subscription.
  void set_modern(bool modern) { modern_ = modern; }
  void set_owner(LinkKey owner) { owner_ = std::move(owner); }
  void on_question(OnQuestion callback) { on_question_ = std::move(callback); }
  void question_ended(const std::string& id) { questions_.erase(id); }
  // Whether a line about what the server does may go to our log: it can cause any number of them.
  [[nodiscard]] bool may_log();
  [[nodiscard]] std::size_t open_count() const;  // without what runs in the background

 private:
  struct GivenUp {
    std::string operation;
    int attempt;
  };
  void on_message(const mcp::Message& message, Origin origin, std::vector<std::string>& replies);
  void on_answer(const mcp::Message& message, Origin origin);
  void on_request(const mcp::Message& message, Origin origin, std::vector<std::string>& replies);
  void on_fault(const mcp::IncomingFault& fault);
  Taken take_unread(const mcp::IncomingFault& fault, std::string_view head, std::string_view tail, Origin origin);
  void on_notification(const mcp::Message& message, Origin origin);
  void on_log(const mcp::Message& message, Origin origin);
  void on_acknowledged(const mcp::Message& message);
  [[nodiscard]] ServerAnswer to_answer(const mcp::Message& message) const;
  static void end(Exchange& exchange);  // it waits for nothing any more
  // The request of ours that something of the server belongs to: the one on whose stream it came; else the newest one,
  // if all that are open are one session's (design section 8).
  struct Cause {
    std::shared_ptr<Exchange> exchange;
    std::string session;   // whose it is, though the request has ended
    bool several = false;  // sessions have requests open: nobody knows whose it is
  };
  [[nodiscard]] Cause cause_of(Origin origin) const;
  void on_progress(const mcp::Message& message);
  void unknown_answer(std::string_view id);
  void lose(std::int64_t id, ServerAnswer answer);

  asio::any_io_executor loop_;
  std::string server_;
  LinkKey owner_;
  ServerEvents& events_;
  OnQuestion on_question_;
  std::map<std::string, std::weak_ptr<Cancel>> questions_;  // by raw id of the server; bounded
  json::Limits limits_;
  std::int64_t next_id_;
  bool batches_ = false;
  bool modern_ = false;
  std::map<std::int64_t, std::shared_ptr<Exchange>> open_;
  std::map<std::int64_t, GivenUp> given_up_;  // bounded; the oldest go first
  std::uint64_t unknown_answers_ = 0;
  RateLimit lines_;
};

// The top-level integer `id` of a JSON object of which only the beginning and the end are at hand; for messages that
// are refused unread.
[[nodiscard]] std::optional<std::int64_t> find_id(std::string_view head, std::string_view tail);

// The ids of the answers in a text that is no JSON: of each outermost object (one behind the other, or in an array)
// that has a `result` or `error`, no `method`, and one integer `id`.
[[nodiscard]] std::vector<std::int64_t> find_answers(std::string_view text);

}  // namespace sallyport::gateway::servers
