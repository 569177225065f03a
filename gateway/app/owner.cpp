#include "gateway/app/owner.hpp"

#include <malloc.h>
#include <unistd.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <csignal>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "gateway/app/credentials.hpp"
#include "gateway/app/definition_receipt.hpp"
#include "gateway/app/desk.hpp"
#include "gateway/app/doors.hpp"
#include "gateway/app/front.hpp"
#include "gateway/app/learn_secrets.hpp"
#include "gateway/app/log_keeper.hpp"
#include "gateway/app/notify.hpp"
#include "gateway/app/probe.hpp"
#include "gateway/app/reload.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/base/log.hpp"
#include "gateway/base/workers.hpp"
#include "gateway/clients/http_front.hpp"
#include "gateway/clients/sessions.hpp"
#include "gateway/clients/stdio_front.hpp"
#include "gateway/control/control_server.hpp"
#include "gateway/relay/relay.hpp"
#include "gateway/servers/server_pool.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kDrain = std::chrono::seconds(10);
constexpr auto kSweep = std::chrono::seconds(5);
constexpr auto kStoreSweep = std::chrono::minutes(10);
constexpr auto kCheckpoint = std::chrono::minutes(1);
constexpr auto kLook = std::chrono::seconds(30);  // at servers that are not the accepted ones: whether they are again

void say(const std::string& line) { std::fprintf(stderr, "sallyport: %s\n", line.c_str()); }

// Which of the clients' lists it stands in; empty: none.
std::string_view list_of(trust::Offer offer) {
  switch (offer) {
    case trust::Offer::tool:
      return "tools";
    case trust::Offer::prompt:
      return "prompts";
    case trust::Offer::resource_template:
      return "resources";
    case trust::Offer::instructions:
      return {};
  }
  return {};
}

// Everything of a running owner. Members are destroyed in reverse: fronts first, the store and its folder last.
class Running final : private ServerEvents, private Readiness {
 public:
  explicit Running(OwnerOptions options) : options_(std::move(options)), loop_(io_.get_executor()), tasks_(loop_) {}

  int run() {
    int code = 2;
    asio::co_spawn(io_, start_and_serve(), [&](std::exception_ptr error, int result) {
      code = result;
      if (error) {
        try {
          std::rethrow_exception(error);
        } catch (const std::exception& e) {
          say(std::string("broke: ") + e.what());
        }
        code = 2;
      }
      io_.stop();
    });
    io_.run();
    // What a thread or a task still has in hand ends while that lives which it uses.
    workers_.join();
    io_.restart();
    io_.poll();
    return code;
  }

 private:
  asio::awaitable<int> start_and_serve() {
    // From the beginning, so that a signal in the middle of the start ends it in order afterwards.
    asio::signal_set ending(io_, SIGTERM, SIGINT, SIGHUP);
    auto started = co_await start();
    if (!started) {
      say(started.error().message);
      co_return 2;
    }
    co_await wait_for_end(ending);
    const bool clean = co_await stop();
    co_return clean ? 0 : 1;
  }

  asio::awaitable<Status> start() {
    LoadedConfig config = load_config(options_.request, process_environment(), files_);
    for (const Fault& fault : config.faults) std::fprintf(stderr, "%s\n", to_text(fault).c_str());
    if (!config.ok()) co_return fail(ErrorCode::invalid, "the config has faults; nothing was started");
    settings_ = std::move(*config.settings);
    learn_secrets(settings_, known_secrets());
    learn_environment(environ, known_secrets());
    book_ = std::move(*config.book);

    auto folder = StateFolder::own(settings_.state_dir, options_.command, system_entropy());
    if (!folder) co_return fail(folder.error());
    folder_.emplace(std::move(*folder));
    StoreOptions store_options;
    store_options.folder = &*folder_;
    store_options.secrets = &known_secrets();
    auto store = open_store(store_options, loop_, system_clock(), system_entropy());
    if (!store) co_return fail(store.error());
    store_ = std::move(*store);
    auto keeper = make_keeper(settings_, *folder_, *store_, loop_, workers_);
    if (!keeper) co_return fail(keeper.error());
    keeper_ = std::move(*keeper);
    auto extends = co_await keeper_->check();
    if (!extends) co_return extends;

    auto own = co_await own_credentials(settings_, *store_, system_entropy());
    if (!own) co_return fail(own.error());
    own_ = std::move(*own);
    make_middle();
    auto recovered = co_await calls_->recover();
    if (!recovered) co_return fail_in("operations of the last run could not be settled", recovered.error());
    auto noted = co_await note_start();
    if (!noted) co_return fail_in("the start could not be recorded", noted.error());
    make_fronts();
    auto hooks = webhooks_of(settings_, files_);
    if (!hooks) co_return fail(hooks.error());
    webhooks_ = std::make_unique<Webhooks>(loop_, std::move(*hooks), *desk_, system_clock());
    auto listening = doors_.open(loop_, settings_, *folder_, options_.tcp, behind());
    if (!listening) co_return listening;
    tell_address();
    catalogue_->discover_all();
    webhooks_->start();
    tasks_.spawn("sweep", sweep_forever());
    tell_started();
    co_return Status{};
  }

