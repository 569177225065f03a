#include "gateway/cli/control_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>

#include "gateway/net/http_client.hpp"
#include "gateway/net/sse.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr std::size_t kMostAnswer = 64U << 20;
constexpr std::size_t kMostEvent = 64U << 10;
constexpr Millis kSilence{60'000};  // the server says something every 15 seconds

// A loop for one request: the callback of a stream may ask again meanwhile.
template <class T>
T run(const std::function<asio::awaitable<T>(asio::any_io_executor)>& task) {
  asio::io_context loop;
  std::optional<T> out;
  std::exception_ptr failure;
  asio::co_spawn(loop, task(loop.get_executor()), [&](const std::exception_ptr& error, T value) {
    failure = error;
    out.emplace(std::move(value));
  });
  while (!out && loop.run_one() > 0) {
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*out);
}

ErrorCode code_named(std::string_view name) {
  for (auto code = ErrorCode::invalid; code != ErrorCode::internal;
       code = static_cast<ErrorCode>(static_cast<unsigned>(code) + 1)) {
    if (to_string(code) == name) return code;
  }
  return ErrorCode::internal;
}

std::unexpected<Error> api_error(const ControlTarget& target, int status, std::string body) {
  if (status == 401) {
    return fail(ErrorCode::forbidden, "the gateway at " + target.name() +
                                          " does not know this credential: it must be a person's, not a client's; run "
                                          "`sallyport login`, or give --token-file");
  }
  auto document = json::Document::parse(std::move(body));
  const json::Value error = document ? document->root().find("error") : json::Value();
  if (!error.find("code").is_string() || !error.find("message").is_string()) {
    return fail(ErrorCode::protocol, "what answers at " + target.name() + " is no control side of Sallyport (status " +
                                         std::to_string(status) + ")");
  }
  return fail(code_named(error.find("code").string()), visible(error.find("message").string()));
}

std::unexpected<Error> unreached(const ControlTarget& target, Error error) {
  if (error.code == ErrorCode::timeout && error.retry != RetryClass::not_sent) return fail(std::move(error));
  if (target.url.scheme == Url::Scheme::unix_socket) {
    return fail(ErrorCode::unavailable,
                "no gateway runs here: nothing answers at " + target.url.socket_path +
                    "; start one with `sallyport serve`, or name another with --state or --url");
  }
  return fail(ErrorCode::unavailable, "the gateway at " + target.name() + " cannot be reached: " + error.message);
}

}  // namespace

Result<ControlTarget> ControlTarget::make(const std::string& url, const std::string& socket,
                                          const std::string& ca_file) {
  ControlTarget target;
  target.ca_file = ca_file;
  if (url.empty() && socket.empty())
    return fail(ErrorCode::invalid, "there is no state folder to look for a gateway in");
  auto parsed = parse_url(url.empty() ? "unix:" + socket : url);
  if (!parsed) return fail(parsed.error());
  target.url = std::move(*parsed);
  if (target.url.scheme == Url::Scheme::http && !is_loopback(target.url.host)) {
    return fail(ErrorCode::invalid,
                "`" + visible(url) + "`: plain http off this machine would show your token; use https");
  }
  return target;
}

struct ControlClient::State {
  ControlTarget target;
  Secret token;

  [[nodiscard]] HttpClientRequest request(std::string method, const std::string& path, std::string body) const {
    HttpClientRequest request;
    request.method = std::move(method);
    request.url = target.url;
    request.url.target = path;
    request.headers.add("Authorization", "Bearer " + token.reveal());
    if (request.method == "POST") request.headers.add("Content-Type", "application/json");
    request.body = std::move(body);
    return request;
  }
  [[nodiscard]] Result<HttpClientOptions> options() const {
    HttpClientOptions options;
    if (!target.ca_file.empty()) {
      auto tls = TlsClientContext::load(target.ca_file);
      if (!tls) return fail(tls.error());
      options.tls = std::move(*tls);
    }
    return options;
  }
  asio::awaitable<Result<std::string>> ask(asio::any_io_executor loop, HttpClientRequest request, Millis wait) const;
  asio::awaitable<Result<std::string>> listen(asio::any_io_executor loop, HttpClientRequest request,
                                              const std::function<bool(std::string_view)>& on_event) const;
};

asio::awaitable<Result<std::string>> ControlClient::State::ask(asio::any_io_executor loop, HttpClientRequest request,
                                                               Millis wait) const {
  auto settings = options();
  if (!settings) co_return fail(settings.error());
  HttpClient client(loop, std::move(*settings));
  const Deadline deadline = Deadline::after(wait);
  auto response = co_await client.send(std::move(request), deadline);
  if (!response) co_return unreached(target, response.error());
  auto body = co_await response->read_all(kMostAnswer, deadline);
  if (!body) co_return fail(body.error());
  if (response->status() != 200) co_return api_error(target, response->status(), std::move(*body));
  while (body->ends_with('\n')) body->pop_back();
  co_return std::move(*body);
}

asio::awaitable<Result<std::string>> ControlClient::State::listen(
    asio::any_io_executor loop, HttpClientRequest request,
    const std::function<bool(std::string_view)>& on_event) const {
  auto settings = options();
  if (!settings) co_return fail(settings.error());
  HttpClient client(loop, std::move(*settings));
  auto response = co_await client.send(std::move(request), Deadline::after(kWait));
  if (!response) co_return unreached(target, response.error());
  if (response->status() != 200) {
    auto body = co_await response->read_all(kMostEvent, Deadline::after(kWait));
    co_return api_error(target, response->status(), body.value_or(std::string()));
  }
  SseReader reader(kMostEvent);
  for (;;) {
    auto bytes = co_await response->read_some(Deadline::after(kSilence));
    if (!bytes || bytes->empty()) {
      co_return fail(ErrorCode::unavailable, "the gateway at " + target.name() + " ended the stream");
    }
    std::vector<SseEvent> events;
    if (auto fed = reader.feed(*bytes, events); !fed) co_return fail(fed.error());
    for (const SseEvent& event : events) {
      if (!event.data.empty() && !on_event(event.data)) co_return std::string();
    }
  }
}

ControlClient::ControlClient(ControlTarget target, Secret token)
    : state_(std::make_unique<State>(State{std::move(target), std::move(token)})) {}
ControlClient::~ControlClient() = default;
ControlClient::ControlClient(ControlClient&&) noexcept = default;
ControlClient& ControlClient::operator=(ControlClient&&) noexcept = default;

const ControlTarget& ControlClient::target() const { return state_->target; }

Result<std::string> ControlClient::get(const std::string& path, Millis wait) {
  return run<Result<std::string>>(
      [&](asio::any_io_executor loop) { return state_->ask(loop, state_->request("GET", path, {}), wait); });
}

Result<std::string> ControlClient::post(const std::string& path, const std::string& body, Millis wait) {
  return run<Result<std::string>>(
      [&](asio::any_io_executor loop) { return state_->ask(loop, state_->request("POST", path, body), wait); });
}

Status ControlClient::events(const std::string& path, const std::function<bool(std::string_view data)>& on_event) {
  auto ended = run<Result<std::string>>(
      [&](asio::any_io_executor loop) { return state_->listen(loop, state_->request("GET", path, {}), on_event); });
  if (!ended) return fail(ended.error());
  return {};
}

std::string query_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (value.empty()) continue;
    out += (out.empty() ? "?" : "&") + percent_encode(name) + "=" + percent_encode(value);
  }
  return out;
}

}  // namespace sallyport::gateway::cli
