#include "gateway/catalogue/catalogue.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "trust/definitions/definition.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway::catalogue {
namespace {

constexpr auto kDiscovery = std::chrono::seconds(45);
constexpr std::size_t kMostLinks = 4096;  // remembered; forgetting one costs a tools/list

void append_names(const ToolListing& listing, const std::string& server, std::vector<ToolRef>& known) {
  for (const json::Value tool : listing.tools) {
    const json::Value name = tool.is_object() ? tool.find("name") : json::Value();
    if (name && name.is_string()) known.push_back({server, name.string()});
  }
}

// Names of one server that could be taken for each other.
std::multimap<std::string, trust::TextFinding, std::less<>> name_findings(const std::string& server,
                                                                          const std::vector<ToolRef>& known) {
  std::vector<std::string> names;
  for (const ToolRef& ref : known) {
    if (ref.server == server) names.push_back(ref.tool);
  }
  std::multimap<std::string, trust::TextFinding, std::less<>> found;
  for (trust::NameFinding& one : trust::scan_names(names)) found.emplace(std::move(one.tool), std::move(one.finding));
  return found;
}

bool is_true(json::Value value) { return value.is_bool() && value.boolean(); }

Offers read_offers(const std::string& capabilities_raw) {
  Offers offers;
  offers.known = true;
  auto document = json::Document::parse(capabilities_raw, {.bytes = capabilities_raw.size(), .depth = 1000});
  if (!document) return offers;
  const json::Value root = document->root();
  offers.prompts = root.find("prompts").is_object();
  offers.resources = root.find("resources").is_object();
  offers.subscribe = is_true(root.at("/resources/subscribe"));
  offers.completions = root.find("completions").is_object();
  offers.logging = root.find("logging").is_object();
  return offers;
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
  rebuild();
}

void Catalogue::discover_all() {
  for (const auto& [id, listing] : listings_) discover(id);
}

void Catalogue::discover(const std::string& server) {
  const auto it = listings_.find(server);
  if (it == listings_.end()) return;
  std::erase_if(links_, [&](const auto& entry) { return entry.second.server == server; });
  if (it->second.running) {
    it->second.again = true;
    return;
  }
  it->second.running = true;
  tasks_.spawn("discover " + server, discover_one(server));
}

asio::awaitable<void> Catalogue::discover_one(std::string server) {
  Listing& listing = listings_.at(server);  // entries are never removed
  do {
    listing.again = false;
    const Deadline deadline = Deadline::after(kDiscovery);
    LinkKey key{server, "gateway", {}};
    auto link = co_await servers_.link(std::move(key), deadline);
    if (!link) {
      listing.problem = link.error().message;
    } else {
      auto tools = co_await (*link)->list_tools(deadline);
      if (tools) {
        listing.problem.clear();
        listing.offers = read_offers((*link)->info().capabilities_raw);
        listing.tools = std::make_shared<const ToolListing>(std::move(*tools));
        links_[link->get()] =
            LinkDefinitions{*link, server, digests_of(server, *listing.tools), listing.tools->fresh_until};
      } else {
        listing.problem = tools.error().message;
      }
    }
    listing.tried = true;
    if (!listing.problem.empty()) log::warning("server.unusable", {{"server", server}, {"reason", listing.problem}});
    rebuild();
  } while (listing.again);
  listing.running = false;
  changed_.notify();
}

asio::awaitable<bool> Catalogue::ready(Deadline deadline) {
  const auto all_tried = [this] {
    return std::ranges::all_of(listings_, [](const auto& entry) { return entry.second.tried; });
  };
  while (!all_tried()) {
    const bool notified = co_await changed_.wait(deadline);
    if (!notified) co_return all_tried();
  }
  co_return true;
}

void Catalogue::set_listing(const std::string& server, std::shared_ptr<const ToolListing> tools) {
  Listing& listing = listings_.at(server);
  listing.tools = std::move(tools);
  listing.problem.clear();
  listing.tried = true;
  rebuild();
}

asio::awaitable<Result<bool>> Catalogue::verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                                Deadline deadline) {
  // Trust belongs to what the server was found to be, and it may be another since it was started anew.
  if (servers_.identity(tool->ref.server) != identities_[tool->ref.server]) {
    rebuild();
    co_return false;
  }
  if (tool->method != Method::tools_call) co_return true;  // it has no definition
  auto known = links_.find(link.get());
  if (known != links_.end() && known->second.link.lock() != link)
    known = links_.end();  // another link at the same address
  if (known != links_.end() && known->second.fresh_until.passed()) known = links_.end();
  if (known == links_.end()) {
    auto listed = co_await link->list_tools(deadline);
    if (!listed) co_return fail_in("its tools could not be listed before the call", listed.error());
    auto shared = std::make_shared<const ToolListing>(std::move(*listed));
    std::erase_if(links_, [](const auto& entry) { return entry.second.link.expired(); });
    if (links_.size() >= kMostLinks) links_.clear();
    LinkDefinitions made{link, tool->ref.server, digests_of(tool->ref.server, *shared), shared->fresh_until};
    const auto digest = made.digests.find(tool->ref.tool);
    const bool same = digest != made.digests.end() && digest->second == tool->current_digest;
    links_[link.get()] = std::move(made);
    if (!same) set_listing(tool->ref.server, shared);
    co_return same;
  }
  const auto digest = known->second.digests.find(tool->ref.tool);
  const bool same = digest != known->second.digests.end() && digest->second == tool->current_digest;
  if (!same) discover(tool->ref.server);
  co_return same;
}

