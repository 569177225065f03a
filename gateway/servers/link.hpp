// Link: what a stdio child and an HTTP endpoint have in common as ServerLinks: one request at a time goes from begin()
// to exactly one ServerAnswer, whatever the transport, the deadline and the canceller do. Internal to servers.
//
// Lifetime: shared; background tasks of a link hold it and end soon after close() or abandon(), one of which the owner
// (the pool) always calls. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gateway/base/clock.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/base/workers.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/net/tls.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/servers/change_stream.hpp"
#include "gateway/servers/conversation.hpp"
#include "gateway/servers/envelope.hpp"
#include "gateway/servers/environment.hpp"
#include "gateway/servers/pool_options.hpp"

namespace sallyport::gateway::servers {

// What all links of a pool share.
struct LinkContext {
  LinkContext(asio::any_io_executor executor, std::shared_ptr<ServerEvents> to, Workers& pool, Entropy& random)
      : loop(executor), tasks(std::move(executor)), events(std::move(to)), workers(pool), entropy(random) {}
  asio::any_io_executor loop;
  TaskGroup tasks;
  std::shared_ptr<ServerEvents> events;  // the pool's own, which outlives every link
  Workers& workers;
  Entropy& entropy;
  LimitSettings limits;
  PoolOptions options;
  Environment environment;                                       // of ours, what children may see
  std::string version;                                           // ours
  std::map<std::string, std::shared_ptr<TlsClientContext>> tls;  // by CA file; empty: the system's store
};

class Link : public ServerLink, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<LinkContext> context, const ServerSettings& settings);

  // Connects and shakes hands; errors are RetryClass::not_sent. Afterwards the link is up, or it has to be closed.
  virtual asio::awaitable<Status> start(Deadline deadline) = 0;
  // Ends in good order; returns when all is gone, at the latest soon after the deadline.
  virtual asio::awaitable<void> close(Deadline deadline) = 0;
  virtual void abandon() noexcept = 0;  // at once, without waiting; for the end of the process

  asio::awaitable<ServerAnswer> call(PermittedCall permit, CallControl control) final;
  asio::awaitable<ServerAnswer> relay(std::string method, std::string params_raw, CallControl control) final;
  asio::awaitable<Result<ToolListing>> list_tools(Deadline deadline) final;
  [[nodiscard]] const ServerInfo& info() const final { return info_; }
  [[nodiscard]] const std::string& identity() const final { return identity_; }
  void set_identity(std::string canonical) { identity_ = std::move(canonical); }  // once, before anyone else has it
  [[nodiscard]] bool alive() const final { return state_ == State::up; }
  void tell(std::string_view method, std::string_view params_raw) final;
  void hold(int by) final { holds_ += by; }
  // Before start(): the era to speak, or to find out by a modern request first.
  enum class Speak : unsigned char { legacy, modern, probe };
  void speak(Speak how) { speak_ = how; }
  // A modern request was sent first to a server that is none, and it may have taken that ill: one started anew may
  // serve.
  [[nodiscard]] bool was_probed() const { return probed_; }
  // The era was proven: the next link needs no probe.
  [[nodiscard]] bool is_era_sure() const { return era_sure_; }
  // It was modern when the link began, and an answer showed that it is no longer.
  [[nodiscard]] bool is_era_lost() const { return era_lost_; }
  // Before start(): whose it is.
  void set_owner(LinkKey owner);
  [[nodiscard]] bool held() const { return holds_ > 0; }

  [[nodiscard]] std::size_t open_calls() const { return conversation_.open_count(); }
  [[nodiscard]] Deadline::Clock::time_point last_used() const { return last_used_; }
  [[nodiscard]] const std::string& name() const { return settings_.id; }
  [[nodiscard]] bool is_child() const { return settings_.transport == ServerSettings::Transport::stdio; }
  [[nodiscard]] Millis call_timeout() const { return settings_.timeout; }
  void touch() { last_used_ = Deadline::Clock::now(); }
  // Why it is no longer up; empty as long as it is.
  [[nodiscard]] const std::string& end_reason() const { return end_reason_; }
  // The end was no fault of the server (we closed it, or it only lost the session).
  [[nodiscard]] bool ended_well() const { return ended_well_; }
  // A call timed out and nothing at all has come from the server since it was sent. It may be busy or hang; nobody can
  // tell, so the link goes on, but people are told.
  [[nodiscard]] bool silent() const { return silent_; }
  void on_silence(std::function<void()> callback) { on_silence_ = std::move(callback); }  // whenever silent() changes
  // Called once, when it is no longer up.
  void on_end(std::function<void()> callback) { on_end_ = std::move(callback); }

 protected:
  enum class State : unsigned char { starting, up, ended };
  struct Outgoing {
    std::string text;
    std::string idempotency_header;  // transports without headers drop it
    Deadline deadline;
    bool starts_session = false;  // `initialize`
    HeaderList headers;           // that mirror the text; transports without headers drop them
  };
  // Hands the request to the transport. What becomes of it is told through the exchange, at once or later.
  virtual void begin(std::shared_ptr<Exchange> exchange, Outgoing outgoing) = 0;
  // For notifications and answers to the server; urgent ones overtake what waits.
  virtual void send_note(std::string text, bool urgent) = 0;

  // In the era that speak() says, or the one that the server is found to speak; to state up. In the legacy era
  // notifications/initialized is sent by the caller.
  asio::awaitable<Status> shake_hands(Deadline deadline);
  // Where the server does not hear it from the transport: that nobody waits for this any more.
  virtual void withdraw(Exchange& exchange, const std::string& why);
  [[nodiscard]] bool is_modern() const { return era_ == mcp::Era::modern; }
  [[nodiscard]] std::string_view spoken_version() const;  // empty: not agreed yet
  // An answer of a modern server that only one of another era gives.
  void lose_era() { era_lost_ = true; }
  // Tools that cannot be called over this transport are left out.
  virtual void keep_callable(ToolListing& /*listing*/) {}
  [[nodiscard]] virtual const std::vector<mcp::ParamHeader>* param_headers(const std::string& /*tool*/) const {
    return nullptr;
  }
  // To state ended: everything open ends. The first reason stays.
  void finish(const std::string& reason, bool well);
  // To state ended for new requests; what is open goes on until finish().
  void retire(const std::string& reason);
  void heard();  // something came from the server

  [[nodiscard]] const std::string& id() const { return settings_.id; }
  [[nodiscard]] std::size_t message_limit() const;  // of a text of the server
  [[nodiscard]] const ServerSettings& settings() const { return settings_; }

  std::shared_ptr<LinkContext> context_;
  Conversation conversation_;
  State state_ = State::starting;

 private:
  class OpenRequest;
  struct Request {
    std::string method;
    std::function<std::string(const Exchange&)> params;
    std::string operation;
    int attempt = 1;
    std::string idempotency_header;
    HeaderList headers;
    std::function<void(json::Value)> acknowledged;
    bool background = false;
  };
  asio::awaitable<ServerAnswer> initialize(Deadline deadline);
  Status accept_initialize(const ServerAnswer& answer);
  asio::awaitable<ServerAnswer> discover(Deadline deadline);
  Status accept_discover(const ServerAnswer& answer);
  void come_up(ServerInfo info);
  void listen_to_changes();
  asio::awaitable<void> refresh_discovery(Deadline deadline);
  asio::awaitable<ServerAnswer> relay_modern(std::string method, std::string params_raw, CallControl control);
  [[nodiscard]] Request modern_call(const PermittedCall& permit, const CallControl& control) const;
  [[nodiscard]] Envelope envelope_for(const CallControl& control) const;
  [[nodiscard]] static bool is_task(const ServerAnswer& answer, const std::string& capabilities);
  asio::awaitable<ServerAnswer> follow_task(ServerAnswer made, CallControl control);
  static asio::awaitable<void> cancel_task(std::shared_ptr<Link> self, std::string params, std::string capabilities);
  asio::awaitable<ServerAnswer> run(Request request, CallControl control);
  ServerAnswer give_up(Exchange& exchange, const std::string& why);
  void check_silence(const Exchange& exchange, Deadline::Clock::time_point begun);
  static asio::awaitable<void> ping(std::shared_ptr<Link> self);
  static asio::awaitable<void> answer_question(std::shared_ptr<Link> self, std::shared_ptr<Exchange> exchange,
                                               ServerQuestion question, std::string id);

  ServerSettings settings_;
  ServerInfo info_;
  std::string identity_;
  mcp::Era era_ = mcp::Era::legacy;
  Speak speak_ = Speak::legacy;
  bool probed_ = false, era_sure_ = false, era_lost_ = false;
  std::string level_;  // modern: what logging/setLevel asked for, sent with every request
  Deadline discovered_until_ = Deadline::never();
  std::shared_ptr<ChangeStream> changes_;  // modern
  LinkKey owner_;
  Deadline::Clock::time_point last_used_ = Deadline::Clock::now();
  Deadline::Clock::time_point last_heard_ = Deadline::Clock::now();
  bool silent_ = false;
  int holds_ = 0;
  std::function<void()> on_silence_;
  std::string end_reason_;
  bool ended_well_ = false;
  std::function<void()> on_end_;
};

}  // namespace sallyport::gateway::servers
