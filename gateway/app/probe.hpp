// Probe: the servers of a config without an owner: started for a moment, listed, ended. For `init`, `tools`, `trust`,
// `explain` and `check` where no owner runs. Blocking.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/servers/pool_options.hpp"

namespace sallyport::gateway {

using Look = std::function<void(std::shared_ptr<const Snapshot>, const Servers&)>;

// With the protocol version that the lock tells of each server; null: none.
[[nodiscard]] PoolOptions pool_options(const trust::LockFile* lock);

// Runs `look` with the snapshot and the pool while the servers are up, then ends them.
void probe(const Settings& settings, catalogue::Rules rules, const Look& look);

// The same for what goes on asking the servers: runs until the coroutine ends.
using Visit = std::function<asio::awaitable<void>(catalogue::Catalogue&, Servers&)>;
void visit(const Settings& settings, catalogue::Rules rules, const Visit& visit);

// The same from the lock alone: no server is started; the accepted definitions stand for what they would list.
void probe_offline(const Settings& settings, catalogue::Rules rules, const Look& look);

}  // namespace sallyport::gateway
