#include "gateway/control/control_server.hpp"

#include <algorithm>
#include <utility>

#include "gateway/control/answers.hpp"
#include "gateway/control/console.hpp"
#include "gateway/control/events.hpp"
#include "gateway/control/logins.hpp"
#include "gateway/control/routes.hpp"
#include "gateway/net/url.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/secret.hpp"

namespace sallyport::gateway {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

OriginRules origin_rules(const ListenSettings& settings) {
  OriginRules rules;
  const bool any = settings.address == "0.0.0.0" || settings.address == "::";
  rules.loopback_names = true;  // control.sock is asked under the name localhost
  if (!any) {
    const std::string address = lower(settings.address);
    rules.hosts.push_back(address.contains(':') ? "[" + address + "]" : address);
  }
  for (const std::string& host : settings.allowed_hosts) rules.hosts.push_back(lower(host));
  rules.origins = settings.allowed_origins;
  return rules;
}

HttpLimits limits_of(const ControlOptions& options) {
  HttpLimits limits;
  limits.body_bytes = options.body_bytes;
  limits.connections = options.connections;
  return limits;
}

std::optional<HttpResponse> check_body_type(const HttpHeaders& headers) {
  const auto type = headers.get("Content-Type");
  if (headers.count("Content-Type") != 1 || media_type(*type) != "application/json") {
    return error_answer(415, "unsupported_media_type", "Content-Type must be application/json");
  }
  if (const auto encoding = headers.get("Content-Encoding"); encoding && lower(*encoding) != "identity") {
    return error_answer(415, "unsupported_media_type", "encoded bodies are not taken");
  }
  return std::nullopt;
}

std::string person_json(const Person& person) {
  std::string roles, groups;
  const auto add = [](std::string& list, std::string_view text) { list += (list.empty() ? "" : ",") + quote(text); };
  if (person.has(Role::approver)) add(roles, "approver");
  if (person.has(Role::operator_)) add(roles, "operator");
  if (person.has(Role::auditor)) add(roles, "auditor");
  if (person.has(Role::watcher)) add(roles, "watcher");
  for (const std::string& group : person.groups) add(groups, group);
  return R"({"groups":[)" + groups + R"(],"id":)" + quote(person.id) + R"(,"roles":[)" + roles + "]}";
}

// What handlers use. They hold it, so that one that is cut off late finds it still there.
struct Core : std::enable_shared_from_this<Core> {
  Core(const asio::any_io_executor& loop, std::shared_ptr<const PeopleBook> book, Desk& the_desk,
       const Readiness& ready, const Metrics& numbers, const ControlOptions& options)
      : people(std::move(book)),
        desk(the_desk),
        readiness(ready),
        metrics(numbers),
        origins(origin_rules(options.listen)),
        events(loop, options.event_streams, options.keep_alive),
        logins(*options.clock, *options.entropy) {}

  [[nodiscard]] std::optional<HttpResponse> precheck(const HttpRequest& head, const std::string& peer);
  [[nodiscard]] Result<Person> person_of(std::string_view token);
  [[nodiscard]] Result<Person> person_of(const HttpRequest& request);
  [[nodiscard]] HttpResponse login(const HttpRequest& request, const std::string& peer);
  [[nodiscard]] HttpResponse login_code(const HttpRequest& request, const Person& person);
  asio::awaitable<void> handle(HttpRequest request, HttpExchange& exchange);
  [[nodiscard]] std::optional<HttpResponse> answer_here(const Route& route, const HttpRequest& request,
                                                        const Person& person, const std::string& peer);
  asio::awaitable<void> stream_events(HttpRequest request, HttpExchange& exchange, Person person);

