#include "gateway/app/probe.hpp"

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "gateway/base/workers.hpp"
#include "gateway/ports/permitted_call.hpp"
#include "gateway/servers/server_pool.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kWait = std::chrono::seconds(60);

class NoEvents final : public ServerEvents {
 public:
  void on_list_changed(const std::string&, ListKind) override {}
  void on_state(const ServerStatus&) override {}
  void on_late_answer(LateAnswer) override {}
  void on_log(const LinkKey&, std::string_view) override {}
};

// A server that is what the lock says of it.
class LockedLink final : public ServerLink {
 public:
  explicit LockedLink(const trust::LockServer& locked) : locked_(locked), identity_(trust::canonical(locked.identity)) {
    info_.capabilities_raw = R"({"prompts":{},"resources":{}})";
    const auto instructions = locked_.accepted(trust::Offer::instructions, {});
    if (!instructions.empty()) info_.instructions = instructions.back().definition().string();
  }
  [[nodiscard]] const ServerInfo& info() const override { return info_; }
  [[nodiscard]] const std::string& identity() const override { return identity_; }
  [[nodiscard]] bool alive() const override { return true; }
  asio::awaitable<ServerAnswer> call(PermittedCall, CallControl) override { co_return ServerAnswer{}; }
  asio::awaitable<ServerAnswer> relay(std::string method, std::string, CallControl) override {
    const bool prompts = method == "prompts/list";
    std::string items;
    for (const auto& [name, accepted] : prompts ? locked_.prompts : locked_.resource_templates) {
      if (accepted.empty()) continue;
      if (!items.empty()) items += ',';
      items += accepted.back().definition().raw();
    }
    std::string text = fmt::format(R"({{"{}":[{}]}})", prompts ? "prompts" : "resourceTemplates", items);
    const json::Limits limits{.bytes = text.size(), .depth = 1'000};
    auto document = json::Document::parse(std::move(text), limits);
    ServerAnswer answer;
    if (!document) co_return answer;
    answer.kind = ServerAnswer::Kind::result;
    answer.document = std::make_shared<const json::Document>(std::move(*document));
    answer.result = answer.document->root();
    co_return answer;
  }
  asio::awaitable<Result<ToolListing>> list_tools(Deadline) override {
    ToolListing listing;
    for (const auto& [name, accepted] : locked_.tools) {
      if (accepted.empty()) continue;
      listing.pages.push_back(accepted.back().document);
      listing.tools.push_back(accepted.back().definition());
    }
    co_return listing;
  }

 private:
  const trust::LockServer& locked_;
  std::string identity_;
  ServerInfo info_;
};

class LockedPool final : public Servers {
 public:
  explicit LockedPool(std::shared_ptr<const trust::LockFile> lock) : lock_(std::move(lock)) {}
  [[nodiscard]] std::vector<ServerStatus> status() const override { return {}; }
  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline) override {
    const trust::LockServer* locked = lock_->server(key.server);
    if (locked == nullptr) co_return fail(ErrorCode::not_found, "nothing of it was accepted yet");
    co_return std::make_shared<LockedLink>(*locked);
  }
  asio::awaitable<void> shutdown(Deadline) override { co_return; }

 private:
  std::shared_ptr<const trust::LockFile> lock_;
};

void run(asio::io_context& io, Servers& pool, const Settings& settings, catalogue::Rules rules, const Visit& visit) {
  std::vector<std::string> ids;
  for (const auto& [id, server] : settings.servers) {
    if (!server.disabled) ids.push_back(id);
  }
  catalogue::Catalogue catalogue(io.get_executor(), pool, std::move(ids), std::move(rules));
  const auto work = [&]() -> asio::awaitable<void> {
    catalogue.discover_all();
    co_await catalogue.settled(Deadline::after(kWait));
    co_await visit(catalogue, pool);
    co_await pool.shutdown(Deadline::after(std::chrono::seconds(6)));
  };
  std::exception_ptr broke;
  asio::co_spawn(io, work(), [&](std::exception_ptr error) {
    broke = error;
    io.stop();
  });
  io.run();
  if (broke) std::rethrow_exception(broke);
}

Visit one_look(const Look& look) {
  return [&look](catalogue::Catalogue& catalogue, Servers& servers) -> asio::awaitable<void> {
    look(catalogue.current(), servers);
    co_return;
  };
}

}  // namespace

PoolOptions pool_options(const trust::LockFile* lock) {
  PoolOptions options;
  if (lock == nullptr) return options;
  for (const auto& [id, server] : lock->servers) {
    if (!server.era.empty()) options.known_versions[id] = server.era;
  }
  return options;
}

void probe(const Settings& settings, catalogue::Rules rules, const Look& look) {
  visit(settings, std::move(rules), one_look(look));
}

void visit(const Settings& settings, catalogue::Rules rules, const Visit& visit) {
  asio::io_context io{1};
  Workers workers(1);
  NoEvents events;
  const auto pool = make_server_pool(io.get_executor(), settings.servers, settings.limits, events, workers,
                                     system_clock(), system_entropy(), SALLYPORT_VERSION);
  run(io, *pool, settings, std::move(rules), visit);
}

void probe_offline(const Settings& settings, catalogue::Rules rules, const Look& look) {
  asio::io_context io{1};
  LockedPool pool(rules.lock);
  run(io, pool, settings, std::move(rules), one_look(look));
}

}  // namespace sallyport::gateway
