// ToolPages: the answers to `tools/list`, page by page, until the last one or a bound. A server whose cursor does not
// advance does not hold us (its tools so far count). Pure.
#pragma once

#include <set>
#include <string>

#include "gateway/ports/server_link.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::servers {

class ToolPages {
 public:
  ToolPages(std::string server, std::size_t max_tools, std::size_t max_pages, std::size_t max_bytes)
      : server_(std::move(server)), max_tools_(max_tools), max_pages_(max_pages), max_bytes_(max_bytes) {}
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::string next_params() const;
  // An error of the server on the first page, or no answer, is an error of the whole; later pages likewise.
  Status take(ServerAnswer answer);
  [[nodiscard]] ToolListing finish();
  // How long the server says that this stays fresh; the shortest of all pages, and nothing where one says nothing.
  [[nodiscard]] Millis ttl() const { return ttl_.value_or(Millis(0)); }

 private:
  void cut(std::string_view reason);
  std::string server_;
  std::size_t max_tools_;
  std::size_t max_pages_;
  std::size_t max_bytes_;  // of all pages together
  std::size_t bytes_ = 0;
  std::set<std::string, std::less<>> seen_;  // cursors, as raw tokens
  std::string cursor_;                       // raw token of the next page; empty: the first
  bool done_ = false;
  std::optional<Millis> ttl_;
  ToolListing listing_;
};

}  // namespace sallyport::gateway::servers