std::map<std::string, std::string, std::less<>> Catalogue::digests_of(const std::string& server,
                                                                      const ToolListing& listing) const {
  const trust::ServerTrust* server_trust = rules_.trust ? rules_.trust->server(server) : nullptr;
  const std::vector<std::string> ignored = server_trust ? server_trust->ignore : std::vector<std::string>();
  std::map<std::string, std::string, std::less<>> digests;
  for (const json::Value tool : listing.tools) {
    const json::Value name = tool.is_object() ? tool.find("name") : json::Value();
    if (!name || !name.is_string()) continue;
    auto digest = trust::definition_digest(tool, ignored);
    const auto [it, fresh] = digests.try_emplace(name.string(), digest ? *digest : std::string());
    if (!fresh) it->second.clear();  // two tools of one name
  }
  return digests;
}

ServerView Catalogue::build_server(const std::string& id, const Listing& listing, const std::vector<ToolRef>& known) {
  ServerView view;
  view.id = id;
  view.problem = listing.problem;
  view.offers = listing.offers;
  std::string foreign;  // why it is not the server that was accepted
  const trust::LockServer* locked = lock_ ? lock_->server(id) : nullptr;
  if (const std::string& found = identities_[id]; !found.empty()) {
    if (const auto identity = identity_from(found)) {
      view.identity_digest = trust::digest(*identity);
      if (locked != nullptr) {
        const auto difference = trust::mismatch(*identity, locked->identity);
        view.identity_ok = !difference;
        if (difference) foreign = fmt::format("its server is not the one that was accepted: {}", *difference);
      }
    } else {
      foreign = "the identity of its server is unreadable";
    }
  }
  if (!foreign.empty()) view.problem = foreign;
  if (!listing.tools) return view;  // a server that is only down keeps the tools it was last seen with
  view.listed = true;
  const trust::MentionScan mentions(id, known);
  const auto names = name_findings(id, known);
  const BuildContext context{id, view.identity_ok, foreign, rules_.trust, lock_, schemas_, mentions, names};
  for (const json::Value definition : listing.tools->tools) {
    auto tool = build_tool(context, definition);
    if (!tool) {
      log::warning("tool.unusable", {{"server", id}, {"reason", "a tool without a name was left out"}});
      continue;
    }
    const auto [it, fresh] = view.tools.try_emplace(tool->ref.tool, tool);
    if (!fresh) {
      auto twice = std::make_shared<Tool>(*tool);
      twice->state = ToolState::quarantined;
      twice->quarantine_reason = "the server lists two tools of this name";
      it->second = std::move(twice);
    }
  }
  return view;
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
  for (const auto& [id, listing] : listings_) identities_[id] = servers_.identity(id);
  lock_ = lock_by_identity();
  next->lock = lock_;
  next->policy_digest = rules_.policy_digest;
  next->trust_digest = rules_.trust_digest;
  std::vector<ToolRef> known;
  for (const auto& [id, listing] : listings_) {
    if (listing.tools) append_names(*listing.tools, id, known);
  }
  for (const auto& [id, listing] : listings_) next->servers.emplace(id, build_server(id, listing, known));
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
    const auto old_server = before.servers.find(id);
    static const std::map<std::string, std::shared_ptr<const Tool>, std::less<>> kNone;
    const auto& old_tools = old_server == before.servers.end() ? kNone : old_server->second.tools;
    for (const auto& [name, tool] : server.tools) {
      const auto old = old_tools.find(name);
      const auto was = old == old_tools.end() ? nullptr : old->second;
      if (was && was->state == tool->state && was->current_digest == tool->current_digest &&
          was->digest == tool->digest)
        continue;
      changes.push_back({tool->ref, was, tool});
      if (tool->state == ToolState::drifted || tool->state == ToolState::quarantined) {
        log::warning(
            "tool.state",
            {{"server", id}, {"tool", name}, {"state", to_string(tool->state)}, {"reason", tool->quarantine_reason}});
      }
    }
    for (const auto& [name, tool] : old_tools) {
      if (!server.tools.contains(name)) changes.push_back({tool->ref, tool, nullptr});
    }
  }
  if (!changes.empty() && on_change_) on_change_(changes);
}

}  // namespace sallyport::gateway::catalogue
