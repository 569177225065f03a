// The pool of servers (design sections 8 and 12): starts what is asked for, once for all who ask, keeps apart what must
// be kept apart (one child per principal, unless shared), backs off from what crashes, ends what is idle, names what is
// set aside and why.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <string>

#include "gateway/base/clock.hpp"
#include "gateway/base/workers.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/servers/pool_options.hpp"

namespace sallyport::gateway {

// Lives on the loop. `events`, `workers`, `clock` and `entropy` outlive it. Destroyed without shutdown(), it kills all
// children at once.
[[nodiscard]] std::unique_ptr<Servers> make_server_pool(asio::any_io_executor loop,
                                                        const std::map<std::string, ServerSettings>& servers,
                                                        LimitSettings limits, ServerEvents& events, Workers& workers,
                                                        Clock& clock, Entropy& entropy, std::string version,
                                                        PoolOptions options = {});

}  // namespace sallyport::gateway
