// Desk: what the control side can do; the API, the console and the command line all go through it (design section 11).
// Every method takes the person who asks and checks the role itself. Answers are JSON text (shapes:
// docs/control-api.md). Errors: forbidden (role), not_found, conflict (state does not allow it), invalid.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::gateway {

// Who reads for the notices: an id that no person can have.
inline constexpr std::string_view kGatewayReader = "gateway";

namespace asio = boost::asio;

using DeskAnswer = asio::awaitable<Result<std::string>>;

// What a person answers to an ask, beside yes or no.
struct Vote {
  bool approve = false;
  std::string shown;   // of an approve: the digest of what the person saw
  std::string reason;  // may be empty for an approve
  std::string grant;   // of an approve: a JSON object (docs/control-api.md), or empty
  struct Settled {
    std::string operation, outcome;  // `applied` or `none`
  };
  std::vector<Settled> settle;  // unknown operations that the same act settles (operator, with the reason)
};
struct AskShown {
  std::string id, shown;
};

class Desk {
 public:
  virtual ~Desk() = default;
  virtual DeskAnswer approvals(Person person, std::string state, std::uint32_t limit) = 0;  // {"approvals":[…]}
  virtual DeskAnswer approval(Person person, std::string id) = 0;                           // with the whole view
  virtual DeskAnswer vote(Person person, std::string id, Vote vote) = 0;
  // Several at once; each is bound and receipted alone: {"answered":[{"id","state"} or {"id","error"}…]}
  virtual DeskAnswer vote_all(Person person, std::vector<AskShown> asks, bool approve, std::string reason) = 0;
  virtual DeskAnswer revoke(Person person, std::string id, std::string reason) = 0;

  virtual DeskAnswer grants(Person person, bool all) = 0;  // {"grants":[…]}; not all: those in force
  virtual DeskAnswer revoke_grant(Person person, std::string id, std::string reason) = 0;

  virtual DeskAnswer operations(Person person, std::string state,
                                std::uint32_t limit) = 0;  // state may be "open" or "unknown"
  virtual DeskAnswer operation(Person person, std::string id) = 0;
  virtual DeskAnswer resolve(Person person, std::string id, std::string outcome, std::string reason) = 0;

  virtual DeskAnswer receipts(Person person, std::string query_json) = 0;
  virtual DeskAnswer receipt(Person person, std::string id) = 0;

  // The arguments of a write, from the vault (`arguments_raw` empty), or whether these are the ones that its receipt
  // commits to; of a receipt's or an operation's id. Auditor; each leaves a receipt.
  virtual DeskAnswer open_arguments(Person person, std::string id, std::string arguments_raw) = 0;
  virtual DeskAnswer checkpoint(Person person) = 0;  // one over all there is now (operator or auditor)

  virtual DeskAnswer stops(Person person) = 0;
  virtual DeskAnswer stop(Person person, std::string kind, std::string value, std::string tool, std::string reason) = 0;
  virtual DeskAnswer lift(Person person, std::string id, std::string reason) = 0;

  virtual DeskAnswer status(Person person) = 0;                          // servers, store, counts
  virtual DeskAnswer tools(Person person) = 0;                           // declared / assigned / effective, state
  virtual DeskAnswer explain(Person person, std::string call_json) = 0;  // {principal, server, tool, arguments}
  virtual DeskAnswer call(Person person, std::string server, std::string tool, std::string arguments_raw) = 0;
  // Definitions as found with their differences; accepting writes the lock (operator). server/tool empty: all.
  virtual DeskAnswer trust_review(Person person, std::string server, std::string tool) = 0;
  virtual DeskAnswer trust_accept(Person person, std::string server, std::string tool, std::string review_digest,
                                  bool also) = 0;  // also: beside what is accepted already
  // Reads the files again: what only tightens is in force at once, what may loosen waits for policy_accept().
  virtual DeskAnswer reload(Person person) = 0;
  virtual DeskAnswer policy(Person person) = 0;  // what is in force, what waits, what was refused
  virtual DeskAnswer policy_accept(Person person, std::string digest) = 0;  // `digest`: of what was shown to wait
};

}  // namespace sallyport::gateway
