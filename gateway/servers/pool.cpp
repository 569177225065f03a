#include "gateway/servers/pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/servers/http_link.hpp"
#include "gateway/servers/stdio_link.hpp"

namespace sallyport::gateway::servers {
namespace {

using Transport = ServerSettings::Transport;

constexpr std::chrono::seconds kEvictAfter{5};  // a link just handed out is not taken away for room
constexpr std::chrono::seconds kCloseAfterFailure{10};

// Why a server is not even tried; empty: it is.
std::string set_aside_reason(const ServerSettings& server) {
  if (server.disabled) return "it is disabled in the config";
  if (!server.problem.empty()) return server.problem;
  return {};
}

Error down(const std::string& server, std::string_view reason, ErrorCode code = ErrorCode::unavailable) {
  return {code, fmt::format("server `{}` is not available: {}", server, reason), ErrorSource::server,
          RetryClass::not_sent};
}

// Full jitter over the upper half: neither all at once nor at once.
Millis backoff(unsigned failures, const PoolOptions& options, Entropy& entropy) {
  const unsigned doublings = std::min(failures == 0 ? 0U : failures - 1, 20U);
  const auto whole = std::min<std::int64_t>(options.backoff_first.count() << doublings, options.backoff_most.count());
  std::array<std::uint8_t, 2> random{};
  entropy.fill(random);
  const std::int64_t part = random[0] * 256 + random[1];
  return Millis(whole / 2 + (whole - whole / 2) * part / 65535);
}

mcp::Era era_of(std::string_view version) { return mcp::is_modern(version) ? mcp::Era::modern : mcp::Era::legacy; }

}  // namespace

Pool::Pool(std::shared_ptr<LinkContext> context, std::shared_ptr<PoolEvents> events,
           std::map<std::string, ServerSettings> servers)
    : context_(std::move(context)), events_(std::move(events)), servers_(std::move(servers)), gone_(context_->loop) {
  for (const auto& [id, server] : servers_) {
    published_[id] = status_of(server);
    const auto known = context_->options.known_versions.find(id);
    if (known != context_->options.known_versions.end()) eras_[id] = era_of(known->second);
  }
}

void Pool::run() { context_->tasks.spawn("servers", keep_house(shared_from_this())); }

LinkKey Pool::owner_of(const SlotKey& key) {
  const auto& [server, principal, session] = key;
  const bool mute = session.starts_with('!');
  return {server, principal, session.substr(mute ? 1 : 0), !mute};
}

Pool::SlotKey Pool::slot_key(const ServerSettings& server, const LinkKey& key) const {
  // What a legacy server may ask is told to it once, at its start; a modern one hears it with every request.
  const Link::Speak era = era_for(server);
  const bool mute = !key.askable && era != Link::Speak::modern && events_->client_capabilities(server.id) != "{}";
  const std::string apart = mute ? "!" : "";
  if (server.shared) return {server.id, "", apart};
  return {server.id, key.principal, apart + (server.isolate_session ? key.session : "")};
}

asio::awaitable<Result<std::shared_ptr<ServerLink>>> Pool::link(LinkKey key, Deadline deadline) {
  const Self self = shared_from_this();
  const auto found = servers_.find(key.server);
  if (found == servers_.end()) {
    co_return fail(ErrorCode::not_found, fmt::format("there is no server `{}`", key.server), ErrorSource::gateway,
                   RetryClass::not_sent);
  }
  const ServerSettings& server = found->second;
  if (const std::string reason = set_aside_reason(server); !reason.empty()) co_return fail(down(server.id, reason));
  const SlotKey slot_id = slot_key(server, key);
  SlotPtr& entry = slots_[slot_id];
  if (!entry) entry = std::make_shared<Slot>(context_->loop, slot_id);
  const SlotPtr slot = entry;  // may leave the table while we wait
  const unsigned failed_before = slot->failed_starts;
  const bool to_look = key.principal == kLooker;
  bool replaced = false;
  while (!closing_) {
    if (slot->link && slot->link->alive()) {
      const std::shared_ptr<Link> up = slot->link;
      const auto usable = co_await may_use(server, up, to_look);
      if (!usable) co_return fail(usable.error());
      if (slot->link != up || !up->alive()) continue;
      if (!*usable && !replaced) {
        replaced = true;
        replace(*slot);
        continue;
      }
      if (!*usable && !to_look) co_return fail(down(server.id, "its program changes all the time"));
      up->touch();
      std::shared_ptr<ServerLink> given = up;
      co_return given;
    }
    if (slot->failed_starts != failed_before) co_return fail(slot->last_error);
    if (deadline.passed()) co_return fail(down(server.id, "it did not start in time", ErrorCode::timeout));
    Deadline wait = deadline;
    if (!slot->busy) {
      const auto left = std::chrono::ceil<Millis>(slot->not_before.left());
      if (left > context_->options.wait_for_backoff || earlier(slot->not_before, deadline).when() == deadline.when()) {
        co_return fail(down(server.id, fmt::format("{}; it is tried again in {}", slot->last_error.message,
                                                   to_text(std::max(left, Millis(1))))));
      }
      if (left.count() > 0) {
        wait = slot->not_before;
      } else {
        if (!to_look) {
          const Status accepted = co_await may_start(server);
          if (!accepted) co_return fail(accepted.error());
          if (slot->busy || slot->link) continue;
        }
        slot->busy = true;
        context_->tasks.spawn("start " + server.id, start_slot(self, slot));
      }
    }
    co_await slot->changed.wait(wait);
  }
  co_return fail(down(server.id, "the gateway is shutting down"));
}

asio::awaitable<void> Pool::start_slot(Self self, SlotPtr slot) {
  const std::string server = std::get<0>(slot->key);
  self->publish(server);
  const Status started = co_await self->start_link(slot);
  slot->busy = false;
  if (!started) {
    self->failed(*slot, started.error());
    ++slot->failed_starts;
  }
  self->publish(server);
  slot->changed.notify();
}

Link::Speak Pool::era_for(const ServerSettings& server) const {
  if (server.era == "legacy") return Link::Speak::legacy;
  if (server.era == "modern") return Link::Speak::modern;
  const auto known = eras_.find(server.id);
  if (known == eras_.end()) return Link::Speak::probe;
  return known->second == mcp::Era::modern ? Link::Speak::modern : Link::Speak::legacy;
}

// A link that was started; on an error it is on its way out.
asio::awaitable<Status> Pool::bring_up(SlotPtr slot, std::shared_ptr<Link> link, Link::Speak how, Deadline deadline) {
  const std::string server = std::get<0>(slot->key);
  link->set_owner(owner_of(slot->key));
  link->speak(how);
  live_.insert(link);
  slot->starting = link;
  Status started = co_await link->start(deadline);
  slot->starting = nullptr;
  if (started && link->alive() && !closing_) {
    spoken_[server] = link->info().protocol_version;
    if (link->is_era_sure()) eras_[server] = era_of(spoken_[server]);
    co_return started;
  }
  // What was known of it may be what was wrong.
  eras_.erase(server);
  if (started) started = fail(ErrorCode::unavailable, link->end_reason());
  context_->tasks.spawn("end " + server, close_link(shared_from_this(), link, Deadline::after(kCloseAfterFailure)));
  co_return started;
}

// Everything up to a link that is up in its slot.
asio::awaitable<Status> Pool::start_link(SlotPtr slot) {
  const ServerSettings& server = servers_.at(std::get<0>(slot->key));
  const Deadline deadline = Deadline::after(server.start_timeout);
  Status room = co_await make_room(server, std::get<1>(slot->key));
  if (!room) co_return room;
  std::string program;
  Identifier::Found before;
  const bool is_child = server.transport == Transport::stdio;
  if (is_child) {
    auto resolved = program_of(server);
    if (!resolved) co_return fail(down(server.id, resolved.error().message));
    program = std::move(*resolved);
    auto found = co_await find_child(server);
    if (!found) co_return fail(down(server.id, found.error().message));
    before = std::move(*found);
  }
  auto made = make_link(server, program);
  if (!made) co_return fail(down(server.id, made.error().message, made.error().code));
  std::shared_ptr<Link> link = std::move(*made);
  Status started = co_await bring_up(slot, link, era_for(server), deadline);
  if (!started && link->was_probed() && is_child && !closing_) {
    // That one was asked in a way that it did not understand; this one is not.
    log::info("server.started_anew", {{"server", server.id}, {"reason", started.error().message}});
    made = make_link(server, program);
    if (!made) co_return fail(down(server.id, made.error().message, made.error().code));
    link = std::move(*made);
    started = co_await bring_up(slot, link, Link::Speak::legacy, deadline);
  }
  if (!started) co_return fail(down(server.id, started.error().message, started.error().code));
  std::string problem;
  if (is_child) {
    slot->starting = link;
    const auto found = co_await find_child(server);
    slot->starting = nullptr;
    // What runs is what was there before it was started, and that is known only if nothing changed meanwhile.
    if (!found) {
      problem = found.error().message;
    } else if (found->stamp != before.stamp || found->identity.digest != before.identity.digest) {
      problem = "its program changed while it was started, so that nobody can tell what runs";
    } else {
      link->set_identity(trust::canonical(found->identity));
    }
  } else {
    link->set_identity(trust::canonical(static_cast<HttpLink&>(*link).found()));
  }
  if (problem.empty() && (!link->alive() || closing_)) problem = link->end_reason();
  if (!problem.empty() || !link->alive() || closing_) {
    context_->tasks.spawn("end " + server.id,
                          close_link(shared_from_this(), link, Deadline::after(kCloseAfterFailure)));
    co_return fail(down(server.id, problem));
  }
  const LinkKey owner = owner_of(slot->key);
  slot->link = link;
  slot->up_since = Deadline::Clock::now();
  link->on_end([weak = weak_from_this(), slot] {
    if (const auto pool = weak.lock()) pool->on_link_end(slot);
  });
  if (const std::string level = events_->log_level(owner);
      !level.empty() && link->info().capabilities_raw.contains("\"logging\"")) {
    context_->tasks.spawn("level " + server.id, set_level(link, level));
  }
  link->on_silence([weak = weak_from_this(), id = server.id] {
    if (const auto pool = weak.lock()) pool->publish(id);
  });
  co_return Status{};
}

asio::awaitable<void> Pool::set_level(std::shared_ptr<Link> link, std::string level) {
  CallControl control;
  control.deadline = Deadline::after(std::chrono::seconds(10));
  std::string params = fmt::format(R"({{"level":"{}"}})", level);
  co_await link->relay("logging/setLevel", std::move(params), std::move(control));
}

std::vector<std::pair<std::string, std::shared_ptr<ServerLink>>> Pool::open_links(const std::string& principal) const {
  std::vector<std::pair<std::string, std::shared_ptr<ServerLink>>> out;
  for (const auto& [key, slot] : slots_) {
    const auto& [server, owner, session] = key;
    if (slot->link && slot->link->alive() && (owner.empty() || owner == principal))
      out.emplace_back(server, slot->link);
  }
  return out;
}

Result<std::shared_ptr<Link>> Pool::make_link(const ServerSettings& server, const std::string& program) {
  if (server.transport == Transport::stdio) return std::make_shared<StdioLink>(context_, server, program);
  auto url = parse_server_url(server.url);
  if (!url) return fail(std::move(url.error()));
  return std::make_shared<HttpLink>(context_, server, std::move(*url));
}

asio::awaitable<Status> Pool::make_room(const ServerSettings& server, std::string principal) {
  const bool is_child = server.transport == Transport::stdio;
  const std::size_t most = is_child ? context_->limits.children : context_->limits.sessions;
  // What one principal may take, so that it does not keep the others out.
  const std::size_t share = std::max<std::size_t>(1, most - most / 4);
  if (!principal.empty() && held_by(principal, is_child) >= share) {
    co_return fail(down(server.id,
                        fmt::format("{} servers are running for this client, which is its share of the limit", share),
                        ErrorCode::limit));
  }
  if (running(is_child) >= most) {
    if (const std::shared_ptr<Link> victim = idle_victim(is_child)) {
      co_await close_link(shared_from_this(), victim, Deadline::after(kCloseAfterFailure));
    }
  }
  if (running(is_child) >= most) {
    co_return fail(down(server.id,
                        fmt::format("{} servers are running, which is the limit (`limits.{}`)", most,
                                    is_child ? "children" : "sessions"),
                        ErrorCode::limit));
  }
  co_return Status{};
}

std::size_t Pool::running(bool children) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(live_, [&](const auto& link) { return link->is_child() == children; }));
}