  // Clients and people as the settings name them, with those that the gateway made itself.
  [[nodiscard]] std::vector<PersonSettings> people(const Settings& settings) const {
    std::vector<PersonSettings> out = settings.people;
    if (own_.owner) out.push_back(*own_.owner);
    return out;
  }
  [[nodiscard]] std::vector<Person> persons(const Settings& settings) const {
    std::vector<Person> out;
    for (const PersonSettings& one : people(settings)) out.push_back(one.person);
    return out;
  }
  [[nodiscard]] std::shared_ptr<const PeopleBook> people_book(const Settings& settings) const {
    std::vector<ClientSettings> clients = settings.clients;
    if (own_.client) clients.push_back(*own_.client);
    return std::make_shared<const PeopleBook>(people(settings), clients);
  }

  void make_middle() {
    pool_ = make_server_pool(loop_, settings_.servers, settings_.limits, *this, workers_, system_clock(),
                             system_entropy(), SALLYPORT_VERSION, pool_options(book_.lock.get()));
    std::vector<std::string> ids;
    for (const auto& [id, server] : settings_.servers) {
      if (!server.disabled) ids.push_back(id);
    }
    catalogue_ = std::make_unique<catalogue::Catalogue>(loop_, *pool_, std::move(ids), rules_of(book_));
    calls::CallsOptions calls_options;
    calls_options.identity = {SALLYPORT_VERSION, to_hex(system_entropy().token(3)).substr(0, 6), options_.boundary};
    calls_options.limits = settings_.limits;
    calls_options.people = persons(settings_);
    calls_options.run_evidence = settings_.run_evidence;
    for (const auto& [id, server] : settings_.servers) calls_options.server_timeout[id] = server.timeout;
    calls_options.on_ask = [this](const std::string& id) {
      if (control_) control_->approval_changed(id);
      if (webhooks_) webhooks_->tell(id);
    };
    calls_ = std::make_unique<calls::Calls>(loop_, std::move(calls_options), *store_, *pool_, *catalogue_, *catalogue_,
                                            system_clock(), system_entropy(), metrics_);
    catalogue_->on_change(
        [this](const std::vector<catalogue::DefinitionChange>& changes) { definitions_changed(changes); });
    relay_ = std::make_unique<relay::Relay>(
        loop_, *pool_, *catalogue_, *catalogue_,
        [this](const std::string& session, std::string_view method, std::string_view params_raw) {
          if (sessions_) sessions_->tell(session, method, params_raw);
        },
        [this](const std::shared_ptr<const ClientContext>& client, const std::string& server, const std::string& uri) {
          return calls_->may_read(client, server, uri);
        });
    front_ = std::make_unique<AppFront>(
        *calls_, *catalogue_, *relay_,
        AppFront::Told{.level_changed = [this](const ClientContext& client) { level_changed(client); },
                       .roots_changed = [this](const ClientContext& client) { roots_changed(client); }});
    ReloadParts parts{options_.request, files_, workers_, *catalogue_, *calls_, {}, {}};
    parts.let_in = [this](Settings settings, std::function<void()> with_them) {
      return let_in(std::move(settings), std::move(with_them));
    };
    parts.on_change = [this] { control_->policy_changed(); };
    reload_ = std::make_unique<Reload>(loop_, InForce{settings_, book_}, std::move(parts));
    desk_ = std::make_unique<AppDesk>(*calls_, *catalogue_, *pool_, *keeper_, *reload_);
  }

