#include "tests/support/rig.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "policy/evaluate/load.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/files/judge.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/receipts/verify.hpp"
#include "trust/servers/identity.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::test {
namespace {

std::shared_ptr<const json::Document> parse(const std::string& text) {
  auto document =
      json::Document::parse(text, json::Limits{.bytes = std::max<std::size_t>(text.size(), 1), .depth = 1000});
  if (!document) throw std::runtime_error("test JSON: " + document.error().message + ": " + text);
  return std::make_shared<const json::Document>(std::move(*document));
}

class ScriptedLink final : public ServerLink {
 public:
  ScriptedLink(Rig& rig, const LinkKey& key) : rig_(rig), server_(key.server), principal_(key.principal) {}
  [[nodiscard]] const ServerInfo& info() const override {
    const ScriptedServer& server = rig_.servers.at(server_);
    info_.instructions = server.instructions;
    info_.capabilities_raw = R"({"prompts":{},"resources":{}})";
    return info_;
  }
  [[nodiscard]] const std::string& identity() const override {
    const ScriptedServer& server = rig_.servers.at(server_);
    const auto own = server.identity_for.find(principal_);
    return own == server.identity_for.end() ? server.identity : own->second;
  }
  [[nodiscard]] bool alive() const override { return true; }

  asio::awaitable<ServerAnswer> call(PermittedCall permit, CallControl control) override {
    Dispatched dispatched;
    dispatched.server = permit.tool().server;
    dispatched.tool = permit.tool().tool;
    dispatched.operation = permit.operation();
    dispatched.params = permit.params_members();
    dispatched.meta = permit.meta_members();
    dispatched.attempt = permit.attempt();
    dispatched.control = control;
    dispatched.answer = std::make_shared<OneShot<ServerAnswer>>(rig_.io.get_executor());
    const auto answer = dispatched.answer;
    if (control.cancel != nullptr) {
      control.cancel->on_cancel([answer](CancelReason reason) {
        ServerAnswer lost;
        lost.kind = ServerAnswer::Kind::lost;
        lost.sent = true;
        lost.cancelled = reason;
        lost.detail = "cancelled";
        answer->set(std::move(lost));
      });
    }
    rig_.all_calls.push_back(dispatched);
    const auto& script = rig_.servers.at(server_);
    if (script.on_call) {
      script.on_call(dispatched);
    } else {
      rig_.open_calls.push_back(dispatched);
    }
    auto got = co_await answer->wait(Deadline::never());
    co_return std::move(*got);
  }

  asio::awaitable<ServerAnswer> relay(std::string method, std::string, CallControl) override {
    const ScriptedServer& server = rig_.servers.at(server_);
    ServerAnswer answer;
    if (method == "prompts/list") answer.document = list("prompts", server.prompts);
    if (method == "resources/templates/list") answer.document = list("resourceTemplates", server.templates);
    if (!answer.document) co_return answer;
    answer.kind = ServerAnswer::Kind::result;
    answer.sent = true;
    answer.result = answer.document->root();
    co_return answer;
  }

  asio::awaitable<Result<ToolListing>> list_tools(Deadline) override {
    ToolListing listing;
    const ScriptedServer& server = rig_.servers.at(server_);
    const auto own = server.tools_for.find(principal_);
    listing.pages.push_back(list("tools", own == server.tools_for.end() ? server.tools : own->second));
    for (const json::Value tool : listing.pages.front()->root().find("tools").elements()) listing.tools.push_back(tool);
    co_return listing;
  }

 private:
  static std::shared_ptr<const json::Document> list(const std::string& name, const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return parse("{\"" + name + "\":[" + text + "]}");
  }

  Rig& rig_;
  std::string server_, principal_;
  mutable ServerInfo info_;
};

class ScriptedPool final : public Servers {
 public:
  explicit ScriptedPool(Rig& rig) : rig_(rig) {}
  [[nodiscard]] std::vector<ServerStatus> status() const override { return {}; }
  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline) override {
    const ScriptedServer& server = rig_.servers.at(key.server);
    if (!server.unavailable.empty())
      co_return fail(ErrorCode::unavailable, server.unavailable, ErrorSource::server, RetryClass::not_sent);
    auto& link = links_[key.server + "\n" + key.principal];
    if (!link) link = std::make_shared<ScriptedLink>(rig_, key);
    co_return std::shared_ptr<ServerLink>(link);
  }
  asio::awaitable<void> shutdown(Deadline) override { co_return; }

