#include "gateway/catalogue/catalogue.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "trust/definitions/definition.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway::catalogue {
namespace {

constexpr auto kDiscovery = std::chrono::seconds(45);
constexpr std::size_t kMostLinks = 4096;  // remembered; forgetting one costs its lists

// Names of one server that could be taken for each other.
Names name_findings(const Listed& tools) {
  std::vector<std::string> names;
  for (const json::Value tool : tools.items) {
    if (auto name = trust::name_of(trust::Offer::tool, tool)) names.push_back(std::move(*name));
  }
  Names found;
  for (trust::NameFinding& one : trust::scan_names(names)) found.emplace(std::move(one.tool), std::move(one.finding));
  return found;
}

// The lock's digests leave out what the trust file ignores now: changing that list is no drift.
Rules with_present_ignores(Rules rules) {
  if (!rules.lock || !rules.trust) return rules;
  auto lock = std::make_shared<trust::LockFile>(*rules.lock);
  for (auto& [id, server] : lock->servers) {
    const trust::ServerTrust* trusted = rules.trust->server(id);
    const std::vector<std::string> ignored = trusted ? trusted->ignore : std::vector<std::string>();
    if (server.ignored == ignored) continue;
    if (auto changed = trust::with_ignored(server, ignored)) server = std::move(*changed);  // else it shows as drift
  }
  rules.lock = std::move(lock);
  return rules;
}

bool says_nothing_new(const ServerView& view) {
  return std::ranges::all_of(trust::kOffers, [&](trust::Offer offer) {
    return std::ranges::all_of(view.of(offer), [](const auto& one) { return one.second->state == ToolState::pinned; });
  });
}

std::optional<trust::Identity> identity_from(const std::string& text) {
  auto document = json::Document::parse(text);
  auto identity = document ? trust::parse_identity(document->root()) : Result<trust::Identity>(fail(document.error()));
  return identity ? std::optional(std::move(*identity)) : std::nullopt;
}

}  // namespace

Catalogue::Catalogue(asio::any_io_executor loop, Servers& servers, std::vector<std::string> server_ids, Rules rules)
    : servers_(servers), rules_(with_present_ignores(std::move(rules))), changed_(loop), tasks_(loop) {
  for (auto& id : server_ids) listings_.try_emplace(std::move(id));
  rebuild();
}

Catalogue::~Catalogue() = default;

void Catalogue::set_rules(Rules rules) {
  rules_ = with_present_ignores(std::move(rules));
  links_.clear();  // the ignored pointers may be others now
  for (auto& [id, listing] : listings_) listing.made.reset();
  rebuild();
}

void Catalogue::discover_all() {
  for (const auto& [id, listing] : listings_) discover(id);
}

void Catalogue::discover(const std::string& server, std::span<const trust::Offer> what) {
  const auto it = listings_.find(server);
  if (it == listings_.end()) return;
  for (auto& [link, known] : links_) {
    if (known.server != server) continue;
    for (const trust::Offer offer : what) known.lists.erase(offer);
  }
  it->second.wanted.insert(what.begin(), what.end());
  it->second.ask_odd = false;
  if (it->second.running) return;
  it->second.running = true;
  it->second.settled = false;
  tasks_.spawn("discover " + server, discover_one(server));
}

void Catalogue::look_again_at_foreign() {
  for (const auto& [id, listing] : listings_) {
    if (!listing.view.foreign.empty()) discover(id);
  }
}

void Catalogue::look_again(const std::string& server) {
  const auto it = listings_.find(server);
  if (it == listings_.end()) return;
  const std::weak_ptr<ServerLink> odd = it->second.odd;
  discover(server);
  it->second.odd = odd;
  it->second.ask_odd = true;
}

// Null: our own is asked.
std::shared_ptr<ServerLink> Catalogue::odd_link(const std::string& server) {
  Listing& listing = listings_.at(server);
  auto odd = std::exchange(listing.ask_odd, false) ? listing.odd.lock() : nullptr;
  listing.odd.reset();
  if (odd && (!odd->alive() || why_foreign(server, odd->identity()))) odd = nullptr;
  return odd;
}

