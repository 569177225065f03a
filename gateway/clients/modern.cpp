#include "gateway/clients/modern.hpp"

#include <algorithm>
#include <array>

#include "gateway/clients/early_reply.hpp"
#include "gateway/clients/subscriber.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kDiscover = "server/discover";
constexpr std::string_view kListen = "subscriptions/listen";
constexpr std::string_view kOwnQuestion = "dev.sallyport/ask";

// How long a client may keep what we made. What policy decides differs by principal, so that it is never public.
constexpr std::uint64_t kDiscoverFor = 60'000;
constexpr std::uint64_t kToolsFor = 5'000;

bool is_cacheable(std::string_view method) {
  return method == kDiscover || method.ends_with("/list") || method == "resources/read";
}

bool takes_input(std::string_view method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

bool asks(json::Value wanted, std::string_view name) {
  const json::Value flag = wanted.find(name);
  return flag.is_bool() && flag.boolean();
}

}  // namespace

// A principal that sends requests over HTTP.
struct Modern::Client {
  Client(Flights::Rules rules, Principal who, std::string session_id)
      : flights(rules), principal(std::move(who)), session(std::move(session_id)) {}
  Flights flights;
  Principal principal;
  std::string session;
  Deadline::Clock::time_point last_used;
};

Modern::Modern(std::shared_ptr<SessionServices> services, Entropy& entropy, Options options)
    : services_(std::move(services)),
      entropy_(entropy),
      options_(std::move(options)),
      states_(options_.state_key, entropy) {}

Modern::~Modern() = default;

Result<std::shared_ptr<Modern::Client>> Modern::client_of(const Identity& identity, std::string_view connection) {
  const bool anonymous = identity.principal.anonymous;
  const std::string key = anonymous ? "anonymous:" + std::string(connection) : identity.principal.id;
  const auto found = clients_.find(key);
  if (found != clients_.end()) return found->second;
  if (clients_.size() >= options_.clients) sweep();
  if (clients_.size() >= options_.clients) {
    return fail(ErrorCode::limit, "the gateway serves as many clients as it may: try again later");
  }
  Principal principal = identity.principal;
  if (anonymous) principal.id = "anonymous:" + entropy_.token(12);
  // Each request has its own exchange, so that equal ids do no harm.
  auto client = std::make_shared<Client>(Flights::Rules{options_.requests, false}, std::move(principal),
                                         entropy_.id("se", services_->clock.now()));
  clients_.emplace(key, client);
  return client;
}

Status Modern::receive(const Identity& identity, const Mount& mount, std::string_view connection, Arrived arrived,
                       std::shared_ptr<Reply> reply) {
  auto client = client_of(identity, connection);
  if (!client) return fail(client.error());
  ClientContext context;
  context.principal = identity.principal;  // its groups and owner as they are now
  context.principal.id = (*client)->principal.id;
  context.mount = mount;
  context.session = (*client)->session;
  context.transport = "http";
  context.boundary = options_.boundary;
  context.hold = identity.hold;
  (*client)->last_used = services_->now();
  start((*client)->flights, *client, std::move(context), std::move(arrived), std::move(reply), true);
  return {};
}

void Modern::receive(const std::shared_ptr<Session>& session, Arrived arrived, std::shared_ptr<Reply> reply) {
  session->touch();
  start(session->flights(), session, session->context(), std::move(arrived), std::move(reply), false);
}

