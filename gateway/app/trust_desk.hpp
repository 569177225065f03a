// Reviewing and accepting definitions (design section 4, `trust accept`): what was found against what was accepted.
// Used by the running owner's Desk and, where no owner runs, by the command line. Pure but for what is passed in.
#pragma once

#include <string>

#include "gateway/ports/server_link.hpp"
#include "gateway/ports/snapshot.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway {

struct TrustReview {
  std::string json;      // {"servers":[…],"digest":…}; docs/control-api.md
  std::string digest;    // sha256: of what was found; accepting names it
  std::size_t open = 0;  // identities and definitions that are not accepted as they are now, or are gone
};

// `server` and `name` (of a tool, a prompt, a resource template) empty: all.
[[nodiscard]] TrustReview review(const Snapshot& snapshot, const std::string& server, const std::string& name);

struct Acceptance {
  std::string server, name;  // as in the review
  std::string by;            // a person id; empty: the file's writer
  bool also = false;         // keep what is accepted already: several definitions of one name at once
};

// `on_disk` with everything of that review accepted that is not accepted yet; what is, stays, with all that is accepted
// beside it; what is gone from a list that was fetched well goes. not_found; conflict: the file is not the one
// reviewed. A definition that cannot be judged is left out and named in `left_out`.
struct AcceptedLock {
  trust::LockFile lock;
  std::vector<std::string> accepted;  // `server/tool`, `prompt NAME of server`, …
  std::vector<std::string> left_out;  // with the reason
};
[[nodiscard]] Result<AcceptedLock> accept(const Snapshot& snapshot, const Servers& servers, const Acceptance& what,
                                          UnixMillis now, const trust::LockFile& on_disk);

}  // namespace sallyport::gateway