 private:
  Rig& rig_;
  std::map<std::string, std::shared_ptr<ServerLink>> links_;
};

class Channel final : public ClientChannel {
 public:
  Channel(const Rig& rig, Rig::PendingPtr pending) : rig_(rig), pending_(std::move(pending)) {}
  void notify(std::string_view method, std::string_view params) override {
    pending_->notes.emplace_back(method, params);
  }
  [[nodiscard]] bool open() const override { return pending_->open; }
  asio::awaitable<ClientReply> ask(ServerQuestion question) override {
    return rig_.on_question ? at_once(rig_.on_question(question)) : put(pending_, std::move(question));
  }

 private:
  static asio::awaitable<ClientReply> at_once(ClientReply reply) { co_return reply; }
  static asio::awaitable<ClientReply> put(Rig::PendingPtr pending, ServerQuestion question) {
    const asio::any_io_executor loop = co_await asio::this_coro::executor;
    const auto reply = std::make_shared<OneShot<ClientReply>>(loop);
    pending->asked.push_back({std::string(question.params.raw()), question.cancel, reply});
    const auto answer = co_await reply->wait(question.deadline);
    co_return answer.value_or(ClientReply::fail(0, "no answer in time"));
  }

  const Rig& rig_;
  Rig::PendingPtr pending_;
};

asio::awaitable<void> serve(Rig& rig, Inbound inbound, Rig::PendingPtr pending, std::shared_ptr<Channel> channel) {
  inbound.channel = channel.get();
  const std::string name = inbound.method;
  const auto method = parse_method(name);
  Answer answer;
  if (method == Method::tools_call) {
    answer = co_await rig.calls->tools_call(std::move(inbound));
  } else if (calls::Calls::knows_task_method(name)) {
    answer = co_await rig.calls->task_call(std::move(inbound));
  } else if (method) {
    Target target = co_await rig.relay->resolve(inbound);
    answer = co_await rig.calls->other_call(std::move(inbound), *method, std::move(target));
  } else {
    answer = co_await rig.relay->handle(std::move(inbound));
  }
  pending->answer = std::move(answer);
}

void accept(trust::LockServer& locked, trust::Offer offer, const std::string& definition) {
  const auto document = parse(definition);
  auto entry = trust::make_accepted(document->root(), {}, "user:dana", 0);
  if (entry) trust::accept(locked.of(offer)[*trust::name_of(offer, document->root())], std::move(*entry), false);
}

trust::LockServer accept(const ScriptedServer& server) {
  trust::LockServer locked;
  locked.identity = *trust::parse_identity(parse(server.identity)->root());
  for (const auto& tool : server.tools) accept(locked, trust::Offer::tool, tool);
  for (const auto& prompt : server.prompts) accept(locked, trust::Offer::prompt, prompt);
  for (const auto& one : server.templates) accept(locked, trust::Offer::resource_template, one);
  if (!server.instructions.empty()) accept(locked, trust::Offer::instructions, quote(server.instructions));
  return locked;
}

std::shared_ptr<const trust::LockFile> accept(const std::map<std::string, ScriptedServer>& servers) {
  auto lock = std::make_shared<trust::LockFile>();
  for (const auto& [id, server] : servers) lock->servers.emplace(id, accept(server));
  return lock;
}

}  // namespace

void Dispatched::result(const std::string& json) const {
  ServerAnswer got;
  got.kind = ServerAnswer::Kind::result;
  got.sent = true;
  got.document = parse(json);
  got.result = got.document->root();
  got.modern = static_cast<bool>(got.result.find("resultType"));
  answer->set(std::move(got));
}

void Dispatched::error(const std::string& json) const {
  ServerAnswer got;
  got.kind = ServerAnswer::Kind::error;
  got.sent = true;
  got.document = parse(json);
  got.error = got.document->root();
  answer->set(std::move(got));
}

void Dispatched::lose(std::string detail, bool timed_out) const {
  ServerAnswer got;
  got.kind = ServerAnswer::Kind::lost;
  got.sent = true;
  got.detail = std::move(detail);
  got.timed_out = timed_out;
  answer->set(std::move(got));
}