void Modern::start(Flights& flights, std::shared_ptr<void> keep, ClientContext context, Arrived arrived,
                   std::shared_ptr<Reply> reply, bool ends_with_client) {
  const mcp::Envelope& envelope = arrived.envelope;
  context.protocol_version = envelope.version;
  context.era = mcp::Era::modern;
  context.claimed_name = client_claim(envelope.client_info.find("name"));
  context.claimed_version = client_claim(envelope.client_info.find("version"));
  context.capabilities = envelope.capabilities.raw();
  const ClientAbilities able = ClientAbilities::read(envelope.capabilities);
  context.takes_tasks = arrived.message.method == "tools/call" &&
                        envelope.capabilities.find("extensions").find(mcp::extension::kTasks).is_object();
  context.asks_by_form = able.form && takes_input(arrived.message.method);
  context.asks_by_url = able.url && takes_input(arrived.message.method);
  context.log_level = envelope.log_level ? envelope.log_level.string() : std::string();
  Inbound inbound;
  inbound.document = arrived.message.document;
  inbound.id = arrived.message.id;
  inbound.method = std::move(arrived.message.method);
  inbound.params = arrived.message.params;
  inbound.idempotency_header = std::move(arrived.extras.idempotency_header);
  inbound.has_idempotency_header = arrived.extras.has_idempotency_header;
  inbound.received = services_->clock.now();
  if (const Status taken = take_input(context, inbound); !taken) {
    const mcp::RpcError error{mcp::code::kInvalidParams, taken.error().message, {}};
    reply->finish({.message = mcp::error_response(arrived.message.id, error), .error = error.code});
    return;
  }
  inbound.client = std::make_shared<const ClientContext>(std::move(context));
  Flights::Admits admits = [wanted = log_level_index(envelope.log_level)](std::string_view method,
                                                                          std::string_view params_raw) {
    return method != "notifications/message" || (wanted >= 0 && is_at_least(params_raw, wanted));
  };
  const std::shared_ptr<const ClientContext> client = inbound.client;
  Flights::Ask ask = [this, client, document = inbound.document, params = inbound.params, method = inbound.method](
                         ServerQuestion question, std::shared_ptr<Reply> to) {
    return ask_user(this, client, document, params, method, std::move(question), std::move(to));
  };
  auto early = std::make_shared<EarlyReply>(std::move(reply), std::string(arrived.message.id));
  Flights::Start start{services_->tasks, *this, services_->alive, std::move(keep), std::move(admits), std::move(ask)};
  start.ends_with_client = ends_with_client;
  start.share = services_->shares.of(client->principal);
  flights.start(std::move(start), arrived.message.id, std::move(inbound), std::move(early));
}

// A request that carries a state of ours goes on with a call that waits for it.
Status Modern::take_input(ClientContext& context, Inbound& inbound) const {
  const json::Value state = inbound.params.find("requestState");
  if (!state || !takes_input(inbound.method)) return {};
  if (!state.is_string()) return fail(ErrorCode::invalid, "`requestState` must be a string", ErrorSource::client);
  const std::string name = mcp::name_of(inbound.method, inbound.params).value_or("");
  auto opened = states_.open(state.string(), {context, inbound.method, name, inbound.params}, inbound.received);
  if (!opened) return fail(opened.error());
  context.principal.id = opened->principal;
  const json::Value responses = inbound.params.find("inputResponses");
  if (opened->given.operation.starts_with("ask-")) {
    // The same call again, which joins the one that waits: only the answer to it is ours.
    const json::Value own = responses.find(kOwnQuestion);
    if (questions_->answered(opened->given.operation, own ? std::string(own.raw()) : std::string())) return {};
    return fail(ErrorCode::invalid, "The requestState is no longer valid; call without it.", ErrorSource::client);
  }
  auto given = std::make_shared<InputGiven>(std::move(opened->given));
  given->document = input_responses(responses);
  if (given->document) given->responses = given->document->root();
  inbound.given = std::move(given);
  return {};
}

// What the gateway asks on its own behalf; a server cannot ask anything while a request of this era is open.
asio::awaitable<ClientReply> Modern::ask_user(Modern* self, std::shared_ptr<const ClientContext> client,
                                              std::shared_ptr<const json::Document> document, json::Value params,
                                              std::string method, ServerQuestion question,
                                              std::shared_ptr<Reply> reply) {
  const auto early = std::dynamic_pointer_cast<EarlyReply>(reply);
  if (!question.server.empty() || !early || question.method != "elicitation/create") {
    co_return ClientReply::fail(mcp::code::kMethodNotFound, "this client cannot be asked");
  }
  const std::string name = mcp::name_of(method, params).value_or("");
  constexpr std::array<std::string_view, 1> kForeign{"elicitationId"};  // only the older versions have it
  OwnQuestions::Put put = [self, client, document, params, method, name, early,
                           asked = mcp::without_members(question.params, kForeign),
                           alive = self->services_](const std::string& id) {
    if (!alive->alive || !early->open()) return false;
    InputNeeded needed;
    needed.operation = id;
    const json::Value arguments = params.find("arguments");
    needed.arguments = trust::digest_text(arguments ? arguments.raw() : std::string_view());
    needed.requests = "{" + quote(kOwnQuestion) + R"(:{"method":"elicitation/create","params":)" + asked + "}}";
    const auto wait = std::chrono::duration_cast<Millis>(OwnQuestions::kAnswerWait);
    needed.expires = self->services_->clock.now() + wait.count();
    json::Writer out;
    out.begin_object().member("resultType", mcp::result_type::kInputRequired);
    out.key("inputRequests").raw(needed.requests);
    out.member("requestState", self->states_.seal(needed, {*client, method, name, params})).end_object();
    early->finish({.message = mcp::response(early->id(), out.take())});
    return true;
  };
  co_return co_await OwnQuestions::ask(self->questions_, client->principal.id, std::move(question), std::move(put));
}

