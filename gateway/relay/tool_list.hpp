// `tools/list`: what a principal may see on a mount, in stable order, in pages (design sections 3 and 8). Asks the same
// policy code as calls do whether a tool is hidden; differs only by principal, never by history.
#pragma once

#include <string>
#include <vector>

#include "gateway/ports/inbound.hpp"
#include "gateway/ports/snapshot.hpp"

namespace sallyport::gateway::relay {

class ToolList {
 public:
  // `own`: raw tool objects of the gateway itself, listed last on every mount.
  explicit ToolList(const Snapshots& snapshots, std::vector<std::string> own)
      : snapshots_(snapshots), own_(std::move(own)) {}

  // A cursor that is not ours: -32602.
  [[nodiscard]] Answer list(const Inbound& inbound) const;
  // See Front::header_fault. Of a tool that the client does not see: none.
  [[nodiscard]] std::optional<std::string> header_fault(const ClientContext& client, json::Value params,
                                                        const mcp::HeaderLookup& find) const;

 private:
  const Snapshots& snapshots_;
  std::vector<std::string> own_;
};

}  // namespace sallyport::gateway::relay