void Dispatched::not_sent(std::string detail) const {
  ServerAnswer got;
  got.kind = ServerAnswer::Kind::not_sent;
  got.detail = std::move(detail);
  answer->set(std::move(got));
}

Rig::Rig(RigOptions options) : servers(options.servers), options_(std::move(options)) {
  std::string state = options_.state;
  if (state.empty()) {
    dir_ = std::make_unique<TempDir>();
    state = dir_->file("state");
  }
  auto folder = StateFolder::own(state, "test", system_entropy());
  if (!folder) throw std::runtime_error(folder.error().message);
  folder_ = std::make_unique<StateFolder>(std::move(*folder));
  StoreOptions store_options;
  store_options.folder = folder_.get();
  store_options.vfs = options_.vfs;
  store_options.reserve_bytes = 0;
  auto opened = open_store(store_options, io.get_executor(), clock, system_entropy());
  if (!opened) throw std::runtime_error(opened.error().message);
  store = std::move(*opened);
  pool = std::make_unique<ScriptedPool>(*this);
  auto lock = options_.accept_all ? accept(servers) : std::make_shared<const trust::LockFile>();
  std::vector<std::string> ids;
  for (const auto& [id, server] : servers) ids.push_back(id);
  catalogue = std::make_unique<catalogue::Catalogue>(io.get_executor(), *pool, ids,
                                                     load(options_.trust, options_.policy, lock));
  calls::CallsOptions calls_options;
  calls_options.identity = {"0.0.0", "abcdef", "service"};
  calls_options.limits = options_.limits;
  calls_options.between_looks = options_.between_looks;
  calls_options.people = options_.people;
  calls_options.run_evidence = options_.run_evidence;
  calls = std::make_unique<calls::Calls>(io.get_executor(), calls_options, *store, *pool, *catalogue, *catalogue, clock,
                                         system_entropy(), metrics_);
  people = std::make_unique<calls::People>(*calls);
  relay = std::make_unique<relay::Relay>(
      io.get_executor(), *pool, *catalogue, *catalogue, [](const std::string&, std::string_view, std::string_view) {},
      [this](const std::shared_ptr<const ClientContext>& who, const std::string& server, const std::string& uri) {
        return calls->may_read(who, server, uri);
      });
  catalogue->on_change([this](const std::vector<catalogue::DefinitionChange>& told) {
    changes.insert(changes.end(), told.begin(), told.end());
    calls->configuration_changed();
  });
  const Status recovered = await(calls->recover());
  if (!recovered) throw std::runtime_error(recovered.error().message);
  catalogue->discover_all();
  await(catalogue->settled(Deadline::after(std::chrono::seconds(20))));
}

Rig::~Rig() {
  if (calls) await(calls->shutdown(Deadline::after(std::chrono::seconds(0))));
  if (store && store->healthy()) judge_receipts();
  relay.reset();
  people.reset();
  calls.reset();
  catalogue.reset();
  pool.reset();
  store.reset();
  io.restart();
  io.poll();
}

catalogue::Rules Rig::load(const std::string& trust, const std::string& policy,
                           std::shared_ptr<const trust::LockFile> lock) {
  const auto trust_text = parse(trust);
  auto trusted = trust::load_trust(*trust_text, "trust.jsonc");
  if (!trusted.file) throw std::runtime_error("test trust file: " + to_text(trusted.faults.front()));
  catalogue::Rules rules;
  rules.trust = std::make_shared<const trust::TrustFile>(std::move(*trusted.file));
  rules.trust_digest = rules.trust->digest;
  rules.lock = std::move(lock);
  if (policy.empty()) {
    rules.policy = policy::default_policy();
    return rules;
  }
  policy::Vocabulary vocabulary;
  for (const auto& [id, server] : servers) vocabulary.servers.push_back({id, false, {}, {}});
  vocabulary.people = options_.people;
  vocabulary.groups = {"agents", "support"};
  vocabulary.principals = {{"agent:test", {}, {}, false}, {"agent:other", {}, {}, false}};
  auto loaded = policy::load(*parse(policy), "policy.jsonc", vocabulary, {.digest = "sha256:" + std::string(64, '1')});
  if (!loaded.policy) throw std::runtime_error("test policy: " + to_text(loaded.faults.front()));
  rules.policy = loaded.policy;
  rules.policy_digest = loaded.policy->digest;
  return rules;
}