Answer Modern::ask_for_input(const InputNeeded& needed, const LegOf& leg) {
  json::Writer out;
  out.begin_object();
  if (const auto requests =
          json::Document::parse(needed.requests, {.bytes = needed.requests.size(), .depth = 10'000})) {
    out.key("inputRequests").raw(input_requests(requests->root()));
  }
  out.member("requestState", states_.seal(needed, leg)).end_object();
  Answer answer = Answer::of(out.take());
  answer.result_type = mcp::result_type::kInputRequired;
  return answer;
}

asio::awaitable<Answer> Modern::handle(Inbound inbound) {
  const std::string method = inbound.method;
  const std::shared_ptr<const ClientContext> client = inbound.client;
  const std::shared_ptr<const json::Document> document = inbound.document;
  const json::Value params = inbound.params;
  Answer answer;
  if (method == kDiscover) {
    answer = co_await discover(std::move(inbound));
  } else if (method == kListen) {
    answer = co_await listen(std::move(inbound));
  } else {
    answer = co_await services_->front.handle(std::move(inbound));
  }
  if (answer.input) {
    const std::string name = mcp::name_of(method, params).value_or("");
    answer = ask_for_input(*answer.input, {*client, method, name, params});
  }
  co_return dress(method, std::move(answer));
}

// The members that every result of this era has, and the numbers that its errors have.
Answer Modern::dress(std::string_view method, Answer answer) const {
  if (answer.error) {
    if (answer.error->code == mcp::code::kResourceNotFound) answer.error->code = mcp::code::kInvalidParams;
    return answer;
  }
  const bool complete = answer.result_type.empty();
  json::Writer members;
  members.member("resultType", complete ? mcp::result_type::kComplete : std::string_view(answer.result_type));
  if (complete && is_cacheable(method)) {
    const std::uint64_t own = method == kDiscover ? kDiscoverFor : method == "tools/list" ? kToolsFor : 0;
    members.member("ttlMs", answer.ttl_ms.value_or(own)).member("cacheScope", "private");
  }
  answer.result = mcp::with_first(std::move(answer.result), members.take());
  return answer;
}

void Modern::over_limit(const Inbound& inbound) { services_->front.over_limit(inbound); }

std::string Modern::capabilities(const ClientContext& client) const { return services_->front.capabilities(client); }
std::string Modern::instructions(const ClientContext& client) const { return services_->front.instructions(client); }

asio::awaitable<Answer> Modern::discover(Inbound inbound) {
  co_await services_->front.prepare(inbound.client->mount);
  json::Writer out;
  out.begin_object().key("supportedVersions").raw(mcp::supported_versions());
  out.key("capabilities").raw(capabilities(*inbound.client));
  out.text("instructions", instructions(*inbound.client));
  out.key("_meta").begin_object().key(mcp::meta::kServerInfo).begin_object();
  out.member("name", "sallyport").member("version", services_->version);
  out.end_object().end_object().end_object();
  co_return Answer::of(out.take());
}

// Subscribes to each of the resources that the request names; those that the client will hear of.
asio::awaitable<std::vector<std::string>> Modern::subscribe(std::shared_ptr<const ClientContext> client,
                                                            Inbound inbound) {
  std::vector<std::string> honoured;
  const json::Value uris = inbound.params.at("/notifications/resourceSubscriptions");
  std::size_t count = 0;
  for (const json::Value uri : uris.elements()) {
    if (!uri.is_string() || ++count > kMostUris) continue;
    auto params = json::Document::parse("{\"uri\":" + std::string(uri.raw()) + "}");
    if (!params) continue;
    Inbound one;
    one.client = client;
    one.document = std::make_shared<const json::Document>(std::move(*params));
    one.method = "resources/subscribe";
    one.params = one.document->root();
    one.channel = inbound.channel;
    one.cancel = inbound.cancel;
    one.received = inbound.received;
    const Answer answer = co_await services_->front.handle(std::move(one));
    if (!answer.error) honoured.emplace_back(uri.raw());
  }
  co_return honoured;
}

asio::awaitable<Answer> Modern::listen(Inbound inbound) {
  const json::Value wanted = inbound.params.find("notifications");
  if (!wanted.is_object()) {
    co_return Answer::fail(mcp::code::kInvalidParams, "`params.notifications` must say what to listen for");
  }
  // A session of its own for each listener: what it subscribes to ends with it.
  auto own = std::make_shared<ClientContext>(*inbound.client);
  own->session = entropy_.id("se", services_->clock.now());
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  Subscriber listener(loop, inbound.id, inbound.channel, own);
  listener.since = services_->now();
  json::Writer honoured;
  honoured.begin_object();
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"toolsListChanged", "notifications/tools/list_changed"},
      {"promptsListChanged", "notifications/prompts/list_changed"},
      {"resourcesListChanged", "notifications/resources/list_changed"}};
  for (const auto& [name, method] : kLists) {
    if (!asks(wanted, name)) continue;
    listener.lists.emplace(method);
    honoured.member(name, true);
  }
  listeners_.emplace(own->session, &listener);
  const std::shared_ptr<const Subscriber> listed(&listener, [this, services = services_](const Subscriber* gone) {
    if (!services->alive) return;
    listeners_.erase(gone->client->session);
    services->front.session_ended(*gone->client);
  });
  const std::vector<std::string> uris = co_await subscribe(own, inbound);
  if (wanted.find("resourceSubscriptions")) {
    honoured.key("resourceSubscriptions").begin_array();
    for (const std::string& uri : uris) honoured.raw(uri);
    honoured.end_array();
  }
  listener.acknowledge("{\"notifications\":" + honoured.end_object().take() + "}");
  inbound.cancel->on_cancel([&listener](CancelReason) { listener.changed.notify(); });
  while (!listener.over && !inbound.cancel->reason()) co_await listener.changed.wait(Deadline::never());
  inbound.cancel->on_cancel({});
  co_return Answer::of(labelled("{}", listener.id));
}