std::size_t Pool::held_by(const std::string& principal, bool children) const {
  return static_cast<std::size_t>(std::ranges::count_if(slots_, [&](const auto& entry) {
    const std::shared_ptr<Link>& link = entry.second->link ? entry.second->link : entry.second->starting;
    return link && link->is_child() == children && std::get<1>(entry.first) == principal;
  }));
}

std::shared_ptr<Link> Pool::idle_victim(bool children) const {
  std::shared_ptr<Link> oldest;
  for (const auto& [key, slot] : slots_) {
    if (!slot->link || slot->link->is_child() != children || slot->link->open_calls() > 0 || slot->link->held())
      continue;
    if (Deadline::Clock::now() - slot->link->last_used() < kEvictAfter) continue;
    if (!oldest || slot->link->last_used() < oldest->last_used()) oldest = slot->link;
  }
  return oldest;
}

void Pool::failed(Slot& slot, Error error) {
  ++slot.failures;
  const Millis pause = backoff(slot.failures, context_->options, context_->entropy);
  slot.not_before = Deadline::after(pause);
  log::warning("server.down", {{"server", std::get<0>(slot.key)},
                               {"reason", error.message},
                               {"failures", slot.failures},
                               {"pause_ms", pause.count()}});
  slot.last_error = std::move(error);
}

