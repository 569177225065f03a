// PageCache: pages of lists that a modern server said stay fresh (`ttlMs`, mcp.md 1.3), for whom they were listed:
// neither principals nor sessions share any. A change of the list ends them. Bounded, with a share per principal. On
// the loop.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gateway/base/deadline.hpp"
#include "gateway/relay/page.hpp"

namespace sallyport::gateway::relay {

class PageCache {
 public:
  static constexpr std::size_t kMostBytes = 16U << 20;
  static constexpr std::size_t kMostPages = 4'096;
  static constexpr std::size_t kShare = 4;  // of either, for one principal
  static constexpr std::int64_t kLongestMs = 3'600'000;

  struct Key {
    std::string server, principal, session;
    Kind kind = Kind::prompts;
    std::string cursor;  // raw; empty: the first page
    auto operator<=>(const Key&) const = default;
  };

  // Moves with every change: what was asked for before one is not to be kept.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] const Page* find(const Key& key) const;  // until the next call that changes this
  // Kept only if it says how long, and there is room. `seen`: changes() before it was asked for.
  void put(Key key, Page page, std::uint64_t seen);
  void forget(const std::string& server, ListKind kind);
  [[nodiscard]] std::size_t size() const { return pages_.size(); }

 private:
  struct Used {
    std::size_t bytes = 0, pages = 0;
  };
  [[nodiscard]] static std::size_t cost(const Key& key, const Page& page);
  void erase_if(const std::function<bool(const Key&, const Page&)>& gone);
  [[nodiscard]] bool has_room(const Key& key, std::size_t bytes) const;

  std::map<Key, Page> pages_;
  std::map<std::string, Used> used_;  // by principal
  Used all_;
  std::uint64_t changes_ = 0;
};

}  // namespace sallyport::gateway::relay
