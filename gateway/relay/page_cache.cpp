#include "gateway/relay/page_cache.hpp"

#include <utility>

namespace sallyport::gateway::relay {
namespace {

bool is_of(Kind kind, ListKind changed) {
  return kind == Kind::prompts ? changed == ListKind::prompts : changed == ListKind::resources;
}

}  // namespace

const Page* PageCache::find(const Key& key) const {
  const auto found = pages_.find(key);
  return found == pages_.end() || found->second.fresh_until->passed() ? nullptr : &found->second;
}

std::size_t PageCache::cost(const Key& key, const Page& page) {
  return page.document->text().size() + page.items.size() * sizeof(json::Value) + key.cursor.size();
}

bool PageCache::has_room(const Key& key, std::size_t bytes) const {
  const auto own = used_.find(key.principal);
  const Used used = own == used_.end() ? Used{} : own->second;
  return all_.bytes + bytes <= kMostBytes && all_.pages < kMostPages && used.bytes + bytes <= kMostBytes / kShare &&
         used.pages < kMostPages / kShare;
}

void PageCache::put(Key key, Page page, std::uint64_t seen) {
  if (seen != changes_ || !page.fresh_until || page.fresh_until->passed() || !page.document) return;
  erase_if([&](const Key& other, const Page& old) { return other == key || old.fresh_until->passed(); });
  const std::size_t bytes = cost(key, page);
  if (!has_room(key, bytes)) return;
  for (Used* used : {&all_, &used_[key.principal]}) {
    used->bytes += bytes;
    ++used->pages;
  }
  pages_.emplace(std::move(key), std::move(page));
}

void PageCache::forget(const std::string& server, ListKind kind) {
  ++changes_;
  erase_if([&](const Key& key, const Page&) { return key.server == server && is_of(key.kind, kind); });
}

void PageCache::erase_if(const std::function<bool(const Key&, const Page&)>& gone) {
  for (auto it = pages_.begin(); it != pages_.end();) {
    if (!gone(it->first, it->second)) {
      ++it;
      continue;
    }
    const std::size_t bytes = cost(it->first, it->second);
    const auto own = used_.find(it->first.principal);
    for (Used* used : {&all_, &own->second}) {
      used->bytes -= bytes;
      --used->pages;
    }
    if (own->second.pages == 0) used_.erase(own);
    it = pages_.erase(it);
  }
}

}  // namespace sallyport::gateway::relay
