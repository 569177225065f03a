// HttpLink: a ServerLink over MCP's streamable HTTP. Each request is a POST of its own, whose answer comes as JSON or
// as an event stream. Legacy: a GET stream carries what the server says of its own accord; a session that the server
// has lost ends the link (the pool makes a new one for the next call). Modern: no session, headers that mirror the
// body, and the end of the connection cancels a request. No call is sent again.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gateway/net/http_client.hpp"
#include "gateway/servers/header_source.hpp"
#include "gateway/servers/link.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway::servers {

// http only to this machine; unix sockets.
[[nodiscard]] Result<Url> parse_server_url(const std::string& text);

class HttpLink final : public Link {
 public:
  HttpLink(const std::shared_ptr<LinkContext>& context, const ServerSettings& settings, Url url);

  asio::awaitable<Status> start(Deadline deadline) override;
  asio::awaitable<void> close(Deadline deadline) override;
  void abandon() noexcept override;
  // As found when the session began.
  [[nodiscard]] const trust::Identity& found() const { return identity_; }

 protected:
  void begin(std::shared_ptr<Exchange> exchange, Outgoing outgoing) override;
  void send_note(std::string text, bool urgent) override;
  void withdraw(Exchange& exchange, const std::string& why) override;
  void keep_callable(ToolListing& listing) override;
  [[nodiscard]] const std::vector<mcp::ParamHeader>* param_headers(const std::string& tool) const override;

 private:
  using Self = std::shared_ptr<HttpLink>;
  using ExchangePtr = std::shared_ptr<Exchange>;

  static asio::awaitable<void> post_request(Self self, ExchangePtr exchange, Outgoing outgoing);
  static asio::awaitable<void> post_note(Self self, std::string text);
  static asio::awaitable<void> listen(Self self);

  asio::awaitable<Status> make_client();
  asio::awaitable<Result<HttpClientRequest>> request(std::string method, std::string body, Deadline deadline);
  asio::awaitable<Result<HttpClientResponse>> send(HttpClientRequest request, Deadline deadline);

  asio::awaitable<void> take_answer(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline);
  asio::awaitable<void> take_json(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline);
  asio::awaitable<void> take_events(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline);
  asio::awaitable<void> take_refusal(ExchangePtr exchange, HttpClientResponse& response);
  // Reads one event stream until its end; null exchange: the GET stream. What broke it, or empty.
  struct StreamState {
    std::string last_event_id;
    std::optional<std::uint64_t> retry_ms;
    std::size_t events = 0;
    bool refused = false;     // the server will not continue it
    bool over_limit = false;  // an event was too long: we will not
  };
  asio::awaitable<std::string> read_events(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline,
                                           StreamState& state);
  asio::awaitable<std::string> resume(ExchangePtr exchange, Deadline deadline, StreamState& state);
  asio::awaitable<Result<std::string>> read_piece(ExchangePtr exchange, HttpClientResponse& response, Deadline deadline,
                                                  Deadline& late_until);
  [[nodiscard]] std::function<bool()> late_head(ExchangePtr exchange);
  void take_text(std::string text, const ExchangePtr& exchange, bool whole = false);
  ServerAnswer refusal(const Exchange& exchange, int status, const std::string& body, const HttpHeaders& headers);
  [[nodiscard]] bool lost_session(int status, std::string_view body) const;
  void take_session(const HttpClientResponse& response);
  void end_session(const std::string& reason);

  Url url_;
  HeaderSource headers_;
  std::shared_ptr<HttpClient> client_;
  std::string session_;
  bool session_lost_ = false;
  std::string expected_key_;  // SPKI as first seen, where keys are asked for
  std::string certificate_key_;
  trust::Identity identity_;
  HttpClientResponse* stream_ = nullptr;                                             // the open GET stream
  std::map<std::string, std::vector<mcp::ParamHeader>, std::less<>> param_headers_;  // by tool, as last listed
  std::size_t late_streams_ = 0;
  std::size_t notes_ = 0;
  bool closing_ = false;
  Signal changed_;
};

}  // namespace sallyport::gateway::servers