asio::awaitable<void> Catalogue::discover_one(std::string server) {
  Listing& listing = listings_.at(server);  // entries are never removed
  do {
    const Deadline deadline = Deadline::after(kDiscovery);
    Result<std::shared_ptr<ServerLink>> link = odd_link(server);
    const bool is_odd = *link != nullptr;
    if (!is_odd) {
      LinkKey key{server, std::string(kLooker), {}};
      link = co_await servers_.link(std::move(key), deadline);
    }
    if (!link) {
      listing.wanted.clear();
      listing.whole.clear();
      listing.problem = link.error().message;
    } else {
      co_await list_wanted(server, *link, deadline);
    }
    listing.tried = true;
    if (!listing.problem.empty()) log::warning("server.unusable", {{"server", server}, {"reason", listing.problem}});
    rebuild();
    if (is_odd && says_nothing_new(listing.view)) {  // no longer odd: what do the others say?
      listing.wanted.insert(trust::kOffers.begin(), trust::kOffers.end());
    } else if (is_odd) {
      listing.odd = *link;
    }
  } while (!listing.wanted.empty());
  listing.keep_until = Deadline::after(keep_);
  listing.running = false;
  listing.settled = true;
  changed_.notify();
}

// Tools and instructions come first: a server that is slow with the rest is used meanwhile.
asio::awaitable<void> Catalogue::list_wanted(std::string server, std::shared_ptr<ServerLink> link, Deadline deadline) {
  Listing& listing = listings_.at(server);
  listing.offers = offers_of(link->info());
  identities_[server] = link->identity();
  while (!listing.wanted.empty()) {
    const trust::Offer what = *listing.wanted.begin();
    listing.wanted.erase(listing.wanted.begin());
    if (what > trust::Offer::instructions && !listing.tried) {
      listing.tried = true;
      rebuild();
    }
    auto listed = co_await list(link, what, deadline);
    listing.whole.erase(what);
    if (listed && (*listed)->whole) listing.whole.insert(what);
    if (what == trust::Offer::tool) listing.problem = listed ? std::string() : listed.error().message;
    if (listed) {
      remember(link, server, what, **listed);
      listing.lists[what] = std::move(*listed);
    } else if (what != trust::Offer::tool) {  // the server is not less usable for it; what it listed before stays
      log::warning("server.list_failed",
                   {{"server", server}, {"of", to_string(what)}, {"reason", listed.error().message}});
    }
  }
}

asio::awaitable<bool> Catalogue::all_are(bool Listing::* so, Concerns concerns, Deadline deadline) {
  const auto all = [&] {
    return std::ranges::all_of(
        listings_, [&](const auto& entry) { return entry.second.*so || (concerns && !concerns(entry.first)); });
  };
  while (!all()) {
    const bool notified = co_await changed_.wait(deadline);
    if (!notified) co_return all();
  }
  co_return true;
}

void Catalogue::set_list(const std::string& server, trust::Offer what, std::shared_ptr<const Listed> listed) {
  Listing& listing = listings_.at(server);
  listing.whole.erase(what);
  if (listed->whole) listing.whole.insert(what);
  listing.lists[what] = std::move(listed);
  listing.problem.clear();
  listing.tried = true;
  rebuild();
}

// What is known of a link; one at the same address that is gone is forgotten.
Catalogue::LinkDefinitions& Catalogue::definitions_on(const std::shared_ptr<ServerLink>& link,
                                                      const std::string& server) {
  const auto known = links_.find(link.get());
  if (known != links_.end() && known->second.link.lock() == link) return known->second;
  std::erase_if(links_, [](const auto& entry) { return entry.second.link.expired(); });
  if (links_.size() >= kMostLinks) links_.clear();
  return links_[link.get()] = LinkDefinitions{link, server, {}};
}

const Digests& Catalogue::remember(const std::shared_ptr<ServerLink>& link, const std::string& server,
                                   trust::Offer what, const Listed& listed) {
  KnownDigests& known = definitions_on(link, server).lists[what];
  known = {digests_of(listed, what, ignored(server)), listed.fresh_until};
  return known.digests;
}

asio::awaitable<Result<bool>> Catalogue::verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                                Deadline deadline) {
  // Trust belongs to what was found to run behind this very link, whatever runs behind others of that server.
  const std::string server = tool->ref.server;
  if (const auto foreign = why_foreign(server, link->identity())) {
    co_return fail(ErrorCode::forbidden, "its server is not the one that was accepted: " + *foreign,
                   ErrorSource::server, RetryClass::not_sent);
  }
  if (link->identity() != identities_[server]) {
    const bool was_foreign = !snapshot_->servers.at(server).foreign.empty();
    identities_[server] = link->identity();
    rebuild();
    if (was_foreign) discover(server);  // its lists are of another server
    co_return false;
  }
  if (listings_.at(server).keep_until.passed()) discover(server);
  const bool reads_plainly = tool->method == Method::resources_read && !tool->current;  // no template speaks of it
  if (reads_plainly || tool->method == Method::completion_complete) co_return true;
  const trust::Offer what = tool->offer;
  // A link that never listed a prompt of that name is asked for it by that name: its refusal is the client's.
  const auto same = [&](const Digests& digests) {
    const auto name = tool->current ? trust::name_of(what, tool->current->root()) : tool->ref.tool;
    const auto digest = digests.find(name.value_or(""));
    if (digest == digests.end()) return tool->current == nullptr;
    return tool->current != nullptr && digest->second == tool->current_digest;
  };
  const auto& lists = definitions_on(link, server).lists;
  if (const auto known = lists.find(what); known != lists.end() && !known->second.fresh_until.passed()) {
    const bool is_same = same(known->second.digests);
    if (!is_same) discover(server, std::array{what});
    co_return is_same;
  }
  auto listed = co_await list(link, what, deadline);
  if (!listed) {
    co_return fail_in(fmt::format("its {}s could not be listed before the call", to_string(what)), listed.error());
  }
  const bool is_same = same(remember(link, server, what, **listed));
  if (!is_same) {
    listings_.at(server).odd = link;
    set_list(server, what, std::move(*listed));
  }
  co_return is_same;
}