  std::shared_ptr<const PeopleBook> people;
  Desk& desk;
  const Readiness& readiness;
  const Metrics& metrics;
  OriginRules origins;
  EventStreams events;
  Logins logins;
  std::string address;  // of the console; empty: not known
};

Result<Person> Core::person_of(std::string_view token) {
  const auto id = logins.person_of(token);
  if (!id) return people->by_token(token);
  if (auto person = people->by_id(*id)) return std::move(*person);
  return fail(ErrorCode::forbidden, "the person of this session is no longer there", ErrorSource::client);
}

Result<Person> Core::person_of(const HttpRequest& request) {
  const auto token = bearer_token(request.headers);
  if (!token) return fail(ErrorCode::forbidden, "a person's token is needed: Authorization: Bearer …");
  return person_of(*token);
}

HttpResponse Core::login(const HttpRequest& request, const std::string& peer) {
  Input input(request);
  const std::string code = input.text("code", Input::Need::required, 64);
  if (auto done = input.done(); !done) return error_answer(done.error());
  auto session = logins.enter(code, peer);
  if (!session && session.error().code == ErrorCode::limit) {
    HttpResponse response = error_answer(429, "limit", session.error().message);
    response.headers.set("Retry-After", "60");
    return response;
  }
  if (!session) return error_answer(401, "unauthorized", session.error().message);
  return json_answer(R"({"expires":)" + quote(to_utc(session->expires)) + R"(,"id":)" + quote(session->person) +
                     R"(,"token":)" + quote(session->token) + "}");
}

HttpResponse Core::login_code(const HttpRequest& request, const Person& person) {
  Input input(request);
  if (auto done = input.done(); !done) return error_answer(done.error());
  if (logins.person_of(bearer_token(request.headers).value_or("")))
    return error_answer(403, "forbidden", "a session makes no codes: it takes the person's token");
  const Logins::Code made = logins.make_code(person.id);
  std::string body = R"({"code":)" + quote(made.code) + R"(,"expires":)" + quote(to_utc(made.expires));
  if (!address.empty()) body += R"(,"url":)" + quote(address + "/#code=" + made.code);
  return json_answer(body + "}");
}

std::optional<HttpResponse> Core::precheck(const HttpRequest& head, const std::string& peer) {
  if (auto allowed = check_origin(head.headers, origins); !allowed) return error_answer(allowed.error());
  const Matched matched = match_route(head.method, head.path);
  if (matched.route == nullptr) {
    if (matched.allow.empty()) return error_answer(404, "not_found", "there is no such path");
    HttpResponse response = error_answer(405, "method_not_allowed", "this path takes " + matched.allow);
    response.headers.set("Allow", matched.allow);
    return response;
  }
  if (matched.route->open()) return head.method == "POST" ? check_body_type(head.headers) : std::nullopt;
  if (auto person = person_of(head); !person) {
    if (bearer_token(head.headers) && !logins.wrong_token(peer)) {
      HttpResponse response = error_answer(429, "limit", "too many wrong credentials came from there: wait a minute");
      response.headers.set("Retry-After", "60");
      return response;
    }
    HttpResponse response = error_answer(401, "unauthorized", person.error().message);
    response.headers.set("WWW-Authenticate", "Bearer realm=\"sallyport control\"");
    return response;
  }
  if (head.method == "POST") return check_body_type(head.headers);
  return std::nullopt;
}

// What needs nobody but this object.
std::optional<HttpResponse> Core::answer_here(const Route& route, const HttpRequest& request, const Person& person,
                                              const std::string& peer) {
  switch (route.kind) {
    case Kind::page:
      if (auto file = console_answer(request.path)) return file;
      return error_answer(404, "not_found", "there is no such file");
    case Kind::login:
      return login(request, peer);
    case Kind::code:
      return login_code(request, person);
    case Kind::logout:
      logins.leave(bearer_token(request.headers).value_or(""));
      return json_answer("{}");
    case Kind::healthz:
      return text_answer("ok\n", "text/plain; charset=utf-8");
    case Kind::me:
      return json_answer(person_json(person));
    case Kind::readyz: {
      if (person.roles == 0) return error_answer(403, "forbidden", "`" + person.id + "` has no role");
      const bool ready = readiness.ready();
      HttpResponse response = json_answer(std::string(R"({"ready":)") + (ready ? "true" : "false") +
                                          ",\"detail\":" + readiness.detail() + "}");
      response.status = ready ? 200 : 503;
      return response;
    }
    case Kind::metrics:
      if (!person.has(Role::watcher)) {
        return error_answer(403, "forbidden", "`" + person.id + "` does not have the role watcher");
      }
      return text_answer(metrics.text(), "text/plain; version=0.0.4; charset=utf-8");
    case Kind::api:
    case Kind::events:
      break;
  }
  return std::nullopt;
}

asio::awaitable<void> Core::handle(HttpRequest request, HttpExchange& exchange) {
  const std::shared_ptr<Core> self = shared_from_this();
  const Matched matched = match_route(request.method, request.path);
  Person person;
  if (!matched.route->open()) {
    auto known = person_of(request);
    if (!known) {  // the people were changed between head and body
      co_await exchange.respond(error_answer(401, "unauthorized", known.error().message));
      co_return;
    }
    person = std::move(*known);
  }
  if (auto response = answer_here(*matched.route, request, person, exchange.peer())) {
    co_await exchange.respond(std::move(*response));
    co_return;
  }
  if (matched.route->kind == Kind::events) {
    co_await stream_events(std::move(request), exchange, std::move(person));
    co_return;
  }
  Input input(request);
  auto answer = co_await matched.route->action(desk, std::move(person), matched.id, input);
  HttpResponse response = answer ? json_answer(std::move(*answer)) : error_answer(answer.error());
  co_await exchange.respond(std::move(response));
}

asio::awaitable<void> Core::stream_events(HttpRequest request, HttpExchange& exchange, Person person) {
  const auto may_listen = [](const Person& who) {
    return who.has(Role::approver) || who.has(Role::operator_) || who.has(Role::auditor);
  };
  if (!may_listen(person)) {
    co_await exchange.respond(error_answer(
        403, "forbidden", "`" + person.id + "` may not read this: it takes the role approver, operator or auditor"));
    co_return;
  }
  if (request.method == "HEAD") {
    co_await exchange.respond(text_answer(std::string(), "text/event-stream"));
    co_return;
  }
  const Secret token(std::string(bearer_token(request.headers).value_or("")));
  std::function<bool()> still = [this, token, may_listen] {
    const auto known = person_of(token.reveal());
    return known && may_listen(*known);
  };
  const Status served = co_await events.serve(exchange, std::move(still));
  if (!served) co_await exchange.respond(error_answer(served.error()));
}

}  // namespace