  void make_fronts() {
    SessionsOptions session_options;
    session_options.version = SALLYPORT_VERSION;
    session_options.boundary = options_.boundary;
    session_options.limits = settings_.limits;
    session_options.state_key = from_hex(store_->fingerprint("sallyport/request-state/v1")).value_or("");
    session_options.on_count = [this](std::size_t count) {
      metrics_.sessions(static_cast<std::int64_t>(count));
      last_client_ = Deadline::Clock::now();
    };
    sessions_ =
        std::make_unique<Sessions>(loop_, *front_, system_clock(), system_entropy(), std::move(session_options));
    const auto authenticator = std::make_shared<const Authenticator>(settings_, own_.client);
    const auto knows = [this](std::string_view id) {
      const auto it = settings_.servers.find(std::string(id));
      return it != settings_.servers.end() && !it->second.disabled;
    };
    HttpFrontOptions http;
    http.listen = settings_.listen;
    http.limits = settings_.limits;
    http.knows_server = knows;
    http_front_ = std::make_unique<HttpFront>(loop_, *sessions_, authenticator, std::move(http));
    StdioFrontOptions stdio;
    stdio.limits = settings_.limits;
    stdio.knows_server = knows;
    stdio_front_ = std::make_unique<StdioFront>(loop_, *sessions_, authenticator, std::move(stdio));
    ControlOptions control;
    control.listen = settings_.control;
    control_ = std::make_unique<ControlServer>(loop_, people_book(settings_), *desk_,
                                               static_cast<const Readiness&>(*this), metrics_, std::move(control));
  }

  Doors::Behind behind() {
    return {[this](std::unique_ptr<ByteStream> stream) { http_front_->accept(std::move(stream)); },
            [this](std::unique_ptr<ByteStream> stream) { control_->accept(std::move(stream)); },
            [this](std::unique_ptr<ByteStream> stream) { stdio_front_->accept(std::move(stream)); }};
  }

  // Who may come in from now on; sessions and streams of those who are gone, or are somebody else now, end.
  asio::awaitable<Status> let_in(Settings settings, std::function<void()> with_them) {
    auto own = co_await own_credentials(settings, *store_, system_entropy());
    if (!own) co_return fail(own.error());
    with_them();
    own_ = std::move(*own);
    for (const std::string& line : own_.told) say(line);
    const auto authenticator = std::make_shared<const Authenticator>(settings, own_.client);
    http_front_->set_authenticator(authenticator);
    stdio_front_->set_authenticator(authenticator);
    sessions_->keep([&](const Principal& principal) { return authenticator->still_knows(principal); });
    control_->set_people(people_book(settings));
    calls_->set_people(persons(settings));
    sessions_->changed("notifications/tools/list_changed", "");
    co_return Status{};
  }

  // Where links to the console lead.
  void tell_address() {
    std::string console = settings_.control.public_url;
    if (console.empty() && !doors_.control_address().empty()) {
      console = fmt::format("http{}://{}", settings_.control.certificate.empty() ? "" : "s", doors_.control_address());
    }
    control_->set_address(console);
    calls_->set_console(console);
    webhooks_->set_address(std::move(console));
  }

  void tell_started() const {
    for (const auto& line : own_.told) say(line);
    if (!doors_.client_address().empty()) {
      say(fmt::format("clients: http{}://{}/mcp", settings_.listen.certificate.empty() ? "" : "s",
                      doors_.client_address()));
    }
    if (!doors_.control_address().empty())
      say(fmt::format("people: http{}://{}/", settings_.control.certificate.empty() ? "" : "s",
                      doors_.control_address()));
    log::info("started", {{"version", SALLYPORT_VERSION},
                          {"state", settings_.state_dir},
                          {"boundary", options_.boundary},
                          {"log", store_->log_id()}});
  }

  asio::awaitable<Status> append(trust::ReceiptBody body) {
    auto stored = co_await store_->commit(Durability::power, [&](Tx& tx) -> Status {
      auto appended = tx.append(body);
      if (!appended) return fail(appended.error());
      return {};
    });
    co_return stored;
  }

