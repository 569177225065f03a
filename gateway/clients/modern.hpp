// Modern: the codec of clients that speak 2026-07-28, beside Session: every request says all of itself, nothing is
// agreed on before. Answers `server/discover` and holds `subscriptions/listen` itself; all other requests go to the
// Front. What comes back is put into the words of this era. On the loop; owned by Sessions.
//
// Requests of one principal over HTTP share a session id (servers that keep state per session see one) and a bound; no
// run of their own: they count in the principal's standing run. An anonymous one is a principal of its own for each
// connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/clients/authenticate.hpp"
#include "gateway/clients/own_questions.hpp"
#include "gateway/clients/request_state.hpp"
#include "gateway/clients/session.hpp"
#include "gateway/mcp/modern.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

struct Subscriber;

class Modern final : private Front {
 public:
  static constexpr std::size_t kMostUris = 64;  // of one listen

  struct Options {
    std::string boundary;
    std::size_t clients = 10'000;  // principals with a session here at once
    std::size_t requests = 320;    // open at once, of one of them
    Millis idle = std::chrono::minutes(30);
    std::string state_key;  // of RequestStates
  };

  // `entropy` outlives this.
  Modern(std::shared_ptr<SessionServices> services, Entropy& entropy, Options options);
  ~Modern() override;
  Modern(const Modern&) = delete;
  Modern& operator=(const Modern&) = delete;

  struct Arrived {
    mcp::Message message;  // a request; its envelope was read (modern_head.hpp)
    mcp::Envelope envelope;
    Session::Extras extras;
  };
  // Over HTTP. `connection`: what tells connections apart, for anonymous ones. limit: too many clients.
  Status receive(const Identity& identity, const Mount& mount, std::string_view connection, Arrived arrived,
                 std::shared_ptr<Reply> reply);
  // Over a connection that has a session (lines): its ids, cancels and end are the session's.
  void receive(const std::shared_ptr<Session>& session, Arrived arrived, std::shared_ptr<Reply> reply);

  // What headers say of arguments against what the body says; nullopt: they agree.
  [[nodiscard]] std::optional<std::string> param_fault(const Identity& identity, const Mount& mount,
                                                       const mcp::Message& message,
                                                       const mcp::HeaderLookup& find) const;

  // (method, server) since when: to every listener that asked for it, sees the server and came before; once a method.
  using Changes = std::map<std::pair<std::string, std::string>, Deadline::Clock::time_point>;
  void changed(const Changes& changes);
  // To the listener with this session id. False: there is none.
  bool tell(const std::string& session, std::string_view method, std::string_view params_raw);
  void keep(const std::function<bool(const Principal&)>& may_stay);  // ends the requests of all others
  void sweep();                                                      // forgets who was not heard of for long
  void end_listeners();                                              // each with its last word
  void cancel_requests(CancelReason reason);
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] std::size_t listeners() const { return listeners_.size(); }

 private:
  struct Client;

  asio::awaitable<Answer> handle(Inbound inbound) override;
  void over_limit(const Inbound& inbound) override;
  [[nodiscard]] std::string capabilities(const ClientContext& client) const override;
  [[nodiscard]] std::string instructions(const ClientContext& client) const override;
  asio::awaitable<Answer> discover(Inbound inbound);
  asio::awaitable<Answer> listen(Inbound inbound);
  asio::awaitable<std::vector<std::string>> subscribe(std::shared_ptr<const ClientContext> client, Inbound inbound);
  [[nodiscard]] Answer ask_for_input(const InputNeeded& needed, const LegOf& leg);
  Status take_input(ClientContext& context, Inbound& inbound) const;
  static asio::awaitable<ClientReply> ask_user(Modern* self, std::shared_ptr<const ClientContext> client,
                                               std::shared_ptr<const json::Document> document, json::Value params,
                                               std::string method, ServerQuestion question,
                                               std::shared_ptr<Reply> reply);
  [[nodiscard]] Answer dress(std::string_view method, Answer answer) const;
  void start(Flights& flights, std::shared_ptr<void> keep, ClientContext context, Arrived arrived,
             std::shared_ptr<Reply> reply, bool ends_with_client);
  Result<std::shared_ptr<Client>> client_of(const Identity& identity, std::string_view connection);

  std::shared_ptr<SessionServices> services_;
  Entropy& entropy_;
  Options options_;
  RequestStates states_;
  std::shared_ptr<OwnQuestions> questions_ = std::make_shared<OwnQuestions>(entropy_);
  std::map<std::string, std::shared_ptr<Client>, std::less<>> clients_;  // by principal
  std::map<std::string, Subscriber*, std::less<>> listeners_;            // by session id; each owned by its task
};

}  // namespace sallyport::gateway