std::shared_ptr<const Tool> Catalogue::judged(const std::string& server, trust::Offer offer, json::Value item) {
  const auto view = snapshot_->servers.find(server);
  const auto name = trust::name_of(offer, item);
  if (view == snapshot_->servers.end() || !name) return nullptr;
  const auto known = view->second.of(offer).find(*name);
  if (known != view->second.of(offer).end()) {
    const auto digest = trust::definition_digest(item, ignored(server));
    if (digest && *digest == known->second->current_digest) return known->second;
  }
  ServerView own;
  own.id = server;
  set_identity(own);
  const Names names;
  return build_offer(context(own, names), offer, item, mentions_.find(server, trust::tool_words(item)));
}

std::vector<std::string> Catalogue::ignored(const std::string& server) const {
  const trust::ServerTrust* trusted = rules_.trust ? rules_.trust->server(server) : nullptr;
  return trusted ? trusted->ignore : std::vector<std::string>();
}

std::optional<std::string> Catalogue::why_foreign(const std::string& server, const std::string& identity) const {
  const trust::LockServer* locked = lock_ ? lock_->server(server) : nullptr;
  if (locked == nullptr || trust::canonical(locked->identity) == identity) return std::nullopt;
  const auto found = identity_from(identity);
  return found ? trust::mismatch(*found, locked->identity) : "what it is could not be found out";
}

void Catalogue::set_identity(ServerView& view) const {
  const auto found = identities_.find(view.id);
  if (found == identities_.end() || found->second.empty()) return;
  view.identity = found->second;
  if (const auto identity = identity_from(view.identity)) view.identity_digest = trust::digest(*identity);
  if (!lock_ || lock_->server(view.id) == nullptr) return;
  const auto difference = why_foreign(view.id, view.identity);
  view.identity_ok = !difference;
  if (difference) view.foreign = fmt::format("its server is not the one that was accepted: {}", *difference);
}

BuildContext Catalogue::context(const ServerView& view, const Names& names) {
  return {view.id, view.identity_ok, view.foreign, rules_.trust, lock_, schemas_, names};
}

// What the view of a server is made of now; where that is as before, so is the view.
void Catalogue::set_made(const std::string& id, Listing& listing) {
  Made made{listing.lists, {}, listing.offers, listing.problem, identities_[id], listing.whole};
  for (const auto& [what, listed] : listing.lists) {
    auto& found = made.mentions[what];
    for (const auto& words : listed->words) found.push_back(mentions_.find(id, words));
  }
  if (made == listing.made) return;
  listing.made = std::move(made);
  set_view(id, listing);
}

void Catalogue::set_view(const std::string& id, Listing& listing) {
  ServerView view;
  view.id = id;
  view.problem = listing.problem;
  view.offers = listing.offers;
  view.whole = listing.whole;
  set_identity(view);
  if (!view.foreign.empty()) view.problem = view.foreign;
  // A server that is only down keeps what it was last seen with.
  view.listed = listing.lists.contains(trust::Offer::tool);
  for (const auto& [what, listed] : listing.lists) set_items(view, what, listing);
  listing.view = std::move(view);
}

void Catalogue::set_items(ServerView& view, trust::Offer what, const Listing& listing) {
  const Listed& listed = *listing.lists.at(what);
  const Names names = what == trust::Offer::tool ? name_findings(listed) : Names();
  const BuildContext made = context(view, names);
  for (std::size_t i = 0; i < listed.items.size(); ++i) {
    auto tool = build_offer(made, what, listed.items[i], listing.made->mentions.at(what)[i]);
    if (!tool) {
      log::warning("offer.unusable",
                   {{"server", view.id}, {"reason", fmt::format("a {} without a name was left out", to_string(what))}});
      continue;
    }
    const auto [it, fresh] = view.of(what).try_emplace(tool->ref.tool, tool);
    if (fresh) continue;
    auto twice = std::make_shared<Tool>(*tool);
    twice->state = ToolState::quarantined;
    twice->quarantine_reason = fmt::format("the server lists two {}s of this name", to_string(what));
    it->second = std::move(twice);
  }
}