  asio::awaitable<Status> note_start() {
    auto keys = co_await note_keys();
    if (!keys) co_return keys;
    trust::ReceiptBody started = calls_->receipt(trust::ReceiptKind::start);
    started.event = trust::EventRecord{"started", {}, {}, {}, {}, {}, {}};
    started.decision.reset();
    auto noted = co_await append(std::move(started));
    if (!noted) co_return noted;
    auto loaded = co_await reload_->begin();
    if (!loaded) co_return loaded;
    auto covered = co_await keeper_->make();
    if (!covered) co_return fail(covered.error());
    co_return Status{};
  }

  // The first entry of a log names the keys that it will be checked with.
  asio::awaitable<Status> note_keys() {
    trust::ReceiptBody body = calls_->receipt(trust::ReceiptKind::key);
    auto receipt_key = folder_->receipt_key();
    auto checkpoint_key = folder_->checkpoint_key();
    if (!receipt_key) co_return fail(receipt_key.error());
    if (!checkpoint_key) co_return fail(checkpoint_key.error());
    body.event = trust::EventRecord{"created",
                                    {},
                                    {},
                                    {},
                                    {},
                                    {},
                                    {{"checkpointKey", to_base64(checkpoint_key->public_key().der())},
                                     {"publicKey", to_base64(receipt_key->public_key().der())}}};
    auto stored = co_await store_->commit(Durability::power, [&](Tx& tx) -> Status {
      if (tx.log_size() > 0) return {};
      auto appended = tx.append(body);
      if (!appended) return fail(appended.error());
      return {};
    });
    co_return stored;
  }

  void definitions_changed(const std::vector<catalogue::DefinitionChange>& changes) {
    std::set<std::pair<std::string_view, std::string>> lists;
    for (const auto& change : changes) {
      // Lists of prompts and templates are the servers' own, who tell of what is new: here only what is judged
      // otherwise.
      const bool news = change.offer == trust::Offer::tool || (change.before && change.after);
      const std::string_view list = list_of(change.offer);
      if (news && !list.empty()) lists.emplace(list, change.tool.server);
    }
    for (const auto& [list, server] : lists) {
      if (sessions_) sessions_->changed(fmt::format("notifications/{}/list_changed", list), server);
    }
    calls_->configuration_changed();
    for (const auto& change : changes) {
      const auto body = definition_receipt(calls_->receipt(trust::ReceiptKind::definition), change);
      if (!body) continue;
      store_->post([body = *body](Tx& tx) -> Status {
        auto appended = tx.append(body);
        if (!appended) return fail(appended.error());
        return {};
      });
    }
  }

  asio::awaitable<void> sweep_forever() {
    auto next_store_sweep = Deadline::Clock::now();
    auto next_checkpoint = Deadline::Clock::now() + kCheckpoint;
    auto next_look = Deadline::Clock::now() + kLook;
    for (;;) {
      const bool went_on = co_await sleep_until(Deadline::after(kSweep));
      if (!went_on) co_return;
      co_await calls_->sweep();
      relay_->sweep();
      if (Deadline::Clock::now() >= next_look) {
        next_look = Deadline::Clock::now() + kLook;
        catalogue_->look_again_at_foreign();
      }
      if (Deadline::Clock::now() >= next_checkpoint) {
        next_checkpoint = Deadline::Clock::now() + kCheckpoint;
        auto made = co_await keeper_->make();
        if (!made) log::error("checkpoint.failed", {{"reason", made.error().message}});
      }
      if (Deadline::Clock::now() < next_store_sweep) continue;
      next_store_sweep = Deadline::Clock::now() + kStoreSweep;
      const UnixMillis now = system_clock().now();
      const std::function<Status(Tx&)> drop_old = [now](Tx& tx) { return tx.sweep(now); };
      auto swept = co_await store_->commit(Durability::crash, drop_old);
      if (!swept) log::warning("store.sweep_failed", {{"reason", swept.error().message}});
      co_await calls_->sweep_budgets();
      co_await prune();
    }
  }

  asio::awaitable<void> prune() {
    const Retention retention{settings_.retention, tenth_of_disk(settings_.state_dir),
                              keys_kept(*catalogue_->rules().trust)};
    const std::function<trust::ReceiptBody()> receipt = [this] {
      trust::ReceiptBody body = calls_->receipt(trust::ReceiptKind::log);
      body.event.emplace();
      return body;
    };
    auto pruned = co_await keeper_->prune(retention, receipt);
    if (!pruned) log::warning("receipts.not_pruned", {{"reason", pruned.error().message}});
  }

