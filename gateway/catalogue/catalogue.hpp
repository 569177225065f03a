// Catalogue: knows what every server offers, judges it by trust and lock, and builds the Snapshot that everybody works
// with. Owns drift: a definition that changes makes a new snapshot and is told to `on_change`. On the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gateway/base/task_group.hpp"
#include "gateway/catalogue/listing.hpp"
#include "gateway/catalogue/tool_builder.hpp"
#include "gateway/ports/definitions.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/ports/snapshot.hpp"

namespace sallyport::gateway::catalogue {

// What people wrote and the machine's lock, as one loaded whole.
struct Rules {
  std::shared_ptr<const policy::Policy> policy;
  std::shared_ptr<const trust::TrustFile> trust;
  std::shared_ptr<const trust::LockFile> lock;
  std::string policy_digest, trust_digest;
};

// A tool, prompt, resource template or the instructions of a server, whose state, digest or presence is another in the
// new snapshot.
struct DefinitionChange {
  trust::Offer offer{};
  ToolRef tool;
  std::shared_ptr<const Tool> before, after;  // null: not there
  bool of_accepted = false;                   // the server was accepted before, be it without this
};

class Catalogue final : public Snapshots, public Definitions {
 public:
  using OnChange = std::function<void(const std::vector<DefinitionChange>&)>;

  // `servers` outlives the catalogue.
  Catalogue(asio::any_io_executor loop, Servers& servers, std::vector<std::string> server_ids, Rules rules);
  ~Catalogue() override;

  void on_change(OnChange callback) { on_change_ = std::move(callback); }
  void set_rules(Rules rules);  // swaps in one step
  [[nodiscard]] const Rules& rules() const { return rules_; }

  // Asks every server for all that it offers, in the background; again for one whose lists changed.
  void discover_all();
  void discover(const std::string& server, std::span<const trust::Offer> what = trust::kOffers);
  // The same for who reviews: where a replica was found to say something else, that one is asked as long as it does.
  void look_again(const std::string& server);
  // How old a server's lists may be when one of its tools is called; then they are asked for again. Not every server
  // tells that they changed. Tests set it short.
  void keep_lists_for(Millis age) { keep_ = age; }
  // Of servers that are not the accepted ones now: whether they are again. For a timer.
  void look_again_at_foreign();
  using Concerns = std::function<bool(const std::string& server)>;
  // True: every server (that it concerns) has listed its tools or failed once.
  asio::awaitable<bool> ready(Deadline deadline) { return all_are(&Listing::tried, {}, deadline); }
  asio::awaitable<bool> ready(Concerns concerns, Deadline deadline) {
    return all_are(&Listing::tried, std::move(concerns), deadline);
  }
  // True: the same, and nothing that was asked of any is open. For who reviews all that there is.
  asio::awaitable<bool> settled(Deadline deadline) { return all_are(&Listing::settled, {}, deadline); }

  [[nodiscard]] std::shared_ptr<const Snapshot> current() const override { return snapshot_; }
  // Why a server of that identity (canonical JSON) is not the accepted one; nullopt: it is, or none was accepted.
  [[nodiscard]] std::optional<std::string> why_foreign(const std::string& server, const std::string& identity) const;
  asio::awaitable<Result<bool>> verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                       Deadline deadline) override;
  [[nodiscard]] std::shared_ptr<const Tool> judged(const std::string& server, trust::Offer offer,
                                                   json::Value item) override;

 private:
  using Lists = std::map<trust::Offer, std::shared_ptr<const Listed>>;
  using Mentions = std::map<trust::Offer, std::vector<std::vector<trust::TextFinding>>>;  // in each item of each list
  // All that a view is made of, besides the rules: equal ones make equal views.
  struct Made {
    Lists lists;
    Mentions mentions;
    Offers offers;
    std::string problem, identity;
    std::set<trust::Offer> whole;
    friend bool operator==(const Made&, const Made&) = default;
  };
  struct Listing {
    Lists lists;  // without tools: never listed
    Offers offers;
    std::string problem;  // of the last discovery; empty: it went well
    bool tried = false;
    bool running = false;
    bool settled = false;  // tried, and not running
    Deadline keep_until = Deadline::never();
    std::weak_ptr<ServerLink> odd;  // a client's, whose list was another than that in force
    bool ask_odd = false;           // it is asked, instead of our own
    std::set<trust::Offer> wanted;  // to be listed, or listed again
    std::set<trust::Offer> whole;   // of `lists`: fetched to their end when they were asked for last
    std::optional<Made> made;       // none: the rules are others now
    ServerView view;                // of `made`
  };
  struct KnownDigests {
    Digests digests;
    Deadline fresh_until;  // of the list that they are of
  };
  struct LinkDefinitions {
    std::weak_ptr<ServerLink> link;
    std::string server;
    std::map<trust::Offer, KnownDigests> lists;
  };

  asio::awaitable<bool> all_are(bool Listing::* so, Concerns concerns, Deadline deadline);
  asio::awaitable<void> discover_one(std::string server);
  std::shared_ptr<ServerLink> odd_link(const std::string& server);
  asio::awaitable<void> list_wanted(std::string server, std::shared_ptr<ServerLink> link, Deadline deadline);
  void rebuild();
  void set_list(const std::string& server, trust::Offer what, std::shared_ptr<const Listed> listed);
  void set_made(const std::string& id, Listing& listing);
  void set_view(const std::string& id, Listing& listing);
  void set_items(ServerView& view, trust::Offer what, const Listing& listing);
  void set_identity(ServerView& view) const;
  [[nodiscard]] BuildContext context(const ServerView& view, const Names& names);
  LinkDefinitions& definitions_on(const std::shared_ptr<ServerLink>& link, const std::string& server);
  const Digests& remember(const std::shared_ptr<ServerLink>& link, const std::string& server, trust::Offer what,
                          const Listed& listed);
  [[nodiscard]] std::vector<std::string> ignored(const std::string& server) const;
  [[nodiscard]] std::shared_ptr<const trust::LockFile> lock_by_identity() const;
  void build_exposed(Snapshot& snapshot) const;
  void tell(const Snapshot& before, const Snapshot& after);

  Servers& servers_;
  Rules rules_;
  std::map<std::string, Listing> listings_;
  std::map<const ServerLink*, LinkDefinitions> links_;
  std::map<std::string, std::string> identities_;            // by server, of the link that was last looked at
  std::shared_ptr<const trust::LockFile> lock_;              // that of the rules, under the servers' present names
  std::vector<ToolRef> known_;                               // every tool of every server
  trust::MentionScan mentions_{std::span<const ToolRef>{}};  // of known_
  SchemaCache schemas_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t version_ = 0;
  Millis keep_{300'000};
  OnChange on_change_;
  Signal changed_;
  TaskGroup tasks_;
};

}  // namespace sallyport::gateway::catalogue
