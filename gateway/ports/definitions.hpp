// Definitions: that the server about to be called still says of a tool what was decided on (design section 4: verified
// at every list and again before every dispatch).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "gateway/ports/server_link.hpp"
#include "gateway/ports/snapshot.hpp"

namespace sallyport::gateway {

class Definitions {
 public:
  virtual ~Definitions() = default;
  // True: this link's definition of the tool (prompt, resource template) is `tool.current`. False: it is another, and
  // the snapshot was built anew: decide again. Costs a list the first time on a link and after that list changed.
  virtual asio::awaitable<Result<bool>> verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                               Deadline deadline) = 0;
  // An item of a server's list, just listed for a client, as it may be shown: judged by what is in force, whatever was
  // listed before. Null: it has no name.
  [[nodiscard]] virtual std::shared_ptr<const Tool> judged(const std::string& server, trust::Offer offer,
                                                           json::Value item) = 0;
};

}  // namespace sallyport::gateway