std::optional<std::string> Modern::param_fault(const Identity& identity, const Mount& mount,
                                               const mcp::Message& message, const mcp::HeaderLookup& find) const {
  if (message.method != "tools/call") return std::nullopt;
  ClientContext context;
  context.principal = identity.principal;
  context.mount = mount;
  return services_->front.header_fault(context, message.params, find);
}

void Modern::changed(const Changes& changes) {
  for (const auto& [session, listener] : listeners_) {
    std::set<std::string_view> told;
    for (const auto& [change, since] : changes) {
      const auto& [method, server] = change;
      const Mount& mount = listener->client->mount;
      const bool sees = server.empty() || mount.all() || mount.server == server;
      if (!sees || listener->since > since || !listener->lists.contains(method)) continue;
      if (told.insert(method).second) listener->note(method, {});
    }
  }
}

bool Modern::tell(const std::string& session, std::string_view method, std::string_view params_raw) {
  const auto found = listeners_.find(session);
  if (found == listeners_.end()) return false;
  found->second->note(method, params_raw);
  return true;
}

void Modern::keep(const std::function<bool(const Principal&)>& may_stay) {
  std::vector<std::shared_ptr<Client>> gone;
  std::erase_if(clients_, [&](const auto& entry) {
    if (may_stay(entry.second->principal)) return false;
    gone.push_back(entry.second);
    return true;
  });
  for (const auto& client : gone) client->flights.cancel_all(CancelReason::disconnect);
}

void Modern::sweep() {
  const auto now = services_->now();
  std::erase_if(clients_, [&](const auto& entry) {
    return entry.second->flights.count() == 0 && now - entry.second->last_used >= options_.idle;
  });
}

void Modern::end_listeners() {
  for (const auto& [session, listener] : listeners_) {
    listener->over = true;
    listener->changed.notify();
  }
}

void Modern::cancel_requests(CancelReason reason) {
  const auto clients = clients_;  // cancelling may end them
  for (const auto& [key, client] : clients) client->flights.cancel_all(reason);
}

}  // namespace sallyport::gateway
