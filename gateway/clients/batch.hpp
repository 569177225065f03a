// The answers of a batch (2025-03-26) as one array on one Reply. On the loop.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/clients/reply.hpp"
#include "gateway/mcp/jsonrpc.hpp"

namespace sallyport::gateway {

// `requests` replies, one for each element of a batch that is answered; when the last is finished, `whole` is: with an
// array, or (all cancelled) as cancelled. Notes go to `whole` at once.
[[nodiscard]] std::vector<std::shared_ptr<Reply>> split_reply(std::shared_ptr<Reply> whole, std::size_t requests);

// The answer to an element of a batch that is no message.
void finish_with(const mcp::IncomingFault& fault, Reply& part);

}  // namespace sallyport::gateway