struct ControlServer::State {
  State(const asio::any_io_executor& loop, std::shared_ptr<Core> shared, const ControlOptions& options)
      : core(std::move(shared)),
        server(
            loop, "control", limits_of(options),
            [core = core](HttpRequest request, HttpExchange& exchange) {
              return core->handle(std::move(request), exchange);
            },
            [core = core](const HttpRequest& head, const ByteStream& stream) {
              return core->precheck(head, stream.peer());
            }) {}

  std::shared_ptr<Core> core;
  HttpServer server;
};

ControlServer::ControlServer(asio::any_io_executor loop, std::shared_ptr<const PeopleBook> people, Desk& desk,
                             const Readiness& readiness, const Metrics& metrics, ControlOptions options)
    : state_(std::make_unique<State>(
          loop, std::make_shared<Core>(loop, std::move(people), desk, readiness, metrics, options), options)) {}

ControlServer::~ControlServer() { state_->core->events.close(); }

void ControlServer::accept(std::unique_ptr<ByteStream> stream) { state_->server.accept(std::move(stream)); }

void ControlServer::set_people(std::shared_ptr<const PeopleBook> people) {
  const std::shared_ptr<const PeopleBook> before = std::exchange(state_->core->people, std::move(people));
  state_->core->logins.keep(
      [&](const std::string& person) { return state_->core->people->same_token(person, *before); });
}

void ControlServer::set_address(std::string address) { state_->core->address = std::move(address); }

void ControlServer::approval_changed(const std::string& id) { state_->core->events.tell(id); }

void ControlServer::policy_changed() { state_->core->events.tell_all(); }

asio::awaitable<bool> ControlServer::stop(Deadline deadline) {
  state_->core->events.close();
  const bool clean = co_await state_->server.stop(deadline);
  co_return clean;
}

std::size_t ControlServer::connections() const { return state_->server.connections(); }

}  // namespace sallyport::gateway