  asio::awaitable<void> wait_for_end(asio::signal_set& ending) {
    Signal ended(loop_);
    bool stop = false;
    std::function<void()> arm = [&] {
      ending.async_wait([&](const boost::system::error_code& ec, int number) {
        if (ec) return;
        if (number == SIGHUP) {
          tasks_.spawn("reload", reload_->reread("SIGHUP"));
          arm();
          return;
        }
        stop = true;
        ended.notify();
      });
    };
    arm();
    while (!stop) {
      co_await ended.wait(Deadline::after(std::chrono::seconds(1)));
      if (!calls_->can_record()) {
        log::error("store.broken", {{"effect", "no further call is taken; ending"}});
        break;
      }
      if (options_.idle_exit && is_idle()) {
        log::info("idle", {{"effect", "nobody has used it for a while; ending"}});
        break;
      }
    }
    ending.cancel();
    std::signal(SIGTERM, SIG_DFL);  // a second one ends it at once
    std::signal(SIGINT, SIG_DFL);
  }

  [[nodiscard]] bool is_idle() const {
    return sessions_->count() == 0 && sessions_->modern().clients() == 0 && calls_->in_flight() == 0 &&
           Deadline::Clock::now() - last_client_ > *options_.idle_exit;
  }

  // The order of gateway/README.md: no new work, finish what is open, then the servers, then the store.
  asio::awaitable<bool> stop() {
    log::info("stopping", {{"calls", calls_->in_flight()}});
    const Deadline deadline = Deadline::after(kDrain);
    doors_.close();
    tasks_.spawn("drain calls", calls_->shutdown(deadline));
    bool clean = co_await http_front_->shutdown(deadline);
    clean = co_await stdio_front_->shutdown(deadline) && clean;
    tasks_.cancel();
    co_await reload_->stop(Deadline::after(std::chrono::seconds(5)));
    co_await webhooks_->stop();
    const bool drained = co_await control_->stop(Deadline::after(std::chrono::seconds(1)));
    co_await calls_->shutdown(Deadline::after(std::chrono::seconds(1)));
    co_await pool_->shutdown(Deadline::after(std::chrono::seconds(6)));
    trust::ReceiptBody ended = calls_->receipt(trust::ReceiptKind::start);
    ended.event = trust::EventRecord{"ended", {}, clean ? "" : "cut short", {}, {}, {}, {}};
    auto noted = co_await append(std::move(ended));
    if (!noted) log::warning("end.unrecorded", {{"reason", noted.error().message}});
    auto covered = co_await keeper_->make();
    if (!covered) log::warning("checkpoint.failed", {{"reason", covered.error().message}});
    log::info("stopped", {{"clean", clean}});
    co_return clean&& drained;
  }

  // ServerEvents
  void on_list_changed(const std::string& server, ListKind kind) override {
    const trust::Offer what = kind == ListKind::tools     ? trust::Offer::tool
                              : kind == ListKind::prompts ? trust::Offer::prompt
                                                          : trust::Offer::resource_template;
    catalogue_->discover(server, std::array{what});
    if (kind == ListKind::tools) return;
    relay_->list_changed(server, kind);
    if (sessions_) sessions_->changed(fmt::format("notifications/{}/list_changed", list_of(what)), server);
  }
  void on_state(const ServerStatus& status) override {
    metrics_.server_up(status.id, status.state == ServerState::up || status.state == ServerState::idle);
  }
  void on_late_answer(LateAnswer late) override { calls_->on_late_answer(std::move(late)); }
  void on_log(const LinkKey& from, std::string_view params_raw) override {
    log::debug("server.log", {{"server", from.server}, {"params", params_raw.substr(0, 2000)}});
    if (sessions_) sessions_->log(from, params_raw);
  }
  void on_resource_updated(const LinkKey& from, std::string_view params_raw) override {
    relay_->resource_updated(from, params_raw);
  }
  void on_elicitation_complete(const LinkKey& from, std::string_view params_raw) override {
    if (sessions_) sessions_->elicitation_complete(from, params_raw);
  }
  [[nodiscard]] const trust::ServerTrust* trust_of(const std::string& server) const {
    const auto& rules = catalogue_->rules();
    return rules.trust ? rules.trust->server(server) : nullptr;
  }
  // What the trust file lets a server ask of clients is what we declare to it.
  std::string client_capabilities(const std::string& server) override {
    const trust::ServerTrust* trusted = trust_of(server);
    if (trusted == nullptr) return "{}";
    std::string out;
    if (trusted->passes.elicitation) out += R"(,"elicitation":{"form":{},"url":{}})";
    if (trusted->passes.sampling) out += R"(,"sampling":{"tools":{}})";
    if (trusted->passes.roots) out += R"(,"roots":{"listChanged":true})";
    return out.empty() ? "{}" : "{" + out.substr(1) + "}";
  }
  std::optional<std::string> why_foreign(const std::string& server, const std::string& identity) override {
    return catalogue_ ? catalogue_->why_foreign(server, identity) : std::nullopt;
  }
  std::string log_level(const LinkKey& link) override {
    return sessions_ ? std::string(sessions_->log_level(link.principal)) : std::string();
  }

