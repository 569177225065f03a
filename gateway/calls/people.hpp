// People: what persons do to asks, operations and stops (design sections 5, 7 and 11). The part of the Desk that
// belongs to calls; every method checks the role, writes its receipt in the transaction of the act, and then tells
// Calls. On the loop.
#pragma once

#include <string>

#include "gateway/calls/calls.hpp"
#include "gateway/ports/desk.hpp"

namespace sallyport::gateway::calls {

class People {
 public:
  explicit People(Calls& calls) : calls_(calls) {}

  DeskAnswer approvals(Person person, std::string state, std::uint32_t limit);
  DeskAnswer approval(Person person, std::string id);
  DeskAnswer vote(Person person, std::string id, Vote vote);
  DeskAnswer vote_all(Person person, std::vector<AskShown> asks, bool approve, std::string reason);
  DeskAnswer revoke(Person person, std::string id, std::string reason);

  DeskAnswer grants(Person person, bool all);
  DeskAnswer revoke_grant(Person person, std::string id, std::string reason);

  DeskAnswer operations(Person person, std::string state, std::uint32_t limit);
  DeskAnswer operation(Person person, std::string id);
  DeskAnswer resolve(Person person, std::string id, std::string outcome, std::string reason);

  DeskAnswer receipts(Person person, std::string query_json);
  DeskAnswer receipt(Person person, std::string id);

  DeskAnswer open_arguments(Person person, std::string id, std::string arguments_raw);

  DeskAnswer stops(Person person);
  DeskAnswer stop(Person person, std::string kind, std::string value, std::string tool, std::string reason);
  DeskAnswer lift(Person person, std::string id, std::string reason);

 private:
  // One step of the state machine, with its receipt; in the same act the grant that the voter gives (its JSON) and what
  // they settle.
  struct Beside {
    std::string grant;
    std::vector<Calls::Settling> settle;
  };
  DeskAnswer act(Person person, std::string id, trust::ApprovalEvent event, Beside beside = {});
  [[nodiscard]] Status may_settle(const Person& person, const Vote& vote) const;

  Calls& calls_;
};

// Whether the person may look at asks, operations and receipts (every role but watcher).
[[nodiscard]] Status may_read(const Person& person);
[[nodiscard]] Status must_have(const Person& person, Role role);
// `outcome`: `applied` or `none`, as that operator knows it.
[[nodiscard]] Settlement settlement_of(const Person& person, std::string operation, const std::string& outcome,
                                       std::string reason);

}  // namespace sallyport::gateway::calls