void Rig::set_policy(const std::string& policy) {
  catalogue->set_rules(load(options_.trust, policy, catalogue->rules().lock));
  calls->configuration_changed();
}

void Rig::accept_now(const std::string& server) {
  catalogue::Rules rules = catalogue->rules();
  auto lock = std::make_shared<trust::LockFile>(*rules.lock);
  lock->servers[server] = accept(servers.at(server));
  rules.lock = std::move(lock);
  catalogue->set_rules(std::move(rules));
  calls->configuration_changed();
}

std::shared_ptr<ClientContext> Rig::client(const std::string& id, std::vector<std::string> groups) {
  auto context = std::make_shared<ClientContext>();
  context->principal = Principal{id, std::move(groups), {}, false};
  context->session = "se_" + std::to_string(++sessions_);
  context->run = "run_" + std::to_string(sessions_);
  context->protocol_version = "2025-11-25";
  context->transport = "http";
  context->boundary = "service";
  context->claimed_name = "test-client";
  context->claimed_version = "1";
  return context;
}

Rig::PendingPtr Rig::send(std::shared_ptr<ClientContext> client, const std::string& tool, const std::string& arguments,
                          const std::string& meta, std::shared_ptr<const InputGiven> given) {
  return request(std::move(client), "tools/call",
                 fmt::format(R"({{"name":{},"arguments":{}{}}})", quote(tool), arguments,
                             meta.empty() ? "" : ",\"_meta\":" + meta),
                 std::move(given));
}

Rig::PendingPtr Rig::request(std::shared_ptr<ClientContext> client, const std::string& method,
                             const std::string& params, std::shared_ptr<const InputGiven> given) {
  auto pending = std::make_shared<Pending>();
  Inbound inbound;
  inbound.client = std::move(client);
  inbound.document = parse(params);
  inbound.params = inbound.document->root();
  inbound.method = method;
  inbound.cancel = pending->cancel;
  inbound.received = clock.now();
  inbound.given = std::move(given);
  asio::co_spawn(io, serve(*this, std::move(inbound), pending, std::make_shared<Channel>(*this, pending)),
                 asio::detached);
  return pending;
}

Answer Rig::ask(std::shared_ptr<ClientContext> client, const std::string& method, const std::string& params) {
  auto pending = request(std::move(client), method, params);
  run_until([&] { return pending->answer.has_value(); }, "an answer");
  return *pending->answer;
}

Answer Rig::call(std::shared_ptr<ClientContext> client, const std::string& tool, const std::string& arguments,
                 const std::string& meta) {
  auto pending = send(std::move(client), tool, arguments, meta);
  run_until([&] { return pending->answer.has_value(); }, "an answer");
  return *pending->answer;
}

void Rig::deliver(const Answer& answer, bool in_full) {
  if (answer.delivered) answer.delivered(in_full);
}

void Rig::run_until(const std::function<bool()>& condition, const char* what, std::source_location from) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error(
          fmt::format("waited ten seconds for {} (asked for in {}:{})", what, from.file_name(), from.line()));
    }
    io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
}

template <class T>
T Rig::await(asio::awaitable<T> task) {
  std::optional<T> result;
  std::exception_ptr error;
  asio::co_spawn(io, std::move(task), [&](std::exception_ptr e, T value) {
    error = e;
    result = std::move(value);
  });
  run_until([&] { return result.has_value() || error; }, "a task");
  if (error) std::rethrow_exception(error);
  return std::move(*result);
}
void Rig::await(asio::awaitable<void> task) {
  bool done = false;
  asio::co_spawn(io, std::move(task), [&](std::exception_ptr) { done = true; });
  run_until([&] { return done; }, "a task");
}
template Status Rig::await<Status>(asio::awaitable<Status>);
template bool Rig::await<bool>(asio::awaitable<bool>);
template Result<std::string> Rig::await<Result<std::string>>(asio::awaitable<Result<std::string>>);

Person Rig::person(const std::string& id) const {
  for (const Person& person : options_.people) {
    if (person.id == id) return person;
  }
  return Person{id, 0, {}};
}

