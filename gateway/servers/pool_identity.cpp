// Which server a link leads to: what a child is, was, and would be if it were started now (design section 4).
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/servers/pool.hpp"

namespace sallyport::gateway::servers {
namespace {

using Transport = ServerSettings::Transport;

constexpr std::chrono::seconds kCloseWait{10};
constexpr Millis kIdleLook{500};  // whether a link that was replaced still has calls open

Error not_accepted(const std::string& server, const std::string& difference) {
  return {ErrorCode::forbidden, fmt::format("server `{}` is not the one that was accepted: {}", server, difference),
          ErrorSource::server, RetryClass::not_sent};
}

// Of a package nothing can be told before its runner has fetched it once.
bool is_known(const trust::Identity& identity) {
  return identity.kind != trust::Identity::Kind::package || !identity.integrity.empty();
}

}  // namespace

Result<std::string> Pool::program_of(const ServerSettings& server) const {
  const Environment environment = child_environment(context_->environment, server.env);
  auto resolved = resolve_command(server.command, environment, server.cwd);
  if (!resolved) return fail(resolved.error());
  return std::move(*resolved);
}

asio::awaitable<Result<Identifier::Found>> Pool::find_child(const ServerSettings& server) {
  auto program = program_of(server);
  if (!program) co_return fail(program.error());
  const auto home = context_->environment.find("HOME");
  std::string folder = home == context_->environment.end() ? "" : home->second;
  Identifier::Found found =
      co_await identifier_.command(context_->workers, server, std::move(*program), std::move(folder));
  co_return found;
}

asio::awaitable<Result<bool>> Pool::may_use(const ServerSettings& server, std::shared_ptr<Link> link, bool to_look) {
  const auto foreign = events_->why_foreign(server.id, link->identity());
  if (!foreign && !to_look) co_return true;
  if (!link->is_child()) {
    if (foreign && !to_look) co_return fail(not_accepted(server.id, *foreign));
    co_return !foreign;  // it may be the accepted one again
  }
  const auto found = co_await find_child(server);
  if (found && is_known(found->identity) && trust::canonical(found->identity) != link->identity()) co_return false;
  if (foreign && !to_look) co_return fail(not_accepted(server.id, *foreign));
  co_return true;
}

asio::awaitable<Status> Pool::may_start(const ServerSettings& server) {
  if (server.transport != Transport::stdio) co_return Status{};
  const auto found = co_await find_child(server);
  if (!found || !is_known(found->identity)) co_return Status{};  // what is wrong with it shows when it is started
  if (const auto foreign = events_->why_foreign(server.id, trust::canonical(found->identity)))
    co_return fail(not_accepted(server.id, *foreign));
  co_return Status{};
}

// Another is started for the next who asks; what is under way on this one may end first.
void Pool::replace(Slot& slot) {
  const std::shared_ptr<Link> link = std::move(slot.link);
  slot.link = nullptr;
  link->on_end({});
  log::info("server.replaced", {{"server", link->name()}, {"reason", "its program is another now"}});
  context_->tasks.spawn("replaced " + link->name(), close_when_idle(shared_from_this(), link));
}

asio::awaitable<void> Pool::close_when_idle(Self self, std::shared_ptr<Link> link) {
  const Deadline last = Deadline::after(link->call_timeout());
  while (link->open_calls() > 0 && link->alive() && !last.passed() && !self->closing_) {
    const bool slept = co_await sleep_until(Deadline::after(kIdleLook));
    if (!slept) break;
  }
  co_await close_link(self, link, Deadline::after(kCloseWait));
}

}  // namespace sallyport::gateway::servers
