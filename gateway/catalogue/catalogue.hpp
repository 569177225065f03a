// Catalogue: knows what every server offers, judges it by trust and lock, and builds the Snapshot that everybody works
// with. Owns drift: a definition that changes makes a new snapshot and is told to `on_change`. On the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/task_group.hpp"
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

// A tool whose state, digest or presence is another in the new snapshot.
struct DefinitionChange {
  ToolRef tool;
  std::shared_ptr<const Tool> before, after;  // null: not there
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

  // Asks every server for its tools, in the background; again for one whose list changed.
  void discover_all();
  void discover(const std::string& server);
  // True: every server has answered or failed once.
  asio::awaitable<bool> ready(Deadline deadline);

  [[nodiscard]] std::shared_ptr<const Snapshot> current() const override { return snapshot_; }
  asio::awaitable<Result<bool>> verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                       Deadline deadline) override;

 private:
  struct Listing {
    std::shared_ptr<const ToolListing> tools;  // null: never listed
    Offers offers;
    std::string problem;  // of the last discovery; empty: it went well
    bool tried = false;
    bool running = false;
    bool again = false;
  };
  struct LinkDefinitions {
    std::weak_ptr<ServerLink> link;
    std::string server;
    std::map<std::string, std::string, std::less<>> digests;  // by tool; empty: cannot be judged
    Deadline fresh_until;                                     // of the list that they are of
  };

  asio::awaitable<void> discover_one(std::string server);
  void set_listing(const std::string& server, std::shared_ptr<const ToolListing> tools);
  void rebuild();
  ServerView build_server(const std::string& id, const Listing& listing, const std::vector<ToolRef>& known);
  [[nodiscard]] std::shared_ptr<const trust::LockFile> lock_by_identity() const;
  void build_exposed(Snapshot& snapshot) const;
  void tell(const Snapshot& before, const Snapshot& after);
  std::map<std::string, std::string, std::less<>> digests_of(const std::string& server,
                                                             const ToolListing& listing) const;

  Servers& servers_;
  Rules rules_;
  std::map<std::string, Listing> listings_;
  std::map<const ServerLink*, LinkDefinitions> links_;
  std::map<std::string, std::string> identities_;  // by server, as the snapshot was built with
  std::shared_ptr<const trust::LockFile> lock_;    // that of the rules, under the servers' present names
  SchemaCache schemas_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t version_ = 0;
  OnChange on_change_;
  Signal changed_;
  TaskGroup tasks_;
};

}  // namespace sallyport::gateway::catalogue