// Called by the link itself, once, when it is no longer up.
void Pool::on_link_end(const SlotPtr& slot) {
  const std::shared_ptr<Link> link = std::move(slot->link);
  slot->link = nullptr;
  if (!link) return;
  const std::string& server = std::get<0>(slot->key);
  if (link->is_era_lost()) eras_.erase(server);
  if (!link->ended_well()) {
    if (Deadline::Clock::now() - slot->up_since >= context_->options.healthy_after) slot->failures = 0;
    failed(*slot, down(server, link->end_reason()));
  }
  // A session that was lost may still answer what is under way.
  const bool busy = link->ended_well() && link->open_calls() > 0;
  const Deadline deadline = busy ? Deadline::after(link->call_timeout()) : Deadline::after(kCloseAfterFailure);
  context_->tasks.spawn("end " + server, close_link(shared_from_this(), link, deadline));
  publish(server);
  slot->changed.notify();
}

asio::awaitable<void> Pool::close_link(Self self, std::shared_ptr<Link> link, Deadline deadline) {
  co_await link->close(deadline);
  self->live_.erase(link);
  self->gone_.notify();
}

asio::awaitable<void> Pool::keep_house(Self self) {
  const Millis period = std::clamp(self->context_->options.idle_keep / 4, Millis(10), Millis(30'000));
  while (!self->closing_) {
    const bool slept = co_await sleep_until(Deadline::after(period));
    if (!slept) break;
    self->end_idle();
  }
}

void Pool::end_idle() {
  const auto now = Deadline::Clock::now();
  std::vector<std::shared_ptr<Link>> idle;
  for (const auto& [key, slot] : slots_) {
    if (slot->link && slot->link->open_calls() == 0 && !slot->link->held() &&
        now - slot->link->last_used() >= context_->options.idle_keep) {
      idle.push_back(slot->link);
    }
  }
  for (const std::shared_ptr<Link>& link : idle) {
    log::info("server.idle", {{"server", link->name()}});
    context_->tasks.spawn("idle", close_link(shared_from_this(), link, Deadline::after(kCloseAfterFailure)));
  }
  std::erase_if(slots_, [](const auto& entry) {
    const Slot& slot = *entry.second;
    const bool cold = slot.failures == 0 || slot.not_before.passed();
    return !slot.link && !slot.busy && cold && entry.second.use_count() == 1;
  });
}

std::vector<ServerStatus> Pool::status() const {
  std::vector<ServerStatus> out;
  out.reserve(servers_.size());
  for (const auto& [id, server] : servers_) out.push_back(status_of(server));
  return out;
}

ServerStatus Pool::status_of(const ServerSettings& server) const {
  ServerStatus status{server.id, ServerState::idle, set_aside_reason(server)};
  if (!status.reason.empty()) {
    status.state = ServerState::set_aside;
    return status;
  }
  bool starting = false;
  for (auto it = slots_.lower_bound({server.id, "", ""}); it != slots_.end() && std::get<0>(it->first) == server.id;
       ++it) {
    const Slot& slot = *it->second;
    const bool up = slot.link && slot.link->alive();
    if (up && !slot.link->silent()) return {server.id, ServerState::up, {}};
    starting = starting || slot.busy;
    if (slot.failures > 0) status = {server.id, ServerState::down, slot.last_error.message};
    if (up) status = {server.id, ServerState::down, "a call timed out and nothing has come from it since"};
  }
  if (starting) return {server.id, ServerState::starting, {}};
  return status;
}

void Pool::publish(const std::string& server) {
  ServerStatus now = status_of(servers_.at(server));
  ServerStatus& before = published_[server];
  if (before.state == now.state && before.reason == now.reason) return;
  before = now;
  events_->on_state(now);
}

std::string Pool::spoken(const std::string& server) const {
  const auto found = spoken_.find(server);
  return found == spoken_.end() ? std::string() : found->second;
}

asio::awaitable<void> Pool::shutdown(Deadline deadline) {
  const Self self = shared_from_this();
  closing_ = true;
  for (const auto& [key, slot] : slots_) slot->changed.notify();
  const std::set<std::shared_ptr<Link>> ending = live_;
  for (const std::shared_ptr<Link>& link : ending) {
    context_->tasks.spawn("end " + link->name(), close_link(self, link, deadline));
  }
  const Deadline last = Deadline::at(deadline.is_never() ? deadline.when() : deadline.when() + std::chrono::seconds(2));
  while (!live_.empty() && !last.passed()) {
    co_await gone_.wait(last);
  }
  if (!live_.empty()) log::error("servers.not_ended", {{"links", live_.size()}});
  abandon();
  const bool ended = co_await context_->tasks.wait_empty(Deadline::after(std::chrono::seconds(2)));
  if (!ended) log::error("servers.tasks_left", {{"tasks", context_->tasks.count()}});
}

void Pool::abandon() noexcept {
  closing_ = true;
  events_->mute();
  const std::set<std::shared_ptr<Link>> left = std::move(live_);
  live_.clear();
  for (const std::shared_ptr<Link>& link : left) link->abandon();
  for (const auto& [key, slot] : slots_) slot->changed.notify();
  slots_.clear();
  context_->tasks.cancel();
}

}  // namespace sallyport::gateway::servers
