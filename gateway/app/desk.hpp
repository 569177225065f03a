// The Desk of a running owner: people's acts go to calls/, what is in force to the catalogue and the files.
#pragma once

#include "gateway/app/log_keeper.hpp"
#include "gateway/app/reload.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/calls/people.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/desk.hpp"

namespace sallyport::gateway {

class AppDesk final : public Desk {
 public:
  AppDesk(calls::Calls& calls, catalogue::Catalogue& catalogue, Servers& servers, LogKeeper& keeper, Reload& reload);

  DeskAnswer approvals(Person person, std::string state, std::uint32_t limit) override;
  DeskAnswer approval(Person person, std::string id) override;
  DeskAnswer vote(Person person, std::string id, Vote vote) override;
  DeskAnswer vote_all(Person person, std::vector<AskShown> asks, bool approve, std::string reason) override;
  DeskAnswer revoke(Person person, std::string id, std::string reason) override;
  DeskAnswer grants(Person person, bool all) override;
  DeskAnswer revoke_grant(Person person, std::string id, std::string reason) override;
  DeskAnswer operations(Person person, std::string state, std::uint32_t limit) override;
  DeskAnswer operation(Person person, std::string id) override;
  DeskAnswer resolve(Person person, std::string id, std::string outcome, std::string reason) override;
  DeskAnswer receipts(Person person, std::string query_json) override;
  DeskAnswer receipt(Person person, std::string id) override;
  DeskAnswer open_arguments(Person person, std::string id, std::string arguments_raw) override;
  DeskAnswer checkpoint(Person person) override;
  DeskAnswer stops(Person person) override;
  DeskAnswer stop(Person person, std::string kind, std::string value, std::string tool, std::string reason) override;
  DeskAnswer lift(Person person, std::string id, std::string reason) override;
  DeskAnswer status(Person person) override;
  DeskAnswer tools(Person person) override;
  DeskAnswer explain(Person person, std::string call_json) override;
  DeskAnswer call(Person person, std::string server, std::string tool, std::string arguments_raw) override;
  DeskAnswer trust_review(Person person, std::string server, std::string tool) override;
  DeskAnswer trust_accept(Person person, std::string server, std::string tool, std::string review_digest,
                          bool also) override;
  DeskAnswer reload(Person person) override;
  DeskAnswer policy(Person person) override;
  DeskAnswer policy_accept(Person person, std::string digest) override;

 private:
  asio::awaitable<void> look_again(std::string server, std::chrono::seconds wait);  // empty: all
  [[nodiscard]] const Settings& settings() const { return reload_.in_force().settings; }

  calls::Calls& calls_;
  calls::People people_;
  catalogue::Catalogue& catalogue_;
  Servers& servers_;
  LogKeeper& keeper_;
  Reload& reload_;
  std::optional<Deadline> tools_fresh_;  // none: nobody asked for them yet
};

// `: did you mean …?` after a name that is not known; empty: none is near.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> known);
// What in a server's identity does not tie it down; nullopt: nothing, or it is not known.
[[nodiscard]] std::optional<std::string> loose_identity(const ServerView& server);
// `server/tool` of all that would have that name at /mcp.
[[nodiscard]] std::vector<std::string> tools_named(const Snapshot& snapshot, std::string_view exposed);
// What `tools` prints: every tool of every server, declared / assigned / effective, and its state.
[[nodiscard]] std::string tools_json(const Snapshot& snapshot);
// What `explain` prints of a made-up call: the verdict and every rule, matched or why not. Runs nothing, records
// nothing.
[[nodiscard]] std::string explain_on(std::shared_ptr<const Snapshot> snapshot, const Settings& settings,
                                     const std::string& principal, const std::string& server, const std::string& tool,
                                     const std::string& arguments_raw,
                                     const calls::Context& context = calls::QuietContext());

}  // namespace sallyport::gateway
