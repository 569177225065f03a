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
  // True: this link's definition of the tool is `tool.current`. False: it is another, and the snapshot was built anew:
  // decide again. Costs a tools/list the first time on a link and after its list changed.
  virtual asio::awaitable<Result<bool>> verify(std::shared_ptr<ServerLink> link, std::shared_ptr<const Tool> tool,
                                               Deadline deadline) = 0;
};

}  // namespace sallyport::gateway