// Trust belongs to what was found, not to the name in the config: a server that is called otherwise now keeps what was
// accepted of it, if no server of the config has the old name and the identity fits one entry alone.
std::shared_ptr<const trust::LockFile> Catalogue::lock_by_identity() const {
  if (!rules_.lock) return nullptr;
  std::shared_ptr<trust::LockFile> renamed;
  for (const auto& [id, found] : identities_) {
    if (found.empty() || rules_.lock->server(id) != nullptr) continue;
    const auto identity = identity_from(found);
    const trust::LockServer* fits = nullptr;
    std::size_t count = 0;
    for (const auto& [old, server] : rules_.lock->servers) {
      if (!identity || listings_.contains(old) || trust::mismatch(*identity, server.identity)) continue;
      fits = &server;
      ++count;
    }
    if (count != 1) continue;
    if (!renamed) renamed = std::make_shared<trust::LockFile>(*rules_.lock);
    renamed->servers.emplace(id, *fits);
  }
  return renamed ? renamed : rules_.lock;
}

void Catalogue::build_exposed(Snapshot& snapshot) const {
  std::set<std::string> equal;
  for (const auto& [id, server] : snapshot.servers) {
    for (const auto& [name, tool] : server.tools) {
      const auto [it, fresh] = snapshot.exposed.try_emplace(tool->exposed, tool);
      if (!fresh) equal.insert(tool->exposed);
    }
  }
  for (const auto& name : equal) {
    snapshot.exposed.erase(name);
    snapshot.collisions.push_back(name);
    log::warning("tool.name_taken_twice", {{"name", name}, {"effect", "neither tool is offered at /mcp"}});
  }
}

void Catalogue::rebuild() {
  auto next = std::make_shared<Snapshot>();
  next->version = ++version_;
  next->policy = rules_.policy;
  next->trust = rules_.trust;
  lock_ = lock_by_identity();
  next->lock = lock_;
  next->policy_digest = rules_.policy_digest;
  next->trust_digest = rules_.trust_digest;
  known_.clear();
  for (const auto& [id, listing] : listings_) {
    const auto tools = listing.lists.find(trust::Offer::tool);
    if (tools == listing.lists.end()) continue;
    for (const json::Value tool : tools->second->items) {
      if (auto name = trust::name_of(trust::Offer::tool, tool)) known_.push_back({id, std::move(*name)});
    }
  }
  mentions_ = trust::MentionScan(known_);
  for (auto& [id, listing] : listings_) {
    set_made(id, listing);
    next->servers.emplace(id, listing.view);
  }
  build_exposed(*next);
  const auto before = std::move(snapshot_);
  snapshot_ = next;
  schemas_.keep_only_used();
  if (before) tell(*before, *next);
  changed_.notify();
}

void Catalogue::tell(const Snapshot& before, const Snapshot& after) {
  std::vector<DefinitionChange> changes;
  for (const auto& [id, server] : after.servers) {
    const ServerView& old_server = before.servers.at(id);  // the servers of a catalogue are always the same
    const bool accepted = after.lock && after.lock->server(id) != nullptr;
    for (const trust::Offer offer : trust::kOffers) {
      const ToolsByName& old_tools = old_server.of(offer);
      for (const auto& [name, tool] : server.of(offer)) {
        const auto old = old_tools.find(name);
        const auto was = old == old_tools.end() ? nullptr : old->second;
        if (was == tool || (was && was->state == tool->state && was->current_digest == tool->current_digest &&
                            was->digest == tool->digest))
          continue;
        changes.push_back({offer, tool->ref, was, tool, accepted});
        if (tool->state != ToolState::drifted && tool->state != ToolState::quarantined) continue;
        log::warning("definition.state", {{"server", id},
                                          {"kind", to_string(offer)},
                                          {"name", name},
                                          {"state", to_string(tool->state)},
                                          {"reason", tool->quarantine_reason}});
      }
      for (const auto& [name, tool] : old_tools) {
        if (!server.of(offer).contains(name)) changes.push_back({offer, tool->ref, tool, nullptr, accepted});
      }
    }
  }
  if (!changes.empty() && on_change_) on_change_(changes);
}

}  // namespace sallyport::gateway::catalogue
