// What a server offers, as one link listed it: tools, prompts, resource templates, instructions. On the loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/ports/server_link.hpp"
#include "gateway/ports/snapshot.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/text_scan.hpp"

namespace sallyport::gateway::catalogue {

// Whole; immutable once made. Instructions are a list of at most one text.
struct Listed {
  std::vector<std::shared_ptr<const json::Document>> pages;  // own the items
  std::vector<json::Value> items;                            // in the server's order
  std::vector<std::vector<trust::ToolWord>> words;           // of each item
  Deadline fresh_until = Deadline::never();                  // when it has to be asked for again before it is used
  bool whole = true;                                         // false: a bound was reached
};

[[nodiscard]] Offers offers_of(const ServerInfo& info);

// All pages, bounded: 10,000 items, 200 pages. A server that does not declare such a list has an empty one.
asio::awaitable<Result<std::shared_ptr<const Listed>>> list(std::shared_ptr<ServerLink> link, trust::Offer what,
                                                            Deadline deadline);

// By name; empty: it cannot be judged, or two have that name. Items without a name are left out.
using Digests = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] Digests digests_of(const Listed& listed, trust::Offer what, std::span<const std::string> ignored);

}  // namespace sallyport::gateway::catalogue
