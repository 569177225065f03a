// Session: what one legacy client (2024-11-05 to 2025-11-25) and we agreed on: `initialize`, `ping`,
// `logging/setLevel`, cancellation, what servers ask of it, and which of its requests are open. Free of transport:
// messages come in by receive(), answers go to the Reply that came with them, everything else to the streams that are
// attached. All other requests go to the Front. A codec of another era stands beside it, on the same Flights and Reply.
//
// Lives on the loop; made and found by Sessions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/clients/flights.hpp"
#include "gateway/clients/outbox.hpp"
#include "gateway/clients/questions.hpp"
#include "gateway/clients/resumption.hpp"
#include "gateway/clients/share.hpp"
#include "gateway/ports/inbound.hpp"

namespace sallyport::gateway {

// What all sessions share. Outlives them.
struct SessionServices {
  SessionServices(asio::any_io_executor loop, Front& door, Clock& wall, std::string build,
                  std::function<Deadline::Clock::time_point()> steady, Share::Bounds bounds)
      : tasks(std::move(loop)),
        front(door),
        clock(wall),
        version(std::move(build)),
        now(std::move(steady)),
        shares(bounds) {}
  TaskGroup tasks;  // the open requests
  Front& front;
  Clock& clock;
  std::string version;  // of serverInfo
  std::function<Deadline::Clock::time_point()> now;
  Shares shares;
  std::shared_ptr<Parking> parking = std::make_shared<Parking>();
  std::shared_ptr<const int> alive = std::make_shared<const int>(0);
};

// Index into mcp::kLogLevels; -1: it is none of them.
[[nodiscard]] signed char log_level_index(json::Value level);
// Whether a log message with these params is wanted by who asked for this level and above; one without a level is.
[[nodiscard]] bool is_at_least(std::string_view params_raw, signed char wanted);
// What a client claims of itself, cut at a whole character.
[[nodiscard]] std::string client_claim(json::Value value);

class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Extras {  // what the transport says beside the message
    std::string idempotency_header;
    bool has_idempotency_header = false;
  };

  static constexpr std::size_t kMaxStreams = 4;

  Session(std::shared_ptr<SessionServices> services, ClientContext context, std::string token, Flights::Rules rules);

  // A request needs a reply, which is finished exactly once, perhaps at once; for other kinds it is ignored.
  void receive(mcp::Message message, Extras extras, std::shared_ptr<Reply> reply);

  // A notification that belongs to no request. Goes to one stream, the newest; without one, list changes wait (once
  // each) for the next, others are dropped.
  void notify(std::string_view method, std::string_view params_raw);
  // `notifications/elicitation/complete`, if this client was sent to that page.
  void elicitation_complete(const std::string& server, const std::string& id, std::string_view params_raw);
  void attach(const std::shared_ptr<Outbox>& stream);  // beyond kMaxStreams the oldest is closed
  void detach(const std::shared_ptr<Outbox>& stream);
  void close_streams();
  // Event streams of this version can be read on; null: those of this session cannot.
  [[nodiscard]] Resumption* resumption();
  void sweep(Deadline::Clock::time_point now) {
    if (resumption_) resumption_->sweep(now);
  }

  // Cancels what is open and closes the streams; what comes later is refused.
  void end(CancelReason reason);

  [[nodiscard]] const ClientContext& context() const { return *context_; }
  [[nodiscard]] bool initialized() const { return state_ == State::open; }
  [[nodiscard]] Deadline::Clock::time_point begun() const { return begun_; }  // initialized
  [[nodiscard]] bool ended() const { return state_ == State::ended; }
  [[nodiscard]] bool busy() const { return flights_.count() > 0 || !streams_.empty(); }
  [[nodiscard]] bool allows_batches() const { return mcp::has_batches(context_->protocol_version); }
  [[nodiscard]] signed char log_level() const { return level_; }     // index into kLogLevels; -1: none was asked for
  [[nodiscard]] const std::string& token() const { return token_; }  // Mcp-Session-Id; empty on stdio
  [[nodiscard]] std::size_t open_requests() const { return flights_.count(); }
  void cancel_requests(CancelReason reason) { flights_.cancel_all(reason); }
  [[nodiscard]] Flights& flights() { return flights_; }
  void on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }  // the last open request ended

  // When it was last used: a request came or ended, or a stream ended.
  void touch() { last_used_ = services_->now(); }
  [[nodiscard]] Deadline::Clock::time_point last_used() const { return last_used_; }

 private:
  enum class State : unsigned char { fresh, open, ended };
  static asio::awaitable<ClientReply> ask(std::shared_ptr<Session> self, ServerQuestion question,
                                          std::shared_ptr<Reply> reply);
  void request(mcp::Message message, Extras extras, const std::shared_ptr<Reply>& reply);
  void send(std::string message, bool droppable);  // on the newest stream
  bool send_question(std::string message);         // likewise; false: it has no place there
  Answer initialize(const mcp::Message& message);
  Answer set_level(const mcp::Message& message);
  void notification(const mcp::Message& message);
  void finish(const mcp::Message& message, Answer answer, Reply& reply) const;
  [[nodiscard]] bool admits(std::string_view method, std::string_view params_raw) const;

  std::shared_ptr<SessionServices> services_;
  std::shared_ptr<const ClientContext> context_;
  std::string token_;
  Flights flights_;
  std::vector<std::shared_ptr<Outbox>> streams_;  // oldest first
  std::vector<std::string> waiting_;              // list changes that found no stream
  std::function<void()> on_idle_;
  ClientAbilities able_;
  std::shared_ptr<Questions> questions_;    // made with the first
  std::unique_ptr<Resumption> resumption_;  // made with the first stream
  Deadline::Clock::time_point last_used_{};
  Deadline::Clock::time_point begun_{};
  State state_ = State::fresh;
  signed char level_ = -1;  // index into the log levels; -1: none was asked for
};

}  // namespace sallyport::gateway