  // AppFront
  void level_changed(const ClientContext& client) {
    for (const auto& [server, link] : pool_->open_links(client.principal.id)) {
      const Offers offers = catalogue_->current()->servers.at(server).offers;
      // What all share says what any of them asked for: each hears of it what it asked for itself.
      const auto known = settings_.servers.find(server);
      const bool shared = known != settings_.servers.end() && known->second.shared;
      const std::string level(sessions_->log_level(shared ? std::string() : client.principal.id));
      if (offers.logging) tasks_.spawn("level " + server, set_level(link, fmt::format(R"({{"level":"{}"}})", level)));
    }
  }
  static asio::awaitable<void> set_level(std::shared_ptr<ServerLink> link, std::string params) {
    CallControl control;
    control.deadline = Deadline::after(std::chrono::seconds(10));
    const ServerAnswer answer = co_await link->relay("logging/setLevel", std::move(params), std::move(control));
    if (answer.kind != ServerAnswer::Kind::result) log::info("server.level_not_set", {{"server", link->info().name}});
  }
  void roots_changed(const ClientContext& client) {
    for (const auto& [server, link] : pool_->open_links(client.principal.id)) {
      const trust::ServerTrust* trusted = trust_of(server);
      if (trusted != nullptr && trusted->passes.roots) link->tell("notifications/roots/list_changed", {});
    }
  }

  // Readiness
  [[nodiscard]] bool ready() const override {
    if (!store_->healthy()) return false;
    for (const ServerStatus& status : pool_->status()) {
      if (status.state == ServerState::down || status.state == ServerState::set_aside) return false;
    }
    return true;
  }
  [[nodiscard]] std::string detail() const override {
    boost::json::array servers;
    for (const ServerStatus& status : pool_->status()) {
      boost::json::object entry{{"id", status.id},
                                {"up", status.state != ServerState::down && status.state != ServerState::set_aside}};
      if (!status.reason.empty()) entry["reason"] = visible(status.reason);
      servers.emplace_back(std::move(entry));
    }
    return fmt::format(R"({{"policy":{},"servers":{},"store":{}}})", reload_->summary(),
                       json::canonical(boost::json::value(std::move(servers))), store_->healthy());
  }

  const OwnerOptions options_;
  const SystemFiles files_;
  asio::io_context io_{1};
  asio::any_io_executor loop_;
  Metrics metrics_;
  Workers workers_{2};
  Settings settings_;  // of the start; what a reload changed is in reload_
  RuleBook book_;
  std::optional<StateFolder> folder_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<LogKeeper> keeper_;
  OwnCredentials own_;
  std::unique_ptr<Servers> pool_;
  std::unique_ptr<catalogue::Catalogue> catalogue_;
  std::unique_ptr<calls::Calls> calls_;
  std::unique_ptr<relay::Relay> relay_;
  std::unique_ptr<AppFront> front_;
  std::unique_ptr<Reload> reload_;
  std::unique_ptr<AppDesk> desk_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<HttpFront> http_front_;
  std::unique_ptr<StdioFront> stdio_front_;
  std::unique_ptr<ControlServer> control_;
  std::unique_ptr<Webhooks> webhooks_;
  Doors doors_;
  Deadline::Clock::time_point last_client_ = Deadline::Clock::now();
  TaskGroup tasks_;
};

}  // namespace

int run_owner(const OwnerOptions& options) {
  // Else the heap of the store's thread is given back and taken again with every other call.
  mallopt(M_TOP_PAD, 1 << 20);
  Running running(options);
  return running.run();
}

}  // namespace sallyport::gateway
