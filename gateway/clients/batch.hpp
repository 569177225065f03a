// The answers of a batch (2025-03-26) as one array on one Reply. On the loop.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/clients/reply.hpp"

namespace sallyport::gateway {

// `requests` replies, one for each request of a batch; when the last is finished, `whole` is: with an array, or (all
// cancelled) as cancelled. Notes go to `whole` at once.
[[nodiscard]] std::vector<std::shared_ptr<Reply>> split_reply(std::shared_ptr<Reply> whole, std::size_t requests);

}  // namespace sallyport::gateway