Result<std::string> Rig::approve(const std::string& approval, const std::string& who, const std::string& shown) {
  std::string seen = shown;
  if (seen.empty()) {
    auto page = await(people->approval(person("user:dana"), approval));
    if (!page) return page;
    seen = boost::json::parse(*page).at("shown").as_string();
  }
  return await(people->vote(person(who), approval, Vote{true, seen, "looks right", {}, {}}));
}

Result<std::string> Rig::deny(const std::string& approval, const std::string& who, const std::string& reason) {
  auto page = await(people->approval(person("user:dana"), approval));
  if (!page) return page;
  const std::string seen(boost::json::parse(*page).at("shown").as_string());
  return await(people->vote(person(who), approval, Vote{false, {}, reason, {}, {}}));
}

std::string Rig::pending_approval() {
  std::string id;
  run_until(
      [&] {
        await(store->read([&](Tx& tx) -> Status {
          const auto rows = tx.approvals("pending", 10);
          if (!rows.empty()) id = rows.front().id;
          return {};
        }));
        return !id.empty();
      },
      "a pending approval");
  return id;
}

std::vector<OperationRow> Rig::operations(std::vector<OperationState> states) {
  std::vector<OperationRow> rows;
  OperationFilter filter;
  filter.states = std::move(states);
  filter.limit = 10'000;
  EXPECT_TRUE(await(store->commit(Durability::crash, [&](Tx& tx) -> Status {
    rows = tx.operations(filter);
    return {};
  })));
  return rows;
}

std::vector<ReceiptRow> Rig::receipts(const std::string& kind) {
  std::vector<ReceiptRow> rows;
  ReceiptFilter filter;
  filter.kind = kind;
  filter.limit = 10'000;
  filter.newest_first = false;
  EXPECT_TRUE(await(store->commit(Durability::crash, [&](Tx& tx) -> Status {
    rows = tx.receipts(filter);
    return {};
  })));
  return rows;
}

// Every receipt that a test made is one that the published schema knows, to the last member.
void Rig::judge_receipts() {
  static const schema::Judge judge(schema::FileKind::receipt);
  for (const ReceiptRow& row : receipts()) {
    const auto document = json::Document::parse(row.payload);
    ASSERT_TRUE(document) << row.payload;
    for (const Fault& fault : judge.judge(*document, row.id))
      ADD_FAILURE() << to_text(fault) << fault.pointer << row.payload;
  }
}

bool Rig::log_verifies() {
  trust::VerifyOptions verify;
  verify.keys.push_back(*trust::PublicKey::from_pem(store->receipt_key_pem()));
  trust::Verifier verifier(std::move(verify));
  const std::vector<ReceiptRow> rows = receipts();
  if (rows.empty()) return true;  // nothing happened yet, which only the whole program has a receipt of
  for (const ReceiptRow& row : rows) verifier.line(row.envelope);
  const trust::VerifyReport report = verifier.finish();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  return report.ok();
}

void Rig::relist(const std::string& server) {
  const std::uint64_t before = catalogue->current()->version;
  catalogue->discover(server);
  run_until([&] { return catalogue->current()->version > before; }, "a new snapshot");
}

CallView view(const Answer& answer) {
  CallView out;
  if (answer.error) {
    out.is_error = true;
    out.code = std::to_string(answer.error->code);
    out.text = answer.error->message;
    return out;
  }
  const auto document = parse(answer.result);
  const json::Value root = document->root();
  if (const json::Value flag = root.find("isError"); flag && flag.is_bool()) out.is_error = flag.boolean();
  if (const json::Value text = root.at("/content/0/text"); text && text.is_string()) out.text = text.string();
  const json::Value meta = root.find("_meta");
  const json::Value call = meta ? meta.find("dev.sallyport/call") : json::Value();
  const auto member = [&](std::string_view name) {
    const json::Value value = call ? call.find(name) : json::Value();
    return value && value.is_string() ? value.string() : std::string();
  };
  out.code = member("code");
  out.verdict = member("verdict");
  out.outcome = member("outcome");
  out.retry = member("retry");
  out.operation = member("operation");
  out.approval = member("approval");
  out.receipt = member("receipt");
  out.replayed = call && call.find("replayed");
  return out;
}

}  // namespace sallyport::test
